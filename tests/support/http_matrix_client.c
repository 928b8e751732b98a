/* support/http_matrix_client.c - what must hold over HTTP: clients of each cell */
#include <stdarg.h>

#include "support/http_matrix.h"
#include "support/wire.h"

#define KEY "io.modelcontextprotocol/"
#define CAPABILITIES \
    "{\"roots\":{\"listChanged\":true},\"elicitation\":{},\"sampling\":{}}"

bool
matrix_is_modern(const struct matrix *m)
{
    return (m->cell & MODERN) != 0;
}

bool
matrix_has_sessions(const struct matrix *m)
{
    return (m->cell & SESSIONS) != 0;
}

static enum mcp_era
matrix_era(const struct matrix *m)
{
    return matrix_is_modern(m) ? MCP_ERA_MODERN : MCP_ERA_LEGACY;
}

static char *text_make(const char *format, ...) MCP_PRINTF(1, 2);

static char *
text_make(const char *format, ...)
{
    va_list list;
    char *text;
    int r;

    va_start(list, format);
    r = vasprintf(&text, format, list);
    va_end(list);
    assert_true(r >= 0);
    return text;
}

void
matrix_has(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("no %s in %s", part, text ? text : "(nothing)");
}

/* ---- for the schema check -------------------------------------------------- */

static void
record(struct matrix *m, const char *message)
{
    struct mcpi_engine engine = {.role = MCPI_SERVER};
    struct mcpi_peer peer = {.engine = &engine};

    wire_record(m->conversation, &peer,
                matrix_is_modern(m) ? "2026-07-28" : "2025-11-25", message,
                strlen(message));
}

/* ---- asking ---------------------------------------------------------------- */

void
matrix_open(struct matrix *m, struct http_raw *h)
{
    http_open(h, m->port, m->context);
}

static char *
ask_body(const struct matrix *m, const struct matrix_ask *ask)
{
    bool is_tool = !ask->method;
    bool modern = matrix_is_modern(m);
    const char *meta = ask->meta ? ask->meta : "";
    char *stamp, *body;

    stamp = text_make("\"" KEY "clientCapabilities\":%s,\"" KEY
                      "protocolVersion\":\"2026-07-28\"",
                      ask->capabilities ? ask->capabilities : "{}");
    body = text_make("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{"
                     "%s%s%s%s\"_meta\":{%s%s}}}",
                     ask->id, is_tool ? "tools/call" : ask->method,
                     is_tool ? "\"name\":\"" : "", is_tool ? ask->name : "",
                     is_tool ? "\"," : "", ask->more ? ask->more : "", meta,
                     modern ? stamp : "\"x\":1");
    free(stamp);
    return body;
}

static const char *
ask_session(const struct matrix *m, const struct matrix_ask *ask)
{
    if (ask->session)
        return *ask->session ? ask->session : NULL;
    return m->session;
}

char *
matrix_ask_text(struct matrix *m, const struct matrix_ask *ask)
{
    char *body = ask_body(m, ask);
    char *text;

    wire_record_injected(m->conversation, MCPI_CLIENT, body);
    text = http_post_text(
        &HTTP_POST(.era = matrix_era(m), .session = ask_session(m, ask),
                   .method = ask->method ? ask->method : "tools/call",
                   .name = ask->name, .fields = ask->fields, .body = body));
    free(body);
    return text;
}

void
matrix_ask(struct matrix *m, struct http_raw *h, const struct matrix_ask *ask)
{
    char *text = matrix_ask_text(m, ask);

    h->status = 0;
    http_say(h, text);
    free(text);
}

static void
call(struct matrix *m, struct http_raw *h, const char *id, const char *tool,
     const char *arguments, const char *meta)
{
    char *more = text_make("\"arguments\":%s,", arguments ? arguments : "{}");

    matrix_open(m, h);
    matrix_ask(m, h, MATRIX_ASK(.id = id, .name = tool, .more = more, .meta = meta));
    free(more);
}

void
matrix_call(struct matrix *m, struct http_raw *h, const char *id, const char *tool,
            const char *arguments)
{
    call(m, h, id, tool, arguments, NULL);
}

void
matrix_call_streamed(struct matrix *m, struct http_raw *h, const char *id,
                     const char *tool, const char *arguments)
{
    call(m, h, id, tool, arguments, "\"progressToken\":\"p\",");
}

int
matrix_post(struct matrix *m, const char *message, char **body)
{
    struct http_raw h;
    int status;

    matrix_open(m, &h);
    http_post(&h, &HTTP_POST(.era = matrix_era(m), .session = m->session,
                             .method = "notifications/cancelled", .body = message));
    status = http_answer(&h);
    if (body)
        *body = strdup(h.body);
    http_close(&h);
    return status;
}

void
matrix_frame(struct matrix *m, const char *id)
{
    char *frame = text_make(
        NOTE("notifications/cancelled", "{\"requestId\":%s,\"reason\":\"enough\"}"),
        id);

    assert_int_equal(matrix_post(m, frame, NULL), 202);
    free(frame);
}

void
matrix_cancel(struct matrix *m, struct http_raw *h, const char *id)
{
    if (matrix_has_sessions(m))
        matrix_frame(m, id);
    else
        http_close(h);
}

/* ---- sessions -------------------------------------------------------------- */

#define HELLO                                                                    \
    REQUEST("\"hello\"", "initialize",                                           \
            "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":" CAPABILITIES \
            ",\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}")

/* One handshake. The status of its end: 404 if the session was gone by then. */
static int
hello_try(struct matrix *m, const char *fields, char **ret_session)
{
    struct http_raw h;
    int status;

    matrix_open(m, &h);
    wire_record_injected(m->conversation, MCPI_CLIENT, HELLO);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY, .fields = fields, .body = HELLO));
    matrix_expect(m, &h, "\"protocolVersion\":\"2025-11-25\"");
    assert_int_equal(h.status, 200);
    assert_non_null(http_field(&h, "Mcp-Session-Id"));
    *ret_session = strdup(http_field(&h, "Mcp-Session-Id"));
    assert_null(matrix_next(m, &h));
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = *ret_session,
                             .fields = fields,
                             .body = NOTE("notifications/initialized", "{}")));
    status = http_answer(&h);
    http_close(&h);
    return status;
}

char *
matrix_hello(struct matrix *m, const char *fields)
{
    char *session;
    int status = hello_try(m, fields, &session);

    /* on a machine that is busy, a session that may be idle for moments only is over
     * before we go on */
    while (status == 404 && m->what->http.session_idle_ms > 0) {
        free(session);
        status = hello_try(m, fields, &session);
    }
    assert_int_equal(status, 202);
    return session;
}

void
matrix_get(struct matrix *m, struct http_raw *h, const char *last_event)
{
    char *text = text_make("GET /mcp HTTP/1.1\r\n"
                           "Host: 127.0.0.1\r\n"
                           "Accept: text/event-stream\r\n"
                           "MCP-Protocol-Version: 2025-11-25\r\n"
                           "Mcp-Session-Id: %s\r\n%s%s%s\r\n",
                           m->session, last_event ? "Last-Event-ID: " : "",
                           last_event ? last_event : "", last_event ? "\r\n" : "");

    h->status = 0;
    http_say(h, text);
    free(text);
}

int
matrix_delete(struct matrix *m)
{
    struct http_raw h;
    int status;

    matrix_open(m, &h);
    http_ask(&h, "DELETE", m->session);
    status = http_answer(&h);
    http_close(&h);
    return status;
}

void
matrix_forget(struct matrix *m)
{
    free(m->session);
    m->session = NULL;
}

/* ---- what comes back ------------------------------------------------------- */

/* All of a body at the first time. */
static const char *
body_next(struct http_raw *h)
{
    if (h->event_at > 0)
        return NULL;
    (void)http_body(h);
    h->event_at = h->body_len;
    return h->body_len > 0 ? h->body : NULL;
}

const char *
matrix_next(struct matrix *m, struct http_raw *h)
{
    const char *type, *message;

    if (h->status == 0 && http_head(h) == 0)
        fail_msg("the server has closed instead of an answer");
    type = http_field(h, "Content-Type");
    if (type && strcmp(type, "text/event-stream") == 0) {
        assert_int_equal(m->cell & BODIES & ~(unsigned)MODERN_JSON, 0);
        do
            message = http_event(h, NULL);
        while (message && !*message); /* it primes, and says nothing */
    } else {
        message = body_next(h);
    }
    if (message)
        record(m, message);
    else
        assert_true(h->is_over);
    return message;
}

const char *
matrix_expect(struct matrix *m, struct http_raw *h, const char *part)
{
    const char *message = matrix_next(m, h);

    matrix_has(message, part);
    return message;
}

void
matrix_expect_last(struct matrix *m, struct http_raw *h, const char *part)
{
    matrix_expect(m, h, part);
    assert_null(matrix_next(m, h));
}

void
matrix_expect_canceled(struct matrix *m, struct http_raw *h)
{
    if (!matrix_has_sessions(m))
        return;
    matrix_expect_last(m, h, "-32800");
    matrix_alive_on(m, h);
    http_close(h);
}

/* ---- is it well? ----------------------------------------------------------- */

void
matrix_alive_on(struct matrix *m, struct http_raw *h)
{
    matrix_ask(m, h,
               MATRIX_ASK(.id = "\"alive\"", .name = "echo",
                          .more = "\"arguments\":{\"text\":\"still here\"},"));
    matrix_expect(m, h, "still here");
    assert_int_equal(h->status, 200);
    matrix_has(h->body, "\"id\":\"alive\"");
    assert_null(matrix_next(m, h));
}

void
matrix_alive(struct matrix *m)
{
    struct http_raw h;

    matrix_open(m, &h);
    matrix_alive_on(m, &h);
    http_close(&h);
}
