/* http_inlet_test.c - the GET stream of a legacy session */
#include "link/http_client_fixture.h"

#include "link/http_inlet.h"

#define CHANGED NOTE("notifications/tools/list_changed", "{}")

/* A legacy client whose GET is under way. */
static struct fake_fetch *
start(struct lab *l, const char *session)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};

    lab_connect(l, &opt);
    lab_welcome(l, lab_last(l), session);
    assert_int_equal(lab_count(l), 2); /* not before the greeting has arrived */
    lab_accept(l, lab_last(l));
    assert_int_equal(lab_count(l), 3);
    return lab_last(l);
}

static void
a_session_has_a_GET_for_what_belongs_to_no_request(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l, SESSION_HEAD);
    assert_string_equal(get->method, "GET");
    assert_string_equal(get->url, URL);
    assert_string_equal(fake_field(get, "accept"), "text/event-stream");
    assert_string_equal(fake_field(get, "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(get, "mcp-protocol-version"), "2025-11-25");
    assert_null(fake_field(get, "last-event-id"));
    lab_stream(&l, get);
    lab_event(&l, get, CHANGED);
    assert_int_equal(l.notices, 1);
    lab_event(&l, get, REQUEST("5", "roots/list", "{}"));
    assert_non_null(l.asked);
    lab_close(&l);
}

static void
a_server_without_sessions_may_have_one_too(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l, NULL);
    assert_string_equal(get->method, "GET");
    assert_null(fake_field(get, "mcp-session-id"));
    lab_close(&l);
}

static void
a_modern_client_has_none_nor_one_that_wants_none(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .no_stream = true};
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_count(&l), 1);
    lab_close(&l);
    lab_start_legacy_with(&l, &opt);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_count(&l), 2);
    lab_close(&l);
}

static void
none_is_fine(void **state)
{
    static const int codes[] = {405, 404, 400, 500, 200};
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        fake_answer(start(&l, SESSION_HEAD), codes[i], "text/html", "<p>");
        lab_pass(&l, 60 * SECOND);
        assert_int_equal(lab_count(&l), 3);
        assert_int_equal(l.lost, 0);
        assert_true(lab_logged(&l, codes[i] == 405 ? "D: http: no stream for what"
                                                   : "I: http: no stream for what"));
        lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
        expect(&out, 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* Whether it has ended or was cut off. */
static void
opened_again_after_the_last_event(bool cut_off)
{
    struct fake_fetch *get;
    struct lab l;

    get = start(&l, SESSION_HEAD);
    lab_stream(&l, get);
    fake_body(get, "retry: 2000\nid: 9\ndata:\n\n");
    if (cut_off)
        fake_fail(get, MCP_E_CLOSED, "reset");
    else
        fake_end(get);
    lab_pass(&l, 2001 * MS);
    assert_int_equal(lab_count(&l), 4);
    get = lab_last(&l);
    assert_string_equal(get->method, "GET");
    assert_string_equal(fake_field(get, "last-event-id"), "9");
    assert_string_equal(fake_field(get, "mcp-session-id"), "s-1");
    lab_stream(&l, get);
    lab_event(&l, get, CHANGED);
    assert_int_equal(l.notices, 1);
    lab_close(&l);
}

static void
D8_it_is_opened_again_after_the_last_event(void **state)
{
    (void)state;
    opened_again_after_the_last_event(false);
    opened_again_after_the_last_event(true);
}

static void
one_without_ids_is_opened_again_too(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l, SESSION_HEAD);
    lab_stream(&l, get);
    fake_fail(get, MCP_E_CLOSED, "reset");
    lab_pass(&l, MCPI_HTTP_RETRY_FIRST);
    assert_int_equal(lab_count(&l), 4);
    assert_null(fake_field(lab_last(&l), "last-event-id"));
    lab_close(&l);
}

static void
it_is_given_up_with_a_warning(void **state)
{
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    lab_stream(&l, start(&l, SESSION_HEAD));
    fake_fail(lab_last(&l), MCP_E_CLOSED, "reset");
    for (int i = 0; i < MCPI_HTTP_RESUMES_MAX; i++) {
        lab_pass(&l, MCPI_HTTP_RETRY_MOST);
        fake_fail(lab_last(&l), MCP_E_SEND_FAILED, "refused");
        lab_run(&l);
    }
    before = lab_count(&l);
    lab_pass(&l, 10 * MCPI_HTTP_RETRY_MOST);
    assert_int_equal(lab_count(&l), before);
    assert_true(lab_logged(&l, "W: http: no stream for what"));
    assert_int_equal(l.lost, 0);
    lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
    expect(&out, 0);
    outcome_done(&out);
    lab_close(&l);
}

/* One request was answered, so the session was a good one. */
static struct fake_fetch *
start_and_call(struct lab *l)
{
    struct fake_fetch *get = start(l, SESSION_HEAD);
    struct outcome out;

    lab_stream(l, get);
    lab_reply(l, lab_call(l, NULL, &out), ANSWER("1"));
    expect(&out, 0);
    outcome_done(&out);
    return get;
}

static void
a_404_for_one_that_was_open_is_a_lost_session(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start_and_call(&l);
    lab_call(&l, NULL, &out);
    fake_end(get);
    lab_pass(&l, MCPI_HTTP_RETRY_FIRST);
    get = lab_last(&l);
    assert_string_equal(get->method, "GET");
    fake_answer(get, 404, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_CLOSED);
    assert_true(fetch_says(lab_last(&l), "\"initialize\""));
    assert_null(fake_field(lab_last(&l), "mcp-session-id"));
    lab_welcome(&l, lab_last(&l), "Mcp-Session-Id: s-2");
    lab_accept(&l, lab_last(&l));
    assert_string_equal(lab_last(&l)->method, "GET"); /* of the new one */
    assert_string_equal(fake_field(lab_last(&l), "mcp-session-id"), "s-2");
    assert_null(fake_field(lab_last(&l), "last-event-id"));
    outcome_done(&out);
    lab_close(&l);
}

static void
a_404_without_a_session_is_none(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l, NULL);
    lab_stream(&l, get);
    lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
    outcome_done(&out);
    fake_end(get);
    lab_pass(&l, MCPI_HTTP_RETRY_FIRST);
    fake_answer(lab_last(&l), 404, NULL, NULL);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_posted(&l, "\"initialize\""), 1);
    lab_close(&l);
}

static void
F30_it_is_closed_when_the_client_is(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l, SESSION_HEAD);
    lab_stream(&l, get);
    lab_shut(&l);
    assert_int_equal(get->state, FAKE_ABORTED);
    lab_close(&l);
}

static void
without_memory_it_is_tried_again(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    l.fetcher.refuse = MCP_E_NOMEM;
    lab_accept(&l, lab_last(&l));
    assert_int_equal(lab_count(&l), 2);
    l.fetcher.refuse = 0;
    lab_pass(&l, 20 * MS);
    assert_int_equal(lab_count(&l), 3);
    assert_string_equal(lab_last(&l)->method, "GET");
    lab_close(&l);
}

/* Whichever allocation fails: servers refuse what comes before the greeting. */
static void
without_memory_it_does_not_overtake_the_greeting(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;
    long failed = 1;

    (void)state;
    for (long n = 1; failed > 0; n++) {
        lab_connect(&l, &opt);
        l.mem->fail_at = l.mem->total + n;
        lab_welcome(&l, lab_last(&l), SESSION_HEAD);
        lab_pass(&l, 20 * MS);
        failed = l.mem->failed;
        for (size_t i = 0; i < lab_count(&l); i++)
            assert_string_not_equal(lab_at(&l, i)->method, "GET");
        lab_close(&l);
    }
}

/* There are servers that ask on it whatever belongs to a call, and forget what they have
 * asked if nobody listens yet. */
static void
B7_no_call_overtakes_it(void **state)
{
    static const int codes[] = {200, 405, 500};
    struct outcome out, taken_back;
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        get = start(&l, SESSION_HEAD);
        world_call(&l.w, CLIENT, NULL, &out);
        world_call(&l.w, CLIENT, NULL, &taken_back);
        lab_pass(&l, MCPI_HTTP_INLET_MAX - MS);
        assert_int_equal(lab_count(&l), 3);
        lab_cancel(&l, &taken_back); /* it still waits: without a trace */
        if (codes[i] == 200)
            lab_stream(&l, get);
        else
            fake_answer(get, codes[i], NULL, NULL);
        lab_run(&l);
        assert_int_equal(lab_count(&l), 4);
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        outcome_done(&out);
        outcome_done(&taken_back);
        lab_close(&l);
    }
}

static void
B5_a_call_that_waits_for_it_has_its_time(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = 500 * MS};
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l, SESSION_HEAD);
    world_call(&l.w, CLIENT, &opt, &out);
    lab_pass(&l, 500 * MS);
    expect(&out, MCP_E_TIMEOUT);
    lab_stream(&l, get);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_count(&l), 3); /* neither it nor a cancel */
    outcome_done(&out);
    lab_close(&l);
}

static void
one_that_is_not_answered_does_not_hold_calls_for_ever(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        get = start(&l, SESSION_HEAD);
        world_call(&l.w, CLIENT, NULL, &out);
        if (fails)
            fake_fail(get, MCP_E_CLOSED, "reset");
        lab_pass(&l, MCPI_HTTP_INLET_MAX - MS);
        assert_int_equal(lab_posted(&l, "tools/call"), 0);
        lab_pass(&l, MS);
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        lab_reply(&l, lab_last(&l), ANSWER("1"));
        expect(&out, 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
calls_do_not_wait_for_one_that_is_opened_again(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    get = start(&l, SESSION_HEAD);
    lab_stream(&l, get);
    fake_end(get);
    lab_pass(&l, MCPI_HTTP_RETRY_FIRST);
    assert_int_equal(lab_count(&l), 4); /* no answer to it yet */
    lab_call(&l, NULL, &out);
    outcome_done(&out);
    lab_close(&l);
}

static void
closing_does_not_wait_for_it(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start(&l, SESSION_HEAD);
    lab_shut(&l);
    assert_int_equal(get->state, FAKE_ABORTED);
    assert_string_equal(lab_last(&l)->method, "DELETE");
    lab_close(&l);
}

static void
one_that_cannot_be_made_holds_nobody(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    world_call(&l.w, CLIENT, NULL, &out);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    l.fetcher.refuse = MCP_E_INVAL;
    lab_accept(&l, lab_last(&l));
    expect(&out, MCP_E_INVAL); /* which cannot be made either */
    outcome_done(&out);
    lab_close(&l);
}

TEST_MAIN(TEST(a_session_has_a_GET_for_what_belongs_to_no_request),
          TEST(a_server_without_sessions_may_have_one_too),
          TEST(a_modern_client_has_none_nor_one_that_wants_none), TEST(none_is_fine),
          TEST(D8_it_is_opened_again_after_the_last_event),
          TEST(one_without_ids_is_opened_again_too),
          TEST(it_is_given_up_with_a_warning),
          TEST(a_404_for_one_that_was_open_is_a_lost_session),
          TEST(a_404_without_a_session_is_none),
          TEST(F30_it_is_closed_when_the_client_is),
          TEST(without_memory_it_is_tried_again),
          TEST(without_memory_it_does_not_overtake_the_greeting),
          TEST(B7_no_call_overtakes_it), TEST(B5_a_call_that_waits_for_it_has_its_time),
          TEST(one_that_is_not_answered_does_not_hold_calls_for_ever),
          TEST(calls_do_not_wait_for_one_that_is_opened_again),
          TEST(closing_does_not_wait_for_it),
          TEST(one_that_cannot_be_made_holds_nobody))
