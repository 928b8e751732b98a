/* http_connection_test.c - requests and answers over a socket, plain and with TLS */
#include "link/http_connection.h"

#include "link/http_fixture.h"

/* ---- answers ---------------------------------------------------------------------- */

static void
an_answer_has_a_length_and_a_date_and_the_connection_stays(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    for (int i = 0; i < 3; i++) {
        client_send(&c, POST("/mcp", "5", "hello"));
        client_await(&c, "POST /mcp hello");
        assert_memory_equal(c.text, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
                            43);
        assert_non_null(strstr(c.text, "\r\nContent-Length: 15\r\n"));
        assert_non_null(strstr(c.text, " GMT\r\n"));
        assert_null(strstr(c.text, "\r\nConnection:"));
        assert_string_equal(client_body(&c), "POST /mcp hello");
        client_forget(&c);
    }
    assert_int_equal(f.served, 3);
    client_close(&c);
    fixture_close(&f);
}

static void
an_answer_comes_in_one_segment(void **state)
{
    struct fixture f;
    struct client c;
    char bytes[4096];
    ssize_t n;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, GET("/mcp"));
    UNTIL(&f, f.served == 1);
    n = recv(c.fd, bytes, sizeof(bytes), 0);
    assert_true(n > 100); /* one read has head and body */
    if (!f.tls)
        assert_memory_equal(bytes + n - 9, "GET /mcp ", 9);
    assert_int_equal(recv(c.fd, bytes, sizeof(bytes), MSG_DONTWAIT), -1);
    client_close(&c);
    fixture_close(&f);
}

static void
a_request_may_come_byte_by_byte(void **state)
{
    static const char bytes[] = POST(
        "/a", "3", "abc") "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked"
                          "\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: u\r\n\r\n";
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        client_send_bytes(&c, bytes + i, 1);
        step(&f);
    }
    client_await(&c, "POST /b abcde");
    assert_non_null(strstr(c.text, "POST /a abc"));
    assert_int_equal(f.served, 2);
    client_close(&c);
    fixture_close(&f);
}

static void
chunks_split_at_each_byte_are_one_body(void **state)
{
    static const char bytes[] = "POST /b HTTP/1.1\r\nHost: a\r\n"
                                "Transfer-Encoding: chunked\r\n\r\n"
                                "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    for (size_t split = 1; split < sizeof(bytes) - 1; split++) {
        client_send_bytes(&c, bytes, split);
        step(&f);
        client_send_bytes(&c, bytes + split, sizeof(bytes) - 1 - split);
        client_await(&c, "POST /b abcde");
        client_forget(&c);
    }
    client_close(&c);
    fixture_close(&f);
}

static size_t
count_of(const char *text, const char *what)
{
    size_t count = 0;

    for (text = strstr(text, what); text; text = strstr(text + 1, what))
        count++;
    return count;
}

static void
pipelined_requests_are_answered_in_order(void **state)
{
    enum { MANY = 1000 };
    struct fixture f;
    struct client c;
    char text[64];

    fixture_open(&f, state);
    client_open(&c, &f);
    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text), "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", i);
        client_send(&c, text);
    }
    client_await(&c, "GET /999 ");
    assert_int_equal(f.served, MANY);
    assert_int_equal(count_of(c.text, "HTTP/1.1 200 OK"), MANY);
    assert_true(strstr(c.text, "GET /41 ") < strstr(c.text, "GET /42 "));
    client_close(&c);
    fixture_close(&f);
}

/* Issue 20: a few clients that send short requests by the thousand stall nobody. A turn
 * of the loop has two flushes, and what is read behind them waits. */
static void
a_turn_serves_few_requests_of_one_connection(void **state)
{
    enum { MANY = 4000, FEW = 2 };
    struct fixture f;
    struct client c;
    struct mcpi_buf text;
    int before;

    fixture_open(&f, state);
    client_open(&c, &f);
    mcpi_buf_init(&text, NULL, UINT32_MAX);
    for (int i = 0; i < MANY; i++)
        mcpi_buf_text(&text, GET("/mcp"));
    assert_true(text.len > MCPI_HTTP_BEHIND);
    client_send_bytes(&c, text.data, text.len);
    for (int turns = 0; f.served < MANY; turns++) {
        assert_true(turns < 10 * MANY);
        assert_false(c.ended);
        before = f.served;
        step(&f);
        client_read(&c);
        assert_true(f.served - before <= FEW);
    }
    mcpi_buf_done(&text);
    client_close(&c);
    fixture_close(&f);
}

static void
what_was_said_before_the_end_counts(void **state)
{
    static const char text[] = GET("/1") GET("/2") GET("/3");
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    if (f.tls) {
        assert_int_equal(SSL_write(c.session.ssl, text, sizeof(text) - 1),
                         sizeof(text) - 1);
        assert_int_equal(SSL_shutdown(c.session.ssl), 0);
        client_push_session(&c); /* with its close_notify */
    } else {
        client_send(&c, text);
        assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
    }
    UNTIL(&f, f.connections == 0);
    assert_int_equal(f.served, 3);
    client_close(&c);
    fixture_close(&f);
}

/* A few short ones, of a client that has no share left for longer ones. */
static void
who_has_no_share_left_may_pipeline_a_little(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open_counting(&f, state, 0);
    client_open(&c, &f);
    client_send(&c, GET("/1") GET("/2") GET("/3"));
    client_await(&c, "GET /3 ");
    assert_int_equal(f.served, 3);
    client_close(&c);
    UNTIL(&f, f.connections == 0);
    step(&f);
    fixture_close(&f);
}

static void
E26_what_comes_behind_an_open_answer_waits_for_its_end(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    f.hold = true;
    client_open(&c, &f);
    client_send(&c, GET("/1") GET("/2"));
    client_send(&c, GET("/3"));
    for (size_t i = 0; i < 3; i++) {
        UNTIL(&f, f.held_count == i + 1);
        step(&f);
        assert_int_equal(f.served, i + 1); /* one at a time */
        assert_true(turn_reply(f.held[i], f.seen));
        client_await(&c, f.seen);
    }
    assert_int_equal(f.gone, 0);
    client_close(&c);
    fixture_close(&f);
}

/* ---- refusals ----------------------------------------------------------------------- */

static void
a_refused_head_without_a_body_keeps_the_connection(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, GET("/refused") GET("/ok"));
    client_await(&c, "GET /ok ");
    assert_memory_equal(c.text, "HTTP/1.1 404 Not Found\r\n", 24);
    assert_non_null(strstr(c.text, "not here"));
    assert_int_equal(f.served, 1);
    client_close(&c);
    fixture_close(&f);
}

/* Although the body has not come, and goes on coming. */
static void
a_refused_head_with_a_body_is_answered_at_once_and_closed(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, POST("/refused", "100000", "some"));
    client_await(&c, "not here");
    assert_non_null(strstr(c.text, "\r\nConnection: close\r\n"));
    for (int i = 0; i < 20; i++) {
        client_send(&c, "and some more of it which nobody wants to read any more");
        step(&f);
    }
    client_await_end(&c);
    assert_false(c.reset);
    assert_int_equal(f.served, 0);
    client_close(&c);
    UNTIL(&f, f.connections == 0);
    fixture_close(&f);
}

static void
what_is_no_http_gets_its_status_and_the_end(void **state)
{
    static const struct {
        const char *bytes, *status;
    } rows[] = {
        {"nonsense\r\n\r\n", "HTTP/1.1 400 "},
        {"FROB / HTTP/1.1\r\n\r\n", "HTTP/1.1 501 "},
        {"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 505 "},
        {POST("/", "99999999", ""), "HTTP/1.1 413 "},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n",
         "HTTP/1.1 501 "},
    };
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        client_open(&c, &f);
        client_send(&c, rows[i].bytes);
        client_await_end(&c);
        assert_memory_equal(c.text, rows[i].status, strlen(rows[i].status));
        assert_non_null(strstr(c.text, "\r\nConnection: close\r\n"));
        assert_non_null(strstr(c.text, "\"code\":-32600"));
        client_close(&c);
        UNTIL(&f, f.connections == 0);
    }
    assert_int_equal(f.served, 0);
    fixture_close(&f);
}

static void
a_page_may_read_what_is_no_http_if_its_origin_was_read(void **state)
{
    static const struct {
        const char *bytes;
        bool readable;
    } rows[] = {
        {"GET / HTTP/1.1\r\nOrigin: page\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nOrigin: page\r\nX(: y\r\n", true},
        {"GET / HTTP/1.1\r\nHost: a\r\norigin:\tpage \r\nHost: b\r\n\r\n", true},
        {"GET / HTTP/1.1\r\nOrigin: other\r\n\r\n", false},
        {"GET / HTTP/1.1\r\nX: y\rOrigin: page\r\n\r\n", false},
        {"FROB / HTTP/1.1\r\nOrigin: page\r\n\r\n", false},
        {"\x16\x03\x01", false},
    };
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        client_open(&c, &f);
        client_send(&c, rows[i].bytes);
        client_await_end(&c);
        assert_int_equal(strstr(c.text, "\r\nAccess-Control-Allow-Origin: page") !=
                             NULL,
                         rows[i].readable);
        client_close(&c);
        UNTIL(&f, f.connections == 0);
    }
    fixture_close(&f);
}

static void
too_long_a_head_is_431(void **state)
{
    struct fixture f;
    struct client c;
    char junk[9000];

    fixture_open(&f, state);
    client_open(&c, &f);
    memset(junk, 'x', sizeof(junk));
    client_send(&c, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
    client_send_bytes(&c, junk, sizeof(junk));
    client_await_end(&c);
    assert_memory_equal(c.text, "HTTP/1.1 431 ", 13);
    client_close(&c);
    fixture_close(&f);
}

static void
who_expects_to_be_told_to_go_on_is_told(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, "POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    "Content-Length: 2\r\n\r\n");
    client_await(&c, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_int_equal(f.served, 0);
    client_send(&c, "hi");
    client_await(&c, "POST /e hi");
    client_forget(&c);
    client_send(&c, "POST /refused HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    "Content-Length: 2\r\n\r\n");
    client_await_end(&c);
    assert_memory_equal(c.text, "HTTP/1.1 404 ", 13);
    client_close(&c);
    fixture_close(&f);
}

static void
nobody_is_told_to_go_on_with_a_body_that_is_too_long(void **state)
{
    struct fixture f;
    struct client c;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, "POST /e HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                    "Content-Length: 2000000\r\n\r\n");
    client_await_end(&c);
    assert_memory_equal(c.text, "HTTP/1.1 413 ", 13);
    client_close(&c);
    fixture_close(&f);
}

static void
a_long_body_comes_whole(void **state)
{
    enum { LONG = 1 << 20 };
    char *body = malloc(LONG);
    struct fixture f;
    struct client c;

    memset(body, 'x', LONG);
    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, "POST /l HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n");
    client_send_bytes(&c, body, LONG);
    client_await(&c, "POST /l xxx");
    client_close(&c);
    fixture_close(&f);
    free(body);
}

/* ---- the socket ---------------------------------------------------------------------- */

static void
requests_on_a_kept_connection_allocate_nothing(void **state)
{
    struct fixture f;
    struct client c;
    long total;

    fixture_open(&f, state);
    client_open(&c, &f);
    client_send(&c, POST("/mcp", "5", "hello"));
    client_await(&c, "hello");
    total = f.mem.total;
    for (int i = 0; i < 100; i++) {
        client_forget(&c);
        client_send(&c, POST("/mcp", "5", "hello"));
        client_await(&c, "hello");
    }
    assert_int_equal(f.mem.total, total);
    client_close(&c);
    fixture_close(&f);
}

TLS_TEST_MAIN(BOTH(an_answer_has_a_length_and_a_date_and_the_connection_stays),
              BOTH(an_answer_comes_in_one_segment),
              BOTH(a_request_may_come_byte_by_byte),
              BOTH(chunks_split_at_each_byte_are_one_body),
              BOTH(pipelined_requests_are_answered_in_order),
              BOTH(a_turn_serves_few_requests_of_one_connection),
              BOTH(what_was_said_before_the_end_counts),
              BOTH(who_has_no_share_left_may_pipeline_a_little),
              BOTH(E26_what_comes_behind_an_open_answer_waits_for_its_end),

              BOTH(a_refused_head_without_a_body_keeps_the_connection),
              BOTH(a_refused_head_with_a_body_is_answered_at_once_and_closed),
              BOTH(what_is_no_http_gets_its_status_and_the_end),
              BOTH(a_page_may_read_what_is_no_http_if_its_origin_was_read),
              BOTH(too_long_a_head_is_431),
              BOTH(who_expects_to_be_told_to_go_on_is_told),
              BOTH(nobody_is_told_to_go_on_with_a_body_that_is_too_long),
              BOTH(a_long_body_comes_whole),
              BOTH(requests_on_a_kept_connection_allocate_nothing))
