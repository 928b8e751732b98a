/* support/http_post.c - requests as a client of either era writes them */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/http_raw.h"
#include "support/messages.h"

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

/* "Name: value", or nothing. */
static char *
field_make(const char *name, const char *value)
{
    return value ? text_make("%s: %s\r\n", name, value) : text_make("%s", "");
}

char *
http_post_text(const struct http_post *post)
{
    bool legacy = post->era == MCP_ERA_LEGACY;
    char *session = field_make("Mcp-Session-Id", legacy ? post->session : NULL);
    char *method = field_make("Mcp-Method", legacy ? NULL : post->method);
    char *name = field_make("Mcp-Name", legacy ? NULL : post->name);
    char *text;

    text = text_make("POST /mcp HTTP/1.1\r\n"
                     "Host: 127.0.0.1\r\n"
                     "Content-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: %s\r\n"
                     "Content-Length: %zu\r\n"
                     "%s%s%s%s\r\n%s",
                     legacy ? "2025-11-25" : "2026-07-28", strlen(post->body), session,
                     method, name, post->fields ? post->fields : "", post->body);
    free(session);
    free(method);
    free(name);
    return text;
}

void
http_post(struct http_raw *h, const struct http_post *post)
{
    char *text = http_post_text(post);

    http_say(h, text);
    free(text);
}

#define KEY "io.modelcontextprotocol/"

char *
http_call_text(const struct http_call *call)
{
    bool legacy = call->era == MCP_ERA_LEGACY;
    char *body, *text;

    body = text_make(
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"%s\",\"arguments\":%s,\"_meta\":{%s%s%s}}}",
        call->id ? call->id : "1", call->tool, call->arguments ? call->arguments : "{}",
        call->progress ? "\"progressToken\":\"p\"" : "",
        call->progress && !legacy ? "," : "",
        legacy ? ""
               : "\"" KEY "protocolVersion\":\"2026-07-28\",\"" KEY
                 "clientCapabilities\":{}");
    text = http_post_text(&HTTP_POST(.era = call->era, .session = call->session,
                                     .method = "tools/call", .name = call->tool,
                                     .body = body));
    free(body);
    return text;
}

void
http_call(struct http_raw *h, const struct http_call *call)
{
    char *text = http_call_text(call);

    http_say(h, text);
    free(text);
}

void
http_ask(struct http_raw *h, const char *verb, const char *session)
{
    char *text = text_make("%s /mcp HTTP/1.1\r\n"
                           "Host: 127.0.0.1\r\n"
                           "Accept: text/event-stream\r\n"
                           "MCP-Protocol-Version: 2025-11-25\r\n"
                           "Mcp-Session-Id: %s\r\n\r\n",
                           verb, session);

    http_say(h, text);
    free(text);
}

char *
http_hello_as(struct http_raw *h, const char *initialize, const char *fields)
{
    const char *id;
    char *session;

    http_post(h,
              &HTTP_POST(.era = MCP_ERA_LEGACY, .body = initialize, .fields = fields));
    assert_int_equal(http_answer(h), 200);
    assert_non_null(strstr(h->body, "\"protocolVersion\":\"2025-11-25\""));
    id = http_field(h, "Mcp-Session-Id");
    session = id ? strdup(id) : NULL;
    http_post(h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = session, .fields = fields,
                            .body = NOTE("notifications/initialized", "{}")));
    assert_int_equal(http_answer(h), 202);
    return session;
}

char *
http_hello(struct http_raw *h)
{
    return http_hello_as(h, INITIALIZE("\"hello\"", "2025-11-25"), NULL);
}
