/* schema_seen.c - which members or elements of a value some subschema has looked at */
#include "json/schema_seen.h"

#include "base/mem.h"

#define BITS 64

static size_t
seen_words(const struct mcpi_seen *seen)
{
    return (seen->count + BITS - 1) / BITS;
}

static uint64_t *
seen_bits(struct mcpi_seen *seen)
{
    return seen->bits ? seen->bits : &seen->small;
}

int
mcpi_seen_init(struct mcpi_seen *seen, const mcp_allocator *mem, size_t count)
{
    *seen = (struct mcpi_seen){.mem = mem, .count = count};
    if (count <= BITS)
        return 0;
    seen->bits = mcpi_alloc_zero(mem, seen_words(seen) * sizeof(*seen->bits));
    return seen->bits ? 0 : MCP_E_NOMEM;
}

void
mcpi_seen_done(struct mcpi_seen *seen)
{
    mcpi_free(seen->mem, seen->bits);
    seen->bits = NULL;
}

void
mcpi_seen_mark(struct mcpi_seen *seen, size_t index)
{
    seen_bits(seen)[index / BITS] |= (uint64_t)1 << (index % BITS);
}

void
mcpi_seen_mark_all(struct mcpi_seen *seen)
{
    seen->all = true;
}

bool
mcpi_seen_has(const struct mcpi_seen *seen, size_t index)
{
    const uint64_t *bits = seen->bits ? seen->bits : &seen->small;

    return seen->all || bits[index / BITS] >> (index % BITS) & 1;
}

void
mcpi_seen_merge(struct mcpi_seen *seen, const struct mcpi_seen *other)
{
    const uint64_t *from = other->bits ? other->bits : &other->small;
    uint64_t *to = seen_bits(seen);

    seen->all = seen->all || other->all;
    for (size_t i = 0; i < seen_words(seen); i++)
        to[i] |= from[i];
}
