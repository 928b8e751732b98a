/* doctor_http.c - one request over HTTP/1.1, as it is written */
#include "cli/doctor_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/error.h"

/* ---- URLs ----------------------------------------------------------------------- */

static bool
copy(char *into, size_t room, const char *text, size_t length)
{
    if (length >= room)
        return false;
    memcpy(into, text, length);
    into[length] = '\0';
    return true;
}

/* host:port, [v6]:port, or only the host. */
static bool
authority_read(struct cli_url *url)
{
    const char *text = url->authority, *end = text + strlen(text), *colon;

    if (*text == '[') {
        const char *bracket = strchr(text, ']');

        if (!bracket ||
            !copy(url->host, sizeof(url->host), text + 1, (size_t)(bracket - text - 1)))
            return false;
        colon = bracket[1] == ':' ? bracket + 1 : NULL;
    } else {
        colon = strrchr(text, ':');
        if (!copy(url->host, sizeof(url->host), text,
                  (size_t)((colon ? colon : end) - text)))
            return false;
    }
    if (!colon)
        return copy(url->port, sizeof(url->port), url->is_tls ? "443" : "80",
                    url->is_tls ? 3 : 2);
    return colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
           copy(url->port, sizeof(url->port), colon + 1, strlen(colon + 1));
}

bool
cli_url_read(const char *text, struct cli_url *ret_url)
{
    struct cli_url url = {0};
    size_t length, path_length;
    const char *path;

    if (strncasecmp(text, "http://", 7) == 0)
        text += 7;
    else if (strncasecmp(text, "https://", 8) == 0)
        text += 8, url.is_tls = true;
    else
        return false;
    length = strcspn(text, "/?#");
    path = text + length;
    path_length = strcspn(path, "#");
    /* blanks and controls would become lines of the head */
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return false;
    if (length == 0 || memchr(text, '@', length) ||
        !copy(url.authority, sizeof(url.authority), text, length))
        return false;
    if (*path == '/') {
        if (!copy(url.path, sizeof(url.path), path, path_length))
            return false;
    } else if (path_length + 2 > sizeof(url.path)) {
        return false;
    } else {
        url.path[0] = '/';
        (void)copy(url.path + 1, sizeof(url.path) - 1, path, path_length);
    }
    if (!authority_read(&url) || !url.host[0])
        return false;
    *ret_url = url;
    return true;
}

/* ---- the answer ----------------------------------------------------------------- */

static unsigned
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

bool
cli_http_unchunk(const char *data, size_t length, struct cli_text *into)
{
    const char *end = data + length, *line_end;
    size_t size;

    while (data < end) {
        line_end = memchr(data, '\n', (size_t)(end - data));
        if (!line_end)
            return false;
        size = 0;
        for (; hex_digit(*data) < 16 && size <= CLI_HTTP_BYTES; data++)
            size = size * 16 + hex_digit(*data);
        if (size == 0)
            return true;
        data = line_end + 1;
        if (size > (size_t)(end - data))
            size = (size_t)(end - data);
        cli_text_add(into, data, size);
        data += size;
        for (int i = 0; i < 2 && data < end; i++) /* \r\n behind each */
            data++;
    }
    return false;
}

bool
cli_http_header(const struct cli_http_answer *answer, const char *name, char *into,
                size_t room)
{
    const char *line = strchr(cli_text_string(&answer->head), '\n');
    size_t length = strlen(name), value;

    for (; line; line = strchr(line, '\n')) {
        line++;
        if (strncasecmp(line, name, length) != 0 || line[length] != ':')
            continue;
        line += length + 1;
        line += strspn(line, " \t");
        value = strcspn(line, "\r\n");
        return copy(into, room, line, value);
    }
    return false;
}

static mcp_doc *
answer_parse(const char *text, size_t length)
{
    mcp_doc *doc;

    if (mcp_doc_parse(text, length, NULL, &doc, NULL) < 0)
        return NULL;
    if (mcp_json_get(mcp_doc_root(doc), "result") ||
        mcp_json_get(mcp_doc_root(doc), "error"))
        return doc;
    mcp_doc_free(doc);
    return NULL;
}

/* An event whose data is an answer; each has its data in one line, or several. */
static mcp_doc *
event_find(const char *line)
{
    struct cli_text data = {0};
    mcp_doc *doc = NULL;
    size_t length;

    for (; *line && !doc; line += length + (line[length] != '\0')) {
        length = strcspn(line, "\n");
        if (strncmp(line, "data:", 5) == 0) {
            cli_text_add(&data, line + 5, length - 5);
        } else if (length <= 1 && data.length > 0) {
            doc = answer_parse(data.data, data.length);
            data.length = 0;
        }
    }
    cli_text_done(&data);
    return doc;
}

static bool
is_events(const struct cli_http_answer *answer)
{
    char type[128];

    return cli_http_header(answer, "Content-Type", type, sizeof(type)) &&
           strncasecmp(type, "text/event-stream", 17) == 0;
}

mcp_doc *
cli_http_message(const struct cli_http_answer *answer)
{
    if (is_events(answer))
        return event_find(cli_text_string(&answer->body));
    return answer_parse(cli_text_string(&answer->body), answer->body.length);
}

void
cli_http_answer_done(struct cli_http_answer *answer)
{
    cli_text_done(&answer->head);
    cli_text_done(&answer->body);
}

/* Takes the head and the body from what came. True: that is all of it. */
static bool
answer_take(const struct cli_text *came, bool is_end, bool head_only,
            struct cli_http_answer *answer)
{
    const char *text = cli_text_string(came);
    const char *blank = strstr(text, "\r\n\r\n");
    const char *body = blank ? blank + 4 : NULL;
    size_t length = body ? came->length - (size_t)(body - text) : 0;
    char value[128];
    mcp_doc *doc;
    bool is_whole = is_end;

    if (!body)
        return is_end;
    cli_http_answer_done(answer); /* what was taken before is in it again */
    cli_text_add(&answer->head, text, (size_t)(body - text));
    answer->status = strncmp(text, "HTTP/1.", 7) == 0 && strlen(text) > 9
                         ? (int)strtol(text + 9, NULL, 10)
                         : 0;
    if (head_only || answer->status == 202 || answer->status == 204)
        return true;
    if (cli_http_header(answer, "Transfer-Encoding", value, sizeof(value)) &&
        strcasestr(value, "chunked")) {
        is_whole |= cli_http_unchunk(body, length, &answer->body);
    } else {
        cli_text_add(&answer->body, body, length);
        if (cli_http_header(answer, "Content-Length", value, sizeof(value)))
            is_whole |= length >= strtoul(value, NULL, 10);
    }
    if (is_whole || !is_events(answer))
        return is_whole;
    doc = cli_http_message(answer);
    mcp_doc_free(doc);
    return doc != NULL;
}

static int
read_answer(struct cli_wire *wire, bool head_only, struct cli_http_answer *answer,
            mcp_error *err)
{
    struct cli_text came = {0};
    char bytes[16384];
    bool is_whole = false;
    size_t n = 0;
    int r = 0;

    while (r == 0 && !is_whole) {
        r = cli_wire_read(wire, bytes, sizeof(bytes), &n, err);
        if (r < 0)
            break;
        cli_text_add(&came, bytes, n);
        is_whole = answer_take(&came, n == 0, head_only, answer);
        if (came.length > CLI_HTTP_BYTES || came.failed)
            r = cli_error(err, MCP_E_LIMIT, "its answer is too long");
    }
    if (r == 0 && came.length == 0)
        r = cli_error(err, MCP_E_CLOSED, "it closed the connection without an answer");
    else if (r == 0 && answer->status == 0)
        r = cli_error(err, MCP_E_PROTO, "what it says is no HTTP");
    cli_text_done(&came);
    return r;
}

static void
write_question(const struct cli_url *url, const struct cli_http_question *question,
               struct cli_text *into)
{
    cli_text_printf(into, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n",
                    question->method, url->path,
                    question->host ? question->host : url->authority);
    if (question->headers)
        cli_text_puts(into, question->headers);
    if (question->body)
        cli_text_printf(into, "Content-Length: %zu\r\n", strlen(question->body));
    cli_text_puts(into, "\r\n");
    if (question->body)
        cli_text_puts(into, question->body);
}

int
cli_http_ask(const struct cli_url *url, const struct cli_http_question *question,
             const struct cli_way *way, struct cli_http_answer *ret_answer,
             mcp_error *err)
{
    char origin[sizeof("https://") + sizeof(url->authority)];
    struct cli_text text = {0};
    struct cli_wire wire;
    int r;

    memset(ret_answer, 0, sizeof(*ret_answer));
    write_question(url, question, &text);
    (void)snprintf(origin, sizeof(origin), "%s://%s", url->is_tls ? "https" : "http",
                   url->authority);
    r = text.failed ? cli_error_of(err, MCP_E_NOMEM)
                    : cli_wire_open(&wire, origin, way, err);
    if (r == 0) {
        r = cli_wire_send(&wire, text.data, text.length, err);
        if (r == 0)
            r = read_answer(&wire, question->head_only, ret_answer, err);
        cli_wire_close(&wire);
    }
    cli_text_done(&text);
    return r;
}
