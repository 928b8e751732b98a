/* support/issuer_http.c - an authorization server for tests: connections and requests */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/issuer_parts.h"

#define PIECE 16384
#define HEAD_MAX ((size_t)64 * 1024)

/* ---- parameters ------------------------------------------------------------------- */

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* On its own, and not with what is tested: it is the referee. */
void
form_decode(char *text)
{
    char *to = text;

    for (const char *from = text; *from; from++) {
        if (*from == '%' && hex_value(from[1]) >= 0 && hex_value(from[2]) >= 0) {
            *to++ = (char)(hex_value(from[1]) * 16 + hex_value(from[2]));
            from += 2;
        } else {
            *to++ = *from == '+' ? ' ' : *from;
        }
    }
    *to = '\0';
}

static struct pair **
pairs_read(struct pair **end, const char *form)
{
    struct pair *pair;
    char *equals;

    for (size_t len; *form; form += len + (form[len] == '&')) {
        len = strcspn(form, "&");
        pair = calloc(1, sizeof(*pair));
        issuer_must(pair != NULL, "there is memory");
        pair->name = strndup(form, len);
        issuer_must(pair->name != NULL, "there is memory");
        equals = strchr(pair->name, '=');
        pair->value = equals ? equals + 1 : pair->name + strlen(pair->name);
        if (equals)
            *equals = '\0';
        form_decode(pair->value);
        form_decode(pair->name);
        *end = pair;
        end = &pair->next;
    }
    return end;
}

const char *
record_param(const struct record *record, const char *name)
{
    for (const struct pair *at = record->params; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at->value;
    return NULL;
}

/* ---- requests --------------------------------------------------------------------- */

static bool
head_find(const char *head, const char *name, char *into, size_t size)
{
    size_t len = strlen(name);
    const char *line, *end;

    for (line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        line += len + 1 + strspn(line + len + 1, " ");
        end = strstr(line, "\r\n");
        (void)snprintf(into, size, "%.*s", (int)(end - line), line);
        return true;
    }
    return false;
}

const char *
record_header(const struct record *record, const char *name)
{
    static _Thread_local char value[HEAD_MAX];

    return head_find(record->head, name, value, sizeof(value)) ? value : NULL;
}

/* How long the request is that the bytes begin with; 0: it is not whole yet. */
static size_t
request_length(const struct mcpi_buf *in, size_t *ret_head)
{
    const char *end = in->len ? memmem(in->data, in->len, "\r\n\r\n", 4) : NULL;
    char value[32], head[HEAD_MAX];
    size_t length;

    if (!end)
        return 0;
    *ret_head = (size_t)(end - in->data) + 4;
    (void)snprintf(head, sizeof(head), "%.*s", (int)*ret_head, in->data);
    length = head_find(head, "Content-Length", value, sizeof(value))
                 ? strtoul(value, NULL, 10)
                 : 0;
    return in->len >= *ret_head + length ? *ret_head + length : 0;
}

/* "GET /path?query HTTP/1.1". */
static void
record_line(struct record *record)
{
    char *target, *end;

    record->method = strndup(record->head, strcspn(record->head, "\r"));
    issuer_must(record->method != NULL, "there is memory");
    target = record->method + strcspn(record->method, " ");
    if (*target)
        *target++ = '\0';
    end = target + strcspn(target, " ");
    *end = '\0';
    record->path = target;
    record->query = target + strcspn(target, "?");
    if (*record->query)
        *record->query++ = '\0';
}

static struct record *
record_read(struct mcpi_buf *in)
{
    size_t head = 0, length = request_length(in, &head);
    struct record *record;
    struct pair **end;
    const char *type;

    if (length == 0)
        return NULL;
    record = calloc(1, sizeof(*record));
    issuer_must(record != NULL, "there is memory");
    record->head = strndup(in->data, head);
    record->body = strndup(in->data + head, length - head);
    issuer_must(record->head && record->body, "there is memory");
    mcpi_buf_consume(in, length);
    record_line(record);
    end = pairs_read(&record->params, record->query);
    type = record_header(record, "Content-Type");
    if (type && strncmp(type, "application/x-www-form-urlencoded", 33) == 0)
        (void)pairs_read(end, record->body);
    return record;
}

void
records_free(struct record *record)
{
    struct record *next;
    struct pair *pair;

    for (; record; record = next) {
        next = record->next;
        while ((pair = record->params) != NULL) {
            record->params = pair->next;
            free(pair->name);
            free(pair);
        }
        free(record->method);
        free(record->head);
        free(record->body);
        free(record);
    }
}

/* ---- answers ---------------------------------------------------------------------- */

void
reply_json(struct reply *reply, const char *status, mcp_builder *take_builder)
{
    const char *text = mcp_builder_text(take_builder, NULL);

    issuer_must(text != NULL, "the answer can be built");
    reply->status = status;
    reply->type = "application/json";
    mcpi_buf_text(&reply->body, text);
    mcp_builder_free(take_builder);
}

void
reply_error(struct reply *reply, const char *status, const char *error, const char *why)
{
    mcp_builder *b = mcp_builder_new(NULL);

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "error", error);
    mcp_builder_string(b, "error_description", why);
    mcp_builder_end(b);
    reply_json(reply, status, b);
}

/* The test's own, if there is one. */
static bool
answer_say(struct issuer *issuer, const struct record *record, struct reply *reply)
{
    struct issuer_answer *answer = NULL;
    size_t at;

    for (at = issuer->answer_count; at > 0 && !answer; at--)
        if (path_is(record->path, issuer->answers[at - 1].path))
            answer = &issuer->answers[at - 1];
    if (!answer)
        return false;
    reply->status = answer->status ? answer->status : "200 OK";
    mcpi_buf_text(&reply->fields, answer->fields ? answer->fields : "");
    mcpi_buf_text(&reply->body, answer->body ? answer->body : "");
    if (!answer->fields || !strcasestr(answer->fields, "content-type:"))
        reply->type = "application/json";
    reply->endless = answer->endless;
    if (answer->times == 1) {
        issuer->answer_count--;
        memmove(answer, answer + 1, (issuer->answer_count - at) * sizeof(*answer));
    } else if (answer->times > 1) {
        answer->times--;
    }
    return true;
}

static void
reply_write(struct reply *reply, struct mcpi_buf *out)
{
    mcpi_buf_text(out, "HTTP/1.1 ");
    mcpi_buf_text(out, reply->status);
    mcpi_buf_text(out, "\r\nCache-Control: no-store\r\n");
    if (reply->type) {
        mcpi_buf_text(out, "Content-Type: ");
        mcpi_buf_text(out, reply->type);
        mcpi_buf_text(out, "\r\n");
    }
    mcpi_buf_append(out, reply->fields.data, reply->fields.len);
    if (!reply->endless) {
        mcpi_buf_text(out, "Content-Length: ");
        mcpi_buf_uint(out, reply->body.len);
        mcpi_buf_text(out, "\r\n");
    }
    mcpi_buf_text(out, "\r\n");
    mcpi_buf_append(out, reply->body.data, reply->body.len);
}

static void
record_answer(struct issuer *issuer, const struct record *record,
              struct connection *connection)
{
    struct reply reply = {.status = "200 OK"};

    text_buf(&reply.fields);
    text_buf(&reply.body);
    if (!answer_say(issuer, record, &reply))
        page_answer(issuer, record, &reply);
    reply_write(&reply, &connection->out);
    connection->endless = reply.endless;
    connection->held = issuer->held && path_is(record->path, issuer->held);
    mcpi_buf_done(&reply.fields);
    mcpi_buf_done(&reply.body);
}

/* ---- connections ------------------------------------------------------------------ */

void
connection_open(struct issuer *issuer, int fd)
{
    int on = 1;

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &issuer->connections[i];

        if (connection->fd >= 0)
            continue;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        *connection = (struct connection){.fd = fd};
        text_buf(&connection->in);
        text_buf(&connection->out);
        return;
    }
    close(fd);
}

void
connection_close(struct connection *connection)
{
    if (connection->fd < 0)
        return;
    close(connection->fd);
    mcpi_buf_done(&connection->in);
    mcpi_buf_done(&connection->out);
    connection->fd = -1;
}

short
connection_events(const struct connection *connection)
{
    if (connection->held)
        return POLLRDHUP;
    return connection->out.len > 0 ? POLLOUT | POLLRDHUP : POLLIN;
}

static void
connection_leave(struct issuer *issuer, struct connection *connection)
{
    if (connection->out.len > 0) {
        issuer->left++;
        pthread_cond_broadcast(&issuer->changed);
    }
    connection_close(connection);
}

/* False: it is closed. */
static bool
connection_receive(struct issuer *issuer, struct connection *connection)
{
    char bytes[PIECE];
    ssize_t n = recv(connection->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n <= 0) {
        connection_leave(issuer, connection);
        return false;
    }
    mcpi_buf_append(&connection->in, bytes, (size_t)n);
    issuer_must(connection->in.status == 0, "the request is not endless");
    return true;
}

static void
connection_send(struct issuer *issuer, struct connection *connection)
{
    char more[PIECE];
    struct mcpi_buf *out = &connection->out;
    ssize_t n = send(connection->fd, out->data + connection->sent,
                     out->len - connection->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n < 0) {
        connection_leave(issuer, connection);
        return;
    }
    connection->sent += (size_t)n;
    if (connection->sent < out->len)
        return;
    connection->sent = 0;
    mcpi_buf_clear(out);
    if (connection->endless) {
        memset(more, ' ',
               sizeof(more)); /* so that it is JSON to the end, if it had one */
        mcpi_buf_append(out, more, sizeof(more));
    }
}

static void
connection_serve(struct issuer *issuer, struct connection *connection)
{
    struct record *record = record_read(&connection->in);

    if (!record)
        return;
    *issuer->records_end = record;
    issuer->records_end = &record->next;
    record_answer(issuer, record, connection);
    pthread_cond_broadcast(&issuer->changed);
}

void
connection_turn(struct issuer *issuer, struct connection *connection, short events)
{
    if (connection->out.len > 0) {
        if (events & (POLLRDHUP | POLLHUP | POLLERR))
            connection_leave(issuer, connection);
        else if (!connection->held)
            connection_send(issuer, connection);
        return;
    }
    if (connection_receive(issuer, connection))
        connection_serve(issuer, connection);
}
