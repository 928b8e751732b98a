/* http_client_test.c - the HTTP client as a link: opening, sessions, closing */
#include "link/http_client_fixture.h"

#include "wire/mirror.h"
#include "json/value.h"

#define FRAME "notifications/cancelled"

/* ---- opening --------------------------------------------------------------- */

static void
X12_a_modern_server_is_asked_once(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_BOTH};
    struct fake_fetch *post;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    post = lab_last(&l);
    assert_string_equal(post->method, "POST");
    assert_string_equal(post->url, URL);
    assert_int_equal(post->idle_us, MCPI_NEVER);
    assert_string_equal(fake_field(post, "accept"),
                        "application/json, text/event-stream");
    assert_string_equal(fake_field(post, "content-type"), "application/json");
    assert_string_equal(fake_field(post, "mcp-protocol-version"), "2026-07-28");
    assert_true(fetch_says(post, "/protocolVersion\":\"2026-07-28\""));
    assert_string_equal(fake_field(post, "mcp-method"), "server/discover");
    assert_null(fake_field(post, "mcp-name"));
    lab_reply(&l, post, RESULT("\"libmcp:discover\"", DISCOVERED));
    assert_int_equal(l.ready_status, 0);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_count(&l), 1);
    lab_close(&l);
}

static void
X12_a_server_that_refuses_by_HTTP_is_a_legacy_one(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_BOTH};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    fake_answer(lab_last(&l), 400, "text/plain", "Bad Request");
    lab_run(&l);
    assert_true(fetch_says(lab_last(&l), "\"initialize\""));
    assert_null(fake_field(lab_last(&l), "mcp-protocol-version"));
    assert_null(fake_field(lab_last(&l), "mcp-method"));
    lab_close(&l);
}

static void
a_session_begins_with_the_answer_to_initialize(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    assert_null(fake_field(lab_last(&l), "mcp-session-id"));
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    post = lab_last(&l);
    assert_true(fetch_says(post, "notifications/initialized"));
    assert_string_equal(fake_field(post, "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(post, "mcp-protocol-version"), "2025-11-25");
    lab_accept_without_stream(&l, post);
    post = lab_call(&l, NULL, &out);
    assert_string_equal(fake_field(post, "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(post, "mcp-protocol-version"), "2025-11-25");
    assert_null(fake_field(post, "mcp-method"));
    outcome_done(&out);
    lab_close(&l);
}

static void
the_version_that_was_agreed_on_is_that_of_all_that_follows(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    fake_head(lab_last(&l), 200, "Content-Type: " JSON_TYPE "\n" SESSION_HEAD);
    fake_body(lab_last(&l), RESULT("0", INITIALIZED("2025-06-18")));
    fake_end(lab_last(&l));
    lab_run(&l);
    lab_accept_without_stream(&l, lab_last(&l));
    lab_reply(&l, lab_call(&l, NULL, &out), ANSWER("1"));
    lab_shut(&l);
    assert_int_equal(lab_count(&l), 5);
    assert_string_equal(lab_last(&l)->method, "DELETE");
    for (size_t i = 1; i < lab_count(&l); i++)
        assert_string_equal(fake_field(lab_at(&l, i), "mcp-protocol-version"),
                            "2025-06-18");
    outcome_done(&out);
    lab_close(&l);
}

static void
a_session_that_is_named_elsewhere_or_badly_is_none(void **state)
{
    static const char *const heads[] = {NULL, "Mcp-Session-Id: a b"};
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        lab_connect(&l, &opt);
        lab_welcome(&l, lab_last(&l), heads[i]);
        lab_accept_without_stream(&l, lab_last(&l));
        post = lab_call(&l, NULL, &out);
        fake_head(post, 200, "Content-Type: " JSON_TYPE "\n" SESSION_HEAD);
        fake_body(post, ANSWER("1"));
        fake_end(post);
        outcome_done(&out);
        assert_null(fake_field(lab_call(&l, NULL, &out), "mcp-session-id"));
        outcome_done(&out);
        lab_close(&l);
    }
}

static void
a_modern_server_cannot_name_a_session(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_MODERN};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    post = lab_last(&l);
    for (int i = 0; i < 2; i++) {
        fake_head(post, 200, "Content-Type: " JSON_TYPE "\n" SESSION_HEAD);
        fake_body(post, i ? ANSWER("1") : RESULT("\"libmcp:discover\"", DISCOVERED));
        fake_end(post);
        lab_run(&l);
        if (i)
            outcome_done(&out);
        post = lab_call(&l, NULL, &out);
        assert_null(fake_field(post, "mcp-session-id"));
    }
    outcome_done(&out);
    lab_pass(&l, SECOND);
    lab_shut(&l);
    for (size_t i = 0; i < lab_count(&l); i++) /* no GET, no DELETE */
        assert_string_equal(lab_at(&l, i)->method, "POST");
    lab_close(&l);
}

static void
nothing_overtakes_the_greeting(void **state)
{
    static const int codes[] = {202, 500, 0};
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .no_stream = true};
    struct outcome out, taken_back;
    struct lab l;

    (void)state;
    for (int i = 0; i < 3; i++) {
        lab_connect(&l, &opt);
        world_call(&l.w, CLIENT, NULL, &out);
        world_call(&l.w, CLIENT, NULL, &taken_back);
        lab_welcome(&l, lab_last(&l), SESSION_HEAD);
        lab_pass(&l, SECOND);
        assert_int_equal(lab_count(&l), 2);
        lab_cancel(&l, &taken_back); /* it still waits: without a trace (B7) */
        if (codes[i])
            fake_answer(lab_last(&l), codes[i], NULL, NULL);
        else
            fake_fail(lab_last(&l), MCP_E_CLOSED, "reset");
        lab_run(&l);
        assert_int_equal(lab_count(&l), 3);
        assert_int_equal(lab_posted(&l, "tools/call"), 1);
        outcome_done(&out);
        outcome_done(&taken_back);
        lab_close(&l);
    }
}

static void
a_greeting_is_answered_by_any_head(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .no_stream = true};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    world_call(&l.w, CLIENT, NULL, &out);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    lab_stream(&l, lab_last(&l)); /* and it does not end */
    assert_int_equal(lab_posted(&l, "tools/call"), 1);
    outcome_done(&out);
    lab_close(&l);
}

static void
a_greeting_that_is_never_answered_does_not_hold_us_for_ever(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .no_stream = true};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    world_call(&l.w, CLIENT, NULL, &out);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    lab_pass(&l, 4 * SECOND);
    assert_int_equal(lab_posted(&l, "tools/call"), 0);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_posted(&l, "tools/call"), 1);
    assert_int_equal(lab_at(&l, 1)->state, FAKE_OPEN); /* it may still come */
    lab_pass(&l, 30 * SECOND);
    assert_int_equal(lab_at(&l, 1)->state, FAKE_ABORTED);
    outcome_done(&out);
    lab_close(&l);
}

static void
every_request_has_the_given_lines(void **state)
{
    static const char fields[] = "Authorization: Bearer x";
    struct lab_options opt = {
        .era = MCPI_ERA_LEGACY, .fields = fields, .fields_len = sizeof(fields)};
    struct lab l;

    (void)state;
    lab_start_legacy_with(&l, &opt);
    lab_shut(&l);
    assert_string_equal(lab_last(&l)->method, "DELETE");
    for (size_t i = 0; i < lab_count(&l); i++) {
        assert_string_equal(fake_field(lab_at(&l, i), "authorization"), "Bearer x");
        assert_string_equal(lab_at(&l, i)->url, URL); /* which says none of it */
    }
    lab_close(&l);
}

static void
what_a_modern_request_says_stands_in_its_headers(void **state)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"region\":{"
                                 "\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}";
    const struct mcpi_json_limits limits = {4096, 16};
    struct mcpi_call_options opt = {
        .params = "{\"name\":\"t\",\"arguments\":{\"region\":\"eu\"}}"};
    struct mcpi_mirror *mirror;
    struct fake_fetch *post;
    const char *fault;
    struct outcome out;
    struct lab l;
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcpi_doc_parse(NULL, schema, strlen(schema), &limits, &doc), 0);
    assert_int_equal(mcpi_mirror_new(NULL, mcp_doc_root(doc), &mirror, &fault), 0);
    lab_start_modern(&l);
    l.mirror = mirror;
    post = lab_call(&l, &opt, &out);
    assert_string_equal(fake_field(post, "mcp-method"), "tools/call");
    assert_string_equal(fake_field(post, "mcp-name"), "t");
    assert_string_equal(fake_field(post, "mcp-param-region"), "eu");
    assert_string_equal(fake_field(post, "mcp-protocol-version"), "2026-07-28");
    assert_true(fetch_says(post, "/protocolVersion\":\"2026-07-28\""));
    assert_null(fake_field(post, "mcp-session-id"));
    outcome_done(&out);
    lab_close(&l);
    lab_start_legacy(&l); /* and nothing of it in an old one */
    l.mirror = mirror;
    post = lab_call(&l, &opt, &out);
    assert_null(fake_field(post, "mcp-method"));
    assert_null(fake_field(post, "mcp-name"));
    assert_null(fake_field(post, "mcp-param-region"));
    outcome_done(&out);
    lab_close(&l);
    mcpi_mirror_free(mirror);
    mcp_doc_free(doc);
}

static void
E6_E7_the_version_is_that_of_the_last_stamp(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    assert_int_equal(
        mcpi_peer_notify(l.w.peer[CLIENT], "notifications/custom", NULL, 0, l.w.now),
        0);
    lab_run(&l);
    assert_string_equal(fake_field(lab_last(&l), "mcp-protocol-version"), "2026-07-28");
    l.w.peer[CLIENT]->dialect = &mcpi_dialect_legacy; /* as if it had moved */
    lab_call(&l, &(struct mcpi_call_options){.method = "initialize"}, &out);
    assert_null(fake_field(lab_last(&l), "mcp-protocol-version"));
    outcome_done(&out);
    lab_close(&l);
}

static void
E1_E2_a_modern_cancel_closes_the_POST_and_nothing_else_is_sent(void **state)
{
    struct outcome first, second;
    struct fake_fetch *post;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, NULL, &first);
    lab_cancel(&l, &first);
    expect(&first, MCP_E_CANCELED);
    assert_int_equal(post->state, FAKE_ABORTED);
    lab_run(&l);
    assert_int_equal(lab_count(&l), 2);
    assert_true(fetch_says(lab_call(&l, NULL, &second), "tools/call"));
    outcome_done(&first);
    outcome_done(&second);
    lab_close(&l);
}

static void
E10_a_frame_by_hand_for_a_modern_request_closes_its_POST(void **state)
{
    static const char params[] = "{\"requestId\":\"1\",\"_meta\":{\"x/y\":1}}";
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, NULL, &out);
    assert_int_equal(
        mcpi_peer_notify(l.w.peer[CLIENT], FRAME, params, sizeof(params) - 1, l.w.now),
        0);
    lab_run(&l);
    expect(&out, MCP_E_CANCELED);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(lab_count(&l), 2);
    outcome_done(&out);
    lab_close(&l);
}

/* ---- a session that is lost ------------------------------------------------ */

/* One request was answered in it. */
static void
start_session(struct lab *l)
{
    struct outcome out;

    lab_start_legacy(l);
    lab_reply(l, lab_call(l, NULL, &out), ANSWER("1"));
    expect(&out, 0);
    outcome_done(&out);
}

static void
renew(struct lab *l)
{
    struct fake_fetch *post = lab_last(l);

    assert_true(fetch_says(post, "\"initialize\""));
    assert_null(fake_field(post, "mcp-session-id"));
    assert_null(fake_field(post, "mcp-protocol-version"));
    lab_welcome(l, post, "Mcp-Session-Id: s-2");
    assert_string_equal(fake_field(lab_last(l), "mcp-session-id"), "s-2");
    lab_accept_without_stream(l, lab_last(l));
}

static void
a_request_that_meets_a_lost_session_is_sent_once_more(void **state)
{
    struct fake_fetch *post;
    struct outcome met, other;
    struct lab l;

    (void)state;
    start_session(&l);
    lab_stream(&l, lab_call(&l, NULL, &other));
    post = lab_call(&l, NULL, &met);
    fake_answer(post, 404, JSON_TYPE, ERROR("null", "-32001"));
    lab_run(&l);
    expect(&other, MCP_E_CLOSED);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    assert_int_equal(fake_open_count(&l.fetcher), 1);
    expect_open(&met);
    renew(&l);
    post = lab_post(&l, "\"id\":3");
    assert_int_equal(post->state, FAKE_OPEN);
    assert_string_equal(fake_field(post, "mcp-session-id"), "s-2");
    lab_reply(&l, post, ANSWER("3"));
    expect(&met, 0);
    outcome_done(&met);
    outcome_done(&other);
    lab_close(&l);
}

static void
a_second_404_is_the_answer(void **state)
{
    struct outcome met;
    struct lab l;

    (void)state;
    start_session(&l);
    fake_answer(lab_call(&l, NULL, &met), 404, NULL, NULL);
    lab_run(&l);
    renew(&l);
    fake_answer(lab_post(&l, "\"id\":2"), 404, NULL, NULL);
    lab_pass(&l, SECOND);
    expect(&met, MCP_E_HTTP);
    assert_int_equal(mcpi_call_fault(met.call)->http, 404);
    outcome_done(&met);
    lab_close(&l);
}

static void
a_notification_may_find_out_too(void **state)
{
    struct outcome other;
    struct lab l;

    (void)state;
    start_session(&l);
    lab_stream(&l, lab_call(&l, NULL, &other));
    assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT],
                                      "notifications/roots/list_changed", NULL, 0,
                                      l.w.now),
                     0);
    lab_run(&l);
    fake_answer(lab_last(&l), 404, NULL, NULL);
    lab_run(&l);
    expect(&other, MCP_E_CLOSED);
    renew(&l);
    outcome_done(&other);
    lab_close(&l);
}

static void
a_stream_that_cannot_be_resumed_for_it_is_not_sent_again(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    start_session(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    fake_body(post, "id: 5\nretry: 1\ndata:\n\n");
    fake_end(post);
    lab_pass(&l, 10 * MS);
    assert_string_equal(lab_last(&l)->method, "GET");
    fake_answer(lab_last(&l), 404, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_CLOSED); /* it may have been carried out */
    renew(&l);
    assert_int_equal(lab_posted(&l, "\"id\":2"), 1);
    outcome_done(&out);
    lab_close(&l);
}

/* No request was answered in it, so it is not begun anew: core would do so for ever. */
static void
D9_a_404_that_is_no_lost_session_still_settles_its_call(void **state)
{
    struct mcpi_call_options opt = {.resume_token = "five"};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    fake_body(post, "id: 5\nretry: 1\ndata:\n\n");
    fake_end(post);
    lab_pass(&l, 10 * MS);
    fake_answer(lab_last(&l), 404, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_CLOSED);
    outcome_done(&out);
    lab_close(&l);
    lab_start_legacy(&l);
    fake_answer(lab_call(&l, &opt, &out), 404, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_HTTP);
    assert_int_equal(mcpi_call_fault(out.call)->http, 404);
    outcome_done(&out);
    lab_close(&l);
}

static void
a_404_for_an_old_session_is_for_nobody(void **state)
{
    struct fake_fetch *first, *second;
    struct outcome one, two;
    struct lab l;

    (void)state;
    start_session(&l);
    first = lab_call(&l, NULL, &one);
    second = lab_call(&l, NULL, &two);
    fake_answer(first, 404, NULL, NULL);
    lab_run(&l);
    assert_int_equal(second->state, FAKE_ABORTED); /* it cannot be heard any more */
    expect(&two, MCP_E_CLOSED);
    renew(&l);
    assert_int_equal(lab_posted(&l, "\"initialize\""), 2);
    outcome_done(&one);
    outcome_done(&two);
    lab_close(&l);
}

static void
a_404_without_a_session_is_an_error_of_HTTP(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), NULL);
    lab_accept_without_stream(&l, lab_last(&l));
    fake_answer(lab_call(&l, NULL, &out), 404, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_HTTP);
    assert_int_equal(lab_posted(&l, "\"initialize\""), 1);
    outcome_done(&out);
    lab_close(&l);
}

/* By hand: core does not negotiate, so it does not do so again. */
static void
B19_a_session_by_hand_begins_and_is_lost_like_any_other(void **state)
{
    struct mcpi_call_options hello = {.method = "initialize"};
    struct lab_options opt = {.era = MCPI_ERA_MANUAL};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    post = lab_call(&l, &hello, &out);
    fake_head(post, 200, "Content-Type: " JSON_TYPE "\n" SESSION_HEAD);
    fake_body(post, RESULT("1", INITIALIZED("2025-11-25")));
    fake_end(post);
    lab_run(&l);
    expect(&out, 0);
    outcome_done(&out);
    post = lab_call(&l, NULL, &out);
    assert_string_equal(fake_field(post, "mcp-session-id"), "s-1");
    fake_answer(post, 404, NULL, NULL);
    lab_run(&l);
    expect(&out, MCP_E_HTTP);
    assert_int_equal(mcpi_call_fault(out.call)->http, 404);
    outcome_done(&out);
    lab_close(&l);
}

/* A server that forgets at once is not greeted for ever. */
static void
a_greeting_that_meets_404_does_not_begin_anew(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    fake_answer(lab_last(&l), 404, NULL, NULL);
    lab_pass(&l, 10 * SECOND);
    assert_int_equal(lab_posted(&l, "\"initialize\""), 1);
    lab_close(&l);
}

static void
a_call_canceled_while_it_waits_for_the_new_session_leaves_no_trace(void **state)
{
    struct outcome met;
    struct lab l;
    size_t posted;

    (void)state;
    start_session(&l);
    fake_answer(lab_call(&l, NULL, &met), 404, NULL, NULL);
    lab_run(&l);
    posted = lab_posted(&l, "tools/call");
    lab_cancel(&l, &met);
    expect(&met, MCP_E_CANCELED);
    renew(&l);
    lab_pass(&l, SECOND);
    assert_int_equal(lab_posted(&l, "tools/call"), posted);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    outcome_done(&met);
    lab_close(&l);
}

static void
all_of_a_lost_session_goes(void **state)
{
    struct fake_fetch *get, *note, *lingers;
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct outcome out, met;
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    lab_accept(&l, lab_last(&l));
    get = lab_last(&l);
    lab_stream(&l, get);
    lingers = lab_call(&l, NULL, &out);
    lab_stream(&l, lingers);
    lab_event(&l, lingers, ANSWER("1"));
    assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT],
                                      "notifications/roots/list_changed", NULL, 0,
                                      l.w.now),
                     0);
    lab_run(&l);
    note = lab_last(&l);
    fake_answer(lab_call(&l, NULL, &met), 404, NULL, NULL);
    lab_run(&l);
    assert_int_equal(get->state, FAKE_ABORTED);
    assert_int_equal(note->state, FAKE_ABORTED);
    assert_int_equal(lingers->state, FAKE_ABORTED);
    assert_int_equal(fake_open_count(&l.fetcher), 1); /* initialize */
    outcome_done(&out);
    outcome_done(&met);
    lab_close(&l);
}

static void
a_lost_session_is_not_deleted(void **state)
{
    struct outcome met;
    struct lab l;

    (void)state;
    start_session(&l);
    fake_answer(lab_call(&l, NULL, &met), 404, NULL, NULL);
    lab_run(&l);
    lab_shut(&l);
    expect(&met, MCP_E_CLOSED);
    assert_true(fetch_says(lab_last(&l), "\"initialize\""));
    assert_int_equal(l.closed, 1);
    outcome_done(&met);
    lab_close(&l);
}

/* ---- closing --------------------------------------------------------------- */

static void
B23_D19_closing_posts_frames_and_then_DELETE_and_then_aborts(void **state)
{
    struct fake_fetch *post[2], *frame[2], *delete;
    struct outcome out[2];
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    for (int i = 0; i < 2; i++) {
        post[i] = lab_call(&l, NULL, &out[i]);
        lab_stream(&l, post[i]);
    }
    lab_shut(&l);
    assert_int_equal(lab_posted(&l, FRAME), 2);
    frame[0] = lab_at(&l, lab_count(&l) - 2);
    frame[1] = lab_last(&l);
    lab_accept(&l, frame[1]);
    assert_ptr_equal(lab_last(&l), frame[1]); /* all of them first */
    lab_accept(&l, frame[0]);
    delete = lab_last(&l);
    assert_string_equal(delete->method, "DELETE");
    assert_string_equal(delete->url, URL);
    assert_null(delete->body);
    assert_string_equal(fake_field(delete, "mcp-session-id"), "s-1");
    assert_string_equal(fake_field(delete, "mcp-protocol-version"), "2025-11-25");
    assert_int_equal(post[0]->state, FAKE_OPEN);
    assert_int_equal(l.lost, 0);
    fake_answer(delete, 405, NULL, NULL);
    lab_run(&l);
    assert_int_equal(l.lost, 1);
    assert_int_equal(l.closed, 1);
    for (int i = 0; i < 2; i++) {
        expect(&out[i], MCP_E_CLOSED);
        assert_int_equal(post[i]->state, FAKE_ABORTED);
        outcome_done(&out[i]);
    }
    lab_close(&l);
}

static void
B23_closing_is_bounded_and_DELETE_still_goes_out(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, NULL, &out));
    lab_shut(&l); /* nobody answers the frame */
    lab_pass(&l, 600 * MS);
    assert_string_equal(lab_last(&l)->method, "DELETE");
    assert_int_equal(l.lost, 0);
    lab_pass(&l, 400 * MS);
    assert_int_equal(l.lost, 1);
    assert_int_equal(l.closed, 1);
    assert_int_equal(fake_open_count(&l.fetcher), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
B23_a_frame_that_waits_for_its_request_is_posted_at_the_close_too(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    fake_sending(post);
    lab_shut(&l);
    assert_int_equal(lab_posted(&l, FRAME), 0);
    fake_sent(post);
    lab_pass(&l, MCPI_HTTP_OVERTAKEN_MAX);
    assert_int_equal(lab_posted(&l, FRAME), 1);
    lab_accept(&l, lab_last(&l));
    assert_string_equal(lab_last(&l)->method, "DELETE");
    outcome_done(&out);
    lab_close(&l);
}

static void
closing_without_a_session_deletes_nothing(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;
    size_t before;

    (void)state;
    lab_start_modern(&l);
    post = lab_call(&l, NULL, &out);
    lab_shut(&l);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(post->state, FAKE_ABORTED);
    assert_int_equal(lab_count(&l), 2);
    assert_int_equal(l.closed, 1);
    outcome_done(&out);
    lab_close(&l);
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), NULL);
    lab_accept(&l, lab_last(&l));
    before = lab_count(&l);
    lab_shut(&l);
    assert_int_equal(lab_count(&l), before);
    assert_int_equal(l.closed, 1);
    lab_close(&l);
}

static void
closing_does_not_wait_for_the_greeting(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    lab_connect(&l, &opt);
    lab_welcome(&l, lab_last(&l), SESSION_HEAD);
    assert_int_equal(mcpi_peer_notify(l.w.peer[CLIENT],
                                      "notifications/roots/list_changed", NULL, 0,
                                      l.w.now),
                     0);
    lab_run(&l);
    assert_int_equal(lab_posted(&l, "list_changed"), 0);
    lab_shut(&l);
    assert_int_equal(lab_posted(&l, "list_changed"), 1);
    lab_close(&l);
}

static void
F30_who_closes_hears_nothing_more(void **state)
{
    struct fake_fetch *post;
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    post = lab_call(&l, NULL, &out);
    lab_stream(&l, post);
    lab_shut(&l);
    lab_event(&l, post, REQUEST("5", "roots/list", "{}"));
    assert_null(l.asked);
    assert_int_equal(lab_posted(&l, "\"error\""), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
closing_while_it_opens_aborts_that(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};
    struct lab l;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lab_options opt = {.era = eras[i]};

        lab_connect(&l, &opt);
        lab_shut(&l);
        assert_int_equal(lab_last(&l)->state, FAKE_ABORTED);
        assert_int_equal(lab_count(&l), 1);
        assert_int_equal(l.ready_status, MCP_E_CLOSED);
        assert_int_equal(l.closed, 1);
        lab_close(&l);
    }
}

static void
a_link_that_is_given_up_aborts_at_once(void **state)
{
    struct outcome out;
    struct lab l;

    (void)state;
    lab_start_legacy(&l);
    lab_stream(&l, lab_call(&l, NULL, &out));
    mcpi_peer_fail(l.w.peer[CLIENT], MCP_E_NOMEM, "for no reason");
    lab_run(&l);
    expect(&out, MCP_E_CLOSED);
    assert_int_equal(l.lost, 1);
    assert_int_equal(l.closed, 1);
    assert_int_equal(fake_open_count(&l.fetcher), 0);
    outcome_done(&out);
    lab_close(&l);
}

static void
it_can_be_freed_with_anything_under_way(void **state)
{
    struct outcome out[4];
    struct lab l;

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        if (modern)
            lab_start_modern(&l);
        else
            lab_start_legacy(&l);
        lab_call(&l, NULL, &out[0]);
        lab_stream(&l, lab_call(&l, NULL, &out[1]));
        fake_sending(lab_call(&l, NULL, &out[2]));
        lab_stream(&l, lab_call(&l, NULL, &out[3]));
        lab_cancel(&l, &out[2]);
        lab_cancel(&l, &out[3]);
        lab_run(&l);
        lab_free_link(&l);
        assert_int_equal(l.lost, 1);
        assert_int_equal(l.closed, 0);
        assert_int_equal(fake_open_count(&l.fetcher), 0);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(out[i].done, 1);
            outcome_done(&out[i]);
        }
        lab_close(&l);
    }
}

static void
free_in_closed(void *user, struct mcpi_http_client *client)
{
    struct lab *l = user;

    l->closed++;
    mcpi_http_client_free(client);
    l->client = NULL;
    l->w.peer[CLIENT] = NULL;
}

static void
it_can_be_freed_when_it_says_that_it_is_closed(void **state)
{
    struct lab_options opt = {.era = MCPI_ERA_LEGACY, .closed = free_in_closed};
    struct lab l;

    (void)state;
    lab_start_legacy_with(&l, &opt);
    lab_shut(&l);
    lab_accept(&l, lab_last(&l)); /* DELETE */
    assert_int_equal(l.closed, 1);
    assert_null(l.client);
    lab_close(&l);
}

static void
a_long_message_is_sent_whole_and_its_memory_given_back(void **state)
{
    static const char before[] = "{\"name\":\"t\",\"arguments\":{\"a\":\"";
    static char params[400000];
    struct mcpi_call_options opt = {.params = params};
    struct outcome big, small;
    struct fake_fetch *post;
    struct lab l;

    (void)state;
    memset(params, 'x', sizeof(params) - 1);
    memcpy(params, before, sizeof(before) - 1);
    memcpy(params + sizeof(params) - 5, "\"}}", 4);
    lab_start_legacy(&l);
    post = lab_call(&l, &opt, &big);
    assert_true(post->body_len > sizeof(params) - 1);
    lab_reply(&l, post, ANSWER("1"));
    expect(&big, 0);
    lab_reply(&l, lab_call(&l, NULL, &small), ANSWER("2"));
    expect(&small, 0);
    outcome_done(&big);
    outcome_done(&small);
    lab_close(&l);
}

/* ---- no memory ------------------------------------------------------------- */

static void
open_and_close(struct test_mem *mem, void *user)
{
    struct lab_options opt = {.mem = mem};
    struct lab l;

    (void)user;
    (void)lab_open(&l, &opt);
    lab_close(&l);
}

static void
each_allocation_of_its_making_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(open_and_close, NULL) > 8);
}

/* Whatever fails on the way: each call has one end, and nothing is left. */
static void
serve_blindly(struct lab *l)
{
    for (size_t i = 0; i < lab_count(l); i++) {
        struct fake_fetch *fetch = lab_at(l, i);

        if (fetch->state != FAKE_OPEN)
            continue;
        if (fetch_says(fetch, "server/discover"))
            fake_answer(fetch, 200, JSON_TYPE,
                        RESULT("\"libmcp:discover\"", DISCOVERED));
        else if (fetch_says(fetch, "\"initialize\""))
            lab_welcome(l, fetch, SESSION_HEAD);
        else if (fetch_says(fetch, "\"id\":1,"))
            fake_answer(fetch, 200, "text/event-stream", "data: " ANSWER("1") "\n\n");
        else if (fetch_says(fetch, "\"id\":"))
            continue;
        else if (strcmp(fetch->method, "GET") == 0)
            fake_answer(fetch, 405, NULL, NULL);
        else
            fake_answer(fetch, 202, NULL, NULL);
    }
    lab_run(l);
}

static void
visit(struct test_mem *mem, void *user)
{
    struct lab_options opt = {.mem = mem, .era = *(const enum mcpi_era *)user};
    struct outcome out[3] = {{0}, {0}, {0}};
    struct lab l;
    bool called[3];

    if (lab_open(&l, &opt) < 0 || mcpi_peer_connect(l.w.peer[CLIENT], l.w.now) < 0) {
        lab_close(&l);
        return;
    }
    for (int i = 0; i < 3; i++)
        called[i] = world_try_call(&l.w, CLIENT, NULL, &out[i]) == 0;
    for (int i = 0; i < 6; i++) {
        lab_pass(&l, 100 * MS);
        serve_blindly(&l);
    }
    if (called[1] && out[1].done == 0)
        lab_cancel(&l, &out[1]);
    for (int i = 0; i < 4; i++) {
        lab_pass(&l, 100 * MS);
        serve_blindly(&l);
    }
    lab_shut(&l);
    for (int i = 0; i < 4; i++) {
        lab_pass(&l, 100 * MS);
        serve_blindly(&l);
    }
    lab_pass(&l, 2 * SECOND);
    assert_int_equal(l.lost, 1);
    assert_int_equal(l.closed, 1);
    for (int i = 0; i < 3; i++)
        if (called[i]) {
            assert_int_equal(out[i].done, 1);
            outcome_done(&out[i]);
        }
    lab_close(&l);
}

static void
each_allocation_of_a_visit_may_fail(void **state)
{
    static enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_true(test_each_allocation_fails(visit, &eras[i]) > 30);
}

TEST_MAIN(TEST(X12_a_modern_server_is_asked_once),
          TEST(X12_a_server_that_refuses_by_HTTP_is_a_legacy_one),
          TEST(a_session_begins_with_the_answer_to_initialize),
          TEST(the_version_that_was_agreed_on_is_that_of_all_that_follows),
          TEST(a_session_that_is_named_elsewhere_or_badly_is_none),
          TEST(a_modern_server_cannot_name_a_session),
          TEST(nothing_overtakes_the_greeting),
          TEST(a_greeting_is_answered_by_any_head),
          TEST(a_greeting_that_is_never_answered_does_not_hold_us_for_ever),
          TEST(every_request_has_the_given_lines),
          TEST(what_a_modern_request_says_stands_in_its_headers),
          TEST(E6_E7_the_version_is_that_of_the_last_stamp),
          TEST(E1_E2_a_modern_cancel_closes_the_POST_and_nothing_else_is_sent),
          TEST(E10_a_frame_by_hand_for_a_modern_request_closes_its_POST),
          TEST(a_request_that_meets_a_lost_session_is_sent_once_more),
          TEST(a_second_404_is_the_answer), TEST(a_notification_may_find_out_too),
          TEST(a_stream_that_cannot_be_resumed_for_it_is_not_sent_again),
          TEST(D9_a_404_that_is_no_lost_session_still_settles_its_call),
          TEST(a_404_for_an_old_session_is_for_nobody),
          TEST(a_404_without_a_session_is_an_error_of_HTTP),
          TEST(B19_a_session_by_hand_begins_and_is_lost_like_any_other),
          TEST(a_greeting_that_meets_404_does_not_begin_anew),
          TEST(a_call_canceled_while_it_waits_for_the_new_session_leaves_no_trace),
          TEST(all_of_a_lost_session_goes), TEST(a_lost_session_is_not_deleted),
          TEST(B23_D19_closing_posts_frames_and_then_DELETE_and_then_aborts),
          TEST(B23_closing_is_bounded_and_DELETE_still_goes_out),
          TEST(B23_a_frame_that_waits_for_its_request_is_posted_at_the_close_too),
          TEST(closing_without_a_session_deletes_nothing),
          TEST(closing_does_not_wait_for_the_greeting),
          TEST(F30_who_closes_hears_nothing_more),
          TEST(closing_while_it_opens_aborts_that),
          TEST(a_link_that_is_given_up_aborts_at_once),
          TEST(it_can_be_freed_with_anything_under_way),
          TEST(it_can_be_freed_when_it_says_that_it_is_closed),
          TEST(a_long_message_is_sent_whole_and_its_memory_given_back),
          TEST(each_allocation_of_its_making_may_fail),
          TEST(each_allocation_of_a_visit_may_fail))
