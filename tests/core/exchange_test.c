/* exchange_test.c - a request received: its one ending, its handler, its silence */
#include "core/exchange.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/messages.h"
#include "support/serving.h"
#include "support/world.h"

/* ---- silence ------------------------------------------------------------- */

static void
F6_F11_canceled_request_that_returns_a_result_is_not_answered(void **state)
{
    struct world w;
    struct outcome out;

    start_serving(&w, *(enum mcpi_era *)*state, &out);
    cancel(&w, &out);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(world_job(&w, SERVER)->how, MCPI_CANCELED);
    assert_string_equal(world_job(&w, SERVER)->reason, "enough");
    assert_int_equal(w.engine[SERVER]->counts.exchanges, 0);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_assert_quiet(&w);
    finish_all(&w, &out);
}

static void
F6_F8_canceled_request_that_fails_is_logged_and_not_answered(void **state)
{
    struct world w;
    struct outcome out;

    start_serving(&w, *(enum mcpi_era *)*state, &out);
    cancel(&w, &out);
    job_fail(&w, world_job(&w, SERVER), -32603, "disk full");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_true(world_logged(&w, 'I', "disk full"));
    finish_all(&w, &out);
}

static void
F7_I14_canceled_request_says_nothing_more(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct mcpi_exchange *x;

    world_start(&w, *(enum mcpi_era *)*state);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    x = world_job(&w, SERVER)->x;
    assert_int_equal(mcpi_exchange_progress(x, 1, 2, NULL, w.now), 0);
    world_run(&w);
    assert_int_equal(out.progressed, 1);
    world_forget(&w);
    cancel(&w, &out);
    assert_int_equal(mcpi_exchange_progress(x, 2, 2, NULL, w.now), MCP_E_CANCELED);
    assert_int_equal(mcpi_exchange_notify(x, "notifications/message", "{}", 2, w.now),
                     MCP_E_CANCELED);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    finish_all(&w, &out);
}

static void
F7_progress_that_still_waits_is_taken_back_by_the_cancel(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct mcpi_exchange *x;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    x = world_job(&w, SERVER)->x;
    /* The frame is in the server's ring; its own output has not been taken. */
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    while (mcpi_pair_step(w.end[CLIENT], w.now) > 0)
        continue;
    assert_int_equal(mcpi_exchange_progress(x, 1, 2, NULL, w.now), 0);
    assert_int_equal(mcpi_exchange_notify(x, "notifications/message",
                                          "{\"level\":\"info\"}", 16, w.now),
                     0);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(w.sent_count[SERVER], 0);
    finish_all(&w, &out);
}

static void
F19_repeated_frames_are_no_ops(void **state)
{
    struct world w;
    struct outcome out;
    char frame[] = CANCEL("77");

    (void)state;
    start_serving(&w, MCPI_ERA_MODERN, &out);
    cancel(&w, &out);
    world_inject(&w, CLIENT, frame);
    world_inject(&w, CLIENT, frame);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(w.engine[SERVER]->counts.held, 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_inject(&w, CLIENT, frame);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    assert_int_equal(w.closed[SERVER], 0);
    world_assert_quiet(&w);
    finish_all(&w, &out);
}

/* ---- who wins ------------------------------------------------------------ */

static void
F10_answer_that_came_first_wins_over_the_frame(void **state)
{
    struct world w;
    struct outcome out;

    start_serving(&w, *(enum mcpi_era *)*state, &out);
    world_inject(&w, CLIENT, CANCEL("77")); /* not yet read */
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    world_assert_quiet(&w);
    finish_all(&w, &out);
}

/* A world whose server has written the first bytes of a long answer and no more. */
static void
start_half_answered(struct world *w, struct outcome *out)
{
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY, .ring_bytes = 700};
    char body[900] = "{\"content\":[{\"type\":\"text\",\"text\":\"";

    memset(body + strlen(body), 'x', 800 - strlen(body));
    strcat(body, "\"}]}");
    world_start_with(w, &opt);
    call_77(w, out);
    world_run(w);
    world_forget(w);
    job_finish(w, world_job(w, SERVER), body);
    while (mcpi_pair_step(w->end[SERVER], w->now) > 0)
        continue;
    assert_int_equal(w->sent_count[SERVER], 1);
}

static void
F10_frame_during_the_answer_write_changes_nothing(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_half_answered(&w, &out);
    world_inject(&w, CLIENT, CANCEL("77"));
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 0);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    finish_all(&w, &out);
}

static void
F12_F35_answer_that_was_cut_off_is_not_given_again(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_half_answered(&w, &out);
    world_cut(&w, CLIENT); /* it never reads the rest */
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(out.status, MCP_E_CLOSED);
    assert_int_equal(w.closed[SERVER], 1);
    finish_all(&w, &out);
}

static void
F17_canceled_id_may_be_used_again_while_its_handler_still_runs(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_inject(&w, CLIENT, CANCEL("5"));
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 2);
    job_finish(&w, &w.jobs[SERVER][0], "{\"which\":\"first\"}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    job_finish(&w, &w.jobs[SERVER][1], "{\"which\":\"second\"}");
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 1);
    assert_int_equal(world_count_sent(&w, SERVER, "second"), 1);
    world_close(&w);
}

static void
A15_old_handler_that_settles_does_not_evict_its_successor(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_inject(&w, CLIENT, CANCEL("5"));
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_run(&w);
    job_finish(&w, &w.jobs[SERVER][0], "{}");
    world_inject(&w, CLIENT, CANCEL("5"));
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    assert_int_equal(w.engine[SERVER]->counts.exchanges, 0);
    world_close(&w);
}

/* ---- after the end ------------------------------------------------------- */

static void
F23_kept_context_of_an_answered_request_is_closed(void **state)
{
    struct world w;
    struct outcome out, asked;
    struct mcpi_call_options nested = {.method = "roots/list"};
    struct mcpi_exchange *x;

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &out);
    x = world_job(&w, SERVER)->x;
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    world_forget(&w);
    nested.parent = x;
    assert_int_equal(world_try_call(&w, SERVER, &nested, &asked), MCP_E_NO_CHANNEL);
    assert_int_equal(mcpi_exchange_progress(x, 1, 1, NULL, w.now), MCP_E_STATE);
    assert_int_equal(mcpi_exchange_notify(x, "notifications/message", NULL, 0, w.now),
                     MCP_E_STATE);
    world_run(&w);
    assert_int_equal(w.sent_count[SERVER], 0);
    world_assert_quiet(&w);
    finish_all(&w, &out);
}

/* A client may ask anyway, but not on behalf of what has ended. */
static void
F23_kept_context_is_closed_on_the_client_too(void **state)
{
    struct world w;
    struct outcome out, asked;
    struct mcpi_call_options sample = {.method = "sampling/createMessage"};
    struct mcpi_call_options nested = {.method = "tools/list"};

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    world_call(&w, SERVER, &sample, &out);
    world_run(&w);
    job_finish(&w, world_job(&w, CLIENT), "{}");
    nested.parent = world_job(&w, CLIENT)->x;
    assert_int_equal(world_try_call(&w, CLIENT, &nested, &asked), MCP_E_NO_CHANNEL);
    assert_int_equal(w.engine[CLIENT]->counts.legs, 0);
    finish_all(&w, &out);
}

static void
F23_nested_request_ends_with_the_answer_of_its_parent(void **state)
{
    struct world w;
    struct outcome out, asked;
    struct mcpi_call_options nested = {.method = "roots/list"};

    (void)state;
    start_serving(&w, MCPI_ERA_LEGACY, &out);
    nested.parent = world_job(&w, SERVER)->x;
    world_call(&w, SERVER, &nested, &asked);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{}");
    world_run(&w);
    assert_int_equal(asked.status, MCP_E_CANCELED);
    assert_int_equal(world_job(&w, CLIENT)->told, 1);
    assert_int_equal(out.status, 0);
    outcome_done(&asked);
    finish_all(&w, &out);
}

static void
F25_observer_sees_the_frame_with_request_and_reason(void **state)
{
    struct world w;
    struct outcome out;

    (void)state;
    start_serving(&w, MCPI_ERA_MODERN, &out);
    cancel(&w, &out);
    assert_int_equal(w.notice_count, 1);
    assert_int_equal(w.notices[0].side, SERVER);
    assert_string_equal(w.notices[0].method, "notifications/cancelled");
    assert_ptr_equal(w.notices[0].about, world_job(&w, SERVER)->x);
    assert_int_equal(w.notices[0].about->rpc.id.number, 77);
    assert_string_equal(w.notices[0].about->reason, "enough");
    finish_all(&w, &out);
}

static void
I15_progress_that_does_not_grow_is_refused(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct mcpi_exchange *x;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    x = world_job(&w, SERVER)->x;
    assert_int_equal(mcpi_exchange_progress(x, 1, NAN, NULL, w.now), 0);
    assert_int_equal(mcpi_exchange_progress(x, 1, NAN, NULL, w.now), MCP_E_INVAL);
    assert_int_equal(mcpi_exchange_progress(x, 0, NAN, NULL, w.now), MCP_E_INVAL);
    assert_int_equal(mcpi_exchange_progress(x, NAN, NAN, NULL, w.now), MCP_E_INVAL);
    assert_int_equal(mcpi_exchange_progress(x, INFINITY, NAN, NULL, w.now),
                     MCP_E_INVAL);
    world_run(&w);
    assert_int_equal(out.progressed, 1);
    finish_all(&w, &out);
}

static void
answer_that_is_too_long_becomes_the_fixed_error(void **state)
{
    struct world w;
    struct outcome out;
    struct world_options opt = {.limits = {.message_bytes = 4000}};
    char body[5000] = "{\"text\":\"";

    (void)state;
    memset(body + strlen(body), 'x', 4500);
    strcat(body, "\"}");
    world_start_with(&w, &opt);
    world_plain_call(&w, &out);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), body);
    world_run(&w);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(out.code, -32603);
    assert_int_equal(w.closed[SERVER], 0);
    finish_all(&w, &out);
}

/* ---- without a wire ------------------------------------------------------ */

/* A question that came inside of an answer, and what became of it. */
struct local {
    struct world w;
    mcp_doc *doc;
    struct mcpi_exchange *x;
    int told;
    bool answered;
    int code;
    char body[64];
};

static void
on_local_end(void *user, struct mcpi_exchange *x, const struct mcpi_result *answer)
{
    struct local *l = user;

    assert_int_not_equal(x->ending, MCPI_OPEN);
    l->told++;
    l->answered = answer != NULL;
    l->code = answer ? answer->code : 0;
    if (answer)
        snprintf(l->body, sizeof(l->body), "%.*s", (int)answer->body.len,
                 answer->body.len ? answer->body.data : "");
}

static int
ask_locally(struct local *l, const char *method)
{
    struct mcpi_question question = {
        .doc = l->doc, .method = method, .params = mcp_doc_root(l->doc), .bytes = 100};

    return mcpi_exchange_open_local(l->w.peer[CLIENT], &question, on_local_end, l,
                                    &l->x);
}

static void
start_local(struct local *l, const struct world_options *opt, const char *method)
{
    memset(l, 0, sizeof(*l));
    world_start_with(&l->w, opt);
    assert_int_equal(mcp_doc_parse("{\"n\":7}", 7, NULL, &l->doc, NULL), 0);
    assert_int_equal(ask_locally(l, method), 0);
}

static void
stop_local(struct local *l)
{
    mcp_doc_free(l->doc);
    mcpi_exchange_unref(l->x);
    world_close(&l->w);
}

static const struct world_options modern_world = {.client_era = MCPI_ERA_MODERN};

static void
local_question_is_served_like_any_other_and_answered_to_who_asked(void **state)
{
    struct local l;
    struct mcpi_exchange *x;

    (void)state;
    start_local(&l, &modern_world, "roots/list");
    x = world_job(&l.w, CLIENT)->x;
    assert_ptr_equal(x, l.x);
    assert_int_equal(x->rpc.method, MCPI_METHOD_ROOTS_LIST);
    assert_int_equal(x->rpc.id.kind, MCPI_ID_NONE);
    assert_int_equal(mcp_json_int(mcp_json_get(x->rpc.params, "n"), 0), 7);
    assert_true(x->caller.dialect->modern);
    assert_string_equal(x->caller.version, "2026-07-28");
    assert_ptr_equal(x->caller.capabilities, l.w.peer[CLIENT]->capabilities);
    assert_int_equal(l.w.engine[CLIENT]->counts.exchanges, 1);
    assert_int_equal(l.w.peer[CLIENT]->request_bytes, 100);
    job_finish(&l.w, world_job(&l.w, CLIENT), "{\"roots\":[]}");
    assert_int_equal(l.told, 1);
    assert_int_equal(l.code, 0);
    assert_string_equal(l.body, "{\"roots\":[]}");
    world_run(&l.w);
    assert_int_equal(l.w.sent_count[CLIENT], 0);
    assert_int_equal(l.w.peer[CLIENT]->answer_bytes, 0);
    world_assert_quiet(&l.w);
    stop_local(&l);
}

static void
local_question_says_nothing_on_the_way_and_is_found_by_no_id(void **state)
{
    struct mcpi_id none = {0};
    struct local l;

    (void)state;
    start_local(&l, &modern_world, "roots/list");
    assert_int_equal(mcpi_exchange_progress(l.x, 1, 2, "m", l.w.now), 0);
    assert_int_equal(mcpi_exchange_progress(l.x, 1, 2, "m", l.w.now), MCP_E_INVAL);
    assert_int_equal(
        mcpi_exchange_notify(l.x, "notifications/message", "{}", 2, l.w.now), 0);
    assert_null(mcpi_exchange_find(l.w.peer[CLIENT], &none));
    assert_int_equal(l.w.peer[CLIENT]->in_flight.count, 0);
    world_run(&l.w);
    assert_int_equal(l.w.sent_count[CLIENT], 0);
    assert_true(mcpi_exchange_end(l.x, MCPI_CANCELED, NULL, "enough"));
    assert_int_equal(mcpi_exchange_progress(l.x, 2, 2, "m", l.w.now), MCP_E_CANCELED);
    assert_int_equal(
        mcpi_exchange_notify(l.x, "notifications/message", "{}", 2, l.w.now),
        MCP_E_CANCELED);
    stop_local(&l);
}

static void
only_the_router_serves_local_questions(void **state)
{
    static const char *const methods[] = {"ping", "initialize", "server/discover"};
    struct world_options opt = {.client_era = MCPI_ERA_LEGACY};
    struct local l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        start_local(&l, &opt, methods[i]);
        assert_int_equal(l.w.job_count[CLIENT], 1); /* the router's */
        assert_int_equal(l.told, 0);
        stop_local(&l);
    }
    start_local(&l, &modern_world, "no/such");
    assert_int_equal(l.told, 1); /* before it returned */
    assert_int_equal(l.code, MCPI_RPC_METHOD_NOT_FOUND);
    stop_local(&l);
}

static void
local_question_past_the_limits_is_refused(void **state)
{
    struct world_options in_flight = {.client_era = MCPI_ERA_MODERN,
                                      .limits = {.in_flight = 1}};
    struct world_options bytes = {.client_era = MCPI_ERA_MODERN,
                                  .limits = {.held_bytes = 99}};
    const struct world_options *opts[] = {&in_flight, &bytes};
    struct mcpi_exchange *first;
    struct local l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_local(&l, opts[i], "roots/list");
        assert_int_equal(l.told, 0);
        first = l.x;
        assert_int_equal(ask_locally(&l, "roots/list"), 0);
        assert_int_equal(l.told, 1);
        assert_int_equal(l.code, MCPI_RPC_INTERNAL_ERROR);
        assert_int_equal(l.w.job_count[CLIENT], 1);
        assert_int_equal(l.w.peer[CLIENT]->exchange_count, 1);
        mcpi_exchange_unref(first);
        stop_local(&l);
    }
}

static void
end_local(struct local *l, enum mcpi_ending how)
{
    struct mcpi_peer *peer = l->w.peer[CLIENT];

    if (how == MCPI_CANCELED)
        assert_true(mcpi_exchange_end(l->x, MCPI_CANCELED, NULL, "enough"));
    else if (how == MCPI_CLOSED)
        mcpi_peer_close(peer, l->w.now);
    else if (how == MCPI_DROPPED)
        mcpi_peer_lost(peer, MCP_E_CLOSED, l->w.now);
    else
        world_pass(&l->w, SECOND);
}

static void
local_question_ends_as_any_other_and_who_asked_is_told_once(void **state)
{
    static const enum mcpi_ending ways[] = {MCPI_CANCELED, MCPI_LIMITED, MCPI_CLOSED,
                                            MCPI_DROPPED};
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .times = {.run = SECOND}};
    struct local l;

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        start_local(&l, &opt, "roots/list");
        end_local(&l, ways[i]);
        assert_int_equal(l.told, 1);
        assert_int_equal(l.answered, ways[i] == MCPI_LIMITED);
        assert_int_equal(world_job(&l.w, CLIENT)->told, 1);
        assert_int_equal(world_job(&l.w, CLIENT)->how, ways[i]);
        assert_int_equal(l.w.engine[CLIENT]->counts.held, 1);
        job_finish(&l.w, world_job(&l.w, CLIENT), "{}");
        assert_int_equal(l.told, 1);
        assert_int_equal(l.w.engine[CLIENT]->counts.held, 0);
        assert_int_equal(world_count_sent(&l.w, CLIENT, "\"error\""), 0);
        if (ways[i] == MCPI_CLOSED || ways[i] == MCPI_DROPPED)
            assert_int_equal(ask_locally(&l, "roots/list"), MCP_E_CLOSED);
        stop_local(&l);
    }
}

static void
D14_local_question_has_no_last_word_on_any_link(void **state)
{
    struct local l;

    (void)state;
    start_local(&l, &modern_world, "roots/list");
    l.w.peer[CLIENT]->traits |= MCPI_LAST_WORD;
    end_local(&l, MCPI_CANCELED);
    world_pass(&l.w, 10 * SECOND); /* F5: deaf, and counted so */
    assert_int_equal(l.w.engine[CLIENT]->counts.deaf, 1);
    assert_true(world_logged(&l.w, 'W', "roots/list"));
    job_finish(&l.w, world_job(&l.w, CLIENT), "{}");
    world_run(&l.w);
    assert_int_equal(l.w.sent_count[CLIENT], 0);
    stop_local(&l);
}

static enum mcpi_era modern = MCPI_ERA_MODERN, legacy = MCPI_ERA_LEGACY;

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(IN_BOTH_ERAS(F6_F11_canceled_request_that_returns_a_result_is_not_answered),
          IN_BOTH_ERAS(F6_F8_canceled_request_that_fails_is_logged_and_not_answered),
          IN_BOTH_ERAS(F7_I14_canceled_request_says_nothing_more),
          TEST(F7_progress_that_still_waits_is_taken_back_by_the_cancel),
          TEST(F19_repeated_frames_are_no_ops),
          IN_BOTH_ERAS(F10_answer_that_came_first_wins_over_the_frame),
          TEST(F10_frame_during_the_answer_write_changes_nothing),
          TEST(F12_F35_answer_that_was_cut_off_is_not_given_again),
          TEST(F17_canceled_id_may_be_used_again_while_its_handler_still_runs),
          TEST(A15_old_handler_that_settles_does_not_evict_its_successor),
          TEST(F23_kept_context_of_an_answered_request_is_closed),
          TEST(F23_kept_context_is_closed_on_the_client_too),
          TEST(F23_nested_request_ends_with_the_answer_of_its_parent),
          TEST(F25_observer_sees_the_frame_with_request_and_reason),
          TEST(I15_progress_that_does_not_grow_is_refused),
          TEST(answer_that_is_too_long_becomes_the_fixed_error),
          TEST(local_question_is_served_like_any_other_and_answered_to_who_asked),
          TEST(local_question_says_nothing_on_the_way_and_is_found_by_no_id),
          TEST(only_the_router_serves_local_questions),
          TEST(local_question_past_the_limits_is_refused),
          TEST(local_question_ends_as_any_other_and_who_asked_is_told_once),
          TEST(D14_local_question_has_no_last_word_on_any_link))
/* clang-format on */
