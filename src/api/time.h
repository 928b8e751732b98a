/* time.h - the public milliseconds, as microseconds */
#ifndef MCPI_API_TIME_H
#define MCPI_API_TIME_H

#include <mcp/client.h>

#include "base/timers.h"

/* Milliseconds; what does not fit is never, and what is negative is now. */
static inline int64_t
mcpi_ms(int64_t ms)
{
    if (ms < 0)
        return 0;
    return ms > MCPI_NEVER / 1000 ? MCPI_NEVER : ms * 1000;
}

/* A time option: 0 stays 0, the default; MCP_TIMEOUT_NONE is never. False: negative. */
static inline bool
mcpi_time_option(int64_t ms, int64_t *ret_us)
{
    *ret_us = ms == MCP_TIMEOUT_NONE ? MCPI_NEVER : mcpi_ms(ms);
    return ms >= 0 || ms == MCP_TIMEOUT_NONE;
}

#endif
