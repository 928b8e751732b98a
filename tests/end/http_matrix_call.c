/* http_matrix_call.c - over HTTP: ids, answers, progress and log messages */
#include "end/http_matrix.h"

#define BIG 300000

/* ---- answers --------------------------------------------------------------- */

static void
a_call_is_answered(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "hold", NULL);
    matrix_finish(matrix_job(m, 0), "h\xc3\xa9llo");
    matrix_expect(m, &h, "h\xc3\xa9llo");
    assert_int_equal(h.status, 200);
    assert_string_equal(http_field(&h, "Content-Type"), "application/json");
    assert_null(matrix_next(m, &h));
    matrix_alive_on(m, &h); /* the connection lives on */
    http_close(&h);
    assert_int_equal(matrix_counts(m).failed, 0);
}

static void
a_long_message_arrives_whole(struct matrix *m)
{
    char *arguments = malloc(BIG + 32);
    struct http_raw h;

    assert_non_null(arguments);
    (void)snprintf(arguments, BIG + 32, "{\"text\":\"%0*d\"}", BIG, 7);
    matrix_call(m, &h, "7", "echo", arguments);
    matrix_expect(m, &h, "0007 to ");
    assert_true(h.body_len > BIG);
    http_close(&h);
    free(arguments);
}

static void
a_long_event_arrives_whole(struct matrix *m)
{
    char *text = malloc(BIG + 1);
    struct matrix_job *job;
    struct http_raw h;

    assert_non_null(text);
    (void)snprintf(text, BIG + 1, "%0*d", BIG, 7);
    matrix_call_streamed(m, &h, "7", "hold", NULL);
    job = matrix_job(m, 0);
    assert_int_equal(mcp_request_progress(job->req, 1, 0, text), 0);
    matrix_finish(job, text);
    assert_true(strlen(matrix_expect(m, &h, "\"progress\":1")) > BIG);
    assert_true(strlen(matrix_expect(m, &h, "\"result\"")) > BIG);
    assert_null(matrix_next(m, &h));
    matrix_alive_on(m, &h);
    http_close(&h);
    free(text);
}

/* A call whose Accept names only this. */
static void
call_accepting(struct matrix *m, struct http_raw *h, const char *type)
{
    char *text = matrix_ask_text(
        m, MATRIX_ASK(.id = "7", .name = "hold", .meta = "\"progressToken\":\"p\","));
    char *both = strstr(text, "application/json, text/event-stream");

    assert_non_null(both);
    memset(both, ' ', strlen("application/json, text/event-stream"));
    memcpy(both, type, strlen(type));
    matrix_open(m, h);
    http_say(h, text);
    free(text);
}

static void
the_answer_is_of_a_type_that_is_accepted(struct matrix *m)
{
    struct http_raw h;

    call_accepting(m, &h, "application/json");
    (void)mcp_request_progress(matrix_job(m, 0)->req, 1, 2, NULL);
    matrix_finish(matrix_job(m, 0), "as a body");
    matrix_expect_last(m, &h, "as a body");
    assert_string_equal(http_field(&h, "Content-Type"), "application/json");
    http_close(&h);
    call_accepting(m, &h, "text/event-stream");
    if (m->cell & BODIES) {
        assert_int_equal(http_answer(&h), 406);
        matrix_has(h.body, "\"error\"");
        matrix_expect_jobs(m, 1);
    } else {
        matrix_finish(matrix_job(m, 1), "as an event");
        matrix_expect_last(m, &h, "as an event");
        assert_string_equal(http_field(&h, "Content-Type"), "text/event-stream");
    }
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
who_asks_before_a_body_is_told_to_go_on(struct matrix *m)
{
    char *text = matrix_ask_text(
        m, MATRIX_ASK(.id = "7", .name = "echo", .fields = "Expect: 100-continue\r\n"));
    char *body = strstr(text, "\r\n\r\n") + 4;
    struct http_raw h;

    matrix_open(m, &h);
    http_write(&h, text, (size_t)(body - text));
    assert_int_equal(http_head(&h), 100);
    h.status = 0;
    http_say(&h, body);
    matrix_expect_last(m, &h, "\"result\"");
    http_close(&h);
    free(text);
}

static void
who_wants_the_connection_closed_gets_it(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    matrix_ask(
        m, &h,
        MATRIX_ASK(.id = "7", .name = "hold", .fields = "Connection: close\r\n"));
    matrix_finish(matrix_job(m, 0), "and good bye");
    matrix_expect_last(m, &h, "and good bye");
    assert_string_equal(http_field(&h, "Connection"), "close");
    http_expect_end(&h);
    http_close(&h);
}

static void
garbage_loses_nothing_else(struct matrix *m)
{
    static const struct {
        const char *text;
        const char *code;
    } words[] = {{"{\"jsonrpc\":\"2.0\",\"id\":1", "-32700"},
                 {"\x01\xff nonsense", "-32700"},
                 {"[]", "-32600"},
                 {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "-32600"},
                 {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "-32600"},
                 {"7", "-32600"}};
    struct http_raw h;
    char *body;

    matrix_call(m, &h, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        assert_int_equal(matrix_post(m, words[i].text, &body), 400);
        matrix_has(body, words[i].code);
        free(body);
    }
    matrix_finish(matrix_job(m, 0), "unharmed");
    matrix_expect_last(m, &h, "unharmed");
    http_close(&h);
}

static void
a_failure_is_answered_with_its_error(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "hold", NULL);
    (void)mcp_request_fail(matrix_job(m, 0)->req, -32123, NULL, "no luck");
    mcp_request_finish(matrix_job(m, 0)->req, MCP_E_PEER);
    matrix_job(m, 0)->req = NULL;
    matrix_expect_last(m, &h, "\"code\":-32123");
    assert_int_equal(h.status, 200); /* it was served */
    matrix_ask(m, &h, MATRIX_ASK(.id = "8", .name = "no_such_tool"));
    matrix_expect_last(m, &h, "-32602");
    assert_int_equal(h.status, matrix_is_modern(m) ? 400 : 200);
    matrix_ask(m, &h, MATRIX_ASK(.id = "9", .method = "no/such"));
    matrix_expect_last(m, &h, "-32601");
    assert_int_equal(h.status, matrix_is_modern(m) ? 404 : 200);
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
other_methods_are_served(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    matrix_ask(m, &h, MATRIX_ASK(.id = "1", .method = "tools/list"));
    matrix_expect_last(m, &h, "\"name\":\"hold\"");
    matrix_ask(m, &h, MATRIX_ASK(.id = "2", .method = "resources/list"));
    matrix_expect_last(m, &h, "test://a");
    matrix_ask(m, &h,
               MATRIX_ASK(.id = "3", .method = "resources/read", .name = "test://a",
                          .more = "\"uri\":\"test://a\","));
    matrix_expect_last(m, &h, "\"text\":\"A\"");
    matrix_ask(m, &h, MATRIX_ASK(.id = "4", .method = "ping"));
    matrix_expect_last(m, &h, matrix_is_modern(m) ? "-32601" : "\"result\":{}");
    matrix_ask(m, &h, MATRIX_ASK(.id = "5", .method = "server/discover"));
    matrix_expect_last(m, &h, matrix_is_modern(m) ? "supportedVersions" : "-32601");
    http_close(&h);
}

/* ---- ids ------------------------------------------------------------------- */

static const char *const ids[] = {"7",
                                  "\"7\"",
                                  "0",
                                  "-1",
                                  "\"\"",
                                  "\"07\"",
                                  "9007199254740993",
                                  "18446744073709551615",
                                  "\"k\\\"\\\\\xc3\xa9/07\""};
#define IDS MATRIX_COUNT(ids)

/* The answer to that id, of that type and in that spelling. */
static void
expect_id(const char *message, const char *id)
{
    char member[96];

    (void)snprintf(member, sizeof(member), "\"id\":%s", id);
    matrix_has(message, member);
}

static void
ids_come_and_go_verbatim(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    for (int i = 0; i < (int)IDS; i++) {
        matrix_ask(m, &h, MATRIX_ASK(.id = ids[i], .name = "hold"));
        assert_string_equal(matrix_job(m, i)->id, ids[i]);
        matrix_finish(matrix_job(m, i), "done");
        expect_id(matrix_expect(m, &h, "done"), ids[i]);
        matrix_ask(m, &h, MATRIX_ASK(.id = ids[i], .name = "no_such_tool"));
        expect_id(matrix_expect(m, &h, "\"error\""), ids[i]); /* the id is free again */
    }
    http_close(&h);
}

static void
what_is_no_id_is_refused(struct matrix *m)
{
    static const char *const words[] = {
        "null", "true", "1.5", "[]", "{}", "1e300", "18446744073709551616"};
    struct http_raw h;

    matrix_open(m, &h);
    for (size_t i = 0; i < MATRIX_COUNT(words); i++) {
        matrix_ask(m, &h, MATRIX_ASK(.id = words[i], .name = "hold"));
        matrix_expect_last(m, &h, "-32600");
        assert_int_equal(h.status, 400);
        assert_null(strstr(h.body, "\"id\""));
    }
    matrix_ask(m, &h, MATRIX_ASK(.id = "1.0", .name = "hold"));
    matrix_expect_last(m, &h, "-32600");
    assert_non_null(strstr(h.body, "\"id\":1.0"));
    matrix_alive_on(m, &h);
    http_close(&h);
    matrix_expect_jobs(m, 0);
}

static void
an_id_that_is_open_in_its_session_is_refused(struct matrix *m)
{
    struct http_raw first, second;

    matrix_call(m, &first, "7", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_call(m, &second, "7", "echo", NULL);
    expect_id(matrix_expect(m, &second, "-32600"), "7");
    assert_int_equal(second.status, 400);
    http_close(&second);
    matrix_call(m, &second, "\"7\"", "echo", NULL);
    expect_id(matrix_expect(m, &second, "-32600"), "\"7\"");
    assert_int_equal(second.status, 400);
    assert_int_equal(atomic_load(&matrix_job(m, 0)->told), 0);
    matrix_finish(matrix_job(m, 0), "the first");
    matrix_expect_last(m, &first, "the first");
    matrix_expect_jobs(m, 1);
    http_close(&first);
    http_close(&second);
}

static void
equal_ids_of_two_sessions_do_not_meet(struct matrix *m)
{
    char *other = matrix_hello(m, NULL);
    struct http_raw a, b;

    matrix_call(m, &a, "1", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_open(m, &b);
    matrix_ask(m, &b, MATRIX_ASK(.id = "1", .name = "hold", .session = other));
    matrix_finish(matrix_job(m, 1), "for b");
    matrix_expect_last(m, &b, "for b");
    matrix_finish(matrix_job(m, 0), "for a");
    matrix_expect_last(m, &a, "for a");
    http_ask(&b, "DELETE", other);
    assert_int_equal(http_answer(&b), 200);
    http_close(&a);
    http_close(&b);
    free(other);
}

static void
equal_ids_of_two_callers_do_not_meet(struct matrix *m)
{
    struct http_raw a, b;

    matrix_call(m, &a, "1", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_call(m, &b, "1", "hold", NULL);
    matrix_finish(matrix_job(m, 1), "for b");
    matrix_expect_last(m, &b, "for b");
    matrix_finish(matrix_job(m, 0), "for a");
    matrix_expect_last(m, &a, "for a");
    http_close(&a);
    http_close(&b);
}

/* ---- progress and logs ----------------------------------------------------- */

static void
progress_comes_in_order_and_before_the_result(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;
    char part[32];

    matrix_call_streamed(m, &h, "7", "hold", NULL);
    job = matrix_job(m, 0);
    for (int i = 1; i <= 5; i++) {
        assert_int_equal(mcp_request_progress(job->req, i, 5, "on my way"), 0);
        (void)snprintf(part, sizeof(part), "\"progress\":%d.", i);
        matrix_has(matrix_expect(m, &h, "notifications/progress"), part);
        matrix_has(h.event, "\"progressToken\":\"p\"");
    }
    assert_string_equal(http_field(&h, "X-Accel-Buffering"), "no");
    assert_string_equal(http_field(&h, "Cache-Control"), "no-cache");
    assert_int_equal(matrix_counts(m).streams, 1);
    assert_int_equal(mcp_request_progress(job->req, 5, 5, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_request_progress(job->req, 6, 6, NULL), 0);
    matrix_finish(job, "there");
    matrix_expect(m, &h, "\"progress\":6");
    matrix_expect_last(m, &h, "there");
    matrix_alive_on(m, &h);
    http_close(&h);
}

static void
progress_in_a_burst_ends_with_the_newest(struct matrix *m)
{
    struct matrix_job *job;
    const char *message, *value;
    struct http_raw h;
    long last = 0;

    matrix_call_streamed(m, &h, "7", "hold", NULL);
    job = matrix_job(m, 0);
    for (int i = 1; i <= 500; i++)
        assert_int_equal(mcp_request_progress(job->req, i, 500, NULL), 0);
    matrix_finish(job, "there");
    for (message = matrix_next(m, &h); !strstr(message, "\"result\"");
         message = matrix_next(m, &h)) {
        value = strstr(message, "\"progress\":");
        assert_non_null(value);
        assert_true(strtol(value + 11, NULL, 10) > last);
        last = strtol(value + 11, NULL, 10);
    }
    assert_int_equal(last, 500);
    assert_null(matrix_next(m, &h));
    http_close(&h);
}

static void
without_streams_progress_is_dropped(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    matrix_call_streamed(m, &h, "7", "hold", NULL);
    job = matrix_job(m, 0);
    for (int i = 1; i <= 5; i++)
        assert_int_equal(mcp_request_progress(job->req, i, 5, NULL), 0);
    assert_int_equal(
        mcp_request_log(job->req, MCP_SEVERITY_EMERGENCY, NULL, "nobody hears"), 0);
    matrix_finish(job, "there");
    matrix_expect_last(m, &h, "there");
    assert_string_equal(http_field(&h, "Content-Type"), "application/json");
    http_close(&h);
}

static void
a_call_without_a_token_gets_no_progress(struct matrix *m)
{
    struct http_raw h;

    matrix_call(m, &h, "7", "hold", NULL);
    assert_int_equal(mcp_request_progress(matrix_job(m, 0)->req, 1, 2, NULL), 0);
    matrix_finish(matrix_job(m, 0), "there");
    matrix_expect_last(m, &h, "there");
    http_close(&h);
}

static void
log_messages_come_before_the_result(struct matrix *m)
{
    struct matrix_job *job;
    struct http_raw h;

    matrix_open(m, &h);
    matrix_ask(m, &h,
               MATRIX_ASK(.id = "7", .name = "hold",
                          .meta = matrix_is_modern(m)
                                      ? "\"io.modelcontextprotocol/logLevel\":\"info\","
                                      : NULL));
    job = matrix_job(m, 0);
    assert_int_equal(mcp_request_log(job->req, MCP_SEVERITY_DEBUG, "me", "a"), 0);
    assert_int_equal(mcp_request_log(job->req, MCP_SEVERITY_INFO, "me", "first"), 0);
    matrix_has(matrix_expect(m, &h, "notifications/message"), "\"first\"");
    assert_int_equal(mcp_request_log(job->req, MCP_SEVERITY_ERROR, "me", "second"), 0);
    matrix_finish(job, "there");
    matrix_has(matrix_expect(m, &h, "notifications/message"), "\"second\"");
    matrix_expect_last(m, &h, "there");
    http_close(&h);
}

static void
a_modern_call_that_wants_no_logs_gets_none(struct matrix *m)
{
    struct http_raw h, other;

    matrix_open(m, &other); /* wants all of them, but has none of its own */
    matrix_ask(m, &other,
               MATRIX_ASK(.id = "8", .name = "hold",
                          .meta = "\"io.modelcontextprotocol/logLevel\":\"debug\","));
    (void)matrix_job(m, 0);
    matrix_call(m, &h, "7", "hold", NULL);
    assert_int_equal(
        mcp_request_log(matrix_job(m, 1)->req, MCP_SEVERITY_EMERGENCY, NULL, "a"), 0);
    matrix_finish(matrix_job(m, 1), "there");
    matrix_expect_last(m, &h, "there");
    matrix_finish(matrix_job(m, 0), "here");
    matrix_expect_last(m, &other, "here");
    http_close(&h);
    http_close(&other);
}

/* ---- many ------------------------------------------------------------------ */

#define MANY 40

static void
many_at_once_each_get_their_own_end(struct matrix *m)
{
    static struct http_raw h[MANY];
    char id[16];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        matrix_call(m, &h[i], id, "hold", NULL);
        (void)matrix_job(m, i);
    }
    assert_int_equal(matrix_counts(m).in_flight, MANY);
    for (int i = 0; i < MANY; i += 2) {
        (void)snprintf(id, sizeof(id), "%d", i);
        matrix_cancel(m, &h[i], id);
    }
    for (int i = 0; i < MANY; i += 2)
        MATRIX_UNTIL(atomic_load(&matrix_job(m, i)->told) == 1);
    for (int i = MANY; i-- > 0;) {
        (void)snprintf(id, sizeof(id), "<%d>", i);
        matrix_finish(matrix_job(m, i), id);
    }
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(id, sizeof(id), "<%d>", i);
        if (i % 2 == 0) {
            matrix_expect_canceled(m, &h[i]);
            continue;
        }
        assert_int_equal(atomic_load(&matrix_job(m, i)->told), 0);
        matrix_expect_last(m, &h[i], id);
        http_close(&h[i]);
    }
    assert_int_equal(matrix_counts(m).canceled_by_peer, MANY / 2);
}

static void
over_the_limit_is_refused_and_cancels_still_apply(struct matrix *m)
{
    struct http_raw a, b, c;

    matrix_call(m, &a, "1", "hold", NULL);
    (void)matrix_job(m, 0);
    matrix_call(m, &b, "2", "hold", NULL);
    (void)matrix_job(m, 1);
    matrix_call(m, &c, "3", "hold", NULL);
    matrix_expect_last(m, &c, "\"id\":3");
    matrix_has(c.body, "\"error\"");
    assert_int_equal(c.status, matrix_has_sessions(m) ? 429 : 503);
    assert_non_null(http_field(&c, "Retry-After"));
    http_close(&c);
    matrix_cancel(m, &a, "1");
    matrix_expect_told(matrix_job(m, 0));
    matrix_end_job(matrix_job(m, 0));
    matrix_expect_canceled(m, &a);
    MATRIX_UNTIL(matrix_counts(m).live_handlers == 1);
    matrix_alive(m);
    http_close(&b);
}

static const struct matrix_case cases[] = {
    CASE("G10_", a_call_is_answered, ALL),
    CASE("G10_", a_long_message_arrives_whole, ALL),
    CASE("G10_", a_long_event_arrives_whole, STREAMS),
    CASE("G10_", other_methods_are_served, ALL),
    CASE("G10_", the_answer_is_of_a_type_that_is_accepted, ALL),
    CASE("G10_", who_asks_before_a_body_is_told_to_go_on, ALL),
    CASE("G10_", who_wants_the_connection_closed_gets_it, ALL),
    CASE("C11_", garbage_loses_nothing_else, ALL),
    CASE("", a_failure_is_answered_with_its_error, ALL),
    CASE("A2_A8_A10_A11_", ids_come_and_go_verbatim, ALL),
    CASE("A12_", what_is_no_id_is_refused, ALL),
    CASE("F21_", an_id_that_is_open_in_its_session_is_refused, SESSIONS),
    CASE("F21_", equal_ids_of_two_sessions_do_not_meet, SESSIONS),
    CASE("E28_", equal_ids_of_two_callers_do_not_meet, SHARED),
    CASE("I12_I15_", progress_comes_in_order_and_before_the_result, STREAMS),
    CASE("I12_", progress_in_a_burst_ends_with_the_newest, STREAMS),
    CASE("", without_streams_progress_is_dropped, BODIES),
    CASE("A18_", a_call_without_a_token_gets_no_progress, ALL),
    CASE("", log_messages_come_before_the_result, STREAMS),
    CASE("", a_modern_call_that_wants_no_logs_gets_none, MODERN),
    CASE("B2_", many_at_once_each_get_their_own_end, ALL),
    CASE_WITH("F38_", over_the_limit_is_refused_and_cancels_still_apply, ALL,
              .server = {.in_flight = 2}),
};

const struct matrix_table matrix_calls = {cases, MATRIX_COUNT(cases)};
