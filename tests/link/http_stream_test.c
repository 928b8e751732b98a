/* http_stream_test.c - the answer to one POST, or what a GET listens to */
#include "link/http_stream.h"

#include <string.h>

#include "support/turn.h"

#define PING ((int64_t)15 * SECOND)

_Static_assert(sizeof(struct mcpi_http_stream) < 300, "an idle stream costs little");

/* A modern call that is with its handler. */
static void
start(struct desk *d, struct turn *t)
{
    desk_post(d, NULL, t, MODERN_CALL("1"));
    desk_step(d);
}

/* ---- event streams --------------------------------------------------------- */

static void
what_is_all_there_at_once_is_one_write(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    desk_notify(&d, 0, "a");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open end");
    assert_int_equal(turn_count(&t, "}\n\n"), 2);
    turn_done(&t);
    desk_close(&d);
}

/* ---- room ------------------------------------------------------------------ */

static void
who_does_not_read_is_not_written_to(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    t.full = true;
    desk_notify(&d, 0, "a");
    desk_step(&d);
    desk_notify(&d, 0, "b");
    desk_step(&d);
    desk_notify(&d, 0, "c");
    desk_step(&d);
    turn_assert_said(&t, "open");
    turn_read(&t);
    desk_step(&d);
    turn_assert_said(&t, "open write");
    assert_int_equal(turn_count(&t, "}\n\n"), 3);
    t.full = true;
    desk_notify(&d, 0, "d");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open write write end");
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&t);
    desk_close(&d);
}

static void
an_answer_behind_what_was_not_read_waits_for_it(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    t.full = true;
    desk_notify(&d, 0, "a");
    desk_step(&d);
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open");
    turn_read(&t);
    desk_step(&d);
    turn_assert_said(&t, "open write end");
    turn_done(&t);
    desk_close(&d);
}

static void
one_write_is_bounded(void **state)
{
    struct desk d;
    struct turn t;
    char text[200];

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    desk_start(&d);
    start(&d, &t);
    for (int i = 0; i < 1000; i++)
        desk_notify(&d, 0, text);
    desk_finish(&d, 0, "{}");
    for (int i = 0; i < 10; i++)
        desk_step(&d);
    assert_int_equal(turn_count(&t, "}\n\n"), 1001);
    assert_true(t.longest < MCPI_HTTP_BATCH + 1024);
    assert_non_null(strstr(t.said, "write end"));
    turn_done(&t);
    desk_close(&d);
}

/* ---- the client leaves ----------------------------------------------------- */

static void
E18_a_disconnect_cancels_exactly_its_request(void **state)
{
    struct desk d;
    struct turn a, b;

    (void)state;
    desk_start(&d);
    desk_post(&d, NULL, &a, MODERN_CALL("1"));
    desk_post(&d, NULL, &b, MODERN_CALL("1"));
    desk_notify(&d, 0, "a");
    desk_notify(&d, 1, "b");
    desk_step(&d);
    turn_go(&a);
    assert_int_equal(d.jobs[0].told, 1);
    assert_int_equal(d.jobs[1].told, 0);
    assert_int_equal(desk_streams(&d), 1);
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&a, "open");
    turn_assert_said(&b, "open write end");
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

static void
E19_so_it_does_before_anything_was_said(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.may_sse = false;
    start(&d, &t);
    turn_go(&t);
    assert_int_equal(d.jobs[0].told, 1);
    assert_int_equal(desk_streams(&d), 0);
    desk_step(&d);
    turn_assert_said(&t, "");
    turn_done(&t);
    desk_close(&d);
}

static void
E18_a_handler_that_stops_at_once_is_no_trouble(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.prompt = true;
    start(&d, &t);
    turn_go(&t);
    assert_false(desk_job(&d, 0)->running);
    assert_int_equal(desk_streams(&d), 0);
    desk_step(&d);
    turn_assert_said(&t, "");
    turn_done(&t);
    desk_close(&d);
}

static void
E21_F35_whatever_is_said_afterwards_is_dropped(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    desk_notify(&d, 0, "a");
    desk_step(&d);
    t.full = true;
    desk_notify(&d, 0, "b");
    desk_step(&d);
    desk_notify(&d, 0, "waits");
    turn_go(&t);
    desk_notify(&d, 0, "c");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    desk_pass(&d, 2 * PING);
    turn_assert_said(&t, "open write");
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&t);
    desk_close(&d);
}

static void
an_answer_that_waits_goes_with_its_client(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    desk_finish(&d, 0, "{}");
    turn_go(&t);
    desk_step(&d);
    turn_assert_said(&t, "");
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&t);
    desk_close(&d);
}

/* ---- time ------------------------------------------------------------------ */

static void
E22_a_quiet_stream_is_pinged(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    desk_notify(&d, 0, "a");
    desk_step(&d);
    desk_pass(&d, PING - 1);
    turn_assert_said(&t, "open");
    desk_pass(&d, 1);
    turn_assert_said(&t, "open write");
    assert_string_equal(t.text + t.len - 3, ":\n\n");
    desk_pass(&d, PING / 2);
    desk_notify(&d, 0, "b");
    desk_step(&d);
    desk_pass(&d, PING - 1);
    turn_assert_said(&t, "open write write");
    desk_pass(&d, 1);
    turn_assert_said(&t, "open write write write");
    turn_go(&t);
    assert_int_equal(d.jobs[0].told, 1);
    turn_done(&t);
    desk_close(&d);
}

static void
E22_who_has_enough_to_read_is_not_pinged(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    t.full = true;
    desk_notify(&d, 0, "a");
    desk_step(&d);
    desk_pass(&d, PING);
    desk_pass(&d, PING);
    turn_assert_said(&t, "open");
    turn_read(&t);
    desk_pass(&d, PING);
    turn_assert_said(&t, "open write");
    turn_go(&t);
    turn_done(&t);
    desk_close(&d);
}

static void
E23_a_silent_handler_gets_an_event_stream(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    start(&d, &t);
    desk_pass(&d, PING - 1);
    turn_assert_said(&t, "");
    desk_pass(&d, 1);
    turn_assert_said(&t, "open");
    assert_string_equal(t.type, "text/event-stream");
    assert_string_equal(t.text, ":\n\n");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "open write end");
    turn_done(&t);
    desk_close(&d);
}

static void
E23_but_not_for_who_reads_none(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.may_sse = false;
    start(&d, &t);
    desk_pass(&d, PING);
    desk_pass(&d, PING);
    turn_assert_said(&t, "");
    desk_finish(&d, 0, "{}");
    desk_step(&d);
    turn_assert_said(&t, "reply");
    turn_done(&t);
    desk_close(&d);
}

static void
pings_can_be_turned_off(void **state)
{
    struct desk d;
    struct turn t;

    (void)state;
    desk_start(&d);
    d.http.ping_ms = -1;
    start(&d, &t);
    desk_pass(&d, 100 * PING);
    turn_assert_said(&t, "");
    turn_go(&t);
    turn_done(&t);
    desk_close(&d);
}

/* ---- other ends ------------------------------------------------------------ */

static void
what_cannot_be_said_breaks_the_response(void **state)
{
    struct desk d;
    struct turn a, b;

    (void)state;
    desk_start(&d);
    desk_post(&d, NULL, &a, MODERN_CALL("1"));
    mcpi_http_stream_fail(d.last, MCP_E_NOMEM);
    desk_post(&d, NULL, &b, MODERN_CALL("2"));
    turn_assert_said(&a, "");
    desk_step(&d);
    turn_assert_said(&a, "abort");
    assert_int_equal(d.jobs[0].told, 1);
    desk_finish(&d, 1, "{}");
    desk_step(&d);
    turn_assert_said(&b, "reply");
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

static void
an_end_from_outside_is_in_order(void **state)
{
    struct desk d;
    struct turn a, b;

    (void)state;
    desk_start(&d);
    start(&d, &a);
    mcpi_http_stream_end(d.last);
    turn_assert_said(&a, "abort");
    start(&d, &b);
    desk_notify(&d, 1, "a");
    desk_step(&d);
    desk_notify(&d, 1, "b");
    mcpi_http_stream_end(d.last);
    turn_assert_said(&b, "open end");
    desk_step(&d);
    assert_int_equal(desk_streams(&d), 0);
    turn_done(&a);
    turn_done(&b);
    desk_close(&d);
}

/* Whatever fails, the request has one end: an answer, or a broken connection. */
static void
flow(struct test_mem *mem, void *user)
{
    struct desk d;
    struct turn t;

    (void)user;
    turn_init(&t);
    if (desk_open(&d, mem) == 0 && desk_try_post(&d, NULL, &t, MODERN_CALL("1")) == 0) {
        desk_step(&d);
        if (d.job_count > 0) {
            desk_notify(&d, 0, "a");
            desk_step(&d);
            desk_finish(&d, 0, "{\"content\":[]}");
        }
        desk_step(&d);
        assert_true(turn_is_over(&t));
        assert_non_null(t.said[0] ? t.said : NULL);
    }
    desk_close(&d);
    turn_done(&t);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 4);
}

TEST_MAIN(

    TEST(what_is_all_there_at_once_is_one_write),

    TEST(who_does_not_read_is_not_written_to),
    TEST(an_answer_behind_what_was_not_read_waits_for_it), TEST(one_write_is_bounded),
    TEST(E18_a_disconnect_cancels_exactly_its_request),
    TEST(E19_so_it_does_before_anything_was_said),
    TEST(E18_a_handler_that_stops_at_once_is_no_trouble),
    TEST(E21_F35_whatever_is_said_afterwards_is_dropped),
    TEST(an_answer_that_waits_goes_with_its_client), TEST(E22_a_quiet_stream_is_pinged),
    TEST(E22_who_has_enough_to_read_is_not_pinged),
    TEST(E23_a_silent_handler_gets_an_event_stream),
    TEST(E23_but_not_for_who_reads_none), TEST(pings_can_be_turned_off),

    TEST(what_cannot_be_said_breaks_the_response),
    TEST(an_end_from_outside_is_in_order), TEST(each_allocation_may_fail))
