/* http_matrix_ask.c - over HTTP: a handler asks its client, in both eras */
#include "end/http_matrix.h"

#define CANCELED "-32800"
#define CANCELED_FRAME "notifications/cancelled"

/* ---- words that repeat ----------------------------------------------------- */

/* The id of a question, as JSON text. */
static void
question_id(const char *message, char *into, size_t size)
{
    const char *id = strstr(message, "\"id\":");
    size_t len;

    assert_non_null(id);
    id += 5;
    len = strcspn(id, ",}");
    assert_true(len < size);
    memcpy(into, id, len);
    into[len] = '\0';
}

/* The next event is this question. */
static void
expect_question(struct matrix *m, struct http_raw *h, const char *method, char *id,
                size_t size)
{
    question_id(matrix_expect(m, h, method), id, size);
}

/* ... and this one takes it back. */
static void
expect_taken_back(struct matrix *m, struct http_raw *h, const char *id)
{
    const char *message = matrix_expect(m, h, CANCELED_FRAME);
    char part[64];

    (void)snprintf(part, sizeof(part), "\"requestId\":%s", id);
    matrix_has(message, part);
}

static void
answer(struct matrix *m, const char *id, const char *result)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}",
                   id, result);
    assert_int_equal(matrix_post(m, text, NULL), 202);
}

static void
expect_roots(struct matrix *m, struct http_raw *h, int status)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "roots: %s", mcp_status_text(status));
    matrix_expect_last(m, h, text);
    assert_int_equal(matrix_job(m, 0)->status, status);
}

/* ---- questions on the way: legacy ------------------------------------------- */

static void
a_question_rides_on_its_request(struct matrix *m)
{
    struct http_raw h, get;
    char id[32];

    matrix_open(m, &get); /* where it must not be */
    matrix_get(m, &get, NULL);
    assert_int_equal(http_head(&get), 200);
    matrix_call(m, &h, "7", "roots", NULL);
    expect_question(m, &h, "roots/list", id, sizeof(id));
    answer(m, id, "{\"roots\":[]}");
    expect_roots(m, &h, 0);
    assert_int_equal(matrix_delete(m), 200);
    matrix_forget(m);
    assert_null(matrix_next(m, &get)); /* nothing came there */
    http_close(&get);
    http_close(&h);
}

static void
a_question_that_times_out_is_taken_back_there(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "roots", "{\"ms\":20}");
    expect_question(m, &h, "roots/list", id, sizeof(id));
    expect_taken_back(m, &h, id);
    answer(m, id, "{\"roots\":[]}"); /* late: nobody minds */
    expect_roots(m, &h, MCP_E_TIMEOUT);
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
questions_are_taken_back_before_the_last_word(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "roots", NULL);
    expect_question(m, &h, "roots/list", id, sizeof(id));
    matrix_frame(m, "7");
    expect_taken_back(m, &h, id);
    matrix_expect_last(m, &h, CANCELED);
    MATRIX_UNTIL(atomic_load(&matrix_job(m, 0)->ended));
    assert_int_equal(matrix_job(m, 0)->status, MCP_E_CANCELED);
    answer(m, id, "{\"roots\":[]}");
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
a_form_is_taken_back_before_the_last_word(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "form", NULL);
    expect_question(m, &h, "elicitation/create", id, sizeof(id));
    matrix_frame(m, "7");
    expect_taken_back(m, &h, id);
    matrix_expect_last(m, &h, CANCELED);
    answer(m, id, "{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}");
    matrix_alive_on(m, &h);
    http_close(&h);
    matrix_expect_jobs(m, 1);
}

static void
equal_ids_of_both_directions_do_not_meet(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "roots", NULL); /* to learn which one comes next */
    expect_question(m, &h, "roots/list", id, sizeof(id));
    answer(m, id, "{\"roots\":[]}");
    expect_roots(m, &h, 0);
    http_close(&h);
    (void)snprintf(id, sizeof(id), "%ld", strtol(id, NULL, 10) + 1);
    matrix_call(m, &h, id, "roots", NULL);
    matrix_has(matrix_expect(m, &h, "roots/list"), id);
    answer(m, id, "{\"roots\":[]}"); /* of the question, not the call */
    matrix_has(matrix_expect(m, &h, "roots: "), id);
    assert_null(matrix_next(m, &h));
    http_close(&h);
}

static void
a_question_can_be_answered_though_its_stream_is_lost(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "roots", NULL);
    expect_question(m, &h, "roots/list", id, sizeof(id));
    http_close(&h);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    answer(m, id, "{\"roots\":[]}");
    MATRIX_UNTIL(atomic_load(&matrix_job(m, 0)->ended));
    assert_int_equal(matrix_job(m, 0)->status, 0);
}

static void
a_question_without_a_stream_fails_at_once(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "roots", "{\"gate\":true}");
    (void)matrix_job(m, 0);
    http_close(&h);
    MATRIX_UNTIL(matrix_counts(m).connections == 0);
    atomic_store(&m->open, true);
    MATRIX_UNTIL(atomic_load(&matrix_job(m, 0)->ended));
    assert_true(matrix_job(m, 0)->status < 0);
    assert_int_not_equal(matrix_job(m, 0)->status, MCP_E_TIMEOUT);
}

static void
questions_end_with_their_session(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "roots", NULL);
    expect_question(m, &h, "roots/list", id, sizeof(id));
    assert_int_equal(matrix_delete(m), 200);
    matrix_forget(m);
    MATRIX_UNTIL(atomic_load(&matrix_job(m, 0)->ended));
    assert_true(matrix_job(m, 0)->status == MCP_E_CANCELED ||
                matrix_job(m, 0)->status == MCP_E_CLOSED);
    while (matrix_next(m, &h))
        continue;
    http_close(&h);
}

static void
a_form_is_answered_on_the_way(struct matrix *m)
{
    struct http_raw h;
    char id[32];

    matrix_call(m, &h, "7", "form", NULL);
    expect_question(m, &h, "elicitation/create", id, sizeof(id));
    answer(m, id, "{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}");
    matrix_expect_last(m, &h, "you are Ann");
    matrix_ask(m, &h, MATRIX_ASK(.id = "8", .name = "form"));
    expect_question(m, &h, "elicitation/create", id, sizeof(id));
    answer(m, id, "{\"action\":\"cancel\"}"); /* which cancels nothing (J10) */
    matrix_expect_last(m, &h, "dismissed");
    http_close(&h);
    assert_int_equal(matrix_counts(m).canceled_by_peer, 0);
}

/* ---- where there is no way ---------------------------------------------------- */

static void
a_question_is_refused_where_there_is_no_way(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "roots", NULL);
    expect_roots(m, &h, MCP_E_NO_CHANNEL);
    assert_string_equal(http_field(&h, "Content-Type"), "application/json");
    matrix_alive_on(m, &h);
    http_close(&h);
}

/* The client has said that it can be asked; it is our options that do not let us. */
static void
a_form_is_refused_where_there_is_no_way(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "form", NULL);
    matrix_expect_last(m, &h, "-32603");
    matrix_has(h.body, mcp_status_text(MCP_E_NO_CHANNEL));
    assert_int_equal(h.status, 200);
    matrix_ask(m, &h, MATRIX_ASK(.id = "8", .name = "hold"));
    assert_false(mcp_request_can_ask(matrix_job(m, 1)->req, MCP_ASK_FORM));
    assert_false(mcp_request_can_ask(matrix_job(m, 1)->req, MCP_ASK_ROOTS));
    matrix_finish(matrix_job(m, 1), "so I do without");
    matrix_expect_last(m, &h, "so I do without");
    http_close(&h);
}

static void
who_cannot_be_asked_is_not(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "form", NULL);
    matrix_expect_last(m, &h, "-32021");
    matrix_has(h.body, "\"requiredCapabilities\":{\"elicitation\"");
    assert_int_equal(h.status, 400);
    http_close(&h);
}

/* ---- rounds: modern ----------------------------------------------------------- */

#define CAN_FORM "{\"elicitation\":{}}"
#define ACCEPT                                                         \
    "\"inputResponses\":{\"who\":{\"action\":\"accept\",\"content\":{" \
    "\"name\":\"Ann\"}}},"

/* "requestState":"...", for the next round. Freed by the caller. */
static char *
state_of(const char *message)
{
    const char *state = strstr(message, "\"requestState\":\"");
    char *text;

    assert_non_null(state);
    if (asprintf(&text, "%.*s\",", (int)(strcspn(state + 16, "\"") + 16), state) < 0)
        fail();
    return text;
}

/* The first round, whose answer is a question. */
static char *
round_begin(struct matrix *m, struct http_raw *h, const char *fields)
{
    const char *message;

    matrix_ask(m, h,
               MATRIX_ASK(.id = "1", .name = "form", .capabilities = CAN_FORM,
                          .fields = fields));
    message = matrix_expect(m, h, "\"resultType\":\"input_required\"");
    assert_int_equal(h->status, 200);
    matrix_has(message, "\"method\":\"elicitation/create\"");
    return state_of(message);
}

static void
round_go_on(struct matrix *m, struct http_raw *h, const char *state, const char *fields)
{
    char *more;

    if (asprintf(&more, "%s%s", state, ACCEPT) < 0)
        fail();
    matrix_ask(m, h,
               MATRIX_ASK(.id = "2", .name = "form", .capabilities = CAN_FORM,
                          .more = more, .fields = fields));
    free(more);
}

static void
a_question_is_the_answer_and_its_answer_comes_back(struct matrix *m)
{
    struct http_raw h;
    char *state;

    matrix_open(m, &h);
    state = round_begin(m, &h, NULL);
    matrix_rest(m, 1, 0); /* nothing is kept (L9) */
    http_close(&h);
    matrix_open(m, &h); /* from anywhere */
    round_go_on(m, &h, state, NULL);
    matrix_expect_last(m, &h, "you are Ann");
    assert_int_equal(h.status, 200);
    http_close(&h);
    free(state);
}

static void
a_state_that_was_touched_is_refused(struct matrix *m)
{
    struct http_raw h;
    char *state;

    matrix_open(m, &h);
    state = round_begin(m, &h, NULL);
    state[30] = state[30] == 'A' ? 'B' : 'A';
    round_go_on(m, &h, state, NULL);
    matrix_expect_last(m, &h, "\"error\"");
    assert_null(strstr(h.body, "you are"));
    matrix_alive_on(m, &h);
    http_close(&h);
    free(state);
}

static void
identify_by_header(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    (void)user;
    mcp_http_allow(ticket, mcp_http_header(request, "X-Who"));
}

static void
a_state_is_good_for_its_own_caller(struct matrix *m)
{
    struct http_raw h;
    char *state;

    matrix_open(m, &h);
    state = round_begin(m, &h, "X-Who: alice\r\n");
    round_go_on(m, &h, state, "X-Who: bob\r\n");
    matrix_expect_last(m, &h, "\"error\"");
    round_go_on(m, &h, state, NULL);
    matrix_expect_last(m, &h, "\"error\"");
    round_go_on(m, &h, state, "X-Who: alice\r\n");
    matrix_expect_last(m, &h, "you are Ann");
    http_close(&h);
    free(state);
}

static const struct matrix_case cases[] = {
    CASE("D21_J5_", a_question_rides_on_its_request, LEGACY_SSE),
    CASE("D21_J1_J2_J5_", a_question_that_times_out_is_taken_back_there, LEGACY_SSE),
    CASE("D21_F22_J6_", questions_are_taken_back_before_the_last_word, LEGACY_SSE),
    CASE("J6_L10_", a_form_is_taken_back_before_the_last_word, LEGACY_SSE),
    CASE("J3_", equal_ids_of_both_directions_do_not_meet, LEGACY_SSE),
    CASE("D12_", a_question_can_be_answered_though_its_stream_is_lost, LEGACY_SSE),
    CASE("J8_", a_question_without_a_stream_fails_at_once, LEGACY_SSE),
    CASE("J8_F32_", questions_end_with_their_session, LEGACY_SSE),
    CASE("J10_", a_form_is_answered_on_the_way, LEGACY_SSE),
    CASE("J9_", a_question_is_refused_where_there_is_no_way, LEGACY_JSON | STATELESS),
    CASE("J7_", a_question_is_refused_where_there_is_no_way, MODERN),
    CASE("J9_", a_form_is_refused_where_there_is_no_way, LEGACY_JSON | STATELESS),
    CASE("", who_cannot_be_asked_is_not, MODERN),
    CASE("L9_", a_question_is_the_answer_and_its_answer_comes_back, MODERN),
    CASE("", a_state_that_was_touched_is_refused, MODERN),
    CASE_WITH("", a_state_is_good_for_its_own_caller, MODERN,
              .http = {.identify = identify_by_header}),
};

const struct matrix_table matrix_asking = {cases, MATRIX_COUNT(cases)};
