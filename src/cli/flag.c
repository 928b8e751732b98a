/* flag.c - something that other threads tell of once, and one thread waits for */
#include "cli/flag.h"

#include <time.h>

void
cli_flag_init(struct cli_flag *flag)
{
    pthread_condattr_t attributes;

    flag->is_up = false;
    (void)pthread_mutex_init(&flag->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&flag->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void
cli_flag_done(struct cli_flag *flag)
{
    (void)pthread_cond_destroy(&flag->changed);
    (void)pthread_mutex_destroy(&flag->lock);
}

static void
flag_set(struct cli_flag *flag, bool is_up)
{
    pthread_mutex_lock(&flag->lock);
    flag->is_up = is_up;
    pthread_cond_broadcast(&flag->changed);
    pthread_mutex_unlock(&flag->lock);
}

void
cli_flag_raise(struct cli_flag *flag)
{
    flag_set(flag, true);
}

void
cli_flag_lower(struct cli_flag *flag)
{
    flag_set(flag, false);
}

bool
cli_flag_wait(struct cli_flag *flag, int64_t ms)
{
    struct timespec until;
    bool is_up;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&flag->lock);
    while (!flag->is_up &&
           pthread_cond_timedwait(&flag->changed, &flag->lock, &until) == 0)
        continue;
    is_up = flag->is_up;
    pthread_mutex_unlock(&flag->lock);
    return is_up;
}
