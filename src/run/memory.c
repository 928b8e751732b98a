/* memory.c - how much a process may use, and giving back what it does not need */
#include "run/memory.h"

#include <stdint.h>
#include <uv.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/mem.h"

#define DEFAULT_MEMORY_PART 4
#define DEFAULT_MEMORY_LEAST ((uint64_t)64 * 1024 * 1024)

size_t
mcpi_memory_share(void)
{
    uint64_t total = uv_get_total_memory(), allowed = uv_get_constrained_memory();

    if (allowed > 0 && allowed < total)
        total = allowed;
    total /= DEFAULT_MEMORY_PART;
    if (total < DEFAULT_MEMORY_LEAST)
        total = DEFAULT_MEMORY_LEAST;
    return total < SIZE_MAX ? (size_t)total : SIZE_MAX;
}

void
mcpi_memory_trim(const mcp_allocator *mem)
{
#ifdef __GLIBC__
    if (mem == mcpi_mem_or_malloc(NULL))
        (void)malloc_trim(0);
#else
    (void)mem;
#endif
}
