/* link/http_version.c - which libmcp-http this is */
#include <mcp/http.h>

const char *
mcp_http_version(void)
{
    return MCPI_VERSION;
}
