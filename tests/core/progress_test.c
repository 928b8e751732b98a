/* progress_test.c - progress: group I, as far as no wire is needed */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/clock.h"
#include "support/world.h"

static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

#define EACH_ERA(i) for (size_t i = 0; i < 2; i++)

/* What raw progress names; minted ids differ with what negotiation took. */
static const struct mcpi_id id77 = {.kind = MCPI_ID_INT, .number = 77};

/* ---- I3, I4: reset on progress --------------------------------------------- */

static void
I3_progress_restarts_the_clock_if_asked_to(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND,
                                    .reset_on_progress = true};
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        for (int n = 1; n <= 5; n++) {
            world_pass(&w, 2 * SECOND - 1);
            report(&w, n);
        }
        world_pass(&w, 2 * SECOND - 1);
        expect_open(&out);
        world_pass(&w, 1);
        expect_ended(&out, MCP_E_TIMEOUT);
        end(&w, &out);
    }
}

static void
I3_progress_does_not_restart_the_clock_unless_asked_to(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND,
                                    .ops = &outcome_progress_ops};
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        world_pass(&w, SECOND);
        report(&w, 1);
        assert_int_equal(out.progressed, 1);
        world_pass(&w, SECOND - 1);
        expect_open(&out);
        world_pass(&w, 1);
        expect_ended(&out, MCP_E_TIMEOUT);
        end(&w, &out);
    }
}

static void
I4_reset_brings_a_token_without_a_callback(void **state)
{
    struct mcpi_call_options opt = {.id = &id77, .reset_on_progress = true};
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        assert_non_null(strstr(world_sent(&w, CLIENT, 0), "\"progressToken\":77"));
        end(&w, &out);
    }
}

static void
I4_without_reset_and_callback_there_is_no_token(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, NULL, &out);
        assert_int_equal(world_count_sent(&w, CLIENT, "progressToken"), 0);
        report(&w, 1); /* no token: nothing is sent, and that is no error */
        assert_int_equal(w.sent_count[SERVER], 0);
        end(&w, &out);
    }
}

/* ---- I10 to I12: what progress is worth ------------------------------------ */

#define PROGRESS(token, value)                                                \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{" \
    "\"progressToken\":" token ",\"progress\":" value "}}"

static void
I10_invalid_progress_neither_resets_nor_is_shown(void **state)
{
    static const char *const lines[] = {
        PROGRESS("99", "1"),
        PROGRESS("true", "1"),
        PROGRESS("null", "1"),
        PROGRESS("77.0", "1"),
        PROGRESS("[77]", "1"),
        PROGRESS("77", "true"),
        PROGRESS("77", "\"1\""),
        PROGRESS("77", "null"),
        PROGRESS("\"077\"", "1"),
        PROGRESS("{\"a\":1}", "1"),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}",
    };
    struct mcpi_call_options opt = {.id = &id77,
                                    .timeout_us = 2 * SECOND,
                                    .reset_on_progress = true,
                                    .ops = &outcome_progress_ops};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    world_pass(&w, SECOND);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        world_inject(&w, SERVER, lines[i]);
        world_run(&w);
        assert_int_equal(out.progressed, 0);
    }
    world_pass(&w, SECOND - 1);
    expect_open(&out);
    world_pass(&w, 1);
    expect_ended(&out, MCP_E_TIMEOUT);
    end(&w, &out);
}

static void
I10_progress_of_another_request_resets_nothing(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND,
                                    .reset_on_progress = true,
                                    .ops = &outcome_progress_ops};
    struct outcome a, b;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    call_and_run(&w, &opt, &a);
    call_and_run(&w, &opt, &b);
    world_pass(&w, SECOND);
    report(&w, 1); /* the newest job: b's */
    assert_int_equal(a.progressed, 0);
    assert_int_equal(b.progressed, 1);
    world_pass(&w, SECOND);
    expect_ended(&a, MCP_E_TIMEOUT);
    expect_open(&b);
    outcome_done(&a);
    end(&w, &b);
}

static void
I10_progress_for_a_request_that_wanted_none_is_not_shown(void **state)
{
    struct mcpi_call_options opt = {.id = &id77, .timeout_us = 2 * SECOND};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    world_pass(&w, SECOND);
    world_inject(&w, SERVER, PROGRESS("77", "1"));
    world_run(&w);
    assert_int_equal(out.progressed, 0);
    world_pass(&w, SECOND);
    expect_ended(&out, MCP_E_TIMEOUT);
    end(&w, &out);
}

static void
I11_progress_after_the_end_is_not_shown(void **state)
{
    struct mcpi_call_options opt = {.id = &id77, .ops = &outcome_progress_ops};
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        report(&w, 1);
        mcpi_call_cancel(out.call, NULL, w.now);
        world_inject(&w, SERVER, PROGRESS("77", "2"));
        world_run(&w);
        expect_ended(&out, MCP_E_CANCELED);
        assert_int_equal(out.progressed, 1);
        end(&w, &out);
    }
}

static void
I11_progress_after_the_answer_is_not_shown(void **state)
{
    struct mcpi_call_options opt = {.id = &id77, .ops = &outcome_progress_ops};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    call_and_run(&w, &opt, &out);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    world_inject(&w, SERVER, PROGRESS("77", "1"));
    world_run(&w);
    expect_ended(&out, 0);
    assert_int_equal(out.progressed, 0);
    end(&w, &out);
}

struct ordered {
    int count;
    double values[8];
    int count_at_done;
};

static void
ordered_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct ordered *o = user;

    (void)call;
    assert_true(o->count < 8);
    o->values[o->count++] = p->progress;
}

static void
ordered_done(void *user, struct mcpi_call *call, int status,
             const struct mcpi_rpc *answer)
{
    struct ordered *o = user;

    (void)call;
    (void)answer;
    assert_int_equal(status, 0);
    o->count_at_done = o->count;
}

static void
I12_progress_comes_in_order_and_before_the_end(void **state)
{
    static const struct mcpi_call_ops ops = {.done = ordered_done,
                                             .progress = ordered_progress};
    struct ordered seen = {.count_at_done = -1};
    struct mcpi_call_options opt = {.method = "tools/list", .ops = &ops, .user = &seen};
    struct job *job;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    assert_int_equal(mcpi_call_start(w.peer[CLIENT], &opt, w.now, NULL), 0);
    world_run(&w);
    job = world_job(&w, SERVER);
    for (int n = 1; n <= 3; n++)
        assert_int_equal(mcpi_exchange_progress(job->x, n, 3, "step", w.now), 0);
    job_finish(&w, job, "{}"); /* all four wait in the queue now */
    world_run(&w);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.count_at_done, 3);
    assert_true(seen.values[0] == 1 && seen.values[1] == 2 && seen.values[2] == 3);
    world_close(&w);
}

/* ---- I13: a callback that behaves badly ------------------------------------ */

struct bad {
    struct world *w;
    struct mcpi_call *call;
    struct outcome *victim; /* another call, that it cancels */
    int64_t busy_us;
    bool frees, ends;
    int called, done;
};

static void
bad_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct bad *bad = user;

    (void)p;
    bad->called++;
    bad->w->now += bad->busy_us;
    if (bad->victim && !bad->victim->done)
        mcpi_call_cancel(bad->victim->call, "by a callback", bad->w->now);
    if (bad->ends)
        mcpi_call_cancel(call, "by its own callback", bad->w->now);
    if (bad->frees) {
        mcpi_call_free(call, bad->w->now);
        bad->call = NULL;
    }
}

static void
bad_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct bad *bad = user;

    (void)call;
    (void)status;
    (void)answer;
    bad->done++;
}

static void
bad_start(struct world *w, struct bad *bad)
{
    static const struct mcpi_call_ops ops = {.done = bad_done,
                                             .progress = bad_progress};
    struct mcpi_call_options opt = {.method = "tools/list", .ops = &ops, .user = bad};

    bad->w = w;
    opt.timeout_us = 2 * SECOND;
    assert_int_equal(mcpi_call_start(w->peer[CLIENT], &opt, w->now, &bad->call), 0);
    world_run(w);
}

static void
I13_a_callback_that_frees_its_call_hurts_nobody(void **state)
{
    struct bad bad = {.frees = true};
    struct outcome other;
    struct job *job;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_plain_call(&w, &other);
    bad_start(&w, &bad);
    job = world_job(&w, SERVER);
    assert_int_equal(mcpi_exchange_progress(job->x, 1, NAN, NULL, w.now), 0);
    assert_int_equal(mcpi_exchange_progress(job->x, 2, NAN, NULL, w.now), 0);
    job_finish(&w, &w.jobs[SERVER][0], "{}");
    world_run(&w);
    assert_int_equal(bad.called, 1);
    assert_int_equal(bad.done, 0);
    expect_ended(&other, 0);
    assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 1);
    end(&w, &other);
}

static void
I13_a_callback_that_cancels_its_own_and_another_call_hurts_nobody(void **state)
{
    struct outcome other;
    struct bad bad = {.victim = &other, .ends = true};
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &other);
    bad_start(&w, &bad);
    report(&w, 1);
    assert_int_equal(bad.called, 1);
    assert_int_equal(bad.done, 1);
    expect_ended(&other, MCP_E_CANCELED);
    assert_int_equal(w.jobs[SERVER][0].told, 1);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    mcpi_call_free(bad.call, w.now);
    end(&w, &other);
}

static void
I13_a_slow_callback_delays_no_timer(void **state)
{
    struct bad bad = {.busy_us = 10 * SECOND};
    struct mcpi_call_options opt = {.timeout_us = 3 * SECOND};
    struct outcome other;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &other);
    bad_start(&w, &bad);
    report(&w, 1); /* ten seconds pass in there */
    world_pass(&w, 0);
    expect_ended(&other, MCP_E_TIMEOUT);
    assert_int_equal(bad.done, 1); /* its own timer was not touched either */
    mcpi_call_free(bad.call, w.now);
    end(&w, &other);
}

/* ---- I14, I15: what a server may say --------------------------------------- */

static void
I14_a_canceled_request_reports_no_more(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct job *job;
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        mcpi_call_cancel(out.call, NULL, w.now);
        world_run(&w);
        job = world_job(&w, SERVER);
        assert_int_equal(mcpi_exchange_progress(job->x, 1, NAN, NULL, w.now),
                         MCP_E_CANCELED);
        world_run(&w);
        assert_int_equal(w.sent_count[SERVER], 0);
        end(&w, &out);
    }
}

static void
I14_an_answered_request_reports_no_more(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct job *job;
    struct world w;
    struct outcome out;

    (void)state;
    EACH_ERA(i)
    {
        world_start(&w, eras[i]);
        call_and_run(&w, &opt, &out);
        job = world_job(&w, SERVER);
        job_finish(&w, job, "{}");
        assert_int_equal(mcpi_exchange_progress(job->x, 1, NAN, NULL, w.now),
                         MCP_E_STATE);
        world_run(&w);
        assert_int_equal(w.sent_count[SERVER], 1);
        assert_int_equal(world_count_sent(&w, SERVER, "progress"), 0);
        end(&w, &out);
    }
}

static void
I14_what_waits_in_the_queue_is_withdrawn_by_a_cancel(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct job *job;
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    job = world_job(&w, SERVER);
    assert_int_equal(mcpi_exchange_progress(job->x, 1, NAN, NULL, w.now), 0);
    mcpi_call_cancel(out.call, NULL, w.now);
    while (w.link->step(&w, CLIENT) > 0)
        continue;
    world_run(&w); /* the server reads before it writes */
    assert_int_equal(job->told, 1);
    assert_int_equal(w.sent_count[SERVER], 0);
    end(&w, &out);
}

static void
I12_progress_of_a_client_reaches_the_server_that_asked(void **state)
{
    struct mcpi_call_options opt = {.method = "sampling/createMessage",
                                    .ops = &outcome_progress_ops};
    struct mcpi_exchange *x;
    struct outcome asked;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_call(&w, SERVER, &opt, &asked);
    world_run(&w);
    x = world_job(&w, CLIENT)->x;
    assert_int_equal(mcpi_exchange_progress(x, 1, 4, "a quarter", w.now), 0);
    assert_int_equal(mcpi_exchange_progress(x, 3, 4, "more", w.now), 0);
    world_run(&w);
    assert_int_equal(asked.progressed, 2);
    assert_true(asked.last.progress == 3 && asked.last.total == 4);
    job_finish(&w, world_job(&w, CLIENT), "{}");
    world_run(&w);
    expect_ended(&asked, 0);
    end(&w, &asked);
}

static void
I15_our_server_refuses_a_value_not_above_the_last(void **state)
{
    static const double values[] = {5, 4.5, -1, 0, (double)NAN, (double)INFINITY};
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    call_and_run(&w, &opt, &out);
    report(&w, 5);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_int_equal(mcpi_exchange_progress(world_job(&w, SERVER)->x, values[i],
                                                NAN, NULL, w.now),
                         MCP_E_INVAL);
    world_run(&w);
    assert_int_equal(out.progressed, 1);
    report(&w, 5.5);
    assert_int_equal(out.progressed, 2);
    end(&w, &out);
}

static void
I15_our_client_forwards_what_others_send(void **state)
{
    struct mcpi_call_options opt = {.id = &id77, .ops = &outcome_progress_ops};
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    call_and_run(&w, &opt, &out);
    world_inject(&w, SERVER, PROGRESS("77", "5"));
    world_inject(&w, SERVER, PROGRESS("\"77\"", "3"));
    world_run(&w);
    assert_int_equal(out.progressed, 2);
    assert_true(out.last.progress == 3);
    end(&w, &out);
}

TEST_MAIN(TEST(I3_progress_restarts_the_clock_if_asked_to),
          TEST(I3_progress_does_not_restart_the_clock_unless_asked_to),
          TEST(I4_reset_brings_a_token_without_a_callback),
          TEST(I4_without_reset_and_callback_there_is_no_token),
          TEST(I10_invalid_progress_neither_resets_nor_is_shown),
          TEST(I10_progress_of_another_request_resets_nothing),
          TEST(I10_progress_for_a_request_that_wanted_none_is_not_shown),
          TEST(I11_progress_after_the_end_is_not_shown),
          TEST(I11_progress_after_the_answer_is_not_shown),
          TEST(I12_progress_comes_in_order_and_before_the_end),
          TEST(I13_a_callback_that_frees_its_call_hurts_nobody),
          TEST(I13_a_callback_that_cancels_its_own_and_another_call_hurts_nobody),
          TEST(I13_a_slow_callback_delays_no_timer),
          TEST(I14_a_canceled_request_reports_no_more),
          TEST(I14_an_answered_request_reports_no_more),
          TEST(I14_what_waits_in_the_queue_is_withdrawn_by_a_cancel),
          TEST(I12_progress_of_a_client_reaches_the_server_that_asked),
          TEST(I15_our_server_refuses_a_value_not_above_the_last),
          TEST(I15_our_client_forwards_what_others_send))
