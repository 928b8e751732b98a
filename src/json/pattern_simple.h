/*
 * pattern_simple.h - patterns that need no backtracking, matched without PCRE2
 *
 * ^[a-z][a-z0-9_]*$, ^\d{4}-\d{2}$: an anchored sequence of ASCII classes of which only
 * the last one may be repeated a varying number of times. Most patterns of tools'
 * schemas are like that, and a loop over the text is ten times faster than an
 * interpreter.
 */
#ifndef MCPI_JSON_PATTERN_SIMPLE_H
#define MCPI_JSON_PATTERN_SIMPLE_H

#include <mcp/base.h>

#define MCPI_SIMPLE_ITEMS 16

struct mcpi_pattern_simple {
    unsigned count; /* 0: it is not simple */
    struct {
        uint64_t set[2]; /* a bit for each ASCII character */
        uint64_t min, max;
    } items[MCPI_SIMPLE_ITEMS];
};

/* False: it is not simple, or no pattern at all. */
bool mcpi_pattern_simple_read(struct mcpi_pattern_simple *simple, const char *text,
                              size_t len);

/* As PCRE2 would say. count is not 0. */
bool mcpi_pattern_simple_match(const struct mcpi_pattern_simple *simple,
                               const char *text, size_t len);

#endif
