/*
 * timers.c - deadlines in one heap
 *
 * A timer is in one of three places: nowhere, in the heap, or in the one of those that
 * are due. Expire first moves all that are due from the one to the other and then fires
 * them. So what a function arms goes to the heap and waits, and what it disarms leaves
 * unfired.
 */
#include "base/timers.h"

#include <assert.h>

void
mcpi_timers_init(struct mcpi_timers *timers)
{
    mcpi_heap_init(&timers->heap);
    mcpi_heap_init(&timers->due);
}

void
mcpi_timer_init(struct mcpi_timer *timer, mcpi_timer_fn *fn)
{
    mcpi_heap_node_init(&timer->node);
    timer->fn = fn;
}

void
mcpi_timer_arm(struct mcpi_timers *timers, struct mcpi_timer *timer, int64_t at)
{
    mcpi_timer_disarm(timers, timer);
    if (at == MCPI_NEVER)
        return;
    mcpi_heap_insert(&timers->heap, &timer->node, at);
}

void
mcpi_timer_disarm(struct mcpi_timers *timers, struct mcpi_timer *timer)
{
    struct mcpi_heap *heap = timer->node.marked ? &timers->due : &timers->heap;

    (void)mcpi_heap_remove(heap, &timer->node); /* false: it was not armed */
}

bool
mcpi_timer_is_armed(const struct mcpi_timer *timer)
{
    return timer->node.in_heap;
}

int64_t
mcpi_timers_next(const struct mcpi_timers *timers)
{
    const struct mcpi_heap_node *due = mcpi_heap_first(&timers->due);
    const struct mcpi_heap_node *first = mcpi_heap_first(&timers->heap);
    int64_t next = first ? first->key : MCPI_NEVER;

    return due && due->key < next ? due->key : next;
}

static void
timers_collect_due(struct mcpi_timers *timers, int64_t now)
{
    struct mcpi_heap_node *node = mcpi_heap_first(&timers->heap);

    while (node && node->key <= now) {
        int64_t key = node->key;

        (void)mcpi_heap_remove(&timers->heap, node);
        mcpi_heap_insert(&timers->due, node, key);
        node->marked = true;
        node = mcpi_heap_first(&timers->heap);
    }
}

unsigned
mcpi_timers_expire(struct mcpi_timers *timers, int64_t now)
{
    struct mcpi_heap_node *due;
    unsigned fired = 0;

    timers_collect_due(timers, now);
    due = mcpi_heap_first(&timers->due);
    while (due) {
        struct mcpi_timer *timer = MCPI_CONTAINER(due, struct mcpi_timer, node);

        (void)mcpi_heap_remove(&timers->due, due);
        fired++;
        timer->fn(timer, now);
        due = mcpi_heap_first(&timers->due);
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
