/* http_matrix_guard.c - over HTTP: who may come, how much, and how slowly */
#include "end/http_matrix.h"

#define LINE "POST /mcp HTTP/1.1\r\n"
#define HOST "Host: 127.0.0.1\r\n"
#define TYPE "Content-Type: application/json\r\n"
#define ACCEPT "Accept: application/json, text/event-stream\r\n"
/* It strikes also who is slow because the machine is busy, as our own client may be. */
#define SLOW_MS 2500

/* ---- refusals -------------------------------------------------------------- */

/* A refusal is a JSON-RPC error, whatever its status. */
static void
expect_refusal(struct http_raw *h, int status)
{
    assert_int_equal(http_answer(h), status);
    assert_string_equal(http_field(h, "Content-Type"), "application/json");
    matrix_has(h->body, "\"jsonrpc\":\"2.0\"");
    matrix_has(h->body, "\"error\"");
}

static void
what_is_not_ours_is_refused_with_its_status(struct matrix *m)
{
    static const struct {
        const char *head;
        int status;
    } words[] = {
        {"POST /other HTTP/1.1\r\n" HOST TYPE ACCEPT, 404},
        {LINE "Host: evil.example\r\n" TYPE ACCEPT, 403},
        {LINE HOST "Origin: https://evil.example\r\n" TYPE ACCEPT, 403},
        {LINE HOST "Origin: null\r\n" TYPE ACCEPT, 403},
        {"PUT /mcp HTTP/1.1\r\n" HOST TYPE ACCEPT, 405},
        {"PATCH /mcp HTTP/1.1\r\n" HOST TYPE ACCEPT, 405},
        {"PROPFIND /mcp HTTP/1.1\r\n" HOST TYPE ACCEPT, 501},
        {"FROB /mcp HTTP/1.1\r\n" HOST TYPE ACCEPT, 501},
        {LINE HOST TYPE ACCEPT "Expect: 200-maybe\r\n", 417},
        {LINE HOST TYPE ACCEPT "Content-Encoding: gzip\r\n", 415},
        {LINE HOST "Content-Type: application/json;charset=utf-16\r\n" ACCEPT, 415},
        {LINE HOST "Content-Type: text/plain\r\n" ACCEPT, 415},
        {LINE HOST ACCEPT, 415},
        {LINE HOST TYPE "Accept: text/html\r\n", 406},
    };
    struct http_raw h;

    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        matrix_open(m, &h);
        http_say(&h, words[i].head);
        http_say(&h, "Content-Length: 2\r\n\r\n{}");
        expect_refusal(&h, words[i].status);
        if (words[i].status == 405)
            matrix_has(http_field(&h, "Allow"), "POST");
        /* Nobody has read its body. */
        assert_string_equal(http_field(&h, "Connection"), "close");
        http_expect_end(&h);
        http_close(&h);
    }
    matrix_alive(m);
}

static void
what_is_too_long_is_refused_with_its_status(struct matrix *m)
{
    char *text = malloc(8192);
    struct http_raw h;

    assert_non_null(text);
    matrix_open(m, &h); /* it is said before the body is sent */
    http_say(&h, LINE HOST TYPE ACCEPT "Content-Length: 3000\r\n\r\n");
    expect_refusal(&h, 413);
    http_close(&h);
    matrix_open(m, &h);
    (void)snprintf(text, 8192, "%s%0*d", "bb8\r\n", 3000, 0);
    http_say(&h, LINE HOST TYPE ACCEPT "Transfer-Encoding: chunked\r\n\r\n");
    http_say(&h, text);
    expect_refusal(&h, 413);
    http_close(&h);
    matrix_open(m, &h);
    (void)snprintf(text, 8192, LINE HOST "X-Long: %0*d\r\n\r\n", 6000, 0);
    http_say(&h, text);
    expect_refusal(&h, 431);
    http_expect_end(&h);
    http_close(&h);
    matrix_alive(m);
    free(text);
}

/* Time passes until the server says something on it, or ends it. */
static void
pass_until_heard(struct matrix *m, struct http_raw *h)
{
    while (h->len == h->start && http_wait(h, 1))
        virtual_clock_pass(&m->clock, SLOW_MS);
}

static void
what_does_not_arrive_is_refused_with_its_status(struct matrix *m)
{
    static const char *const words[] = {
        LINE, LINE HOST TYPE ACCEPT "Content-Length: 2\r\n\r\n{",
        LINE HOST TYPE ACCEPT "Transfer-Encoding: chunked\r\n\r\n2\r\n{"};
    struct http_raw h[MATRIX_COUNT(words)], idle, sibling;

    matrix_hold_time(m);
    matrix_call(m, &sibling, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_open(m, &idle);
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        matrix_open(m, &h[i]);
        http_say(&h[i], words[i]);
    }
    matrix_alive(m); /* no time has passed: nobody is refused */
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        assert_true(http_wait(&h[i], 0));
        assert_int_equal(h[i].len, h[i].start);
    }
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        pass_until_heard(m, &h[i]);
        expect_refusal(&h[i], 408);
        http_expect_end(&h[i]);
        http_close(&h[i]);
    }
    pass_until_heard(m, &idle);
    assert_int_equal(http_head(&idle), 0); /* nothing was asked, and nothing refused */
    http_close(&idle);
    matrix_finish(matrix_job(m, 0), "who is served is not idle");
    matrix_expect_last(m, &sibling, "who is served is not idle");
    pass_until_heard(m, &sibling);
    http_expect_end(&sibling); /* now it is */
    http_close(&sibling);
}

static void
too_many_connections_are_turned_away(struct matrix *m)
{
    struct http_raw a, b, c;

    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    matrix_call(m, &a, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_open(m, &b);
    matrix_alive_on(m, &b);
    if (m->tls) { /* not worth a handshake */
        assert_false(http_try_open(&c, m->port, m->context));
    } else {
        http_open(&c, m->port, NULL);
        expect_refusal(&c, 503);
        assert_non_null(http_field(&c, "Retry-After"));
        http_expect_end(&c);
    }
    http_close(&c);
    http_close(&b);
    MATRIX_UNTIL(matrix_counts(m).connections == 1);
    matrix_alive(m); /* there is room again */
    matrix_finish(matrix_job(m, 0), "not this one");
    matrix_expect_last(m, &a, "not this one");
    http_close(&a);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
}

static void
too_many_sessions_are_turned_away(struct matrix *m)
{
    struct http_raw a, h;

    matrix_call(m, &a, "7", "hold", NULL); /* an idle one would make room */
    (void)matrix_job(m, 0);
    matrix_open(m, &h);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY,
                             .body = INITIALIZE("\"second\"", "2025-11-25")));
    expect_refusal(&h, 503);
    matrix_has(h.body, "\"id\":\"second\"");
    assert_non_null(http_field(&h, "Retry-After"));
    assert_null(http_field(&h, "Mcp-Session-Id"));
    matrix_finish(matrix_job(m, 0), "not this one");
    matrix_expect_last(m, &a, "not this one");
    http_close(&a);
    assert_int_equal(matrix_delete(m), 200);
    matrix_forget(m);
    MATRIX_UNTIL(matrix_counts(m).sessions == 0);
    http_close(&h);
    m->session = matrix_hello(m, NULL); /* there is room again */
}

static void
too_many_streams_of_a_session_are_turned_away(struct matrix *m)
{
    struct http_raw h[3];

    for (int i = 0; i < 3; i++) {
        matrix_open(m, &h[i]);
        matrix_get(m, &h[i], NULL);
        if (i < 2)
            assert_int_equal(http_head(&h[i]), 200);
    }
    expect_refusal(&h[2], 429);
    assert_non_null(http_field(&h[2], "Retry-After"));
    http_close(&h[1]);
    MATRIX_UNTIL(matrix_counts(m).streams == 1);
    matrix_get(m, &h[2], NULL);
    assert_int_equal(http_head(&h[2]), 200);
    http_close(&h[0]);
    http_close(&h[2]);
}

/* ---- pages of other origins -------------------------------------------------- */

static const char *const origins[] = {"https://app.example", NULL};

static void
listed_origins_may_call_and_read(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    http_say(&h, "OPTIONS /mcp HTTP/1.1\r\n" HOST "Origin: https://app.example\r\n"
                 "Access-Control-Request-Method: POST\r\n\r\n");
    assert_int_equal(http_answer(&h), 204);
    assert_string_equal(http_field(&h, "Access-Control-Allow-Origin"),
                        "https://app.example");
    matrix_has(http_field(&h, "Access-Control-Allow-Methods"), "POST");
    matrix_has(http_field(&h, "Access-Control-Allow-Headers"), "mcp-session-id");
    matrix_ask(m, &h,
               MATRIX_ASK(.id = "7", .name = "echo",
                          .fields = "Origin: https://app.example\r\n"));
    matrix_expect_last(m, &h, "\"result\"");
    assert_string_equal(http_field(&h, "Access-Control-Allow-Origin"),
                        "https://app.example");
    matrix_has(http_field(&h, "Access-Control-Expose-Headers"), "Mcp-Session-Id");
    assert_string_equal(http_field(&h, "Vary"), "Origin");
    matrix_ask(m, &h,
               MATRIX_ASK(.id = "7", .name = "echo",
                          .fields = "Origin: https://evil.example\r\n"));
    assert_int_equal(http_answer(&h), 403);
    assert_null(http_field(&h, "Access-Control-Allow-Origin"));
    http_close(&h);
    matrix_open(m, &h);
    matrix_alive_on(m, &h);
    assert_null(http_field(&h, "Access-Control-Allow-Origin"));
    http_close(&h);
}

static void
a_stream_says_whose_it_may_be(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    matrix_ask(m, &h,
               MATRIX_ASK(.id = "7", .name = "hold", .meta = "\"progressToken\":1,",
                          .fields = "Origin: https://app.example\r\n"));
    (void)mcp_request_progress(matrix_job(m, 0)->req, 1, 2, NULL);
    matrix_expect(m, &h, "\"progress\":1");
    assert_string_equal(http_field(&h, "Access-Control-Allow-Origin"),
                        "https://app.example");
    matrix_finish(matrix_job(m, 0), "there");
    matrix_expect_last(m, &h, "there");
    http_close(&h);
}

#define PAGE "Origin: https://app.example\r\n"
#define SAYS_LENGTH(n) "Content-Length: " n "\r\n\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define DENY(status) "X-Deny: " status "\r\n"

/* Denies with the status that the request itself wishes for. */
static void
identify_as_wished(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *status = mcp_http_header(request, "X-Deny");

    (void)user;
    if (status)
        mcp_http_deny(ticket, (int)strtol(status, NULL, 10), "Bearer", "no");
    else
        mcp_http_allow(ticket, "");
}

static bool
field_has(const struct http_raw *h, const char *name, const char *part)
{
    const char *value = http_field(h, name);

    return value && strstr(value, part);
}

/* By the page that has asked. */
static bool
may_be_read(const struct http_raw *h)
{
    return field_has(h, "Access-Control-Allow-Origin", "https://app.example") &&
           field_has(h, "Access-Control-Expose-Headers", "Mcp-Session-Id") &&
           field_has(h, "Access-Control-Expose-Headers", "WWW-Authenticate") &&
           field_has(h, "Access-Control-Expose-Headers", "Retry-After") &&
           field_has(h, "Vary", "Origin");
}

static void
listed_origins_may_read_every_refusal(struct matrix *m)
{
    static const struct {
        const char *bytes;
        int status;
    } rows[] = {
        {LINE PAGE "\r\n", 400},
        {LINE HOST PAGE "X(: y\r\n", 400},
        {LINE HOST PAGE "Content-Length: x\r\n", 400},
        {LINE HOST PAGE TYPE ACCEPT CHUNKED "x\r\n", 400},
        {LINE HOST PAGE TYPE ACCEPT SAYS_LENGTH("1") "{", 400},
        {LINE HOST PAGE TYPE ACCEPT SAYS_LENGTH("2") "{}", 400},
        {LINE HOST PAGE TYPE ACCEPT DENY("401") SAYS_LENGTH("2") "{}", 401},
        {LINE HOST PAGE TYPE ACCEPT DENY("403") SAYS_LENGTH("2") "{}", 403},
        {LINE "Host: evil.example\r\n" PAGE TYPE ACCEPT SAYS_LENGTH("2") "{}", 403},
        {"POST /other HTTP/1.1\r\n" HOST PAGE TYPE ACCEPT SAYS_LENGTH("2") "{}", 404},
        {"GET /mcp HTTP/1.1\r\n" HOST PAGE "Mcp-Session-Id: x\r\n\r\n", 404},
        {"PUT /mcp HTTP/1.1\r\n" HOST PAGE "\r\n", 405},
        {LINE HOST PAGE TYPE "Accept: text/html\r\n" SAYS_LENGTH("2") "{}", 406},
        {LINE HOST PAGE TYPE ACCEPT SAYS_LENGTH("3000"), 413},
        {LINE HOST PAGE TYPE ACCEPT CHUNKED "bb8\r\n", 413},
        {LINE HOST PAGE ACCEPT SAYS_LENGTH("2") "{}", 415},
        {LINE HOST PAGE TYPE ACCEPT "Expect: x\r\n" SAYS_LENGTH("2") "{}", 417},
        {LINE HOST PAGE TYPE ACCEPT DENY("429") SAYS_LENGTH("2") "{}", 429},
        {LINE HOST PAGE TYPE ACCEPT DENY("500") SAYS_LENGTH("2") "{}", 500},
        {"PROPFIND /mcp HTTP/1.1\r\n" HOST PAGE "\r\n", 501},
        {LINE HOST PAGE "Transfer-Encoding: gzip\r\n\r\n", 501},
        {LINE HOST PAGE TYPE ACCEPT DENY("503") SAYS_LENGTH("2") "{}", 503},
    };
    struct http_raw h;
    int status, faults = 0;

    for (size_t i = 0; i < MATRIX_COUNT(rows); i++) {
        matrix_open(m, &h);
        http_say(&h, rows[i].bytes);
        status = http_head(&h);
        if (status != rows[i].status || !may_be_read(&h)) {
            print_error("%d, and not a readable %d:\n%s\n", status, rows[i].status,
                        rows[i].bytes);
            faults++;
        }
        http_close(&h);
    }
    assert_int_equal(faults, 0);
    matrix_alive(m);
}

/* If the Origin was read before, and once. */
static void
listed_origins_may_read_that_a_head_is_too_long(struct matrix *m)
{
    static const struct {
        const char *before, *behind;
        bool readable;
    } rows[] = {{PAGE, "", true}, {"", PAGE, false}, {PAGE PAGE, "", false}};
    char text[8192];
    struct http_raw h;

    for (size_t i = 0; i < MATRIX_COUNT(rows); i++) {
        matrix_open(m, &h);
        (void)snprintf(text, sizeof(text), LINE HOST "%sX-Long: %0*d\r\n%s\r\n",
                       rows[i].before, 6000, 0, rows[i].behind);
        http_say(&h, text);
        assert_int_equal(http_head(&h), 431);
        assert_int_equal(may_be_read(&h), rows[i].readable);
        http_close(&h);
    }
}

static void
listed_origins_may_read_that_they_are_too_slow(struct matrix *m)
{
    static const char *const words[] = {LINE HOST PAGE "X", LINE HOST PAGE TYPE ACCEPT
                                        "Content-Length: 2\r\n\r\n{"};
    struct http_raw h;

    matrix_hold_time(m);
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        matrix_open(m, &h);
        http_say(&h, words[i]);
        pass_until_heard(m, &h);
        assert_int_equal(http_head(&h), 408);
        assert_true(may_be_read(&h));
        http_close(&h);
    }
}

/* What is refused on a connection belongs to its own origin, and to no earlier one. */
static void
who_is_refused_after_a_listed_origin_is_told_nothing_of_that(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    http_say(&h, "PUT /mcp HTTP/1.1\r\n" HOST PAGE "\r\n");
    assert_int_equal(http_answer(&h), 405);
    matrix_ask(m, &h, MATRIX_ASK(.id = "7", .name = "echo", .fields = PAGE));
    matrix_expect_last(m, &h, "\"result\"");
    http_say(&h, LINE HOST "Origin: https://evil.example\r\nX(: y\r\n");
    assert_int_equal(http_head(&h), 400);
    assert_null(http_field(&h, "Access-Control-Allow-Origin"));
    http_close(&h);
}

/* ---- who asks ---------------------------------------------------------------- */

static void
identify_at_once(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *who = mcp_http_header(request, "Authorization");

    (void)user;
    if (who)
        mcp_http_allow(ticket, who);
    else
        mcp_http_deny(ticket, 401, "Bearer realm=\"matrix\"", "Say who you are");
}

/* The case answers, on its own thread. */
static void
identify_later(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    struct matrix *m = user;

    (void)request;
    m->ticket = ticket;
    atomic_fetch_add(&m->asked, 1);
}

#define ALICE "Authorization: alice\r\n"

static void
who_is_known_is_served_and_who_is_not_is_told(struct matrix *m)
{
    struct http_raw h;

    if (matrix_has_sessions(m))
        m->session = matrix_hello(m, ALICE);
    matrix_open(m, &h);
    matrix_ask(m, &h, MATRIX_ASK(.id = "7", .name = "echo", .fields = ALICE));
    matrix_expect_last(m, &h, "to <alice>");
    matrix_ask(m, &h, MATRIX_ASK(.id = "8", .name = "hold"));
    expect_refusal(&h, 401);
    assert_string_equal(http_field(&h, "WWW-Authenticate"), "Bearer realm=\"matrix\"");
    matrix_has(h.body, "Say who you are");
    matrix_expect_jobs(m, 0);
    matrix_ask(m, &h, MATRIX_ASK(.id = "9", .name = "echo", .fields = ALICE));
    matrix_expect_last(m, &h, "to <alice>");
    if (m->session) {
        http_say(&h, "DELETE /mcp HTTP/1.1\r\n" HOST ALICE "Mcp-Session-Id: ");
        http_say(&h, m->session);
        http_say(&h, "\r\n\r\n");
        assert_int_equal(http_answer(&h), 200);
        matrix_forget(m);
    }
    http_close(&h);
}

/* A session that nobody is asked about: its hello is answered by the case. */
static void *
allow_hello(void *user)
{
    struct matrix *m = user;

    for (int i = 1; i <= 2; i++) {
        while (atomic_load(&m->asked) < i)
            matrix_pause();
        mcp_http_allow(m->ticket, "");
    }
    return NULL;
}

static int
begin_asked(struct matrix *m)
{
    pthread_t thread;

    if (!matrix_has_sessions(m))
        return 0;
    assert_int_equal(pthread_create(&thread, NULL, allow_hello, m), 0);
    m->session = matrix_hello(m, NULL);
    pthread_join(thread, NULL);
    return 2;
}

static void
end_asked(struct matrix *m, struct http_raw *h, int asked)
{
    if (!m->session)
        return;
    http_ask(h, "DELETE", m->session);
    MATRIX_UNTIL(atomic_load(&m->asked) == asked + 1);
    mcp_http_allow(m->ticket, NULL);
    assert_int_equal(http_answer(h), 200);
    matrix_forget(m);
}

static void
the_answer_may_come_later_from_another_thread(struct matrix *m)
{
    struct http_raw h, other;
    int asked = begin_asked(m);

    matrix_call(m, &h, "7", "echo", NULL);
    MATRIX_UNTIL(atomic_load(&m->asked) == asked + 1);
    matrix_open(m, &other); /* the loop is free meanwhile */
    http_say(&other, "PUT /mcp HTTP/1.1\r\n" HOST "\r\n");
    expect_refusal(&other, 405);
    http_close(&other);
    mcp_http_allow(m->ticket, "");
    matrix_expect_last(m, &h, "\"result\"");
    matrix_ask(m, &h, MATRIX_ASK(.id = "8", .name = "hold"));
    MATRIX_UNTIL(atomic_load(&m->asked) == asked + 2);
    mcp_http_deny(m->ticket, 403, NULL, NULL);
    expect_refusal(&h, 403);
    end_asked(m, &h, asked + 2);
    http_close(&h);
    matrix_expect_jobs(m, 0);
}

static void
who_leaves_before_the_answer_is_not_served(struct matrix *m)
{
    struct http_raw h;
    int asked = begin_asked(m);

    for (int i = 1; i <= 4; i++) {
        matrix_call(m, &h, "7", "hold", NULL);
        MATRIX_UNTIL(atomic_load(&m->asked) == asked + i);
        if (i % 2)
            http_close(&h);
        else
            http_reset(&h);
        if (i <= 2)
            MATRIX_UNTIL(matrix_counts(m).connections == 0);
        matrix_expect_jobs(m, 0);
        if (i == 3) /* perhaps before the loop knows that its client is gone */
            mcp_http_deny(m->ticket, 401, "Bearer", "who?");
        else
            mcp_http_allow(m->ticket, "");
        MATRIX_UNTIL(matrix_counts(m).connections == 0);
    }
    matrix_open(m, &h);
    end_asked(m, &h, asked + 4);
    http_close(&h);
}

static void
our_stop_turns_away_who_is_being_asked(struct matrix *m)
{
    struct http_raw h;
    int asked = begin_asked(m);

    matrix_call(m, &h, "7", "hold", NULL);
    MATRIX_UNTIL(atomic_load(&m->asked) == asked + 1);
    matrix_stop(m);
    expect_refusal(&h, 503);
    http_close(&h);
    mcp_http_allow(m->ticket, ""); /* goes nowhere, and must be given */
    matrix_expect_jobs(m, 0);
}

static const struct matrix_case cases[] = {
    CASE("", what_is_not_ours_is_refused_with_its_status, ALL),
    CASE_WITH("", what_is_too_long_is_refused_with_its_status, ALL,
              .http = {.body_bytes = 2048, .head_bytes = 4096}),
    CASE_WITH("", what_does_not_arrive_is_refused_with_its_status,
              MODERN_SSE | LEGACY_SSE,
              .http = {.head_ms = SLOW_MS, .body_ms = SLOW_MS, .idle_ms = SLOW_MS}),
    CASE_WITH("", too_many_connections_are_turned_away, ALL,
              .http = {.connections = 2}),
    CASE_WITH("", too_many_sessions_are_turned_away, SESSIONS, .http = {.sessions = 1}),
    CASE_WITH("", too_many_streams_of_a_session_are_turned_away, LEGACY_SSE,
              .http = {.session_streams = 2}),
    CASE_WITH("", listed_origins_may_call_and_read, ALL, .http = {.origins = origins}),
    CASE_WITH("", listed_origins_may_read_every_refusal, MODERN_SSE,
              .http = {.origins = origins,
                       .identify = identify_as_wished,
                       .body_bytes = 2048}),
    CASE_WITH("", listed_origins_may_read_that_a_head_is_too_long, LEGACY_SSE,
              .http = {.origins = origins, .head_bytes = 4096}),
    CASE_WITH("", listed_origins_may_read_that_they_are_too_slow, LEGACY_SSE,
              .http = {.origins = origins, .head_ms = SLOW_MS, .body_ms = SLOW_MS}),
    CASE_WITH("", who_is_refused_after_a_listed_origin_is_told_nothing_of_that,
              LEGACY_SSE, .http = {.origins = origins}),
    CASE_WITH("", a_stream_says_whose_it_may_be, STREAMS, .http = {.origins = origins}),
    CASE_WITH("", who_is_known_is_served_and_who_is_not_is_told, ALL,
              .http = {.identify = identify_at_once}),
    CASE_WITH("", the_answer_may_come_later_from_another_thread, ALL,
              .http = {.identify = identify_later}),
    CASE_WITH("E20_", who_leaves_before_the_answer_is_not_served, MODERN,
              .http = {.identify = identify_later}),
    CASE_WITH("D22_", who_leaves_before_the_answer_is_not_served, LEGACY,
              .http = {.identify = identify_later}),
    CASE_WITH("F29_", our_stop_turns_away_who_is_being_asked, ALL,
              .http = {.identify = identify_later}),
};

const struct matrix_table matrix_guards = {cases, MATRIX_COUNT(cases)};
