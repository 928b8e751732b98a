/* fault.c - what a link says went wrong, in words for the program */
#include "api/fault.h"

#include <string.h>

#include "base/text.h"

bool
mcpi_fault_describe(const struct mcpi_fault *fault, int status, const char *what,
                    mcp_error *err)
{
    const char *why = fault && fault->why ? fault->why : "";
    const char *colon = what ? ": " : "";

    if (!fault || fault->status != status || (!why[0] && fault->http == 0))
        return false;
    if (!what)
        what = "";
    if (!why[0])
        (void)mcpi_error_set(err, status, "%s%sthe server answered HTTP %d", what,
                             colon, fault->http);
    else if (status == MCP_E_HTTP && strncmp(why, "HTTP ", 5) == 0)
        (void)mcpi_error_set(err, status, "%s%sthe server answered %s", what, colon,
                             why);
    else
        (void)mcpi_error_set(err, status, "%s%s%s", what, colon, why);
    err->http_status = fault->http;
    return true;
}
