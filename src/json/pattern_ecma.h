/* pattern_ecma.h - a pattern of ECMA-262 in the words of PCRE2 */
#ifndef MCPI_JSON_PATTERN_ECMA_H
#define MCPI_JSON_PATTERN_ECMA_H

#include "base/buf.h"

/* Append what PCRE2 must be told so that it means what ECMA-262 means: `.` and \s, \v,
 * property names; in a class `[`, \D and \W, and a hyphen beside \d and the like. What only PCRE2 has is refused: verbs, recursion,
 * inline options, escapes like \K. *ret_linear: it has no groups and no
 * repetition but short ones, or one if it is anchored, so that the length of the text
 * counts once: what short repetitions multiply, PCRE2 counts as steps. MCP_E_INVAL: err
 * says why. */
int mcpi_pattern_translate(struct mcpi_buf *buf, const char *text, size_t len,
                           bool *ret_linear, mcp_error *err);

#endif
