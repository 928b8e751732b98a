/*
 * mirror.h - what of a message also stands in HTTP headers (2026-07-28)
 *
 * A value that a header cannot hold as it is travels as =?base64?...?=. A schema of a
 * tool may say by x-mcp-header which arguments stand in Mcp-Param-<name>.
 */
#ifndef MCPI_WIRE_MIRROR_H
#define MCPI_WIRE_MIRROR_H

#include <mcp/json.h>

#include "base/buf.h"

/* Most arguments of one tool that stand in headers: HTTP servers take some hundred
 * headers, and those that a host needs itself are among them. */
#define MCPI_MIRROR_MAX 64

/* Names and paths of all of these, in bytes: far above any schema; a long path that
 * leads to many arguments stands there once for each. */
#define MCPI_MIRROR_BYTES_MAX 65536

/* Append a text as the value of a header: as it is, or encoded. */
void mcpi_mirror_encode(struct mcpi_buf *into, const char *text, size_t len);

/* Append what the value of a header stands for; blanks around it are not part of it.
 * MCP_E_PROTO: a character that no header may have, Base64 that is none, or none of
 * UTF-8. Half a marker is plain text. A failure of the buffer is returned too. */
int mcpi_mirror_decode(struct mcpi_buf *into, const char *value, size_t len);

/* Does the value of a header say the same as this value of a message? Strings as they
 * are, integers as numbers (42.0 is 42; exact over 64 bits), booleans as true and
 * false; nothing else does. MCP_E_PROTO: it does not, or cannot be read; MCP_E_NOMEM.
 * Only an encoded value costs memory. */
int mcpi_mirror_compare(const mcp_allocator *mem, const char *value, size_t len,
                        const mcp_json *said);

/* Append a value as a header says it. MCP_E_INVAL: of a type that none may have. A
 * failure of the buffer is returned too. */
int mcpi_mirror_write(struct mcpi_buf *into, const mcp_json *said);

/* The arguments of one tool that stand in headers; immutable. */
struct mcpi_mirror;

/* Read a schema. 0 with *ret NULL if it says nothing of it. MCP_E_INVAL: it breaks a
 * rule (empty, no token, twice without case, not a string, integer or boolean, not
 * reached by properties alone, more than MCPI_MIRROR_MAX, too long), and *ret_fault is a
 * constant sentence; MCP_E_NOMEM. */
int mcpi_mirror_new(const mcp_allocator *mem, const mcp_json *schema,
                    struct mcpi_mirror **ret, const char **ret_fault);
void mcpi_mirror_free(struct mcpi_mirror *mirror); /* NULL ok */

/* Do both say the same, in the same order? */
bool mcpi_mirror_same(const struct mcpi_mirror *a, const struct mcpi_mirror *b);

/* Memory that it holds, in bytes. */
size_t mcpi_mirror_bytes(const struct mcpi_mirror *mirror);

/* How many, 0 for NULL; and of one: the name behind Mcp-Param-, the whole name of the
 * header in lower case, and its value among these arguments, which may be NULL (absent)
 * or null. */
size_t mcpi_mirror_count(const struct mcpi_mirror *mirror);
const char *mcpi_mirror_name(const struct mcpi_mirror *mirror, size_t index);
const char *mcpi_mirror_header(const struct mcpi_mirror *mirror, size_t index);
const mcp_json *mcpi_mirror_value(const struct mcpi_mirror *mirror, size_t index,
                                  const mcp_json *arguments);

#endif
