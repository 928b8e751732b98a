/*
 * tools.c - tools/list and tools/call
 *
 * Who asks for a tool that is not there, or in a form that is none, gets an error:
 * "Unknown tool", and what does not "satisfy CallToolRequest" (2026-07-28 and
 * 2025-11-25, server/tools, Error Handling). Arguments that a tool does not like are
 * handler.c's.
 */
#include "api/request.h"
#include "api/server.h"

static void
tools_refuse(mcp_request *req, const char *why)
{
    mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s", why);
    (void)mcpi_request_end(req, MCP_E_PEER);
}

/* ---- tools/list --------------------------------------------------------- */

/* The list may change at any time, so nobody should rely on it for long; a modern
 * result has to say so (2026-07-28, server/utilities/caching), a legacy one cannot. */
static void
list_end(mcp_request *req)
{
    struct mcpi_buf *body = &req->out.answer.body;

    if (req->x->caller.dialect->modern)
        MCPI_BUF_LITERAL(body, ",\"ttlMs\":0,\"cacheScope\":\"private\"");
    mcpi_buf_char(body, '}');
    (void)mcpi_request_end(req, body->status);
}

void
mcpi_tools_list(mcp_request *req)
{
    const mcp_json *cursor = mcp_json_get(req->x->rpc.params, "cursor");
    struct mcpi_buf *body = &req->out.answer.body;
    int r;

    if (cursor && mcp_json_get_type(cursor) != MCP_JSON_STRING) {
        tools_refuse(req, "cursor must be a string");
        return;
    }
    mcpi_buf_char(body, '{');
    r = mcpi_catalog_page(&req->server->catalog, mcp_json_string(cursor, NULL),
                          req->server->page, body);
    if (r == MCP_E_INVAL)
        tools_refuse(req, "cursor is not one of ours");
    else if (r < 0)
        (void)mcpi_request_end(req, r);
    else
        list_end(req);
}

/* ---- tools/call --------------------------------------------------------- */

/* A sentence for what is wrong with the form of the request, or NULL. */
static const char *
call_fault(const mcp_request *req)
{
    const mcp_json *arguments = mcp_request_arguments(req);
    const mcp_json *name = mcp_json_get(req->x->rpc.params, "name");

    if (mcp_json_get_type(name) != MCP_JSON_STRING)
        return "name must be a string";
    if (arguments && mcp_json_get_type(arguments) != MCP_JSON_OBJECT)
        return "arguments must be an object";
    if (mcpi_json_has_duplicates(arguments))
        return "a key stands twice in arguments";
    return NULL;
}

void
mcpi_tools_call(mcp_request *req)
{
    const char *fault = call_fault(req);

    if (fault) {
        tools_refuse(req, fault);
        return;
    }
    if (!req->tool) {
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Unknown tool: %s",
                            mcp_request_name(req));
        (void)mcpi_request_end(req, MCP_E_PEER);
        return;
    }
    mcpi_request_call_tool(req);
}
