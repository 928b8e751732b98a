/*
 * resource.h - one resource of a server, or a template of many
 *
 * Both are read by the same method and are shown almost alike, so they are one noun: a
 * template is a resource with a pattern instead of a URI.
 */
#ifndef MCPI_API_RESOURCE_H
#define MCPI_API_RESOURCE_H

#include <mcp/resource.h>
#include <mcp/uri_template.h>

#include "api/offer.h"
#include "base/list.h"

struct mcpi_resource {
    struct mcpi_offer offer;   /* its key is the URI, or the text of the template */
    mcp_uri_template *pattern; /* NULL: one resource */
    char *mime_type;           /* NULL: not said */
    char *content;             /* text or bytes that never change; NULL: none */
    size_t content_length;
    bool is_text;
    int64_t ttl_ms; /* how long and for whom a reading may be kept */
    enum mcp_cache_scope scope;
};

static inline struct mcpi_resource *
mcpi_resource_of(struct mcpi_offer *offer)
{
    return MCPI_CONTAINER(offer, struct mcpi_resource, offer);
}

/* One with one reference. MCP_E_INVAL: err names it and what is wrong with it. */
int mcpi_resource_new(const mcp_allocator *mem, const mcp_resource *definition,
                      struct mcpi_resource **ret_resource, mcp_error *err);
int mcpi_template_new(const mcp_allocator *mem, const mcp_template *definition,
                      struct mcpi_resource **ret_template, mcp_error *err);

/* May a resource that is spoken of have this URI: has it a scheme, and nothing that no URI
 * may have? More is not asked, because people write what their servers understand. */
bool mcpi_uri_fits(const char *uri, size_t len);

/* Has the template a variable of that name? */
bool mcpi_template_has(const struct mcpi_resource *template, const char *name);

#endif
