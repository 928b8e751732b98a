/* schema_seen.h - which members or elements of a value some subschema has looked at */
#ifndef MCPI_JSON_SCHEMA_SEEN_H
#define MCPI_JSON_SCHEMA_SEEN_H

#include <mcp/base.h>

/* For unevaluatedProperties and unevaluatedItems: one bit for each, by its place. */
struct mcpi_seen {
    const mcp_allocator *mem;
    uint64_t small; /* enough for most values */
    uint64_t *bits; /* NULL: small is in use */
    size_t count;
    bool all;
};

/* MCP_E_NOMEM. */
int mcpi_seen_init(struct mcpi_seen *seen, const mcp_allocator *mem, size_t count);
void mcpi_seen_done(struct mcpi_seen *seen);

void mcpi_seen_mark(struct mcpi_seen *seen, size_t index);
void mcpi_seen_mark_all(struct mcpi_seen *seen);
bool mcpi_seen_has(const struct mcpi_seen *seen, size_t index);

/* Mark what the other has, which is about the same value. */
void mcpi_seen_merge(struct mcpi_seen *seen, const struct mcpi_seen *other);

#endif
