/*
 * http_head.h - the memory of a request while it arrives, one for those of a loop to spare
 *
 * Target, names and values stand one behind the other in one text, each with a terminator.
 * An idle connection has none; a request that comes in one piece takes the spare one and
 * gives it back, so it allocates nothing.
 */
#ifndef MCPI_LINK_HTTP_HEAD_H
#define MCPI_LINK_HTTP_HEAD_H

#include <string.h>

#include "link/http.h"

/* Most headers of a request: ten times what clients send. 431. */
#define MCPI_HTTP_FIELDS_MAX 100

struct mcpi_http_head {
    struct mcpi_http_in in;
    struct mcpi_buf body;
    const char *piece; /* a part of the body that still stands in the caller's data */
    size_t piece_len;
    struct mcpi_http_known known; /* once the head has ended */
    char *text;                   /* target, names, values */
    size_t text_len, text_cap;
    /* in.field_count of them, and the name of the next one or NULL */
    mcp_http_field fields[MCPI_HTTP_FIELDS_MAX];
};

/* What the parsers of one loop share: limits, and the spare head. */
struct mcpi_http_parsers {
    const mcp_allocator *mem;
    size_t head_bytes, body_bytes;
    struct mcpi_http_head *spare;          /* or NULL */
    struct mcpi_http_parser *spare_parser; /* likewise */
};
void mcpi_http_parsers_init(struct mcpi_http_parsers *parsers, const mcp_allocator *mem,
                            size_t head_bytes, size_t body_bytes);
void mcpi_http_parsers_done(struct mcpi_http_parsers *parsers);

/* An empty one; NULL: no memory. Give it back: kept as the spare one if there is none and
 * it did not grow much. NULL ok. */
struct mcpi_http_head *mcpi_http_head_take(struct mcpi_http_parsers *parsers);
void mcpi_http_head_give(struct mcpi_http_parsers *parsers,
                         struct mcpi_http_head *head);

/* Make room in its text, which may move; fields move with it. MCP_E_NOMEM. */
int mcpi_http_head_grow(const struct mcpi_http_parsers *parsers,
                        struct mcpi_http_head *head, size_t len);

/* Append to its text, likewise. */
static inline int
mcpi_http_head_append(const struct mcpi_http_parsers *parsers,
                      struct mcpi_http_head *head, const char *data, size_t len)
{
    if (head->text_cap - head->text_len < len &&
        mcpi_http_head_grow(parsers, head, len) < 0)
        return MCP_E_NOMEM;
    memcpy(head->text + head->text_len, data, len);
    head->text_len += len;
    return 0;
}

#endif
