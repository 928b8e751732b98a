/* endpoint_requests.h - requests that are put together for endpoint_fuzz.c */
#ifndef FUZZ_ENDPOINT_REQUESTS_H
#define FUZZ_ENDPOINT_REQUESTS_H

#include "endpoint_clients.h"
#include "endpoint_messages.h"

enum { REQUEST_MAX = 4096 };

struct text {
    char data[REQUEST_MAX];
    size_t len;
};

static void
add(struct text *text, const char *more)
{
    size_t len = strlen(more);

    CHECK(len < sizeof(text->data) - text->len);
    memcpy(text->data + text->len, more, len + 1);
    text->len += len;
}

static void
add_field(struct text *text, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    add(text, name);
    add(text, ": ");
    add(text, value);
    add(text, "\r\n");
}

static const char *
session_id(const struct known_session *table, size_t count, unsigned c)
{
    if (c == 9)
        return "0-0123456789abcdef0123456789abcdef";
    return c == 8 || count == 0 ? "" : table[c % count].id;
}

/* A message: the id, and that of what its session was asked last. */
static void
add_message(struct fuzz *f, struct text *text, const char *message, unsigned id,
            const char *session)
{
    const struct known_session *known = session_known(f, session);
    char shown[16];

    (void)snprintf(shown, sizeof(shown), "%u", id);
    for (; *message; message++) {
        const char one[2] = {*message, '\0'};

        if (*message == '$')
            add(text, shown);
        else if (*message == '?')
            add(text, known ? known->asked : "0");
        else
            add(text, one);
    }
}

static void
add_body(struct text *text, unsigned flavor, const char *body)
{
    char length[64];

    if (!body) {
        add(text, "\r\n");
        return;
    }
    if (flavor == CHUNKED) {
        (void)snprintf(length, sizeof(length),
                       "Transfer-Encoding: chunked\r\n\r\n%zx\r\n", strlen(body));
        add(text, length);
        add(text, body);
        add(text, "\r\n0\r\n\r\n");
        return;
    }
    (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n\r\n",
                   flavor == MUCH_ANNOUNCED ? 99999 : strlen(body));
    add(text, length);
    add(text, body);
}

/* One request of the current client's; fields: of its own, whole lines. */
static void
request(struct fuzz *f, const char *method, const char *path, const char *version,
        const char *fields, const char *body)
{
    unsigned flavor = f->flavor;
    const char *accept = accepts[flavor] ? accepts[flavor] : ACCEPTS_BOTH;
    struct text text = {.len = 0};

    f->flavor = PLAIN;
    add(&text, method);
    add(&text, " ");
    add(&text, flavor == OTHER_PATH ? "/else" : path);
    add(&text, flavor == WITH_QUERY && !strchr(path, '?') ? "?a=b" : "");
    add(&text, flavor == OLD_HTTP || flavor == OLD_KEEPS ? " HTTP/1.0" : " HTTP/1.1");
    add(&text, flavor == OTHER_HOST ? "\r\nHost: else.example\r\n"
                                    : "\r\nHost: localhost:8080\r\n");
    add(&text, accept);
    if (body)
        add_field(&text, "Content-Type",
                  flavor == WRONG_TYPE ? "text/plain" : "application/json");
    add_field(&text, "Authorization", credentials[f->credential % COUNT(credentials)]);
    if (flavor != NO_VERSION)
        add_field(&text, "MCP-Protocol-Version",
                  flavor == WRONG_VERSION ? "2031-01-01" : version);
    add(&text, extras[flavor] ? extras[flavor] : "");
    for (int i = 0; flavor == MUCH_SAID && i < 80; i++)
        add(&text, "X-More: 0123456789abcdef\r\n");
    add(&text, fields);
    add_body(&text, flavor, body);
    client_feed(client_get(f), text.data, text.len);
}

static void
post_modern(struct fuzz *f, unsigned a, unsigned b)
{
    const struct message *message = &of_modern[a % COUNT(of_modern)];
    struct text body = {.len = 0}, fields = {.len = 0};

    fields.data[0] = '\0';
    add_field(&fields, "Mcp-Method", message->method);
    add_field(&fields, "Mcp-Name", message->name);
    add_message(f, &body, message->text, b, "");
    request(f, "POST", "/mcp", "2026-07-28", fields.data, body.data);
}

static void
post_legacy(struct fuzz *f, unsigned a, unsigned b, unsigned c)
{
    const char *text = of_legacy[a % COUNT(of_legacy)].text;
    const char *session = session_id(f->sessions, f->session_count, c);
    struct text body = {.len = 0}, fields = {.len = 0};

    fields.data[0] = '\0';
    add_message(f, &body, text, b, session);
    if (strstr(text, "\"initialize\"") && c == 0)
        session = "";
    add_field(&fields, "Mcp-Session-Id", session);
    request(f, "POST", "/mcp", *session ? "2025-11-25" : NULL, fields.data, body.data);
}

static void
post_2024(struct fuzz *f, unsigned a, unsigned b, unsigned c)
{
    struct text body = {.len = 0};
    char path[128];

    (void)snprintf(path, sizeof(path), "/message?sessionId=%s",
                   session_id(f->old, f->old_count, c));
    add_message(f, &body, of_legacy[a % COUNT(of_legacy)].text, b, "");
    request(f, "POST", path, NULL, "", body.data);
}

/* Which event a client comes back for: the last it heard, or others. */
static void
add_event(struct fuzz *f, struct text *fields, unsigned b, const char *session)
{
    const struct known_session *known = session_known(f, session);
    uint64_t stream = known ? known->stream : 1, number = known ? known->number : 0;
    char event[64];

    if (b == 0)
        return;
    if (b == 2)
        number -= number > 0;
    else if (b == 3)
        number = 0;
    else if (b == 4)
        number++;
    else if (b >= 6) {
        stream = b - 5;
        number = 1;
    }
    (void)snprintf(event, sizeof(event), "%llu-%llu", (unsigned long long)stream,
                   (unsigned long long)number);
    add_field(fields, "Last-Event-ID", b == 5 ? "none" : event);
}

static void
of_session(struct fuzz *f, const char *method, unsigned c, unsigned b)
{
    const char *session = session_id(f->sessions, f->session_count, c);
    struct text fields = {.len = 0};

    fields.data[0] = '\0';
    add_field(&fields, "Mcp-Session-Id", session);
    add_event(f, &fields, b, session);
    request(f, method, "/mcp", "2025-11-25", fields.data, NULL);
}

static void
send_raw(struct fuzz *f)
{
    const uint8_t *end = memchr(f->at, '~', (size_t)(f->stop - f->at));
    struct client *c = client_get(f);
    struct text text = {.len = 0};
    const char *id;

    if (!end)
        end = f->stop;
    for (; f->at < end && text.len < REQUEST_MAX - MCPI_SESSION_ID; f->at++) {
        if (*f->at != '$' || f->at + 1 == end) {
            text.data[text.len++] = (char)*f->at;
            continue;
        }
        f->at++;
        id = session_id(f->sessions, f->session_count, *f->at - (unsigned)'0');
        memcpy(text.data + text.len, id, strlen(id));
        text.len += strlen(id);
    }
    f->at = end < f->stop ? end + 1 : end;
    client_feed(c, text.data, text.len);
}

#endif
