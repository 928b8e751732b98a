/* resources.c - resources/read: who is read, and what if nobody is */
#include <string.h>

#include "api/methods.h"
#include "api/resource.h"
#include "api/server.h"

static const mcp_json *
uri_of(const mcp_request *req)
{
    return mcp_json_get(req->x->rpc.params, "uri");
}

/* ---- finding ------------------------------------------------------------ */

/* A URI that is too long to be matched is one that nobody has. */
static int
template_match(mcp_request *req, struct mcpi_offer *offer, const mcp_json *uri)
{
    const mcp_uri_template *pattern = mcpi_resource_of(offer)->pattern;
    int r;

    r = mcp_uri_template_match(pattern, mcp_json_string(uri, ""),
                               mcp_json_string_length(uri), &req->variables, NULL,
                               NULL);
    return r == MCP_E_LIMIT ? 0 : r;
}

int
mcpi_templates_match(mcp_request *req, const mcp_json *uri,
                     struct mcpi_offer **ret_offer)
{
    struct mcpi_catalog *catalog = &req->server->catalogs[MCPI_TEMPLATES];
    struct mcpi_offer *offer, *next;
    int r = 0;

    for (offer = mcpi_catalog_after(catalog, NULL); offer; offer = next) {
        r = template_match(req, offer, uri);
        if (r < 0 || req->variables)
            break;
        next = mcpi_catalog_after(catalog, offer->key);
        mcpi_offer_unref(offer);
    }
    if (r < 0) {
        mcpi_offer_unref(offer);
        return r;
    }
    *ret_offer = offer;
    return 0;
}

void
mcpi_resources_find(mcp_request *req)
{
    const mcp_json *uri = uri_of(req);
    struct mcpi_offer *offer;

    if (mcp_json_get_type(uri) != MCP_JSON_STRING)
        return;
    offer = mcpi_catalog_find(&req->server->catalogs[MCPI_RESOURCES],
                              mcp_json_string(uri, ""), mcp_json_string_length(uri));
    if (!offer)
        req->sought = mcpi_templates_match(req, uri, &offer);
    if (!offer)
        return;
    mcpi_request_take_offer(req, offer, &offer->handler, MCPI_RESULT_RESOURCE);
    req->out.resource = mcpi_resource_of(offer);
    req->out.uri = mcp_json_string(uri, "");
}

/* ---- reading ------------------------------------------------------------ */

void
mcpi_resources_read(mcp_request *req)
{
    if (mcp_json_get_type(uri_of(req)) != MCP_JSON_STRING)
        mcpi_request_reject(req, "uri must be a string");
    else if (req->sought < 0)
        (void)mcpi_request_end(req, req->sought);
    else if (!req->offer)
        (void)mcpi_request_end(req, mcp_request_not_found(req));
    else
        mcpi_request_handle(req);
}

/* `{"uri":...}`, terminated; NULL if there is none, or no memory for it. */
static const char *
not_found_data(const mcp_request *req, struct mcpi_buf *buf)
{
    const mcp_json *uri = uri_of(req);

    if (mcp_json_get_type(uri) != MCP_JSON_STRING)
        return NULL;
    MCPI_BUF_LITERAL(buf, "{\"uri\":");
    mcpi_json_write(buf, uri);
    mcpi_buf_char(buf, '}');
    mcpi_buf_char(buf, '\0');
    return buf->status == 0 ? buf->data : NULL;
}

int
mcp_request_not_found(mcp_request *req)
{
    struct mcpi_buf buf;
    int code, r;

    if (!req)
        return MCP_E_INVAL;
    code = req->out.modern ? MCPI_RPC_INVALID_PARAMS : MCPI_RPC_RESOURCE_NOT_FOUND;
    mcpi_buf_init(&buf, req->host->mem, SIZE_MAX);
    r = mcp_request_fail(req, code, not_found_data(req, &buf), "Resource not found");
    mcpi_buf_done(&buf);
    return r;
}
