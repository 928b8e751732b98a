/* severity.h - how urgent a log message of the protocol is: the wire's names */
#ifndef MCPI_WIRE_SEVERITY_H
#define MCPI_WIRE_SEVERITY_H

#include <mcp/base.h>

/* The wire's name, a constant; "" for what is none. */
const char *mcpi_severity_name(enum mcp_severity severity);

/* The severity of that name, or MCP_SEVERITY_NONE. */
enum mcp_severity mcpi_severity_find(const char *name, size_t len);

/* Is it one that a message can have? */
static inline bool
mcpi_severity_is_one(enum mcp_severity severity)
{
    return severity >= MCP_SEVERITY_DEBUG && severity <= MCP_SEVERITY_EMERGENCY;
}

#endif
