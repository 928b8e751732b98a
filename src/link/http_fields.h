/*
 * http_fields.h - the header lines of what a client sends
 *
 * Written as run/fetch.h wants them: "Name: value", each with a terminator. What comes
 * from messages is encoded, so no line has a break in it.
 */
#ifndef MCPI_LINK_HTTP_FIELDS_H
#define MCPI_LINK_HTTP_FIELDS_H

#include "base/buf.h"
#include "wire/mirror.h"
#include "wire/rpc.h"

/* One line; a value with a line break, or other control characters, is left out:
 * MCP_E_INVAL. */
int mcpi_http_fields_add(struct mcpi_buf *into, const char *name, const char *value);

/* Check and append lines that a user gave, "Name: value", ending with NULL. Those that
 * MCP or HTTP itself writes, or that would change what a body is, are refused (Accept,
 * Content-Type, Host, Expect, Accept-Encoding, Mcp-*, Last-Event-ID, ...). MCP_E_INVAL
 * with err, which repeats no value. */
int mcpi_http_fields_given(struct mcpi_buf *into, const char *const *lines,
                           mcp_error *err);

/* Check and append what a user says of methods that are not the protocol's, "method
 * member", ending with NULL; each gets a terminator. MCP_E_INVAL with err. */
int mcpi_http_fields_names(struct mcpi_buf *into, const char *const *names,
                           mcp_error *err);

/* Accept, and Content-Type, of a POST; of a GET. */
void mcpi_http_fields_post(struct mcpi_buf *into);
void mcpi_http_fields_get(struct mcpi_buf *into);

/* Mcp-Method, Mcp-Name and Mcp-Param-* of a modern request; names: from above; mirror:
 * what the tool that it calls has in headers. Both may be NULL. A null argument, or
 * none, has no header. */
int mcpi_http_fields_mirror(struct mcpi_buf *into, const struct mcpi_rpc *rpc,
                            const struct mcpi_buf *names,
                            const struct mcpi_mirror *mirror);

#endif
