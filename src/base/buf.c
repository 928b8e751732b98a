/* buf.c - a growing byte buffer with a maximum and a sticky failure */
#include "base/buf.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"

#define BUF_FIRST 64  /* a short message in one allocation, an unused buffer in none */
#define DIGITS_MAX 20 /* of a uint64_t */

void
mcpi_buf_init(struct mcpi_buf *buf, const mcp_allocator *mem, size_t max)
{
    assert(max > 0);
    *buf = (struct mcpi_buf){.mem = mcpi_mem_or_malloc(mem), .max = mcpi_buf_most(max)};
}

void
mcpi_buf_done(struct mcpi_buf *buf)
{
    mcpi_free(buf->mem, buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
}

void
mcpi_buf_clear(struct mcpi_buf *buf)
{
    buf->len = 0;
    buf->status = 0;
}

void
mcpi_buf_move(struct mcpi_buf *into, struct mcpi_buf *buf)
{
    *into = *buf;
    mcpi_buf_init(buf, into->mem, into->max);
}

/* Doubling, but never beyond the maximum: what is over it could not be used. */
static size_t
buf_next_cap(const struct mcpi_buf *buf, size_t need)
{
    size_t cap = buf->cap > buf->max / 2 ? buf->max : (size_t)buf->cap * 2;

    if (cap < BUF_FIRST)
        cap = BUF_FIRST;
    if (cap < need)
        cap = need;
    return cap < buf->max ? cap : buf->max;
}

bool
mcpi_buf_grow(struct mcpi_buf *buf, size_t len)
{
    size_t cap;
    char *data;

    if (len > buf->max - buf->len) {
        buf->status = MCP_E_LIMIT;
        return false;
    }
    cap = buf_next_cap(buf, (size_t)buf->len + len);
    data = mcpi_realloc(buf->mem, buf->data, cap);
    if (!data) {
        buf->status = MCP_E_NOMEM;
        return false;
    }
    buf->data = data;
    buf->cap = (uint32_t)cap;
    return true;
}

static void
buf_decimal(struct mcpi_buf *buf, bool negative, uint64_t number)
{
    char digits[DIGITS_MAX + 1];
    char *at = digits + sizeof(digits);

    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    if (negative)
        *--at = '-';
    mcpi_buf_append(buf, at, (size_t)(digits + sizeof(digits) - at));
}

void
mcpi_buf_int(struct mcpi_buf *buf, int64_t number)
{
    /* negated as unsigned: INT64_MIN has no positive counterpart */
    if (number < 0)
        buf_decimal(buf, true, 0 - (uint64_t)number);
    else
        buf_decimal(buf, false, (uint64_t)number);
}

void
mcpi_buf_uint(struct mcpi_buf *buf, uint64_t number)
{
    buf_decimal(buf, false, number);
}

void
mcpi_buf_commit(struct mcpi_buf *buf, size_t len)
{
    assert(len <= buf->cap - buf->len);
    buf->len += (uint32_t)len;
}

void
mcpi_buf_consume(struct mcpi_buf *buf, size_t len)
{
    assert(len <= buf->len);
    if (len == 0)
        return;
    buf->len -= (uint32_t)len;
    memmove(buf->data, buf->data + len, buf->len);
}

void
mcpi_buf_truncate(struct mcpi_buf *buf, size_t len)
{
    assert(len <= buf->len);
    buf->len = (uint32_t)len;
}

void
mcpi_buf_rewind(struct mcpi_buf *buf, size_t len)
{
    mcpi_buf_truncate(buf, len);
    buf->status = 0;
}
