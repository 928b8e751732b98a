/* http_gist.c - what a request says to a session, told before it is served */
#include "link/http_gist.h"

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

int
mcpi_http_gist_read(const mcp_allocator *mem, const struct mcpi_json_limits *limits,
                    const struct mcpi_http_in *in, struct mcpi_http_gist *ret)
{
    struct mcpi_rpc rpc;
    int r;

    *ret = (struct mcpi_http_gist){.kind = MCPI_GIST_OTHER};
    if (in->method == MCPI_HTTP_GET)
        ret->kind = MCPI_GIST_ASKS;
    if (in->method != MCPI_HTTP_POST)
        return 0;
    r = mcpi_doc_parse(mem, in->body, in->body_len, limits, &ret->doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : 0;
    mcpi_rpc_read(mcp_doc_root(ret->doc), &rpc);
    gist_of_message(&rpc, ret);
    if (ret->id.kind != MCPI_ID_STRING) { /* all is said */
        mcp_doc_free(ret->doc);
        ret->doc = NULL;
    }
    return 0;
}

void
mcpi_http_gist_done(struct mcpi_http_gist *gist)
{
    mcp_doc_free(gist->doc);
    *gist = (struct mcpi_http_gist){.kind = MCPI_GIST_OTHER};
}

bool
mcpi_http_gist_is_for(const struct mcpi_http_gist *cancel,
                      const struct mcpi_http_gist *request)
{
    return cancel->kind == MCPI_GIST_CANCELS && request->kind == MCPI_GIST_ASKS &&
           cancel->id.kind != MCPI_ID_NONE && mcpi_id_same(&cancel->id, &request->id);
}
