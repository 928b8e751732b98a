/* timeout_test.c - timeouts: group I, as far as no wire is needed */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clock.h"
#include "support/world.h"

static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

#define EACH_ERA(i) for (size_t i = 0; i < 2; i++)

/* ---- I1, I2: which limit, and what it covers ------------------------------- */

static void
I1_the_default_is_sixty_seconds(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, NULL, &out);
    world_pass(&w, 60 * SECOND - 1);
    expect_open(&out);
    world_pass(&w, 1);
    expect_ended(&out, MCP_E_TIMEOUT);
    end(&w, &out);
}

static void
I1_a_call_without_a_limit_of_its_own_has_that_of_the_session(void **state)
{
    struct world_options wo = {.times = {.request = 7 * SECOND}};
    struct world w;
    struct outcome out;

    (void)state;
    world_start_with(&w, &wo);
    call_and_run(&w, NULL, &out);
    world_pass(&w, 7 * SECOND - 1);
    expect_open(&out);
    world_pass(&w, 1);
    expect_ended(&out, MCP_E_TIMEOUT);
    end(&w, &out);
}

static void
I1_the_limit_of_the_call_wins_over_that_of_the_session(void **state)
{
    struct world_options wo = {.times = {.request = 7 * SECOND}};
    struct mcpi_call_options longer = {.timeout_us = 9 * SECOND};
    struct mcpi_call_options shorter = {.timeout_us = 2 * SECOND};
    struct outcome a, b;
    struct world w;

    (void)state;
    world_start_with(&w, &wo);
    call_and_run(&w, &longer, &a);
    call_and_run(&w, &shorter, &b);
    world_pass(&w, 2 * SECOND);
    expect_ended(&b, MCP_E_TIMEOUT);
    world_pass(&w, 7 * SECOND - 1);
    expect_open(&a);
    world_pass(&w, 1);
    expect_ended(&a, MCP_E_TIMEOUT);
    outcome_done(&b);
    end(&w, &a);
}

static void
I1_none_is_explicit_and_waits_for_ever(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    call_and_run(&w, &opt, &out);
    world_pass(&w, 1000000 * SECOND);
    expect_open(&out);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    expect_ended(&out, 0);
    end(&w, &out);
}

static void
I1_zero_means_at_once(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_TIMEOUT_NOW};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &opt, &out);
    expect_open(&out);
    world_pass(&w, 0);
    expect_ended(&out, MCP_E_TIMEOUT);
    assert_int_equal(w.sent_count[CLIENT], 0);
    world_assert_quiet(&w);
    end(&w, &out);
}

/* Put a call behind one that fills the wire, with nobody reading. */
static void
call_on_a_full_wire(struct world *w, struct outcome *filler, struct outcome *out)
{
    char params[512];
    struct mcpi_call_options big = {.timeout_us = MCPI_NEVER, .params = params};
    struct mcpi_call_options opt = {.timeout_us = 3 * SECOND};

    snprintf(params, sizeof(params), "{\"name\":\"%0400d\"}", 0);
    world_call(w, CLIENT, &big, filler);
    while (w->link->step(w, CLIENT) > 0)
        continue;
    world_call(w, CLIENT, &opt, out);
    while (w->link->step(w, CLIENT) > 0)
        continue;
}

static void
I2_the_clock_runs_while_the_request_waits_to_be_written(void **state)
{
    struct world_options wo = {.client_era = MCPI_ERA_LEGACY, .ring_bytes = 128};
    struct outcome filler, out;
    struct world w;

    (void)state;
    world_start_with(&w, &wo);
    call_on_a_full_wire(&w, &filler, &out);
    assert_int_equal(w.sent_count[CLIENT], 1);
    w.now += 3 * SECOND;
    mcpi_timers_expire(&w.timers, w.now);
    expect_ended(&out, MCP_E_TIMEOUT);
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 1); /* it had not begun to leave: B7 */
    outcome_done(&filler);
    end(&w, &out);
}

static void
I2_the_clock_runs_while_the_request_is_half_written(void **state)
{
    struct world_options wo = {.client_era = MCPI_ERA_LEGACY, .ring_bytes = 128};
    struct mcpi_call_options opt = {.timeout_us = 3 * SECOND};
    char params[512];
    struct outcome out;
    struct world w;

    (void)state;
    world_start_with(&w, &wo);
    snprintf(params, sizeof(params), "{\"name\":\"%0400d\"}", 0);
    opt.params = params;
    world_call(&w, CLIENT, &opt, &out);
    while (w.link->step(&w, CLIENT) > 0)
        continue;
    assert_int_equal(w.job_count[SERVER], 0);
    w.now += 3 * SECOND;
    mcpi_timers_expire(&w.timers, w.now);
    expect_ended(&out, MCP_E_TIMEOUT);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1); /* the rest, then the frame */
    end(&w, &out);
}

/* ---- I5 to I8: the total --------------------------------------------------- */

static void
I5_I7_the_total_ends_a_call_that_progresses_steadily(void **state)
{
    struct mcpi_call_options opt = {
        .timeout_us = 2 * SECOND, .total_us = 5 * SECOND, .reset_on_progress = true};
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        for (int n = 1; n <= 4; n++) {
            world_pass(&w, SECOND);
            report(&w, n);
        }
        world_pass(&w, SECOND - 1);
        expect_open(&out);
        world_pass(&w, 1);
        expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
        end(&w, &out);
    }
}

static void
I5_the_total_ends_a_call_without_progress(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER, .total_us = 5 * SECOND};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    world_pass(&w, 5 * SECOND - 1);
    expect_open(&out);
    world_pass(&w, 1);
    expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
    end(&w, &out);
}

static void
I5_the_total_counts_even_if_the_idle_limit_is_larger(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 50 * SECOND, .total_us = 5 * SECOND};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    call_and_run(&w, &opt, &out);
    assert_int_equal(mcpi_timers_next(&w.timers), w.now + 5 * SECOND);
    world_pass(&w, 5 * SECOND);
    expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
    world_pass(&w, 100 * SECOND);
    expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
    end(&w, &out);
}

static void
I5_the_timer_is_the_smaller_of_idle_and_what_is_left(void **state)
{
    struct mcpi_call_options opt = {
        .timeout_us = 4 * SECOND, .total_us = 6 * SECOND, .reset_on_progress = true};
    int64_t start;
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    start = w.now;
    call_and_run(&w, &opt, &out);
    assert_int_equal(mcpi_timers_next(&w.timers), start + 4 * SECOND);
    world_pass(&w, 3 * SECOND);
    report(&w, 1);
    assert_int_equal(mcpi_timers_next(&w.timers), start + 6 * SECOND);
    world_pass(&w, 3 * SECOND);
    expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
    end(&w, &out);
}

static void
I6_the_total_signals_the_peer_as_a_timeout_does(void **state)
{
    struct mcpi_call_options total = {.timeout_us = MCPI_NEVER, .total_us = SECOND};
    struct mcpi_call_options idle = {.timeout_us = SECOND};
    struct outcome a, b;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &total, &a);
        call_and_run(&w, &idle, &b);
        world_pass(&w, SECOND);
        expect_ended(&a, MCP_E_TOTAL_TIMEOUT);
        expect_ended(&b, MCP_E_TIMEOUT);
        assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 2);
        for (size_t n = 0; n < 2; n++) {
            assert_int_equal(w.jobs[SERVER][n].told, 1);
            assert_int_equal(w.jobs[SERVER][n].how, MCPI_CANCELED);
        }
        assert_string_equal(w.jobs[SERVER][0].reason, "total time of 1000 ms used up");
        assert_string_equal(w.jobs[SERVER][1].reason, "timed out after 1000 ms");
        outcome_done(&b);
        end(&w, &a);
    }
}

/* Report every half hour; returns how long it lasted. */
static int64_t
prolong(struct world *w, const struct outcome *out)
{
    int64_t start = w->now;
    double n = 0;

    while (!out->done && w->now - start < 100 * 3600 * SECOND) {
        report(w, ++n);
        world_pass(w, 1800 * SECOND - 1);
        if (out->done)
            break;
        report(w, ++n);
        world_pass(w, 1);
    }
    return w->now - start;
}

static void
I8_progress_without_end_meets_a_ceiling_of_one_hour(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 3000 * SECOND,
                                    .reset_on_progress = true};
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        assert_int_equal(prolong(&w, &out), 3600 * SECOND);
        expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
        end(&w, &out);
    }
}

static void
I8_the_ceiling_can_be_set(void **state)
{
    struct world_options wo = {.times = {.ceiling = 2 * 3600 * SECOND}};
    struct mcpi_call_options opt = {.timeout_us = 3000 * SECOND,
                                    .reset_on_progress = true};
    struct world w;
    struct outcome out;

    (void)state;
    world_start_with(&w, &wo);
    call_and_run(&w, &opt, &out);
    assert_int_equal(prolong(&w, &out), 2 * 3600 * SECOND);
    expect_ended(&out, MCP_E_TOTAL_TIMEOUT);
    end(&w, &out);
}

static void
I8_without_reset_there_is_no_ceiling(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    assert_int_equal(mcpi_timers_next(&w.timers), MCPI_NEVER);
    end(&w, &out);
}

/* ---- I9: the clock --------------------------------------------------------- */

static void
I9_a_clock_that_goes_back_moves_no_deadline(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 5 * SECOND};
    int64_t start;
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    start = w.now;
    mcpi_engine_at(w.engine[CLIENT], start - 3600 * SECOND);
    assert_int_equal(w.engine[CLIENT]->now, start);
    w.now = start - 3600 * SECOND; /* what a jumping clock would say at the door */
    world_call(&w, CLIENT, &opt, &out);
    assert_int_equal(mcpi_timers_next(&w.timers), start + 5 * SECOND);
    w.now = start;
    world_run(&w);
    world_pass(&w, 5 * SECOND);
    expect_ended(&out, MCP_E_TIMEOUT);
    end(&w, &out);
}

static void
I9_progress_at_an_earlier_time_does_not_shorten_the_wait(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 5 * SECOND,
                                    .reset_on_progress = true};
    int64_t before;
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    world_pass(&w, 2 * SECOND);
    before = w.now;
    w.now = before - 3600 * SECOND;
    report(&w, 1);
    assert_int_equal(mcpi_timers_next(&w.timers), before + 5 * SECOND);
    w.now = before;
    end(&w, &out);
}

static void
I9_after_a_long_sleep_a_timer_fires_once(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = 2 * SECOND};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    w.now += 24 * 3600 * SECOND; /* the host slept: both limits have passed at once */
    mcpi_timers_expire(&w.timers, w.now);
    mcpi_timers_expire(&w.timers, w.now);
    world_run(&w);
    expect_ended(&out, MCP_E_TIMEOUT);
    assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 1);
    end(&w, &out);
}

/* ---- I16 to I18 ------------------------------------------------------------ */

/* The answer lies in the client's input at the very moment the limit passes. */
static void
answer_at_the_limit(struct world *w, enum mcpi_era era, struct outcome *out)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = SECOND};

    world_start(w, era);
    call_and_run(w, &opt, out);
    job_finish(w, world_job(w, SERVER), "{\"content\":[]}");
    while (w->link->step(w, SERVER) > 0)
        continue;
    w->now += SECOND;
}

static void
I16_an_answer_already_read_wins(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        answer_at_the_limit(&w, eras[i], &out);
        while (w.link->step(&w, CLIENT) > 0)
            continue;
        mcpi_timers_expire(&w.timers, w.now);
        world_run(&w);
        expect_ended(&out, 0);
        assert_int_equal(w.sent_count[CLIENT], 1);
        world_assert_quiet(&w);
        end(&w, &out);
    }
}

static void
I16_a_timeout_before_the_answer_is_read_is_the_one_outcome(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        answer_at_the_limit(&w, eras[i], &out);
        mcpi_timers_expire(&w.timers, w.now);
        world_run(&w);
        assert_int_equal(out.done, 1);
        assert_true(out.status == MCP_E_TIMEOUT || out.status == MCP_E_TOTAL_TIMEOUT);
        assert_true(world_logged(&w, 'D', "late answer"));
        assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 1);
        world_assert_quiet(&w);
        end(&w, &out);
    }
}

static void
I17_the_session_serves_on_after_a_timeout(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome first, second;
    struct world w;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &first);
        world_pass(&w, SECOND);
        expect_ended(&first, MCP_E_TIMEOUT);
        call_and_run(&w, NULL, &second);
        job_finish(&w, world_job(&w, SERVER), "{}");
        world_run(&w);
        expect_ended(&second, 0);
        assert_int_equal(w.closed[CLIENT] + w.closed[SERVER], 0);
        assert_int_equal(w.ready_count, 1);
        outcome_done(&first);
        end(&w, &second);
    }
}

#define ROUNDS 1000
#define BATCH 100

/* One request, settled in one of five ways; ping needs no handler. */
static void
settle_one(struct world *w, int way, struct outcome *out)
{
    struct mcpi_call_options opt = {.method = "ping",
                                    .reset_on_progress = way % 2 == 0};

    opt.timeout_us = way == 3 ? SECOND : 0;
    opt.total_us = way == 4 ? SECOND : 0;
    world_call(w, CLIENT, &opt, out);
    if (way == 0) /* never issued */
        mcpi_call_cancel(out->call, NULL, w->now);
    if (way == 1)
        return; /* answered */
    w->link->step(w, CLIENT);
    if (way == 2)
        mcpi_call_cancel(out->call, NULL, w->now);
}

static void
I18_after_a_hundred_thousand_requests_no_timer_is_left(void **state)
{
    static struct outcome out[BATCH];
    struct world w;
    long counts[5] = {0};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    w.engine[CLIENT]->trace = w.engine[SERVER]->trace = NULL; /* keep no record */
    w.engine[CLIENT]->log.fn = w.engine[SERVER]->log.fn = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BATCH; i++)
            settle_one(&w, i % 5, &out[i]);
        w.now += SECOND;
        mcpi_timers_expire(&w.timers, w.now);
        world_run(&w);
        for (int i = 0; i < BATCH; i++) {
            assert_int_equal(out[i].done, 1);
            counts[i % 5] += out[i].status != 0;
            outcome_done(&out[i]);
        }
        assert_int_equal(mcpi_timers_next(&w.timers), MCPI_NEVER);
    }
    assert_int_equal(counts[1], 0);
    for (int way = 0; way < 5; way++)
        assert_int_equal(counts[way], way == 1 ? 0 : ROUNDS * BATCH / 5);
    world_assert_quiet(&w);
    world_close(&w);
}

TEST_MAIN(TEST(I1_the_default_is_sixty_seconds),
          TEST(I1_a_call_without_a_limit_of_its_own_has_that_of_the_session),
          TEST(I1_the_limit_of_the_call_wins_over_that_of_the_session),
          TEST(I1_none_is_explicit_and_waits_for_ever), TEST(I1_zero_means_at_once),
          TEST(I2_the_clock_runs_while_the_request_waits_to_be_written),
          TEST(I2_the_clock_runs_while_the_request_is_half_written),
          TEST(I5_I7_the_total_ends_a_call_that_progresses_steadily),
          TEST(I5_the_total_ends_a_call_without_progress),
          TEST(I5_the_total_counts_even_if_the_idle_limit_is_larger),
          TEST(I5_the_timer_is_the_smaller_of_idle_and_what_is_left),
          TEST(I6_the_total_signals_the_peer_as_a_timeout_does),
          TEST(I8_progress_without_end_meets_a_ceiling_of_one_hour),
          TEST(I8_the_ceiling_can_be_set), TEST(I8_without_reset_there_is_no_ceiling),
          TEST(I9_a_clock_that_goes_back_moves_no_deadline),
          TEST(I9_progress_at_an_earlier_time_does_not_shorten_the_wait),
          TEST(I9_after_a_long_sleep_a_timer_fires_once),
          TEST(I16_an_answer_already_read_wins),
          TEST(I16_a_timeout_before_the_answer_is_read_is_the_one_outcome),
          TEST(I17_the_session_serves_on_after_a_timeout),
          TEST(I18_after_a_hundred_thousand_requests_no_timer_is_left))
