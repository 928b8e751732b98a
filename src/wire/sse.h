/*
 * sse.h - server-sent events: writing them, and reading them from pieces
 *
 * As the WHATWG specification of event streams has them: CR, LF and CRLF end lines, a
 * BOM at the start is passed over, lines that begin with a colon are comments, several
 * data fields are joined by LF, an id with a NUL is ignored, retry is digits only.
 */
#ifndef MCPI_WIRE_SSE_H
#define MCPI_WIRE_SSE_H

#include "base/buf.h"

/* Longest id or type that is kept: an id goes back in a header, and 8 KiB are what
 * servers take of all of them. A longer id counts as an empty one, a longer type is cut. */
#define MCPI_SSE_NAME_MAX 4096

/* How much longer than the longest data a line may be: room for "data: " and a BOM. */
#define MCPI_SSE_FIELD_ROOM 16

struct mcpi_sse_event {
    const char *type; /* NULL or "": message */
    const char *id;   /* writing: NULL: none. Reading: the last that was said, or "" */
    bool has_id;      /* reading: this event itself had one */
    int64_t retry_ms; /* < 0: none */
    const char *data; /* terminated when read */
    size_t data_len;
};

/* Append an event, or nothing if the buffer fails. data may have any lines; without any
 * it is an empty one. An id or a type with a line break in it is left out. */
void mcpi_sse_write(struct mcpi_buf *into, const struct mcpi_sse_event *event);

/* Append a comment that says nothing. */
void mcpi_sse_write_ping(struct mcpi_buf *into);

struct mcpi_sse_reader {
    struct mcpi_buf line;     /* the beginning of a line whose end has not come */
    struct mcpi_buf data;     /* of the event under way; each line with an LF */
    struct mcpi_buf type, id; /* terminated, or empty */
    size_t line_max;
    int64_t retry_ms;      /* of the event under way; < 0: none */
    bool has_data, has_id; /* likewise */
    bool after_cr;         /* an LF that comes now belongs to it */
    bool begun;            /* no BOM any more */
};

/* event_bytes: the longest data that is read; a line may be MCPI_SSE_FIELD_ROOM
 * longer. */
void mcpi_sse_reader_init(struct mcpi_sse_reader *reader, const mcp_allocator *mem,
                          size_t event_bytes);
void mcpi_sse_reader_done(struct mcpi_sse_reader *reader);

/* Read a piece. each is called for every event with data, and for one without data that
 * says an id or retry (data_len 0: it is only for who resumes). Borrowed for the call.
 * each may return negative: reading ends there with that status. MCP_E_LIMIT: longer
 * than event_bytes; MCP_E_NOMEM. After a failure it is only to be freed. */
typedef int mcpi_sse_fn(void *user, const struct mcpi_sse_event *event);
int mcpi_sse_reader_feed(struct mcpi_sse_reader *reader, const char *text, size_t len,
                         mcpi_sse_fn *each, void *user);

#endif
