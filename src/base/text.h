/* text.h - UTF-8 and small copies of text */
#ifndef MCPI_BASE_TEXT_H
#define MCPI_BASE_TEXT_H

#include <mcp/base.h>

/* Longest reason of a cancel that is kept or sent: a sentence; it is for people. */
#define MCPI_REASON_MAX 120

bool mcpi_utf8_valid(const char *text, size_t len);

/* Characters, that is code points, in valid UTF-8. */
size_t mcpi_utf8_count(const char *text, size_t len);

/* The longest prefix of at most max bytes that ends at a character boundary. */
size_t mcpi_utf8_cut(const char *text, size_t len, size_t max);

/* Copy text into a fixed array as valid, terminated UTF-8: cut to fit, every invalid
 * byte and control character replaced by '?'. Returns the length. text NULL: ""; it may
 * be what already stands in the array. */
size_t mcpi_text_clean(char *into, size_t size, const char *text, size_t len);

/* Copy text to *at, terminated, and move *at behind it; returns the copy. For texts that
 * stand together behind their owner. NULL stays NULL, and takes no room. */
const char *mcpi_text_stow(char **at, const char *text, size_t len);

/* Is it a token of HTTP, such as the name of a header (RFC 9110, 5.6.2)? Not empty. */
bool mcpi_text_is_token(const char *text, size_t len);

/* The same but for the case of ASCII letters? */
bool mcpi_text_same_letters(const char *a, const char *b);

/* Fill *err if it is not NULL: status, codes 0, a formatted sentence. Returns status. */
int mcpi_error_set(mcp_error *err, int status, const char *format, ...)
    MCP_PRINTF(3, 4);

#endif
