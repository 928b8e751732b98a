/*
 * scopes.h - sets of scopes, as OAuth writes them: words with blanks between. Pure.
 */
#ifndef MCPI_AUTH_SCOPES_H
#define MCPI_AUTH_SCOPES_H

#include <mcp/json.h>

#include "base/buf.h"

/* Longest set that is kept. */
#define MCPI_SCOPES_MAX 4096

/* Append those words of text that into does not have yet; into is a set, unterminated. A
 * word with characters that no scope has (RFC 6749, 3.3) is left out; so is
 * what stands behind MCPI_SCOPES_MAX / 2 words, more than a set has. text NULL: none. */
void mcpi_scopes_add(struct mcpi_buf *into, const char *text);
/* The same, of an array of strings; anything else: none. */
void mcpi_scopes_add_json(struct mcpi_buf *into, const mcp_json *list);
/* Is nothing in that text that mcpi_scopes_add would leave out? */
bool mcpi_scopes_are(const char *text);
/* Does the set have all words of that text? Both may be NULL: none. */
bool mcpi_scopes_have(const char *set, const char *words);
bool mcpi_scopes_have_n(const char *set, size_t set_len, const char *words);

#endif
