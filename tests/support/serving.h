/* support/serving.h - one request being served: what tests of handlers share */
#ifndef TESTS_SUPPORT_SERVING_H
#define TESTS_SUPPORT_SERVING_H

#include "support/world.h"

/* Call from the client with id 77. */
static inline void
call_77(struct world *w, struct outcome *out)
{
    struct mcpi_id id = mcpi_id_int(77);
    struct mcpi_call_options opt = {.id = &id};

    world_call(w, CLIENT, &opt, out);
}

/* A world of that era in which one request is being served. */
static inline void
start_serving(struct world *w, enum mcpi_era era, struct outcome *out)
{
    world_start(w, era);
    call_77(w, out);
    world_run(w);
    assert_int_equal(w->job_count[SERVER], 1);
    world_forget(w);
}

static inline void
cancel(struct world *w, struct outcome *out)
{
    assert_int_equal(mcpi_call_cancel(out->call, "enough", w->now), 0);
    world_run(w);
}

static inline void
finish_all(struct world *w, struct outcome *out)
{
    outcome_done(out);
    world_close(w);
}

#endif
