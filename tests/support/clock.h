/* support/clock.h - one call under a clock: what tests of limits and progress share */
#ifndef TESTS_SUPPORT_CLOCK_H
#define TESTS_SUPPORT_CLOCK_H

#include <math.h>

#include "support/world.h"

/* A call that has arrived at the server. */
static inline void
call_and_run(struct world *w, const struct mcpi_call_options *opt, struct outcome *out)
{
    world_call(w, CLIENT, opt, out);
    world_run(w);
}

/* The server reports, and the client hears it. */
static inline void
report(struct world *w, double progress)
{
    struct job *job = world_job(w, SERVER);

    assert_int_equal(mcpi_exchange_progress(job->x, progress, NAN, NULL, w->now), 0);
    world_run(w);
}

static inline void
expect_open(const struct outcome *out)
{
    assert_int_equal(out->done, 0);
}

static inline void
expect_ended(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

static inline void
end(struct world *w, struct outcome *out)
{
    outcome_done(out);
    world_close(w);
}

#endif
