/* mem.h - allocation through the caller's allocator */
#ifndef MCPI_BASE_MEM_H
#define MCPI_BASE_MEM_H

#include <mcp/base.h>

/* The allocator to use: the given one, or malloc for NULL. Never NULL. The pointer is
 * kept by objects, so a caller's allocator must outlive them. */
const mcp_allocator *mcpi_mem_or_malloc(const mcp_allocator *mem);

/* Sizes are not 0. NULL: no memory. */
void *mcpi_alloc(const mcp_allocator *mem, size_t size);
void *mcpi_alloc_zero(const mcp_allocator *mem, size_t size); /* all bytes zero */
/* Only the first bytes zero: for a struct with long texts at its end. */
void *mcpi_alloc_zero_first(const mcp_allocator *mem, size_t size, size_t first);
void *mcpi_realloc(const mcp_allocator *mem, void *ptr, size_t size); /* NULL: alloc */
void mcpi_free(const mcp_allocator *mem, void *ptr);                  /* NULL: no-op */

/* Read an options struct that starts with a size_t size into `into`, whose own size is
 * into_size. from NULL: all zero. Members the caller does not know become zero.
 * MCP_E_INVAL if the caller's size is no size of a struct (below that of its first
 * member, or above 64 KiB) or if it set a member we do not know. */
int mcpi_options_read(void *into, size_t into_size, const void *from);

#endif
