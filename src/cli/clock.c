/* clock.c - time that only goes forward */
#include "cli/clock.h"

#include <time.h>

int64_t
cli_now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t
cli_now_ms(void)
{
    return cli_now_ns() / 1000000;
}
