/*
 * support/virtual_clock.h - time that passes only when the test says so
 *
 * A clock that stands still, for loops that run on a thread of their own: those of a
 * client or a server of the public API. Nothing on them times out by itself, however
 * slow the machine is; and a test of a limit waits for nothing:
 *
 *     virtual_clock_hold(&clock, client->host.inside);
 *     ... a call with .timeout_ms = 1000 is under way ...
 *     virtual_clock_pass(&clock, 1000);
 *     ... it has timed out ...
 *
 * What a thread outside waits for by itself, as mcp_call_wait does, is real time still.
 * The clock must outlive the loops it holds.
 */
#ifndef TESTS_SUPPORT_VIRTUAL_CLOCK_H
#define TESTS_SUPPORT_VIRTUAL_CLOCK_H

#include <stdatomic.h>

#include "run/loop.h"

#define VIRTUAL_LOOPS 8
#define MINUTE_MS 60000 /* of time that passes */

struct virtual_clock {
    atomic_llong us; /* its time, monotonic; if it runs, how far it is ahead */
    bool runs;
    struct mcpi_loop *loops[VIRTUAL_LOOPS];
    size_t count;
};

/* It begins at the real time, so that moments which were taken before are past. */
void virtual_clock_init(struct virtual_clock *clock);

/* The same, but it runs by itself as the real one does: where more timers than the one
 * that is tested must expire, as in a client over HTTP. Limits that are far off are as
 * certain with it. */
void virtual_clock_init_running(struct virtual_clock *clock);

/* The loop, which runs on another thread, has this clock from now on. */
void virtual_clock_hold(struct virtual_clock *clock, struct mcpi_loop *loop);

/* Time passes. Returns when all that was due by then on these loops has been told. */
void virtual_clock_pass(struct virtual_clock *clock, int64_t ms);

/* An mcpi_clock_fn, for a loop that the test steps itself; user is the clock. */
int64_t virtual_clock_read(void *user);

#endif
