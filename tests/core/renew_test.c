/* renew_test.c - a server that has lost the session, or does not speak the version that
 * it promised: greeted again, and what met that is sent once more */
#include "core/renew.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/subscription.h"
#include "support/fake.h"

#define HELLO(version)              \
    "{\"protocolVersion\":" version \
    ",\"capabilities\":{},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"
#define GREETED RESULT("0", HELLO("\"2025-11-25\""))

static const struct fake_options legacy = {.kind = FAKE_STREAMS,
                                           .era = MCPI_ERA_LEGACY};
static const struct fake_options modern = {.kind = FAKE_STREAMS, .era = MCPI_ERA_BOTH};

/* ---- words that repeat ----------------------------------------------------- */

/* Answer the request that this call has out. */
static void
answer(struct fake *f, const struct outcome *out)
{
    char text[64];

    snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}",
             (long long)mcpi_call_id(out->call)->number);
    fake_receive(f, text);
}

/* A session in which a request was answered. */
static void
start_session(struct fake *f, const struct fake_options *opt)
{
    struct outcome out;

    fake_start_with(f, opt);
    fake_issue(f, NULL, &out);
    answer(f, &out);
    assert_int_equal(out.status, 0);
    outcome_done(&out);
    fake_forget(f);
}

static bool
lose(struct fake *f, const struct outcome *met)
{
    return mcpi_peer_session_lost(f->peer, met ? fake_leg(f, met) : NULL, f->w.now);
}

/* The greeting leaves, and is answered; what waited leaves. */
static void
greet(struct fake *f)
{
    fake_run(f);
    fake_receive(f, GREETED);
    fake_run(f);
}

static void
expect(const struct outcome *out, int status)
{
    assert_int_equal(out->done, 1);
    assert_int_equal(out->status, status);
}

static bool
is_request(struct fake *f, size_t index, const struct outcome *out)
{
    char id[64];

    snprintf(id, sizeof(id), "\"id\":%lld,",
             (long long)mcpi_call_id(out->call)->number);
    return strstr(fake_text(f, index), id) != NULL;
}

/* ---- the session is lost --------------------------------------------------- */

static void
lost_session_is_greeted_again_and_what_met_it_is_sent_once_more(void **state)
{
    struct outcome met, waiting;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &met);
    fake_call(&f, NULL, &waiting);
    assert_true(lose(&f, &met));
    assert_int_equal(f.peer->state, MCPI_PEER_NEGOTIATING);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request");
    assert_non_null(strstr(fake_text(&f, 0), "\"method\":\"initialize\""));
    assert_int_equal(f.renewed, 0);
    fake_receive(&f, GREETED);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request note request request");
    assert_non_null(strstr(fake_text(&f, 1), "notifications/initialized"));
    assert_true(is_request(&f, 2, &met));
    assert_true(is_request(&f, 3, &waiting));
    answer(&f, &met);
    expect(&met, 0);
    outcome_done(&met);
    outcome_done(&waiting);
    fake_close(&f);
}

static void
router_hears_that_it_is_renewed_and_the_link_is_ready_again(void **state)
{
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    assert_int_equal(f.greeted, 1);
    assert_true(lose(&f, NULL));
    greet(&f);
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.renewed, 1);
    assert_int_equal(f.greeted, 2);
    assert_int_equal(f.closed, 0);
    assert_int_equal(f.peer->state, MCPI_PEER_READY);
    fake_close(&f);
}

static void
B22_other_requests_end_CLOSED_without_a_frame_and_their_streams_go(void **state)
{
    struct outcome met, others[2];
    struct mcpi_leg *legs[2];
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &others[0]);
    fake_issue(&f, NULL, &met);
    fake_issue(&f, NULL, &others[1]);
    for (int i = 0; i < 2; i++)
        legs[i] = mcpi_leg_ref(fake_leg(&f, &others[i]));
    assert_true(lose(&f, &met));
    assert_string_equal(fake_said(&f), "hangup:0 hangup:0");
    for (size_t i = 0; i < 2; i++) {
        expect(&others[i], MCP_E_CLOSED);
        assert_null(mcpi_call_fault(others[i].call));
        assert_true(fake_event(&f, i)->leg == legs[0] ||
                    fake_event(&f, i)->leg == legs[1]);
        mcpi_leg_unref(legs[i]);
        outcome_done(&others[i]);
    }
    assert_int_equal(met.done, 0);
    outcome_done(&met);
    fake_close(&f);
}

static void
E7_no_version_is_spoken_until_the_new_session_has_agreed_on_one(void **state)
{
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    assert_string_equal(mcpi_peer_spoken(f.peer), "2025-11-25");
    fake_issue(&f, NULL, &met);
    assert_true(lose(&f, &met));
    fake_run(&f);
    assert_string_equal(mcpi_peer_spoken(f.peer), "");
    fake_receive(&f, RESULT("0", HELLO("\"2025-06-18\"")));
    assert_string_equal(mcpi_peer_spoken(f.peer), "2025-06-18");
    assert_string_equal(f.peer->version, "2025-06-18");
    outcome_done(&met);
    fake_close(&f);
}

static void
new_session_is_asked_for_in_the_version_of_the_old_one(void **state)
{
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    f.peer->version = "2025-03-26"; /* as an older server had agreed */
    assert_true(lose(&f, NULL));
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "\"protocolVersion\":\"2025-03-26\""));
    fake_close(&f);
}

static void
session_can_be_lost_again_and_again(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    for (int i = 1; i <= 3; i++) {
        fake_issue(&f, NULL, &out);
        assert_true(lose(&f, &out));
        greet(&f);
        answer(&f, &out);
        expect(&out, 0);
        assert_int_equal(f.renewed, i);
        outcome_done(&out);
        fake_forget(&f);
    }
    fake_assert_quiet(&f);
    fake_close(&f);
}

/* Each in which nothing is answered; what is asked in each is another request. */
static void
session_that_is_lost_at_once_is_not_renewed_for_ever(void **state)
{
    const struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct outcome out;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    for (int i = 0; i < 4; i++) {
        fake_issue(&f, NULL, &out);
        assert_true(lose(&f, &out));
        greet(&f);
        outcome_done(&out);
    }
    for (int pause = 1; pause <= 64; pause *= 2) {
        fake_issue(&f, &opt, &out);
        fake_pass(&f, pause * SECOND - 1);
        assert_false(lose(&f, &out));
        fake_pass(&f, 1);
        assert_true(lose(&f, &out));
        greet(&f);
        outcome_done(&out);
    }
    fake_issue(&f, &opt, &out);
    fake_pass(&f, 50 * SECOND);
    assert_false(lose(&f, &out));
    answer(&f, &out); /* it has come to its senses */
    expect(&out, 0);
    outcome_done(&out);
    fake_issue(&f, &opt, &out);
    assert_true(lose(&f, &out));
    greet(&f);
    outcome_done(&out);
    fake_close(&f);
}

/* ---- what met it ----------------------------------------------------------- */

static void
B7_what_met_it_is_taken_back_without_a_trace_while_it_waits_again(void **state)
{
    static const enum fake_cause causes[] = {CANCEL, BY_HAND, IDLE, TOTAL, FREE};
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER, .total_us = MCPI_NEVER};
    struct outcome met;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        opt.timeout_us = causes[i] == IDLE ? SECOND : MCPI_NEVER;
        opt.total_us = causes[i] == TOTAL ? SECOND : MCPI_NEVER;
        start_session(&f, &legacy);
        fake_issue(&f, &opt, &met);
        assert_true(lose(&f, &met));
        fake_run(&f);
        fake_forget(&f);
        fake_end_by(&f, causes[i], &met);
        assert_int_equal(met.done, causes[i] != FREE);
        fake_receive(&f, GREETED);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "note");
        outcome_done(&met);
        fake_close(&f);
    }
}

static void
I2_clock_of_what_met_it_runs_on(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 10 * SECOND};
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, &opt, &met);
    fake_pass(&f, 4 * SECOND);
    assert_true(lose(&f, &met));
    fake_pass(&f, 6 * SECOND - 1);
    assert_int_equal(met.done, 0);
    fake_pass(&f, 1);
    expect(&met, MCP_E_TIMEOUT);
    outcome_done(&met);
    fake_close(&f);
}

static void
I18_clocks_of_the_old_session_do_not_run_out_in_the_new_one(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 10 * SECOND};
    struct outcome met, other;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, &opt, &other);
    fake_issue(&f, NULL, &met);
    assert_true(lose(&f, &met));
    expect(&other, MCP_E_CLOSED);
    greet(&f);
    answer(&f, &met);
    expect(&met, 0);
    fake_forget(&f);
    fake_pass(&f, 20 * SECOND);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    expect(&other, MCP_E_CLOSED);
    assert_int_equal(mcpi_timers_next(&f.w.timers), MCPI_NEVER);
    outcome_done(&met);
    outcome_done(&other);
    fake_close(&f);
}

static void
B1_what_met_it_is_signaled_as_ever_once_it_is_out_again(void **state)
{
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &met);
    assert_true(lose(&f, &met));
    greet(&f);
    fake_forget(&f);
    assert_int_equal(mcpi_call_cancel(met.call, NULL, f.w.now), 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:5000 frame");
    outcome_done(&met);
    fake_close(&f);
}

static void
request_that_meets_it_twice_fails_and_the_peer_goes_on(void **state)
{
    struct outcome met, next;
    const struct mcpi_fault *fault;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &met);
    assert_true(lose(&f, &met));
    greet(&f);
    fake_forget(&f);
    assert_true(lose(&f, &met));
    expect(&met, MCP_E_HTTP);
    fault = mcpi_call_fault(met.call);
    assert_non_null(fault);
    assert_int_equal(fault->status, MCP_E_HTTP);
    assert_int_equal(fault->http, 404);
    assert_true(strlen(fault->why) > 0);
    assert_string_equal(fake_said(&f), ""); /* its stream is the link's */
    greet(&f);
    assert_int_equal(f.renewed, 2);
    fake_issue(&f, NULL, &next);
    answer(&f, &next);
    expect(&next, 0);
    outcome_done(&met);
    outcome_done(&next);
    fake_close(&f);
}

static void
links_mark_is_gone_when_it_waits_again(void **state)
{
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &met);
    assert_null(mcpi_leg_link(fake_leg(&f, &met)));
    mcpi_leg_set_link(fake_leg(&f, &met), &f);
    assert_ptr_equal(mcpi_leg_link(fake_leg(&f, &met)), &f);
    assert_true(lose(&f, &met));
    assert_null(mcpi_leg_link(fake_leg(&f, &met)));
    assert_false(mcpi_leg_is_over(fake_leg(&f, &met)));
    outcome_done(&met);
    fake_close(&f);
}

static void
E15_old_stream_of_what_waits_again_can_neither_answer_nor_fail_it(void **state)
{
    struct mcpi_leg *leg;
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &met);
    leg = fake_leg(&f, &met);
    assert_true(lose(&f, &met));
    fake_receive_on(&f, leg, RESULT("2", "{}"));
    fake_receive(&f, RESULT("2", "{}"));
    mcpi_leg_fail(leg, &(struct mcpi_fault){.status = MCP_E_CLOSED}, f.w.now);
    mcpi_leg_resumable_from(leg, "1");
    assert_int_equal(met.done, 0);
    greet(&f);
    fake_receive_on(&f, leg, RESULT("2", "{}"));
    expect(&met, 0);
    outcome_done(&met);
    fake_close(&f);
}

static void
B28_request_that_resumes_an_earlier_one_is_not_sent_into_another_session(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "event-9"};
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, &opt, &met);
    assert_true(lose(&f, &met));
    expect(&met, MCP_E_HTTP);
    assert_int_equal(mcpi_call_fault(met.call)->http, 404);
    greet(&f);
    assert_string_equal(fake_said(&f), "request note");
    outcome_done(&met);
    fake_close(&f);
}

static void
request_that_is_still_being_written_cannot_be_sent_again(void **state)
{
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_call(&f, NULL, &met);
    fake_take(&f);
    assert_true(lose(&f, &met));
    expect(&met, MCP_E_HTTP);
    fake_written(&f, 0);
    greet(&f);
    assert_string_equal(fake_said(&f), "request request note");
    outcome_done(&met);
    fake_close(&f);
}

/* ---- when not -------------------------------------------------------------- */

static void
expect_nothing(struct fake *f, struct outcome *out)
{
    enum mcpi_peer_state before = f->peer->state;

    assert_false(lose(f, out));
    assert_int_equal(f->peer->state, before);
    assert_string_equal(fake_said(f), "");
    assert_int_equal(out->done, 0);
    assert_int_equal(fake_leg(f, out)->state, MCPI_LEG_ISSUED);
}

static void
modern_peer_has_no_session_to_lose(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_session(&f, &fake_links[MODERN_STREAMS]);
    fake_issue(&f, NULL, &out);
    expect_nothing(&f, &out);
    outcome_done(&out);
    fake_close(&f);
}

static void
B19_handshake_by_hand_is_not_repeated(void **state)
{
    struct fake_options opt = {.kind = FAKE_STREAMS, .era = MCPI_ERA_MANUAL};
    struct outcome out;
    struct fake f;

    (void)state;
    start_session(&f, &opt);
    fake_issue(&f, NULL, &out);
    expect_nothing(&f, &out);
    outcome_done(&out);
    fake_close(&f);
}

static void
peer_that_is_not_ready_has_no_session_to_lose(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &legacy), 0);
    assert_false(lose(&f, NULL));
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    fake_take(&f);
    assert_false(lose(&f, NULL));
    fake_written(&f, 0);
    fake_receive(&f, GREETED);
    fake_issue(&f, NULL, &out);
    answer(&f, &out);
    assert_true(lose(&f, NULL));
    assert_false(lose(&f, NULL)); /* is being renewed already */
    mcpi_peer_close(f.peer, f.w.now);
    assert_false(lose(&f, NULL));
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_false(lose(&f, NULL));
    outcome_done(&out);
    fake_close(&f);
}

static void
peer_that_is_given_up_is_not_renewed(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &out);
    mcpi_peer_fail(f.peer, MCP_E_LIMIT, "for a test");
    expect_nothing(&f, &out);
    outcome_done(&out);
    fake_close(&f);
}

static void
server_has_no_session_of_its_own_to_lose(void **state)
{
    struct fake_options opt = {.kind = FAKE_STREAMS, .role = MCPI_SERVER};
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    fake_receive(&f, INITIALIZE("0", "2025-11-25"));
    assert_false(lose(&f, NULL));
    fake_close(&f);
}

/* A server whose other half does not know the sessions of the first one refuses each
 * `initialized`: greeted again for that, it would be for ever. */
static void
only_a_request_may_lose_a_session_in_which_none_was_answered(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    assert_false(lose(&f, NULL));
    fake_issue(&f, NULL, &out);
    assert_false(lose(&f, NULL));
    assert_int_equal(out.done, 0);
    assert_true(lose(&f, &out));
    greet(&f);
    assert_false(lose(&f, NULL)); /* the new one has proven nothing yet */
    answer(&f, &out);
    assert_true(lose(&f, NULL));
    outcome_done(&out);
    fake_close(&f);
}

static void
request_that_is_over_met_nothing(void **state)
{
    struct outcome out;
    struct mcpi_leg *leg;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &out);
    leg = mcpi_leg_ref(fake_leg(&f, &out));
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_true(mcpi_leg_is_over(leg));
    assert_false(mcpi_peer_session_lost(f.peer, leg, f.w.now));
    outcome_done(&out);
    mcpi_leg_unref(leg);
    fake_close(&f);
}

/* ---- what waits ------------------------------------------------------------ */

static void
on_flushed(void *user, int status)
{
    int *ret = user;

    *ret = status;
}

static void
B10_cancel_of_the_old_session_is_not_posted_into_the_next(void **state)
{
    struct outcome canceled, met;
    int flushed = 1;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_issue(&f, NULL, &canceled);
    fake_issue(&f, NULL, &met);
    assert_int_equal(mcpi_call_cancel(canceled.call, NULL, f.w.now), 0);
    fake_frame(&f, "{\"requestId\":77}"); /* and one by hand, that names nothing */
    assert_int_equal(
        mcpi_call_flush(canceled.call, SECOND, on_flushed, &flushed, f.w.now), 0);
    fake_forget(&f);
    assert_true(lose(&f, &met));
    assert_int_equal(flushed, MCP_E_CLOSED);
    greet(&f);
    assert_string_equal(fake_said(&f), "request note request");
    assert_true(is_request(&f, 2, &met));
    outcome_done(&canceled);
    outcome_done(&met);
    fake_close(&f);
}

static void
notification_that_waits_goes_on_waiting(void **state)
{
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    assert_int_equal(mcpi_peer_notify(f.peer, "notifications/x", "{}", 2, f.w.now), 0);
    assert_true(lose(&f, NULL));
    greet(&f);
    assert_string_equal(fake_said(&f), "request note note");
    assert_non_null(strstr(fake_text(&f, 2), "notifications/x"));
    fake_close(&f);
}

static void
finish(struct fake *f, struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, f->engine);
    mcpi_exchange_finish(x, &result, f->w.now);
}

static void
F35_what_the_server_asked_in_the_old_session_is_dropped_unanswered(void **state)
{
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_receive(&f, REQUEST("1", "roots/list", "{}"));
    fake_receive(&f, REQUEST("2", "roots/list", "{}"));
    finish(&f, f.jobs[0]); /* answered, and its answer waits */
    assert_true(lose(&f, NULL));
    assert_int_equal(f.jobs[1]->ending, MCPI_DROPPED);
    assert_string_equal(f.jobs[1]->reason, "the session was lost");
    finish(&f, f.jobs[1]);
    fake_receive(&f, REQUEST("1", "ping", "{}")); /* the next session's own */
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request answer");
    fake_receive(&f, GREETED);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request answer note");
    assert_int_equal(f.engine->counts.exchanges, 0);
    fake_close(&f);
}

static void
F22_request_made_for_one_of_the_servers_ends_with_it(void **state)
{
    struct mcpi_call_options opt = {0};
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    fake_receive(&f, REQUEST("1", "roots/list", "{}"));
    opt.parent = f.jobs[0];
    fake_issue(&f, &opt, &met);
    assert_true(lose(&f, &met));
    expect(&met, MCP_E_CANCELED);
    greet(&f);
    assert_string_equal(fake_said(&f), "request note");
    outcome_done(&met);
    fake_close(&f);
}

/* ---- what fails ------------------------------------------------------------ */

enum failure { REFUSED, NO_VERSION, SILENT, LINK_FAILED, LINK_LOST, FAILURES };

static void
fail_greeting(struct fake *f, enum failure how)
{
    const struct mcpi_fault fault = {
        .status = MCP_E_HTTP, .http = 503, .why = "503 Service Unavailable"};

    fake_run(f);
    if (how == REFUSED)
        fake_receive(f, ERROR("0", "-32602"));
    else if (how == NO_VERSION)
        fake_receive(f, RESULT("0", HELLO("\"1999-01-01\"")));
    else if (how == SILENT)
        fake_pass(f, 60 * SECOND);
    else if (how == LINK_FAILED)
        mcpi_leg_fail(fake_event(f, 0)->leg, &fault, f->w.now);
    else
        mcpi_peer_lost(f->peer, MCP_E_CLOSED, f->w.now);
}

static void
session_that_cannot_be_renewed_closes_the_peer(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct outcome met, waiting;
    struct fake f;

    (void)state;
    for (enum failure how = 0; how < FAILURES; how++) {
        start_session(&f, &legacy);
        fake_issue(&f, &opt, &met);
        fake_call(&f, &opt, &waiting);
        assert_true(lose(&f, &met));
        fail_greeting(&f, how);
        expect(&met, MCP_E_CLOSED);
        expect(&waiting, MCP_E_CLOSED);
        fake_pass(&f, SECOND);
        assert_int_equal(f.peer->state, MCPI_PEER_CLOSED);
        assert_int_equal(f.ready, 1);
        assert_int_equal(f.renewed, 0);
        assert_int_equal(f.closed, 1);
        if (how == LINK_FAILED)
            assert_true(
                fake_logged(&f, "W: the server could not be greeted again: refused by "
                                "HTTP, without a message; 503 Service Unavailable"));
        outcome_done(&met);
        outcome_done(&waiting);
        fake_close(&f);
    }
}

/* Each allocation of the loss and of the second greeting fails once. */
static void
no_memory_to_greet_again_closes_the_peer_and_wakes_all(void **state)
{
    struct outcome met;
    struct fake f;
    bool failed = true;
    int n;

    (void)state;
    for (n = 1; failed; n++) {
        start_session(&f, &legacy);
        fake_issue(&f, NULL, &met);
        f.mem->fail_at = f.mem->total + n;
        assert_true(lose(&f, &met));
        greet(&f);
        failed = f.mem->total >= f.mem->fail_at;
        f.mem->fail_at = 0;
        if (met.done) {
            expect(&met, MCP_E_CLOSED);
            fake_pass(&f, SECOND);
            assert_int_equal(f.closed, 1);
        } else {
            assert_int_equal(f.renewed, 1);
            answer(&f, &met);
            expect(&met, 0);
        }
        outcome_done(&met);
        fake_close(&f);
    }
    assert_true(n > 3); /* the greeting, and that it is confirmed */
}

/* ---- who is told does things ----------------------------------------------- */

struct meddler {
    struct fake *f;
    struct outcome *met;
    struct outcome next;
    int done, what;
};

enum { STARTS, CANCELS, CLOSES, LOSES, DIES, MEDDLINGS };

static void
meddle(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *reply)
{
    struct meddler *m = user;
    struct fake *f = m->f;

    (void)call;
    (void)reply;
    m->done++;
    assert_int_equal(status, MCP_E_CLOSED);
    if (m->what == STARTS)
        fake_call(f, NULL, &m->next);
    else if (m->what == CANCELS)
        assert_int_equal(mcpi_call_cancel(m->met->call, NULL, f->w.now), 0);
    else if (m->what == CLOSES)
        mcpi_peer_close(f->peer, f->w.now);
    else if (m->what == LOSES)
        assert_false(lose(f, m->met));
    else
        mcpi_peer_lost(f->peer, MCP_E_CLOSED, f->w.now);
}

static const struct mcpi_call_ops meddling_ops = {.done = meddle};

static void
check_meddling(struct fake *f, struct meddler *m)
{
    static const char *const said[MEDDLINGS] = {
        [STARTS] = "hangup:0 request note request request",
        [CANCELS] = "hangup:0 request note",
        [CLOSES] = "hangup:0 drain",
        [LOSES] = "hangup:0 request note request",
        [DIES] = "hangup:0"};

    assert_int_equal(m->done, 1);
    greet(f);
    assert_string_equal(fake_said(f), said[m->what]);
    if (m->what == STARTS)
        assert_true(is_request(f, 4, &m->next)); /* behind what met it */
    else if (m->what == CANCELS)
        expect(m->met, MCP_E_CANCELED);
    else if (m->what != LOSES)
        expect(m->met, MCP_E_CLOSED);
}

static void
G7_whoever_hears_of_the_end_may_do_anything(void **state)
{
    struct outcome met;
    struct mcpi_call *call;
    struct fake f;

    (void)state;
    for (int what = 0; what < MEDDLINGS; what++) {
        struct meddler m = {.f = &f, .met = &met, .what = what};
        struct mcpi_call_options opt = {
            .method = "ping", .ops = &meddling_ops, .user = &m};

        start_session(&f, &legacy);
        fake_issue(&f, NULL, &met);
        assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, &call), 0);
        fake_run(&f);
        fake_forget(&f);
        assert_true(lose(&f, &met));
        check_meddling(&f, &m);
        if (what == STARTS)
            outcome_done(&m.next);
        outcome_done(&met);
        mcpi_call_free(call, f.w.now);
        fake_close(&f);
    }
}

/* Each starts two more when it ends, while the table is gone through. */
struct breeder {
    struct fake *f;
    struct mcpi_call *call;
    int done;
};

static const struct mcpi_call_ops quiet_ops, breeding_ops;

static void
breed(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *reply)
{
    struct breeder *b = user;
    struct mcpi_call_options opt = {.method = "ping", .ops = &quiet_ops, .user = b->f};

    (void)call;
    (void)reply;
    b->done++;
    assert_int_equal(status, MCP_E_CLOSED);
    for (int i = 0; i < 2; i++)
        assert_int_equal(mcpi_call_start(b->f->peer, &opt, b->f->w.now, NULL), 0);
}

static void
ignore(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *reply)
{
    (void)user;
    (void)call;
    (void)reply;
    assert_int_equal(status, MCP_E_CLOSED);
}

static const struct mcpi_call_ops quiet_ops = {.done = ignore};
static const struct mcpi_call_ops breeding_ops = {.done = breed};

enum { MANY = 300 };

static void
A16_all_end_once_and_only_the_new_ones_are_sent(void **state)
{
    static struct breeder all[MANY];
    struct outcome met;
    struct fake f;

    (void)state;
    start_session(&f, &legacy);
    for (int i = 0; i < MANY; i++) {
        struct mcpi_call_options opt = {
            .method = "ping", .ops = &breeding_ops, .user = &all[i]};

        all[i] = (struct breeder){.f = &f};
        assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, &all[i].call), 0);
    }
    fake_issue(&f, NULL, &met);
    assert_true(lose(&f, &met));
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(all[i].done, 1);
        mcpi_call_free(all[i].call, f.w.now);
    }
    assert_int_equal(f.engine->counts.calls, 2 * MANY + 1);
    fake_forget(&f);
    greet(&f);
    assert_int_equal(f.event_count, 2 * MANY + 3);
    outcome_done(&met);
    fake_close(&f);
}

/* ---- a version that is not spoken ------------------------------------------ */

#define REFUSES(id, list)                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32022,\"message\":" \
    "\"Unsupported protocol version\",\"data\":{\"supported\":" list "}}}"
#define OLD_LIST "[\"2024-11-05\",\"2025-06-18\"]"

/* A client that believes what a server said of itself some time ago. */
static void
adopt(struct fake *f, const struct fake_options *opt)
{
    static const char text[] = "{\"supportedVersions\":[\"2026-07-28\"]}";
    mcp_doc *doc;

    assert_int_equal(fake_open(f, opt), 0);
    assert_int_equal(mcp_doc_parse(text, sizeof(text) - 1, NULL, &doc, NULL), 0);
    assert_int_equal(mcpi_peer_adopt(f->peer, mcp_doc_root(doc), f->w.now), 0);
    mcp_doc_free(doc);
    assert_int_equal(f->ready, 1);
}

static void
stale_discovery_leads_to_initialize_and_the_request_is_sent_again(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    adopt(&f, &modern);
    fake_issue(&f, NULL, &out);
    fake_receive_on(&f, fake_leg(&f, &out), REFUSES("1", OLD_LIST));
    assert_int_equal(out.done, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:0 request");
    assert_non_null(strstr(fake_text(&f, 1), "\"protocolVersion\":\"2025-06-18\""));
    fake_receive(&f, RESULT("0", HELLO("\"2025-06-18\"")));
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:0 request note request");
    assert_true(is_request(&f, 3, &out));
    assert_null(strstr(fake_text(&f, 3), "protocolVersion")); /* no stamp */
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.renewed, 1);
    assert_false(f.peer->dialect->modern);
    answer(&f, &out);
    expect(&out, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
on_a_pipe_too(void **state)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .era = MCPI_ERA_BOTH};
    struct outcome out;
    struct fake f;

    (void)state;
    adopt(&f, &opt);
    fake_issue(&f, NULL, &out);
    fake_receive(&f, REFUSES("1", OLD_LIST));
    greet(&f);
    assert_string_equal(fake_said(&f), "request note request");
    answer(&f, &out);
    expect(&out, 0);
    outcome_done(&out);
    fake_close(&f);
}

/* Those that are out under the old era keep its rules (D4), and join if they are
 * refused as well, before or after the greeting. */
static void
D4_others_go_on_and_join_when_they_are_refused_too(void **state)
{
    struct outcome out[4];
    struct fake f;

    (void)state;
    adopt(&f, &modern);
    for (int i = 0; i < 4; i++)
        fake_issue(&f, NULL, &out[i]);
    fake_receive_on(&f, fake_leg(&f, &out[0]), REFUSES("1", OLD_LIST));
    fake_receive_on(&f, fake_leg(&f, &out[1]), REFUSES("2", OLD_LIST));
    assert_int_equal(mcpi_call_cancel(out[3].call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "hangup:0 hangup:0 hangup:0");
    fake_forget(&f);
    greet(&f);
    assert_string_equal(fake_said(&f), "request note request request");
    fake_receive_on(&f, fake_leg(&f, &out[2]), REFUSES("3", OLD_LIST));
    fake_run(&f);
    assert_string_equal(fake_said(&f), "request note request request hangup:0 request");
    for (int i = 0; i < 3; i++) {
        answer(&f, &out[i]);
        expect(&out[i], 0);
    }
    for (int i = 0; i < 4; i++)
        outcome_done(&out[i]);
    assert_int_equal(f.renewed, 1);
    fake_close(&f);
}

static void
expect_refused(const struct fake_options *opt, const char *method, const char *text)
{
    struct mcpi_call_options co = {.method = method};
    struct outcome out;
    struct fake f;

    adopt(&f, opt);
    fake_issue(&f, &co, &out);
    fake_receive_on(&f, fake_leg(&f, &out), text);
    expect(&out, MCP_E_PEER);
    assert_int_equal(out.code, -32022);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    assert_int_equal(f.peer->state, MCPI_PEER_READY);
    outcome_done(&out);
    fake_close(&f);
}

static void
refusal_that_offers_nothing_else_is_the_answer(void **state)
{
    (void)state;
    expect_refused(&modern, NULL, REFUSES("1", "[\"2099-01-01\"]"));
    expect_refused(&modern, NULL, REFUSES("1", "[]"));
    expect_refused(&modern, NULL, REFUSES("1", "17"));
    expect_refused(&modern, NULL, ERROR("1", "-32022"));
    /* the one that it has just refused */
    expect_refused(&modern, NULL, REFUSES("1", "[\"2026-07-28\",\"2025-11-25\"]"));
    expect_refused(&fake_links[MODERN_STREAMS], NULL, REFUSES("1", OLD_LIST));
    expect_refused(&modern, "server/discover", REFUSES("1", OLD_LIST));
    expect_refused(&modern, "subscriptions/listen", REFUSES("1", OLD_LIST));
}

static void
B29_request_is_sent_again_once(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    adopt(&f, &modern);
    fake_issue(&f, NULL, &out);
    fake_receive(&f, REFUSES("1", OLD_LIST));
    greet(&f);
    fake_receive(&f, REFUSES("1", OLD_LIST)); /* a legacy error like any other */
    expect(&out, MCP_E_PEER);
    assert_int_equal(out.code, -32022);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:0 request note request");
    outcome_done(&out);

    fake_issue(&f, NULL, &out); /* given back for one reason, it is not for another */
    assert_true(lose(&f, &out));
    greet(&f);
    assert_true(lose(&f, &out));
    expect(&out, MCP_E_HTTP);
    outcome_done(&out);
    fake_close(&f);
}

/* We know one modern version; so this one plays another that we would know. */
static void
refusal_that_offers_another_modern_version_is_followed(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    adopt(&f, &modern);
    f.peer->version = "2026-01-01";
    fake_issue(&f, NULL, &out);
    fake_receive_on(&f, fake_leg(&f, &out), REFUSES("1", "[\"2026-07-28\"]"));
    assert_int_equal(out.done, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "hangup:0 request");
    assert_true(is_request(&f, 1, &out));
    assert_non_null(strstr(fake_text(&f, 1), "\"2026-07-28\""));
    assert_string_equal(mcpi_peer_spoken(f.peer), "2026-07-28");
    f.peer->version = "2026-01-01";
    fake_receive_on(&f, fake_leg(&f, &out), REFUSES("1", OLD_LIST)); /* again */
    expect(&out, MCP_E_PEER);
    assert_int_equal(f.peer->state, MCPI_PEER_READY);
    assert_int_equal(f.renewed, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
peer_that_leaves_does_not_negotiate_again(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    adopt(&f, &modern);
    fake_issue(&f, NULL, &out);
    mcpi_peer_become(f.peer, MCPI_PEER_LEAVING);
    fake_receive_on(&f, fake_leg(&f, &out), REFUSES("1", OLD_LIST));
    expect(&out, MCP_E_PEER);
    assert_int_equal(f.peer->state, MCPI_PEER_LEAVING);
    outcome_done(&out);
    fake_close(&f);
}

static void
B7_refused_request_is_taken_back_while_it_waits_again(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    adopt(&f, &modern);
    fake_issue(&f, NULL, &out);
    fake_receive(&f, REFUSES("1", OLD_LIST));
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    greet(&f);
    assert_string_equal(fake_said(&f), "hangup:0 request note");
    outcome_done(&out);
    fake_close(&f);
}

TEST_MAIN(
    TEST(lost_session_is_greeted_again_and_what_met_it_is_sent_once_more),
    TEST(router_hears_that_it_is_renewed_and_the_link_is_ready_again),
    TEST(B22_other_requests_end_CLOSED_without_a_frame_and_their_streams_go),
    TEST(E7_no_version_is_spoken_until_the_new_session_has_agreed_on_one),
    TEST(new_session_is_asked_for_in_the_version_of_the_old_one),
    TEST(session_can_be_lost_again_and_again),
    TEST(session_that_is_lost_at_once_is_not_renewed_for_ever),
    TEST(B7_what_met_it_is_taken_back_without_a_trace_while_it_waits_again),
    TEST(I2_clock_of_what_met_it_runs_on),
    TEST(I18_clocks_of_the_old_session_do_not_run_out_in_the_new_one),
    TEST(B1_what_met_it_is_signaled_as_ever_once_it_is_out_again),
    TEST(request_that_meets_it_twice_fails_and_the_peer_goes_on),
    TEST(links_mark_is_gone_when_it_waits_again),
    TEST(E15_old_stream_of_what_waits_again_can_neither_answer_nor_fail_it),
    TEST(B28_request_that_resumes_an_earlier_one_is_not_sent_into_another_session),
    TEST(request_that_is_still_being_written_cannot_be_sent_again),
    TEST(modern_peer_has_no_session_to_lose),
    TEST(B19_handshake_by_hand_is_not_repeated),
    TEST(peer_that_is_not_ready_has_no_session_to_lose),
    TEST(peer_that_is_given_up_is_not_renewed),
    TEST(server_has_no_session_of_its_own_to_lose),
    TEST(only_a_request_may_lose_a_session_in_which_none_was_answered),
    TEST(request_that_is_over_met_nothing),
    TEST(B10_cancel_of_the_old_session_is_not_posted_into_the_next),
    TEST(notification_that_waits_goes_on_waiting),
    TEST(F35_what_the_server_asked_in_the_old_session_is_dropped_unanswered),
    TEST(F22_request_made_for_one_of_the_servers_ends_with_it),
    TEST(session_that_cannot_be_renewed_closes_the_peer),
    TEST(no_memory_to_greet_again_closes_the_peer_and_wakes_all),
    TEST(G7_whoever_hears_of_the_end_may_do_anything),
    TEST(A16_all_end_once_and_only_the_new_ones_are_sent),
    TEST(stale_discovery_leads_to_initialize_and_the_request_is_sent_again),
    TEST(on_a_pipe_too), TEST(D4_others_go_on_and_join_when_they_are_refused_too),
    TEST(refusal_that_offers_nothing_else_is_the_answer),
    TEST(B29_request_is_sent_again_once),
    TEST(refusal_that_offers_another_modern_version_is_followed),
    TEST(peer_that_leaves_does_not_negotiate_again),
    TEST(B7_refused_request_is_taken_back_while_it_waits_again))
