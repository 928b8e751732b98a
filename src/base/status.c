/* status.c - names and sentences of statuses, and the version */
#include <mcp/base.h>

#ifndef MCPI_VERSION
#define MCPI_VERSION "0.0.0" /* a file compiled by hand, outside the build */
#endif

const char *
mcp_status_text(int status)
{
    switch (status) {
    case MCP_OK:
        return "success";
#define STATUS_TEXT(name, value, text) \
    case name:                         \
        return text;
        MCP_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    default:
        return "unknown status";
    }
}

const char *
mcp_status_name(int status)
{
    switch (status) {
    case MCP_OK:
        return "MCP_OK";
#define STATUS_NAME(name, value, text) \
    case name:                         \
        return #name;
        MCP_STATUS_MAP(STATUS_NAME)
#undef STATUS_NAME
    default:
        return "unknown";
    }
}

const char *
mcp_version(void)
{
    return MCPI_VERSION;
}
