/*
 * buf.h - a growing byte buffer with a maximum and a sticky failure
 *
 * Append everything, look at the status once. A failed buffer keeps what it had before
 * the append that failed, ignores further appends, and is still to be freed with done.
 */
#ifndef MCPI_BASE_BUF_H
#define MCPI_BASE_BUF_H

#include <mcp/base.h>
#include <string.h>

struct mcpi_buf {
    const mcp_allocator *mem;
    char *data; /* NULL until the first byte */
    uint32_t len;
    uint32_t cap;
    uint32_t max; /* no buffer without a maximum */
    int status;   /* 0, MCP_E_NOMEM or MCP_E_LIMIT; sticky */
};

/* A maximum above 4 GiB counts as that: no message is so long. */
static inline uint32_t
mcpi_buf_most(size_t max)
{
    return max < UINT32_MAX ? (uint32_t)max : UINT32_MAX;
}

void mcpi_buf_init(struct mcpi_buf *buf, const mcp_allocator *mem, size_t max);
void mcpi_buf_done(struct mcpi_buf *buf);  /* frees; usable again after init only */
void mcpi_buf_clear(struct mcpi_buf *buf); /* empty, failure forgotten, memory kept */

/* Move the content out: *into is initialised with it, buf is empty. */
void mcpi_buf_move(struct mcpi_buf *into, struct mcpi_buf *buf);

/* For the one below: there is no room for len more bytes. False: the buffer has
 * failed. */
bool mcpi_buf_grow(struct mcpi_buf *buf, size_t len);

/* Make room for len more bytes and return where they go; NULL and a failed buffer if
 * that cannot be. Write there, then commit what was written. */
static inline char *
mcpi_buf_reserve(struct mcpi_buf *buf, size_t len)
{
    if (buf->status < 0)
        return NULL;
    if ((len > buf->cap - buf->len || !buf->data) && !mcpi_buf_grow(buf, len))
        return NULL;
    return buf->data + buf->len;
}
void mcpi_buf_commit(struct mcpi_buf *buf, size_t len);

static inline void
mcpi_buf_append(struct mcpi_buf *buf, const void *data, size_t len)
{
    char *at = len > 0 ? mcpi_buf_reserve(buf, len) : NULL;

    if (!at)
        return;
    memcpy(at, data, len);
    buf->len += (uint32_t)len;
}
static inline void
mcpi_buf_text(struct mcpi_buf *buf, const char *text) /* without its terminator */
{
    mcpi_buf_append(buf, text, strlen(text));
}
static inline void
mcpi_buf_char(struct mcpi_buf *buf, char c)
{
    mcpi_buf_append(buf, &c, 1);
}
void mcpi_buf_int(struct mcpi_buf *buf, int64_t number); /* shortest decimal */
void mcpi_buf_uint(struct mcpi_buf *buf, uint64_t number);

/* Drop bytes from the front (consume) or cut to a length; a failure stays. */
void mcpi_buf_consume(struct mcpi_buf *buf, size_t len);
void mcpi_buf_truncate(struct mcpi_buf *buf, size_t len);

/* Undo: cut to a length the buffer had, and forget what failed since. */
void mcpi_buf_rewind(struct mcpi_buf *buf, size_t len);

/* A constant string, without strlen at run time. */
#define MCPI_BUF_LITERAL(buf, literal) \
    mcpi_buf_append(buf, literal, sizeof(literal) - 1)

#endif
