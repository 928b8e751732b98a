/* failing_test.c - every flow with each allocation failing in turn, and what must work
 * without any memory at all */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/world.h"

#define CANCELLED "notifications/cancelled"
#define LIMIT (200 * SECOND) /* by then everything has ended, one way or the other */

/* What happens in a world that is connected, if memory lasted so far. */
struct flow {
    void (*act)(struct world *w);
    enum mcpi_era era;
};

/* ---- words that repeat ----------------------------------------------------- */

/* Nobody waits for ever, and how it ended is a status that says so. */
static void
expect_clean(const struct outcome *out)
{
    if (!out->world || !out->call)
        return; /* it did not start */
    assert_int_equal(out->done, 1);
    switch (out->status) {
    case 0:
    case MCP_E_PEER:
    case MCP_E_NOMEM:
    case MCP_E_CANCELED:
    case MCP_E_TIMEOUT:
    case MCP_E_TOTAL_TIMEOUT:
    case MCP_E_SEND_FAILED:
    case MCP_E_CLOSED:
        break;
    default:
        fail_msg("ended with %s", mcp_status_name(out->status));
    }
}

static bool
try_start(struct world *w, int side, const struct mcpi_call_options *opt,
          struct outcome *out)
{
    int r = world_try_call(w, side, opt, out);

    if (r == 0) {
        world_run(w);
        return true;
    }
    assert_true(r == MCP_E_NOMEM || r == MCP_E_CLOSED || r == MCP_E_NO_CHANNEL);
    assert_int_equal(w->engine[side]->counts.calls, 0);
    return false;
}

/* The job that came, if it came and still lives. */
static struct job *
open_job(struct world *w, int side)
{
    struct job *job = w->job_count[side] ? world_job(w, side) : NULL;

    return job && job->x->ending == MCPI_OPEN ? job : NULL;
}

static void
settle(struct world *w, struct outcome *out)
{
    world_pass(w, LIMIT);
    expect_clean(out);
    if (out->call)
        outcome_done(out);
}

static void
flow_run(struct test_mem *mem, void *user)
{
    const struct flow *flow = user;
    struct world_options opt = {
        .client_era = flow->era, .mem = mem, .instructions = "Be \"kind\"."};
    struct world w;
    int r;

    r = world_open(&w, &opt);
    if (r == 0)
        r = mcpi_peer_connect(w.peer[CLIENT], w.now);
    if (r == 0) {
        world_run(&w);
        if (flow->act)
            flow->act(&w);
        world_pass(&w, LIMIT);
        assert_int_equal(w.ready_count, 1);
    } else {
        assert_int_equal(r, MCP_E_NOMEM);
    }
    world_close(&w);
}

/* Returns how many allocations the flow makes, so that the name is known to be true. */
static void
each_fails(void (*act)(struct world *w), enum mcpi_era era)
{
    struct flow flow = {act, era};

    assert_true(test_each_allocation_fails(flow_run, &flow) > 10);
}

static void
each_fails_in_both_eras(void (*act)(struct world *w))
{
    each_fails(act, MCPI_ERA_MODERN);
    each_fails(act, MCPI_ERA_LEGACY);
}

/* ---- flows ----------------------------------------------------------------- */

static void
creation_and_connect(void **state)
{
    (void)state;
    each_fails_in_both_eras(NULL);
    each_fails(NULL, MCPI_ERA_BOTH);
}

static void
act_answered(struct world *w)
{
    struct outcome out;
    struct job *job;

    if (!try_start(w, CLIENT, NULL, &out))
        return;
    job = open_job(w, SERVER);
    if (job)
        job_finish(w, job, "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]}");
    settle(w, &out);
}

static void
a_call_that_is_answered(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_answered);
}

/* Long enough that nothing fits where something shorter was. */
static void
act_big(struct world *w)
{
    char params[20000];
    struct mcpi_call_options opt = {.params = params, .meta = "{\"x/y\":1}"};
    struct outcome out;
    struct job *job;

    snprintf(params, sizeof(params), "{\"name\":\"%019000d\"}", 0);
    if (!try_start(w, CLIENT, &opt, &out))
        return;
    job = open_job(w, SERVER);
    if (job)
        job_finish(w, job, params);
    settle(w, &out);
}

static void
a_long_call_with_a_long_answer(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_big);
}

static void
act_canceled(struct world *w)
{
    struct outcome out;

    if (!try_start(w, CLIENT, NULL, &out))
        return;
    if (!out.done)
        assert_int_equal(mcpi_call_cancel(out.call, "enough", w->now), 0);
    world_run(w);
    settle(w, &out);
}

static void
a_call_that_is_canceled(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_canceled);
}

static void
act_timed_out(struct world *w)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = 3 * SECOND};
    struct outcome out;

    if (try_start(w, CLIENT, &opt, &out))
        settle(w, &out);
}

static void
a_call_that_times_out(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_timed_out);
}

static void
act_progress(struct world *w)
{
    struct mcpi_call_options opt = {.reset_on_progress = true,
                                    .ops = &outcome_progress_ops};
    struct outcome out;
    struct job *job;
    int r;

    if (!try_start(w, CLIENT, &opt, &out))
        return;
    for (int n = 1; n <= 3; n++) {
        job = open_job(w, SERVER);
        if (!job)
            break;
        r = mcpi_exchange_progress(job->x, n, 3, "half a \"step\"", w->now);
        assert_true(r == 0 || r == MCP_E_NOMEM);
        world_run(w);
    }
    job = open_job(w, SERVER);
    if (job)
        job_finish(w, job, "{}");
    settle(w, &out);
}

static void
a_call_with_progress(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_progress);
}

static void
act_error(struct world *w)
{
    struct mcpi_result result;
    struct outcome out;
    struct job *job;

    if (!try_start(w, CLIENT, NULL, &out))
        return;
    job = open_job(w, SERVER);
    if (job) {
        mcpi_result_init(&result, w->engine[SERVER]);
        mcpi_result_error(&result, -32055, "%s", "the disk is full");
        mcpi_buf_text(&result.body, "{\"free\":0,\"device\":\"sda\"}");
        job->finished = true;
        mcpi_exchange_finish(job->x, &result, w->now);
    }
    settle(w, &out);
    assert_true(out.status != MCP_E_PEER || out.code == -32055 ||
                out.code == MCPI_RPC_INTERNAL_ERROR);
}

static void
an_error_with_data(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_error);
}

/* A parent with a nested request that waits at the client. */
static bool
try_nest(struct world *w, struct outcome *parent, struct outcome *nested)
{
    struct mcpi_call_options opt = {.method = "roots/list"};
    struct job *job;

    memset(nested, 0, sizeof(*nested));
    if (!try_start(w, CLIENT, NULL, parent))
        return false;
    job = open_job(w, SERVER);
    if (job) {
        opt.parent = job->x;
        if (!try_start(w, SERVER, &opt, nested))
            nested->world = NULL;
    }
    return true;
}

static void
act_nested(struct world *w)
{
    struct outcome parent, nested;
    struct job *job;

    if (!try_nest(w, &parent, &nested))
        return;
    job = open_job(w, CLIENT);
    if (job)
        job_finish(w, job, "{\"roots\":[]}");
    world_run(w);
    job = open_job(w, SERVER);
    if (job)
        job_finish(w, job, "{}");
    settle(w, &nested);
    settle(w, &parent);
}

static void
a_nested_request(void **state)
{
    (void)state;
    each_fails(act_nested, MCPI_ERA_LEGACY);
}

static void
act_cascade(struct world *w)
{
    struct outcome parent, nested;

    if (!try_nest(w, &parent, &nested))
        return;
    if (!parent.done)
        assert_int_equal(mcpi_call_cancel(parent.call, NULL, w->now), 0);
    world_run(w);
    settle(w, &nested);
    settle(w, &parent);
}

static void
a_nested_request_and_its_cascade(void **state)
{
    (void)state;
    each_fails(act_cascade, MCPI_ERA_LEGACY);
}

static void
act_refusals(struct world *w)
{
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":50,\"method\":\"tools/"
        "call\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"1999-01-01\"}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":51,\"method\":\"tools/call\",\"params\":[1]}",
        "{\"jsonrpc\":\"2.0\",\"id\":52,\"method\":\"a\",\"params\":{\"b\":1,\"b\":2}}",
        "{\"jsonrpc\":\"2.0\",\"id\":53,\"method\":7}",
        "[{\"jsonrpc\":\"2.0\",\"id\":54,\"method\":\"ping\"}]",
        "nonsense",
    };
    struct mcpi_call_options unknown = {.method = "no/such"};
    struct outcome out;

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (w->closed[SERVER])
            return;
        world_inject(w, CLIENT, lines[i]);
        world_run(w);
        world_pass(w, 0);
    }
    if (try_start(w, CLIENT, &unknown, &out))
        settle(w, &out);
}

static void
refusals_of_every_kind(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_refusals);
}

static void
act_frame_by_hand(struct world *w)
{
    static const char params[] = "{\"requestId\":\"7\",\"reason\":\"by hand\"}";
    static const struct mcpi_id id7 = {.kind = MCPI_ID_INT, .number = 7};
    struct mcpi_call_options opt = {.id = &id7, .timeout_us = 5 * SECOND};
    struct outcome out;
    bool live;
    int r;

    if (!try_start(w, CLIENT, &opt, &out))
        return;
    live = !out.done;
    r = mcpi_peer_notify(w->peer[CLIENT], CANCELLED, params, sizeof(params) - 1,
                         w->now);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    if (live && r == 0)
        assert_int_equal(out.done, 1);
    if (r == MCP_E_NOMEM) /* nothing happened: no frame without its ending */
        assert_int_equal(out.done, !live);
    world_run(w);
    settle(w, &out);
}

static void
a_frame_by_hand(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_frame_by_hand);
}

static void
act_notes(struct world *w)
{
    struct outcome out;
    struct job *job;
    int r;

    r = mcpi_peer_notify(w->peer[CLIENT], "notifications/x", "{\"a\":1}", 7, w->now);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    if (!try_start(w, CLIENT, NULL, &out))
        return;
    job = open_job(w, SERVER);
    if (job) {
        r = mcpi_exchange_notify(job->x, "notifications/message",
                                 "{\"level\":\"info\",\"data\":1}", 25, w->now);
        assert_true(r == 0 || r == MCP_E_NOMEM);
        job_finish(w, job, "{}");
    }
    settle(w, &out);
}

static void
notifications(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_notes);
}

static void
act_close(struct world *w)
{
    struct outcome out;

    if (!try_start(w, CLIENT, NULL, &out))
        return;
    mcpi_peer_close(w->peer[SERVER], w->now);
    world_run(w);
    settle(w, &out);
    assert_int_equal(w->closed[SERVER], 1);
    assert_int_equal(w->closed[CLIENT], 1);
}

static void
a_close_with_a_running_request(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_close);
}

static void
act_drain(struct world *w)
{
    struct outcome out;
    struct job *job;

    if (!try_start(w, CLIENT, NULL, &out))
        return;
    mcpi_pair_shutdown(w->end[CLIENT], w->now);
    world_run(w);
    job = open_job(w, SERVER);
    if (job)
        job_finish(w, job, "{}");
    world_run(w);
    settle(w, &out);
    assert_int_equal(w->closed[SERVER], 1);
}

static void
an_eof_that_drains(void **state)
{
    (void)state;
    each_fails_in_both_eras(act_drain);
}

/* ---- without any memory ---------------------------------------------------- */

static void
memory_ends(struct world *w)
{
    w->mem->fail_after = true;
    atomic_store(&w->mem->fail_at, atomic_load(&w->mem->total) + 1);
}

static void
memory_returns(struct world *w)
{
    atomic_store(&w->mem->fail_at, 0);
    w->mem->fail_after = false;
}

static void
step_all(struct world *w, int side)
{
    while (w->link->step(w, side) > 0)
        continue;
}

static void
end_by_cancel(struct world *w, struct outcome *out)
{
    assert_int_equal(mcpi_call_cancel(out->call, "no longer \"wanted\"", w->now), 0);
    assert_int_equal(out->status, MCP_E_CANCELED);
}

static void
end_by_timeout(struct world *w, struct outcome *out)
{
    w->now += 60 * SECOND;
    mcpi_timers_expire(&w->timers, w->now);
    assert_int_equal(out->status, MCP_E_TIMEOUT);
}

static void
end_by_free(struct world *w, struct outcome *out)
{
    (void)w;
    outcome_done(out);
}

/* The frame goes out while every allocation fails; the peer reads it when it can. */
static void
ends_without_memory(enum mcpi_era era, void (*end)(struct world *, struct outcome *))
{
    struct outcome out;
    struct world w;

    world_start(&w, era);
    world_plain_call(&w, &out);
    world_run(&w);
    memory_ends(&w);
    end(&w, &out);
    step_all(&w, CLIENT);
    assert_int_equal(w.sent_count[CLIENT], 2);
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), CANCELLED));
    memory_returns(&w);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    outcome_done(&out);
    world_close(&w);
}

static void
B11_a_cancel_needs_no_memory(void **state)
{
    (void)state;
    ends_without_memory(MCPI_ERA_MODERN, end_by_cancel);
    ends_without_memory(MCPI_ERA_LEGACY, end_by_cancel);
}

static void
B11_a_timeout_needs_no_memory(void **state)
{
    (void)state;
    ends_without_memory(MCPI_ERA_MODERN, end_by_timeout);
    ends_without_memory(MCPI_ERA_LEGACY, end_by_timeout);
}

static void
B11_freeing_the_handle_needs_no_memory(void **state)
{
    (void)state;
    ends_without_memory(MCPI_ERA_MODERN, end_by_free);
    ends_without_memory(MCPI_ERA_LEGACY, end_by_free);
}

#define MANY 300

static void
B11_hundreds_of_cancels_at_once_need_no_memory(void **state)
{
    static struct outcome out[MANY];
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    for (int i = 0; i < MANY; i++)
        world_plain_call(&w, &out[i]);
    world_run(&w);
    memory_ends(&w);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcpi_call_cancel(out[i].call, NULL, w.now), 0);
    step_all(&w, CLIENT);
    assert_int_equal(world_count_sent(&w, CLIENT, CANCELLED), MANY);
    memory_returns(&w);
    world_run(&w);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(w.jobs[SERVER][i].told, 1);
        outcome_done(&out[i]);
    }
    world_close(&w);
}

static void
B11_the_longest_frame_needs_no_memory(void **state)
{
    char text[MCPI_ID_MAX], reason[2 * MCPI_REASON_MAX];
    struct mcpi_id id = {.kind = MCPI_ID_STRING, .text = text, .len = sizeof(text)};
    struct mcpi_call_options opt = {.id = &id};
    struct outcome out;
    struct world w;

    (void)state;
    memset(text, 1, sizeof(text)); /* six bytes each, escaped */
    memset(reason, '"', sizeof(reason) - 1);
    reason[sizeof(reason) - 1] = '\0';
    world_start(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    memory_ends(&w);
    assert_int_equal(mcpi_call_cancel(out.call, reason, w.now), 0);
    step_all(&w, CLIENT);
    assert_int_equal(world_count_sent(&w, CLIENT, CANCELLED), 1);
    memory_returns(&w);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    outcome_done(&out);
    world_close(&w);
}

/* The parent ends as a cancel from the peer would end it; the nested frame is ours. */
static void
F22_the_frame_of_a_nested_request_needs_no_memory(void **state)
{
    struct outcome parent, nested;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    assert_true(try_nest(&w, &parent, &nested));
    memory_ends(&w);
    mcpi_exchange_end(world_job(&w, SERVER)->x, MCPI_CANCELED, NULL, "by the test");
    assert_int_equal(nested.status, MCP_E_CANCELED);
    step_all(&w, SERVER);
    assert_int_equal(world_count_sent(&w, SERVER, CANCELLED), 1);
    memory_returns(&w);
    world_run(&w);
    assert_int_equal(world_job(&w, CLIENT)->told, 1);
    outcome_done(&nested);
    outcome_done(&parent);
    world_close(&w);
}

/* A server without memory for the answer itself still answers. */
static void
an_answer_that_does_not_fit_in_memory_becomes_an_error(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    world_run(&w);
    memory_ends(&w);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    step_all(&w, SERVER);
    memory_returns(&w);
    world_run(&w);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(out.code, MCPI_RPC_INTERNAL_ERROR);
    outcome_done(&out);
    world_close(&w);
}

TEST_MAIN(TEST(creation_and_connect), TEST(a_call_that_is_answered),
          TEST(a_long_call_with_a_long_answer), TEST(a_call_that_is_canceled),
          TEST(a_call_that_times_out), TEST(a_call_with_progress),
          TEST(an_error_with_data), TEST(a_nested_request),
          TEST(a_nested_request_and_its_cascade), TEST(refusals_of_every_kind),
          TEST(a_frame_by_hand), TEST(notifications),
          TEST(a_close_with_a_running_request), TEST(an_eof_that_drains),
          TEST(B11_a_cancel_needs_no_memory), TEST(B11_a_timeout_needs_no_memory),
          TEST(B11_freeing_the_handle_needs_no_memory),
          TEST(B11_hundreds_of_cancels_at_once_need_no_memory),
          TEST(B11_the_longest_frame_needs_no_memory),
          TEST(F22_the_frame_of_a_nested_request_needs_no_memory),
          TEST(an_answer_that_does_not_fit_in_memory_becomes_an_error))
