/* rounds_test.c - a call that is answered with questions, and asks again: the modern
 * era's way to ask the client, as a client follows it */
#include "support/rounds.h"

/* ---- the way through ------------------------------------------------------- */

static void
questions_are_answered_and_the_next_leg_brings_the_answers(void **state)
{
    struct mcpi_call_options opt = {.meta = "{\"mine\":1}"};
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, &opt, TWO, &out);
    assert_int_equal(f.job_count, 2);
    assert_int_equal(mcpi_call_id(out.call)->number, 1); /* of the last one */
    reply(&f, 1, NO_ROOTS);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    reply(&f, 0, ACCEPT);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    assert_non_null(
        strstr(fake_text(&f, 0),
               "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
               "\"name\":\"t\",\"inputResponses\":{\"b\":" NO_ROOTS ",\"a\":" ACCEPT
               "},\"requestState\":\"s1\",\"_meta\":{\"mine\":1,"));
    assert_int_equal(mcpi_call_id(out.call)->number, 2);
    answer(&f, &out, ANSWERED);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    assert_string_equal(out.result, ANSWERED);
    fake_assert_quiet(&f);
    stop(&f, &out);
}

static void
L8_a_round_says_nothing_of_the_rounds_before_it(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_second(&f, NULL, &out);
    answer(&f, &out, ONE); /* no state this time */
    reply(&f, 2, NO_ROOTS);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "\"id\":3,"));
    assert_non_null(
        strstr(fake_text(&f, 0),
               "\"params\":{\"name\":\"t\",\"inputResponses\":{\"c\":" NO_ROOTS
               "},\"_meta\":"));
    assert_null(strstr(fake_text(&f, 0), "requestState"));
    fake_forget(&f);
    answer(&f, &out, STATE);
    fake_pass(&f, MCPI_PAUSE_FIRST);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "\"requestState\":\"s2\""));
    assert_null(strstr(fake_text(&f, 0), "inputResponses"));
    answer(&f, &out, ANSWERED);
    assert_int_equal(out.status, 0);
    stop(&f, &out);
}

static void
L8_state_of_a_canceled_call_is_never_sent_again(void **state)
{
    struct outcome out, next;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, TWO, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_call(&f, NULL, &next);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    assert_null(strstr(fake_text(&f, 0), "requestState"));
    assert_null(strstr(fake_text(&f, 0), "inputResponses"));
    fake_forget(&f);
    answer(&f, &next, ONE);
    reply(&f, 2, NO_ROOTS);
    fake_run(&f);
    assert_null(strstr(fake_text(&f, 0), "requestState"));
    outcome_done(&next);
    stop(&f, &out);
}

static void
result_is_the_answer_where_rounds_are_not_followed(void **state)
{
    struct mcpi_call_options opt = {.rounds = MCPI_ROUNDS_NONE};
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, &opt, TWO, &out);
    assert_int_equal(f.job_count, 0);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    assert_string_equal(out.result, TWO);
    stop(&f, &out);
    fake_start(&f, FAKE_PIPE, MCPI_ERA_LEGACY); /* where the word means nothing */
    fake_issue(&f, NULL, &out);
    answer(&f, &out, TWO);
    assert_int_equal(out.status, 0);
    assert_int_equal(f.job_count, 0);
    stop(&f, &out);
}

static void
questions_that_are_none_end_the_call_with_the_answer_at_hand(void **state)
{
    static const char *const bad[] = {
        ASKS("\"x\":1"), ASKS("\"requestState\":1"),
        ASKS("\"inputRequests\":{\"a\":{\"method\":\"ping\"}}")};
    struct outcome out;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        start_asked(&f, NULL, bad[i], &out);
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_PROTO);
        assert_int_equal(f.job_count, 0);
        fake_assert_quiet(&f);
        stop(&f, &out);
    }
}

static void
every_leg_reports_progress_under_its_own_id(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, &opt, TWO, &out);
    reply(&f, 0, ACCEPT);
    reply(&f, 1, NO_ROOTS);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "\"progressToken\":2"));
    fake_receive(
        &f, NOTE("notifications/progress", "{\"progressToken\":1,\"progress\":1}"));
    assert_int_equal(out.progressed, 0);
    fake_receive(
        &f, NOTE("notifications/progress", "{\"progressToken\":2,\"progress\":5}"));
    assert_int_equal(out.progressed, 1);
    stop(&f, &out);
}

/* ---- who ends it, and where ------------------------------------------------ */

static const enum fake_cause causes[] = {CANCEL, BY_HAND, IDLE, TOTAL, FREE};

static void
L1_signal_names_the_leg_that_is_out(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct outcome out;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        opt.timeout_us = causes[i] == IDLE ? SECOND : MCPI_NEVER;
        opt.total_us = causes[i] == TOTAL ? SECOND : MCPI_NEVER;
        start_second(&f, &opt, &out);
        fake_end_by(&f, causes[i], &out);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "frame");
        assert_non_null(strstr(fake_text(&f, 0), "\"requestId\":2"));
        assert_int_equal(out.done, causes[i] != FREE);
        fake_assert_quiet(&f);
        stop(&f, &out);
    }
}

static void
L1_stream_of_the_leg_that_is_out_is_hung_up(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    fake_issue(&f, NULL, &out);
    answer(&f, &out, ONE);
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    fake_forget(&f);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "hangup:0");
    assert_int_equal(fake_event(&f, 0)->leg->id.number, 2);
    stop(&f, &out);
}

static void
B7_second_leg_that_still_waits_is_withdrawn_without_a_signal(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, ONE, &out);
    reply(&f, 0, NO_ROOTS); /* queued, not taken */
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    assert_int_equal(out.status, MCP_E_CANCELED);
    stop(&f, &out);
}

/* Whoever ends a call that is between two legs: the wire hears nothing. */
static void
end_between(const char *result, enum fake_cause cause)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND / 2, .total_us = MCPI_NEVER};
    static const int statuses[] = {[CANCEL] = MCP_E_CANCELED,
                                   [TOTAL] = MCP_E_TOTAL_TIMEOUT,
                                   [CLOSE] = MCP_E_CLOSED,
                                   [LOST] = MCP_E_CLOSED};
    struct outcome out;
    struct fake f;

    opt.total_us = cause == TOTAL ? SECOND : MCPI_NEVER;
    start_asked(&f, &opt, result, &out);
    assert_int_equal(out.done, 0); /* and no idle clock runs */
    fake_end_by(&f, cause, &out);
    assert_int_equal(out.done, cause != FREE);
    if (cause != FREE)
        assert_int_equal(out.status, statuses[cause]);
    for (size_t i = 0; i < f.job_count; i++)
        assert_int_equal(f.jobs[i]->ending, MCPI_CANCELED);
    assert_int_equal(f.engine->counts.calls, 0);
    for (size_t i = 0; i < f.job_count; i++) /* L7: it comes back too late */
        reply(&f, i, ACCEPT);
    fake_pass(&f, 20 * SECOND);
    fake_run(&f);
    assert_null(strstr(fake_said(&f), "request"));
    assert_null(strstr(fake_said(&f), "frame"));
    assert_int_equal(out.done, cause != FREE);
    assert_int_equal(f.engine->counts.held, 0);
    stop(&f, &out);
}

static void
L2_L7_between_legs_the_questions_are_canceled_and_nothing_is_sent(void **state)
{
    static const enum fake_cause ends[] = {CANCEL, TOTAL, FREE, CLOSE, LOST};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        end_between(TWO, ends[i]);
}

static void
L3_pause_ends_at_once(void **state)
{
    static const enum fake_cause ends[] = {CANCEL, FREE, CLOSE, LOST};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        end_between(STATE, ends[i]);
}

static void
L2_handler_is_told_with_the_reason_and_the_call_ends_after_it(void **state)
{
    struct world w;
    struct outcome out;
    struct mcpi_result r;
    struct job *job;

    (void)state;
    world_start(&w, MCPI_ERA_MODERN);
    world_plain_call(&w, &out);
    world_run(&w);
    job = world_job(&w, SERVER);
    mcpi_result_init(&r, w.engine[SERVER]);
    r.type = "input_required";
    mcpi_buf_text(&r.body, "{\"inputRequests\":{\"a\":" ELICIT ",\"b\":" ROOTS "}}");
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, w.now);
    world_run(&w);
    assert_int_equal(w.job_count[CLIENT], 2);
    w.jobs[CLIENT][0].finish_when_told = true; /* from inside the end */
    world_forget(&w);
    assert_int_equal(mcpi_call_cancel(out.call, "changed my mind", w.now), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(w.jobs[CLIENT][i].told, 1);
        assert_int_equal(w.jobs[CLIENT][i].how, MCPI_CANCELED);
        assert_string_equal(w.jobs[CLIENT][i].reason, "changed my mind");
    }
    world_run(&w);
    assert_int_equal(w.sent_count[CLIENT], 0);
    assert_int_equal(w.engine[CLIENT]->counts.held, 1);
    outcome_done(&out);
    world_close(&w);
}

static void
on_flushed(void *user, int status)
{
    *(int *)user = status;
}

static void
B10_nothing_to_wait_for_after_an_end_between_two_legs(void **state)
{
    static const char *const results[] = {TWO, STATE};
    struct outcome out;
    struct fake f;
    int told;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_asked(&f, NULL, results[i], &out);
        told = 1;
        assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &told, f.w.now),
                         MCP_E_STATE);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), MCP_E_STATE);
        assert_int_equal(mcpi_call_flush(out.call, SECOND, on_flushed, &told, f.w.now),
                         0);
        assert_int_equal(told, 0);
        stop(&f, &out);
    }
}

static void
B22_end_of_input_between_two_legs_wakes_the_call(void **state)
{
    static const char *const results[] = {TWO, STATE};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_asked(&f, NULL, results[i], &out);
        mcpi_peer_input_ended(f.peer, f.w.now);
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_CLOSED);
        mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
        assert_int_equal(out.done, 1);
        stop(&f, &out);
    }
}

static void
released_call_goes_on_by_itself(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, ONE, &out);
    mcpi_call_release(out.call);
    out.call = NULL;
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    fake_receive(&f, RESULT("2", ANSWERED));
    assert_int_equal(out.done, 1);
    stop(&f, &out);
}

/* ---- siblings -------------------------------------------------------------- */

static void
L4_question_that_fails_ends_its_siblings_and_the_call(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    for (size_t first = 0; first < 2; first++) {
        start_asked(&f, NULL, TWO, &out);
        reply_error(&f, first, -1234, "the user is gone");
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_PEER);
        assert_int_equal(out.code, -1234);
        assert_string_equal(out.message, "the user is gone");
        assert_int_equal(f.jobs[1 - first]->ending, MCPI_CANCELED);
        reply(&f, 1 - first, ACCEPT);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        fake_assert_quiet(&f);
        stop(&f, &out);
    }
}

static void
L4_question_past_the_limit_is_refused_and_ends_the_call(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN, .limits = {.in_flight = 2}};
    struct outcome busy, out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &opt);
    fake_issue(&f, NULL, &busy);
    answer(&f, &busy, ONE);
    fake_issue(&f, NULL, &out);
    answer(&f, &out, TWO);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(out.code, MCPI_RPC_INTERNAL_ERROR);
    assert_int_equal(f.job_count, 2);
    assert_int_equal(f.jobs[1]->ending, MCPI_CANCELED);
    assert_int_equal(f.jobs[0]->ending, MCPI_OPEN);
    assert_int_equal(busy.done, 0);
    outcome_done(&busy);
    stop(&f, &out);
}

static void
F34_L4_question_past_its_run_limit_fails_the_call(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN, .times = {.run = SECOND}};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &opt);
    fake_issue(&f, NULL, &out);
    answer(&f, &out, ONE);
    fake_pass(&f, SECOND);
    assert_int_equal(out.status, MCP_E_PEER);
    assert_int_equal(out.code, MCPI_RPC_INTERNAL_ERROR);
    assert_int_equal(f.jobs[0]->ending, MCPI_LIMITED);
    stop(&f, &out);
}

static void
J10_user_who_declines_has_answered(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, TWO, &out);
    reply(&f, 0, "{\"action\":\"cancel\"}");
    reply(&f, 1, NO_ROOTS);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    assert_non_null(strstr(fake_text(&f, 0), "\"a\":{\"action\":\"cancel\"}"));
    assert_int_equal(out.done, 0);
    stop(&f, &out);
}

/* ---- time ------------------------------------------------------------------ */

static void
L5_total_spans_legs_and_questions_and_each_leg_has_its_own_idle_time(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .total_us = 4 * SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    fake_pass(&f, SECOND - 1);
    answer(&f, &out, ONE);
    fake_pass(&f, 2 * SECOND); /* somebody thinks */
    assert_int_equal(out.done, 0);
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    fake_pass(&f, SECOND - 1); /* the second leg's own second is not over */
    assert_int_equal(out.done, 0);
    fake_pass(&f, 1);
    assert_int_equal(out.status, MCP_E_TIMEOUT);
    stop(&f, &out);
    opt.timeout_us = 3 * SECOND;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    fake_pass(&f, SECOND);
    answer(&f, &out, ONE);
    fake_pass(&f, SECOND);
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    fake_pass(&f, 2 * SECOND - 1);
    assert_int_equal(out.done, 0);
    fake_pass(&f, 1);
    assert_int_equal(out.status, MCP_E_TOTAL_TIMEOUT);
    stop(&f, &out);
}

static void
L3_pauses_grow_up_to_a_bound_and_begin_anew_after_a_question(void **state)
{
    static const int64_t waits[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
    struct mcpi_call_options opt = {.rounds = 100};
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, &opt, STATE, &out);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        fake_pass(&f, waits[i] * MS - 1);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        fake_pass(&f, 1);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "request");
        fake_forget(&f);
        answer(&f, &out, STATE);
    }
    fake_pass(&f, 5000 * MS);
    fake_run(&f);
    answer(&f, &out, ONE);
    reply(&f, 0, NO_ROOTS);
    fake_run(&f);
    answer(&f, &out, STATE);
    fake_forget(&f);
    fake_pass(&f, MCPI_PAUSE_FIRST);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    stop(&f, &out);
}

static void
L6_server_that_keeps_asking_comes_to_an_end_without_a_signal(void **state)
{
    static const char *const results[] = {ONE, STATE};
    struct mcpi_call_options opt = {0};
    struct outcome out;
    struct fake f;
    int rounds;

    (void)state;
    for (int i = 0; i < 4; i++) {
        opt.rounds = i < 2 ? 0 : 3;
        rounds = opt.rounds ? opt.rounds : MCPI_ROUNDS_DEFAULT;
        start_asked(&f, &opt, results[i % 2], &out);
        for (int n = 1; n < rounds; n++) {
            if (i % 2 == 0)
                reply(&f, f.job_count - 1, NO_ROOTS);
            fake_pass(&f, MCPI_PAUSE_MOST);
            fake_run(&f);
            answer(&f, &out, results[i % 2]);
        }
        if (i % 2 == 0)
            reply(&f, f.job_count - 1, NO_ROOTS);
        fake_pass(&f, MCPI_PAUSE_MOST);
        fake_run(&f);
        assert_int_equal(out.done, 0);
        assert_int_equal(f.event_count, rounds); /* requests after the first */
        answer(&f, &out, results[i % 2]);
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_LIMIT);
        fake_run(&f);
        assert_int_equal(f.event_count, rounds);
        fake_assert_quiet(&f);
        stop(&f, &out);
    }
}

/* ---- races, in both orders ------------------------------------------------- */

static void
A16_L7_last_answer_and_cancel_race_and_one_wins(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    for (int cancel_first = 0; cancel_first < 2; cancel_first++) {
        start_asked(&f, NULL, TWO, &out);
        reply(&f, 0, ACCEPT);
        if (cancel_first)
            assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        reply(&f, 1, NO_ROOTS);
        fake_run(&f);
        assert_string_equal(fake_said(&f), cancel_first ? "" : "request");
        if (!cancel_first)
            assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        fake_run(&f);
        assert_string_equal(fake_said(&f), cancel_first ? "" : "request frame");
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_CANCELED);
        stop(&f, &out);
    }
}

static void
A16_questions_and_cancel_race_and_one_wins(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_receive(&f, RESULT("1", TWO)); /* it crossed the frame */
    assert_int_equal(f.job_count, 0);
    assert_true(fake_logged(&f, "D: late answer"));
    assert_int_equal(out.done, 1);
    stop(&f, &out);
}

static void
A16_pause_and_total_are_due_at_once_and_the_call_ends_once(void **state)
{
    struct mcpi_call_options opt = {.total_us = MCPI_PAUSE_FIRST};
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, &opt, STATE, &out);
    fake_pass(&f, MCPI_PAUSE_FIRST);
    fake_run(&f);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(fake_said(&f), ""); /* never taken, so never signaled */
    fake_assert_quiet(&f);
    stop(&f, &out);
}

/* ---- on whose behalf ------------------------------------------------------- */

static void
F22_call_between_legs_ends_with_the_question_it_was_made_for(void **state)
{
    static const char *const results[] = {ONE, STATE};
    struct mcpi_call_options nested = {.method = "prompts/get"};
    struct outcome out, inner;
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_asked(&f, NULL, TWO, &out);
        nested.parent = f.jobs[0];
        fake_issue(&f, &nested, &inner);
        answer(&f, &inner, results[i]);
        assert_int_equal(inner.done, 0);
        assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        assert_int_equal(inner.done, 1);
        assert_int_equal(inner.status, MCP_E_CANCELED);
        for (size_t n = 0; n < f.job_count; n++)
            assert_int_equal(f.jobs[n]->ending, MCPI_CANCELED);
        fake_pass(&f, SECOND);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        outcome_done(&inner);
        stop(&f, &out);
    }
}

static void
F22_next_leg_of_a_nested_call_ends_with_its_question_too(void **state)
{
    struct mcpi_call_options nested = {.method = "prompts/get"};
    struct outcome out, inner;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, TWO, &out);
    nested.parent = f.jobs[0];
    fake_issue(&f, &nested, &inner);
    answer(&f, &inner, ONE);
    reply(&f, 2, NO_ROOTS);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    fake_forget(&f);
    reply(&f, 0, ACCEPT); /* its handler is over, and what it asked with it */
    fake_run(&f);
    assert_string_equal(fake_said(&f), "frame");
    assert_int_equal(inner.status, MCP_E_CANCELED);
    outcome_done(&inner);
    stop(&f, &out);
}

static void
J7_J3_questions_are_no_requests_of_the_wire(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_asked(&f, NULL, TWO, &out);
    fake_receive(&f, REQUEST("1", "roots/list", "{}")); /* modern servers do not ask */
    fake_receive(&f, CANCEL_FRAME("{\"requestId\":1}"));
    fake_receive(&f, CANCEL_FRAME("{\"requestId\":null}"));
    fake_receive(&f, CANCEL_FRAME("{}"));
    assert_int_equal(f.job_count, 2);
    assert_int_equal(f.jobs[0]->ending, MCPI_OPEN);
    assert_int_equal(f.jobs[1]->ending, MCPI_OPEN);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    assert_int_equal(out.done, 0);
    stop(&f, &out);
}

/* ---- memory ---------------------------------------------------------------- */

static void
L9_server_keeps_nothing_of_what_it_asked(void **state)
{
    struct fake_options opt = {.role = MCPI_SERVER};
    struct mcpi_result r;
    struct fake f;
    long before;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    for (int i = 0; i < 3; i++) {
        before = f.mem->live;
        fake_receive(&f, MODERN_CALL("5"));
        mcpi_result_init(&r, f.engine);
        r.type = "input_required";
        mcpi_buf_text(&r.body, "{\"requestState\":\"s\"}");
        mcpi_exchange_finish(f.jobs[0], &r, f.w.now);
        mcpi_exchange_unref(f.jobs[--f.job_count]);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "answer");
        assert_non_null(strstr(fake_text(&f, 0), "\"resultType\":\"input_required\""));
        fake_forget(&f);
        if (i > 0) /* buffers that are kept have their size by now */
            assert_int_equal(f.mem->live, before);
        assert_int_equal(f.engine->counts.exchanges + f.engine->counts.held, 0);
        assert_int_equal(f.peer->request_bytes + f.peer->answer_bytes, 0);
        fake_pass(&f, 3600 * SECOND); /* the client never comes back */
    }
    fake_close(&f);
}

static void
ends_between_two_legs_need_no_memory(void **state)
{
    static const char *const results[] = {TWO, STATE};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_asked(&f, NULL, results[i], &out);
        f.mem->fail_at = f.mem->total + 1;
        f.mem->fail_after = true;
        assert_int_equal(mcpi_call_cancel(out.call, "enough", f.w.now), 0);
        assert_int_equal(f.mem->failed, 0);
        assert_int_equal(out.status, MCP_E_CANCELED);
        f.mem->fail_at = 0;
        stop(&f, &out);
    }
}

/* Whatever the server asks: all its questions are answered, and then itself. */
static void
serve_all(struct world *w, const char *result, bool asks)
{
    struct mcpi_result r;
    struct job *job = w->job_count[SERVER] ? world_job(w, SERVER) : NULL;

    if (!job || job->finished || job->x->ending != MCPI_OPEN)
        return;
    mcpi_result_init(&r, w->engine[SERVER]);
    r.type = asks ? "input_required" : NULL;
    mcpi_buf_text(&r.body, result);
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, w->now);
    world_run(w);
    for (size_t i = 0; i < w->job_count[CLIENT]; i++) {
        job = &w->jobs[CLIENT][i];
        if (!job->finished && job->x->ending == MCPI_OPEN)
            job_finish(w, job,
                       job->x->rpc.method == MCPI_METHOD_ELICIT ? ACCEPT : NO_ROOTS);
    }
    world_run(w);
}

static void
flow_rounds(struct test_mem *mem, void *user)
{
    struct world_options wo = {.client_era = MCPI_ERA_MODERN, .mem = mem};
    struct outcome out = {0};
    struct world w;
    int r;

    r = world_open(&w, &wo);
    if (r == 0)
        r = mcpi_peer_connect(w.peer[CLIENT], w.now);
    if (r == 0) {
        world_run(&w);
        r = world_try_call(&w, CLIENT, NULL, &out);
        world_run(&w);
        if (r == 0) {
            serve_all(&w,
                      "{\"inputRequests\":{\"a\":" ELICIT ",\"b\":" ROOTS
                      "},\"requestState\":\"s1\"}",
                      true);
            serve_all(&w, "{\"requestState\":\"s2\"}", true);
            world_pass(&w, MCPI_PAUSE_FIRST);
            serve_all(&w, "{\"content\":[]}", false);
            world_pass(&w, 200 * SECOND);
            assert_int_equal(out.done, 1);
            *(int *)user = out.status;
            outcome_done(&out);
        }
    }
    world_close(&w);
}

static void
each_allocation_of_a_flow_of_two_rounds_fails_cleanly(void **state)
{
    int last = 1;

    (void)state;
    assert_true(test_each_allocation_fails(flow_rounds, &last) > 30);
    assert_int_equal(last, 0); /* the run in which none failed */
}

TEST_MAIN(TEST(questions_are_answered_and_the_next_leg_brings_the_answers),
          TEST(L8_a_round_says_nothing_of_the_rounds_before_it),
          TEST(L8_state_of_a_canceled_call_is_never_sent_again),
          TEST(result_is_the_answer_where_rounds_are_not_followed),
          TEST(questions_that_are_none_end_the_call_with_the_answer_at_hand),
          TEST(every_leg_reports_progress_under_its_own_id),
          TEST(L1_signal_names_the_leg_that_is_out),
          TEST(L1_stream_of_the_leg_that_is_out_is_hung_up),
          TEST(B7_second_leg_that_still_waits_is_withdrawn_without_a_signal),
          TEST(L2_L7_between_legs_the_questions_are_canceled_and_nothing_is_sent),
          TEST(L3_pause_ends_at_once),
          TEST(L2_handler_is_told_with_the_reason_and_the_call_ends_after_it),
          TEST(B10_nothing_to_wait_for_after_an_end_between_two_legs),
          TEST(B22_end_of_input_between_two_legs_wakes_the_call),
          TEST(released_call_goes_on_by_itself),
          TEST(L4_question_that_fails_ends_its_siblings_and_the_call),
          TEST(L4_question_past_the_limit_is_refused_and_ends_the_call),
          TEST(F34_L4_question_past_its_run_limit_fails_the_call),
          TEST(J10_user_who_declines_has_answered),
          TEST(L5_total_spans_legs_and_questions_and_each_leg_has_its_own_idle_time),
          TEST(L3_pauses_grow_up_to_a_bound_and_begin_anew_after_a_question),
          TEST(L6_server_that_keeps_asking_comes_to_an_end_without_a_signal),
          TEST(A16_L7_last_answer_and_cancel_race_and_one_wins),
          TEST(A16_questions_and_cancel_race_and_one_wins),
          TEST(A16_pause_and_total_are_due_at_once_and_the_call_ends_once),
          TEST(F22_call_between_legs_ends_with_the_question_it_was_made_for),
          TEST(F22_next_leg_of_a_nested_call_ends_with_its_question_too),
          TEST(J7_J3_questions_are_no_requests_of_the_wire),
          TEST(L9_server_keeps_nothing_of_what_it_asked),
          TEST(ends_between_two_legs_need_no_memory),
          TEST(each_allocation_of_a_flow_of_two_rounds_fails_cleanly))
