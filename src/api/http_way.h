/*
 * http_way.h - the way of a client over HTTP: a fetcher and a link, on the client's loop
 *
 * Made on the caller's thread of options that were checked. Opened on the loop. When the
 * link is closed, and its authorization too, both are freed in the same turn, the link
 * before its fetcher, and then the client hears of it.
 */
#ifndef MCPI_API_HTTP_WAY_H
#define MCPI_API_HTTP_WAY_H

#include <mcp/http.h>

#include "api/reach.h"
#include "base/buf.h"

/* Copies url and opt, but for opt->headers and opt->names, which stand in fields and
 * names, as link/http_fields.h writes them; these are moved out of the buffers.
 * MCP_E_NOMEM. [any] */
int mcpi_http_way_new(const mcp_allocator *mem, const char *url,
                      const mcp_http_client_options *opt, struct mcpi_buf *fields,
                      struct mcpi_buf *names, struct mcpi_way **ret_way);

#endif
