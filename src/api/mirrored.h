/* mirrored.h - arguments of a tool that stand in HTTP headers too (2026-07-28) */
#ifndef MCPI_API_MIRRORED_H
#define MCPI_API_MIRRORED_H

#include <mcp/server.h>

/* The value of the header of that name, which is in lower case, terminated and borrowed
 * for the check; *ret_count says how often it stands there. NULL: it does not. */
typedef const char *mcpi_mirrored_fn(void *user, const char *name, size_t *ret_count);

/*
 * Do the headers of a tool call say what its arguments say? For each that the tool has
 * mirrored: a value has one header, which says the same; null, or none, has no header.
 *
 * 0: they do; the tool has none; or there is no such tool, which core will tell.
 * MCP_E_PROTO: they do not, and why is a sentence that names the header. MCP_E_NOMEM.
 * [any]
 */
int mcpi_mirrored_check(mcp_server *server, const char *tool, const mcp_json *arguments,
                        mcpi_mirrored_fn *header, void *user, char *why, size_t size);

#endif
