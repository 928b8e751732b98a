/*
 * http_client_rogue_test.c - a client over HTTP whose server answers as it should not
 *
 * Each row is what a server says to a call, and how that call must end. In the legacy
 * era a server that gave no answer, and has not refused, is told that nobody waits for
 * one any more. Whatever it was, the client lives on.
 */
#include "end/http_client_rig.h"

#define OK_ "HTTP/1.1 200 OK\r\nConnection: close\r\n"
#define OK_JSON OK_ "Content-Type: application/json\r\n"
#define OK_SSE OK_ "Content-Type: text/event-stream\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
/* `$` is the id of the call. */
#define RESULT                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"resultType\":\"complete\"," \
    "\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}"
#define OTHERS                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{\"resultType\":\"complete\"," \
    "\"content\":[{\"type\":\"text\",\"text\":\"wrong\"}]}}"
#define FAILURE \
    "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{\"code\":-32077,\"message\":\"no\"}}"
#define NAMELESS "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32078,\"message\":\"no\"}}"
#define REFUSAL(status) "HTTP/1.1 " status "\r\nConnection: close\r\n"

/* What follows what it says. ANSWERED: it closes, and has said enough not to be at work. */
enum { THEN_CLOSE = 0, THEN_RESET, THEN_HOLD, ANSWERED };

struct row {
    const char *name;
    const char *says;
    int status;
    int http;        /* or the code of an error of the server's */
    const char *why; /* a part of the sentence; of an answer: its text */
    int then;
};

static const struct row rows[] = {
    /* it is fine */
    {"HTTP_1_0", "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" RESULT, 0,
     0, "fine", 0},
    {"a_word_before",
     "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: "
     "<x>\r\n\r\n" OK_JSON "\r\n" RESULT,
     0, 0, "fine", 0},
    {"trailers", /* the first call has an id of one digit */
     OK_JSON CHUNKED "\r\n65\r\n" RESULT "\r\n0\r\nX-Sum: 1\r\n\r\n", 0, 0, "fine", 0},
    {"a_type_with_parameters",
     OK_ "content-TYPE: Application/JSON ; charset=\"utf-8\"\r\n\r\n" RESULT, 0, 0,
     "fine", 0},
    {"a_mark_before_the_body", OK_JSON "\r\n\xEF\xBB\xBF" RESULT, 0, 0, "fine", 0},
    {"a_mark_before_the_events",
     OK_SSE "\r\n\xEF\xBB\xBF"
            "data: " RESULT "\n\n",
     0, 0, "fine", 0},
    {"lines_of_CR", OK_SSE "\r\n: x\r\rdata: " RESULT "\r\r: x\r", 0, 0, "fine", 0},
    {"lines_of_CRLF", OK_SSE "\r\n: x\r\n\r\ndata: " RESULT "\r\n\r\n", 0, 0, "fine",
     0},
    {"lines_of_any_kind", OK_SSE "\r\n:\r\revent: message\ndata:" RESULT "\r\n\n", 0, 0,
     "fine", 0},
    {"an_event_of_many_lines",
     OK_SSE
     "\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":$,\ndata: \"result\":{\"resultType\":"
     "\ndata:\"complete\",\"content\":[{\"type\":\"text\",\ndata: \"text\":"
     "\"fine\"}]}}\n\n",
     0, 0, "fine", 0},
    {"a_second_answer", OK_SSE "\r\ndata: " RESULT "\n\ndata: " FAILURE "\n\n", 0, 0,
     "fine", 0},
    {"nonsense_before_the_answer",
     OK_SSE "\r\ndata: hello\n\ndata: []\n\ndata: 7\n\ndata: {\"jsonrpc\":\"2.0\"}\n\n"
            "data: {\"jsonrpc\":\"2.0\",\"method\":5}\n\nevent: other\ndata: "
            "x\n\ndata: {\"jsonrpc\":"
            "\"2.0\",\"method\":\"notifications/nonsense\",\"params\":{\"a\":[]}}\n\n"
            "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
            "\"params\":7}\n\nwhat: ever\ndata: " RESULT "\n\n",
     0, 0, "fine", 0},
    {"answers_for_others_before_it",
     OK_SSE "\r\ndata: " OTHERS "\n\ndata: " RESULT "\n\n", 0, 0, "fine", 0},
    {"an_error_without_an_id_on_its_own_stream", OK_SSE "\r\ndata: " NAMELESS "\n\n",
     MCP_E_PEER, -32078, "no", 0},
    {"a_reset_behind_the_answer", OK_SSE "\r\ndata: " RESULT "\n\n", 0, 0, "fine",
     THEN_RESET},

    /* no answer */
    {"an_answer_of_another_protocol",
     OK_SSE
     "\r\ndata: {\"jsonrpc\":\"1.0\",\"id\":$,\"result\":{}}\n\n: the stream goes on"
     "\n\ndata: " RESULT "\n\n",
     MCP_E_PROTO, 0, "", ANSWERED},
    {"an_answer_that_is_not_JSON",
     OK_SSE
     "\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"x\":NaN}}\n\ndata: " RESULT
     "\n\n",
     MCP_E_PROTO, 0, "", ANSWERED},
    {"D10_202", REFUSAL("202 Accepted") "Content-Length: 0\r\n\r\n", MCP_E_PROTO, 0, "",
     0},
    {"D10_204", REFUSAL("204 No Content") "\r\n", MCP_E_PROTO, 0, "", 0},
    {"D10_200_without_a_body", OK_JSON "Content-Length: 0\r\n\r\n", MCP_E_PROTO, 0, "",
     0},
    {"D10_200_without_anything", OK_ "\r\n", MCP_E_PROTO, 0, "", 0},
    {"D10_a_page", OK_ "Content-Type: text/html\r\n\r\n<p>Hello</p>", MCP_E_PROTO, 0,
     "text/html", 0},
    {"D10_a_type_that_is_none", OK_ "Content-Type: text/plain\r\n\r\n" RESULT,
     MCP_E_PROTO, 0, "text/plain", 0},
    {"D10_no_type", OK_ "\r\n" RESULT, MCP_E_PROTO, 0, "without a type", 0},
    {"D9_E14_an_empty_stream", OK_SSE "\r\n", MCP_E_CLOSED, 0, "without an answer", 0},
    {"D9_E14_only_comments", OK_SSE "\r\n: 1\n\n: 2\n\n", MCP_E_CLOSED, 0,
     "without an answer", 0},
    {"JSON_that_is_cut",
     OK_JSON "Content-Length: 24\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":$ ", MCP_E_PROTO, 0,
     "JSON", 0},
    {"a_length_too_long", OK_JSON "Content-Length: 4000\r\n\r\n" RESULT, MCP_E_CLOSED,
     0, "", 0},
    {"a_length_too_short", OK_JSON "Content-Length: 40\r\n\r\n" RESULT, MCP_E_PROTO, 0,
     "JSON", 0},
    {"a_length_that_is_none", OK_JSON "Content-Length: many\r\n\r\n" RESULT,
     MCP_E_PROTO, 0, "", 0},
    {"chunks_that_are_none", OK_JSON CHUNKED "\r\nzz\r\n" RESULT "\r\n0\r\n\r\n",
     MCP_E_PROTO, 0, "", 0},
    {"chunks_that_do_not_end", OK_JSON CHUNKED "\r\n5\r\n{\"jso\r\n", MCP_E_CLOSED, 0,
     "", 0},
    {"D9_E14_events_that_are_cut", OK_SSE CHUNKED "\r\n10\r\ndata: {\"jsonrpc\"\r\n",
     MCP_E_CLOSED, 0, "", 0},
    {"D9_E14_an_event_without_an_end", OK_SSE "\r\ndata: " RESULT "\n", MCP_E_CLOSED, 0,
     "without an answer", 0},
    {"bytes_of_gzip",
     OK_JSON "Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n\x1f\x8b\x08\x01\x01"
             "\x01\x01\x01\x01\x03",
     MCP_E_PROTO, 0, "", 0},
    {"an_answer_for_another", OK_JSON "\r\n" OTHERS, MCP_E_PROTO, 0, "", 0},
    {"D9_E14_answers_for_others_only", OK_SSE "\r\ndata: " OTHERS "\n\n", MCP_E_CLOSED,
     0, "without an answer", 0},
    {"a_list_of_answers", OK_JSON "\r\n[" RESULT "]", MCP_E_PROTO, 0, "", 0},
    {"a_text_that_is_no_UTF_8",
     OK_JSON "\r\n{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{"
             "\"a\":\"\xff\"}}",
     MCP_E_PROTO, 0, "JSON", 0},

    /* errors */
    {"an_error_of_its_own", OK_JSON "\r\n" FAILURE, MCP_E_PEER, -32077, "no", 0},
    {"a_400_with_a_message",
     REFUSAL("400 Bad Request") "Content-Type: application/json\r\n\r\n" FAILURE,
     MCP_E_PEER, -32077, "no", 0},
    {"a_400_with_a_message_of_no_id",
     REFUSAL("400 Bad Request") "Content-Type: application/json\r\n\r\n" NAMELESS,
     MCP_E_HTTP, 400, "no", 0},
    {"a_500_with_a_message",
     REFUSAL(
         "500 Internal Server Error") "Content-Type: application/json\r\n\r\n" FAILURE,
     MCP_E_PEER, -32077, "no", 0},
    {"a_400", REFUSAL("400 Bad Request") "\r\n", MCP_E_HTTP, 400, "HTTP 400", 0},
    {"a_400_with_other_JSON",
     REFUSAL(
         "400 Bad Request") "Content-Type: application/json\r\n\r\n{\"error\":\"x\"}",
     MCP_E_HTTP, 400, "HTTP 400", 0},
    {"a_401", REFUSAL("401 Unauthorized") "WWW-Authenticate: Bearer\r\n\r\n",
     MCP_E_HTTP, 401, "HTTP 401", 0},
    {"a_500_with_a_page",
     REFUSAL("500 Internal Server Error") "Content-Type: text/html\r\n\r\n<p>Oh</p>",
     MCP_E_HTTP, 500, "HTTP 500", 0},
    {"a_500_that_streams",
     REFUSAL(
         "500 Internal Server Error") "Content-Type: text/event-stream\r\n\r\n: x\n\n",
     MCP_E_HTTP, 500, "HTTP 500", THEN_HOLD},
    {"B29_a_503", REFUSAL("503 Service Unavailable") "Retry-After: 0\r\n\r\n",
     MCP_E_HTTP, 503, "HTTP 503", 0},
    {"a_307_to_nowhere", REFUSAL("307 Temporary Redirect") "Content-Length: 0\r\n\r\n",
     MCP_E_HTTP, 307, "HTTP 307", 0},
    {"a_307_to_another_origin",
     REFUSAL("307 Temporary Redirect") "Location: http://127.0.0.1:1/mcp\r\n\r\n",
     MCP_E_PROTO, 0, "origin", 0},
    {"a_307_to_another_scheme",
     REFUSAL("307 Temporary Redirect") "Location: file:///etc/passwd\r\n\r\n",
     MCP_E_PROTO, 0, "", 0},
    {"a_101", REFUSAL("101 Switching Protocols") "Upgrade: x\r\n\r\n", MCP_E_CLOSED, 0,
     "", 0},
    {"a_status_that_is_none", "HTTP/1.1 999 What\r\nConnection: close\r\n\r\n",
     MCP_E_HTTP, 999, "HTTP 999", 0},

    /* no HTTP, or nothing */
    {"no_HTTP", "220 mail.example ESMTP ready\r\n", MCP_E_PROTO, 0, "", 0},
    {"a_version_that_is_none", "HTTP/9.9 200 OK\r\n\r\n", MCP_E_PROTO, 0, "", 0},
    {"nothing", "", MCP_E_CLOSED, 0, "", 0},
    {"a_reset", "", MCP_E_CLOSED, 0, "", THEN_RESET},
    {"a_reset_in_the_head", "HTTP/1.1 200 OK\r\nConte", MCP_E_CLOSED, 0, "",
     THEN_RESET},
    {"a_close_in_the_head", "HTTP/1.1 200 OK\r\nConte", MCP_E_CLOSED, 0, "", 0},
    {"a_reset_in_the_body", OK_JSON "Content-Length: 1000\r\n\r\n{", MCP_E_CLOSED, 0,
     "", THEN_RESET},
    {"a_reset_of_the_events", OK_SSE CHUNKED "\r\n5\r\n: x\n\n\r\n", MCP_E_CLOSED, 0,
     "", THEN_RESET},
};

/* The text, with the id in it. */
static char *
fill(const char *text, const char *id)
{
    size_t room = strlen(text) + 8 * strlen(id) + 1, len = 0;
    char *filled = calloc(1, room);

    assert_non_null(filled);
    for (; *text; text++) {
        if (*text != '$')
            filled[len++] = *text;
        else
            len += (size_t)snprintf(filled + len, room - len, "%s", id);
    }
    return filled;
}

static void
speak(struct visit *v, const struct row *row, const char *id)
{
    char *text = fill(row->says, id);

    (void)visit_push(v, text, strlen(text)); /* the client may have seen enough of it */
    free(text);
    if (row->then == THEN_RESET)
        rig_await_read(v);
}

static void
end_visit(struct visit *v, const struct row *row)
{
    if (row->then == THEN_HOLD)
        visit_await_gone(v);
    if (row->then == THEN_RESET)
        visit_reset(v);
    else
        visit_close(v);
}

static void
expect_end(struct rig_call *c, const struct row *row)
{
    mcp_error err = {0};

    if (row->status == 0) {
        rig_ends(c, 0, row->why);
    } else if (row->status == MCP_E_PEER) {
        assert_int_equal(mcp_call_wait(c->call, AWAIT_MS, NULL, &err), MCP_E_PEER);
        assert_int_equal(err.rpc_code, row->http);
        assert_int_equal(err.http_status, 0);
        rig_ends(c, MCP_E_PEER, NULL);
    } else {
        rig_fails(c, row->status, row->http, row->why);
    }
}

/* It gave no answer, and has not refused either (4xx): it may be at work. */
static bool
may_work_on(const struct row *row)
{
    if (row->status == 0 || row->status == MCP_E_PEER || row->then == ANSWERED)
        return false;
    return row->http < 400 || row->http > 499;
}

static void
run_row(unsigned cell, const struct row *row)
{
    struct rig *r = calloc(1, sizeof(*r));
    struct rig_call *c = calloc(1, sizeof(*c));
    struct visit v;

    assert_non_null(r);
    assert_non_null(c);
    rig_open(r, cell, false, NULL);
    rig_call(r, c, NULL);
    rig_take(r, &v, "tools/call");
    speak(&v, row, c->id);
    end_visit(&v, row);
    expect_end(c, row);
    if (cell != CELL_MODERN && may_work_on(row))
        rig_take_cancel(r, c->id);
    rig_works(r);
    rig_close(r);
    free(c);
    free(r);
}

static void
modern_row(void **state)
{
    run_row(CELL_MODERN, *state);
}

static void
legacy_row(void **state)
{
    run_row(CELL_BODIES, *state);
}

int
main(void)
{
    const size_t count = sizeof(rows) / sizeof(rows[0]);
    static struct test_case cases[2 * sizeof(rows) / sizeof(rows[0])];
    static char names[2 * sizeof(rows) / sizeof(rows[0])][96];

    for (size_t i = 0; i < 2 * count; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "%s.%s", i % 2 ? "legacy" : "modern",
                       rows[i / 2].name);
        cases[i] = (struct test_case){names[i], i % 2 ? legacy_row : modern_row, NULL};
        memcpy(&cases[i].state, &(const void *){&rows[i / 2]}, sizeof(void *));
    }
    return test_main(__FILE__, cases, 2 * count);
}
