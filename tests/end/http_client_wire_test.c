/*
 * http_client_wire_test.c - a client over HTTP: limits, pieces, redirects, ids used
 * again, and what a server says that it was not asked
 */
#include "end/http_client_place.h"

#define JSON "application/json"
#define SSE "text/event-stream"
#define KIB ((size_t)1024)

static char *
letters(size_t count)
{
    char *text = malloc(count + 1);

    assert_non_null(text);
    memset(text, 'x', count);
    text[count] = '\0';
    return text;
}

/* ---- limits -------------------------------------------------------------- */

static void
a_message_that_is_too_long(const char *type, const char *before)
{
    const struct rig_options opt = {.client.message_bytes = 16 * KIB};
    struct place *p = place_open(CELL_MODERN, &opt);
    char *long_text = letters(32 * KIB);
    struct visit v;

    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", type, "");
    visit_say(&v, before);
    (void)visit_push(&v, long_text, 32 * KIB);
    visit_await_gone(&v);
    visit_close(&v);
    rig_fails(&p->c, MCP_E_LIMIT, 0, "longer than");
    rig_works(&p->r);
    free(long_text);
    place_close(p);
}

static void
a_body_that_is_too_long(void **state)
{
    (void)state;
    a_message_that_is_too_long(JSON, "{\"jsonrpc\":\"");
}

static void
an_event_that_is_too_long(void **state)
{
    (void)state;
    a_message_that_is_too_long(SSE, "data: {\"jsonrpc\":\"");
}

static void
a_comment_that_is_too_long(void **state)
{
    (void)state;
    a_message_that_is_too_long(SSE, "data: {}\n: ");
}

/* In lines, or in one that does not end. */
static void
a_head_that_is_too_long(void **state)
{
    const char *before = *state;
    const struct rig_options opt = {.http.head_bytes = 4 * KIB};
    struct place *p = place_open(CELL_MODERN, &opt);
    char *line = letters(200);
    struct visit v;

    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    visit_say(&v, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Long: x");
    for (int i = 0; i < 2000; i++)
        if (!visit_push(&v, before, strlen(before)) || !visit_push(&v, line, 200))
            break;
    visit_await_gone(&v);
    visit_close(&v);
    rig_fails(&p->c, MCP_E_LIMIT, 0, "");
    rig_works(&p->r);
    free(line);
    place_close(p);
}

/* Silence is a loss, if the client was told what silence is. */
static void
a_stream_that_is_silent(void **state)
{
    const struct rig_options opt = {.http.idle_ms = 2500};
    struct place *p = place_open(CELL_MODERN, &opt);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    rig_await_read(&v);
    virtual_clock_pass(&p->r.clock, 2499);
    assert_true(visit_is_there(&v));
    virtual_clock_pass(&p->r.clock, 2500); /* the head may have been heard just now */
    visit_await_gone(&v);
    visit_close(&v);
    rig_fails(&p->c, MCP_E_CLOSED, 0, "2500 ms");
    rig_works(&p->r);
    place_close(p);
}

/* ---- pieces -------------------------------------------------------------- */

/* The head, the frame of a chunk, an event with CRLF: cut at each byte in turn. */
static void
an_answer_in_two_pieces(void **state)
{
    struct place *p = place_open(CELL_MODERN, NULL);
    char text[512], event[300];
    size_t len = 1;

    (void)state;
    for (size_t cut = 1; cut < len; cut += 3) {
        struct visit v;

        rig_call(&p->r, &p->c, NULL);
        rig_take(&p->r, &v, "tools/call");
        (void)snprintf(event, sizeof(event), "id: 7\r\ndata: %s\r\n\r\n",
                       rig_result(p->c.id, "fine"));
        len = (size_t)snprintf(text, sizeof(text),
                               "HTTP/1.1 200 OK\r\nContent-Type: " SSE
                               "\r\nTransfer-Encoding: chunked\r\nConnection: close"
                               "\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n",
                               strlen(event), event);
        visit_send(&v, text, cut);
        rig_await_read(&v);
        (void)visit_push(&v, text + cut, len - cut);
        rig_ends(&p->c, 0, "fine");
        visit_close(&v);
    }
    place_close(p);
}

/* It is only not kept, and so not resumed from. */
static void
an_answer_behind_an_id_that_is_too_long(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    char *id = letters(5000);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    visit_say(&v, "id: ");
    visit_say(&v, id);
    visit_say(&v, "\n");
    rig_event(&v, rig_result(p->c.id, "fine"));
    visit_close(&v);
    rig_ends(&p->c, 0, "fine");
    rig_works(&p->r);
    free(id);
    place_close(p);
}

static void
an_answer_byte_by_byte(void **state)
{
    struct place *p = place_open(CELL_MODERN, NULL);
    const char *answer;
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    visit_say(&v, "data: ");
    answer = rig_result(p->c.id, "fine");
    for (size_t i = 0; answer[i]; i++) {
        visit_send(&v, answer + i, 1);
        rig_await_read(&v);
    }
    assert_int_equal(atomic_load(&p->c.end.times), 0);
    visit_say(&v, "\r\n\r");
    rig_ends(&p->c, 0, "fine");
    visit_close(&v);
    place_close(p);
}

/* ---- redirects ----------------------------------------------------------- */

static void
send_on(struct visit *v, const char *status, const char *where)
{
    char more[256];

    (void)snprintf(more, sizeof(more), "Location: %s\r\nContent-Length: 0\r\n", where);
    rig_head(v, status, NULL, more);
    visit_close(v);
}

static void
a_redirect_to_the_same_origin_takes_the_body_along(void **state)
{
    const char *const statuses[] = {"307 Temporary Redirect", "308 Permanent Redirect"};
    struct place *p = place_open(CELL_BODIES, NULL);
    struct visit v;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        rig_call(&p->r, &p->c, NULL);
        rig_take(&p->r, &v, "tools/call");
        send_on(&v, statuses[i], "/elsewhere?x=1");
        visit_accept(&v, &p->r.s);
        visit_read(&v);
        assert_true(visit_asks(&v, "POST /elsewhere?x=1"));
        assert_non_null(strstr(v.body, "tools/call"));
        assert_string_equal(visit_field(&v, "Mcp-Session-Id"), RIG_SESSION);
        assert_string_equal(visit_field(&v, "MCP-Protocol-Version"), "2025-11-25");
        rig_answer(&p->r, &v, p->c.id, "there");
        rig_ends(&p->c, 0, "there");
    }
    place_close(p);
}

static void
a_redirect_that_never_ends(void **state)
{
    struct place *p = place_open(CELL_MODERN, NULL);
    struct visit v;
    int hops = 0;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    while (atomic_load(&p->c.end.times) == 0) {
        if (!http_script_is_visited(&p->r.s, 10))
            continue;
        visit_accept(&v, &p->r.s);
        visit_read(&v);
        send_on(&v, "307 Temporary Redirect", "/mcp");
        hops++;
        assert_true(hops < 50);
    }
    assert_true(hops > 1);
    rig_fails(&p->c, MCP_E_PROTO, 0, "redirect");
    rig_works(&p->r);
    place_close(p);
}

/* E3: also on the way to elsewhere. */
static void
E3_canceled_after_a_redirect(void **state)
{
    struct place *p = place_open(CELL_MODERN, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    send_on(&v, "307 Temporary Redirect", "/elsewhere");
    visit_accept(&v, &p->r.s);
    visit_read(&v);
    assert_int_equal(mcp_call_cancel(p->c.call, NULL), 0);
    rig_ends(&p->c, MCP_E_CANCELED, NULL);
    visit_await_gone(&v);
    visit_close(&v);
    rig_works(&p->r);
    place_close(p);
}

/* ---- too early ----------------------------------------------------------- */

/* A large request of which the server has read the head. */
static void
take_large(struct place *p, struct visit *v)
{
    char *text = letters(KIB * KIB), *params = malloc(KIB * KIB + 64);

    assert_non_null(params);
    (void)snprintf(params, KIB * KIB + 64,
                   "{\"name\":\"t\",\"arguments\":{\"x\":\"%s\"}}", text);
    rig_call_with(&p->r, &p->c, NULL, params);
    free(params);
    free(text);
    visit_accept(v, &p->r.s);
    visit_read_head(v);
}

static void
an_answer_before_the_request_was_read(void **state)
{
    const struct rig_options opt = {.unread = true};
    struct place *p = place_open(CELL_MODERN, &opt);
    struct visit v;

    (void)state;
    take_large(p, &v);
    rig_head(&v, "413 Content Too Large", NULL, "Content-Length: 0\r\n");
    rig_fails(&p->c, MCP_E_HTTP, 413, "HTTP 413");
    visit_await_gone(&v);
    visit_close(&v);
    rig_works(&p->r);
    place_close(p);
}

static void
a_success_before_the_request_was_read(void **state)
{
    const struct rig_options opt = {.unread = true};
    struct place *p = place_open(CELL_MODERN, &opt);
    char more[64];
    struct visit v;

    (void)state;
    take_large(p, &v);
    (void)snprintf(more, sizeof(more), "Content-Length: %zu\r\n",
                   strlen(rig_result(p->c.id, "early")));
    rig_head(&v, "200 OK", JSON, more);
    visit_say(&v, rig_result(p->c.id, "early"));
    rig_ends(&p->c, 0, "early");
    visit_await_gone(&v); /* nobody needs the rest */
    visit_close(&v);
    rig_works(&p->r);
    place_close(p);
}

/* ---- what nobody asked --------------------------------------------------- */

static void
take_answer(struct place *p, const char *part)
{
    struct visit v;

    visit_accept(&v, &p->r.s);
    visit_read(&v);
    if (!strstr(v.body, part))
        fail_msg("no %s: %s", part, v.body);
    assert_string_equal(visit_field(&v, "Mcp-Session-Id"), RIG_SESSION);
    rig_say(&v, "202 Accepted", NULL, "");
}

static void
questions_on_a_stream_are_answered_in_the_session(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    rig_event(&v, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}");
    take_answer(p, "\"id\":\"q\",\"result\":{}");
    rig_event(&v, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"what/ever\"}");
    take_answer(p, "\"id\":9,\"error\":{\"code\":-32601");
    rig_event(&p->r.inlet, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}");
    take_answer(p, "\"id\":9,\"result\":{}");
    rig_event(&v, rig_result(p->c.id, "fine"));
    rig_ends(&p->c, 0, "fine");
    visit_close(&v);
    rig_works(&p->r);
    place_close(p);
}

static int
go_there(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *url = mcp_json_get(mcp_request_params(req), "url");

    (void)user;
    assert_true(mcp_json_is_string(url, "https://a.example/x"));
    return mcp_result_accept(out);
}

/* Before the program has asked for anything. */
static void
a_question_by_URL_at_the_beginning_of_a_session(void **state)
{
    const struct rig_options opt = {.client.elicit.run = go_there,
                                    .client.able = MCP_ABLE_URL};
    struct place *p = place_open(CELL_SESSION, &opt);

    (void)state;
    rig_event(&p->r.inlet,
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\","
              "\"params\":{\"mode\":\"url\",\"message\":\"Go\",\"elicitationId\":\"e\","
              "\"url\":\"https://a.example/x\"}}");
    take_answer(p, "\"id\":1,\"result\":{\"action\":\"accept\"");
    rig_works(&p->r);
    place_close(p);
}

/* Not where it belongs; but there is no doubt whose it is. */
static void
an_answer_on_the_stream_of_the_session(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    rig_event(&p->r.inlet, rig_result("4711", "nobody's"));
    rig_event(&p->r.inlet, rig_result(p->c.id, "elsewhere"));
    rig_ends(&p->c, 0, "elsewhere");
    visit_close(&v);
    rig_works(&p->r);
    place_close(p);
}

static void
modern_servers_do_not_ask(void **state)
{
    struct place *p = place_open(CELL_MODERN, NULL);
    struct visit v;

    (void)state;
    rig_call(&p->r, &p->c, NULL);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    rig_event(&v, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}");
    rig_event(&v, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}");
    rig_event(&v, rig_result(p->c.id, "fine"));
    visit_close(&v);
    rig_ends(&p->c, 0, "fine");
    rig_works(&p->r); /* the very next POST */
    place_close(p);
}

/* ---- E15, E16: an id that is used again ---------------------------------- */

#define SAME MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("same"))

static void
E15_what_is_left_of_an_id_is_severed(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v, w;

    (void)state;
    rig_call(&p->r, &p->c, &SAME);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    assert_int_equal(mcp_call_cancel(p->c.call, NULL), 0);
    rig_ends(&p->c, MCP_E_CANCELED, NULL);
    rig_take_cancel(&p->r, "\"same\""); /* its stream stays, for the grace */
    assert_true(visit_is_there(&v));
    rig_call(&p->r, &p->d, &SAME);
    rig_take(&p->r, &w, "tools/call");
    visit_await_gone(&v);
    visit_close(&v);
    rig_answer(&p->r, &w, "\"same\"", "the second");
    rig_ends(&p->d, 0, "the second");
    place_close(p);
}

/* The answer stood; its stream is still open when the id is used again. */
static void
E15_E16_an_answered_stream_does_not_reach_the_next(void **state)
{
    const unsigned *cell = *state;
    struct place *p = place_open(*cell, NULL);
    struct visit v, w;

    rig_call(&p->r, &p->c, &SAME);
    rig_take(&p->r, &v, "tools/call");
    rig_head(&v, "200 OK", SSE, "");
    rig_event(&v, rig_result("\"same\"", "the first"));
    rig_ends(&p->c, 0, "the first");
    rig_call(&p->r, &p->d, &SAME);
    (void)visit_push(&v, "data: {}\n\n", 10);
    rig_take(&p->r, &w, "tools/call");
    visit_await_gone(&v);
    visit_close(&v);
    rig_head(&w, "200 OK", SSE, "");
    assert_int_equal(mcp_call_cancel(p->d.call, NULL), 0); /* E16: it can be found */
    rig_ends(&p->d, MCP_E_CANCELED, NULL);
    if (*cell == CELL_MODERN)
        visit_await_gone(&w);
    else
        rig_take_cancel(&p->r, "\"same\"");
    visit_close(&w);
    rig_works(&p->r);
    place_close(p);
}

/* A frame that is still on its way would cancel the wrong one. d waits for the cancel of
 * c, which has the same id and whose frame is not answered yet; another call, now c, does
 * not wait. */
static void
E15_the_next_waits_for_the_cancel_of_the_last(void **state)
{
    struct place *p = place_open(CELL_SESSION, NULL);
    struct visit v, w, frame;

    (void)state;
    rig_call(&p->r, &p->c, &SAME);
    rig_take(&p->r, &v, "tools/call");
    assert_int_equal(mcp_call_cancel(p->c.call, NULL), 0);
    rig_ends(&p->c, MCP_E_CANCELED, NULL);
    rig_call(&p->r, &p->d, &SAME);
    virtual_clock_pass(&p->r.clock, RIG_STEP_MS); /* for which the frame waits */
    visit_accept(&frame, &p->r.s);
    visit_read(&frame);
    rig_check_cancel(&p->r, &frame, "\"same\"");
    rig_call(&p->r, &p->c, NULL); /* which overtakes it */
    rig_take(&p->r, &w, "tools/call");
    assert_null(strstr(w.body, "\"same\""));
    rig_answer(&p->r, &w, p->c.id, "the third");
    rig_ends(&p->c, 0, "the third");
    rig_say(&frame, "202 Accepted", NULL, "");
    rig_take(&p->r, &w, "tools/call");
    visit_await_gone(&v);
    visit_close(&v);
    rig_answer(&p->r, &w, "\"same\"", "the second");
    rig_ends(&p->d, 0, "the second");
    place_close(p);
}

/* ---- session ids --------------------------------------------------------- */

static void
a_session_id_that_is_none_is_ignored(void **state)
{
    const struct rig_options opt = {.ungreeted = true, .client.era = MCP_ERA_LEGACY};
    struct place *p = place_open(CELL_STATELESS, &opt);
    struct visit v;

    rig_take(&p->r, &v, "initialize");
    rig_head(&v, "200 OK", JSON, *state);
    visit_say(&v, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
                  "\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"n\","
                  "\"version\":\"1\"}}}");
    visit_close(&v);
    rig_take(&p->r, &v, "notifications/initialized"); /* without one */
    rig_say(&v, "202 Accepted", NULL, "");
    visit_accept(&v, &p->r.s);
    visit_read(&v);
    assert_null(visit_field(&v, "Mcp-Session-Id"));
    rig_say(&v, "405 Method Not Allowed", NULL, "");
    rig_await_ready(&p->r);
    rig_works(&p->r);
    place_close(p);
}

static unsigned modern = CELL_MODERN, session = CELL_SESSION;
static char in_lines[] = "\r\nX-Long: ", in_one_line[] = "x";
static char id_with_a_space[] = "Mcp-Session-Id: a b\r\n";
static char id_with_a_control[] = "Mcp-Session-Id: a\x01z\r\n";
static char id_not_ascii[] = "Mcp-Session-Id: a\xc3\xa4\r\n";
static char id_empty[] = "Mcp-Session-Id:\r\n";

TEST_MAIN(TEST(a_body_that_is_too_long), TEST(an_event_that_is_too_long),
          TEST(a_comment_that_is_too_long),
          TEST_AS("a_head_of_too_many_lines", a_head_that_is_too_long, in_lines),
          TEST_AS("a_head_line_without_an_end", a_head_that_is_too_long, in_one_line),
          TEST(a_stream_that_is_silent), TEST(an_answer_in_two_pieces),
          TEST(an_answer_byte_by_byte), TEST(an_answer_behind_an_id_that_is_too_long),
          TEST(a_redirect_to_the_same_origin_takes_the_body_along),
          TEST(a_redirect_that_never_ends), TEST(E3_canceled_after_a_redirect),
          TEST(an_answer_before_the_request_was_read),
          TEST(a_success_before_the_request_was_read),
          TEST(questions_on_a_stream_are_answered_in_the_session),
          TEST(a_question_by_URL_at_the_beginning_of_a_session),
          TEST(an_answer_on_the_stream_of_the_session), TEST(modern_servers_do_not_ask),
          TEST(E15_what_is_left_of_an_id_is_severed),
          TEST_AS("modern.E15_E16_an_answered_stream_does_not_reach_the_next",
                  E15_E16_an_answered_stream_does_not_reach_the_next, &modern),
          TEST_AS("session.E15_E16_an_answered_stream_does_not_reach_the_next",
                  E15_E16_an_answered_stream_does_not_reach_the_next, &session),
          TEST(E15_the_next_waits_for_the_cancel_of_the_last),
          TEST_AS("a_session_id_with_a_space_is_ignored",
                  a_session_id_that_is_none_is_ignored, id_with_a_space),
          TEST_AS("a_session_id_with_a_control_is_ignored",
                  a_session_id_that_is_none_is_ignored, id_with_a_control),
          TEST_AS("a_session_id_that_is_not_ascii_is_ignored",
                  a_session_id_that_is_none_is_ignored, id_not_ascii),
          TEST_AS("an_empty_session_id_is_ignored",
                  a_session_id_that_is_none_is_ignored, id_empty))
