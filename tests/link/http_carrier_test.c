/* http_carrier_test.c - answers as they leave: whole, in chunks, broken off, in time */
#include "link/http_carrier.h"

#include "link/http_fixture.h"

static void
a_stream_is_chunked_and_the_next_request_follows(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, GET("/s"));
    UNTIL(&f, f.held_count == 1);
    assert_true(turn_open(f.held[0], "first event"));
    assert_true(turn_write(f.held[0], "a second one, longer"));
    assert_true(turn_write(f.held[0], ""));
    turn_end(f.held[0]);
    client_await(&c, "\r\n0\r\n\r\n");
    assert_non_null(strstr(c.text, "\r\nTransfer-Encoding: chunked\r\n"));
    assert_null(strstr(c.text, "Content-Length"));
    assert_string_equal(client_body(&c), "b\r\nfirst event\r\n"
                                         "14\r\na second one, longer\r\n0\r\n\r\n");
    f.hold = false;
    client_send(&c, GET("/next"));
    client_await(&c, "GET /next ");
    client_close(&c);
    fixture_close(&f);
}

static void
head_and_first_event_leave_together(void **state)
{
    struct fixture f;
    struct client c;
    char bytes[4096];
    ssize_t n;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, GET("/s"));
    UNTIL(&f, f.held_count == 1);
    assert_true(turn_open(f.held[0], "event"));
    n = recv(c.fd, bytes, sizeof(bytes), 0);
    if (!f.tls)
        assert_memory_equal(bytes + n - 10, "5\r\nevent\r\n", 10);
    assert_int_equal(recv(c.fd, bytes, sizeof(bytes), MSG_DONTWAIT), -1);
    client_close(&c);
    fixture_close(&f);
}

static void
the_last_event_and_the_end_leave_together(void **state)
{
    struct fixture f;
    struct client c;
    char bytes[4096];
    ssize_t n;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, GET("/s"));
    UNTIL(&f, f.held_count == 1);
    assert_true(turn_open(f.held[0], "event"));
    assert_true(recv(c.fd, bytes, sizeof(bytes), 0) > 0);
    f.held[0]->ends = true;
    assert_true(turn_write(f.held[0], "last"));
    n = recv(c.fd, bytes, sizeof(bytes), 0);
    if (!f.tls) {
        assert_int_equal(n, 14);
        assert_memory_equal(bytes, "4\r\nlast\r\n0\r\n\r\n", 14);
    }
    f.held[0]->ends = false;
    turn_end(f.held[0]);
    assert_int_equal(recv(c.fd, bytes, sizeof(bytes), MSG_DONTWAIT), -1);
    f.hold = false;
    if (!f.tls) { /* its records were read past the client */
        client_send(&c, GET("/next"));
        client_await(&c, "GET /next ");
    }
    client_close(&c);
    fixture_close(&f);
}

static void
a_stream_that_only_ends_leaves_at_once(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, GET("/s"));
    UNTIL(&f, f.held_count == 1);
    f.held[0]->ends = true;
    assert_true(turn_open(f.held[0], ""));
    f.held[0]->ends = false;
    turn_end(f.held[0]);
    client_await(&c, "\r\n\r\n0\r\n\r\n");
    f.hold = false;
    client_send(&c, GET("/next"));
    client_await(&c, "GET /next ");
    client_close(&c);
    fixture_close(&f);
}

static void
answers_of_one_turn_reach_their_own_clients(void **state)
{
    static const char *const asks[] = {
        POST("/mcp", "3", "one"), POST("/mcp", "5", "three"), POST("/mcp", "3", "two")};
    static const char *const told[] = {"one", "three", "two"};
    struct client c[3];
    struct fixture f;

    fixture_open(&f, state);
    for (int i = 0; i < 3; i++)
        client_open(&c[i], &f);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            client_forget(&c[i]);
            client_send(&c[i], asks[i]);
        }
        for (int i = 0; i < 3; i++)
            client_await(&c[i], told[i]);
    }
    for (int i = 0; i < 3; i++)
        client_close(&c[i]);
    fixture_close(&f);
}

static void
an_old_client_gets_a_stream_that_ends_with_the_connection(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, "GET /s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    UNTIL(&f, f.held_count == 1);
    assert_true(turn_open(f.held[0], "event"));
    assert_true(turn_write(f.held[0], "event"));
    turn_end(f.held[0]);
    client_await_end(&c);
    assert_non_null(strstr(c.text, "\r\nConnection: close\r\n"));
    assert_null(strstr(c.text, "chunked"));
    assert_string_equal(client_body(&c), "eventevent");
    assert_false(c.reset);
    client_close(&c);
    UNTIL(&f, f.connections == 0);
    fixture_close(&f);
}

static void
an_old_client_may_keep_its_connection(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    for (int i = 0; i < 2; i++) {
        client_send(&c, "GET /s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        client_await(&c, "GET /s ");
        assert_non_null(strstr(c.text, "\r\nConnection: keep-alive\r\n"));
        client_forget(&c);
    }
    client_send(&c, "GET /s HTTP/1.0\r\n\r\n");
    client_await_end(&c);
    assert_string_equal(client_body(&c), "GET /s ");
    client_close(&c);
    fixture_close(&f);
}

static void
connection_close_is_kept_to(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c,
                "GET /s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/t"));
    client_await_end(&c);
    assert_non_null(strstr(c.text, "\r\nConnection: close\r\n"));
    assert_string_equal(client_body(&c), "GET /s ");
    assert_false(c.reset);
    assert_int_equal(f.served, 1);
    client_close(&c);
    UNTIL(&f, f.connections == 0);
    fixture_close(&f);
}

static void
an_aborted_answer_cannot_be_taken_for_a_whole_one(void **state)
{
    static const char *const requests[] = {GET("/s"), "GET /s HTTP/1.0\r\n\r\n"};
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    for (size_t i = 0; i < 2; i++) {
        client_open(&c, &f);
        client_send(&c, requests[i]);
        UNTIL(&f, f.held_count == i + 1);
        assert_true(turn_open(f.held[i], "event"));
        turn_abort(f.held[i]);
        client_await_end(&c);
        assert_null(strstr(c.text, "\r\n0\r\n\r\n"));
        assert_int_equal(c.reset, i == 1);
        client_close(&c);
        UNTIL(&f, f.connections == 0);
    }
    assert_int_equal(f.gone, 0);
    fixture_close(&f);
}

static void
head_is_answered_without_a_body(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, "HEAD /h HTTP/1.1\r\nHost: a\r\n\r\n");
    client_await(&c, "\r\n\r\n");
    assert_non_null(strstr(c.text, "Content-Length: 8\r\n"));
    assert_string_equal(client_body(&c), "");
    client_send(&c, "HEAD /refused HTTP/1.1\r\nHost: a\r\n\r\n" GET("/x"));
    client_await(&c, "GET /x ");
    assert_null(strstr(c.text, "not here"));
    client_close(&c);
    fixture_close(&f);
}

static void
an_answer_without_memory_for_its_head_ends_the_connection(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, GET("/s"));
    UNTIL(&f, f.held_count == 1);
    f.mem.fail_at = f.mem.total + 1;
    assert_false(turn_open(f.held[0], "event"));
    assert_int_equal(f.gone, 0); /* who serves it does not hear it from inside */
    client_await_end(&c);
    assert_int_equal(f.gone, 1);
    assert_string_equal(c.text, "");
    client_close(&c);
    fixture_close(&f);
}

/* ---- time -------------------------------------------------------------------------- */

static void
on_timer(struct mcpi_timer *timer, int64_t now)
{
    (void)timer, (void)now;
}

static void
on_flush(struct mcpi_flush *flush)
{
    (void)flush;
}

static void
a_deadline_moves_and_its_timer_stays(void **state)
{
    struct mcpi_http_carrier c = {0};
    struct fixture f;
    int64_t first;

    fixture_open(&f, state);
    mcpi_http_carrier_init(&c, f.listener, on_timer, on_flush);
    mcpi_http_carrier_due_in(&c, 100);
    first = mcpi_timer_at(&c.timer);
    mcpi_http_carrier_due_in(&c, 300);
    assert_int_equal(mcpi_timer_at(&c.timer), first);
    assert_false(mcpi_http_carrier_is_due(&c, first));
    assert_int_equal(mcpi_timer_at(&c.timer), first + 200 * MS);
    assert_true(mcpi_http_carrier_is_due(&c, first + 200 * MS));
    mcpi_http_carrier_due_in(&c, 50);
    assert_int_equal(mcpi_timer_at(&c.timer), first - 50 * MS);
    mcpi_timer_disarm(mcpi_loop_timers(f.loop), &c.timer);
    mcpi_http_carrier_begin(&c, false, false);
    assert_false(mcpi_http_carrier_is_due(&c, first + SECOND));
    assert_int_equal(mcpi_timer_at(&c.timer), MCPI_NEVER);
    fixture_close(&f);
}

TLS_TEST_MAIN(BOTH(a_stream_is_chunked_and_the_next_request_follows),
              BOTH(head_and_first_event_leave_together),
              BOTH(the_last_event_and_the_end_leave_together),
              BOTH(a_stream_that_only_ends_leaves_at_once),
              BOTH(answers_of_one_turn_reach_their_own_clients),
              BOTH(an_old_client_gets_a_stream_that_ends_with_the_connection),
              BOTH(an_old_client_may_keep_its_connection),
              BOTH(connection_close_is_kept_to),
              BOTH(an_aborted_answer_cannot_be_taken_for_a_whole_one),
              BOTH(head_is_answered_without_a_body),
              BOTH(an_answer_without_memory_for_its_head_ends_the_connection),
              BOTH(a_deadline_moves_and_its_timer_stays))
