/* http_matrix_leave.c - over HTTP: clients that leave, in each phase, or stay quiet */
#include "end/http_matrix.h"

#define PING_MS 20

/* ---- ways to leave --------------------------------------------------------- */

static void
leave_half(struct http_raw *h)
{
    http_shut(h);
    http_expect_end(h); /* it closes too */
    http_close(h);
}

/* TLS alone says so; the connection stays. */
static void
leave_notify(struct http_raw *h)
{
    if (h->tls)
        http_notify(h);
    else
        http_shut(h);
    http_expect_end(h);
    http_close(h);
}

static void (*const leavings[])(struct http_raw *h) = {http_close, http_reset,
                                                       leave_half, leave_notify};
#define LEAVINGS ((int)MATRIX_COUNT(leavings))

/* ---- phases: each ends with a call that its client could leave ---------------- */

static struct matrix_job *
phase_unanswered(struct matrix *m, struct http_raw *h, int n)
{
    matrix_call_streamed(m, h, "7", "hold", NULL);
    return matrix_job(m, n);
}

static struct matrix_job *
phase_idle_stream(struct matrix *m, struct http_raw *h, int n)
{
    struct matrix_job *job = phase_unanswered(m, h, n);

    assert_int_equal(mcp_request_progress(job->req, 1, 2, NULL), 0);
    matrix_expect(m, h, "\"progress\":1");
    return job;
}

/* A report as long as may wait; it comes back when the loop has seen to it. */
static int
say_much(struct matrix *m, struct matrix_job *job, int i)
{
    enum { LONG = 900000 };
    char *text = malloc(LONG + 1);
    int r;

    assert_non_null(text);
    (void)snprintf(text, LONG + 1, "%0*d", LONG, 7);
    r = mcp_request_progress(job->req, i, 0, text);
    free(text);
    matrix_alive(m);
    return r;
}

/* The server is in the middle of an event, which nobody reads. */
static struct matrix_job *
phase_mid_event(struct matrix *m, struct http_raw *h, int n)
{
    struct matrix_job *job = phase_unanswered(m, h, n);

    for (int i = 1; i <= 14; i++) /* more than sockets hold */
        assert_int_equal(say_much(m, job, i), 0);
    assert_int_equal(http_head(h), 200);
    while (h->len < 1000)
        assert_true(http_wait(h, MATRIX_BOUND_MS));
    return job;
}

/* With a short ping. */
static struct matrix_job *
phase_pings_only(struct matrix *m, struct http_raw *h, int n)
{
    struct matrix_job *job = phase_unanswered(m, h, n);

    assert_int_equal(http_head(h), 200);
    assert_string_equal(http_field(h, "Content-Type"), "text/event-stream");
    while (!memmem(h->data + h->start, h->len - h->start, ":", 1))
        assert_true(http_wait(h, MATRIX_BOUND_MS));
    return job;
}

/* ---- who leaves cancels ---------------------------------------------------- */

/* And nobody else: a sibling with the same id lives. */
static void
leave_in(struct matrix *m,
         struct matrix_job *(*phase)(struct matrix *m, struct http_raw *h, int n))
{
    struct http_raw sibling, h;
    struct matrix_job *job;

    matrix_call(m, &sibling, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    for (int i = 0; i < LEAVINGS; i++) {
        job = phase(m, &h, i + 1);
        leavings[i](&h);
        matrix_expect_told(job);
        MATRIX_UNTIL(matrix_counts(m).connections == 1);
        assert_int_equal(matrix_counts(m).canceled_by_peer, i + 1);
        assert_int_equal(mcp_request_progress(job->req, 9, 9, "late"), MCP_E_CANCELED);
        matrix_finish(job, "late"); /* goes nowhere (E21) */
    }
    assert_int_equal(atomic_load(&matrix_job(m, 0)->told), 0);
    matrix_finish(matrix_job(m, 0), "still here");
    matrix_expect_last(m, &sibling, "still here");
    matrix_alive_on(m, &sibling);
    http_close(&sibling);
    MATRIX_UNTIL(matrix_counts(m).ran_to_end == (uint64_t)LEAVINGS);
}

static void
closing_the_response_cancels_exactly_its_request(struct matrix *m)
{
    leave_in(m, phase_unanswered);
}

static void
closing_an_open_stream_cancels_exactly_its_request(struct matrix *m)
{
    leave_in(m, phase_idle_stream);
}

static void
closing_in_mid_event_cancels_exactly_its_request(struct matrix *m)
{
    leave_in(m, phase_mid_event);
}

static void
closing_among_keep_alives_cancels_exactly_its_request(struct matrix *m)
{
    leave_in(m, phase_pings_only);
}

static void
stateless_clients_may_be_left_to_run_on(struct matrix *m)
{
    struct http_raw h;

    for (int i = 0; i < LEAVINGS; i++) {
        (void)phase_idle_stream(m, &h, i);
        leavings[i](&h);
        MATRIX_UNTIL(matrix_counts(m).connections == 0);
        MATRIX_UNTIL(matrix_counts(m).streams == 0);
        assert_int_equal(atomic_load(&matrix_job(m, i)->told), 0);
        assert_false(mcp_request_is_canceled(matrix_job(m, i)->req));
        matrix_finish(matrix_job(m, i), "nobody is there");
    }
    matrix_rest(m, 0, 0);
    assert_int_equal(matrix_counts(m).canceled_by_peer, 0);
}

/* ---- and in a session it does not ------------------------------------------- */

static void
a_lost_connection_cancels_nothing(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    for (int i = 0; i < LEAVINGS; i++) {
        job = m->cell == LEGACY_SSE ? phase_idle_stream(m, &h, i)
                                    : phase_unanswered(m, &h, i);
        leavings[i](&h);
        MATRIX_UNTIL(matrix_counts(m).connections == 0);
        assert_int_equal(matrix_counts(m).streams, 0);
        assert_int_equal(atomic_load(&job->told), 0);
        assert_false(mcp_request_is_canceled(job->req));
        assert_int_equal(mcp_request_progress(job->req, 9, 9, NULL), 0);
        if (i % 2) {
            matrix_frame(m, "7"); /* its session still finds it */
            matrix_expect_told(job);
        }
        matrix_finish(job, "nobody is there");
        matrix_rest(m, 0, 0);
    }
    matrix_alive(m);
}

/* ---- before a handler has begun ---------------------------------------------- */

/* A request cut at each of some places; a sibling lives. */
static void
leaving_in_mid_request_loses_only_that(struct matrix *m)
{
    char *text = matrix_ask_text(m, MATRIX_ASK(.id = "8", .name = "hold"));
    size_t len = strlen(text);
    struct http_raw sibling, h;

    matrix_call(m, &sibling, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    for (size_t i = 0; i < 12; i++) {
        matrix_open(m, &h);
        http_write(&h, text, i * (len - 1) / 11);
        leavings[i % MATRIX_COUNT(leavings)](&h);
    }
    MATRIX_UNTIL(matrix_counts(m).connections == 1);
    matrix_expect_jobs(m, 1);
    matrix_finish(matrix_job(m, 0), "still here");
    matrix_expect_last(m, &sibling, "still here");
    http_close(&sibling);
    free(text);
}

/* ---- bytes that are no disconnect ------------------------------------------- */

static void
pipelined_bytes_are_no_disconnect(struct matrix *m)
{
    char *next = matrix_ask_text(m, MATRIX_ASK(.id = "8", .name = "hold"));
    struct http_raw h;

    matrix_call_streamed(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    http_write(&h, next, 20);
    matrix_alive(m); /* a turn of the loop later */
    http_say(&h, next + 20);
    matrix_alive(m);
    matrix_expect_jobs(m, 1); /* one after the other */
    assert_int_equal(atomic_load(&matrix_job(m, 0)->told), 0);
    assert_false(mcp_request_is_canceled(matrix_job(m, 0)->req));
    matrix_finish(matrix_job(m, 0), "the first");
    matrix_expect_last(m, &h, "the first");
    matrix_finish(matrix_job(m, 1), "the second");
    h.status = 0;
    matrix_expect_last(m, &h, "the second");
    http_close(&h);
    free(next);
}

static void
who_pipelines_and_leaves_has_left(struct matrix *m)
{
    char *next = matrix_ask_text(m, MATRIX_ASK(.id = "8", .name = "hold"));
    struct http_raw h;

    matrix_call(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    http_say(&h, next);
    http_close(&h);
    matrix_expect_told(matrix_job(m, 0));
    matrix_end_job(matrix_job(m, 0));
    matrix_rest(m, 0, 0);
    matrix_expect_jobs(m, 1);
    free(next);
}

/* ---- keeping alive ----------------------------------------------------------- */

static void
a_quiet_stream_is_kept_alive(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = phase_idle_stream(m, &h, 0);
    while (!memmem(h.data + h.start, h.len - h.start, "\n:", 2) &&
           !memmem(h.data + h.start, h.len - h.start, ":\n", 2))
        assert_true(http_wait(&h, MATRIX_BOUND_MS));
    matrix_finish(job, "there");
    matrix_expect_last(m, &h, "there");
    assert_true(h.comments > 0);
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
a_silent_handler_gets_a_stream(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "hold", NULL);
    assert_int_equal(http_head(&h), 200); /* while it says nothing */
    assert_string_equal(http_field(&h, "Content-Type"), "text/event-stream");
    assert_int_equal(matrix_counts(m).streams, 1);
    matrix_finish(matrix_job(m, 0), "there");
    matrix_expect_last(m, &h, "there");
    assert_true(h.comments > 0);
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
a_body_is_not_begun_before_its_answer(struct matrix *m)
{
    struct http_raw h;

    matrix_hold_time(m);
    matrix_call(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    virtual_clock_pass(&m->clock, (int64_t)4 * PING_MS);
    matrix_alive(m);
    assert_true(http_wait(&h, 0));
    assert_int_equal(h.len, h.start);
    matrix_finish(matrix_job(m, 0), "there");
    matrix_expect_last(m, &h, "there");
    assert_string_equal(http_field(&h, "Content-Type"), "application/json");
    http_close(&h);
}

static void
who_does_not_read_has_left(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = phase_unanswered(m, &h, 0);
    for (int i = 1; atomic_load(&job->told) == 0; i++)
        (void)say_much(m, job, i);
    matrix_expect_told(job); /* after write_ms */
    matrix_end_job(job);
    http_close(&h);
}

static void
who_does_not_read_in_a_session_is_let_go(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = phase_unanswered(m, &h, 0);
    for (int i = 1; matrix_counts(m).connections > 0; i++)
        assert_int_equal(say_much(m, job, i), 0);
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_finish(job, "nobody is there");
    http_close(&h);
}

static void
a_frame_is_applied_though_nobody_reads(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = phase_mid_event(m, &h, 0);
    matrix_frame(m, "7");
    matrix_expect_told(job);
    matrix_end_job(job);
    http_close(&h);
}

static void
who_leaves_in_mid_answer_leaves_nothing(struct matrix *m)
{
    enum { LONG = 15000000 };
    char *text = malloc(LONG + 1);
    struct http_raw h;

    assert_non_null(text);
    (void)snprintf(text, LONG + 1, "%0*d", LONG, 7);
    for (int i = 0; i < 2; i++) {
        matrix_call(m, &h, "7", "hold", NULL);
        matrix_finish(matrix_job(m, i), text);
        assert_int_equal(http_head(&h), 200);
        if (i == 0)
            http_close(&h);
        else
            http_reset(&h);
        matrix_rest(m, 0, 0);
    }
    free(text);
    matrix_alive(m);
    assert_int_equal(matrix_counts(m).canceled_by_peer, 0);
}

static const struct matrix_case cases[] = {
    CASE("E3_E18_E21_E25_", closing_the_response_cancels_exactly_its_request,
         MODERN_SSE),
    CASE("E3_E19_E21_E25_", closing_the_response_cancels_exactly_its_request,
         MODERN_JSON),
    CASE("D16_", closing_the_response_cancels_exactly_its_request, STATELESS),
    CASE("E3_E18_E21_E25_", closing_an_open_stream_cancels_exactly_its_request,
         MODERN_SSE),
    CASE("D16_", closing_an_open_stream_cancels_exactly_its_request, STATELESS),
    CASE("E3_E18_E21_E25_", closing_in_mid_event_cancels_exactly_its_request,
         MODERN_SSE),
    CASE("D16_", closing_in_mid_event_cancels_exactly_its_request, STATELESS),
    CASE_WITH("E3_E18_E21_E25_", closing_among_keep_alives_cancels_exactly_its_request,
              MODERN_SSE, .http = {.ping_ms = PING_MS}),
    CASE_WITH("D16_", closing_among_keep_alives_cancels_exactly_its_request, STATELESS,
              .http = {.ping_ms = PING_MS}),
    CASE_WITH("D16_", stateless_clients_may_be_left_to_run_on, STATELESS,
              .http = {.stateless_runs_on = true}),
    CASE("D12_F35_", a_lost_connection_cancels_nothing, SESSIONS),
    CASE("D22_", leaving_in_mid_request_loses_only_that, ALL),
    CASE("E26_", pipelined_bytes_are_no_disconnect, ALL),
    CASE("E18_E26_", who_pipelines_and_leaves_has_left, SHARED),
    CASE_WITH("E22_", a_quiet_stream_is_kept_alive, STREAMS,
              .http = {.ping_ms = PING_MS}),
    CASE_WITH("E23_", a_silent_handler_gets_a_stream, STREAMS,
              .http = {.ping_ms = PING_MS}),
    CASE_WITH("", a_body_is_not_begun_before_its_answer, BODIES,
              .http = {.ping_ms = PING_MS}),
    CASE("C7_D13_", a_frame_is_applied_though_nobody_reads, LEGACY_SSE),
    CASE("F12_F35_", who_leaves_in_mid_answer_leaves_nothing, ALL),
    CASE_WITH("C7_E18_", who_does_not_read_has_left, MODERN_SSE,
              .http = {.write_ms = 50}),
    CASE_WITH("C7_D16_", who_does_not_read_has_left, STATELESS,
              .http = {.write_ms = 50}),
    CASE_WITH("C7_D12_", who_does_not_read_in_a_session_is_let_go, LEGACY_SSE,
              .http = {.write_ms = 50}),
};

const struct matrix_table matrix_leaving = {cases, MATRIX_COUNT(cases)};
