/* http_gist.c - what a request says to a session, told before it is served */
#include "link/http_gist.h"

#include <string.h>

#include "base/mem.h"
#include "wire/rpc.h"

static void
gist_of_message(const struct mcpi_rpc *rpc, struct mcpi_http_gist *gist)
{
    struct mcpi_id id = rpc->id;

    if (rpc->kind == MCPI_RPC_REQUEST) {
        gist->kind = MCPI_GIST_ASKS;
    } else if (rpc->kind == MCPI_RPC_NOTIFICATION &&
               rpc->method == MCPI_METHOD_NOTE_CANCELED) {
        gist->kind = MCPI_GIST_CANCELS;
        id = mcpi_id_read(mcp_json_get(rpc->params, "requestId"));
    }
    gist->id = mcpi_id_fold(id);
}

/* Of its own, for what is read of a body can take ten times as much room as that, and
 * waits as long. MCP_E_NOMEM. */
static int
gist_keep_id(const mcp_allocator *mem, struct mcpi_http_gist *gist)
{
    struct mcpi_id *id = &gist->id;

    if (id->kind != MCPI_ID_STRING)
        return 0;
    gist->text = mcpi_alloc(mem, id->len + 1);
    if (!gist->text)
        return MCP_E_NOMEM;
    memcpy(gist->text, id->text, id->len);
    id->text = gist->text;
    return 0;
}

int
mcpi_http_gist_read(const mcp_allocator *mem, const struct mcpi_json_limits *limits,
                    const struct mcpi_http_in *in, struct mcpi_http_gist *ret)
{
    struct mcpi_rpc rpc;
    mcp_doc *doc;
    int r;

    *ret = (struct mcpi_http_gist){.kind = MCPI_GIST_OTHER};
    if (in->method == MCPI_HTTP_GET)
        ret->kind = MCPI_GIST_ASKS;
    if (in->method != MCPI_HTTP_POST)
        return 0;
    r = mcpi_doc_parse(mem, in->body, in->body_len, limits, &doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : 0;
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    gist_of_message(&rpc, ret);
    r = gist_keep_id(mem, ret);
    if (r < 0)
        *ret = (struct mcpi_http_gist){.kind = MCPI_GIST_OTHER};
    mcp_doc_free(doc);
    return r;
}

void
mcpi_http_gist_done(const mcp_allocator *mem, struct mcpi_http_gist *gist)
{
    mcpi_free(mem, gist->text);
    *gist = (struct mcpi_http_gist){.kind = MCPI_GIST_OTHER};
}

bool
mcpi_http_gist_is_for(const struct mcpi_http_gist *cancel,
                      const struct mcpi_http_gist *request)
{
    return cancel->kind == MCPI_GIST_CANCELS && request->kind == MCPI_GIST_ASKS &&
           cancel->id.kind != MCPI_ID_NONE && mcpi_id_same(&cancel->id, &request->id);
}
