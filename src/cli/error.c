/* error.c - errors of our own, in words */
#include "cli/error.h"

#include <stdarg.h>
#include <stdio.h>

int
cli_error(mcp_error *err, int status, const char *format, ...)
{
    va_list list;

    if (!err)
        return status;
    *err = (mcp_error){.status = status};
    va_start(list, format);
    (void)vsnprintf(err->message, sizeof(err->message), format, list);
    va_end(list);
    return status;
}

int
cli_error_of(mcp_error *err, int status)
{
    return cli_error(err, status, "%s", mcp_status_text(status));
}
