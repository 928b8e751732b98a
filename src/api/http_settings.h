/* http_settings.h - the options of HTTP: read, checked, complete, and kept */
#ifndef MCPI_API_HTTP_SETTINGS_H
#define MCPI_API_HTTP_SETTINGS_H

#include <mcp/http.h>
#include <stdatomic.h>

/* Counted, immutable; all in one block. */
struct mcpi_http_settings {
    const mcp_allocator *mem;
    atomic_uint refs;
    mcp_http_options http; /* no zero is left where zero means a default; -1 stays */
    mcp_event_store store; /* what http.store points to, if it does */
};

/* Read them; given NULL: all defaults. MCP_E_INVAL: err says which is wrong, and why;
 * MCP_E_NOMEM. */
int mcpi_http_settings_new(const mcp_allocator *mem, const mcp_http_options *given,
                           struct mcpi_http_settings **ret_settings, mcp_error *err);
struct mcpi_http_settings *mcpi_http_settings_ref(struct mcpi_http_settings *settings);
void mcpi_http_settings_unref(struct mcpi_http_settings *settings); /* NULL ok [any] */

#endif
