/* schema_arena.h - memory that is taken piece by piece and freed at once */
#ifndef MCPI_JSON_SCHEMA_ARENA_H
#define MCPI_JSON_SCHEMA_ARENA_H

#include <mcp/base.h>

struct mcpi_arena_chunk;

struct mcpi_arena {
    const mcp_allocator *mem;
    struct mcpi_arena_chunk *chunks; /* the one in use first */
    size_t left;                     /* bytes of it that are free */
};

void mcpi_arena_init(struct mcpi_arena *arena, const mcp_allocator *mem);
void mcpi_arena_done(struct mcpi_arena *arena);

/* Zeroed memory, aligned for anything; NULL: there is none. Size 0 counts as 1. */
void *mcpi_arena_take(struct mcpi_arena *arena, size_t size);

/* A terminated copy. */
char *mcpi_arena_text(struct mcpi_arena *arena, const char *text, size_t len);

#endif
