/*
 * line.c - newline framing: bytes in, lines out
 *
 * Cost is linear in the bytes fed. A byte is looked at once (scanned remembers how
 * far). What is left of the buffer moves to its front only when at least as many bytes
 * before it have been handed out, so each byte handed out pays for one moved. Otherwise
 * the buffer grows; it holds at most twice the longest line, and the room to read into.
 */
#include "wire/line.h"

#include <assert.h>
#include <string.h>

#define LINE_ROOM 8192  /* to read into at once, at least; most messages are shorter */
#define LINE_KEEP 65536 /* an idle buffer above this is given back */

/* Make the unread bytes the buffer's first, if that is cheap. */
static void
line_compact(struct mcpi_line *line)
{
    size_t left = line->buf.len - line->start;

    if (left > line->start)
        return;
    mcpi_buf_consume(&line->buf, line->start);
    line->scanned -= line->start;
    line->start = 0;
    if (left == 0 && line->buf.cap > LINE_KEEP) {
        const mcp_allocator *mem = line->buf.mem;
        size_t max = line->buf.max;

        mcpi_buf_done(&line->buf);
        mcpi_buf_init(&line->buf, mem, max);
    }
}

/* The next line begins at `start`; nothing from there on has been scanned. */
static void
line_restart(struct mcpi_line *line, size_t start)
{
    line->start = start;
    line->scanned = start;
}

void
mcpi_line_init(struct mcpi_line *line, const mcp_allocator *mem, size_t max)
{
    size_t most = SIZE_MAX;

    if (max < (SIZE_MAX - LINE_KEEP) / 2)
        most = 2 * max + LINE_KEEP;
    *line = (struct mcpi_line){.max = max};
    mcpi_buf_init(&line->buf, mem, most);
}

void
mcpi_line_done(struct mcpi_line *line)
{
    mcpi_buf_done(&line->buf);
}

char *
mcpi_line_space(struct mcpi_line *line, size_t *ret_room)
{
    size_t room;
    char *space;

    line_compact(line);
    line->buf.status = 0; /* nothing was lost when memory was short: try again */
    room = line->buf.cap - line->buf.len;
    if (room < LINE_ROOM)
        room = LINE_ROOM;
    space = mcpi_buf_reserve(&line->buf, room);
    if (space)
        *ret_room = room;
    return space;
}

void
mcpi_line_filled(struct mcpi_line *line, size_t len)
{
    mcpi_buf_commit(&line->buf, len);
}

int
mcpi_line_next(struct mcpi_line *line, const char **ret_text, size_t *ret_len)
{
    const char *data = line->buf.data;
    const char *newline;
    size_t len;
    bool skipped;

    while (line->scanned < line->buf.len) {
        newline = memchr(data + line->scanned, '\n', line->buf.len - line->scanned);
        if (!newline) {
            line->scanned = line->buf.len;
            break;
        }
        data += line->start;
        len = (size_t)(newline - data);
        skipped = line->skipping;
        line->skipping = false;
        line_restart(line, line->start + len + 1);
        if (len > 0 && data[len - 1] == '\r')
            len--;
        if (!skipped && len > 0) {
            *ret_text = data;
            *ret_len = len;
            return len > line->max ? MCP_E_LIMIT : 1;
        }
        data = line->buf.data;
    }
    len = line->buf.len - line->start;
    if (line->skipping) {
        line_restart(line, line->buf.len);
    } else if (len > line->max && len - line->max > 1) { /* one more may be the CR */
        line->skipping = true;
        *ret_text = line->buf.data + line->start;
        *ret_len = len;
        line_restart(line, line->buf.len);
        return MCP_E_LIMIT;
    }
    return 0;
}

bool
mcpi_line_partial(const struct mcpi_line *line)
{
    return line->start < line->buf.len;
}
