/*
 * stdio.h - the process's own stdin and stdout, made private
 *
 * What handlers and their children see as 0 and 1 is not the wire (M19): 0 becomes
 * /dev/null and 1 a copy of stderr (of /dev/null, if there is none).
 */
#ifndef MCPI_LINK_STDIO_H
#define MCPI_LINK_STDIO_H

#include <mcp/base.h>

/* Take 0 and 1 away: *ret_in and *ret_out are close-on-exec, above 2. MCP_E_INVAL: one
 * of them is not open, or not that way round; MCP_E_LIMIT. [any; before handlers run] */
int mcpi_stdio_take(int *ret_in, int *ret_out, mcp_error *err);

/* Put them back; the descriptors are closed. For tests, and servers that end before
 * their program. */
void mcpi_stdio_give_back(int in, int out);

#endif
