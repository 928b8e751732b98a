/*
 * http_auth_test.c - authorization in what a client does besides its calls: opening, the
 * streams of a session, a server of 2024-11-05
 */
#include "link/http_signer.h"

#include "link/http_inlet.h"

#define FRAME "notifications/cancelled"
#define GREETING "notifications/initialized"
#define CHANGED NOTE("notifications/tools/list_changed", "{}")

/* Longer than any clock of the opening. */
#define LONG (1000 * SECOND)

/* ---- opening --------------------------------------------------------------- */

/* A client whose first message waits: it was refused, or there is no token. */
static void
start_waiting(struct lab *l, struct signer *s, enum mcpi_era era, bool refused)
{
    struct lab_options opt = {.era = era, .auth = &s->auth};

    signer_init(s, refused);
    lab_connect(l, &opt);
    assert_int_equal(lab_count(l), refused);
    if (refused)
        refuse(l, lab_last(l), 401);
    assert_int_equal(s->count, 1);
    assert_int_equal(l->ready, 0);
}

static void
X12_a_probe_waits_for_people_as_long_as_they_need(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_BOTH};
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting(&l, &s, eras[i % 2], i < 2);
        lab_pass(&l, LONG);
        assert_int_equal(l.ready, 0);
        signer_grant(&s, &l);
        assert_true(fetch_says(lab_last(&l), "server/discover"));
        assert_string_equal(fake_field(lab_last(&l), "mcp-method"), "server/discover");
        lab_reply(&l, lab_last(&l), RESULT("\"libmcp:discover\"", DISCOVERED));
        assert_int_equal(l.ready, 1);
        assert_int_equal(l.ready_status, 0);
        assert_int_equal(lab_posted(&l, "\"initialize\""), 0);
        signed_close(&l, &s);
    }
}

static void
its_clock_begins_anew_when_it_is_sent(void **state)
{
    static const int64_t times[] = {10 * SECOND, 60 * SECOND};
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting(&l, &s, both_eras[i % 2], i < 2);
        lab_pass(&l, LONG);
        signer_grant(&s, &l);
        lab_pass(&l, times[i % 2] - 1);
        assert_int_equal(l.ready, 0);
        lab_pass(&l, 1);
        assert_int_equal(l.ready_status, MCP_E_TIMEOUT);
        assert_int_equal(lab_last(&l)->state, FAKE_ABORTED);
        signed_close(&l, &s);
    }
}

static void
initialize_waits_and_its_session_begins_with_its_answer(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_waiting(&l, &s, MCPI_ERA_LEGACY, i);
        lab_pass(&l, LONG);
        signer_grant(&s, &l);
        lab_welcome(&l, lab_last(&l), SESSION_HEAD);
        assert_int_equal(l.ready, 1);
        assert_int_equal(l.ready_status, 0);
        assert_true(fetch_says(lab_last(&l), GREETING));
        assert_string_equal(fake_field(lab_last(&l), "mcp-session-id"), "s-1");
        signed_close(&l, &s);
    }
}

static void
X12_who_may_not_come_in_does_not_take_it_for_a_legacy_server(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY,
                                         MCPI_ERA_BOTH};
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 9; i++) {
        struct lab_options opt = {.era = eras[i % 3], .auth = &s.auth};

        if (i < 6) {
            start_waiting(&l, &s, eras[i % 3], i < 3);
            signer_deny(&s, &l);
        } else {
            signer_init(&s, 1);
            s.never = true;
            lab_connect(&l, &opt);
            refuse(&l, lab_last(&l), 403);
        }
        lab_pass(&l, 10 * SECOND);
        assert_int_equal(l.ready, 1);
        assert_int_equal(l.ready_status, MCP_E_AUTH);
        assert_int_equal(l.closed, 1);
        assert_int_equal(lab_count(&l), i < 3 || i >= 6);
        signed_close(&l, &s);
    }
}

static void
closing_while_the_opening_waits_is_at_once(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting(&l, &s, both_eras[i % 2], i < 2);
        lab_shut(&l);
        assert_int_equal(l.closed, 1);
        assert_int_equal(s.left, 1);
        assert_int_equal(lab_count(&l), i < 2);
        signed_close(&l, &s);
    }
}

/* ---- the greeting ---------------------------------------------------------- */

/* notifications/initialized waits, and a call behind it. */
static void
start_waiting_greeting(struct lab *l, struct signer *s, bool refused,
                       struct outcome *out)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .auth = &s->auth};

    signer_init(s, 1);
    lab_connect(l, &opt);
    s->token = refused;
    lab_welcome(l, lab_last(l), SESSION_HEAD);
    assert_int_equal(l->ready, 1);
    if (refused)
        refuse(l, lab_last(l), 401);
    assert_int_equal(s->count, 1);
    world_plain_call(&l->w, out);
    lab_run(l);
}

static void
what_follows_a_greeting_that_waits_waits_too(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct outcome out, late;
    struct signer s;
    struct lab l;
    size_t before;

    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        start_waiting_greeting(&l, &s, refused, &late);
        before = lab_count(&l);
        world_call(&l.w, CLIENT, &opt, &out);
        lab_pass(&l, LONG);
        expect(&late, MCP_E_TIMEOUT); /* its clock runs */
        expect_open(&out);
        assert_int_equal(lab_count(&l), before);
        signer_grant(&s, &l);
        assert_int_equal(lab_count(&l), before + 1);
        assert_true(fetch_says(lab_last(&l), GREETING));
        lab_accept_without_stream(&l, lab_last(&l));
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        lab_reply(&l, lab_last(&l), ANSWER("2"));
        expect(&out, 0);
        outcome_done(&out);
        outcome_done(&late);
        signed_close(&l, &s);
    }
}

static void
a_greeting_that_is_not_allowed_holds_nobody_up(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_waiting_greeting(&l, &s, i, &out);
        signer_deny(&s, &l);
        s.token = 2;
        lab_pass(&l, MCPI_HTTP_INLET_MAX); /* the GET is not answered */
        assert_int_equal(lab_posted(&l, "tools/call"), !!i);
        if (!i) { /* it was not signed either */
            signer_grant(&s, &l);
            lab_pass(&l, MCPI_HTTP_INLET_MAX);
        }
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

/* ---- the GET of a session -------------------------------------------------- */

/* The GET is refused, with that status; 0: it is not even sent. */
static void
start_waiting_inlet(struct lab *l, struct signer *s, int refused)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .auth = &s->auth};

    signer_init(s, 1);
    lab_connect(l, &opt);
    lab_welcome(l, lab_last(l), SESSION_HEAD);
    s->token = refused != 0;
    lab_accept(l, lab_last(l));
    assert_int_equal(lab_count(l), 2 + (refused != 0));
    if (refused)
        refuse(l, lab_last(l), refused);
    assert_int_equal(s->count, 1);
}

static void
a_GET_that_waits_is_opened_later_and_no_call_waits_for_it(void **state)
{
    static const int statuses[] = {0, 401, 403};
    struct fake_fetch *get;
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        start_waiting_inlet(&l, &s, statuses[i]);
        s.token = 1;
        lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
        expect(&out, 0);
        lab_pass(&l, LONG);
        signer_grant(&s, &l);
        get = lab_last(&l);
        assert_string_equal(get->method, "GET");
        expect_signed(get, 2);
        assert_string_equal(fake_field(get, "mcp-session-id"), "s-1");
        assert_string_equal(fake_field(get, "accept"), "text/event-stream");
        lab_stream(&l, get);
        lab_event(&l, get, CHANGED);
        assert_int_equal(l.notices, 1);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
a_GET_that_is_not_allowed_is_done_without(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        if (i < 2) {
            start_waiting_inlet(&l, &s, i ? 401 : 0);
            signer_deny(&s, &l);
            assert_true(lab_logged(&l, "no stream for what belongs to no request: the "
                                       "user said no"));
        } else {
            struct lab_options opt = {.era = MCPI_ERA_LEGACY, .auth = &s.auth};

            signer_init(&s, 1);
            lab_connect(&l, &opt);
            lab_welcome(&l, lab_last(&l), SESSION_HEAD);
            s.never = true;
            s.cannot = i == 3 ? MCP_E_AUTH : 0;
            lab_accept(&l, lab_last(&l));
            if (i == 2)
                refuse(&l, lab_last(&l), 403);
        }
        s.cannot = 0;
        s.token = 1;
        lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
        expect(&out, 0);
        lab_pass(&l, 60 * SECOND);
        assert_int_equal(fake_open_count(&l.fetcher), 0);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
a_GET_that_waits_goes_with_its_link_or_its_session(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting_inlet(&l, &s, i % 2 ? 401 : 0);
        if (i < 2) {
            lab_shut(&l);
            assert_int_equal(s.left, 1);
        } else {
            s.token = 1;
            refuse(&l, lab_call(&l, NULL, &out), 404);
            assert_int_equal(s.left, 1);
            assert_true(fetch_says(lab_last(&l), "\"initialize\""));
            outcome_done(&out);
        }
        signed_close(&l, &s);
    }
}

static void
D8_a_GET_that_is_refused_when_it_is_taken_up_again_goes_on_later(void **state)
{
    struct fake_fetch *get;
    struct signer s;
    struct lab l;

    (void)state;
    for (int refused = 0; refused < 2; refused++) {
        start_waiting_inlet(&l, &s, 401);
        signer_grant(&s, &l);
        get = lab_last(&l);
        lab_stream(&l, get);
        fake_body(get, "id: 9\ndata:\n\n");
        if (!refused)
            s.token = 0;
        fake_fail(get, MCP_E_CLOSED, "reset");
        lab_pass(&l, MCPI_HTTP_RETRY_FIRST);
        if (refused) {
            assert_string_equal(fake_field(lab_last(&l), "last-event-id"), "9");
            refuse(&l, lab_last(&l), 401);
        }
        assert_int_equal(s.count, 1);
        lab_pass(&l, LONG);
        assert_int_equal(lab_count(&l), refused ? 5 : 4);
        signer_grant(&s, &l);
        get = lab_last(&l);
        expect_signed(get, refused ? 3 : 1);
        assert_string_equal(fake_field(get, "last-event-id"), "9");
        lab_stream(&l, get);
        lab_event(&l, get, CHANGED);
        assert_int_equal(l.notices, 1);
        signed_close(&l, &s);
    }
}

/* ---- the stream of a request ----------------------------------------------- */

/* A call whose stream was lost, and whose GET waits; or an earlier call that is taken up
 * again. */
static void
start_waiting_stream(struct lab *l, struct signer *s, bool refused, bool token,
                     struct outcome *out)
{
    struct mcpi_call_options opt = {.resume_token = token ? "9" : NULL,
                                    .timeout_us = 100 * SECOND};
    struct fake_fetch *post;

    signed_start(l, s, MCPI_ERA_LEGACY);
    if (token) {
        s->token = refused;
        world_call(&l->w, CLIENT, &opt, out);
        lab_run(l);
    } else {
        post = lab_call(l, &opt, out);
        lab_stream(l, post);
        fake_body(post, "id: 9\ndata:\n\n");
        s->token = refused;
        fake_fail(post, MCP_E_CLOSED, "reset");
        lab_pass(l, MCPI_HTTP_RETRY_FIRST);
    }
    if (refused) {
        assert_string_equal(lab_last(l)->method, "GET");
        assert_string_equal(fake_field(lab_last(l), "last-event-id"), "9");
        refuse(l, lab_last(l), 401);
    }
    assert_int_equal(s->count, 1);
    s->token = 1;
}

static void
D8_a_stream_goes_on_after_its_last_event_when_that_is_allowed(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting_stream(&l, &s, i % 2, i < 2, &out);
        lab_pass(&l, 50 * SECOND);
        expect_open(&out);
        for (int again = 0; again < 2; again++) {
            signer_grant(&s, &l);
            get = lab_last(&l);
            assert_string_equal(get->method, "GET");
            assert_string_equal(fake_field(get, "last-event-id"), "9");
            expect_signed(get, 2 + (unsigned)again);
            if (!again)
                refuse(&l, get, 401);
        }
        lab_stream(&l, get);
        lab_event(&l, get, ANSWER("1"));
        expect(&out, 0);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
D9_a_stream_that_may_not_go_on_fails_its_call_once(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 6; i++) {
        start_waiting_stream(&l, &s, i % 2, false, &out);
        if (i < 2) {
            signer_deny(&s, &l);
        } else if (i < 4) {
            s.never = true;
            signer_grant(&s, &l);
            refuse(&l, lab_last(&l), 401);
        } else {
            s.cannot = MCP_E_AUTH;
            signer_tell(&s, 0, 0, NULL);
            lab_run(&l);
        }
        expect(&out, MCP_E_AUTH);
        assert_int_equal(mcpi_call_fault(out.call)->http, i < 4 ? 401 : 0);
        /* The server may be at it; but a frame has to be signed too. */
        assert_int_equal(lab_posted(&l, FRAME), i < 4);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
B27_a_call_that_is_taken_up_again_may_be_refused_for_good(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_waiting_stream(&l, &s, i, true, &out);
        signer_deny(&s, &l);
        expect(&out, MCP_E_AUTH);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

/* It was accepted, so the server is at it: a cancel is said. */
static void
D11_a_call_canceled_while_its_stream_waits_is_framed(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting_stream(&l, &s, i % 2, i < 2, &out);
        lab_cancel(&l, &out);
        lab_run(&l);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        assert_int_equal(s.left, 1);
        lab_accept(&l, lab_last(&l));
        assert_int_equal(mcpi_timers_next(mcpi_loop_timers(l.loop)), MCPI_NEVER);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
I1_the_clock_of_a_call_runs_while_its_stream_waits(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_waiting_stream(&l, &s, i, false, &out);
        lab_pass(&l, 100 * SECOND);
        expect(&out, MCP_E_TIMEOUT);
        assert_int_equal(s.left, 1);
        assert_int_equal(lab_posted(&l, FRAME), 1);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

static void
closing_while_a_stream_waits_lets_go_of_it(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting_stream(&l, &s, i % 2, i < 2, &out);
        if (i % 2)
            lab_free_link(&l);
        else
            lab_shut(&l);
        expect(&out, MCP_E_CLOSED);
        assert_int_equal(s.left, 1);
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

/* ---- 2024-11-05 ------------------------------------------------------------ */

#define ENDPOINT "event: endpoint\ndata: /messages?s=1\n\n"
#define MESSAGES "http://server.test/messages?s=1"

/* initialize was refused, and the GET that follows waits. */
static void
start_waiting_2024(struct lab *l, struct signer *s, bool refused)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .auth = &s->auth};

    signer_init(s, 1);
    lab_connect(l, &opt);
    s->token = refused;
    refuse(l, lab_last(l), 405);
    assert_int_equal(lab_count(l), 1 + refused);
    if (refused) {
        assert_string_equal(lab_last(l)->method, "GET");
        refuse(l, lab_last(l), 401);
    }
    assert_int_equal(s->count, 1);
    assert_int_equal(l->ready, 0);
}

static void
D23_a_server_of_2024_is_looked_for_when_that_is_allowed(void **state)
{
    struct fake_fetch *get, *post;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start_waiting_2024(&l, &s, i);
        lab_pass(&l, LONG);
        signer_grant(&s, &l);
        get = lab_last(&l);
        assert_string_equal(get->method, "GET");
        expect_signed(get, 1 + (unsigned)i);
        lab_stream(&l, get);
        fake_body(get, ENDPOINT);
        lab_run(&l);
        refuse(&l, lab_last(&l), 401); /* initialize, there */
        lab_pass(&l, LONG);
        s.token = 6;
        signer_grant(&s, &l);
        post = lab_last(&l);
        assert_string_equal(post->url, MESSAGES);
        expect_signed(post, 7);
        assert_true(fetch_says(post, "\"initialize\""));
        lab_accept(&l, post);
        lab_event(&l, get, RESULT("0", INITIALIZED("2024-11-05")));
        assert_int_equal(l.ready, 1);
        assert_int_equal(l.ready_status, 0);
        assert_true(fetch_says(lab_last(&l), GREETING));
        expect_signed(lab_last(&l), 7);
        signed_close(&l, &s);
    }
}

static void
D23_what_is_sent_there_waits_before_it_is_signed_too(void **state)
{
    struct fake_fetch *get;
    struct signer s;
    struct lab l;

    (void)state;
    start_waiting_2024(&l, &s, true);
    signer_grant(&s, &l);
    get = lab_last(&l);
    lab_stream(&l, get);
    s.token = 0;
    fake_body(get, ENDPOINT);
    lab_run(&l);
    assert_int_equal(s.count, 1);
    assert_ptr_equal(lab_last(&l), get);
    signer_grant(&s, &l);
    assert_string_equal(lab_last(&l)->url, MESSAGES);
    assert_true(fetch_says(lab_last(&l), "\"initialize\""));
    signed_close(&l, &s);
}

static void
D23_the_clock_of_initialize_runs_again_when_nobody_has_to_allow_it(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    start_waiting_2024(&l, &s, true);
    lab_pass(&l, LONG);
    signer_grant(&s, &l);
    lab_pass(&l, 60 * SECOND);
    assert_int_equal(l.ready_status, MCP_E_TIMEOUT);
    assert_int_equal(fake_open_count(&l.fetcher), 0);
    signed_close(&l, &s);
}

static void
D23_a_server_of_2024_that_lets_nobody_in_is_the_end(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        if (i < 2) {
            start_waiting_2024(&l, &s, i);
            signer_deny(&s, &l);
        } else {
            signer_init(&s, 1);
            s.never = true;
            opt.auth = &s.auth;
            lab_connect(&l, &opt);
            refuse(&l, lab_last(&l), 405);
            refuse(&l, lab_last(&l), 403);
        }
        assert_int_equal(l.ready, 1);
        assert_int_equal(l.ready_status, MCP_E_AUTH);
        assert_int_equal(l.closed, 1);
        signed_close(&l, &s);
    }
}

static void
D23_a_GET_that_cannot_be_made_then_is_no_such_server(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    start_waiting_2024(&l, &s, true);
    s.cannot = MCP_E_NOMEM;
    signer_grant(&s, &l);
    assert_int_equal(l.ready_status, MCP_E_HTTP); /* as at first */
    signed_close(&l, &s);
}

static void
D23_closing_while_it_is_looked_for_lets_go(void **state)
{
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start_waiting_2024(&l, &s, i % 2);
        if (i < 2) {
            lab_shut(&l);
            assert_int_equal(l.closed, 1);
        } else {
            lab_free_link(&l);
        }
        assert_int_equal(s.left, 1);
        signed_close(&l, &s);
    }
}

TEST_MAIN(TEST(X12_a_probe_waits_for_people_as_long_as_they_need),
          TEST(its_clock_begins_anew_when_it_is_sent),
          TEST(initialize_waits_and_its_session_begins_with_its_answer),
          TEST(X12_who_may_not_come_in_does_not_take_it_for_a_legacy_server),
          TEST(closing_while_the_opening_waits_is_at_once),
          TEST(what_follows_a_greeting_that_waits_waits_too),
          TEST(a_greeting_that_is_not_allowed_holds_nobody_up),
          TEST(a_GET_that_waits_is_opened_later_and_no_call_waits_for_it),
          TEST(a_GET_that_is_not_allowed_is_done_without),
          TEST(a_GET_that_waits_goes_with_its_link_or_its_session),
          TEST(D8_a_GET_that_is_refused_when_it_is_taken_up_again_goes_on_later),
          TEST(D8_a_stream_goes_on_after_its_last_event_when_that_is_allowed),
          TEST(D9_a_stream_that_may_not_go_on_fails_its_call_once),
          TEST(B27_a_call_that_is_taken_up_again_may_be_refused_for_good),
          TEST(D11_a_call_canceled_while_its_stream_waits_is_framed),
          TEST(I1_the_clock_of_a_call_runs_while_its_stream_waits),
          TEST(closing_while_a_stream_waits_lets_go_of_it),
          TEST(D23_a_server_of_2024_is_looked_for_when_that_is_allowed),
          TEST(D23_what_is_sent_there_waits_before_it_is_signed_too),
          TEST(D23_the_clock_of_initialize_runs_again_when_nobody_has_to_allow_it),
          TEST(D23_a_server_of_2024_that_lets_nobody_in_is_the_end),
          TEST(D23_a_GET_that_cannot_be_made_then_is_no_such_server),
          TEST(D23_closing_while_it_is_looked_for_lets_go))
