/* error.h - errors of our own, in words */
#ifndef CLI_ERROR_H
#define CLI_ERROR_H

#include <mcp/base.h>

/* Fills err in, unless it is NULL, and returns the status. What is too long is cut. */
int cli_error(mcp_error *err, int status, const char *format, ...) MCP_PRINTF(3, 4);

/* The same for MCP_E_NOMEM, and the like, in the library's words. */
int cli_error_of(mcp_error *err, int status);

#endif
