/*
 * story_test.c - the story this project began with
 *
 * A server with a pool of ten resources, fifty calls that the client gives up: in the
 * end nobody holds anything.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "end/probe.h"
#include "support/client_clock.h"

enum { FIFTY = 50, MANY = 10000, WORKERS = 32 };

enum way { BY_CANCEL, BY_TIMEOUT, BY_SCOPE, BY_FREE };

static enum mcp_era eras[] = {MCP_ERA_MODERN, MCP_ERA_LEGACY};

/* Start that many calls under one way to be given up. */
static void
start_all(struct probe *p, const char *tool, const char *arguments,
          const mcp_call_options *opt, mcp_call **calls, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(mcp_client_start_tool(p->client, tool, arguments, opt, NULL,
                                               NULL, &calls[i]),
                         0);
}

/* Each has ended as the way says, or was answered before. Returns how many were given
 * up. */
static int
end_all(mcp_call **calls, int count, enum way way)
{
    int expected = way == BY_TIMEOUT ? MCP_E_TIMEOUT : MCP_E_CANCELED;
    int abandoned = 0, r;

    for (int i = 0; i < count; i++) {
        if (way == BY_CANCEL)
            (void)mcp_call_cancel(calls[i], "enough"); /* MCP_E_STATE: answered */
        if (way != BY_FREE) {
            r = mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL);
            assert_true(r == 0 || r == expected);
            abandoned += r == expected;
        }
        mcp_call_free(calls[i]);
    }
    return abandoned;
}

/* The server has read all calls when it answers this one, and as many handlers run as
 * there are resources, or workers. */
static bool
they_run(void *user)
{
    const struct probe_stats s = probe_stats(user);

    return s.pool_free == 0 || s.live_handlers >= WORKERS;
}

static int
abandon(struct probe *p, struct virtual_clock *clock, const char *tool,
        const char *arguments, int count, enum way way)
{
    mcp_call **calls = calloc((size_t)count, sizeof(mcp_call *));
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    int abandoned;

    if (way == BY_TIMEOUT)
        opt.timeout_ms = HOUR_MS;
    if (way == BY_SCOPE)
        assert_int_equal(mcp_scope_new(NULL, &opt.scope), 0);
    start_all(p, tool, arguments, &opt, calls, count);
    wait_until(they_run, p);
    if (way == BY_TIMEOUT)
        virtual_clock_pass(clock, HOUR_MS);
    if (way == BY_SCOPE)
        assert_int_equal(mcp_scope_cancel(opt.scope, "enough"), 0);
    abandoned = end_all(calls, count, way);
    mcp_scope_free(opt.scope);
    free(calls);
    return abandoned;
}

static void
expect_baseline(const struct probe_stats *now, const struct probe_stats *before)
{
    assert_int_equal(now->live_handlers, 0);
    assert_int_equal(now->pool_free, 10);
    assert_int_equal(now->open_fds, before->open_fds);
    assert_int_equal(now->workers, before->workers);
}

static void
B1_B3_F33_fifty_abandoned_calls_leave_nothing(void **state)
{
    const enum way ways[] = {BY_CANCEL, BY_TIMEOUT, BY_SCOPE, BY_FREE};
    struct probe_stats before, now;
    struct virtual_clock clock;
    struct probe p;

    probe_open(&p, *(enum mcp_era *)*state);
    client_clock_hold(&clock, p.client);
    probe_expect(&p, "hang", "{\"seconds\":0}", "slept");
    before = probe_calm(&p, 0);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        int abandoned = abandon(&p, &clock, "hang", "{\"seconds\":60}", FIFTY, ways[i]);

        now = probe_calm(&p, 0);
        expect_baseline(&now, &before);
        if (ways[i] != BY_FREE)
            assert_true(abandoned >= 10); /* the rest found the pool empty */
    }
    assert_true(now.canceled >= 40);
    probe_expect(&p, "hang", "{\"seconds\":0}", "slept");
    probe_close(&p);
}

static void
F33_ten_thousand_calls_at_once_leave_nothing(void **state)
{
    struct probe_stats before, now;
    struct virtual_clock clock;
    struct probe p;

    probe_open(&p, *(enum mcp_era *)*state);
    client_clock_hold(&clock, p.client);
    probe_expect(&p, "hang_async", "{\"seconds\":0}", "slept");
    before = probe_calm(&p, 0);
    assert_int_equal(
        abandon(&p, &clock, "hang_async", "{\"seconds\":600}", MANY, BY_SCOPE), MANY);
    now = probe_calm(&p, 0);
    expect_baseline(&now, &before);
    assert_int_equal(
        abandon(&p, &clock, "hang_async", "{\"seconds\":600}", MANY, BY_CANCEL), MANY);
    now = probe_calm(&p, 0);
    expect_baseline(&now, &before);
    probe_close(&p);
}

static void
F5_fifty_that_do_not_listen_hold_only_their_workers(void **state)
{
    struct probe_stats before, now;
    struct virtual_clock clock;
    struct probe p;

    probe_open(&p, *(enum mcp_era *)*state);
    client_clock_hold(&clock, p.client);
    probe_expect(&p, "hang", "{\"seconds\":0}", "slept");
    before = probe_calm(&p, 0);
    assert_int_equal(abandon(&p, &clock, "deaf", "{\"seconds\":600}", FIFTY, BY_CANCEL),
                     FIFTY);
    probe_expect(&p, "echo", "{\"text\":\"hello\"}", "hello");
    probe_expect(&p, "hang", "{\"seconds\":0}", "slept");
    now = probe_stats(&p);
    assert_true(now.live_handlers >= WORKERS); /* the deaf are there, and counted */
    assert_int_equal(kill((pid_t)mcp_client_pid(p.client), SIGUSR1), 0);
    now = probe_calm(&p, 0);
    expect_baseline(&now, &before);
    probe_close(&p);
}

struct steps {
    double last;
    int count;
    bool in_order, done;
};

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct steps *steps = user;

    (void)call, (void)message;
    steps->in_order = steps->in_order && progress > steps->last && total == 200 &&
                      !steps->done;
    steps->last = progress;
    steps->count++;
}

static void
on_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct steps *steps = user;

    (void)call, (void)reply;
    assert_int_equal(status, 0);
    steps->done = true;
}

static void
I12_progress_comes_in_order_and_before_the_answer(void **state)
{
    struct steps steps = {.in_order = true};
    mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = on_progress, .user = &steps);
    mcp_call *call;
    struct probe p;

    probe_open(&p, *(enum mcp_era *)*state);
    assert_int_equal(mcp_client_start_tool(p.client, "count", "{\"to\":200}", &opt,
                                           on_done, &steps, &call),
                     0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    probe_close(&p); /* after which no callback runs */
    mcp_call_free(call);
    assert_true(steps.done);
    assert_true(steps.in_order);
    assert_true(steps.count > 0);
    assert_int_equal(steps.last, 200);
}

static void
G10_one_program_serves_clients_of_both_eras(void **state)
{
    static const struct {
        enum mcp_era era;
        const char *version;
    } clients[] = {{MCP_ERA_BOTH, "2026-07-28"}, {MCP_ERA_LEGACY, "2025-11-25"}};
    struct probe p;

    (void)state;
    for (int i = 0; i < 2; i++) {
        probe_open(&p, clients[i].era);
        assert_string_equal(mcp_client_version(p.client), clients[i].version);
        probe_expect(&p, "hang", "{\"seconds\":0}", "slept");
        probe_close(&p);
    }
}

#define IN_BOTH_ERAS(fn) \
    TEST_AS("modern." #fn, fn, &eras[0]), TEST_AS("legacy." #fn, fn, &eras[1])

TEST_MAIN(IN_BOTH_ERAS(B1_B3_F33_fifty_abandoned_calls_leave_nothing),
          IN_BOTH_ERAS(F33_ten_thousand_calls_at_once_leave_nothing),
          IN_BOTH_ERAS(F5_fifty_that_do_not_listen_hold_only_their_workers),
          IN_BOTH_ERAS(I12_progress_comes_in_order_and_before_the_answer),
          TEST(G10_one_program_serves_clients_of_both_eras))
