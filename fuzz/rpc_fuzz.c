/* rpc_fuzz.c - what is read as a message is written and read back as the same one */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/support/rebuild.h"
#include "wire/broken.h"
#include "wire/meta.h"
#include "wire/rpc.h"
#include "json/value.h"

#define TEXT_MAX (64u << 20) /* each byte may become six */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool holds)
{
    if (!holds)
        abort();
}

/* Nothing is found by such an id. */
static bool
is_no_id(const struct mcpi_id *id)
{
    return id->kind == MCPI_ID_NONE || id->kind == MCPI_ID_REAL;
}

static bool
id_equal(const struct mcpi_id *a, const struct mcpi_id *b)
{
    return mcpi_id_same(a, b) || (is_no_id(a) && a->kind == b->kind);
}

/* Folding twice is folding once; equal keys have equal hashes; an id can be shown. */
static void
check_id(const struct mcpi_id *id)
{
    static const unsigned char seed[MCPI_SEED_SIZE] = {7};
    struct mcpi_id folded = mcpi_id_fold(*id), twice = mcpi_id_fold(folded);
    char shown[MCPI_ID_SHOWN];
    struct mcpi_buf buf;
    struct mcpi_map map;
    mcp_doc *doc = NULL;

    check(id_equal(&folded, &twice));
    check(strlen(mcpi_id_show(id, shown)) < MCPI_ID_SHOWN);
    if (is_no_id(id))
        return;
    mcpi_map_init(&map, NULL, seed);
    check(mcpi_id_hash(&map, &folded) == mcpi_id_hash(&map, &twice));
    mcpi_map_done(&map);
    mcpi_buf_init(&buf, NULL, TEXT_MAX);
    mcpi_rpc_write_cancel(&buf, id, "");
    check(buf.status == 0 && !memchr(buf.data, '\n', buf.len));
    check(mcp_doc_parse(buf.data, buf.len, NULL, &doc, NULL) == 0);
    twice = mcpi_id_read(
        mcp_json_get(mcp_json_get(mcp_doc_root(doc), "params"), "requestId"));
    check(id_equal(id, &twice));
    mcp_doc_free(doc);
    mcpi_buf_done(&buf);
}

static void
check_meta(const mcp_json *params)
{
    const char *fault = NULL;
    struct mcpi_meta meta;

    if (mcpi_meta_read(params, &meta, &fault) != 0) {
        check(fault && *fault);
        return;
    }
    check_id(&meta.progress_token);
    check_id(&meta.subscription_id);
}

static void
check_same(const struct mcpi_rpc *a, const struct mcpi_rpc *b)
{
    check(a->kind == b->kind && id_equal(&a->id, &b->id) && a->method == b->method);
    check(a->method_len == b->method_len);
    check(a->method_len == 0 ||
          memcmp(a->method_name, b->method_name, a->method_len) == 0);
    check(!a->params == !b->params && !a->result == !b->result);
    check(!a->params || mcp_json_equal(a->params, b->params));
    check(!a->result || mcp_json_equal(a->result, b->result));
    check(a->error_code == b->error_code && !a->error_data == !b->error_data);
    check(!a->error_data || mcp_json_equal(a->error_data, b->error_data));
    check(!a->error_message || strcmp(a->error_message, b->error_message) == 0);
}

static void
check_message(const struct mcpi_rpc *rpc)
{
    struct mcpi_rpc again;
    struct mcpi_buf buf;
    mcp_doc *doc = NULL;

    mcpi_buf_init(&buf, NULL, TEXT_MAX);
    rebuild(&buf, rpc);
    check(buf.status == 0 && !memchr(buf.data, '\n', buf.len));
    check(mcp_doc_parse(buf.data, buf.len, NULL, &doc, NULL) == 0);
    mcpi_rpc_read(mcp_doc_root(doc), &again);
    check_same(rpc, &again);
    mcp_doc_free(doc);
    mcpi_buf_done(&buf);
}

/* What is told of a broken text is what would be read of it, were it whole. rpc NULL: there
 * is no such thing. */
static void
check_broken(const char *text, size_t len, const struct mcpi_rpc *rpc)
{
    struct mcpi_rpc broken;

    mcpi_broken_read(NULL, text, len, MCPI_RPC_PARSE_ERROR, "why", &broken);
    check(broken.kind == MCPI_RPC_INVALID && broken.fault_unparsed);
    check((broken.doc != NULL) == (broken.id.kind != MCPI_ID_NONE));
    check(broken.doc || broken.fault_answerable);
    check_id(&broken.id);
    if (rpc && rpc->id.kind == MCPI_ID_REAL)
        check(broken.id.kind == MCPI_ID_NONE || broken.id.real == rpc->id.real);
    else if (rpc)
        check(broken.id.kind == MCPI_ID_NONE || id_equal(&broken.id, &rpc->id));
    mcp_doc_free(broken.doc);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct mcpi_rpc rpc;
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, size, NULL, &doc, NULL) != 0) {
        check_broken(text, size, NULL);
        return 0;
    }
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    check_id(&rpc.id);
    check_broken(text, size, &rpc);
    for (size_t len = size / 2; rpc.id.kind != MCPI_ID_NONE && len < size;
         len += 1 + len / 8)
        check_broken(text, len, &rpc);
    check_meta(rpc.params);
    check(rpc.id.kind != MCPI_ID_REAL || rpc.fault_answerable);
    if (rpc.kind == MCPI_RPC_INVALID)
        check(rpc.fault != 0 && rpc.fault_text && *rpc.fault_text);
    else
        check_message(&rpc);
    mcp_doc_free(doc);
    return 0;
}
