/* forget.c - a request that lasts, without the document that it came in */
#include "core/exchange.h"
#include "core/peer.h"

/* A document of an id that is a text; NULL: no memory. */
static mcp_doc *
id_keep(const struct mcpi_exchange *x)
{
    const struct mcpi_json_limits limits = {.max_bytes = SIZE_MAX, .max_depth = 1};
    mcp_doc *doc = NULL;
    struct mcpi_buf text;

    mcpi_buf_init(&text, x->engine->mem, SIZE_MAX);
    mcpi_id_write(&text, &x->rpc.id);
    if (text.status == 0)
        (void)mcpi_doc_parse(x->engine->mem, text.data, text.len, &limits, &doc);
    mcpi_buf_done(&text);
    return doc;
}

void
mcpi_exchange_forget(struct mcpi_exchange *x)
{
    bool is_text = x->rpc.id.kind == MCPI_ID_STRING;
    mcp_doc *kept = is_text ? id_keep(x) : NULL;
    size_t bytes = mcpi_doc_bytes(kept);

    if (is_text && !kept)
        return;
    if (is_text)
        x->rpc.id = mcpi_id_read(mcp_doc_root(kept));
    mcp_doc_free(x->doc);
    x->doc = x->rpc.doc = kept;
    x->rpc.method_name = mcpi_method_name(x->rpc.method);
    x->rpc.params = x->caller.info = x->caller.capabilities = NULL;
    x->caller.log_level = NULL;
    x->caller.progress_token.kind = MCPI_ID_NONE;
    if (x->peer)
        x->peer->request_bytes -= x->request_bytes - bytes;
    mcpi_account_give(x->outlet->account, MCPI_HELD_BYTES, x->request_bytes - bytes);
    x->request_bytes = bytes;
}
