/* memory_store.h - events of sessions' streams, in memory; see mcp/http.h */
#ifndef MCPI_LINK_MEMORY_STORE_H
#define MCPI_LINK_MEMORY_STORE_H

#include <mcp/http.h>

/* Kept for a session by default. */
#define MCPI_STORE_BYTES ((size_t)1024 * 1024)

/* Sessions at the most; then those to which nothing was said for the longest time
 * leave. More than a server has by default on each of four loops; a store whose server
 * never tells it to forget must not fill memory. */
#define MCPI_STORE_SESSIONS 65536

/* And all of them together have that part of what a server may hold; then the session
 * that holds the most loses its oldest events. */
#define MCPI_STORE_PART_DEFAULT 4

/* With bounds of its own; 0: the default. */
int mcpi_memory_store_new(const mcp_allocator *allocator, size_t session_bytes,
                          size_t all_bytes, mcp_memory_store **ret_store);

#endif
