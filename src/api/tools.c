/*
 * tools.c - tools/call
 *
 * Who asks for a tool that is not there, or in a form that is none, gets an error:
 * "Unknown tool", and what does not "satisfy CallToolRequest" (2026-07-28 and
 * 2025-11-25, server/tools, Error Handling). Arguments that a tool does not like are
 * handler.c's.
 */
#include "api/methods.h"
#include "api/server.h"

void
mcpi_request_reject(mcp_request *req, const char *why)
{
    mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s", why);
    (void)mcpi_request_end(req, MCP_E_PEER);
}

/* ---- tools/call --------------------------------------------------------- */

void
mcpi_tools_find(mcp_request *req)
{
    const mcp_json *name = mcp_json_get(req->x->rpc.params, "name");
    struct mcpi_offer *offer;

    if (mcp_json_get_type(name) != MCP_JSON_STRING)
        return;
    offer = mcpi_catalog_find(&req->server->catalogs[MCPI_TOOLS],
                              mcp_json_string(name, ""), mcp_json_string_length(name));
    if (!offer)
        return;
    mcpi_request_take_offer(req, offer, &offer->handler, MCPI_RESULT_TOOL);
    req->out.tool = mcpi_tool_of(offer);
}

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
        mcpi_request_reject(req, fault);
        return;
    }
    if (!req->offer) {
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Unknown tool: %s",
                            mcp_request_name(req));
        (void)mcpi_request_end(req, MCP_E_PEER);
        return;
    }
    mcpi_request_handle(req);
}
