/* memory.h - how much a process may use, and giving back what it does not need */
#ifndef MCPI_RUN_MEMORY_H
#define MCPI_RUN_MEMORY_H

#include <mcp/base.h>

/* A quarter of the memory that this process may use: of the machine, or of its control
 * group; 64 MiB at least. */
size_t mcpi_memory_share(void);

/* Give what was freed back to the system: malloc keeps it. An allocator of the program's
 * is its own affair. */
void mcpi_memory_trim(const mcp_allocator *mem);

#endif
