/* http_entry_answer_test.c - what comes back for one message, and what is made of it */
#include "link/http_client_fixture.h"

#include "link/http_entry.h"

#define FRAME "notifications/cancelled"
#define PROGRESS(token) \
    NOTE("notifications/progress", "{\"progressToken\":" token ",\"progress\":1}")

static void
start(struct lab *l, bool modern)
{
    if (modern)
        lab_start_modern(l);
    else
        lab_start_legacy(l);
}

/* ---- answers --------------------------------------------------------------- */

static void
an_answer_is_JSON_or_an_event(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start(&l, i & 1);
        post = lab_call(&l, NULL, &out);
        if (i & 2) {
            lab_stream(&l, post);
            lab_event(&l, post, ANSWER("1"));
        } else {
            lab_reply(&l, post, ANSWER("1"));
        }
        expect(&out, 0);
        assert_int_equal(l.lost, 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* Of a stream that goes on: whoever waits for it must not wait for ever. */
static void
an_answer_that_is_no_message_ends_its_call(void **state)
{
    static const char *const answers[] = {
        "{\"result\":{\"a\":NaN},\"jsonrpc\":\"2.0\",\"id\":1}", RESULT("1", "7"),
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"b"};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int i = 0; i < 6; i++) {
        start(&l, i & 1);
        post = lab_call(&l, NULL, &out);
        lab_stream(&l, post);
        lab_event(&l, post, RESULT("7", "{\"a\":NaN}")); /* another's */
        lab_event(&l, post, "{\"jsonrpc\":\"2.0\",\"result\":NaN}");
        assert_int_equal(out.done, 0);
        lab_event(&l, post, answers[i / 2]);
        assert_int_equal(post->state, FAKE_OPEN);
        expect(&out, MCP_E_PROTO);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
what_comes_before_the_answer_goes_up_too(void **state)
{
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, &opt, &out);
    lab_stream(&l, post);
    lab_event(&l, post, PROGRESS("1"));
    assert_int_equal(out.progressed, 1);
    lab_event(&l, post, REQUEST("5", "roots/list", "{}"));
    assert_non_null(l.asked);
    lab_event(&l, post, ANSWER("1"));
    expect(&out, 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
an_answer_of_ours_is_posted_in_the_session(void **state)
{
    struct fake_fetch *post;
    struct mcpi_result nothing;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_event(&l, post, REQUEST("5", "roots/list", "{}"));
    mcpi_result_init(&nothing, l.engine);
    mcpi_buf_text(&nothing.body, "{\"roots\":[]}");
    mcpi_exchange_finish(l.asked, &nothing, l.w.now);
    mcpi_exchange_unref(l.asked);
    l.asked = NULL;
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), "\"roots\":[]"));
    assert_string_equal(fake_field(lab_last(&l), "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(lab_last(&l), "mcp-protocol-version"), "2025-11-25");
    assert_string_equal(fake_field(lab_last(&l), "accept"),
                        "application/json, text/event-stream");
    lab_accept(&l, lab_last(&l));
    outcome_done(&out);
    lab_close(&l);
}

static void
an_answered_stream_may_end_by_itself_for_a_while(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        start(&l, ends);
        post = lab_call(&l, NULL, &out);
        lab_stream(&l, post);
        lab_event(&l, post, ANSWER("1"));
        expect(&out, 0);
        lab_pass(&l, MCPI_HTTP_LINGER - 1);
        assert_int_equal(post->state, FAKE_OPEN);
        if (ends)
            fake_end(post);
        lab_pass(&l, 1);
        assert_int_equal(post->state, ends ? FAKE_ENDED : FAKE_ABORTED);
        assert_int_equal(lab_posted(&l, FRAME), 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* ---- odd answers ----------------------------------------------------------- */

static void
expect_fault(struct outcome *out, int status, int http)
{
    const struct mcpi_fault *fault = mcpi_call_fault(out->call);

    expect(out, status);
    assert_non_null(fault);
    assert_int_equal(fault->http, http);
}

static void
D10_odd_replies_settle(void **state)
{
    static const struct {
        int code;
        const char *type, *text;
        int status;
    } rows[] = {
        {202, NULL, NULL, MCP_E_PROTO},
        {204, NULL, NULL, MCP_E_PROTO},
        {200, "text/html", "<p>hello</p>", MCP_E_PROTO},
        {200, JSON_TYPE, "{}", MCP_E_PROTO},
        {200, JSON_TYPE, "{", MCP_E_PROTO},
        {200, JSON_TYPE, "", MCP_E_PROTO},
        {200, JSON_TYPE, ANSWER("99"), MCP_E_PROTO}, /* for another one */
        {200, "text/event-stream", "", MCP_E_CLOSED},
        {200, "text/event-stream", ": ping\n\n", MCP_E_CLOSED},
        {500, NULL, NULL, MCP_E_HTTP},
        {503, "text/plain", "later", MCP_E_HTTP},
        {401, NULL, NULL, MCP_E_HTTP},
        {404, "text/html", "<p>", MCP_E_HTTP},
    };
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lab_start_modern(&l);
        fake_answer(lab_call(&l, NULL, &out), rows[i].code, rows[i].type, rows[i].text);
        lab_run(&l);
        expect_fault(&out, rows[i].status,
                     rows[i].status == MCP_E_HTTP ? rows[i].code : 0);
        assert_int_equal(l.lost, 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* The head says all, and the rest of it never comes. */
static void
D10_a_success_without_an_answer_is_known_by_its_head(void **state)
{
    static const int codes[] = {202, 204};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int i = 0; i < 4; i++) {
        start(&l, i & 1);
        post = lab_call(&l, NULL, &out);
        fake_head(post, codes[i / 2], NULL);
        lab_run(&l);
        expect_fault(&out, MCP_E_PROTO, 0);
        assert_int_not_equal(post->state, FAKE_OPEN);
        outcome_done(&out);
        lab_close(&l);
    }
}

/* What has come of its body by then is all of it. */
static void
D10_an_error_whose_body_never_ends_is_one_all_the_same(void **state)
{
    static const struct {
        int code;
        const char *type, *text, *why;
    } rows[] = {
        {500, NULL, NULL, "HTTP 500 Internal Server Error"},
        {429, "text/plain", "later", "HTTP 429 Too Many Requests: later"},
        {400, "application/json", "{\"jsonrpc\":", "HTTP 400 Bad Request"},
        {403, "text/html", "<p>", "HTTP 403 Forbidden"},
        {308, "application/json", NULL, "HTTP 308"},
    };
    struct fake_fetch *post;
    char type[64];
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        start(&l, i & 1);
        post = lab_call(&l, NULL, &out);
        snprintf(type, sizeof(type), "Content-Type: %s", rows[i / 2].type);
        fake_head(post, rows[i / 2].code, rows[i / 2].type ? type : NULL);
        if (rows[i / 2].text)
            fake_body(post, rows[i / 2].text);
        lab_pass(&l, MCPI_HTTP_ERROR_MAX - 1);
        assert_int_equal(out.done, 0);
        lab_pass(&l, 1);
        expect_fault(&out, MCP_E_HTTP, rows[i / 2].code);
        assert_string_equal(mcpi_call_fault(out.call)->why, rows[i / 2].why);
        assert_int_not_equal(post->state, FAKE_OPEN);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
the_answer_in_an_error_whose_body_never_ends_is_heard(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, NULL, &out);
    fake_head(post, 400, "Content-Type: " JSON_TYPE);
    fake_body(post, ERROR("1", "-32602"));
    lab_pass(&l, MCPI_HTTP_ERROR_MAX);
    expect(&out, MCP_E_PEER);
    assert_int_equal(out.code, -32602);
    outcome_done(&out);
    lab_close(&l);
}

/* initialize is tried in another way, and its clock does not run on. */
static void
a_refused_initialize_whose_body_never_ends_is_tried_as_2024(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    fake_head(lab_last(&l), 405, NULL);
    lab_pass(&l, MCPI_HTTP_ERROR_MAX);
    assert_string_equal(lab_last(&l)->method, "GET");
    lab_pass(&l, MCPI_HTTP_ERROR_MAX);
    assert_int_equal(l.lost, 0);
    fake_stream(lab_last(&l));
    fake_body(lab_last(&l), "event: endpoint\ndata: /post\n\n");
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), "initialize"));
    lab_close(&l);
}

/* Who refuses a request works on none; who stands in between does not know. */
static void
B5_what_was_refused_is_not_canceled(void **state)
{
    static const struct {
        int code;
        size_t frames;
    } rows[] = {{400, 0}, {401, 0}, {429, 0}, {500, 1}, {502, 1}, {504, 1}};
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        lab_start_legacy(&l);
        fake_answer(lab_call(&l, NULL, &out), rows[i].code, NULL, NULL);
        lab_run(&l);
        expect_fault(&out, MCP_E_HTTP, rows[i].code);
        assert_int_equal(lab_posted(&l, "notifications/cancelled"), rows[i].frames);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
an_error_of_HTTP_may_bring_the_answer(void **state)
{
    static const char *const texts[] = {
        ERROR("1", "-32020"),
        "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32020,\"message\":\"m\"}}",
        ERROR("null", "-32020"),
    };
    struct outcome out;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        lab_start_modern(&l);
        fake_answer(lab_call(&l, NULL, &out), 400, JSON_TYPE, texts[i]);
        lab_run(&l);
        expect(&out, MCP_E_PEER);
        assert_int_equal(out.code, -32020);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
what_could_not_be_sent_is_told_apart_from_what_was_lost(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        start(&l, modern);
        fake_fail(lab_call(&l, NULL, &out), MCP_E_SEND_FAILED, "nobody there");
        lab_run(&l);
        expect(&out, MCP_E_SEND_FAILED);
        assert_string_equal(mcpi_call_fault(out.call)->why, "nobody there");
        assert_true(mcpi_call_fault(out.call)->unsent);
        assert_int_equal(lab_posted(&l, FRAME), 0); /* B5: nothing to take back */
        outcome_done(&out);
        lab_close(&l);
    }
}

/* ---- lost streams ---------------------------------------------------------- */

static void
E13_E14_a_lost_modern_stream_is_CLOSED_and_not_resumed(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        lab_start_modern(&l);
        post = lab_call(&l, NULL, &out);
        lab_stream(&l, post);
        fake_body(post, "id: 5\ndata:\n\n");
        if (whole)
            fake_end(post);
        else
            fake_fail(post, MCP_E_CLOSED, "reset");
        lab_pass(&l, 40 * SECOND);
        expect(&out, MCP_E_CLOSED);
        assert_int_equal(lab_count(&l), 2);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
D9_a_legacy_stream_without_ids_that_ends_is_CLOSED(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    fake_end(post);
    lab_run(&l);
    expect(&out, MCP_E_CLOSED);
    assert_true(fetch_says(lab_last(&l), FRAME)); /* it may be at work on it */
    outcome_done(&out);
    lab_close(&l);
}

/* A call whose stream has an id and is lost. */
static struct fake_fetch *
call_and_break(struct lab *l, const struct mcpi_call_options *opt, struct outcome *out)
{
    struct fake_fetch *post = lab_call(l, opt, out);

    lab_stream(l, post);
    fake_body(post, "id: 5\nretry: 300\ndata:\n\n");
    fake_fail(post, MCP_E_CLOSED, "reset");
    lab_run(l);
    return post;
}

static void
D8_a_wanted_stream_with_ids_is_taken_up_again(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    lab_start_legacy(&l);
    (void)call_and_break(&l, NULL, &out);
    before = lab_count(&l);
    lab_pass(&l, 299 * MS);
    assert_int_equal(lab_count(&l), before);
    lab_pass(&l, 2 * MS);
    get = lab_last(&l);
    assert_string_equal(get->method, "GET");
    assert_string_equal(fake_field(get, "last-event-id"), "5");
    assert_string_equal(fake_field(get, "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(get, "mcp-protocol-version"), "2025-11-25");
    lab_stream(&l, get);
    lab_event(&l, get, ANSWER("1"));
    expect(&out, 0);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
D8_a_stream_that_was_answered_is_not_taken_up_again(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        lab_start_legacy(&l);
        post = lab_call(&l, NULL, &out);
        lab_stream(&l, post);
        fake_body(post, "id: 5\nretry: 1\ndata:\n\n");
        lab_event(&l, post, ANSWER("1"));
        expect(&out, 0);
        before = lab_count(&l);
        if (ends)
            fake_end(post);
        else
            fake_fail(post, MCP_E_CLOSED, "reset");
        lab_pass(&l, 40 * SECOND);
        assert_int_equal(lab_count(&l), before);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
D9_attempts_are_bounded(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    (void)call_and_break(&l, &opt, &out);
    for (int i = 0; i < MCPI_HTTP_RESUMES_MAX; i++) {
        expect_open(&out);
        lab_pass(&l, MCPI_HTTP_RETRY_MOST);
        assert_string_equal(lab_last(&l)->method, "GET");
        fake_fail(lab_last(&l), MCP_E_SEND_FAILED, "refused");
        lab_run(&l);
    }
    expect(&out, MCP_E_CLOSED);
    outcome_done(&out);
    lab_close(&l);
}

static void
D7_D11_an_abandoned_stream_is_not_taken_up_again(void **state)
{
    struct fake_fetch *get;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int when = 0; when < 3; when++) {
        lab_start_legacy(&l);
        if (when == 0) { /* canceled, then lost */
            struct fake_fetch *post = lab_call(&l, NULL, &out);

            lab_stream(&l, post);
            fake_body(post, "id: 5\nretry: 300\ndata:\n\n");
            lab_cancel(&l, &out);
            lab_run(&l);
            fake_fail(post, MCP_E_CLOSED, "reset");
        } else { /* lost, then canceled: in the delay, or while the GET is under way */
            (void)call_and_break(&l, NULL, &out);
            if (when == 2)
                lab_pass(&l, 301 * MS);
            get = lab_last(&l);
            lab_cancel(&l, &out);
            if (when == 2)
                assert_int_equal(get->state, FAKE_ABORTED);
        }
        lab_pass(&l, 40 * SECOND);
        expect(&out, MCP_E_CANCELED);
        assert_int_equal(lab_posted(&l, FRAME), 1); /* the server still works on it */
        for (size_t i = 3; i < lab_count(&l); i++)
            assert_true(when == 2 || strcmp(lab_at(&l, i)->method, "POST") == 0);
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
D11_closing_stops_reconnecting(void **state)
{
    struct outcome out;
    struct lab l;
    size_t gets = 0;

    (void)state;
    lab_start_legacy(&l);
    (void)call_and_break(&l, NULL, &out);
    lab_shut(&l);
    expect(&out, MCP_E_CLOSED);
    lab_pass(&l, 40 * SECOND);
    for (size_t i = 3; i < lab_count(&l); i++)
        gets += strcmp(lab_at(&l, i)->method, "GET") == 0;
    assert_int_equal(gets, 0);
    outcome_done(&out);
    lab_close(&l);
}

TEST_MAIN(TEST(an_answer_is_JSON_or_an_event),
          TEST(an_answer_that_is_no_message_ends_its_call),
          TEST(what_comes_before_the_answer_goes_up_too),
          TEST(an_answer_of_ours_is_posted_in_the_session),
          TEST(an_answered_stream_may_end_by_itself_for_a_while),
          TEST(D10_odd_replies_settle),
          TEST(D10_a_success_without_an_answer_is_known_by_its_head),
          TEST(D10_an_error_whose_body_never_ends_is_one_all_the_same),
          TEST(the_answer_in_an_error_whose_body_never_ends_is_heard),
          TEST(a_refused_initialize_whose_body_never_ends_is_tried_as_2024),
          TEST(B5_what_was_refused_is_not_canceled),
          TEST(an_error_of_HTTP_may_bring_the_answer),
          TEST(what_could_not_be_sent_is_told_apart_from_what_was_lost),
          TEST(E13_E14_a_lost_modern_stream_is_CLOSED_and_not_resumed),
          TEST(D9_a_legacy_stream_without_ids_that_ends_is_CLOSED),
          TEST(D8_a_wanted_stream_with_ids_is_taken_up_again),
          TEST(D8_a_stream_that_was_answered_is_not_taken_up_again),
          TEST(D9_attempts_are_bounded),
          TEST(D7_D11_an_abandoned_stream_is_not_taken_up_again),
          TEST(D11_closing_stops_reconnecting))
