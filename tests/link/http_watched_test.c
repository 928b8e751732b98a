/* http_watched_test.c - what is shown to who watches the wire of an HTTP client */
#include "link/http_signer.h"

#define FRAME "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\""
#define CHANGED NOTE("notifications/tools/list_changed", "{}")

static void
forget(struct lab *l)
{
    l->shown[0] = '\0';
}

/* All events that were shown, and nothing else. */
static void
expect_events(const struct lab *l, const char *events)
{
    char found[sizeof(l->shown)] = "";
    const char *at, *end;

    for (at = l->shown; *at; at = end + 1) {
        end = strchr(at, '\n');
        assert_non_null(end);
        if (*at == '=')
            strncat(found, at + 2, (size_t)(end - at) - 1);
    }
    assert_string_equal(found, events);
}

/* ---- cancels --------------------------------------------------------------- */

static void
a_modern_cancel_is_a_response_that_we_close(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    forget(&l);
    lab_stream(&l, lab_call(&l, NULL, &out));
    lab_cancel(&l, &out);
    lab_run(&l);
    expect(&out, MCP_E_CANCELED);
    expect_events(&l, "POST /mcp (request 1) -> 200 text/event-stream\n"
                      "closed the response to request 1\n");
    assert_int_equal(lab_shown(&l, FRAME), 0);
    assert_int_equal(lab_shown(&l, "> "), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
how_much_of_it_had_left_is_told(void **state)
{
    struct outcome out[3];
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    forget(&l);
    for (int i = 0; i < 3; i++)
        lab_call(&l, NULL, &out[i]);
    fake_sending(lab_at(&l, 2));
    fake_sent(lab_at(&l, 3));
    for (int i = 0; i < 3; i++)
        lab_cancel(&l, &out[i]);
    expect_events(&l, "request 1 was not sent\n"
                      "cut off request 2 while it was being sent\n"
                      "closed the response to request 3\n");
    for (int i = 0; i < 3; i++)
        outcome_done(&out[i]);
    lab_close(&l);
}

static void
a_legacy_cancel_is_a_message_and_the_response_is_closed_later(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    forget(&l);
    lab_stream(&l, lab_call(&l, NULL, &out));
    lab_cancel(&l, &out);
    lab_run(&l);
    assert_int_equal(lab_shown(&l, FRAME), 1);
    lab_accept(&l, lab_last(&l));
    lab_pass(&l, SECOND);
    expect_events(&l, "POST /mcp (request 1) -> 200 text/event-stream\n"
                      "POST /mcp -> 202\n");
    forget(&l);
    lab_pass(&l, 5 * SECOND);
    expect_events(&l, "closed the response to request 1\n");
    outcome_done(&out);
    lab_close(&l);
}

/* In no session it is both, and told at once, though its entry remains for the frame. */
static void
D16_a_cancel_in_no_session_is_a_message_and_a_response_that_is_closed(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .no_stream = true};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), NULL);
    lab_accept(&l, lab_last(&l));
    forget(&l);
    fake_sent(lab_call(&l, NULL, &out));
    lab_cancel(&l, &out);
    expect_events(&l, "closed the response to request 1\n");
    lab_pass(&l, SECOND);
    assert_int_equal(lab_shown(&l, FRAME), 1);
    expect_events(&l, "closed the response to request 1\n");
    outcome_done(&out);
    lab_close(&l);
}

static void
a_cancel_that_is_not_sent_is_told(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    forget(&l);
    lab_call(&l, NULL, &out);
    lab_cancel(&l, &out);
    lab_run(&l);
    expect_events(&l, "request 1 was not sent\n"
                      "a cancel was not sent\n");
    outcome_done(&out);
    lab_close(&l);
}

static void
a_response_that_is_left_alone_is_told(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    forget(&l);
    lab_stream(&l, lab_call(&l, &opt, &out));
    lab_cancel(&l, &out);
    lab_run(&l);
    expect_events(&l, "POST /mcp (request 1) -> 200 text/event-stream\n"
                      "the response to request 1 may come to its end\n");
    outcome_done(&out);
    lab_close(&l);
}

static void
what_is_left_of_an_answered_response_is_told_apart(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    forget(&l);
    lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
    expect(&out, 0);
    assert_int_equal(lab_shown(&l, "< " ANSWER("1")), 1);
    outcome_done(&out);
    lab_stream(&l, lab_call(&l, NULL, &out));
    lab_event(&l, lab_last(&l), ANSWER("2"));
    expect(&out, 0);
    lab_pass(&l, 2 * SECOND); /* it does not end by itself */
    expect_events(&l, "POST /mcp (request 1) -> 200 application/json\n"
                      "POST /mcp (request 2) -> 200 text/event-stream\n"
                      "closed the rest of the response to request 2\n");
    outcome_done(&out);
    lab_close(&l);
}

/* ---- sessions and streams -------------------------------------------------- */

static struct fake_fetch *
start_with_inlet(struct lab *l)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};

    lab_connect(l, &opt);
    lab_welcome(l, lab_last(l), SESSION_HEAD);
    lab_accept(l, lab_last(l));
    lab_stream(l, lab_last(l));
    return lab_last(l);
}

static void
a_session_is_told_from_its_begin_to_its_end(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start_with_inlet(&l);
    lab_event(&l, get, CHANGED);
    assert_int_equal(lab_shown(&l, "< " CHANGED), 1);
    lab_shut(&l);
    fake_answer(lab_last(&l), 204, NULL, NULL);
    lab_run(&l);
    expect_events(&l, "POST /mcp (request 0) -> 200 application/json\n"
                      "a session has begun\n"
                      "POST /mcp -> 202\n"
                      "GET /mcp -> 200 text/event-stream\n"
                      "the stream of the session is open\n"
                      "closed the stream of the session\n"
                      "DELETE: the session ends\n"
                      "DELETE /mcp -> 204\n"
                      "the connection is closed\n");
    assert_null(strstr(l.shown, "s-1"));
    lab_close(&l);
}

static void
a_stream_that_is_lost_and_resumed_is_told(void **state)
{
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    get = start_with_inlet(&l);
    forget(&l);
    fake_fail(get, MCP_E_CLOSED, "reset");
    lab_pass(&l, SECOND);
    fake_fail(lab_last(&l), MCP_E_SEND_FAILED, "refused");
    lab_pass(&l, 2 * SECOND);
    lab_stream(&l, lab_last(&l));
    expect_events(&l, "GET /mcp: the stream ended, and is taken up again\n"
                      "GET /mcp: the stream was not resumed yet: refused\n"
                      "GET /mcp -> 200 text/event-stream\n"
                      "the stream of the session is open\n");
    lab_close(&l);
}

static void
a_session_that_is_lost_is_told(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
    outcome_done(&out);
    forget(&l);
    fake_answer(lab_call(&l, NULL, &out), 404, NULL, NULL);
    lab_run(&l);
    expect_events(&l, "POST /mcp (request 2) -> 404\n"
                      "the server does not know the session: another one begins\n");
    assert_int_equal(lab_shown(&l, "> {\"jsonrpc\":\"2.0\",\"id\":0,"), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
a_server_of_2024_is_told_without_its_query(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *get;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    fake_answer(lab_last(&l), 405, "text/html", "<p>");
    lab_run(&l);
    get = lab_last(&l);
    lab_stream(&l, get);
    fake_body(get, "event: endpoint\ndata: /messages?s=secret\n\n");
    lab_run(&l);
    lab_accept(&l, lab_last(&l));
    lab_event(&l, get, RESULT("0", INITIALIZED("2024-11-05")));
    fake_end(get);
    lab_run(&l);
    assert_int_equal(lab_shown(&l, "= POST /mcp (request 0) -> 405 text/html"), 1);
    assert_int_equal(lab_shown(&l, "= GET /mcp -> 200 text/event-stream"), 1);
    assert_int_equal(lab_shown(&l, "= 2024-11-05: messages go to /messages\n"), 1);
    assert_int_equal(lab_shown(&l, "= POST /messages (request 0) -> 202"), 1);
    assert_int_equal(lab_shown(&l, "< " RESULT("0", INITIALIZED("2024-11-05"))), 1);
    assert_int_equal(lab_shown(&l, "= the stream of 2024-11-05 ended"), 1);
    assert_null(strstr(l.shown, "secret"));
    lab_close(&l);
}

/* ---- all else -------------------------------------------------------------- */

static void
a_redirect_and_a_failure_are_told(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    forget(&l);
    post = lab_call(&l, NULL, &out);
    post->ops->redirected(post->user, 307, "http://me:pw@server.test/b?key=secret");
    fake_fail(post, MCP_E_CLOSED, "Connection reset by peer");
    lab_run(&l);
    expect_events(&l,
                  "POST /mcp (request 1) -> 307, followed to http://server.test:80/b\n"
                  "POST /mcp (request 1) failed: Connection reset by peer\n");
    outcome_done(&out);
    lab_close(&l);
}

static void
what_is_no_message_is_told(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    forget(&l);
    fake_answer(lab_call(&l, NULL, &out), 502, "text/plain", "no luck");
    lab_run(&l);
    expect_events(&l, "POST /mcp (request 1) -> 502 text/plain\n"
                      "what came is no message (what came is no JSON): no luck\n");
    outcome_done(&out);
    lab_close(&l);
}

static void
authorization_is_told_without_what_is_secret(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    signed_start(&l, &s, MCPI_ERA_MODERN);
    forget(&l);
    refuse(&l, lab_call(&l, NULL, &out), 401);
    s.token = 4710;
    signer_grant(&s, &l);
    lab_reply(&l, lab_last(&l), ANSWER("1"));
    expect(&out, 0);
    expect_events(&l, "POST /mcp (request 1) -> 401\n"
                      "the server asks who we are (401)\n"
                      "authorization: it is known who we are\n"
                      "POST /mcp (request 1) -> 200 application/json\n");
    assert_null(strstr(l.shown, "4711"));
    outcome_done(&out);
    forget(&l);
    s.never = true;
    refuse(&l, lab_call(&l, NULL, &out), 403);
    expect(&out, MCP_E_AUTH);
    expect_events(&l, "POST /mcp (request 2) -> 403\n"
                      "the server refuses who we are (403)\n");
    outcome_done(&out);
    signed_close(&l, &s);
}

static void
what_waits_to_be_allowed_and_is_canceled_was_not_sent(void **state)
{
    struct outcome out;
    struct signer s;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        signed_start(&l, &s, both_eras[i]);
        forget(&l);
        waiting_call(&l, &s, NULL, false, &out);
        lab_cancel(&l, &out);
        lab_run(&l);
        expect_events(&l, i ? "POST waits until it is known who we are\n"
                              "request 1 was not sent\n"
                              "a cancel was not sent\n"
                            : "POST waits until it is known who we are\n"
                              "request 1 was not sent\n");
        outcome_done(&out);
        signed_close(&l, &s);
    }
}

TEST_MAIN(TEST(a_modern_cancel_is_a_response_that_we_close),
          TEST(how_much_of_it_had_left_is_told),
          TEST(a_legacy_cancel_is_a_message_and_the_response_is_closed_later),
          TEST(D16_a_cancel_in_no_session_is_a_message_and_a_response_that_is_closed),
          TEST(a_cancel_that_is_not_sent_is_told),
          TEST(a_response_that_is_left_alone_is_told),
          TEST(what_is_left_of_an_answered_response_is_told_apart),
          TEST(a_session_is_told_from_its_begin_to_its_end),
          TEST(a_stream_that_is_lost_and_resumed_is_told),
          TEST(a_session_that_is_lost_is_told),
          TEST(a_server_of_2024_is_told_without_its_query),
          TEST(a_redirect_and_a_failure_are_told), TEST(what_is_no_message_is_told),
          TEST(authorization_is_told_without_what_is_secret),
          TEST(what_waits_to_be_allowed_and_is_canceled_was_not_sent))
