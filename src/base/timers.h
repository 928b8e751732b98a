/* timers.h - deadlines in one heap; time is an argument, in monotonic microseconds */
#ifndef MCPI_BASE_TIMERS_H
#define MCPI_BASE_TIMERS_H

#include "base/heap.h"
#include "base/list.h"

#define MCPI_NEVER INT64_MAX

struct mcpi_timer;
typedef void mcpi_timer_fn(struct mcpi_timer *timer, int64_t now);

struct mcpi_timer {
    struct mcpi_heap_node node; /* marked: it is due */
    mcpi_timer_fn *fn;
};

struct mcpi_timers {
    struct mcpi_heap heap;
    struct mcpi_heap due; /* about to be fired by the expire that is under way */
};

void mcpi_timers_init(struct mcpi_timers *timers);
void mcpi_timer_init(struct mcpi_timer *timer, mcpi_timer_fn *fn);

/* (Re)arm for a moment; MCPI_NEVER disarms. */
void mcpi_timer_arm(struct mcpi_timers *timers, struct mcpi_timer *timer, int64_t at);
void mcpi_timer_disarm(struct mcpi_timers *timers, struct mcpi_timer *timer);
bool mcpi_timer_is_armed(const struct mcpi_timer *timer);

/* For when; MCPI_NEVER: not armed. */
static inline int64_t
mcpi_timer_at(const struct mcpi_timer *timer)
{
    return timer->node.in_heap ? timer->node.key : MCPI_NEVER;
}

/* When the next one is due, or MCPI_NEVER. */
int64_t mcpi_timers_next(const struct mcpi_timers *timers);

/* Fire all that are due at `now`, earliest first, each disarmed before its function
 * runs. One that is armed meanwhile for a moment not after now waits for the next call,
 * so that this one ends. Returns how many fired. */
unsigned mcpi_timers_expire(struct mcpi_timers *timers, int64_t now);

/* a + b, clamped to MCPI_NEVER. A negative b counts as 0: what is overdue is due. */
int64_t mcpi_time_add(int64_t a, int64_t b);

#endif
