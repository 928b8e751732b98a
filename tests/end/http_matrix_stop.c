/* http_matrix_stop.c - over HTTP: our own end, with clients in each state */
#include "end/http_matrix.h"

static void
our_stop_answers_what_runs(struct matrix *m)
{
    struct http_raw h, streamed;

    matrix_call(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_call_streamed(m, &streamed, "8", "hold", NULL);
    assert_int_equal(mcp_request_progress(matrix_job(m, 1)->req, 1, 2, NULL), 0);
    if (m->cell & STREAMS)
        matrix_expect(m, &streamed, "\"progress\":1");
    matrix_stop(m);
    matrix_has(matrix_expect(m, &h, "\"error\""), "\"id\":7");
    assert_null(matrix_next(m, &h));
    matrix_has(matrix_expect(m, &streamed, "\"error\""), "\"id\":8");
    assert_null(matrix_next(m, &streamed));
    for (int i = 0; i < 2; i++) {
        matrix_expect_told(matrix_job(m, i));
        matrix_end_job(matrix_job(m, i));
    }
    http_expect_end(&h);
    http_expect_end(&streamed);
    http_close(&h);
    http_close(&streamed);
    assert_int_equal(matrix_counts(m).canceled_by_stop, 2);
}

/* Nobody is there any more, or nobody who would say hello. */
static bool
is_refused(struct matrix *m)
{
    struct http_raw h;
    bool refused = !http_try_open(&h, m->port, NULL);

    http_close(&h);
    return refused;
}

static void
our_stop_lets_what_runs_finish(struct matrix *m)
{
    struct http_raw h, late;

    matrix_open(m, &late);
    matrix_call(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_ask(m, &late, MATRIX_ASK(.id = "8", .name = "hold"));
    (void)matrix_job(m, 1);
    matrix_stop(m);
    MATRIX_UNTIL(is_refused(m));
    matrix_finish(matrix_job(m, 0), "in time");
    matrix_expect_last(m, &h, "in time");
    assert_int_equal(h.status, 200);
    http_expect_end(&h);
    http_close(&h);
    matrix_finish(matrix_job(m, 1), "this too");
    matrix_expect_last(m, &late, "this too");
    http_close(&late);
    assert_int_equal(matrix_counts(m).canceled_by_stop, 0);
}

static void
our_stop_closes_who_asks_nothing(struct matrix *m)
{
    struct http_raw idle, used, begun, get;

    matrix_open(m, &idle);
    matrix_open(m, &used);
    matrix_alive_on(m, &used);
    matrix_open(m, &begun);
    http_say(&begun, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    if (m->cell == LEGACY_SSE) {
        matrix_open(m, &get);
        matrix_get(m, &get, NULL);
        assert_int_equal(http_head(&get), 200);
    }
    matrix_stop(m);
    http_expect_end(&idle);
    http_expect_end(&used);
    http_expect_end(&begun);
    http_close(&idle);
    http_close(&used);
    http_close(&begun);
    if (m->cell == LEGACY_SSE) {
        assert_null(matrix_next(m, &get));
        http_close(&get);
    }
}

static void
our_stop_does_not_answer_what_was_canceled(struct matrix *m)
{
    struct http_raw h;

    matrix_call_streamed(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_cancel(m, &h, "7");
    matrix_expect_told(matrix_job(m, 0)); /* and it does not end */
    matrix_stop(m);
    if (matrix_has_sessions(m)) {
        matrix_expect_last(m, &h, "-32800");
        http_expect_end(&h);
        http_close(&h);
    }
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    assert_int_equal(matrix_counts(m).canceled_by_stop, 0);
    matrix_finish(matrix_job(m, 0), "late");
}

static void
our_stop_does_not_wait_for_who_does_not_read(struct matrix *m)
{
    enum { LONG = 15000000 };
    char *text = malloc(LONG + 1);
    struct http_raw h;

    assert_non_null(text);
    (void)snprintf(text, LONG + 1, "%0*d", LONG, 7);
    matrix_call(m, &h, "7", "hold", NULL);
    matrix_finish(matrix_job(m, 0), text);
    free(text);
    assert_true(http_wait(&h, MATRIX_BOUND_MS)); /* it has begun */
    matrix_stop(m);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    http_close(&h);
}

static void
our_stop_takes_questions_back(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "roots", NULL);
    matrix_expect(m, &h, "roots/list");
    matrix_stop(m);
    matrix_expect(m, &h, "notifications/cancelled");
    matrix_expect_last(m, &h, "\"error\"");
    MATRIX_UNTIL(atomic_load(&matrix_job(m, 0)->ended));
    assert_true(matrix_job(m, 0)->status == MCP_E_CANCELED ||
                matrix_job(m, 0)->status == MCP_E_CLOSED);
    http_close(&h);
}

static const struct matrix_case cases[] = {
    CASE_WITH("F29_", our_stop_answers_what_runs, ALL, .server = {.drain_ms = -1}),
    CASE_WITH("F28_", our_stop_lets_what_runs_finish, ALL,
              .server = {.drain_ms = MATRIX_BOUND_MS}),
    CASE_WITH("F30_", our_stop_closes_who_asks_nothing, ALL,
              .server = {.drain_ms = -1, .stop_ms = 100}),
    CASE_WITH("F29_", our_stop_does_not_answer_what_was_canceled, ALL,
              .server = {.drain_ms = -1, .stop_ms = 200}),
    CASE_WITH("F31_", our_stop_does_not_wait_for_who_does_not_read, ALL,
              .server = {.drain_ms = -1, .stop_ms = 100}),
    CASE_WITH("F32_J6_", our_stop_takes_questions_back, LEGACY_SSE,
              .server = {.drain_ms = -1}),
};

const struct matrix_table matrix_stops = {cases, MATRIX_COUNT(cases)};
