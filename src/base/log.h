/* log.h - the one hook through which an object speaks; silent unless it is set */
#ifndef MCPI_BASE_LOG_H
#define MCPI_BASE_LOG_H

#include <mcp/base.h>

#define MCPI_LOG_LINE 512 /* longer lines are cut at a character boundary */

struct mcpi_log {
    mcp_log_fn *fn; /* NULL: silent */
    void *user;
    enum mcp_log_level level; /* what is above it is not even formatted */
};

void mcpi_log_write(const struct mcpi_log *log, enum mcp_log_level level,
                    const char *format, ...) MCP_PRINTF(3, 4);

/* Arguments are not evaluated unless somebody listens. */
#define MCPI_LOG(log, at, ...)                    \
    do {                                          \
        if ((log)->fn && (at) <= (log)->level)    \
            mcpi_log_write(log, at, __VA_ARGS__); \
    } while (0)

#endif
