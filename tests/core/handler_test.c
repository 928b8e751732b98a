/* handler_test.c - whoever serves a request: its token, its time, what it leaves */
#include <pthread.h>
#include <string.h>

#include "core/exchange.h"
#include "run/token.h"
#include "support/messages.h"
#include "support/serving.h"
#include "support/world.h"

/* ---- a handler with a token ---------------------------------------------- */

struct handler {
    struct mcpi_token *token;
    struct mcpi_hook hook;
    bool signal_only;
    int hooks;          /* times the hook ran */
    bool set_in_hook;   /* the flag was up when it did */
    int nested_in_hook; /* nested legs that were still alive when it did */
    const struct mcpi_engine *engine;
};

static void
handler_hook(void *user)
{
    struct handler *h = user;

    h->hooks++;
    h->set_in_hook = mcpi_token_is_set(h->token);
    h->nested_in_hook = (int)h->engine->counts.legs;
}

static void
handler_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static void
handler_flag(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct handler *h = x->served_user;

    (void)how;
    mcpi_token_set(h->token, reason, false);
}

static void
handler_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct handler *h = x->served_user;

    (void)how;
    (void)reason;
    if (!h->signal_only)
        mcpi_token_run_hooks(h->token);
}

/* Give the newest job of the server a real token. */
static void
handler_attach(struct world *w, struct handler *h, bool signal_only)
{
    static const struct mcpi_served_ops ops = {
        .begin = handler_begin, .flag = handler_flag, .ended = handler_ended};

    memset(h, 0, sizeof(*h));
    h->token = mcpi_token_new(NULL);
    assert_non_null(h->token);
    h->signal_only = signal_only;
    h->hook.fn = handler_hook;
    h->hook.user = h;
    h->engine = w->engine[SERVER];
    mcpi_token_hook(h->token, &h->hook);
    mcpi_exchange_serve(world_job(w, SERVER)->x, &ops, h);
}

static void
handler_done(struct handler *h)
{
    mcpi_token_unhook(h->token, &h->hook);
    mcpi_token_unref(h->token);
}

static void
F2_F3_frame_sets_flag_and_reason_and_runs_hooks_once(void **state)
{
    struct world w;
    struct outcome out;
    struct handler h;

    (void)state;
    start_serving(&w, MCPI_ERA_MODERN, &out);
    handler_attach(&w, &h, false);
    assert_false(mcpi_token_is_set(h.token));
    cancel(&w, &out);
    assert_true(mcpi_token_is_set(h.token));
    assert_string_equal(mcpi_token_reason(h.token), "enough");
    assert_int_equal(h.hooks, 1);
    assert_true(h.set_in_hook);
    handler_done(&h);
    finish_all(&w, &out);
}

static void *
wait_for_token(void *user)
{
    return mcpi_token_wait(user, MCPI_NEVER) ? user : NULL;
}

static void
F2_F3_frame_wakes_a_thread_that_waits_on_the_token(void **state)
{
    struct world w;
    struct outcome out;
    struct handler h;
    pthread_t thread;
    void *woken;

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &out);
    handler_attach(&w, &h, false);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_token, h.token), 0);
    cancel(&w, &out);
    assert_int_equal(pthread_join(thread, &woken), 0);
    assert_ptr_equal(woken, h.token);
    handler_done(&h);
    finish_all(&w, &out);
}

static void
F4_signal_only_runs_no_hooks_and_is_never_answered(void **state)
{
    struct world w;
    struct outcome out;
    struct handler h;

    (void)state;
    start_serving(&w, MCPI_ERA_MODERN, &out);
    handler_attach(&w, &h, true);
    cancel(&w, &out);
    assert_true(mcpi_token_is_set(h.token));
    assert_string_equal(mcpi_token_reason(h.token), "enough");
    assert_int_equal(h.hooks, 0);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_int_equal(h.hooks, 0);
    world_assert_quiet(&w);
    handler_done(&h);
    finish_all(&w, &out);
}

static void
F26_hook_added_after_the_cancel_runs_at_once_and_once(void **state)
{
    struct world w;
    struct outcome out;
    struct handler h;

    (void)state;
    start_serving(&w, MCPI_ERA_MODERN, &out);
    handler_attach(&w, &h, false);
    mcpi_token_unhook(h.token, &h.hook);
    cancel(&w, &out);
    assert_int_equal(h.hooks, 0);
    mcpi_token_hook(h.token, &h.hook);
    assert_int_equal(h.hooks, 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    assert_int_equal(h.hooks, 1);
    handler_done(&h);
    finish_all(&w, &out);
}

static void
F22_hooks_find_the_nested_requests_ended(void **state)
{
    struct world w;
    struct outcome out, asked;
    struct handler h;
    struct mcpi_call_options nested = {.method = "roots/list"};

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &out);
    handler_attach(&w, &h, false);
    nested.parent = world_job(&w, SERVER)->x;
    world_call(&w, SERVER, &nested, &asked);
    world_run(&w);
    assert_int_equal(w.engine[SERVER]->counts.legs, 1);
    cancel(&w, &out);
    assert_int_equal(asked.status, MCP_E_CANCELED);
    assert_int_equal(h.hooks, 1);
    assert_int_equal(h.nested_in_hook, 0);
    handler_done(&h);
    outcome_done(&asked);
    finish_all(&w, &out);
}

static void
look_at_token(void *user, struct mcpi_call *call, int status,
              const struct mcpi_rpc *answer)
{
    struct handler *h = user;

    (void)call;
    (void)answer;
    assert_int_equal(status, MCP_E_CANCELED);
    assert_true(mcpi_token_is_set(h->token));
    assert_int_equal(h->hooks, 0);
    h->nested_in_hook = -1; /* it was here */
}

static void
F22_who_waits_for_the_peer_finds_the_flag_set_when_woken(void **state)
{
    static const struct mcpi_call_ops ops = {.done = look_at_token};
    struct world w;
    struct outcome out;
    struct handler h;
    struct mcpi_call_options nested = {.method = "roots/list", .ops = &ops, .user = &h};

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &out);
    handler_attach(&w, &h, true);
    nested.parent = world_job(&w, SERVER)->x;
    assert_int_equal(mcpi_call_start(w.peer[SERVER], &nested, w.now, NULL), 0);
    world_run(&w);
    cancel(&w, &out);
    assert_int_equal(h.nested_in_hook, -1);
    handler_done(&h);
    finish_all(&w, &out);
}

/* ---- deaf handlers, limits ----------------------------------------------- */

static void
F5_deaf_handler_is_counted_and_reported(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_serving(&w, MCPI_ERA_MODERN, &out);
    cancel(&w, &out);
    assert_int_equal(w.engine[SERVER]->counts.held, 1);
    world_pass(&w, 5 * SECOND - 1);
    assert_int_equal(w.engine[SERVER]->counts.deaf, 0);
    world_pass(&w, 1);
    assert_int_equal(w.engine[SERVER]->counts.deaf, 1);
    assert_true(world_logged(&w, 'W', "(tools/call) still runs 5000 ms after its end"));
    job_finish(&w, world_job(&w, SERVER), "{}");
    assert_int_equal(w.engine[SERVER]->counts.deaf, 0);
    assert_int_equal(w.engine[SERVER]->counts.held, 0);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    finish_all(&w, &out);
}

static void
F5_others_are_served_while_one_handler_is_deaf(void **state)
{
    struct world w;
    struct outcome deaf, other;

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &deaf);
    cancel(&w, &deaf);
    world_pass(&w, 20 * SECOND);
    world_plain_call(&w, &other);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    assert_int_equal(other.status, 0);
    assert_int_equal(other.done, 1);
    outcome_done(&other);
    finish_all(&w, &deaf);
}

static void
F5_deaf_handler_does_not_delay_a_stop(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &out);
    cancel(&w, &out);
    mcpi_peer_close(w.peer[SERVER], w.now);
    world_run(&w);
    assert_int_equal(w.closed[SERVER], 1);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_int_equal(w.engine[SERVER]->counts.held, 1);
    assert_int_equal(mcpi_engine_free(w.engine[SERVER]), MCP_E_STATE);
    finish_all(&w, &out);
}

static void
F34_run_limit_tells_the_handler_and_answers_with_an_error(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.times = {.run = 3 * SECOND}};

    opt.client_era = *(enum mcpi_era *)*state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    world_forget(&w);
    world_pass(&w, 3 * SECOND - 1);
    assert_int_equal(out.done, 0);
    world_pass(&w, 1);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_LIMITED);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(out.code, -32603);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 1);
    world_assert_quiet(&w);
    finish_all(&w, &out);
}

static void
F34_one_exchange_may_have_a_limit_of_its_own(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.times = {.run = 3 * SECOND}};

    (void)state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    mcpi_exchange_limit(world_job(&w, SERVER)->x, 5 * SECOND);
    world_pass(&w, 5 * SECOND - 1);
    assert_int_equal(out.done, 0);
    world_pass(&w, 1);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_string_equal(out.message, "Run limit of 5000 ms reached");
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_LIMITED);
    job_finish(&w, world_job(&w, SERVER), "{}");
    finish_all(&w, &out);
}

/* What a wrapper of the library's own methods sees. */
struct wrapper {
    const struct mcpi_router *plain;
    const struct mcpi_served_ops *inner;
    int begun, answered, code;
};

static struct wrapper *wrapper;

static void
wrapped_begin(struct mcpi_exchange *x)
{
    wrapper->begun++;
    wrapper->inner->begin(x);
}

static void
wrapped_answered(struct mcpi_exchange *x, int code)
{
    (void)x;
    wrapper->answered++;
    wrapper->code = code;
}

static const struct mcpi_served_ops wrapped_ops = {.begin = wrapped_begin,
                                                   .answered = wrapped_answered};

static void
wrap(void *user, struct mcpi_exchange *x)
{
    wrapper->inner = x->served;
    mcpi_exchange_serve(x, &wrapped_ops, user);
}

static void
a_router_may_wrap_what_the_library_serves_itself(void **state)
{
    struct mcpi_router router;
    struct wrapper seen = {0};
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    wrapper = &seen;
    router = *w.engine[SERVER]->router;
    router.observe = wrap;
    w.engine[SERVER]->router = &router;
    world_call(&w, CLIENT, &(struct mcpi_call_options){.method = "ping"}, &out);
    world_run(&w);
    assert_int_equal(out.status, 0);
    assert_int_equal(seen.begun, 1);
    assert_int_equal(seen.answered, 1);
    assert_int_equal(seen.code, 0);
    outcome_done(&out);
    world_close(&w);
}

static void
F34_handler_that_answers_in_time_is_not_limited(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.times = {.run = 3 * SECOND}};

    (void)state;
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    world_pass(&w, 3 * SECOND - 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_pass(&w, 10 * SECOND);
    assert_int_equal(out.status, 0);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    world_assert_quiet(&w);
    finish_all(&w, &out);
}

static void
F38_request_over_the_limit_is_refused_and_cancels_are_still_applied(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .limits = {.in_flight = 2}};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, MODERN_CALL("\"a\""));
    world_inject(&w, CLIENT, MODERN_CALL("\"b\""));
    world_inject(&w, CLIENT, MODERN_CALL("\"c\""));
    world_inject(&w, CLIENT, CANCEL("\"a\""));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 2);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"id\":\"c\""));
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "\"code\":-32603"));
    assert_non_null(strstr(world_sent(&w, SERVER, 0), "Too many requests in flight"));
    assert_int_equal(w.jobs[SERVER][0].told, 1);
    world_close(&w);
}

static void
F38_handler_on_its_way_out_counts_until_it_has_stopped(void **state)
{
    struct world w;
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .limits = {.in_flight = 1}};

    (void)state;
    world_start_with(&w, &opt);
    world_inject(&w, CLIENT, MODERN_CALL("77"));
    world_inject(&w, CLIENT, CANCEL("77"));
    world_inject(&w, CLIENT, MODERN_CALL("2"));
    world_run(&w);
    assert_int_equal(world_count_sent(&w, SERVER, "Too many requests"), 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_inject(&w, CLIENT, MODERN_CALL("3"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 2);
    assert_int_equal(w.sent_count[SERVER], 1);
    world_close(&w);
}

/* ---- the leak gate ------------------------------------------------------- */

static void
cycle(struct world *w)
{
    struct outcome out;
    struct job *job;

    world_plain_call(w, &out);
    world_run(w);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w->now), 0);
    world_run(w);
    job = world_job(w, SERVER);
    assert_int_equal(job->told, 1);
    job_finish(w, job, "{}");
    mcpi_exchange_unref(job->x);
    w->job_count[SERVER] = 0;
    outcome_done(&out);
}

static void
F33_ten_thousand_cancels_leave_nothing_behind(void **state)
{
    struct world w;
    long before;

    world_start(&w, *(enum mcpi_era *)*state);
    for (int i = 0; i < 100; i++)
        cycle(&w);
    before = w.mem->live;
    for (int i = 0; i < 10000; i++) {
        cycle(&w);
        world_forget(&w);
    }
    assert_int_equal(w.mem->live, before);
    assert_int_equal(w.peer[CLIENT]->pending.count, 0);
    assert_int_equal(w.peer[SERVER]->in_flight.count, 0);
    assert_int_equal(w.peer[SERVER]->exchange_count, 0);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_assert_quiet(&w);
    world_close(&w);
}

static enum mcpi_era modern = MCPI_ERA_MODERN, legacy = MCPI_ERA_LEGACY;

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(TEST(F2_F3_frame_sets_flag_and_reason_and_runs_hooks_once),
          TEST(F2_F3_frame_wakes_a_thread_that_waits_on_the_token),
          TEST(F4_signal_only_runs_no_hooks_and_is_never_answered),
          TEST(F26_hook_added_after_the_cancel_runs_at_once_and_once),
          TEST(F22_hooks_find_the_nested_requests_ended),
          TEST(F22_who_waits_for_the_peer_finds_the_flag_set_when_woken),
          TEST(F5_deaf_handler_is_counted_and_reported),
          TEST(F5_others_are_served_while_one_handler_is_deaf),
          TEST(F5_deaf_handler_does_not_delay_a_stop),
          IN_BOTH_ERAS(F34_run_limit_tells_the_handler_and_answers_with_an_error),
          TEST(F34_one_exchange_may_have_a_limit_of_its_own),
          TEST(a_router_may_wrap_what_the_library_serves_itself),
          TEST(F34_handler_that_answers_in_time_is_not_limited),
          TEST(F38_request_over_the_limit_is_refused_and_cancels_are_still_applied),
          TEST(F38_handler_on_its_way_out_counts_until_it_has_stopped),
          IN_BOTH_ERAS(F33_ten_thousand_cancels_leave_nothing_behind))
/* clang-format on */
