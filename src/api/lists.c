/* lists.c - the lists of what a server offers, page by page */
#include <string.h>

#include "api/methods.h"
#include "api/server.h"

/* A modern result has to say how long it may be kept (2026-07-28,
 * server/utilities/caching), a legacy one cannot. All pages say the same. */
static void
list_end(mcp_request *req)
{
    struct mcpi_buf *body = &req->out.answer.body;

    if (req->x->caller.dialect->modern)
        mcpi_cache_write(body, req->server->list_ttl_ms, req->server->list_scope);
    mcpi_buf_char(body, '}');
    (void)mcpi_request_end(req, body->status);
}

static void
list_page(mcp_request *req, enum mcpi_catalog_index index)
{
    const mcp_json *given = mcp_json_get(req->x->rpc.params, "cursor");
    const char *cursor = mcp_json_string(given, NULL);
    struct mcpi_buf *body = &req->out.answer.body;
    int r = MCP_E_INVAL;

    if (given && !cursor) {
        mcpi_request_reject(req, "cursor must be a string");
        return;
    }
    mcpi_buf_char(body, '{');
    if (!cursor || strlen(cursor) == mcp_json_string_length(given)) /* no U+0000 */
        r = mcpi_catalog_page(&req->server->catalogs[index], cursor, req->server->page,
                              req->x->caller.dialect->modern, body);
    if (r == MCP_E_INVAL)
        mcpi_request_reject(req, "cursor is not one of ours");
    else if (r < 0)
        (void)mcpi_request_end(req, r);
    else
        list_end(req);
}

void
mcpi_tools_list(mcp_request *req)
{
    list_page(req, MCPI_TOOLS);
}

void
mcpi_resources_list(mcp_request *req)
{
    list_page(req, MCPI_RESOURCES);
}

void
mcpi_templates_list(mcp_request *req)
{
    list_page(req, MCPI_TEMPLATES);
}

void
mcpi_prompts_list(mcp_request *req)
{
    list_page(req, MCPI_PROMPTS);
}
