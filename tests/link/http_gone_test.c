/* http_gone_test.c - clients that leave, are slow, do not read: in each phase of a request */
#include "link/http_connection.h"
#include "link/http_fixture.h"

/* ---- who leaves -------------------------------------------------------------------- */

enum phase { IDLE, HEAD, BODY, SERVING, STREAMING, BEHIND, PHASES };
enum way { FIN, HALF, RESET, NOTIFY, WAYS };

/* A client, brought to that phase. */
static void
client_bring(struct client *c, struct fixture *f, enum phase phase)
{
    static const char *const sent[PHASES] = {
        "",        "POST /mcp HTTP/1.1\r\nHo", POST("/mcp", "5", "he"), GET("/a"),
        GET("/a"), GET("/a") GET("/b")};
    int before = f->served;

    f->hold = true;
    f->held_count = 0;
    client_open(c, f);
    client_send(c, sent[phase]);
    if (phase >= SERVING)
        UNTIL(f, f->served == before + 1);
    step(f);
    if (phase == STREAMING) {
        assert_true(turn_open(f->held[0], "event"));
        client_await(c, "event");
    }
}

static void
client_leave(struct client *c, enum way way)
{
    switch (way) {
    case FIN:
        close(c->fd);
        c->fd = -1;
        break;
    case HALF:
        assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
        break;
    case RESET:
        client_reset(c);
        break;
    default:
        assert_int_equal(SSL_shutdown(c->session.ssl), 0);
        client_push_session(c);
        break;
    }
}

/* E25: a half-close is one too. */
static void
E25_who_leaves_is_gone_in_every_phase_and_once(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    for (int way = 0; way < (f.tls ? WAYS : NOTIFY); way++)
        for (int phase = 0; phase < PHASES; phase++) {
            f.gone = 0;
            client_bring(&c, &f, (enum phase)phase);
            client_leave(&c, (enum way)way);
            UNTIL(&f, f.connections == 0);
            step(&f);
            assert_int_equal(f.gone, phase >= SERVING);
            client_close(&c);
        }
    fixture_close(&f);
}

static void
on_post(struct mcpi_post *post)
{
    struct fixture *f = MCPI_CONTAINER(post, struct fixture, post);

    assert_true(turn_reply(f->held[0], "in time"));
}

static void
F10_a_result_that_came_home_before_the_client_left_wins(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, SERVING);
    client_leave(&c, HALF);
    f.post.fn = on_post;
    mcpi_loop_post(f.loop, &f.post);
    UNTIL(&f, f.connections == 0);
    assert_int_equal(f.gone, 0);
    client_await_end(&c);
    assert_string_equal(client_body(&c), "in time");
    client_close(&c);
    fixture_close(&f);
}

static void
F33_many_that_come_and_go_leave_nothing(void **state)
{
    enum { MANY = 10000, MANY_TLS = 100 };
    struct fixture f;
    struct client c;
    long live;
    int many;

    fixture_open(&f, state);
    many = f.tls ? MANY_TLS : MANY;
    f.gone = 0;
    client_bring(&c, &f, STREAMING);
    client_leave(&c, RESET);
    UNTIL(&f, f.gone == 1);
    client_close(&c);
    step(&f);
    live = f.mem.live;
    for (int i = 1; i < many; i++) {
        client_bring(&c, &f, i % 2 ? STREAMING : SERVING);
        client_leave(&c, i % 3 ? FIN : RESET);
        UNTIL(&f, f.gone == i + 1);
        client_close(&c);
    }
    UNTIL(&f, f.listener->handles == 0);
    assert_int_equal(f.mem.live, live);
    assert_int_equal(f.connections, 0);
    fixture_close(&f);
}

static void
a_write_to_one_who_has_left_is_gone_later(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, STREAMING);
    client_leave(&c, RESET);
    assert_false(turn_write(f.held[0], "one more")); /* the loop has not looked */
    assert_int_equal(f.gone, 0);                     /* not from inside */
    assert_false(turn_write(f.held[0], "and more"));
    UNTIL(&f, f.gone == 1);
    assert_int_equal(f.connections, 0);
    client_close(&c);
    fixture_close(&f);
}

static void
an_answer_to_one_who_has_left_ends_it(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, SERVING);
    client_leave(&c, RESET);
    assert_false(turn_reply(f.held[0], "late"));
    UNTIL(&f, f.connections == 0);
    assert_int_equal(f.gone, 0); /* nobody served it any more */
    client_close(&c);
    fixture_close(&f);
}

/* ---- bytes behind an open answer --------------------------------------------------------- */

static void
E26_bytes_behind_an_open_stream_are_kept_and_too_many_are_a_disconnect(void **state)
{
    char junk[8192];
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    memset(junk, '\n', sizeof(junk)); /* empty lines, as far as HTTP goes */
    client_bring(&c, &f, STREAMING);
    for (size_t i = 0; i < MCPI_HTTP_BEHIND / sizeof(junk); i++) {
        client_send_bytes(&c, junk, sizeof(junk));
        step(&f);
    }
    for (int i = 0; i < 10; i++)
        step(&f);
    assert_int_equal(f.gone, 0);
    assert_true(turn_write(f.held[0], "still here"));
    client_await(&c, "still here");
    client_send_bytes(&c, junk, 1);
    UNTIL(&f, f.gone == 1);
    assert_int_equal(f.connections, 0);
    client_close(&c);
    fixture_close(&f);
}

/* ---- who does not read -------------------------------------------------------------------- */

static char *
long_text(size_t len)
{
    char *text = malloc(len + 1);

    assert_non_null(text);
    memset(text, 'x', len);
    text[len] = '\0';
    return text;
}

enum { LONG = 16 << 20 };

static void
what_is_not_taken_is_kept_and_said_to_have_left_when_it_has(void **state)
{
    char *text = long_text(LONG);
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, STREAMING);
    client_forget(&c);
    assert_false(turn_write(f.held[0], text));
    step(&f);
    assert_int_equal(f.written, 0);
    CLIENT_UNTIL(&c, f.written == 1);
    CLIENT_UNTIL(&c, c.len >= LONG + 11); /* "1000000\r\n", "\r\n" */
    assert_true(turn_write(f.held[0], "next"));
    client_await(&c, "next");
    turn_end(f.held[0]);
    client_await(&c, "\r\n0\r\n\r\n");
    assert_int_equal(f.written, 1);
    assert_int_equal(f.gone, 0);
    client_close(&c);
    fixture_close(&f);
    free(text);
}

static void
an_end_waits_behind_what_is_kept(void **state)
{
    char *text = long_text(LONG);
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, STREAMING);
    assert_false(turn_write(f.held[0], text));
    turn_end(f.held[0]);
    client_send(&c, GET("/next"));
    f.hold = false;
    step(&f);
    assert_int_equal(f.served, 1); /* not before the answer has left */
    CLIENT_UNTIL(&c, c.len > LONG);
    client_await(&c, "\r\n0\r\n\r\n");
    client_await(&c, "GET /next ");
    assert_int_equal(f.written, 0);
    client_close(&c);
    fixture_close(&f);
    free(text);
}

static void
a_long_answer_to_an_old_client_ends_with_the_connection(void **state)
{
    char *text = long_text(LONG);
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, "GET / HTTP/1.0\r\n\r\n");
    UNTIL(&f, f.held_count == 1);
    assert_true(turn_open(f.held[0], "event"));
    assert_false(turn_write(f.held[0], text));
    turn_end(f.held[0]);
    client_await_end(&c);
    assert_false(c.reset);
    assert_int_equal(strlen(client_body(&c)), LONG + 5);
    client_close(&c);
    fixture_close(&f);
    free(text);
}

static void
who_takes_nothing_for_too_long_is_gone(void **state)
{
    char *text = long_text(LONG);
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, STREAMING);
    assert_false(turn_write(f.held[0], text));
    step(&f);
    f.now += 29 * SECOND;
    step(&f);
    assert_int_equal(f.gone, 0);
    for (int i = 0; i < 30; i++) { /* he reads some, which is enough */
        client_read(&c);
        step(&f);
    }
    f.now += 2 * SECOND;
    step(&f);
    assert_int_equal(f.gone, 0);
    f.now += 29 * SECOND; /* and then nothing */
    step(&f);
    assert_int_equal(f.gone, 0);
    f.now += 2 * SECOND;
    step(&f);
    assert_int_equal(f.gone, 1);
    assert_int_equal(f.written, 0);
    client_close(&c);
    fixture_close(&f);
    free(text);
}

static void
one_who_leaves_while_something_is_kept_is_gone_once(void **state)
{
    char *text = long_text(LONG);
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    for (int way = FIN; way <= RESET; way++) {
        f.gone = 0;
        client_bring(&c, &f, STREAMING);
        assert_false(turn_write(f.held[0], text));
        client_leave(&c, (enum way)way);
        UNTIL(&f, f.gone == 1 && f.connections == 0);
        step(&f);
        assert_int_equal(f.gone, 1);
        assert_int_equal(f.written, 0);
        client_close(&c);
    }
    fixture_close(&f);
    free(text);
}

/* ---- who is slow ------------------------------------------------------------------------- */

/* A byte every second does not help. */
static void
a_head_must_come_in_time(void **state)
{
    static const char head[] = "GET /a HTTP/1.1\r\nHost: a\r\nX: yyyyyyyyyy";
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    for (int i = 0; i < 10; i++) {
        client_send_bytes(&c, head + i, 1);
        step(&f);
        f.now += SECOND - (i == 9);
        step(&f);
        client_read(&c);
        assert_int_equal(c.len, 0);
    }
    f.now += 1;
    client_await_end(&c);
    assert_memory_equal(c.text, "HTTP/1.1 408 Request Timeout\r\n", 30);
    assert_non_null(strstr(c.text, "\"code\":-32600"));
    assert_int_equal(f.served, 0);
    client_close(&c);
    UNTIL(&f, f.connections == 0);
    fixture_close(&f);
}

static void
a_body_must_come_in_time(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, POST("/a", "100", ""));
    step(&f);
    for (int i = 0; i < 59; i++) {
        client_send(&c, "x");
        step(&f);
        f.now += SECOND;
        step(&f);
    }
    client_read(&c);
    assert_int_equal(c.len, 0);
    f.now += SECOND;
    client_await_end(&c);
    assert_memory_equal(c.text, "HTTP/1.1 408 ", 13);
    client_close(&c);
    fixture_close(&f);
}

static void
an_idle_connection_is_closed_after_a_while(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    for (int i = 0; i < 3; i++) { /* a request begins it anew */
        client_send(&c, GET("/a"));
        client_await(&c, "GET /a ");
        client_forget(&c);
        f.now += 74 * SECOND;
        step(&f);
        step(&f);
        assert_int_equal(f.connections, 1);
    }
    f.now += SECOND;
    client_await_end(&c);
    assert_int_equal(c.len, 0);
    assert_false(c.reset);
    assert_int_equal(f.connections, 0);
    client_close(&c);
    fixture_close(&f);
}

static void
an_open_answer_has_no_limit(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_bring(&c, &f, STREAMING);
    for (int i = 0; i < 10; i++) {
        f.now += 1000 * SECOND;
        step(&f);
    }
    assert_int_equal(f.gone, 0);
    assert_true(turn_write(f.held[0], "still here"));
    client_await(&c, "still here");
    client_close(&c);
    fixture_close(&f);
}

static void
one_who_does_not_close_after_the_last_answer_is_closed(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, "GET /s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    client_await_end(&c);
    step(&f);
    assert_int_equal(f.connections, 1);
    f.now += 3 * SECOND;
    UNTIL(&f, f.connections == 0);
    client_close(&c);
    fixture_close(&f);
}

static void
one_who_sends_without_end_after_the_last_answer_is_closed(void **state)
{
    char *text = long_text(4 << 20);
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, POST("/refused", "999999", ""));
    client_await(&c, "not here");
    client_push(&c, text, 4 << 20);
    UNTIL(&f, f.connections == 0);
    client_close(&c);
    fixture_close(&f);
    free(text);
}

static void
a_handshake_must_come_in_time(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open_raw(&c, &f);
    UNTIL(&f, f.connections == 1);
    f.now += 9 * SECOND;
    step(&f);
    assert_int_equal(f.connections, 1);
    f.now += SECOND;
    UNTIL(&f, f.connections == 0);
    client_close(&c);
    fixture_close(&f);
}

static void
what_is_no_handshake_is_closed(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open_raw(&c, &f);
    UNTIL(&f, f.connections == 1);
    client_send(&c, GET("/plain"));
    client_await_end(&c);
    assert_int_equal(f.served, 0);
    assert_int_equal(f.connections, 0);
    client_close(&c);
    fixture_close(&f);
}

TLS_TEST_MAIN(
    BOTH(E25_who_leaves_is_gone_in_every_phase_and_once),
    BOTH(F10_a_result_that_came_home_before_the_client_left_wins),
    BOTH(F33_many_that_come_and_go_leave_nothing),
    BOTH(a_write_to_one_who_has_left_is_gone_later),
    BOTH(an_answer_to_one_who_has_left_ends_it),
    BOTH(E26_bytes_behind_an_open_stream_are_kept_and_too_many_are_a_disconnect),
    BOTH(what_is_not_taken_is_kept_and_said_to_have_left_when_it_has),
    BOTH(an_end_waits_behind_what_is_kept),
    BOTH(a_long_answer_to_an_old_client_ends_with_the_connection),
    BOTH(who_takes_nothing_for_too_long_is_gone),
    BOTH(one_who_leaves_while_something_is_kept_is_gone_once),
    BOTH(a_head_must_come_in_time), BOTH(a_body_must_come_in_time),
    BOTH(an_idle_connection_is_closed_after_a_while), BOTH(an_open_answer_has_no_limit),
    BOTH(one_who_does_not_close_after_the_last_answer_is_closed),
    BOTH(one_who_sends_without_end_after_the_last_answer_is_closed),
    TEST_AS("tls.a_handshake_must_come_in_time", a_handshake_must_come_in_time,
            &secure),
    TEST_AS("tls.what_is_no_handshake_is_closed", what_is_no_handshake_is_closed,
            &secure))
