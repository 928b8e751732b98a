/*
 * schema_names.h - a fixed table of names, found by binary search
 *
 * Not by hash: schemas come from strangers, and no choice of names makes this slow.
 * Objects mostly come in the order of their schema, so each name knows which one
 * follows it there, and that one is tried first.
 */
#ifndef MCPI_JSON_SCHEMA_NAMES_H
#define MCPI_JSON_SCHEMA_NAMES_H

#include <string.h>

#include "json/schema_arena.h"
#include "json/yy.h"

struct mcpi_name {
    const char *text;
    size_t len;
    uint32_t next; /* the index of the one after it in the document, or none */
};

struct mcpi_names {
    struct mcpi_name *names; /* by length and bytes */
    uint32_t count;
    uint32_t first; /* in the document */
};

#define MCPI_NAME_NONE UINT32_MAX

/* Make the table of `count` strings of one document, of which some may be the same.
 * MCP_E_NOMEM. The texts are borrowed. `strings` is left in another order. */
int mcpi_names_init(struct mcpi_names *names, struct mcpi_arena *arena,
                    const yyjson_val **strings, size_t count);

/* The index of a name, or MCPI_NAME_NONE. */
uint32_t mcpi_names_search(const struct mcpi_names *names, const yyjson_val *string);

/* Are they the same? Names are short: two overlapping words are nearly all of them. */
static inline bool
mcpi_bytes_equal(const char *a, const char *b, size_t len)
{
    uint64_t long_a[2], long_b[2];
    uint32_t short_a[2], short_b[2];

    if (len >= 8 && len <= 16) {
        memcpy(&long_a[0], a, 8);
        memcpy(&long_a[1], a + len - 8, 8);
        memcpy(&long_b[0], b, 8);
        memcpy(&long_b[1], b + len - 8, 8);
        return long_a[0] == long_b[0] && long_a[1] == long_b[1];
    }
    if (len >= 4 && len < 8) {
        memcpy(&short_a[0], a, 4);
        memcpy(&short_a[1], a + len - 4, 4);
        memcpy(&short_b[0], b, 4);
        memcpy(&short_b[1], b + len - 4, 4);
        return short_a[0] == short_b[0] && short_a[1] == short_b[1];
    }
    if (len > 0 && len < 4)
        return a[0] == b[0] && a[len / 2] == b[len / 2] && a[len - 1] == b[len - 1];
    return memcmp(a, b, len) == 0;
}

static inline bool
mcpi_name_equal(const char *text, size_t len, const yyjson_val *string)
{
    return len == mcpi_yy_len(string) && mcpi_bytes_equal(text, string->uni.str, len);
}

/* mcpi_names_search; `guess` is tried first and may be none. */
static inline uint32_t
mcpi_names_find(const struct mcpi_names *names, const yyjson_val *string,
                uint32_t guess)
{
    if (guess < names->count &&
        mcpi_name_equal(names->names[guess].text, names->names[guess].len, string))
        return guess;
    return mcpi_names_search(names, string);
}

#endif
