/* times.c - how long mcpctl waits for things */
#include "cli/times.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

int64_t
cli_times_get(const char *name, int64_t ms)
{
    const char *at = getenv("MCPCTL_TIMES");
    size_t length = strlen(name);

    for (; at && *at; at += strcspn(at, " ")) {
        at += strspn(at, " ");
        if (strncmp(at, name, length) == 0 && at[length] == '=' &&
            isdigit((unsigned char)at[length + 1]))
            ms = strtoll(at + length + 1, NULL, 10);
    }
    return ms;
}
