/* severity.c - how urgent a log message of the protocol is: the wire's names */
#include "wire/severity.h"

#include <string.h>

static const char *const names[] = {
    [MCP_SEVERITY_NONE] = "",
    [MCP_SEVERITY_DEBUG] = "debug",
    [MCP_SEVERITY_INFO] = "info",
    [MCP_SEVERITY_NOTICE] = "notice",
    [MCP_SEVERITY_WARNING] = "warning",
    [MCP_SEVERITY_ERROR] = "error",
    [MCP_SEVERITY_CRITICAL] = "critical",
    [MCP_SEVERITY_ALERT] = "alert",
    [MCP_SEVERITY_EMERGENCY] = "emergency",
};

const char *
mcpi_severity_name(enum mcp_severity severity)
{
    return mcpi_severity_is_one(severity) ? names[severity] : "";
}

enum mcp_severity
mcpi_severity_find(const char *name, size_t len)
{
    for (int i = MCP_SEVERITY_DEBUG; i <= MCP_SEVERITY_EMERGENCY; i++) {
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return (enum mcp_severity)i;
    }
    return MCP_SEVERITY_NONE;
}
