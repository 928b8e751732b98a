/* http_matrix_session.c - over HTTP, legacy: sessions, how they end, coming back */
#include <time.h>

#include "end/http_matrix.h"

#define CANCELED "-32800"

static struct matrix_job *
begin(struct matrix *m, struct http_raw *h, int n, const char *id)
{
    matrix_call_streamed(m, h, id, "hold", NULL);
    return matrix_job(m, n);
}

/* ---- whose it is ----------------------------------------------------------- */

static int
ask_status(struct matrix *m, const struct matrix_ask *ask)
{
    struct http_raw h;
    int status;

    matrix_open(m, &h);
    matrix_ask(m, &h, ask);
    status = http_answer(&h);
    matrix_has(h.body, status == 200 ? "\"result\"" : "\"error\"");
    http_close(&h);
    return status;
}

static void
a_session_must_be_named_and_known(struct matrix *m)
{
    struct http_raw h;

    assert_int_equal(
        ask_status(m, MATRIX_ASK(.id = "1", .name = "echo", .session = "")), 400);
    assert_int_equal(
        ask_status(m, MATRIX_ASK(.id = "1", .name = "echo",
                                 .session = "0-00000000000000000000000000000000")),
        404);
    assert_int_equal(
        ask_status(m, MATRIX_ASK(.id = "1", .name = "echo", .session = "nobody")), 404);
    assert_int_equal(ask_status(m, MATRIX_ASK(.id = "1", .name = "echo",
                                              .fields = "Mcp-Session-Id: another\r\n")),
                     400);
    matrix_open(m, &h);
    http_ask(&h, "DELETE", "nobody");
    assert_int_equal(http_answer(&h), 404);
    http_ask(&h, "GET", "nobody");
    assert_int_equal(http_answer(&h), m->cell == LEGACY_JSON ? 405 : 404);
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
a_frame_finds_nothing_outside_its_session(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h, other;
    char *stranger;

    job = begin(m, &h, 0, "7");
    stranger = matrix_hello(m, NULL);
    assert_string_not_equal(stranger, m->session);
    matrix_open(m, &other);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = stranger,
                                 .body = CANCEL("7")));
    assert_int_equal(http_answer(&other), 202);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = "nobody",
                                 .body = CANCEL("7")));
    assert_int_equal(http_answer(&other), 404);
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_finish(job, "untouched");
    matrix_expect_last(m, &h, "untouched");
    http_ask(&other, "DELETE", stranger);
    assert_int_equal(http_answer(&other), 200);
    http_close(&other);
    http_close(&h);
    free(stranger);
}

/* Who asks is what the header says. */
static void
identify_by_header(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    (void)user;
    mcp_http_allow(ticket, mcp_http_header(request, "X-Who"));
}

#define ALICE "X-Who: alice\r\n"
#define BOB "X-Who: bob\r\n"

static int
ask_as(struct matrix *m, const char *verb, const char *who)
{
    struct http_raw h;
    char text[512];
    int status;

    matrix_open(m, &h);
    (void)snprintf(text, sizeof(text),
                   "%s /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Accept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s\r\n",
                   verb, m->session, who);
    http_say(&h, text);
    status = http_answer(&h);
    http_close(&h);
    return status;
}

static void
a_session_belongs_to_its_credential(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h, other;

    m->session = matrix_hello(m, ALICE);
    matrix_open(m, &h);
    matrix_ask(m, &h, MATRIX_ASK(.id = "7", .name = "hold", .fields = ALICE));
    job = matrix_job(m, 0);
    assert_string_equal(mcp_request_principal(job->req), "alice");
    matrix_open(m, &other);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = m->session,
                                 .fields = BOB, .body = CANCEL("7")));
    assert_int_equal(http_answer(&other), 404);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = m->session,
                                 .body = CANCEL("7"))); /* as nobody */
    assert_int_equal(http_answer(&other), 404);
    assert_int_equal(
        ask_status(m, MATRIX_ASK(.id = "8", .name = "echo", .fields = BOB)), 404);
    assert_int_equal(ask_as(m, "DELETE", BOB), 404);
    assert_int_equal(ask_as(m, "GET", BOB), m->cell == LEGACY_JSON ? 405 : 404);
    assert_int_equal(atomic_load(&job->told), 0);
    http_post(&other, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = m->session,
                                 .fields = ALICE, .body = CANCEL("7")));
    assert_int_equal(http_answer(&other), 202);
    matrix_expect_told(job);
    matrix_end_job(job);
    matrix_expect_last(m, &h, CANCELED);
    http_close(&h);
    http_close(&other);
    assert_int_equal(ask_as(m, "DELETE", ALICE), 200);
    matrix_forget(m);
}

/* ---- how it ends ----------------------------------------------------------- */

static void
expect_gone(struct matrix *m)
{
    MATRIX_UNTIL(matrix_counts(m).sessions == 0);
    assert_int_equal(ask_status(m, MATRIX_ASK(.id = "9", .name = "echo")), 404);
    assert_int_equal(matrix_delete(m), 404);
    matrix_forget(m);
}

static void
delete_cancels_and_ends_all(struct matrix *m)
{
    struct http_raw h[3], get;

    (void)begin(m, &h[0], 0, "1");
    (void)begin(m, &h[1], 1, "2");
    if (m->cell == LEGACY_SSE) {
        (void)mcp_request_progress(matrix_job(m, 1)->req, 1, 2, NULL);
        matrix_expect(m, &h[1], "\"progress\":1");
        matrix_open(m, &get);
        matrix_get(m, &get, NULL);
        assert_int_equal(http_head(&get), 200);
    }
    (void)begin(m, &h[2], 2, "3");
    http_close(&h[2]); /* runs on */
    assert_int_equal(matrix_delete(m), 200);
    for (int i = 0; i < 3; i++)
        matrix_expect_told(matrix_job(m, i));
    for (int i = 0; i < 2; i++) { /* at once, though the handlers run */
        matrix_expect_last(m, &h[i], "\"error\"");
        http_close(&h[i]);
    }
    if (m->cell == LEGACY_SSE) {
        assert_null(matrix_next(m, &get));
        http_close(&get);
    }
    expect_gone(m);
    assert_int_equal(matrix_counts(m).live_handlers, 3);
    for (int i = 0; i < 3; i++)
        matrix_finish(matrix_job(m, i), "late");
}

#define IDLE_MS 3600000

/* It ends when it has been idle for its time. */
static void
expect_expired(struct matrix *m)
{
    while (matrix_counts(m).sessions > 0)
        virtual_clock_pass(&m->clock, IDLE_MS);
    expect_gone(m);
}

static void
an_idle_session_expires_and_a_busy_one_does_not(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    matrix_hold_time(m);
    matrix_call(m, &h, "7", "hold", NULL);
    job = matrix_job(m, 0);
    http_close(&h); /* nobody is there, and still it is busy */
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    virtual_clock_pass(&m->clock, 2 * IDLE_MS);
    assert_int_equal(matrix_counts(m).sessions, 1);
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_alive(m);
    matrix_finish(job, "nobody is there");
    expect_expired(m);
    matrix_rest(m, 0, 0);
}

static void
a_session_that_listens_does_not_expire(struct matrix *m)
{
    struct http_raw h;

    matrix_hold_time(m);
    matrix_open(m, &h);
    matrix_get(m, &h, NULL);
    assert_int_equal(http_head(&h), 200);
    virtual_clock_pass(&m->clock, 2 * IDLE_MS);
    matrix_alive(m);
    assert_int_equal(matrix_counts(m).sessions, 1);
    http_close(&h);
    expect_expired(m);
}

static void
a_refused_handshake_leaves_no_session(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY,
                             .body = REQUEST("1", "initialize", "{}")));
    assert_int_equal(http_answer(&h), 200);
    matrix_has(h.body, "-32602");
    assert_null(http_field(&h, "Mcp-Session-Id"));
    MATRIX_UNTIL(matrix_counts(m).sessions == 1);
    http_close(&h);
}

/* ---- coming back: with a store ---------------------------------------------- */

static void
a_stream_begins_with_an_id_and_a_time(struct matrix *m)
{
    char id[HTTP_ID_ROOM], next[HTTP_ID_ROOM];
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7");
    assert_int_equal(http_head(&h), 200);
    assert_string_equal(http_event(&h, id), ""); /* primes */
    assert_true(id[0] != '\0');
    assert_non_null(strstr(h.body, "retry: 1000\n"));
    assert_int_equal(mcp_request_progress(job->req, 1, 2, NULL), 0);
    matrix_has(http_event(&h, next), "\"progress\":1");
    assert_true(next[0] != '\0');
    assert_string_not_equal(id, next);
    matrix_finish(job, "there");
    matrix_has(http_event(&h, id), "there");
    assert_true(id[0] != '\0');
    assert_string_not_equal(id, next);
    assert_null(matrix_next(m, &h));
    http_close(&h);
}

/* The client of a held call is gone; it knows the event that it saw last. */
static struct matrix_job *
begin_and_leave(struct matrix *m, int n, const char *id, char *last)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, n, id);
    assert_int_equal(http_head(&h), 200);
    (void)http_event(&h, NULL);
    assert_int_equal(mcp_request_progress(job->req, 1, 0, id), 0);
    matrix_has(http_event(&h, last), "\"progress\":1");
    http_close(&h);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    return job;
}

static void
a_lost_answer_can_be_fetched(struct matrix *m)
{
    char last[HTTP_ID_ROOM], other[HTTP_ID_ROOM];
    struct matrix_job *job, *stranger;
    struct http_raw h;

    job = begin_and_leave(m, 0, "7", last);
    stranger = begin_and_leave(m, 1, "8", other);
    assert_int_equal(mcp_request_progress(job->req, 2, 0, "missed"), 0);
    assert_int_equal(mcp_request_progress(stranger->req, 2, 0, "not his"), 0);
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_finish(stranger, "his own");
    matrix_finish(job, "what he waits for");
    MATRIX_UNTIL(matrix_counts(m).live_handlers == 0);
    for (int i = 0; i < 2; i++) { /* as often as one likes */
        matrix_open(m, &h);
        matrix_get(m, &h, last);
        matrix_expect(m, &h, "missed");
        matrix_expect_last(m, &h, "what he waits for");
        http_close(&h);
    }
    matrix_open(m, &h);
    matrix_get(m, &h, other);
    matrix_expect(m, &h, "not his");
    matrix_expect_last(m, &h, "his own");
    http_close(&h);
}

static void
a_stream_goes_on_where_it_was(struct matrix *m)
{
    char last[HTTP_ID_ROOM];
    struct matrix_job *job;
    struct http_raw h;

    job = begin_and_leave(m, 0, "7", last);
    assert_int_equal(mcp_request_progress(job->req, 2, 0, "missed"), 0);
    matrix_open(m, &h);
    matrix_get(m, &h, last);
    matrix_expect(m, &h, "missed");
    assert_int_equal(mcp_request_progress(job->req, 3, 0, "live"), 0);
    matrix_expect(m, &h, "live");
    matrix_finish(job, "there");
    matrix_expect_last(m, &h, "there");
    http_close(&h);
}

static void
a_cancel_of_who_is_away_is_stored_too(struct matrix *m)
{
    char last[HTTP_ID_ROOM];
    struct matrix_job *job;
    struct http_raw h;

    job = begin_and_leave(m, 0, "7", last);
    matrix_frame(m, "7");
    matrix_expect_told(job);
    matrix_end_job(job);
    MATRIX_UNTIL(matrix_counts(m).live_handlers == 0);
    matrix_open(m, &h);
    matrix_get(m, &h, last);
    matrix_expect_last(m, &h, CANCELED);
    http_close(&h);
}

static void
a_cancel_without_a_word_is_told_to_who_comes_back(struct matrix *m)
{
    char last[HTTP_ID_ROOM];
    struct matrix_job *job;
    struct http_raw h;

    job = begin_and_leave(m, 0, "7", last);
    matrix_frame(m, "7");
    matrix_expect_told(job);
    matrix_end_job(job);
    MATRIX_UNTIL(matrix_counts(m).live_handlers == 0);
    matrix_open(m, &h);
    for (int i = 0; i < 2; i++) {
        matrix_get(m, &h, last);
        assert_int_equal(http_answer(&h), 204);
    }
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
an_unknown_event_is_refused(struct matrix *m)
{
    static const char *const words[] = {"nonsense", "0-0",   "99-1",
                                        "1-99999",  "-1--1", "18446744073709551616-1"};
    char last[HTTP_ID_ROOM], *own = m->session;
    struct matrix_job *job;
    struct http_raw h;

    job = begin_and_leave(m, 0, "7", last);
    matrix_finish(job, "there");
    matrix_open(m, &h);
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        matrix_get(m, &h, words[i]);
        assert_int_equal(http_answer(&h), 400);
        matrix_has(h.body, "\"error\"");
    }
    m->session = matrix_hello(m, NULL); /* somebody else does not get it */
    matrix_get(m, &h, last);
    assert_int_equal(http_answer(&h), 400);
    http_close(&h);
    assert_int_equal(matrix_delete(m), 200);
    free(m->session);
    m->session = own;
}

static void
a_handler_lets_its_client_go(struct matrix *m)
{
    char last[HTTP_ID_ROOM];
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7");
    assert_int_equal(http_head(&h), 200);
    (void)http_event(&h, last);
    assert_int_equal(mcp_request_detach(job->req), 0);
    assert_null(matrix_next(m, &h)); /* in order */
    matrix_alive_on(m, &h);          /* on the same connection */
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_finish(job, "worth the wait");
    matrix_get(m, &h, last);
    matrix_expect_last(m, &h, "worth the wait");
    http_close(&h);
}

static void
who_waits_for_somebody_that_is_away_ends_with_its_session(struct matrix *m)
{
    char last[HTTP_ID_ROOM];
    struct matrix_job *job;

    job = begin_and_leave(m, 0, "7", last);
    assert_int_equal(matrix_delete(m), 200);
    matrix_expect_told(job);
    matrix_end_job(job);
    expect_gone(m);
}

static const struct matrix_case cases[] = {
    CASE("", a_session_must_be_named_and_known, SESSIONS),
    CASE("D13_", a_frame_finds_nothing_outside_its_session, SESSIONS),
    CASE_WITH("D20_", a_session_belongs_to_its_credential, SESSIONS,
              .http = {.identify = identify_by_header}),
    CASE("D17_", delete_cancels_and_ends_all, SESSIONS),
    CASE_WITH("D17_D18_", an_idle_session_expires_and_a_busy_one_does_not, SESSIONS,
              .http = {.session_idle_ms = IDLE_MS}),
    CASE_WITH("D18_", a_session_that_listens_does_not_expire, LEGACY_SSE,
              .http = {.session_idle_ms = IDLE_MS}),
    CASE("", a_refused_handshake_leaves_no_session, SESSIONS),
    CASE_WITH("D8_", a_stream_begins_with_an_id_and_a_time, LEGACY_SSE, .store = true),
    CASE_WITH("D12_", a_lost_answer_can_be_fetched, LEGACY_SSE, .store = true),
    CASE_WITH("D12_", a_stream_goes_on_where_it_was, LEGACY_SSE, .store = true),
    CASE_WITH("D14_", a_cancel_of_who_is_away_is_stored_too, LEGACY_SSE, .store = true),
    CASE_WITH("D14_", a_cancel_without_a_word_is_told_to_who_comes_back, LEGACY_SSE,
              .store = true, .http = {.silent_end = true}),
    CASE_WITH("D9_", an_unknown_event_is_refused, LEGACY_SSE, .store = true),
    CASE_WITH("D12_", a_handler_lets_its_client_go, LEGACY_SSE, .store = true),
    CASE_WITH("D17_", who_waits_for_somebody_that_is_away_ends_with_its_session,
              LEGACY_SSE, .store = true),
};

const struct matrix_table matrix_sessions = {cases, MATRIX_COUNT(cases)};
