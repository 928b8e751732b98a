/* random.h - bytes that nobody can guess */
#ifndef MCPI_RUN_RANDOM_H
#define MCPI_RUN_RANDOM_H

#include <mcp/base.h>

/* Fill with random bytes from the system. MCP_E_LIMIT: it has none. [any] */
int mcpi_random(void *into, size_t len);

#endif
