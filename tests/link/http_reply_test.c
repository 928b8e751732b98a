/* link/http_reply_test.c - the messages in one HTTP answer, JSON or events */
#include "link/http_reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "support/messages.h"
#include "support/test.h"
#include "json/value.h"

#define JSON "application/json"
#define EVENTS "text/event-stream"
#define ANSWER RESULT("1", "{}")
#define NEWS NOTE("notifications/message", "{\"a\":1}")
#define MAX_BYTES 1000
#define MAX_DEPTH 16

/* ---- an answer that is read in pieces --------------------------------------- */

/* Whoever listens: what it heard, each with a blank behind: a message as its text,
 * mark(ID), event(TYPE,DATA). */
struct ear {
    struct mcpi_http_reply *reply; /* of its own block; NULL: freed from inside */
    struct test_mem mem;
    struct mcpi_buf heard;
    char why[MCPI_HTTP_WHY];
    int answer;     /* what message and event return */
    int calls_left; /* the reply is freed in the call after so many; < 0: never */
    bool keep;      /* only done with then, and not freed */
    size_t piece;   /* longest piece of a body; 0: no limit */
    size_t messages, garbled; /* of the reply, before it was freed */
    int64_t retry_us;
    char last_id[32];
};

struct head {
    struct mcpi_fetch_head head;
    const char *type;
};

static const char *
head_find(const struct mcpi_fetch_head *self, const char *name)
{
    const struct head *head = (const struct head *)self;

    return strcasecmp(name, "Content-Type") == 0 ? head->type : NULL;
}

static void
ear_free_reply(struct ear *ear)
{
    mcpi_http_reply_done(ear->reply);
    free(ear->reply);
    ear->reply = NULL;
}

static int
ear_called(struct ear *ear)
{
    mcpi_buf_char(&ear->heard, ' ');
    if (ear->calls_left < 0 || ear->calls_left-- > 0)
        return ear->answer;
    if (ear->keep)
        mcpi_http_reply_done(ear->reply);
    else
        ear_free_reply(ear);
    return ear->answer;
}

static int
hear_message(void *user, const struct mcpi_rpc *rpc)
{
    struct ear *ear = user;

    assert_non_null(ear->reply); /* who freed it hears nothing more */
    mcpi_json_write(&ear->heard, mcp_doc_root(rpc->doc));
    mcp_doc_free(rpc->doc);
    return ear_called(ear);
}

static void
hear_mark(void *user, const char *event_id)
{
    struct ear *ear = user;

    assert_non_null(ear->reply);
    assert_string_equal(mcpi_http_reply_id(ear->reply), event_id);
    mcpi_buf_text(&ear->heard, "mark(");
    mcpi_buf_text(&ear->heard, event_id);
    mcpi_buf_text(&ear->heard, ")");
    (void)ear_called(ear);
}

static int
hear_event(void *user, const struct mcpi_sse_event *event)
{
    struct ear *ear = user;

    assert_non_null(ear->reply);
    mcpi_buf_text(&ear->heard, "event(");
    mcpi_buf_text(&ear->heard, event->type);
    mcpi_buf_text(&ear->heard, ",");
    mcpi_buf_append(&ear->heard, event->data, event->data_len);
    mcpi_buf_text(&ear->heard, ")");
    return ear_called(ear);
}

static void
ear_init_with(struct ear *ear, size_t max_bytes)
{
    *ear = (struct ear){.calls_left = -1};
    test_mem_init(&ear->mem);
    mcpi_buf_init(&ear->heard, NULL, 1000000);
    ear->reply = malloc(sizeof(*ear->reply));
    assert_non_null(ear->reply);
    mcpi_http_reply_init(ear->reply, &ear->mem.allocator, max_bytes, MAX_DEPTH);
    ear->reply->message = hear_message;
    ear->reply->marked = hear_mark;
    ear->reply->event = hear_event;
    ear->reply->user = ear;
}

static void
ear_init(struct ear *ear)
{
    ear_init_with(ear, MAX_BYTES);
}

static void
ear_done(struct ear *ear)
{
    if (ear->reply)
        ear_free_reply(ear);
    mcpi_buf_done(&ear->heard);
    test_mem_done(&ear->mem);
}

static const char *
ear_heard(struct ear *ear)
{
    if (ear->heard.len == 0)
        return "";
    if (ear->heard.data[ear->heard.len - 1] != '\0')
        mcpi_buf_char(&ear->heard, '\0');
    return ear->heard.data;
}

static int
ear_head(struct ear *ear, int status, const char *type)
{
    struct head head = {.head = {.status = status, .find = head_find}, .type = type};

    return mcpi_http_reply_head(ear->reply, &head.head);
}

/* A copy as long as the piece: ASan sees who reads on. */
static int
ear_piece(struct ear *ear, const char *data, size_t len)
{
    char *piece = malloc(len + 1);
    int r;

    assert_non_null(piece);
    memcpy(piece, data, len);
    piece[len] = 'x';
    r = mcpi_http_reply_body(ear->reply, piece, len);
    free(piece);
    return r;
}

static int
ear_body(struct ear *ear, const char *body, size_t len)
{
    size_t piece;
    int r = 0;

    for (size_t at = 0; ear->reply && r == 0 && at < len; at += piece) {
        piece = len - at;
        if (ear->piece > 0 && piece > ear->piece)
            piece = ear->piece;
        r = ear_piece(ear, body + at, piece);
        if (ear->reply)
            assert_null(ear->reply->gone); /* no call is under way */
    }
    return r;
}

static void
ear_look(struct ear *ear)
{
    const struct mcpi_http_reply *reply = ear->reply;

    if (!reply)
        return;
    ear->messages = reply->messages;
    ear->garbled = reply->garbled;
    ear->retry_us = reply->retry_us;
    (void)snprintf(ear->last_id, sizeof(ear->last_id), "%s", mcpi_http_reply_id(reply));
}

/* A whole answer; the sentence is in ear->why. */
static int
ear_read(struct ear *ear, int status, const char *type, const char *body, size_t len)
{
    int r;

    r = ear_head(ear, status, type);
    if (r == 0)
        r = ear_body(ear, body, len);
    if (r < 0 && ear->reply)
        mcpi_http_reply_explain(ear->reply, r, ear->why, sizeof(ear->why));
    ear_look(ear);
    if (r < 0 || !ear->reply)
        return r;
    return mcpi_http_reply_end(ear->reply, ear->why, sizeof(ear->why));
}

/* What an answer must be, however it is cut. */
struct expected {
    const struct mcpi_id *asked;
    int status; /* of the end */
    const char *heard;
    const char *why;
    size_t garbled;
};

static void
reads_n(int status, const char *type, const char *body, size_t len,
        const struct expected *expected)
{
    struct ear ear;

    for (size_t piece = 0; piece <= 9; piece++) {
        ear_init(&ear);
        ear.piece = piece;
        ear.reply->asked = expected->asked;
        assert_int_equal(ear_read(&ear, status, type, body, len), expected->status);
        assert_string_equal(ear_heard(&ear), expected->heard ? expected->heard : "");
        assert_string_equal(ear.why, expected->why ? expected->why : "");
        assert_int_equal(ear.garbled, expected->garbled);
        ear_done(&ear);
    }
}

#define READS(status, type, body, ...) \
    reads_n(status, type, body, sizeof(body) - 1, &(struct expected){__VA_ARGS__})

/* ---- JSON ------------------------------------------------------------------- */

static void
a_json_body_is_one_message(void **state)
{
    (void)state;
    READS(200, JSON, ANSWER, .heard = ANSWER " ");
    READS(200, JSON, "\r\n " ANSWER "\r\n", .heard = ANSWER " ");
    READS(200, JSON, "\xEF\xBB\xBF" ANSWER, .heard = ANSWER " ");
    READS(200, JSON, ERROR("1", "-32603"), .heard = ERROR("1", "-32603") " ");
    READS(201, JSON, ANSWER, .heard = ANSWER " ");
}

#define CUT RESULT("1", "{\"a\":\"\\ud83d\"}")
#define MENDED RESULT("1", "{\"a\":\"\xef\xbf\xbd\"}")

static void
half_of_a_surrogate_pair_reads_as_U_FFFD(void **state)
{
    (void)state;
    READS(200, JSON, CUT, .heard = MENDED " ");
    READS(200, EVENTS, "data: " CUT "\n\n", .heard = MENDED " ");
}

static void
a_type_may_have_parameters_and_capitals(void **state)
{
    (void)state;
    READS(200, "application/json; charset=utf-8", ANSWER, .heard = ANSWER " ");
    READS(200, "application/json;charset=utf-8", ANSWER, .heard = ANSWER " ");
    READS(200, "Application/JSON ; x=y", ANSWER, .heard = ANSWER " ");
    READS(200, "APPLICATION/JSON", ANSWER, .heard = ANSWER " ");
    READS(200, "Text/Event-Stream;charset=UTF-8", "data: " ANSWER "\n\n",
          .heard = ANSWER " ");
    READS(200, "text/event-stream ", "data: " ANSWER "\n\n", .heard = ANSWER " ");
}

static void
D10_a_body_of_another_type_is_no_answer(void **state)
{
    (void)state;
    READS(200, "text/html", "<html>", .status = MCP_E_PROTO,
          .why = "text/html is no answer");
    READS(200, "Text/HTML; charset=x", ANSWER, .status = MCP_E_PROTO,
          .why = "text/html is no answer");
    READS(200, "application/jsonx", ANSWER, .status = MCP_E_PROTO,
          .why = "application/jsonx is no answer");
    READS(200, "A/Z", ANSWER, .status = MCP_E_PROTO, .why = "a/z is no answer");
    READS(200, "application/jso", ANSWER, .status = MCP_E_PROTO,
          .why = "application/jso is no answer");
    READS(200, "text/pl\nain", ANSWER, .status = MCP_E_PROTO,
          .why = "text/pl?ain is no answer");
    READS(200, NULL, ANSWER, .status = MCP_E_PROTO, .why = "an answer without a type");
    READS(200, "", ANSWER, .status = MCP_E_PROTO, .why = "an answer without a type");
}

/* A type is cut, and never becomes one of ours by that. */
static void
D10_a_type_without_end_is_no_answer(void **state)
{
    char type[300], why[300];

    (void)state;
    memset(type, 'x', sizeof(type) - 1);
    type[sizeof(type) - 1] = '\0';
    (void)snprintf(why, sizeof(why), "%.63s is no answer", type);
    READS(200, type, ANSWER, .status = MCP_E_PROTO, .why = why);
    memcpy(type, JSON, strlen(JSON));
    (void)snprintf(why, sizeof(why), "%.63s is no answer", type);
    READS(200, type, ANSWER, .status = MCP_E_PROTO, .why = why);
}

static void
D10_json_that_is_no_message_is_no_answer(void **state)
{
    (void)state;
    READS(200, JSON, "{", .status = MCP_E_PROTO, .why = "what came is no JSON");
    READS(200, JSON, ANSWER ANSWER, .status = MCP_E_PROTO,
          .why = "what came is no JSON");
    READS(200, JSON, "\xEF\xBB\xBF\xEF\xBB\xBF" ANSWER, .status = MCP_E_PROTO,
          .why = "what came is no JSON");
    READS(200, JSON, "\0", .status = MCP_E_PROTO, .why = "what came is no JSON");
    READS(200, JSON, "{}", .status = MCP_E_PROTO, .why = "jsonrpc must be \"2.0\"");
    READS(200, JSON, "null", .status = MCP_E_PROTO,
          .why = "a message must be an object");
    READS(200, JSON, RESULT("1", "7"), .status = MCP_E_PROTO,
          .why = "result must be an object");
}

static void
D10_a_batch_is_no_answer(void **state)
{
    (void)state;
    READS(200, JSON, "[" ANSWER "]", .status = MCP_E_PROTO,
          .why = "batches are not supported");
    READS(200, JSON, "[]", .status = MCP_E_PROTO, .why = "batches are not supported");
}

/* ---- nothing ---------------------------------------------------------------- */

static void
D10_accepted_is_an_end_without_a_message(void **state)
{
    (void)state;
    READS(202, NULL, "", .status = 0);
    READS(202, JSON, "", .status = 0);
    READS(204, NULL, "", .status = 0);
    READS(202, "text/plain", "Accepted", .status = 0);
    READS(202, JSON, ANSWER, .status = 0);
    READS(202, JSON, "{", .status = 0);
    READS(202, EVENTS, "data: " ANSWER "\n\n", .status = 0);
}

static void
D10_a_success_without_a_body_is_an_end_without_a_message(void **state)
{
    (void)state;
    READS(200, JSON, "", .status = 0);
    READS(200, JSON, "\r\n", .status = 0);
    READS(200, JSON, "\xEF\xBB\xBF", .status = 0);
    READS(200, NULL, "", .status = 0);
    READS(200, "text/html", "", .status = 0);
    READS(200, EVENTS, "", .status = 0);
}

static void
what_an_empty_answer_was_is_known(void **state)
{
    static const struct {
        int status;
        const char *type;
        enum mcpi_http_reply_kind kind;
    } rows[] = {
        {202, JSON, MCPI_REPLY_EMPTY},
        {200, JSON, MCPI_REPLY_EMPTY},
        {200, "text/html", MCPI_REPLY_EMPTY},
        {200, EVENTS, MCPI_REPLY_EVENTS},
    };
    struct ear ear;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ear_init(&ear);
        assert_int_equal(ear_head(&ear, rows[i].status, rows[i].type), 0);
        assert_int_equal(mcpi_http_reply_body(ear.reply, "", 0), 0);
        assert_int_equal(mcpi_http_reply_end(ear.reply, ear.why, sizeof(ear.why)), 0);
        assert_int_equal(ear.reply->kind, rows[i].kind);
        ear_done(&ear);
    }
}

static void
what_is_passed_over_has_an_end(void **state)
{
    char *body = calloc(1, MCPI_HTTP_SKIP_MAX + 1);
    struct ear ear;

    (void)state;
    assert_non_null(body);
    for (size_t over = 0; over < 2; over++) {
        ear_init(&ear);
        assert_int_equal(ear_head(&ear, 202, NULL), 0);
        assert_int_equal(ear_body(&ear, body, MCPI_HTTP_SKIP_MAX + over),
                         over ? MCP_E_LIMIT : 0);
        ear_done(&ear);
        ear_init(&ear);
        assert_int_equal(ear_head(&ear, 500, "text/html"), 0);
        assert_int_equal(ear_body(&ear, body, MCPI_HTTP_SKIP_MAX + over),
                         over ? MCP_E_HTTP : 0);
        ear_done(&ear);
        ear_init(&ear);
        assert_int_equal(ear_head(&ear, 500, "text/plain"), 0);
        assert_int_equal(ear_body(&ear, body, MCPI_HTTP_SKIP_MAX + over),
                         over ? MCP_E_HTTP : 0);
        ear_done(&ear);
    }
    free(body);
}

/* ---- errors of HTTP --------------------------------------------------------- */

#define REFUSED "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"m\"}}"

static void
X12_an_error_with_a_message_is_that_message(void **state)
{
    (void)state;
    READS(400, JSON, ERROR("1", "-32022"), .heard = ERROR("1", "-32022") " ");
    READS(404, JSON, ERROR("null", "-32601"), .heard = ERROR("null", "-32601") " ");
    READS(400, JSON, REFUSED, .heard = REFUSED " ");
    READS(500, "application/json;charset=x", REFUSED, .heard = REFUSED " ");
    READS(400, "text/plain", REFUSED, .heard = REFUSED " ");
    READS(400, "application/problem+json", REFUSED, .heard = REFUSED " ");
    READS(400, NULL, "\xEF\xBB\xBF\r\n" REFUSED, .heard = REFUSED " ");
}

/* Whoever refuses before it has read a message knows no id: that is no answer, but for what
 * only a modern server says. */
static void
X12_an_error_about_http_is_no_answer(void **state)
{
    const struct mcpi_id one = mcpi_id_int(1);

    (void)state;
    READS(405, JSON, REFUSED, .asked = &one, .status = MCP_E_HTTP,
          .why = "HTTP 405 Method Not Allowed: m");
    READS(405, "text/plain", "Method not allowed\n", .status = MCP_E_HTTP,
          .why = "HTTP 405 Method Not Allowed");
    READS(401, JSON, ERROR("null", "-32000"), .asked = &one, .status = MCP_E_HTTP,
          .why = "HTTP 401 Unauthorized: m");
    READS(400, JSON, ERROR("\"server-error\"", "-32600"), .asked = &one,
          .status = MCP_E_HTTP, .why = "HTTP 400 Bad Request: m");
    READS(400, JSON, ERROR("\"1\"", "-32600"), .asked = &one,
          .heard = ERROR("\"1\"", "-32600") " ");
    READS(400, JSON, ERROR("null", "-32020"), .asked = &one,
          .heard = ERROR("null", "-32020") " ");
    READS(400, JSON, ERROR("null", "-32021"), .asked = &one,
          .heard = ERROR("null", "-32021") " ");
    READS(400, JSON, ERROR("null", "-32022"), .asked = &one,
          .heard = ERROR("null", "-32022") " ");
    READS(200, JSON, ERROR("null", "-32600"), .asked = &one,
          .heard = ERROR("null", "-32600") " ");
}

/* Longer than what is kept of a text. */
static void
X12_a_long_error_message_is_whole(void **state)
{
    static const char text[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\""
        "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a"
        "a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a a"
        "\"}}";
    char heard[sizeof(text) + 1];

    (void)state;
    (void)snprintf(heard, sizeof(heard), "%s ", text);
    READS(400, JSON, text, .heard = heard);
    READS(400, "text/plain", text, .heard = heard);
}

static void
an_error_without_a_message_is_an_error_of_http(void **state)
{
    (void)state;
    READS(503, NULL, "", .status = MCP_E_HTTP, .why = "HTTP 503 Service Unavailable");
    READS(503, JSON, "", .status = MCP_E_HTTP, .why = "HTTP 503 Service Unavailable");
    READS(404, JSON, "{\"error\":\"x\"}", .status = MCP_E_HTTP,
          .why = "HTTP 404 Not Found");
    READS(404, JSON, "{\"error\":", .status = MCP_E_HTTP, .why = "HTTP 404 Not Found");
    READS(404, JSON, "no", .status = MCP_E_HTTP, .why = "HTTP 404 Not Found");
    READS(404, "a/b+json", "no", .status = MCP_E_HTTP, .why = "HTTP 404 Not Found");
    READS(404, JSON, "[" REFUSED "]", .status = MCP_E_HTTP,
          .why = "HTTP 404 Not Found");
    READS(405, "text/html", "<html>no</html>", .status = MCP_E_HTTP,
          .why = "HTTP 405 Method Not Allowed");
    READS(405, "text/html", REFUSED, .status = MCP_E_HTTP,
          .why = "HTTP 405 Method Not Allowed");
    READS(304, NULL, "", .status = MCP_E_HTTP, .why = "HTTP 304");
    READS(302, "text/plain", "elsewhere", .status = MCP_E_HTTP,
          .why = "HTTP 302: elsewhere");
    READS(199, NULL, "", .status = MCP_E_HTTP, .why = "HTTP 199");
}

static void
a_short_remark_of_an_error_is_told_on(void **state)
{
    (void)state;
    READS(401, "text/plain", "who are you?", .status = MCP_E_HTTP,
          .why = "HTTP 401 Unauthorized: who are you?");
    READS(401, NULL, "\n who\r\nare\tyou?\r\n", .status = MCP_E_HTTP,
          .why = "HTTP 401 Unauthorized: who??are?you?");
    READS(400, "text/plain", "a\0b\xff\x1b[0m", .status = MCP_E_HTTP,
          .why = "HTTP 400 Bad Request: a?b??[0m");
    READS(400, "text/plain", "<html>", .status = MCP_E_HTTP,
          .why = "HTTP 400 Bad Request");
    READS(400, NULL, " {\"a\":1}", .status = MCP_E_HTTP, .why = "HTTP 400 Bad Request");
    READS(400, NULL, "[1]", .status = MCP_E_HTTP, .why = "HTTP 400 Bad Request");
    READS(400, "text/plain", " \r\n", .status = MCP_E_HTTP,
          .why = "HTTP 400 Bad Request");
}

static void
a_long_remark_of_an_error_is_not(void **state)
{
    char text[MCPI_HTTP_EXCERPT_MAX + 2], why[MCPI_HTTP_WHY];

    (void)state;
    memset(text, 'a', sizeof(text));
    (void)snprintf(why, sizeof(why), "HTTP 400 Bad Request: %.*s",
                   MCPI_HTTP_EXCERPT_MAX, text);
    reads_n(400, "text/plain", text, MCPI_HTTP_EXCERPT_MAX,
            &(struct expected){.status = MCP_E_HTTP, .why = why});
    reads_n(400, "text/plain", text, MCPI_HTTP_EXCERPT_MAX + 1,
            &(struct expected){.status = MCP_E_HTTP, .why = "HTTP 400 Bad Request"});
}

static void
an_error_that_is_a_stream_is_not_waited_for(void **state)
{
    struct ear ear;

    (void)state;
    READS(503, EVENTS, "data: " ANSWER "\n\n", .status = MCP_E_HTTP,
          .why = "HTTP 503 Service Unavailable");
    ear_init(&ear);
    assert_int_equal(ear_head(&ear, 503, EVENTS), MCP_E_HTTP);
    ear_done(&ear);
}

/* ---- events ----------------------------------------------------------------- */

static void
each_event_is_a_message(void **state)
{
    (void)state;
    READS(200, EVENTS, "data: " NEWS "\n\nevent: message\ndata: " ANSWER "\n\n",
          .heard = NEWS " " ANSWER " ");
    READS(200, EVENTS, "data: " NEWS "\r\n\r\ndata: " ANSWER "\r\n\r\n",
          .heard = NEWS " " ANSWER " ");
    READS(200, EVENTS,
          "\xEF\xBB\xBF"
          "data:" NEWS "\r\r:ping\r\rdata: " ANSWER "\r\r",
          .heard = NEWS " " ANSWER " ");
    READS(200, EVENTS, "data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"m\"}\n\n",
          .heard = "{\"jsonrpc\":\"2.0\",\"method\":\"m\"} ");
}

static void
D9_an_event_without_its_end_did_not_happen(void **state)
{
    (void)state;
    READS(200, EVENTS, "data: " NEWS "\n\nid: 7\ndata: " ANSWER "\n",
          .heard = NEWS " ");
    READS(200, EVENTS, "data: " ANSWER, .heard = "");
}

static void
events_that_are_no_messages_are_passed_over_and_counted(void **state)
{
    (void)state;
    READS(200, EVENTS,
          "data: hello\n\ndata: {}\n\ndata: [" ANSWER "]\n\ndata: " ANSWER "\n\n",
          .heard = ANSWER " ", .garbled = 3);
}

static void
an_event_without_data_is_neither_message_nor_garbled(void **state)
{
    (void)state;
    READS(200, EVENTS, "data:\n\nid: 1\ndata:\n\nretry: 5\n\ndata: " ANSWER "\n\n",
          .heard = "mark(1) " ANSWER " ");
}

static void
events_of_other_types_go_their_own_way(void **state)
{
    static const char other[] = "event: m\ndata: " ANSWER "\n\n";
    struct ear ear;

    (void)state;
    READS(200, EVENTS, "event: endpoint\ndata: /x?y\n\nevent: m\ndata: " ANSWER "\n\n",
          .heard = "event(endpoint,/x?y) event(m," ANSWER ") ");
    ear_init(&ear);
    ear.reply->event = NULL;
    assert_int_equal(ear_head(&ear, 200, EVENTS), 0);
    assert_int_equal(ear_body(&ear, other, strlen(other)), 0);
    assert_string_equal(ear_heard(&ear), "");
    assert_int_equal(ear.reply->garbled, 0);
    ear_done(&ear);
}

static void
hears_id(const char *body, const char *heard, const char *last_id)
{
    struct ear ear;

    ear_init(&ear);
    assert_int_equal(ear_read(&ear, 200, EVENTS, body, strlen(body)), 0);
    assert_string_equal(ear_heard(&ear), heard);
    assert_string_equal(ear.last_id, last_id);
    ear_done(&ear);
}

static void
D8_the_last_id_is_kept_and_told_before_its_message(void **state)
{
    (void)state;
    hears_id("id: 1\ndata:\n\nid: a b\ndata: " NEWS "\n\ndata: " ANSWER "\n\n",
             "mark(1) mark(a b) " NEWS " " ANSWER " ", "a b");
    hears_id("id: 1\ndata: no json\n\n", "mark(1) ", "1");
    hears_id("id: 1\nevent: other\ndata: x\n\n", "mark(1) event(other,x) ", "1");
    hears_id("id: 1\ndata: " ANSWER "\n\nid: 2\n", "mark(1) " ANSWER " ", "1");
}

/* What it cannot say back it cannot resume from; and not from earlier either. */
static void
D9_an_id_that_cannot_be_said_back_is_none(void **state)
{
    (void)state;
    hears_id("id: 1\ndata:\n\nid:\ndata:\n\n", "mark(1) ", "");
    hears_id("id: 1\ndata:\n\nid: a\x01\ndata:\n\n", "mark(1) ", "");
    hears_id("id: 1\ndata:\n\nid: a\x7f\ndata:\n\n", "mark(1) ", "");
    hears_id("id: \xc3\xa4\ndata:\n\n", "mark(\xc3\xa4) ", "\xc3\xa4");
}

/* Nor what it does not keep; and nothing else of the stream is lost. */
static void
D9_an_id_that_is_too_long_is_none_and_its_message_is_delivered(void **state)
{
    static const char before[] = "id: 1\ndata:\n\nid: ",
                      after[] = "\ndata: " NEWS "\n\ndata: " ANSWER "\n\n";
    char body[sizeof(before) + MCPI_SSE_NAME_MAX + sizeof(after)];
    char id[MCPI_SSE_NAME_MAX + 2];
    struct ear ear;

    (void)state;
    memset(id, 'x', sizeof(id));
    id[sizeof(id) - 1] = '\0';
    (void)snprintf(body, sizeof(body), "%s%s%s", before, id, after);
    ear_init_with(&ear, sizeof(body));
    assert_int_equal(ear_read(&ear, 200, EVENTS, body, strlen(body)), 0);
    assert_string_equal(ear_heard(&ear), "mark(1) " NEWS " " ANSWER " ");
    assert_string_equal(ear.last_id, "");
    ear_done(&ear);
}

static int64_t
retry_of(const char *body)
{
    struct ear ear;

    ear_init(&ear);
    assert_int_equal(ear_read(&ear, 200, EVENTS, body, strlen(body)), 0);
    ear_done(&ear);
    return ear.retry_us;
}

static void
D8_the_last_time_a_server_asks_for_counts(void **state)
{
    const int64_t day_us = (int64_t)24 * 3600 * 1000000;

    (void)state;
    assert_int_equal(retry_of("data: " ANSWER "\n\n"), -1);
    assert_int_equal(retry_of("retry: 0\n\n"), 0);
    assert_int_equal(retry_of("retry: 3000\n\ndata:\n\nretry: 20\n\n"), 20000);
    assert_int_equal(retry_of("retry: 3000\n\nretry: soon\n\n"), 3000000);
    assert_int_equal(retry_of("retry: 86400001\n\n"), day_us);
    assert_int_equal(retry_of("retry: 99999999999999999999999999\n\n"), day_us);
}

static void
an_answer_that_resumes_keeps_what_was_said(void **state)
{
    static const char first[] = "id: 7\nretry: 5\ndata: " NEWS "\n\ndata: no\n\ndata: ";
    static const char then[] = "data: " ANSWER "\n\n";
    struct ear ear;

    (void)state;
    ear_init(&ear);
    assert_int_equal(ear_head(&ear, 200, EVENTS), 0);
    assert_int_equal(ear_body(&ear, first, strlen(first)), 0);
    mcpi_http_reply_again(ear.reply);
    assert_int_equal(ear.reply->kind, MCPI_REPLY_NONE);
    assert_int_equal(ear.reply->status, 0);
    assert_string_equal(ear.reply->type, "");
    assert_int_equal(ear_read(&ear, 200, EVENTS, then, strlen(then)), 0);
    assert_string_equal(ear_heard(&ear), "mark(7) " NEWS " " ANSWER " ");
    assert_string_equal(ear.last_id, "7");
    assert_int_equal(ear.retry_us, 5000);
    assert_int_equal(ear.messages, 2);
    assert_int_equal(ear.garbled, 1);
    ear_done(&ear);
}

static void
an_answer_after_another_begins_with_an_empty_body(void **state)
{
    char long_text[MCPI_HTTP_EXCERPT_MAX + 1];
    struct ear ear;

    (void)state;
    memset(long_text, 'a', sizeof(long_text));
    ear_init(&ear);
    assert_int_equal(ear_head(&ear, 400, "text/plain"), 0);
    assert_int_equal(ear_body(&ear, long_text, sizeof(long_text)), 0);
    mcpi_http_reply_again(ear.reply);
    assert_int_equal(ear_read(&ear, 400, "text/plain", "whole", 5), MCP_E_HTTP);
    assert_string_equal(ear.why, "HTTP 400 Bad Request: whole");
    ear_done(&ear);
}

static void
what_was_wrong_with_an_event_is_not_said_of_the_next_answer(void **state)
{
    struct ear ear;

    (void)state;
    ear_init(&ear);
    assert_int_equal(ear_read(&ear, 200, EVENTS, "data: no\n\n", 10), 0);
    mcpi_http_reply_again(ear.reply);
    assert_int_equal(ear_read(&ear, 200, "text/html", "<", 1), MCP_E_PROTO);
    assert_string_equal(ear.why, "text/html is no answer");
    ear_done(&ear);
}

static void
an_id_can_be_given_if_it_can_be_said(void **state)
{
    char text[MCPI_SSE_NAME_MAX + 2];
    struct ear ear;

    (void)state;
    ear_init(&ear);
    assert_int_equal(mcpi_http_reply_set_id(ear.reply, "a"), 0);
    assert_string_equal(mcpi_http_reply_id(ear.reply), "a");
    assert_int_equal(mcpi_http_reply_set_id(ear.reply, "a\r\nb: c"), MCP_E_INVAL);
    assert_string_equal(mcpi_http_reply_id(ear.reply), "");
    assert_int_equal(mcpi_http_reply_set_id(ear.reply, ""), 0);
    assert_string_equal(mcpi_http_reply_id(ear.reply), "");
    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(mcpi_http_reply_set_id(ear.reply, text), MCP_E_LIMIT);
    assert_string_equal(mcpi_http_reply_id(ear.reply), "");
    text[sizeof(text) - 2] = '\0';
    assert_int_equal(mcpi_http_reply_set_id(ear.reply, text), 0);
    assert_string_equal(mcpi_http_reply_id(ear.reply), text);
    ear_done(&ear);
}

/* ---- limits ----------------------------------------------------------------- */

/* A message of len bytes. */
static void
message_fill(char *into, size_t len)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"";

    memset(into, 'm', len);
    memcpy(into, head, strlen(head));
    memcpy(into + len - 2, "\"}", 2);
}

static int
read_of_length(int status, const char *type, size_t len, char *why)
{
    char body[MAX_BYTES + 100];
    bool events = strcmp(type, EVENTS) == 0;
    size_t at = events ? 6 : 0;
    struct ear ear;
    int r;

    memcpy(body, "data: ", 6);
    message_fill(body + at, len);
    memcpy(body + at + len, "\n\n", 2);
    ear_init(&ear);
    r = ear_read(&ear, status, type, body, at + len + (events ? 2 : 0));
    assert_int_equal(ear.heard.len > 0, r == 0);
    if (why)
        memcpy(why, ear.why, sizeof(ear.why));
    ear_done(&ear);
    return r;
}

static void
a_message_has_a_longest_length(void **state)
{
    char why[MCPI_HTTP_WHY];

    (void)state;
    assert_int_equal(read_of_length(200, JSON, MAX_BYTES, NULL), 0);
    assert_int_equal(read_of_length(200, JSON, MAX_BYTES + 1, why), MCP_E_LIMIT);
    assert_string_equal(why, "a message is longer than 1000 bytes, or too deep");
    assert_int_equal(read_of_length(200, EVENTS, MAX_BYTES, NULL), 0);
    assert_int_equal(read_of_length(200, EVENTS, MAX_BYTES + 1, why), MCP_E_LIMIT);
    assert_string_equal(why, "a message is longer than 1000 bytes, or too deep");
    assert_int_equal(read_of_length(400, JSON, MAX_BYTES, NULL), 0);
    assert_int_equal(read_of_length(400, JSON, MAX_BYTES + 1, why), MCP_E_HTTP);
    assert_string_equal(why, "HTTP 400 Bad Request");
}

#define DEEP                                                   \
    "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{\"a\":" \
    "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]}}"

static void
a_message_has_a_greatest_depth(void **state)
{
    static const char why[] = "a message is longer than 1000 bytes, or too deep";

    (void)state;
    READS(200, JSON, DEEP, .status = MCP_E_LIMIT, .why = why);
    READS(200, EVENTS, "data: " DEEP "\n\n", .status = MCP_E_LIMIT, .why = why);
    READS(500, JSON, DEEP, .status = MCP_E_HTTP,
          .why = "HTTP 500 Internal Server Error");
}

/* ---- owners that stop it, or free it ---------------------------------------- */

static void
what_an_owner_returns_stops_the_reading(void **state)
{
    static const char body[] = "data: " NEWS "\n\nevent: e\ndata: " ANSWER "\n\n";
    struct ear ear;

    (void)state;
    ear_init(&ear);
    ear.answer = MCP_E_CANCELED;
    assert_int_equal(ear_read(&ear, 200, EVENTS, body, strlen(body)), MCP_E_CANCELED);
    assert_string_equal(ear_heard(&ear), NEWS " ");
    assert_string_equal(ear.why, "canceled");
    ear_done(&ear);
    ear_init(&ear);
    ear.answer = MCP_E_CANCELED;
    assert_int_equal(ear_read(&ear, 200, EVENTS, "event: e\ndata: \n\n", 17),
                     MCP_E_CANCELED);
    ear_done(&ear);
    ear_init(&ear);
    ear.answer = MCP_E_CANCELED;
    assert_int_equal(ear_read(&ear, 200, JSON, ANSWER, strlen(ANSWER)), MCP_E_CANCELED);
    ear_done(&ear);
}

/* In each of its calls, in whatever pieces: nothing is heard afterwards. */
static void
E12_an_owner_may_free_it_in_any_call(void **state)
{
    static const char body[] = "id: 1\ndata: " NEWS
                               "\n\nevent: e\nid: 2\ndata: x\n\ndata: " ANSWER
                               "\n\ndata: ";
    static const char *const heard[] = {
        "mark(1) ", "mark(1) " NEWS " ", "mark(1) " NEWS " mark(2) ",
        "mark(1) " NEWS " mark(2) event(e,x) ",
        "mark(1) " NEWS " mark(2) event(e,x) " ANSWER " "};
    struct ear ear;

    (void)state;
    for (size_t piece = 0; piece < 12; piece++) {
        for (int calls = 0; calls < 5; calls++) {
            ear_init(&ear);
            ear.piece = piece;
            ear.calls_left = calls;
            assert_int_equal(ear_read(&ear, 200, EVENTS, body, strlen(body)),
                             MCP_E_CLOSED);
            assert_null(ear.reply);
            assert_string_equal(ear_heard(&ear), heard[calls]);
            ear_done(&ear);
        }
    }
}

static void
E12_an_owner_may_free_it_with_its_json(void **state)
{
    struct ear ear;

    (void)state;
    ear_init(&ear);
    ear.calls_left = 0;
    assert_int_equal(ear_read(&ear, 200, JSON, ANSWER, strlen(ANSWER)), 0);
    assert_null(ear.reply);
    ear_done(&ear);
}

static void
E12_one_that_is_done_in_a_call_knows_of_none_any_more(void **state)
{
    static const char body[] = "data: " NEWS "\n\ndata: " ANSWER "\n\n";
    struct ear ear;

    (void)state;
    ear_init(&ear);
    ear.calls_left = 0;
    ear.keep = true;
    assert_int_equal(ear_head(&ear, 200, EVENTS), 0);
    assert_int_equal(ear_body(&ear, body, strlen(body)), MCP_E_CLOSED);
    assert_string_equal(ear_heard(&ear), NEWS " ");
    assert_null(ear.reply->gone);
    ear_done(&ear);
}

/* No fetch ends so. */
static void
without_a_head_there_is_no_answer(void **state)
{
    struct ear ear;

    (void)state;
    ear_init(&ear);
    assert_int_equal(mcpi_http_reply_end(ear.reply, ear.why, sizeof(ear.why)),
                     MCP_E_PROTO);
    assert_string_equal(ear.why, "an answer without a head");
    ear_done(&ear);
}

static void
it_can_be_done_twice_and_what_it_was_is_still_known(void **state)
{
    struct ear ear;

    (void)state;
    ear_init(&ear);
    assert_int_equal(ear_read(&ear, 404, JSON, REFUSED, strlen(REFUSED)), 0);
    mcpi_http_reply_done(ear.reply);
    mcpi_http_reply_done(ear.reply);
    assert_int_equal(ear.reply->status, 404);
    assert_int_equal(ear.reply->messages, 1);
    assert_string_equal(ear.reply->type, JSON);
    assert_string_equal(mcpi_http_reply_id(ear.reply), "");
    ear_done(&ear);
}

/* ---- memory ----------------------------------------------------------------- */

struct answer {
    int status;
    const char *type, *body;
    size_t piece;
};

static void
read_with_little_memory(struct test_mem *mem, void *user)
{
    const struct answer *answer = user;
    struct ear ear;
    int r;

    ear_init(&ear);
    ear.piece = answer->piece;
    mcpi_http_reply_done(ear.reply);
    mcpi_http_reply_init(ear.reply, &mem->allocator, MAX_BYTES, MAX_DEPTH);
    ear.reply->message = hear_message;
    ear.reply->marked = hear_mark;
    ear.reply->event = hear_event;
    ear.reply->user = &ear;
    r = ear_read(&ear, answer->status, answer->type, answer->body,
                 strlen(answer->body));
    if (atomic_load(&mem->failed) > 0)
        assert_int_equal(r, MCP_E_NOMEM);
    else
        assert_int_equal(r, answer->status == 503 ? MCP_E_HTTP : 0);
    ear_done(&ear);
}

static void
without_memory_it_says_so_and_keeps_nothing(void **state)
{
    static struct answer answers[] = {
        {200, JSON, ANSWER, 0},
        {200, JSON, ANSWER, 5},
        {400, JSON, REFUSED, 5},
        {503, "text/plain", "no", 1},
        {200, EVENTS, "id: 1\ndata: " NEWS "\n\nid: 22\ndata: " ANSWER "\n\n", 0},
        {200, EVENTS, "event: e\nid: 1\ndata: " NEWS "\n\ndata: " ANSWER "\n\n", 3},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        assert_true(test_each_allocation_fails(read_with_little_memory, &answers[i]) >
                    0);
}

/* ---- who watches ------------------------------------------------------------ */

static void
hear_came(void *user, const char *text, size_t len, const char *fault)
{
    struct ear *ear = user;

    assert_non_null(ear->reply);
    mcpi_buf_text(&ear->heard, fault ? "fault(" : "came(");
    mcpi_buf_append(&ear->heard, text, len);
    mcpi_buf_text(&ear->heard, ") ");
}

static void
shows(int status, const char *type, const char *body, const char *heard)
{
    struct ear ear;

    for (size_t piece = 0; piece <= 9; piece++) {
        ear_init(&ear);
        ear.piece = piece;
        ear.reply->came = hear_came;
        (void)ear_read(&ear, status, type, body, strlen(body));
        assert_string_equal(ear_heard(&ear), heard);
        ear_done(&ear);
    }
}

static void
what_comes_is_shown_as_it_stands_there_and_first(void **state)
{
    (void)state;
    shows(200, JSON, " {\"jsonrpc\":\"2.0\", \"id\":1,\n\"result\":{}}",
          "came({\"jsonrpc\":\"2.0\", \"id\":1,\n\"result\":{}}) " ANSWER " ");
    shows(200, EVENTS,
          "data: " NEWS "\n\n"
          "data: nonsense\n\n"
          "data: {\"other\":1}\n\n"
          "event: endpoint\ndata: /x\n\n",
          "came(" NEWS ") " NEWS " fault(nonsense) came({\"other\":1}) "
          "event(endpoint,/x) ");
    shows(503, "text/plain", "go away", "fault(go away) ");
    shows(202, NULL, "", "");
}

TEST_MAIN(
    TEST(a_json_body_is_one_message), TEST(half_of_a_surrogate_pair_reads_as_U_FFFD),
    TEST(a_type_may_have_parameters_and_capitals),
    TEST(D10_a_body_of_another_type_is_no_answer),
    TEST(D10_a_type_without_end_is_no_answer),
    TEST(D10_json_that_is_no_message_is_no_answer), TEST(D10_a_batch_is_no_answer),
    TEST(D10_accepted_is_an_end_without_a_message),
    TEST(D10_a_success_without_a_body_is_an_end_without_a_message),
    TEST(what_an_empty_answer_was_is_known), TEST(what_is_passed_over_has_an_end),
    TEST(X12_an_error_with_a_message_is_that_message),
    TEST(X12_an_error_about_http_is_no_answer), TEST(X12_a_long_error_message_is_whole),
    TEST(an_error_without_a_message_is_an_error_of_http),
    TEST(a_short_remark_of_an_error_is_told_on), TEST(a_long_remark_of_an_error_is_not),
    TEST(an_error_that_is_a_stream_is_not_waited_for), TEST(each_event_is_a_message),
    TEST(D9_an_event_without_its_end_did_not_happen),
    TEST(events_that_are_no_messages_are_passed_over_and_counted),
    TEST(an_event_without_data_is_neither_message_nor_garbled),
    TEST(events_of_other_types_go_their_own_way),
    TEST(D8_the_last_id_is_kept_and_told_before_its_message),
    TEST(D9_an_id_that_cannot_be_said_back_is_none),
    TEST(D9_an_id_that_is_too_long_is_none_and_its_message_is_delivered),
    TEST(D8_the_last_time_a_server_asks_for_counts),
    TEST(an_answer_that_resumes_keeps_what_was_said),
    TEST(an_answer_after_another_begins_with_an_empty_body),
    TEST(what_was_wrong_with_an_event_is_not_said_of_the_next_answer),
    TEST(an_id_can_be_given_if_it_can_be_said), TEST(a_message_has_a_longest_length),
    TEST(a_message_has_a_greatest_depth), TEST(what_an_owner_returns_stops_the_reading),
    TEST(E12_an_owner_may_free_it_in_any_call),
    TEST(E12_an_owner_may_free_it_with_its_json),
    TEST(E12_one_that_is_done_in_a_call_knows_of_none_any_more),
    TEST(without_a_head_there_is_no_answer),
    TEST(it_can_be_done_twice_and_what_it_was_is_still_known),
    TEST(without_memory_it_says_so_and_keeps_nothing),
    TEST(what_comes_is_shown_as_it_stands_there_and_first))
