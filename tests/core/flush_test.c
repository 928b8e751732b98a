/* flush_test.c - waiting until a cancel has left, and not for longer than the bound */
#include <string.h>

#include "support/world.h"

struct flush {
    int told;
    int status;
};

static void
on_flushed(void *user, int status)
{
    struct flush *f = user;

    f->told++;
    f->status = status;
}

/* A request under way, canceled while the ring is full: the frame cannot leave. */
static void
wedge(struct world *w, struct outcome *out)
{
    struct world_options opt = {.client_era = MCPI_ERA_MODERN, .ring_bytes = 2048};
    char filler[2048];

    world_start_with(w, &opt);
    world_plain_call(w, out);
    world_run(w);
    memset(filler, ' ', sizeof(filler));
    assert_int_equal(mcpi_pair_inject(w->end[CLIENT], filler, sizeof(filler)), 2048);
    assert_int_equal(mcpi_call_cancel(out->call, NULL, w->now), 0);
    while (mcpi_pair_step(w->end[CLIENT], w->now) > 0)
        continue;
}

static void
B10_a_flush_that_cannot_be_ends_at_its_bound(void **state)
{
    struct world w;
    struct outcome out;
    struct flush f = {0};

    (void)state;
    wedge(&w, &out);
    assert_int_equal(
        mcpi_call_flush(out.call, MCPI_FLUSH_DEFAULT, on_flushed, &f, w.now), 0);
    mcpi_timers_expire(&w.timers, w.now + MCPI_FLUSH_DEFAULT - 1);
    assert_int_equal(f.told, 0);
    mcpi_timers_expire(&w.timers, w.now + MCPI_FLUSH_DEFAULT);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, MCP_E_TIMEOUT);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    assert_true(world_logged(&w, 'W', "could not be written in time"));
    world_run(&w);
    assert_int_equal(f.told, 1);
    outcome_done(&out);
    world_close(&w);
}

static void
B10_a_flush_is_told_when_the_cancel_has_left(void **state)
{
    struct world w;
    struct outcome out;
    struct flush f = {0};

    (void)state;
    wedge(&w, &out);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &f, w.now), 0);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &f, w.now),
                     MCP_E_STATE);
    world_run(&w);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, 0);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    outcome_done(&out);
    world_close(&w);
}

static void
a_flush_with_nothing_to_wait_for_is_told_at_once(void **state)
{
    struct world w;
    struct outcome out;
    struct flush f = {0};

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &f, w.now),
                     MCP_E_STATE);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &f, w.now), 0);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, 0);
    outcome_done(&out);
    world_close(&w);
}

static void
freeing_the_call_ends_its_flush(void **state)
{
    struct world w;
    struct outcome out;
    struct flush f = {0};

    (void)state;
    wedge(&w, &out);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &f, w.now), 0);
    outcome_done(&out);
    world_pass(&w, 2 * SECOND);
    assert_int_equal(f.told, 0);
    world_close(&w);
}

static void
a_flush_ends_when_the_link_is_lost(void **state)
{
    struct world w;
    struct outcome out;
    struct flush f = {0};

    (void)state;
    wedge(&w, &out);
    assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &f, w.now), 0);
    mcpi_peer_lost(w.peer[CLIENT], MCP_E_CLOSED, w.now);
    assert_int_equal(f.told, 1);
    assert_int_equal(f.status, MCP_E_CLOSED);
    outcome_done(&out);
    world_close(&w);
}

TEST_MAIN(TEST(B10_a_flush_that_cannot_be_ends_at_its_bound),
          TEST(B10_a_flush_is_told_when_the_cancel_has_left),
          TEST(a_flush_with_nothing_to_wait_for_is_told_at_once),
          TEST(freeing_the_call_ends_its_flush),
          TEST(a_flush_ends_when_the_link_is_lost))
