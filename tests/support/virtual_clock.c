/* support/virtual_clock.c - time that passes only when the test says so */
#include "support/virtual_clock.h"

#include <semaphore.h>

#include "support/test.h"

/* A visit to a loop's thread, and back. */
struct visit {
    struct mcpi_post post;
    struct mcpi_timer timer;
    struct virtual_clock *clock;
    struct mcpi_loop *loop;
    int64_t us; /* that pass with it */
    sem_t done;
};

int64_t
virtual_clock_read(void *user)
{
    struct virtual_clock *clock = user;

    return atomic_load(&clock->us) + (clock->runs ? mcpi_loop_clock() : 0);
}

void
virtual_clock_init(struct virtual_clock *clock)
{
    *clock = (struct virtual_clock){.count = 0};
    atomic_init(&clock->us, mcpi_loop_clock());
}

void
virtual_clock_init_running(struct virtual_clock *clock)
{
    *clock = (struct virtual_clock){.runs = true};
    atomic_init(&clock->us, 0);
}

/* The case's own time limit ends a wait for a loop that does not run. */
static void
visit_loop(struct virtual_clock *clock, struct mcpi_loop *loop,
           void (*fn)(struct mcpi_post *post), int64_t us)
{
    struct visit visit = {.post.fn = fn, .clock = clock, .loop = loop, .us = us};

    assert_int_equal(sem_init(&visit.done, 0, 0), 0);
    mcpi_loop_post(loop, &visit.post);
    while (sem_wait(&visit.done) != 0)
        continue; /* a signal */
    sem_destroy(&visit.done);
}

static void
on_hold(struct mcpi_post *post)
{
    struct visit *visit = MCPI_CONTAINER(post, struct visit, post);

    mcpi_loop_set_clock(visit->loop, virtual_clock_read, visit->clock);
    sem_post(&visit->done);
}

void
virtual_clock_hold(struct virtual_clock *clock, struct mcpi_loop *loop)
{
    assert_true(clock->count < VIRTUAL_LOOPS);
    visit_loop(clock, loop, on_hold, 0);
    clock->loops[clock->count++] = loop;
}

static void
on_passed(struct mcpi_timer *timer, int64_t now)
{
    struct visit *visit = MCPI_CONTAINER(timer, struct visit, timer);

    (void)now;
    sem_post(&visit->done);
}

/* Deadlines are told in their order: ours is the last one that is due. Time passes here
 * and not before the post: whoever hears of a deadline may free the loop. The clock is set
 * anew, so that the loop does not sleep until an earlier moment of it comes in real time. */
static void
on_pass(struct mcpi_post *post)
{
    struct visit *visit = MCPI_CONTAINER(post, struct visit, post);

    atomic_fetch_add(&visit->clock->us, visit->us);
    mcpi_loop_set_clock(visit->loop, virtual_clock_read, visit->clock);
    mcpi_timer_init(&visit->timer, on_passed);
    mcpi_timer_arm(mcpi_loop_timers(visit->loop), &visit->timer,
                   virtual_clock_read(visit->clock));
}

void
virtual_clock_pass(struct virtual_clock *clock, int64_t ms)
{
    size_t i;

    for (i = 0; i < clock->count; i++)
        visit_loop(clock, clock->loops[i], on_pass, i == 0 ? ms * 1000 : 0);
}
