/* log.c - one formatted line for the caller's hook */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* A peer's text may hold line ends: one entry stays one line. */
static void
line_flatten(char *line)
{
    for (; *line; line++) {
        if (*line == '\n' || *line == '\r' || *line == '\t')
            *line = ' ';
    }
}

void
mcpi_log_write(const struct mcpi_log *log, enum mcp_log_level level, const char *format,
               ...)
{
    /* longer by one character: a cut of vsnprintf's falls outside of what is kept */
    char raw[MCPI_LOG_LINE + 4];
    char line[MCPI_LOG_LINE];
    va_list args;
    int n;

    if (!log->fn || level > log->level)
        return;
    va_start(args, format);
    n = vsnprintf(raw, sizeof(raw), format, args);
    va_end(args);
    if (n < 0)
        return;
    line_flatten(raw);
    (void)mcpi_text_clean(line, sizeof(line), raw, strlen(raw));
    log->fn(log->user, level, line);
}
