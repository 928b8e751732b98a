/*
 * pattern.h - a regular expression whose effort is bounded
 *
 * JSON Schema writes patterns as ECMA-262 does; PCRE2 reads nearly all of that, told to
 * take `$` as the very end, \d and \w as ASCII, \uXXXX as a character and [] as a class
 * that nothing is in. Only pattern.c knows PCRE2.
 */
#ifndef MCPI_JSON_PATTERN_H
#define MCPI_JSON_PATTERN_H

#include <mcp/base.h>

/* Longest pattern, in bytes: what people write by hand is far below. */
#define MCPI_PATTERN_LENGTH_MAX 4096

/* Steps of one search from one place of the text. A plain pattern needs a few a
 * character; one that backtracks without end is stopped after some milliseconds. */
#define MCPI_PATTERN_STEPS_MAX 200000

/* Memory of one search, in KiB: places to come back to. */
#define MCPI_PATTERN_HEAP_MAX 4096

struct mcpi_pattern;

/* Compile. The text is UTF-8 and not kept. MCP_E_INVAL: it is not a pattern, err
 * says why and, if it can, where; MCP_E_LIMIT: too long, or it has what PCRE2 cannot do,
 * which err names; MCP_E_NOMEM. The allocator must
 * outlive it. */
int mcpi_pattern_new(const mcp_allocator *mem, const char *text, size_t len,
                     struct mcpi_pattern **ret, mcp_error *err);
void mcpi_pattern_free(struct mcpi_pattern *pattern);

/* Is it found anywhere in this valid UTF-8? 1: yes, 0: no, MCP_E_LIMIT: not known after
 * the effort allowed, MCP_E_NOMEM. Always by PCRE2, and with a budget of its own. Any
 * number of threads may search with one pattern. */
int mcpi_pattern_find(const struct mcpi_pattern *pattern, const char *text, size_t len);

/* The same, paid for from a budget of many searches: MCP_E_LIMIT also if it does not
 * suffice. Most searches are cheap; one that needs more effort is tried again with
 * more, at each place of the text, and pays for it, so that a budget bounds the time
 * of all of them. Text is charged by its length, and by the square of it unless the
 * pattern is known to be linear: one that is not gives up on texts of some 60 KiB. */
int mcpi_pattern_find_within(const struct mcpi_pattern *pattern, const char *text,
                             size_t len, uint64_t *budget);

#endif
