/* examples_test.c - every example message is read and written back */
#include <stdio.h>
#include <string.h>

#include "support/data.h"
#include "support/rebuild.h"
#include "support/test.h"
#include "wire/meta.h"
#include "wire/rpc.h"
#include "json/value.h"

static mcp_doc *
parse(const char *text, size_t len)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_doc_parse(text, len, NULL, &doc, NULL), 0);
    return doc;
}

/* Calls fn for each example of both revisions; fn counts those it is about. */
static size_t
each_example(data_message_fn *fn)
{
    size_t count = 0;

    (void)data_each_message(DATA_MODERN, NULL, fn, &count);
    (void)data_each_message(DATA_LEGACY, NULL, fn, &count);
    return count;
}

static bool
ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* What a whole message of that type is; INVALID: the type is a part of messages. */
static enum mcpi_rpc_kind
kind_of(const struct data_message *example)
{
    if (!mcp_json_get(example->value, "jsonrpc"))
        return MCPI_RPC_INVALID;
    if (ends_with(example->type, "Request"))
        return MCPI_RPC_REQUEST;
    if (ends_with(example->type, "Notification"))
        return MCPI_RPC_NOTIFICATION;
    if (ends_with(example->type, "ResultResponse"))
        return MCPI_RPC_RESULT;
    if (ends_with(example->type, "Error") || ends_with(example->type, "ErrorResponse"))
        return MCPI_RPC_ERROR;
    return MCPI_RPC_INVALID;
}

static void
expect_same(const struct data_message *example, struct mcpi_buf *buf, size_t *count)
{
    mcp_doc *again;

    assert_int_equal(buf->status, 0);
    again = parse(buf->data, buf->len);
    if (!mcp_json_equal(example->value, mcp_doc_root(again)))
        fail_msg("%s: %.*s", example->name, (int)buf->len, buf->data);
    mcp_doc_free(again);
    (*count)++;
}

static void
reprint(const struct data_message *example, void *count)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1 << 20);
    mcpi_json_write(&buf, example->value);
    assert_int_equal(buf.status, 0);
    assert_null(memchr(buf.data, '\n', buf.len));
    expect_same(example, &buf, count);
    mcpi_buf_done(&buf);
}

static void
classify(const struct data_message *example, void *count)
{
    bool modern = strcmp(example->revision, DATA_MODERN) == 0;
    enum mcpi_rpc_kind kind = kind_of(example);
    struct mcpi_meta meta;
    const char *fault = "";
    struct mcpi_rpc rpc;

    mcpi_rpc_read(example->value, &rpc);
    if (rpc.kind != kind)
        fail_msg("%s: %d, expected %d", example->name, (int)rpc.kind, (int)kind);
    if (kind == MCPI_RPC_INVALID)
        return;
    ++*(size_t *)count;
    if (rpc.method_name && rpc.method == MCPI_METHOD_OTHER)
        fail_msg("%s: unknown method %s", example->name, rpc.method_name);
    if (mcpi_meta_read(rpc.params, &meta, &fault) != 0)
        fail_msg("%s: %s", example->name, fault);
    if (modern && kind == MCPI_RPC_REQUEST &&
        (!meta.version || !meta.client_capabilities))
        fail_msg("%s: no version or capabilities read", example->name);
}

static void
write_back(const struct data_message *example, void *count)
{
    struct mcpi_rpc rpc;
    struct mcpi_buf buf;

    mcpi_rpc_read(example->value, &rpc);
    if (rpc.kind == MCPI_RPC_INVALID)
        return;
    mcpi_buf_init(&buf, NULL, 1 << 20);
    rebuild(&buf, &rpc);
    expect_same(example, &buf, count);
    mcpi_buf_done(&buf);
}

static void
every_example_prints_equal(void **state)
{
    (void)state;
    assert_true(each_example(reprint) >= 100);
}

static void
every_whole_message_is_what_its_folder_says(void **state)
{
    (void)state;
    assert_true(each_example(classify) >= 30);
}

static void
every_whole_message_is_written_back_equal(void **state)
{
    (void)state;
    assert_true(each_example(write_back) >= 30);
}

TEST_MAIN(TEST(every_example_prints_equal),
          TEST(every_whole_message_is_what_its_folder_says),
          TEST(every_whole_message_is_written_back_equal))
