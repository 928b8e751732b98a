/* schema_arena.c - memory that is taken piece by piece and freed at once */
#include "json/schema_arena.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

/* A chunk holds a few dozen pieces; a larger piece gets a chunk for itself. The first
 * is small: most schemas are. */
#define CHUNK_FIRST 2048
#define CHUNK_MAX 65536

struct mcpi_arena_chunk {
    struct mcpi_arena_chunk *next;
    size_t size;
    max_align_t data[];
};

void
mcpi_arena_init(struct mcpi_arena *arena, const mcp_allocator *mem)
{
    *arena = (struct mcpi_arena){.mem = mcpi_mem_or_malloc(mem)};
}

void
mcpi_arena_done(struct mcpi_arena *arena)
{
    while (arena->chunks) {
        struct mcpi_arena_chunk *chunk = arena->chunks;

        arena->chunks = chunk->next;
        mcpi_free(arena->mem, chunk);
    }
    arena->left = 0;
}

static bool
arena_grow(struct mcpi_arena *arena, size_t need)
{
    size_t size = arena->chunks ? arena->chunks->size * 2 : CHUNK_FIRST;
    struct mcpi_arena_chunk *chunk;

    if (size > CHUNK_MAX)
        size = CHUNK_MAX;
    if (size < need)
        size = need;
    if (size > SIZE_MAX - sizeof(*chunk))
        return false;
    chunk = mcpi_alloc(arena->mem, sizeof(*chunk) + size);
    if (!chunk)
        return false;
    chunk->next = arena->chunks;
    chunk->size = size;
    arena->chunks = chunk;
    arena->left = size;
    return true;
}

void *
mcpi_arena_take(struct mcpi_arena *arena, size_t size)
{
    const size_t align = sizeof(max_align_t);
    char *at;

    if (size > SIZE_MAX - align)
        return NULL;
    size = (size + !size + align - 1) / align * align;
    if (size > arena->left && !arena_grow(arena, size))
        return NULL;
    at = (char *)arena->chunks->data + (arena->chunks->size - arena->left);
    arena->left -= size;
    memset(at, 0, size);
    return at;
}

char *
mcpi_arena_text(struct mcpi_arena *arena, const char *text, size_t len)
{
    char *copy = len < SIZE_MAX ? mcpi_arena_take(arena, len + 1) : NULL;

    if (copy && len > 0)
        memcpy(copy, text, len);
    return copy;
}
