/* http_matrix_cancel.c - over HTTP: a cancel, and what it does to its request */
#include "end/http_matrix.h"

#define LEFT "the client has left"
#define CANCELED "-32800"

/* A call of that tool, whose handler has begun. */
static struct matrix_job *
begin(struct matrix *m, struct http_raw *h, int n, const char *id, const char *tool)
{
    matrix_call_streamed(m, h, id, tool, NULL);
    return matrix_job(m, n);
}

/* ---- it is told ------------------------------------------------------------ */

static void
a_cancel_reaches_the_handler(struct matrix *m)
{
    const char *reason = matrix_has_sessions(m) ? "enough" : LEFT;
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_cancel(m, &h, "7");
    matrix_expect_told(job);
    assert_string_equal(mcp_request_cancel_reason(job->req), reason);
    assert_int_equal(atomic_load(&m->seen), 1);
    assert_string_equal(m->reason, reason);
    assert_int_equal(matrix_counts(m).canceled_by_peer, 1);
    assert_int_equal(matrix_counts(m).in_flight, 0);
    assert_int_equal(matrix_counts(m).live_handlers, 1);
    matrix_end_job(job);
    matrix_expect_canceled(m, &h);
    MATRIX_UNTIL(matrix_counts(m).stopped == 1);
    matrix_alive(m);
}

static void
a_cancel_wakes_what_waits(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "sleep");
    matrix_cancel(m, &h, "7");
    MATRIX_UNTIL(atomic_load(&job->ended));
    assert_int_equal(job->status, MCP_E_CANCELED);
    matrix_expect_canceled(m, &h);
    MATRIX_UNTIL(matrix_counts(m).stopped == 1);
}

static void
a_cancel_is_for_one_request(struct matrix *m)
{
    struct http_raw h[3];
    char id[16];

    for (int i = 0; i < 3; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        (void)begin(m, &h[i], i, id, "hold");
    }
    matrix_cancel(m, &h[1], "1");
    matrix_expect_told(matrix_job(m, 1));
    matrix_end_job(matrix_job(m, 1));
    matrix_expect_canceled(m, &h[1]);
    for (int i = 0; i < 3; i += 2) {
        assert_int_equal(atomic_load(&matrix_job(m, i)->told), 0);
        assert_false(mcp_request_is_canceled(matrix_job(m, i)->req));
        matrix_finish(matrix_job(m, i), "its own");
        matrix_expect_last(m, &h[i], "its own");
        http_close(&h[i]);
    }
}

static void
a_handler_can_ask_for_the_flag_alone(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "quiet");
    matrix_cancel(m, &h, "7");
    MATRIX_UNTIL(mcp_request_is_canceled(job->req));
    MATRIX_UNTIL(matrix_counts(m).canceled_by_peer == 1);
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_finish(job, "not to be heard");
    matrix_expect_canceled(m, &h);
    MATRIX_UNTIL(matrix_counts(m).ran_to_end == 1);
}

static void
note_told(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void
a_hook_that_comes_late_is_called_at_once(struct matrix *m)
{
    struct matrix_job *job;
    atomic_int late = 0;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_cancel(m, &h, "7");
    matrix_expect_told(job);
    assert_int_equal(mcp_request_on_cancel(job->req, note_told, &late, NULL), 0);
    assert_int_equal(atomic_load(&late), 1);
    matrix_end_job(job);
    matrix_expect_canceled(m, &h);
}

/* ---- and nothing more is said ---------------------------------------------- */

static void
silence_after_a_cancel(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_cancel(m, &h, "7");
    matrix_expect_told(job);
    assert_int_equal(mcp_request_progress(job->req, 1, 2, "late"), MCP_E_CANCELED);
    assert_int_equal(mcp_request_log(job->req, MCP_SEVERITY_ERROR, NULL, "late"),
                     MCP_E_CANCELED);
    matrix_finish(job, "late");
    matrix_expect_canceled(m, &h);
    MATRIX_UNTIL(matrix_counts(m).ran_to_end == 1);
    assert_int_equal(matrix_counts(m).answered, matrix_has_sessions(m) ? 2 : 0);
}

static void
silence_on_an_open_stream(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    assert_int_equal(mcp_request_progress(job->req, 1, 2, "in time"), 0);
    matrix_expect(m, &h, "in time");
    assert_int_equal(matrix_counts(m).streams, 1);
    matrix_cancel(m, &h, "7");
    matrix_expect_told(job);
    (void)mcp_request_progress(job->req, 2, 2, "late");
    matrix_finish(job, "late");
    matrix_expect_canceled(m, &h);
}

static void
an_answer_that_stands_beats_the_cancel(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_finish(job, "first");
    matrix_expect_last(m, &h, "first");
    matrix_cancel(m, &h, "7");
    if (matrix_has_sessions(m)) {
        matrix_alive_on(m, &h); /* and this is its answer, not a second one to 7 */
        http_close(&h);
    }
    matrix_rest(m, 0, 0);
    assert_int_equal(atomic_load(&job->told), 0);
    assert_int_equal(matrix_counts(m).canceled_by_peer, 0);
}

static void
a_failure_after_a_cancel_is_logged(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_cancel(m, &h, "7");
    matrix_expect_told(job);
    mcp_request_finish(job->req, MCP_E_SYNTAX);
    job->req = NULL;
    matrix_expect_canceled(m, &h);
    MATRIX_UNTIL(matrix_logged(m, mcp_status_text(MCP_E_SYNTAX)));
}

#define ROUNDS 20

static void *
finish_later(void *user)
{
    matrix_finish(user, "just in time");
    return NULL;
}

/* Exactly one of the two, and never both or none. */
static void
expect_one_end(struct matrix *m, struct http_raw *h)
{
    const char *message;

    if (!matrix_has_sessions(m))
        return;
    message = matrix_next(m, h);
    assert_non_null(message);
    assert_true((strstr(message, "just in time") != NULL) !=
                (strstr(message, CANCELED) != NULL));
    assert_null(matrix_next(m, h));
    matrix_alive_on(m, h);
    http_close(h);
}

static void
of_answer_and_cancel_one_wins(struct matrix *m)
{
    uint64_t before = matrix_counts(m).answered, alive = 0;
    mcp_server_counts c;
    pthread_t thread;
    struct http_raw h;

    for (int i = 0; i < ROUNDS; i++) {
        matrix_call(m, &h, "7", "hold", NULL);
        assert_int_equal(pthread_create(&thread, NULL, finish_later, matrix_job(m, i)),
                         0);
        matrix_cancel(m, &h, "7");
        pthread_join(thread, NULL);
        expect_one_end(m, &h);
        alive += matrix_has_sessions(m);
        matrix_rest(m, 0, 0);
        assert_true(atomic_load(&matrix_job(m, i)->told) <= 1);
    }
    c = matrix_counts(m);
    assert_int_equal(c.answered - before - alive + c.canceled_by_peer, ROUNDS);
}

static void
clean_up_runs_once_and_after_the_handler(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_cancel(m, &h, "7");
    matrix_expect_told(job);
    assert_int_equal(atomic_load(&job->cleaned), 0);
    matrix_end_job(job);
    assert_int_equal(atomic_load(&job->cleaned), 1); /* on this very thread */
    matrix_expect_canceled(m, &h);
    job = begin(m, &h, 1, "7", "hold");
    assert_int_equal(atomic_load(&job->cleaned), 0);
    matrix_finish(job, "done");
    matrix_expect_last(m, &h, "done");
    assert_int_equal(atomic_load(&job->cleaned), 1);
    http_close(&h);
    matrix_rest(m, 0, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(atomic_load(&matrix_job(m, i)->cleaned), 1);
}

/* ---- handlers that do not listen, or never began ---------------------------- */

static void
a_deaf_handler_holds_only_its_worker(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h, other;

    job = begin(m, &h, 0, "7", "deaf");
    matrix_cancel(m, &h, "7");
    MATRIX_UNTIL(atomic_load(&job->told) == 1);
    MATRIX_UNTIL(matrix_counts(m).overdue_handlers == 1);
    assert_int_equal(matrix_counts(m).live_handlers, 1);
    matrix_alive(m);
    (void)begin(m, &other, 1, "8", "sleep"); /* there is a worker for it */
    matrix_cancel(m, &other, "8");
    matrix_expect_canceled(m, &other);
    matrix_expect_canceled(m, &h); /* though it still runs (D14) */
    MATRIX_UNTIL(matrix_counts(m).live_handlers == 1);
    assert_false(atomic_load(&job->ended));
    atomic_store(&m->open, true);
    MATRIX_UNTIL(matrix_counts(m).live_handlers == 0);
}

static void
a_call_that_waits_for_a_worker_never_begins(struct matrix *m)
{
    struct http_raw busy, waits;

    (void)begin(m, &busy, 0, "7", "deaf");
    matrix_call(m, &waits, "8", "deaf", NULL);
    MATRIX_UNTIL(matrix_counts(m).queued == 1);
    matrix_cancel(m, &waits, "8");
    MATRIX_UNTIL(matrix_counts(m).never_started == 1);
    assert_int_equal(matrix_counts(m).queued, 0);
    matrix_expect_canceled(m, &waits);
    atomic_store(&m->open, true);
    matrix_expect_last(m, &busy, "heard nothing");
    http_close(&busy);
    matrix_rest(m, 0, 0);
    matrix_expect_jobs(m, 1);
}

static void
a_run_limit_is_answered_and_the_handler_told(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    matrix_call(m, &h, "7", "brief", NULL);
    job = matrix_job(m, 0);
    matrix_expect_last(m, &h, "\"error\"");
    matrix_has(h.body, "\"id\":7");
    matrix_expect_told(job);
    matrix_finish(job, "too late");
    matrix_alive_on(m, &h);
    http_close(&h);
    assert_int_equal(matrix_counts(m).canceled_by_limit, 1);
}

/* ---- frames: of sessions ---------------------------------------------------- */

#define FRAME(params) NOTE("notifications/cancelled", params)

static void
frames_that_name_nothing_are_ignored(struct matrix *m)
{
    static const char *const frames[] = {
        FRAME("{\"requestId\":1}"),
        FRAME("{\"requestId\":\"\"}"),
        FRAME("{\"requestId\":0}"),
        FRAME("{\"requestId\":\"07\"}"),
        FRAME("{\"requestId\":\" 7\"}"),
        FRAME("{\"requestId\":7.5}"),
        FRAME("{\"requestId\":true}"),
        FRAME("{\"requestId\":null}"),
        FRAME("{\"requestId\":[7]}"),
        FRAME("{\"requestId\":{}}"),
        FRAME("{\"reason\":\"none\"}"),
        FRAME("{\"requestId\":\"hello\"}"), /* of initialize (F20) */
        FRAME("{}"),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
    };
    struct matrix_job *job;
    struct http_raw h;
    char *body;

    job = begin(m, &h, 0, "7", "hold");
    for (size_t i = 0; i < MATRIX_COUNT(frames); i++) {
        assert_int_equal(matrix_post(m, frames[i], &body), 202);
        assert_string_equal(body, "");
        free(body);
    }
    assert_int_equal(atomic_load(&job->told), 0);
    matrix_finish(job, "untouched");
    matrix_expect_last(m, &h, "untouched");
    http_close(&h);
    assert_int_equal(atomic_load(&m->seen), 0);
}

#define HOLD_MS 2000 /* a cancel is held for its request */

static void
a_frame_that_arrives_first_ends_its_request(struct matrix *m)
{
    struct http_raw h;

    matrix_frame(m, "\"7\"");
    matrix_call(m, &h, "7", "hold", NULL);
    matrix_expect_last(m, &h, CANCELED);
    http_close(&h);
    (void)begin(m, &h, 0, "7", "hold"); /* it was used: no cancel waits for it */
    matrix_finish(matrix_job(m, 0), "again");
    matrix_expect_last(m, &h, "again");
    http_close(&h);
}

static void
a_frame_for_an_unknown_id_poisons_nothing(struct matrix *m)
{
    struct http_raw h;

    matrix_hold_time(m);
    matrix_frame(m, "7");
    matrix_frame(m, "7");
    virtual_clock_pass(&m->clock, HOLD_MS);
    (void)begin(m, &h, 0, "7", "hold");
    matrix_finish(matrix_job(m, 0), "ran");
    matrix_expect_last(m, &h, "ran");
    http_close(&h);
    matrix_frame(m, "7");
    (void)begin(m, &h, 1, "7", "hold");
    matrix_finish(matrix_job(m, 1), "again");
    matrix_expect_last(m, &h, "again");
    http_close(&h);
}

static void
frames_apply_once_and_in_either_spelling(struct matrix *m)
{
    static const struct {
        const char *id, *frame;
    } pairs[] = {{"7", "\"7\""}, {"\"7\"", "7"}, {"0", "\"0\""}, {"\"\"", "\"\""}};
    struct http_raw h;

    for (int i = 0; i < (int)MATRIX_COUNT(pairs); i++) {
        (void)begin(m, &h, i, pairs[i].id, "hold");
        for (int k = 0; k < 3; k++)
            matrix_frame(m, pairs[i].frame);
        matrix_expect_told(matrix_job(m, i));
        matrix_end_job(matrix_job(m, i));
        matrix_has(matrix_expect(m, &h, CANCELED), pairs[i].id);
        assert_null(matrix_next(m, &h));
        http_close(&h);
    }
    assert_int_equal(matrix_counts(m).canceled_by_peer, MATRIX_COUNT(pairs));
}

static void
long_ids_are_told_apart(struct matrix *m)
{
    struct http_raw a, b;

    (void)begin(m, &a, 0, "9007199254740993", "hold");
    (void)begin(m, &b, 1, "9007199254740994", "hold");
    matrix_frame(m, "9007199254740994");
    matrix_expect_told(matrix_job(m, 1));
    matrix_end_job(matrix_job(m, 1));
    matrix_expect_canceled(m, &b);
    assert_int_equal(atomic_load(&matrix_job(m, 0)->told), 0);
    matrix_finish(matrix_job(m, 0), "not this one");
    matrix_expect_last(m, &a, "not this one");
    http_close(&a);
}

static void
a_canceled_id_is_free_and_its_post_ends_alone(struct matrix *m)
{
    struct http_raw old, new;

    (void)begin(m, &old, 0, "7", "hold");
    matrix_frame(m, "7");
    matrix_expect_told(matrix_job(m, 0));
    (void)begin(m, &new, 1, "7", "hold"); /* while the first one's handler still runs */
    matrix_end_job(matrix_job(m, 0));
    matrix_expect_canceled(m, &old);
    assert_int_equal(atomic_load(&matrix_job(m, 1)->told), 0);
    matrix_finish(matrix_job(m, 1), "the successor");
    matrix_expect_last(m, &new, "the successor");
    http_close(&new);
}

static void
a_frame_is_accepted_while_its_handler_is_stuck(struct matrix *m)
{
    struct http_raw h;

    (void)begin(m, &h, 0, "7", "deaf"); /* the only worker */
    matrix_frame(m, "7");
    MATRIX_UNTIL(atomic_load(&matrix_job(m, 0)->told) == 1);
    assert_false(atomic_load(&matrix_job(m, 0)->ended));
    atomic_store(&m->open, true);
    matrix_expect_canceled(m, &h);
}

static void
a_canceled_post_ends_with_its_error(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_frame(m, "7");
    matrix_expect_told(matrix_job(m, 0));
    matrix_alive(m); /* others are answered, */
    assert_true(http_wait(&h, 0));
    assert_int_equal(h.len,
                     h.start); /* but not this one before its handler has ended */
    matrix_end_job(matrix_job(m, 0));
    matrix_expect(m, &h, CANCELED);
    assert_int_equal(h.status, 200);
    assert_string_equal(http_field(&h, "Content-Type"), "application/json");
    matrix_has(h.body, "\"id\":7");
    assert_null(matrix_next(m, &h));
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
a_canceled_stream_ends_with_its_error(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    assert_int_equal(mcp_request_progress(job->req, 1, 2, NULL), 0);
    matrix_expect(m, &h, "\"progress\":1");
    matrix_frame(m, "7");
    matrix_expect_told(job);
    matrix_end_job(job);
    matrix_has(matrix_expect(m, &h, CANCELED), "\"id\":7");
    assert_null(matrix_next(m, &h));
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
who_cancels_and_leaves_leaves_nothing(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_frame(m, "7");
    matrix_expect_told(job);
    http_close(&h);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    matrix_end_job(job);
    matrix_rest(m, 0, 0);
    matrix_alive(m);
}

static void
a_canceled_post_may_end_without_a_word(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_frame(m, "7");
    matrix_expect_told(job);
    matrix_end_job(job);
    assert_null(matrix_next(m, &h));
    assert_int_equal(h.status, m->cell == LEGACY_JSON ? 202 : 200);
    if (m->cell == LEGACY_SSE) {
        http_close(&h);
        job = begin(m, &h, 1, "8", "hold");
        assert_int_equal(mcp_request_progress(job->req, 1, 2, NULL), 0);
        matrix_expect(m, &h, "\"progress\":1");
        matrix_frame(m, "8");
        matrix_expect_told(job);
        matrix_end_job(job);
        assert_null(matrix_next(m, &h));
    }
    matrix_alive_on(m, &h);
    http_close(&h);
}

/* ---- frames: of nobody ------------------------------------------------------ */

static void
a_posted_frame_is_accepted_and_dropped(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    job = begin(m, &h, 0, "7", "hold");
    matrix_frame(m, "7");
    if (matrix_is_modern(m))
        assert_int_equal(
            matrix_post(m,
                        NOTE("notifications/cancelled", "{\"requestId\":7," STAMP "}"),
                        NULL),
            202);
    assert_int_equal(atomic_load(&job->told), 0);
    assert_false(mcp_request_is_canceled(job->req));
    matrix_finish(job, "not by a stranger");
    matrix_expect_last(m, &h, "not by a stranger");
    http_close(&h);
    assert_int_equal(atomic_load(&m->seen), 0);
}

static const struct matrix_case cases[] = {
    CASE("B1_F1_F2_F3_F25_", a_cancel_reaches_the_handler, ALL),
    CASE("B1_F3_", a_cancel_wakes_what_waits, ALL),
    CASE("B2_", a_cancel_is_for_one_request, ALL),
    CASE("F4_", a_handler_can_ask_for_the_flag_alone, ALL),
    CASE("F26_", a_hook_that_comes_late_is_called_at_once, ALL),
    CASE("F6_F7_F11_I14_", silence_after_a_cancel, ALL),
    CASE("F6_F7_F11_I14_", silence_on_an_open_stream, STREAMS),
    CASE("F10_F14_", an_answer_that_stands_beats_the_cancel, ALL),
    CASE("A16_F10_F11_", of_answer_and_cancel_one_wins, ALL),
    CASE("E27_", clean_up_runs_once_and_after_the_handler, ALL),
    CASE("F8_", a_failure_after_a_cancel_is_logged, ALL),
    CASE_WITH("C6_F5_", a_deaf_handler_holds_only_its_worker, SHARED,
              .server = {.workers = 1, .overdue_ms = 20}),
    CASE_WITH("C6_D14_F5_", a_deaf_handler_holds_only_its_worker, SESSIONS,
              .server = {.workers = 1, .overdue_ms = 20}),
    CASE_WITH("F37_", a_call_that_waits_for_a_worker_never_begins, ALL,
              .server = {.workers = 1}),
    CASE("F34_", a_run_limit_is_answered_and_the_handler_told, ALL),
    CASE("A12_F13_F15_F16_F20_", frames_that_name_nothing_are_ignored, SESSIONS),
    CASE("D25_", a_frame_that_arrives_first_ends_its_request, SESSIONS),
    CASE("F14_F17_", a_frame_for_an_unknown_id_poisons_nothing, SESSIONS),
    CASE("A5_A11_F18_F19_", frames_apply_once_and_in_either_spelling, SESSIONS),
    CASE("A10_", long_ids_are_told_apart, SESSIONS),
    CASE("A8_A15_", a_canceled_id_is_free_and_its_post_ends_alone, SESSIONS),
    CASE_WITH("D13_", a_frame_is_accepted_while_its_handler_is_stuck, SESSIONS,
              .server = {.workers = 1}),
    CASE("D14_F9_", a_canceled_post_ends_with_its_error, LEGACY_SSE),
    CASE("D14_D15_F9_", a_canceled_post_ends_with_its_error, LEGACY_JSON),
    CASE("D14_F9_", a_canceled_stream_ends_with_its_error, LEGACY_SSE),
    CASE("D14_F35_", who_cancels_and_leaves_leaves_nothing, SESSIONS),
    CASE_WITH("D14_D15_", a_canceled_post_may_end_without_a_word, SESSIONS,
              .http = {.silent_end = true}),
    CASE("E24_", a_posted_frame_is_accepted_and_dropped, SHARED),
};

const struct matrix_table matrix_cancels = {cases, MATRIX_COUNT(cases)};
