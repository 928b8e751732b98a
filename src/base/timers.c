/*
 * timers.c - deadlines in one heap
 *
 * A timer is in one of three places: nowhere, in the heap, or on the due list. Expire
 * first moves all that are due from the heap to the list and then fires the list. So
 * what a function arms goes to the heap and waits, and what it disarms leaves the list
 * unfired.
 */
#include "base/timers.h"

#include <assert.h>

void
mcpi_timers_init(struct mcpi_timers *timers)
{
    mcpi_heap_init(&timers->heap);
    mcpi_list_init(&timers->due);
}

void
mcpi_timer_init(struct mcpi_timer *timer, mcpi_timer_fn *fn)
{
    mcpi_heap_node_init(&timer->node);
    mcpi_list_init(&timer->due);
    timer->at = MCPI_NEVER;
    timer->fn = fn;
}

void
mcpi_timer_arm(struct mcpi_timers *timers, struct mcpi_timer *timer, int64_t at)
{
    mcpi_timer_disarm(timers, timer);
    if (at == MCPI_NEVER)
        return;
    timer->at = at;
    mcpi_heap_insert(&timers->heap, &timer->node, at);
}

void
mcpi_timer_disarm(struct mcpi_timers *timers, struct mcpi_timer *timer)
{
    (void)mcpi_heap_remove(&timers->heap, &timer->node); /* false: it was not armed */
    mcpi_list_remove(&timer->due);
    timer->at = MCPI_NEVER;
}

bool
mcpi_timer_is_armed(const struct mcpi_timer *timer)
{
    return timer->at != MCPI_NEVER;
}

int64_t
mcpi_timers_next(const struct mcpi_timers *timers)
{
    const struct mcpi_list *due = mcpi_list_first(&timers->due);
    const struct mcpi_heap_node *first = mcpi_heap_first(&timers->heap);
    int64_t next = first ? first->key : MCPI_NEVER;
    int64_t at = MCPI_NEVER;

    if (due)
        at = MCPI_CONTAINER(due, struct mcpi_timer, due)->at;
    return at < next ? at : next;
}

static void
timers_collect_due(struct mcpi_timers *timers, int64_t now)
{
    struct mcpi_heap_node *node = mcpi_heap_first(&timers->heap);

    while (node && node->key <= now) {
        struct mcpi_timer *timer = MCPI_CONTAINER(node, struct mcpi_timer, node);

        (void)mcpi_heap_remove(&timers->heap, node);
        mcpi_list_append(&timers->due, &timer->due);
        node = mcpi_heap_first(&timers->heap);
    }
}

unsigned
mcpi_timers_expire(struct mcpi_timers *timers, int64_t now)
{
    struct mcpi_list *due;
    unsigned fired = 0;

    timers_collect_due(timers, now);
    due = mcpi_list_pop(&timers->due);
    while (due) {
        struct mcpi_timer *timer = MCPI_CONTAINER(due, struct mcpi_timer, due);

        timer->at = MCPI_NEVER;
        fired++;
        timer->fn(timer, now);
        due = mcpi_list_pop(&timers->due);
    }
    return fired;
}

int64_t
mcpi_time_add(int64_t a, int64_t b)
{
    if (b < 0)
        return a;
    return a > MCPI_NEVER - b ? MCPI_NEVER : a + b;
}
