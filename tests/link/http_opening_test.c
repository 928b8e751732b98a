/* http_opening_test.c - how an answer begins: JSON, an event stream, nothing */
#include "link/http_opening.h"

#include <string.h>

#include "support/turn.h"

/* A modern call that is with its handler. */
static void
start(struct desk *d, struct turn *t)
{
    desk_post(d, NULL, t, MODERN_CALL("1"));
    desk_step(d);
}

static void
an_answer_alone_is_one_json_body(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    turn_assert_said(&t, "");
    desk_finish(&d, 0, "{\"content\":[]}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    assert_int_equal(t.status, 200);
    assert_string_equal(t.type, "application/json");
    assert_string_equal(t.fields, "");
    assert_ptr_equal(strstr(t.text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"),
                     t.text);
    assert_int_equal(t.text[t.len - 1], '}');
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&t);
    desk_close(&d);
}

static void
the_status_says_what_kind_of_error(void **state)
{
    (void)state;
    assert_int_equal(mcpi_http_status_of(0, true), 200);
    assert_int_equal(mcpi_http_status_of(-32601, true), 404);
    assert_int_equal(mcpi_http_status_of(-32602, true), 400);
    assert_int_equal(mcpi_http_status_of(-32020, true), 400);
    assert_int_equal(mcpi_http_status_of(-32021, true), 400);
    assert_int_equal(mcpi_http_status_of(-32022, true), 400);
    assert_int_equal(mcpi_http_status_of(-32600, true), 400);
    assert_int_equal(mcpi_http_status_of(-32700, true), 400);
    assert_int_equal(mcpi_http_status_of(-32603, true), 200);
    assert_int_equal(mcpi_http_status_of(-32800, true), 200);
    assert_int_equal(mcpi_http_status_of(-32601, false), 200);
    assert_int_equal(mcpi_http_status_of(-32602, false), 200);
    assert_int_equal(mcpi_http_status_of(-32600, false), 400);
    assert_int_equal(mcpi_http_status_of(-32700, false), 400);
}

static void
a_refused_request_has_its_status(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    desk_post(&d, NULL, &t, REQUEST("1", "x", "{\"_meta\":7}"));
    desk_step(&d);
    turn_assert_said(&t, "reply");
    assert_int_equal(t.status, 400);
    assert_true(turn_says(&t, "-32602"));
    turn_done(&t);
    start(&d, &t);
    desk_fail(&d, 0, -32601);
    desk_step(&d);
    assert_int_equal(t.status, 404);
    turn_done(&t);
    desk_close(&d);
}

static void
who_reads_no_json_gets_the_answer_as_an_event(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.may_json = false;
    start(&d, &t);
    desk_fail(&d, 0, -32601);
    desk_step(&d);
    turn_assert_said(&t, "open end");
    assert_int_equal(t.status, 200);
    assert_true(turn_says(&t, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\""));
    turn_done(&t);
    desk_close(&d);
}

static void
who_reads_no_events_gets_only_the_answer(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.may_sse = false;
    start(&d, &t);
    desk_notify(&d, 0, "a");
    desk_step(&d);
    turn_assert_said(&t, "");
    desk_notify(&d, 0, "b");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    assert_string_equal(t.type, "application/json");
    assert_ptr_equal(strstr(t.text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\""),
                     t.text);
    assert_false(turn_says(&t, "\n"));
    turn_done(&t);
    desk_close(&d);
}

static void
F9_settled_without_a_word_ends_the_response(void **state)
{
    struct desk d;
    struct turn a, b, c;

    (void)state;
    desk_start(&d);
    start(&d, &a);
    mcpi_exchange_end(desk_job(&d, 0), MCPI_CANCELED, NULL, "so");
    desk_step(&d);
    turn_assert_said(&a, "");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&a, "open end");
    assert_string_equal(a.type, "text/event-stream");
    assert_string_equal(a.text, "");

    start(&d, &b);
    desk_notify(&d, 1, "a");
    desk_step(&d);
    mcpi_exchange_end(desk_job(&d, 1), MCPI_CANCELED, NULL, "so");
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&b, "open end");

    d.may_sse = false;
    start(&d, &c);
    mcpi_exchange_end(desk_job(&d, 2), MCPI_CANCELED, NULL, "so");
    desk_finish(&d, 2, "{}");
    desk_step(&d);
    turn_assert_said(&c, "reply");
    assert_int_equal(c.status, 202);
    assert_string_equal(c.text, "");
    turn_done(&a);
    turn_done(&b);
    turn_done(&c);
    desk_close(&d);
}

/* The loop was held up for so long that core gave the peer up before the flush. */
static void
an_answer_that_is_lost_with_its_peer_is_no_silent_end(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    for (int may_sse = 0; may_sse < 2; may_sse++) {
        desk_start(&d);
        d.may_sse = may_sse;
        desk_post(&d, NULL, &t, MODERN_CALL("1"));
        desk_finish(&d, 0, "{}");
        mcpi_peer_lost(d.endpoint.anonymous, MCP_E_CLOSED, d.now);
        desk_step(&d);
        turn_assert_said(&t, "abort");
        turn_done(&t);
        desk_close(&d);
    }
}

static void
head_and_first_events_are_one_write(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    desk_notify(&d, 0, "a");
    desk_notify(&d, 0, "b");
    desk_step(&d);
    turn_assert_said(&t, "open");
    assert_int_equal(t.status, 200);
    assert_string_equal(t.type, "text/event-stream");
    assert_string_equal(t.fields, "Cache-Control: no-cache\nX-Accel-Buffering: no\n");
    assert_ptr_equal(strstr(t.text, "event: message\ndata: {\"jsonrpc\""), t.text);
    assert_int_equal(turn_count(&t, "}\n\n"), 2);
    assert_int_equal(turn_count(&t, "id: "), 0);
    assert_int_equal(d.counted[1], 1);
    desk_notify(&d, 0, "c");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open write end");
    assert_int_equal(turn_count(&t, "}\n\n"), 4);
    assert_int_equal(d.counted[1], 0);
    turn_done(&t);
    desk_close(&d);
}

TEST_MAIN(TEST(an_answer_alone_is_one_json_body),
          TEST(the_status_says_what_kind_of_error),
          TEST(a_refused_request_has_its_status),
          TEST(who_reads_no_json_gets_the_answer_as_an_event),
          TEST(who_reads_no_events_gets_only_the_answer),
          TEST(F9_settled_without_a_word_ends_the_response),
          TEST(an_answer_that_is_lost_with_its_peer_is_no_silent_end),
          TEST(head_and_first_events_are_one_write))
