/* fault_test.c - what a link says of a request without an answer, and who hears that */
#include <stdio.h>
#include <string.h>

#include "core/subscription.h"
#include "support/fake.h"

static const struct fake_options legacy = {.kind = FAKE_STREAMS,
                                           .era = MCPI_ERA_LEGACY};

/* ---- of a call ------------------------------------------------------------- */

/* A caller who looks while it is told. */
struct seen {
    int done, status;
    bool faulted;
    struct mcpi_fault fault;
    char why[MCPI_REASON_MAX + 1];
};

static void
look(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    const struct mcpi_fault *fault = mcpi_call_fault(call);
    struct seen *seen = user;

    (void)answer;
    seen->done++;
    seen->status = status;
    seen->faulted = fault != NULL;
    if (!fault)
        return;
    seen->fault = *fault;
    snprintf(seen->why, sizeof(seen->why), "%s", fault->why);
}

static const struct mcpi_call_ops looking_ops = {.done = look};

static struct mcpi_leg *
start_looking(struct fake *f, struct seen *seen)
{
    struct mcpi_call_options opt = {
        .method = "tools/list", .ops = &looking_ops, .user = seen};

    memset(seen, 0, sizeof(*seen));
    assert_int_equal(mcpi_call_start(f->peer, &opt, f->w.now, NULL), 0);
    fake_run(f);
    assert_non_null(fake_event(f, f->event_count - 1)->leg);
    return fake_event(f, f->event_count - 1)->leg;
}

static void
caller_reads_what_the_link_said_while_it_is_told(void **state)
{
    static const struct mcpi_fault faults[] = {
        {MCP_E_HTTP, 503, false, "503 Service Unavailable"},
        {MCP_E_SEND_FAILED, 0, true, "could not connect to example.org"},
        {MCP_E_CLOSED, 0, false, "the stream ended without an answer"},
        {MCP_E_PROTO, 0, false, "answered with text/html"},
        {MCP_E_HTTP, 418, false, NULL},
    };
    struct seen seen;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        fake_start_with(&f, &legacy);
        mcpi_leg_fail(start_looking(&f, &seen), &faults[i], f.w.now);
        assert_int_equal(seen.done, 1);
        assert_int_equal(seen.status, faults[i].status);
        assert_true(seen.faulted);
        assert_int_equal(seen.fault.status, faults[i].status);
        assert_int_equal(seen.fault.http, faults[i].http);
        assert_int_equal(seen.fault.unsent, faults[i].unsent);
        assert_string_equal(seen.why, faults[i].why ? faults[i].why : "");
        fake_close(&f);
    }
}

static void
caller_reads_it_as_long_as_the_handle_lives(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_HTTP, .http = 500, .why = "oops"};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &out);
    assert_null(mcpi_call_fault(out.call));
    mcpi_leg_fail(fake_leg(&f, &out), &fault, f.w.now);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_int_equal(mcpi_call_fault(out.call)->http, 500);
    assert_string_equal(mcpi_call_fault(out.call)->why, "oops");
    outcome_done(&out);
    fake_close(&f);
}

static void
other_ends_are_no_fault_of_the_link(void **state)
{
    struct seen seen;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    start_looking(&f, &seen);
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(seen.done, 1);
    assert_false(seen.faulted);
    start_looking(&f, &seen);
    fake_receive(&f, ERROR("2", "-32601"));
    assert_false(seen.faulted);
    start_looking(&f, &seen);
    fake_pass(&f, 60 * SECOND);
    assert_int_equal(seen.status, MCP_E_TIMEOUT);
    assert_false(seen.faulted);
    start_looking(&f, &seen);
    mcpi_peer_close(f.peer, f.w.now);
    assert_int_equal(seen.status, MCP_E_CLOSED);
    assert_false(seen.faulted);
    fake_close(&f);
}

static void
A16_fault_of_what_is_over_says_nothing(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_HTTP, .http = 500, .why = "oops"};
    struct outcome out;
    struct mcpi_leg *leg;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &out);
    leg = mcpi_leg_ref(fake_leg(&f, &out));
    assert_int_equal(mcpi_call_cancel(out.call, "enough", f.w.now), 0);
    mcpi_leg_fail(leg, &fault, f.w.now);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    assert_null(mcpi_call_fault(out.call));
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 1), "\"reason\":\"enough\""));
    mcpi_leg_unref(leg);
    outcome_done(&out);
    fake_close(&f);
}

static void
B15_what_the_link_says_is_cut_cleaned_and_not_told_to_the_peer(void **state)
{
    char text[300];
    struct mcpi_fault fault = {.status = MCP_E_CLOSED, .why = text};
    struct outcome out;
    struct fake f;

    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "via \x01 proxy", 11);
    text[sizeof(text) - 1] = '\0';
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &out);
    mcpi_leg_fail(fake_leg(&f, &out), &fault, f.w.now);
    assert_int_equal(strlen(mcpi_call_fault(out.call)->why), MCPI_REASON_MAX);
    assert_null(strchr(mcpi_call_fault(out.call)->why, '\x01'));
    fake_run(&f);
    assert_string_equal(
        fake_text(&f, 1),
        CANCEL_FRAME("{\"requestId\":1,\"reason\":\"the stream failed\"}"));
    outcome_done(&out);
    fake_close(&f);
}

/* ---- the signal ------------------------------------------------------------ */

static void
B5_what_was_not_sent_is_not_signaled(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_SEND_FAILED, .unsent = true};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = LEGACY_STREAMS; i <= MODERN_STREAMS; i++) {
        fake_start_with(&f, &fake_links[i]);
        fake_issue(&f, NULL, &out);
        mcpi_leg_fail(fake_leg(&f, &out), &fault, f.w.now);
        assert_int_equal(out.status, MCP_E_SEND_FAILED);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "");
        outcome_done(&out);
        fake_close(&f);
    }
}

static void
B24_D9_E14_what_may_have_been_sent_is_abandoned_like_any_other(void **state)
{
    static const int statuses[] = {MCP_E_CLOSED, MCP_E_SEND_FAILED, MCP_E_PROTO,
                                   MCP_E_HTTP};
    static const char *const said[] = {
        [LEGACY_STREAMS] = "frame hangup:5000", [MODERN_STREAMS] = "hangup:0"};
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = LEGACY_STREAMS; i <= MODERN_STREAMS; i++) {
        for (size_t n = 0; n < 4; n++) {
            struct mcpi_fault fault = {.status = statuses[n]};

            fake_start_with(&f, &fake_links[i]);
            fake_issue(&f, NULL, &out);
            mcpi_leg_fail(fake_leg(&f, &out), &fault, f.w.now);
            assert_int_equal(out.status, statuses[n]);
            fake_run(&f);
            assert_string_equal(fake_said(&f), said[i]);
            outcome_done(&out);
            fake_close(&f);
        }
    }
}

/* ---- what a link sees of a leg --------------------------------------------- */

static void
E4_link_sees_the_era_of_a_request_and_whether_it_is_over(void **state)
{
    struct mcpi_leg *leg;
    struct outcome out;
    struct fake f;

    (void)state;
    for (int i = LEGACY_STREAMS; i <= MODERN_STREAMS; i++) {
        fake_start_with(&f, &fake_links[i]);
        fake_call(&f, NULL, &out);
        leg = fake_event(&f, 0)->leg;
        assert_int_equal(mcpi_leg_is_modern(leg), i == MODERN_STREAMS);
        assert_false(mcpi_leg_is_negotiation(leg));
        assert_false(mcpi_leg_is_over(leg));
        fake_receive_on(&f, leg, RESULT("1", "{}"));
        assert_true(mcpi_leg_is_over(leg));
        outcome_done(&out);
        fake_close(&f);
    }
}

static void
link_sees_which_requests_negotiate(void **state)
{
    struct fake_options opt = {.kind = FAKE_STREAMS, .era = MCPI_ERA_BOTH};
    struct mcpi_call_options by_hand = {.method = "server/discover"};
    struct outcome out;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    fake_run(&f);
    assert_true(mcpi_leg_is_negotiation(fake_event(&f, 0)->leg));
    assert_true(mcpi_leg_is_modern(fake_event(&f, 0)->leg));
    fake_receive(&f, ERROR("\"libmcp:discover\"", "-32601"));
    fake_run(&f);
    assert_true(mcpi_leg_is_negotiation(fake_event(&f, 1)->leg));
    assert_false(mcpi_leg_is_modern(fake_event(&f, 1)->leg));
    fake_receive(&f, RESULT("0", "{\"protocolVersion\":\"2025-11-25\","
                                 "\"capabilities\":{},\"serverInfo\":{}}"));
    fake_call(&f, &by_hand, &out);
    fake_run(&f);
    assert_false(mcpi_leg_is_negotiation(fake_event(&f, 3)->leg));
    outcome_done(&out);
    fake_close(&f);
}

static void
B8_link_sees_whose_cancel_a_frame_is(void **state)
{
    struct mcpi_out *out;
    struct mcpi_leg *leg;
    struct outcome call;
    struct fake f;

    (void)state;
    fake_start_with(&f, &legacy);
    fake_issue(&f, NULL, &call);
    leg = fake_leg(&f, &call);
    mcpi_leg_set_link(leg, &f);
    assert_int_equal(mcpi_call_cancel(call.call, NULL, f.w.now), 0);
    fake_frame(&f, "{\"requestId\":77}");
    outcome_done(&call); /* the frame keeps it */
    out = mcpi_outlet_take(f.peer->outlet, &f.buf, f.w.now);
    assert_ptr_equal(mcpi_out_canceled_leg(out), leg);
    assert_ptr_equal(mcpi_leg_link(mcpi_out_canceled_leg(out)), &f);
    assert_null(mcpi_out_leg(out));
    mcpi_out_done(out, 0, f.w.now);
    out = mcpi_outlet_take(f.peer->outlet, &f.buf, f.w.now);
    assert_null(mcpi_out_canceled_leg(out)); /* by hand: of nobody */
    mcpi_out_done(out, 0, f.w.now);
    fake_close(&f);
}

/* ---- of a subscription ----------------------------------------------------- */

static void
on_ended(void *user, enum mcpi_subscription_end how, int status,
         const struct mcpi_rpc *answer)
{
    int *ret = user;

    (void)how;
    (void)answer;
    *ret = status;
}

static void
H10_who_listens_reads_it_too(void **state)
{
    static const struct mcpi_subscription_ops ops = {.ended = on_ended};
    const struct mcpi_fault fault = {.status = MCP_E_HTTP, .http = 429, .why = "slow"};
    int status = 1;
    struct mcpi_subscription_options opt = {
        .filter = "{}", .filter_len = 2, .ops = &ops, .user = &status};
    struct mcpi_subscription *s;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fake_links[MODERN_STREAMS]);
    assert_int_equal(mcpi_subscription_open(f.peer, &opt, f.w.now, &s), 0);
    assert_null(mcpi_subscription_fault(s));
    mcpi_leg_fail(fake_event(&f, 0)->leg, &fault, f.w.now);
    assert_int_equal(status, MCP_E_HTTP);
    assert_int_equal(mcpi_subscription_fault(s)->http, 429);
    assert_string_equal(mcpi_subscription_fault(s)->why, "slow");
    mcpi_subscription_close(s, f.w.now);
    fake_close(&f);
}

/* ---- of the negotiation (X12) ---------------------------------------------- */

/* What a client of both eras does when its probe fails. */
struct probe_end {
    struct mcpi_fault fault;
    bool falls_back;
};

static const struct probe_end probe_ends[] = {
    {{MCP_E_PROTO, 0, false, "text/html"}, true},
    {{MCP_E_HTTP, 400, false, "Bad Request"}, true},
    {{MCP_E_HTTP, 404, false, "Not Found"}, true},
    {{MCP_E_HTTP, 405, false, "Method Not Allowed"}, true},
    {{MCP_E_HTTP, 406, false, "Not Acceptable"}, true},
    {{MCP_E_HTTP, 500, false, "Internal Server Error"}, true},
    {{MCP_E_HTTP, 501, false, "Not Implemented"}, true},
    {{MCP_E_HTTP, 401, false, "Unauthorized"}, false},
    {{MCP_E_HTTP, 403, false, "Forbidden"}, false},
    {{MCP_E_AUTH, 401, true, "the user said no"}, false},
    {{MCP_E_AUTH, 0, true, "no metadata"}, false},
    {{MCP_E_HTTP, 407, false, "Proxy Authentication Required"}, false},
    {{MCP_E_HTTP, 429, false, "Too Many Requests"}, false},
    {{MCP_E_HTTP, 502, false, "Bad Gateway"}, false},
    {{MCP_E_HTTP, 503, false, "Service Unavailable"}, false},
    {{MCP_E_HTTP, 504, false, "Gateway Timeout"}, false},
    {{MCP_E_CLOSED, 0, false, "reset"}, false},
    {{MCP_E_SEND_FAILED, 0, true, "no such host"}, false},
};

#define PROBE_ENDS (sizeof(probe_ends) / sizeof(probe_ends[0]))

/* A client whose probe is out, and a call that waits for what comes of it. */
static void
start_probe(struct fake *f, enum mcpi_era era, struct seen *seen)
{
    struct fake_options opt = {.kind = FAKE_STREAMS, .era = era};
    struct mcpi_call_options co = {.method = "tools/list",
                                   .timeout_us = MCPI_NEVER,
                                   .ops = &looking_ops,
                                   .user = seen};

    memset(seen, 0, sizeof(*seen));
    assert_int_equal(fake_open(f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f->peer, f->w.now), 0);
    fake_run(f);
    assert_int_equal(mcpi_call_start(f->peer, &co, f->w.now, NULL), 0);
}

static void
expect_failed(struct fake *f, const struct mcpi_fault *fault, const struct seen *seen)
{
    assert_int_equal(f->ready, 1);
    assert_int_equal(f->ready_status, fault->status);
    assert_int_equal(f->fault.status, fault->status);
    assert_int_equal(f->fault.http, fault->http);
    assert_string_equal(f->why, fault->why);
    assert_null(f->peer->fault);
    assert_int_equal(seen->done, 1);
    assert_int_equal(seen->status, MCP_E_CLOSED);
}

static void
X12_what_the_end_of_a_probe_says_of_the_era(void **state)
{
    struct seen seen;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < PROBE_ENDS; i++) {
        const struct probe_end *end = &probe_ends[i];

        start_probe(&f, MCPI_ERA_BOTH, &seen);
        mcpi_leg_fail(fake_event(&f, 0)->leg, &end->fault, f.w.now);
        fake_forget(&f);
        fake_run(&f);
        assert_int_equal(f.event_count > 0 && fake_event(&f, 0)->kind == FAKE_TAKE,
                         end->falls_back);
        if (end->falls_back) {
            assert_non_null(strstr(fake_text(&f, 0), "\"initialize\""));
            assert_int_equal(f.ready, 0);
        } else {
            expect_failed(&f, &end->fault, &seen);
        }
        fake_close(&f);
    }
}

static void
X12_modern_client_fails_with_what_the_link_said(void **state)
{
    struct seen seen;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < PROBE_ENDS; i++) {
        start_probe(&f, MCPI_ERA_MODERN, &seen);
        mcpi_leg_fail(fake_event(&f, 0)->leg, &probe_ends[i].fault, f.w.now);
        expect_failed(&f, &probe_ends[i].fault, &seen);
        fake_close(&f);
    }
}

static void
X12_initialize_fails_with_what_the_link_said(void **state)
{
    struct seen seen;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < PROBE_ENDS; i++) {
        start_probe(&f, MCPI_ERA_LEGACY, &seen);
        mcpi_leg_fail(fake_event(&f, 0)->leg, &probe_ends[i].fault, f.w.now);
        expect_failed(&f, &probe_ends[i].fault, &seen);
        fake_close(&f);
    }
}

static void
what_negotiates_has_no_clock_while_it_rests_and_its_whole_time_then(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};
    static const int64_t times[] = {10 * SECOND, 60 * SECOND};
    struct mcpi_leg *leg;
    struct seen seen;
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_probe(&f, eras[i], &seen);
        leg = fake_event(&f, 0)->leg;
        fake_pass(&f, times[i] - SECOND);
        mcpi_leg_rest(leg, true, f.w.now);
        fake_pass(&f, 1000 * SECOND);
        assert_int_equal(f.ready, 0);
        mcpi_leg_rest(leg, false, f.w.now);
        fake_pass(&f, times[i] - 1);
        assert_int_equal(f.ready, 0);
        fake_pass(&f, 1);
        assert_int_equal(f.ready_status, MCP_E_TIMEOUT);
        mcpi_leg_rest(leg, false, f.w.now); /* it is over: nothing */
        fake_close(&f);
    }
}

static void
the_clock_of_a_call_does_not_rest(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 2 * SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_STREAMS, MCPI_ERA_MODERN);
    fake_call(&f, &opt, &out);
    fake_run(&f);
    fake_pass(&f, SECOND);
    mcpi_leg_rest(fake_event(&f, 0)->leg, true, f.w.now);
    mcpi_leg_rest(fake_event(&f, 0)->leg, false, f.w.now);
    fake_pass(&f, SECOND);
    assert_int_equal(out.status, MCP_E_TIMEOUT);
    outcome_done(&out);
    fake_close(&f);
}

static void
X12_what_the_probe_failed_with_is_not_why_initialize_did(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_HTTP, .http = 405, .why = "no"};
    struct seen seen;
    struct fake f;

    (void)state;
    start_probe(&f, MCPI_ERA_BOTH, &seen);
    mcpi_leg_fail(fake_event(&f, 0)->leg, &fault, f.w.now);
    fake_run(&f);
    fake_pass(&f, 60 * SECOND);
    assert_int_equal(f.ready_status, MCP_E_TIMEOUT);
    assert_int_equal(f.fault.status, 0);
    fake_close(&f);
}

static void
X12_no_memory_for_initialize_is_no_fault_of_the_link(void **state)
{
    const struct mcpi_fault fault = {.status = MCP_E_HTTP, .http = 405, .why = "no"};
    struct seen seen;
    struct fake f;

    (void)state;
    start_probe(&f, MCPI_ERA_BOTH, &seen);
    f.mem->fail_at = f.mem->total + 1;
    mcpi_leg_fail(fake_event(&f, 0)->leg, &fault, f.w.now);
    assert_int_equal(f.ready_status, MCP_E_NOMEM);
    assert_int_equal(f.fault.status, 0);
    fake_close(&f);
}

static void
X12_method_not_found_is_a_legacy_server_whatever_status_it_came_with(void **state)
{
    static const char *const texts[] = {
        ERROR("\"libmcp:discover\"", "-32601"),
        ERROR("null", "-32601"),
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"no session\"}}",
    };
    struct seen seen;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        start_probe(&f, MCPI_ERA_BOTH, &seen);
        fake_receive_on(&f, fake_event(&f, 0)->leg, texts[i]);
        fake_run(&f);
        assert_int_equal(f.ready, 0);
        assert_non_null(strstr(fake_text(&f, 1), "\"initialize\""));
        fake_close(&f);
    }
}

static void
X12_refusal_without_an_id_tells_a_modern_server(void **state)
{
    struct seen seen;
    struct fake f;

    (void)state;
    start_probe(&f, MCPI_ERA_BOTH, &seen);
    fake_receive_on(&f, fake_event(&f, 0)->leg,
                    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32022,\"message\":\"\","
                    "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
    assert_int_equal(f.ready_status, 0);
    assert_true(f.peer->dialect->modern);
    fake_close(&f);
}

TEST_MAIN(TEST(caller_reads_what_the_link_said_while_it_is_told),
          TEST(caller_reads_it_as_long_as_the_handle_lives),
          TEST(other_ends_are_no_fault_of_the_link),
          TEST(A16_fault_of_what_is_over_says_nothing),
          TEST(B15_what_the_link_says_is_cut_cleaned_and_not_told_to_the_peer),
          TEST(B5_what_was_not_sent_is_not_signaled),
          TEST(B24_D9_E14_what_may_have_been_sent_is_abandoned_like_any_other),
          TEST(E4_link_sees_the_era_of_a_request_and_whether_it_is_over),
          TEST(link_sees_which_requests_negotiate),
          TEST(B8_link_sees_whose_cancel_a_frame_is),
          TEST(H10_who_listens_reads_it_too),
          TEST(X12_what_the_end_of_a_probe_says_of_the_era),
          TEST(X12_modern_client_fails_with_what_the_link_said),
          TEST(X12_initialize_fails_with_what_the_link_said),
          TEST(what_negotiates_has_no_clock_while_it_rests_and_its_whole_time_then),
          TEST(the_clock_of_a_call_does_not_rest),
          TEST(X12_what_the_probe_failed_with_is_not_why_initialize_did),
          TEST(X12_no_memory_for_initialize_is_no_fault_of_the_link),
          TEST(X12_method_not_found_is_a_legacy_server_whatever_status_it_came_with),
          TEST(X12_refusal_without_an_id_tells_a_modern_server))
