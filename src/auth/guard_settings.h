/* guard_settings.h - the options of a guard: read, checked, complete, and kept */
#ifndef MCPI_AUTH_GUARD_SETTINGS_H
#define MCPI_AUTH_GUARD_SETTINGS_H

#include <mcp/auth.h>

#include "base/buf.h"
#include "link/http_guard.h"
#include "run/address.h"

/* Longest URL of a resource: it stands in every challenge. */
#define MCPI_GUARD_RESOURCE_MAX 1024
/* More issuers than anybody trusts. */
#define MCPI_GUARD_ISSUERS_MAX 32
/* Lists that are longer, and texts of scopes, are a mistake. */
#define MCPI_GUARD_LIST_MAX 1024

/* Immutable; all in one block but for the document. */
struct mcpi_guard_settings {
    const mcp_allocator *mem;
    mcp_guard_options opt; /* no zero is left where zero means a default */
    size_t issuer_count;
    const char *metadata; /* URL of the document */
    const char *origin;   /* of the resource: "https://host:1" */
    struct mcpi_http_notice notice;
    struct mcpi_buf document, places; /* what these are in */
    char *origin_text;
};

/* MCP_E_INVAL: err says which is wrong, and why; MCP_E_NOMEM. */
int mcpi_guard_settings_new(const mcp_guard_options *given,
                            struct mcpi_guard_settings **ret_settings, mcp_error *err);
void mcpi_guard_settings_free(struct mcpi_guard_settings *settings); /* NULL ok */

/* How near an issuer and its keys may be: a name or address that the program has written
 * down itself is where it may go. */
enum mcpi_address_kind mcpi_guard_settings_nearest(
    const struct mcpi_guard_settings *settings, const char *issuer);

/* Add what those scopes imply: until nothing is new. A failure is the buffer's. */
void mcpi_guard_settings_imply(const struct mcpi_guard_settings *settings,
                               struct mcpi_buf *scopes);

#endif
