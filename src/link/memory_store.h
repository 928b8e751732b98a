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

#endif
