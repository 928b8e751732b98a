/* nested_test.c - the legacy era's other direction: a server that asks its client */
#include <stdio.h>
#include <string.h>

#include "support/messages.h"
#include "support/world.h"

static const char *const questions[] = {"sampling/createMessage", "elicitation/create",
                                        "roots/list"};
enum { QUESTIONS = 3 };

/* A server that works on a request and, to do so, asks its client something. */
struct asking {
    struct world w;
    struct outcome call;  /* the client's */
    struct outcome asked; /* the server's, on behalf of it */
};

static void
start_asking(struct asking *a, const struct mcpi_call_options *how)
{
    struct mcpi_call_options opt = {0};

    if (how)
        opt = *how;
    opt.method = opt.method ? opt.method : "roots/list";
    world_start(&a->w, MCPI_ERA_LEGACY);
    world_plain_call(&a->w, &a->call);
    world_run(&a->w);
    opt.parent = world_job(&a->w, SERVER)->x;
    world_call(&a->w, SERVER, &opt, &a->asked);
    world_run(&a->w);
    assert_int_equal(a->w.job_count[CLIENT], 1);
    world_forget(&a->w);
}

static void
stop_asking(struct asking *a)
{
    outcome_done(&a->asked);
    outcome_done(&a->call);
    world_close(&a->w);
}

/* The request itself goes on and is answered. */
static void
check_parent_unharmed(struct asking *a)
{
    assert_int_equal(world_job(&a->w, SERVER)->told, 0);
    job_finish(&a->w, world_job(&a->w, SERVER), "{\"content\":[]}");
    world_run(&a->w);
    assert_int_equal(a->call.done, 1);
    assert_int_equal(a->call.status, 0);
}

static void
J1_server_that_cancels_its_question_tells_the_client(void **state)
{
    struct asking a;
    struct mcpi_call_options opt = {0};

    (void)state;
    for (int i = 0; i < QUESTIONS; i++) {
        opt.method = questions[i];
        start_asking(&a, &opt);
        assert_int_equal(mcpi_call_cancel(a.asked.call, "changed my mind", a.w.now), 0);
        world_run(&a.w);
        assert_int_equal(world_count_sent(&a.w, SERVER, "notifications/cancelled"), 1);
        assert_int_equal(world_job(&a.w, CLIENT)->told, 1);
        assert_int_equal(world_job(&a.w, CLIENT)->how, MCPI_CANCELED);
        assert_string_equal(world_job(&a.w, CLIENT)->reason, "changed my mind");
        job_finish(&a.w, world_job(&a.w, CLIENT), "{}");
        world_run(&a.w);
        assert_int_equal(a.w.sent_count[CLIENT], 0);
        check_parent_unharmed(&a);
        stop_asking(&a);
    }
}

static void
an_answer_that_cannot_be_parsed_ends_the_question(void **state)
{
    struct asking a;
    char line[100];

    (void)state;
    start_asking(&a, NULL);
    (void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":NaN}",
                   (int)world_job(&a.w, CLIENT)->x->rpc.id.number);
    world_inject(&a.w, CLIENT, line);
    world_run(&a.w);
    assert_int_equal(a.asked.done, 1);
    assert_int_equal(a.asked.status, MCP_E_PROTO);
    assert_int_equal(a.w.sent_count[SERVER], 0); /* nobody answers an answer */
    job_finish(&a.w, world_job(&a.w, CLIENT), "{}");
    check_parent_unharmed(&a);
    stop_asking(&a);
}

static void
J1_server_whose_question_times_out_tells_the_client(void **state)
{
    struct asking a;
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND};

    (void)state;
    start_asking(&a, &opt);
    world_pass(&a.w, 2 * SECOND);
    assert_int_equal(a.asked.status, MCP_E_TIMEOUT);
    assert_int_equal(world_count_sent(&a.w, SERVER, "notifications/cancelled"), 1);
    assert_int_equal(world_job(&a.w, CLIENT)->told, 1);
    job_fail(&a.w, world_job(&a.w, CLIENT), -1, "the user is gone");
    world_run(&a.w);
    assert_int_equal(a.w.sent_count[CLIENT], 0);
    check_parent_unharmed(&a);
    stop_asking(&a);
}

static void
J2_client_that_answers_an_abandoned_question_is_not_heard(void **state)
{
    struct asking a;

    (void)state;
    start_asking(&a, NULL);
    assert_int_equal(mcpi_call_cancel(a.asked.call, NULL, a.w.now), 0);
    world_inject(&a.w, CLIENT, RESULT("1", "{\"roots\":[]}"));
    world_run(&a.w);
    assert_int_equal(a.asked.done, 1);
    assert_int_equal(a.asked.status, MCP_E_CANCELED);
    assert_true(world_logged(&a.w, 'D', "late answer"));
    assert_int_equal(a.w.closed[SERVER], 0);
    check_parent_unharmed(&a);
    stop_asking(&a);
}

static void
J3_frame_cancels_only_what_its_sender_asked(void **state)
{
    struct asking a;
    struct outcome twin;
    struct mcpi_id seven = mcpi_id_int(7); /* of the server's question and our call */
    struct mcpi_call_options opt = {.id = &seven};

    (void)state;
    start_asking(&a, &opt);
    world_call(&a.w, CLIENT, &opt, &twin);
    world_run(&a.w);
    assert_int_equal(mcpi_call_cancel(a.asked.call, NULL, a.w.now), 0);
    world_run(&a.w);
    assert_int_equal(world_job(&a.w, CLIENT)->told, 1);
    assert_int_equal(world_job(&a.w, SERVER)->told, 0);
    assert_int_equal(twin.done, 0);
    assert_int_equal(mcpi_call_cancel(twin.call, NULL, a.w.now), 0);
    world_run(&a.w);
    assert_int_equal(world_job(&a.w, SERVER)->told, 1);
    assert_int_equal(a.w.jobs[SERVER][0].told, 0);
    outcome_done(&twin);
    stop_asking(&a);
}

static void
J4_frame_for_our_own_request_is_ignored_and_warned_of_once(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_id id = mcpi_id_int(44);
    struct mcpi_call_options opt = {.id = &id};
    size_t warned = 0;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    world_forget(&w);
    for (int i = 0; i < 3; i++)
        world_inject(&w, SERVER, CANCEL("44"));
    world_run(&w);
    assert_int_equal(out.done, 0);
    for (size_t i = 0; i < w.log_count; i++)
        warned += w.log[i][0] == 'W';
    assert_int_equal(warned, 1);
    assert_true(world_logged(&w, 'W', "cancels request 44, which is ours"));
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(out.status, 0);
    assert_int_equal(w.sent_count[CLIENT], 0);
    outcome_done(&out);
    world_close(&w);
}

static void
F22_J6_cancel_of_a_request_cancels_what_it_asked(void **state)
{
    struct asking a;

    (void)state;
    start_asking(&a, NULL);
    assert_int_equal(mcpi_call_cancel(a.call.call, NULL, a.w.now), 0);
    world_run(&a.w);
    assert_int_equal(world_job(&a.w, SERVER)->told, 1);
    assert_int_equal(a.asked.done, 1);
    assert_int_equal(a.asked.status, MCP_E_CANCELED);
    assert_int_equal(world_job(&a.w, CLIENT)->told, 1);
    job_finish(&a.w, world_job(&a.w, SERVER), "{}");
    job_finish(&a.w, world_job(&a.w, CLIENT), "{}");
    world_run(&a.w);
    assert_int_equal(a.w.sent_count[SERVER], 1); /* the frame and nothing else */
    assert_int_equal(world_count_sent(&a.w, SERVER, "notifications/cancelled"), 1);
    assert_int_equal(a.w.sent_count[CLIENT], 1); /* its own frame */
    world_assert_quiet(&a.w);
    stop_asking(&a);
}

static void
F22_question_that_still_waits_to_be_sent_is_withdrawn_with_its_request(void **state)
{
    struct asking a;
    struct mcpi_call_options opt = {.method = "roots/list", .params = "{}"};

    (void)state;
    world_start(&a.w, MCPI_ERA_LEGACY);
    world_plain_call(&a.w, &a.call);
    world_run(&a.w);
    world_forget(&a.w);
    assert_int_equal(mcpi_call_cancel(a.call.call, NULL, a.w.now), 0);
    while (mcpi_pair_step(a.w.end[CLIENT], a.w.now) > 0)
        continue;
    opt.parent = world_job(&a.w, SERVER)->x;
    world_call(&a.w, SERVER, &opt, &a.asked);
    world_run(&a.w); /* the server reads before it writes */
    assert_int_equal(a.asked.status, MCP_E_CANCELED);
    assert_int_equal(a.w.sent_count[SERVER], 0);
    assert_int_equal(a.w.job_count[CLIENT], 0);
    stop_asking(&a);
}

static void
F22_handler_that_was_told_to_stop_cannot_ask_any_more(void **state)
{
    struct asking a;
    struct outcome again;
    struct mcpi_call_options opt = {.method = "roots/list", .params = "{}"};

    (void)state;
    start_asking(&a, NULL);
    assert_int_equal(mcpi_call_cancel(a.call.call, NULL, a.w.now), 0);
    world_run(&a.w);
    world_forget(&a.w);
    opt.parent = world_job(&a.w, SERVER)->x;
    assert_int_equal(world_try_call(&a.w, SERVER, &opt, &again), MCP_E_CANCELED);
    world_run(&a.w);
    assert_int_equal(a.w.sent_count[SERVER], 0);
    assert_int_equal(a.w.engine[SERVER]->counts.legs, 0);
    stop_asking(&a);
}

static void
J6_frame_of_a_question_stands_before_the_answer_of_its_request(void **state)
{
    struct asking a;

    (void)state;
    start_asking(&a, NULL);
    job_fail(&a.w, world_job(&a.w, SERVER), -32000, "gave up");
    world_run(&a.w);
    assert_int_equal(a.w.sent_count[SERVER], 2);
    assert_non_null(strstr(world_sent(&a.w, SERVER, 0), "notifications/cancelled"));
    assert_non_null(strstr(world_sent(&a.w, SERVER, 1), "gave up"));
    stop_asking(&a);
}

static void
J7_G8_modern_server_cannot_ask(void **state)
{
    struct world w;
    struct outcome out, asked;
    struct mcpi_call_options opt = {.method = "roots/list"};

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    world_run(&w);
    world_forget(&w);
    opt.parent = world_job(&w, SERVER)->x;
    assert_int_equal(world_try_call(&w, SERVER, &opt, &asked), MCP_E_NO_CHANNEL);
    opt.parent = NULL;
    assert_int_equal(world_try_call(&w, SERVER, &opt, &asked), MCP_E_NO_CHANNEL);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    outcome_done(&out);
    world_close(&w);
}

static void
J7_C4_modern_client_drops_requests_and_answers_nothing(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    world_run(&w);
    world_forget(&w);
    world_inject(&w, SERVER, REQUEST("9", "roots/list", "{}"));
    world_inject(&w, SERVER, REQUEST("10", "ping", "{}"));
    world_inject(&w, SERVER, REQUEST("11", "no/such", "{" STAMP "}"));
    world_inject(&w, SERVER, REQUEST("12", "tools/call", "[]"));
    world_run(&w);
    assert_int_equal(w.job_count[CLIENT], 0);
    assert_int_equal(w.sent_count[CLIENT], 0);
    assert_true(world_logged(&w, 'W', "request 9 dropped"));
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(out.status, 0);
    outcome_done(&out);
    world_close(&w);
}

/* One that speaks the modern era to a client that once said initialize. */
static void
J7_modern_request_on_a_legacy_pipe_cannot_ask(void **state)
{
    struct world w;
    struct outcome asked;
    struct mcpi_call_options opt = {.method = "roots/list"};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_inject(&w, CLIENT, MODERN_CALL("\"m\""));
    world_run(&w);
    opt.parent = world_job(&w, SERVER)->x;
    assert_int_equal(world_try_call(&w, SERVER, &opt, &asked), MCP_E_NO_CHANNEL);
    world_close(&w);
}

static void
J8_handlers_that_wait_on_the_client_wake_with_closed(void **state)
{
    struct asking a;

    (void)state;
    start_asking(&a, NULL);
    world_cut(&a.w, CLIENT);
    world_run(&a.w);
    assert_int_equal(a.asked.done, 1);
    assert_int_equal(a.asked.status, MCP_E_CLOSED);
    assert_int_equal(world_count_sent(&a.w, SERVER, "notifications/cancelled"), 0);
    stop_asking(&a);
}

static void
J10_cancel_picked_by_the_user_is_an_answer(void **state)
{
    struct asking a;
    struct mcpi_call_options opt = {.method = "elicitation/create"};

    (void)state;
    start_asking(&a, &opt);
    job_finish(&a.w, world_job(&a.w, CLIENT), "{\"action\":\"cancel\"}");
    world_run(&a.w);
    assert_int_equal(a.asked.status, 0);
    assert_string_equal(a.asked.result, "{\"action\":\"cancel\"}");
    assert_int_equal(world_count_sent(&a.w, SERVER, "notifications/cancelled"), 0);
    check_parent_unharmed(&a);
    stop_asking(&a);
}

static void
server_cannot_ask_before_the_handshake(void **state)
{
    struct world_options opt = {.client_era = MCPI_ERA_MANUAL,
                                .server_era = MCPI_ERA_LEGACY};
    struct mcpi_call_options question = {.method = "roots/list"};
    struct outcome asked;
    struct world w;

    (void)state;
    world_start_with(&w, &opt);
    assert_int_equal(world_try_call(&w, SERVER, &question, &asked), MCP_E_NO_CHANNEL);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_inject(&w, CLIENT, INITIALIZE("0", "2025-11-25"));
    world_run(&w);
    assert_int_equal(world_try_call(&w, SERVER, &question, &asked), 0);
    outcome_done(&asked);
    world_close(&w);
}

static void
server_may_ask_on_behalf_of_nobody_after_the_handshake(void **state)
{
    struct world w;
    struct outcome asked;
    struct mcpi_call_options opt = {.method = "roots/list"};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_call(&w, SERVER, &opt, &asked);
    world_run(&w);
    job_finish(&w, world_job(&w, CLIENT), "{\"roots\":[]}");
    world_run(&w);
    assert_int_equal(asked.status, 0);
    outcome_done(&asked);
    world_assert_quiet(&w);
    world_close(&w);
}

/* ---- a handler that rests while it asks ------------------------------------ */

/* Its run is over; begun again when the answer is there. */
struct resting {
    struct asking a;
    int begun;
};

static void
resting_begin(struct mcpi_exchange *x)
{
    struct resting *r = x->served_user;

    r->begun++;
}

static const struct mcpi_served_ops resting_ops = {.begin = resting_begin};

static void
start_resting(struct resting *r)
{
    struct mcpi_exchange *x;

    memset(r, 0, sizeof(*r));
    start_asking(&r->a, NULL);
    x = world_job(&r->a.w, SERVER)->x;
    mcpi_exchange_serve(x, &resting_ops, r);
    mcpi_exchange_rest(x, r->a.w.now);
}

static void
stop_resting(struct resting *r)
{
    world_job(&r->a.w, SERVER)->finished = true;
    stop_asking(&r->a);
}

static void
handler_that_rests_is_begun_again_and_answers(void **state)
{
    struct resting r;
    struct mcpi_exchange *x;

    (void)state;
    start_resting(&r);
    x = world_job(&r.a.w, SERVER)->x;
    assert_int_equal(x->ending, MCPI_OPEN);
    assert_int_equal(r.a.w.engine[SERVER]->counts.exchanges, 1);
    assert_int_equal(r.a.w.engine[SERVER]->counts.held, 0);
    job_finish(&r.a.w, world_job(&r.a.w, CLIENT), "{\"roots\":[]}");
    world_run(&r.a.w);
    assert_int_equal(r.a.asked.status, 0);
    assert_true(mcpi_exchange_resume(x, r.a.w.now));
    assert_int_equal(r.begun, 1);
    job_finish(&r.a.w, world_job(&r.a.w, SERVER), "{\"content\":[]}");
    world_run(&r.a.w);
    assert_int_equal(r.a.call.status, 0);
    assert_false(mcpi_exchange_resume(x, r.a.w.now));
    world_assert_quiet(&r.a.w);
    stop_resting(&r);
}

static void
L10_cancel_of_a_request_that_rests_cancels_what_it_asked_and_settles(void **state)
{
    struct resting r;
    struct mcpi_exchange *x;

    (void)state;
    start_resting(&r);
    x = world_job(&r.a.w, SERVER)->x;
    assert_int_equal(mcpi_call_cancel(r.a.call.call, NULL, r.a.w.now), 0);
    world_run(&r.a.w);
    assert_int_equal(r.a.asked.done, 1);
    assert_int_equal(r.a.asked.status, MCP_E_CANCELED);
    assert_int_equal(world_job(&r.a.w, CLIENT)->told, 1);
    assert_true(x->settled);
    assert_int_equal(r.a.w.engine[SERVER]->counts.held, 0);
    assert_int_equal(r.a.w.sent_count[SERVER], 1); /* the frame of what it asked */
    assert_int_equal(world_count_sent(&r.a.w, SERVER, "notifications/cancelled"), 1);
    assert_false(mcpi_exchange_resume(x, r.a.w.now));
    assert_int_equal(r.begun, 0);
    job_finish(&r.a.w, world_job(&r.a.w, CLIENT), "{}");
    world_assert_quiet(&r.a.w);
    stop_resting(&r);
}

static void
L10_J6_nested_frame_comes_before_the_last_word_of_who_rests(void **state)
{
    struct resting r;

    (void)state;
    start_resting(&r);
    /* As on a link where only a response ends the wire object. */
    r.a.w.peer[SERVER]->traits |= MCPI_LAST_WORD;
    assert_int_equal(mcpi_call_cancel(r.a.call.call, NULL, r.a.w.now), 0);
    world_run(&r.a.w);
    assert_int_equal(r.a.w.sent_count[SERVER], 2);
    assert_non_null(strstr(world_sent(&r.a.w, SERVER, 0), "notifications/cancelled"));
    assert_non_null(strstr(world_sent(&r.a.w, SERVER, 1), "-32800"));
    stop_resting(&r);
}

static void
L10_answer_and_cancel_race_for_who_rests(void **state)
{
    struct resting r;
    struct mcpi_exchange *x;

    (void)state;
    for (int cancel_first = 0; cancel_first < 2; cancel_first++) {
        start_resting(&r);
        x = world_job(&r.a.w, SERVER)->x;
        if (cancel_first) {
            assert_int_equal(mcpi_call_cancel(r.a.call.call, NULL, r.a.w.now), 0);
            world_run(&r.a.w);
        }
        job_finish(&r.a.w, world_job(&r.a.w, CLIENT), "{\"roots\":[]}");
        world_run(&r.a.w);
        assert_int_equal(r.a.asked.status, cancel_first ? MCP_E_CANCELED : 0);
        assert_int_equal(mcpi_exchange_resume(x, r.a.w.now), !cancel_first);
        assert_int_equal(r.begun, !cancel_first);
        if (!cancel_first) { /* it runs, so it is held and told */
            assert_int_equal(mcpi_call_cancel(r.a.call.call, NULL, r.a.w.now), 0);
            world_run(&r.a.w);
            assert_int_equal(r.a.w.engine[SERVER]->counts.held, 1);
            mcpi_exchange_rest(x, r.a.w.now); /* too late: just the end of the run */
        }
        assert_true(x->settled);
        assert_int_equal(r.a.w.engine[SERVER]->counts.held, 0);
        stop_resting(&r);
    }
}

static void
L10_J8_request_that_rests_is_dropped_or_answered_as_its_peer_ends(void **state)
{
    struct resting r;

    (void)state;
    for (int close = 0; close < 2; close++) {
        start_resting(&r);
        if (close)
            mcpi_peer_close(r.a.w.peer[SERVER], r.a.w.now);
        else
            world_cut(&r.a.w, CLIENT);
        world_run(&r.a.w);
        world_pass(&r.a.w, SECOND); /* the bound of a drain, and of a stop */
        assert_int_equal(r.a.asked.done, 1);
        assert_int_equal(r.a.asked.status, MCP_E_CLOSED);
        assert_int_equal(world_job(&r.a.w, SERVER)->x->ending,
                         close ? MCPI_CLOSED : MCPI_DROPPED);
        assert_true(world_job(&r.a.w, SERVER)->x->settled);
        stop_resting(&r);
    }
}

static void
F34_run_limit_stands_still_while_a_request_rests(void **state)
{
    struct resting r;
    struct mcpi_exchange *x;

    (void)state;
    start_resting(&r);
    x = world_job(&r.a.w, SERVER)->x;
    assert_true(mcpi_exchange_resume(x, r.a.w.now));
    mcpi_exchange_limit(x, 2 * SECOND); /* of each run */
    world_pass(&r.a.w, SECOND);
    mcpi_exchange_rest(x, r.a.w.now);
    world_pass(&r.a.w, 30 * SECOND);
    assert_int_equal(x->ending, MCPI_OPEN);
    assert_true(mcpi_exchange_resume(x, r.a.w.now));
    world_pass(&r.a.w, 2 * SECOND - 1);
    assert_int_equal(x->ending, MCPI_OPEN);
    world_pass(&r.a.w, 1);
    assert_int_equal(x->ending, MCPI_LIMITED);
    assert_int_equal(r.a.call.status, MCP_E_PEER);
    job_finish(&r.a.w, world_job(&r.a.w, SERVER), "{}");
    stop_resting(&r);
}

static void
request_that_rests_may_be_answered_without_a_run(void **state)
{
    struct resting r;

    (void)state;
    start_resting(&r);
    job_fail(&r.a.w, world_job(&r.a.w, SERVER), -5, "not answered");
    world_run(&r.a.w);
    assert_int_equal(r.a.call.status, MCP_E_PEER);
    assert_int_equal(r.a.call.code, -5);
    assert_int_equal(r.a.asked.status, MCP_E_CANCELED);
    assert_int_equal(r.begun, 0);
    stop_resting(&r);
}

TEST_MAIN(TEST(J1_server_that_cancels_its_question_tells_the_client),
          TEST(an_answer_that_cannot_be_parsed_ends_the_question),
          TEST(J1_server_whose_question_times_out_tells_the_client),
          TEST(J2_client_that_answers_an_abandoned_question_is_not_heard),
          TEST(J3_frame_cancels_only_what_its_sender_asked),
          TEST(J4_frame_for_our_own_request_is_ignored_and_warned_of_once),
          TEST(F22_J6_cancel_of_a_request_cancels_what_it_asked),
          TEST(F22_question_that_still_waits_to_be_sent_is_withdrawn_with_its_request),
          TEST(F22_handler_that_was_told_to_stop_cannot_ask_any_more),
          TEST(J6_frame_of_a_question_stands_before_the_answer_of_its_request),
          TEST(J7_G8_modern_server_cannot_ask),
          TEST(J7_C4_modern_client_drops_requests_and_answers_nothing),
          TEST(J7_modern_request_on_a_legacy_pipe_cannot_ask),
          TEST(J8_handlers_that_wait_on_the_client_wake_with_closed),
          TEST(J10_cancel_picked_by_the_user_is_an_answer),
          TEST(server_cannot_ask_before_the_handshake),
          TEST(server_may_ask_on_behalf_of_nobody_after_the_handshake),
          TEST(handler_that_rests_is_begun_again_and_answers),
          TEST(L10_cancel_of_a_request_that_rests_cancels_what_it_asked_and_settles),
          TEST(L10_J6_nested_frame_comes_before_the_last_word_of_who_rests),
          TEST(L10_answer_and_cancel_race_for_who_rests),
          TEST(L10_J8_request_that_rests_is_dropped_or_answered_as_its_peer_ends),
          TEST(F34_run_limit_stands_still_while_a_request_rests),
          TEST(request_that_rests_may_be_answered_without_a_run))
