/*
 * sse.c - server-sent events: writing them, and reading them from pieces
 *
 * A line that stands in one piece is read where it is; only one that is cut in two is
 * copied together. The next CR and the next LF are looked for once each and remembered,
 * so that the cost is linear whichever of the two a peer leaves out.
 */
#include "wire/sse.h"

#include <string.h>

#define KEEP 65536 /* an idle buffer above this is given back */
#define BOM "\xEF\xBB\xBF"

/* ---- writing ------------------------------------------------------------ */

static void
field_write(struct mcpi_buf *into, const char *name, const char *value)
{
    if (value[strcspn(value, "\r\n")])
        return; /* would be a field of its own */
    mcpi_buf_text(into, name);
    mcpi_buf_text(into, value);
    mcpi_buf_char(into, '\n');
}

static bool
has_breaks(const char *data, size_t len)
{
    return len > 0 && (memchr(data, '\n', len) || memchr(data, '\r', len));
}

static void
line_write(struct mcpi_buf *into, const char *line, size_t len)
{
    MCPI_BUF_LITERAL(into, "data: ");
    mcpi_buf_append(into, line, len);
    mcpi_buf_char(into, '\n');
}

/* One field for each line: CR and CRLF arrive as LF, there is no other way. */
static void
lines_write(struct mcpi_buf *into, const char *data, size_t len)
{
    size_t from = 0;

    for (size_t i = 0; i < len; i++) {
        if (data[i] != '\r' && data[i] != '\n')
            continue;
        line_write(into, data + from, i - from);
        if (data[i] == '\r' && i + 1 < len && data[i + 1] == '\n')
            i++;
        from = i + 1;
    }
    line_write(into, data + from, len - from);
    mcpi_buf_char(into, '\n');
}

/* Nearly all data is JSON, which has no line breaks. */
static void
plain_write(struct mcpi_buf *into, const char *data, size_t len)
{
    static const char before[] = "data: ", after[] = "\n\n";
    const size_t head = sizeof(before) - 1, tail = sizeof(after) - 1;
    char *at;

    if (len > SIZE_MAX - head - tail) {
        into->status = MCP_E_LIMIT;
        return;
    }
    at = mcpi_buf_reserve(into, head + len + tail);
    if (!at)
        return;
    memcpy(at, before, head);
    if (len > 0)
        memcpy(at + head, data, len);
    memcpy(at + head + len, after, tail);
    mcpi_buf_commit(into, head + len + tail);
}

void
mcpi_sse_write(struct mcpi_buf *into, const struct mcpi_sse_event *event)
{
    size_t before = into->len;

    if (event->type && *event->type)
        field_write(into, "event: ", event->type);
    if (event->id)
        field_write(into, "id: ", event->id);
    if (event->retry_ms >= 0) {
        MCPI_BUF_LITERAL(into, "retry: ");
        mcpi_buf_int(into, event->retry_ms);
        mcpi_buf_char(into, '\n');
    }
    if (has_breaks(event->data, event->data_len))
        lines_write(into, event->data, event->data_len);
    else
        plain_write(into, event->data, event->data_len);
    if (into->status < 0)
        mcpi_buf_truncate(into, before);
}

void
mcpi_sse_write_ping(struct mcpi_buf *into)
{
    MCPI_BUF_LITERAL(into, ":\n\n");
}

/* ---- reading: fields ---------------------------------------------------- */

/* Only digits; more than a time can be is the longest one. */
static void
retry_take(struct mcpi_sse_reader *reader, const char *value, size_t len)
{
    int64_t number = 0;

    for (size_t i = 0; i < len; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        if (number > (INT64_MAX - 9) / 10)
            number = INT64_MAX;
        else
            number = number * 10 + (value[i] - '0');
    }
    if (len > 0)
        reader->retry_ms = number;
}

static void
text_take(struct mcpi_buf *into, const char *value, size_t len)
{
    mcpi_buf_truncate(into, 0);
    mcpi_buf_append(into, value, len);
    mcpi_buf_char(into, '\0');
}

/* A part of a long id would be another id. Without one, the stream is not resumed from an
 * earlier event either, which would repeat what came since. */
static void
id_take(struct mcpi_sse_reader *reader, const char *value, size_t len)
{
    reader->has_id = true;
    text_take(&reader->id, value, len <= MCPI_SSE_NAME_MAX ? len : 0);
}

/* A NUL in a type would make it another one for us: "message" of "message\0x". */
static void
type_take(struct mcpi_sse_reader *reader, const char *value, size_t len)
{
    struct mcpi_buf *type = &reader->type;

    text_take(type, value, len <= MCPI_SSE_NAME_MAX ? len : MCPI_SSE_NAME_MAX);
    for (size_t i = 0; i + 1 < type->len; i++)
        if (type->data[i] == '\0')
            type->data[i] = '?';
}

static void
data_take(struct mcpi_sse_reader *reader, const char *value, size_t len)
{
    reader->has_data = true;
    mcpi_buf_append(&reader->data, value, len);
    mcpi_buf_char(&reader->data, '\n');
}

static bool
is_named(const char *line, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(line, name, len) == 0;
}

static int
field_take(struct mcpi_sse_reader *reader, const char *line, size_t len)
{
    const char *colon = memchr(line, ':', len);
    size_t name = colon ? (size_t)(colon - line) : len;
    size_t at = colon ? name + 1 : len; /* of the value */

    at += at < len && line[at] == ' ';
    if (is_named(line, name, "data")) {
        data_take(reader, line + at, len - at);
    } else if (is_named(line, name, "event")) {
        type_take(reader, line + at, len - at);
    } else if (is_named(line, name, "retry")) {
        retry_take(reader, line + at, len - at);
    } else if (is_named(line, name, "id") && !memchr(line + at, '\0', len - at)) {
        id_take(reader, line + at, len - at);
    }
    if (reader->data.status < 0)
        return reader->data.status;
    return reader->type.status < 0 ? reader->type.status : reader->id.status;
}

/* ---- reading: events ---------------------------------------------------- */

static void
buf_empty(struct mcpi_buf *buf)
{
    mcpi_buf_truncate(buf, 0);
    if (buf->cap > KEEP) {
        mcpi_buf_done(buf);
        mcpi_buf_init(buf, buf->mem, buf->max);
    }
}

static void
event_forget(struct mcpi_sse_reader *reader)
{
    buf_empty(&reader->data);
    mcpi_buf_truncate(&reader->type, 0);
    reader->retry_ms = -1;
    reader->has_data = false;
    reader->has_id = false;
}

static int
event_tell(struct mcpi_sse_reader *reader, mcpi_sse_fn *each, void *user)
{
    struct mcpi_sse_event event = {
        .type = reader->type.len > 0 ? reader->type.data : "",
        .id = reader->id.len > 0 ? reader->id.data : "",
        .has_id = reader->has_id,
        .retry_ms = reader->retry_ms,
        .data = "",
    };
    int r = 0;

    if (reader->has_data) { /* the last LF is none of its own */
        event.data_len = reader->data.len - 1;
        reader->data.data[event.data_len] = '\0';
        event.data = reader->data.data;
    }
    if (reader->has_data || reader->has_id || reader->retry_ms >= 0)
        r = each(user, &event);
    event_forget(reader);
    return r < 0 ? r : 0;
}

/* ---- reading: lines ----------------------------------------------------- */

static int
line_take(struct mcpi_sse_reader *reader, const char *line, size_t len,
          mcpi_sse_fn *each, void *user)
{
    const size_t bom = sizeof(BOM) - 1;

    if (len > reader->line_max)
        return MCP_E_LIMIT;
    if (!reader->begun && len >= bom && memcmp(line, BOM, bom) == 0) {
        line += bom;
        len -= bom;
    }
    reader->begun = true;
    if (len == 0)
        return event_tell(reader, each, user);
    return line[0] == ':' ? 0 : field_take(reader, line, len);
}

/* The end of a line whose beginning may have come before. */
static int
line_end(struct mcpi_sse_reader *reader, const char *text, size_t len,
         mcpi_sse_fn *each, void *user)
{
    struct mcpi_buf *line = &reader->line;
    int r;

    if (line->len == 0)
        return line_take(reader, text, len, each, user);
    mcpi_buf_append(line, text, len);
    if (line->status < 0)
        return line->status;
    r = line_take(reader, line->data, line->len, each, user);
    buf_empty(line);
    return r;
}

/* The first c from `at` on, or the end; `known` is the one that was found last time. */
static const char *
break_find(const char *known, const char *at, const char *end, char c)
{
    const char *found;

    if (known && known >= at)
        return known;
    found = memchr(at, c, (size_t)(end - at));
    return found ? found : end;
}

void
mcpi_sse_reader_init(struct mcpi_sse_reader *reader, const mcp_allocator *mem,
                     size_t event_bytes)
{
    size_t most = SIZE_MAX - MCPI_SSE_FIELD_ROOM;

    if (event_bytes < most)
        most = event_bytes;
    *reader = (struct mcpi_sse_reader){.retry_ms = -1,
                                       .line_max = most + MCPI_SSE_FIELD_ROOM};
    mcpi_buf_init(&reader->line, mem, reader->line_max);
    mcpi_buf_init(&reader->data, mem, most + 1); /* the last LF */
    mcpi_buf_init(&reader->type, mem, MCPI_SSE_NAME_MAX + 1);
    mcpi_buf_init(&reader->id, mem, MCPI_SSE_NAME_MAX + 1);
}

void
mcpi_sse_reader_done(struct mcpi_sse_reader *reader)
{
    mcpi_buf_done(&reader->line);
    mcpi_buf_done(&reader->data);
    mcpi_buf_done(&reader->type);
    mcpi_buf_done(&reader->id);
}

int
mcpi_sse_reader_feed(struct mcpi_sse_reader *reader, const char *text, size_t len,
                     mcpi_sse_fn *each, void *user)
{
    const char *at = text, *end = text + len, *cr = NULL, *lf = NULL, *stop;
    int r;

    if (len == 0)
        return 0;
    at += reader->after_cr && *at == '\n';
    reader->after_cr = false;
    while (at < end) {
        cr = break_find(cr, at, end, '\r');
        lf = break_find(lf, at, end, '\n');
        stop = cr < lf ? cr : lf;
        if (stop == end) {
            mcpi_buf_append(&reader->line, at, (size_t)(end - at));
            return reader->line.status;
        }
        r = line_end(reader, at, (size_t)(stop - at), each, user);
        if (r < 0)
            return r;
        at = stop + 1;
        if (stop == cr && at < end && *at == '\n')
            at++;
        else
            reader->after_cr = stop == cr && at == end;
    }
    return 0;
}
