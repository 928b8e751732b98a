/* mem.c - allocation through the caller's allocator, and reading of option structs */
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A size beyond this is a struct that was never initialised, and reading that many
 * bytes to find out what they hold would crash. */
#define OPTIONS_SIZE_MAX 65536

static void *
malloc_alloc(void *user, size_t size)
{
    (void)user;
    return malloc(size);
}

static void *
malloc_realloc(void *user, void *ptr, size_t size)
{
    (void)user;
    return realloc(ptr, size);
}

static void
malloc_free(void *user, void *ptr)
{
    (void)user;
    free(ptr);
}

static const mcp_allocator malloc_allocator = {
    .alloc = malloc_alloc,
    .realloc = malloc_realloc,
    .free = malloc_free,
};

const mcp_allocator *
mcpi_mem_or_malloc(const mcp_allocator *mem)
{
    return mem ? mem : &malloc_allocator;
}

void *
mcpi_alloc(const mcp_allocator *mem, size_t size)
{
    assert(size > 0);
    return mem->alloc(mem->user, size);
}

void *
mcpi_alloc_zero(const mcp_allocator *mem, size_t size)
{
    return mcpi_alloc_zero_first(mem, size, size);
}

void *
mcpi_alloc_zero_first(const mcp_allocator *mem, size_t size, size_t first)
{
    void *ptr = mcpi_alloc(mem, size);

    if (ptr)
        memset(ptr, 0, first);
    return ptr;
}

void *
mcpi_realloc(const mcp_allocator *mem, void *ptr, size_t size)
{
    assert(size > 0);
    if (!ptr)
        return mem->alloc(mem->user, size);
    return mem->realloc(mem->user, ptr, size);
}

void
mcpi_free(const mcp_allocator *mem, void *ptr)
{
    if (ptr)
        mem->free(mem->user, ptr);
}

static bool
bytes_are_zero(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i])
            return false;
    }
    return true;
}

int
mcpi_options_read(void *into, size_t into_size, const void *from)
{
    const unsigned char *bytes = from;
    size_t size;

    if (!from) {
        memset(into, 0, into_size);
        return 0;
    }
    memcpy(&size, from, sizeof(size));
    if (size < sizeof(size) || size > OPTIONS_SIZE_MAX)
        return MCP_E_INVAL;
    if (size > into_size && !bytes_are_zero(bytes + into_size, size - into_size))
        return MCP_E_INVAL;
    memset(into, 0, into_size);
    memcpy(into, from, size < into_size ? size : into_size);
    return 0;
}
