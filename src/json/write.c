/*
 * write.c - values as text
 *
 * Our own walk and not yyjson's writer, which reserves six times the length of every
 * string in case all of it needs escapes: here the buffer's maximum counts bytes that
 * are really written. Texts of values were checked when they were parsed.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"
#include "json/yy.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS (ONES * 0x80)

#define REAL_MAX 512 /* what yyjson may ask for to write one number, generously */

/* mcpi_buf_char without a call; a buffer that failed is cut back by who called us. */
static inline void
write_char(struct mcpi_buf *buf, char c)
{
    if (buf->len < buf->cap)
        buf->data[buf->len++] = c;
    else
        mcpi_buf_char(buf, c);
}

/* ---- strings --------------------------------------------------------------- */

static const bool needs_escape[256] = {
    [0x00] = true, [0x01] = true, [0x02] = true, [0x03] = true, [0x04] = true,
    [0x05] = true, [0x06] = true, [0x07] = true, [0x08] = true, [0x09] = true,
    [0x0A] = true, [0x0B] = true, [0x0C] = true, [0x0D] = true, [0x0E] = true,
    [0x0F] = true, [0x10] = true, [0x11] = true, [0x12] = true, [0x13] = true,
    [0x14] = true, [0x15] = true, [0x16] = true, [0x17] = true, [0x18] = true,
    [0x19] = true, [0x1A] = true, [0x1B] = true, [0x1C] = true, [0x1D] = true,
    [0x1E] = true, [0x1F] = true, ['"'] = true,  ['\\'] = true,
};

/* Not zero if one of eight bytes needs an escape. Each term borrows into a byte's high
 * bit if the byte is below 0x20, or equal to what was xored in. */
static uint64_t
word_needs_escape(uint64_t word)
{
    uint64_t quote = word ^ (ONES * '"');
    uint64_t slash = word ^ (ONES * '\\');

    return (((word - ONES * 0x20) & ~word) | ((quote - ONES) & ~quote) |
            ((slash - ONES) & ~slash)) &
           HIGHS;
}

/* Copy up to the first byte that needs an escape. Returns how many. */
static inline size_t
plain_copy(char *into, const char *text, size_t len)
{
    size_t at = 0;
    uint64_t word;

    while (len - at >= sizeof(word)) {
        memcpy(&word, text + at, sizeof(word));
        if (word_needs_escape(word))
            break;
        memcpy(into + at, &word, sizeof(word));
        at += sizeof(word);
    }
    for (; at < len && !needs_escape[(unsigned char)text[at]]; at++)
        into[at] = text[at];
    return at;
}

static void
write_escape(struct mcpi_buf *buf, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: what, its letter */
    char text[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    for (size_t i = 0; i + 1 < sizeof(names); i += 2) {
        if ((unsigned char)names[i] == c) {
            text[1] = names[i + 1];
            mcpi_buf_append(buf, text, 2);
            return;
        }
    }
    mcpi_buf_append(buf, text, sizeof(text));
}

static void
write_escaped(struct mcpi_buf *buf, const char *text, size_t len)
{
    char *at = mcpi_buf_reserve(buf, len);
    size_t run;

    while (at && len > 0) {
        run = plain_copy(at, text, len);
        mcpi_buf_commit(buf, run);
        text += run;
        len -= run;
        if (len > 0) {
            write_escape(buf, (unsigned char)*text);
            text++;
            len--;
        }
        at = mcpi_buf_reserve(buf, len);
    }
}

/* A string whose text is known to be UTF-8. It takes at least its own length: most take
 * no more, and are copied once. */
static void
write_string(struct mcpi_buf *buf, const char *text, size_t len)
{
    char *at = mcpi_buf_reserve(buf, len + 2);
    size_t plain;

    if (!at)
        return;
    at[0] = '"';
    plain = plain_copy(at + 1, text, len);
    if (plain == len) {
        at[len + 1] = '"';
        mcpi_buf_commit(buf, len + 2);
        return;
    }
    mcpi_buf_commit(buf, plain + 1);
    write_escaped(buf, text + plain, len - plain);
    write_char(buf, '"');
}

/* A string that the reader found to need no escapes: most, and nearly all keys. */
static void
write_plain(struct mcpi_buf *buf, const char *text, size_t len)
{
    char *at = mcpi_buf_reserve(buf, len + 2);

    if (!at)
        return;
    at[0] = '"';
    memcpy(at + 1, text, len);
    at[len + 1] = '"';
    mcpi_buf_commit(buf, len + 2);
}

/* ---- numbers --------------------------------------------------------------- */

struct scratch {
    char bytes[REAL_MAX];
};

static void *
scratch_malloc(void *ctx, size_t size)
{
    struct scratch *scratch = ctx;

    return size <= sizeof(scratch->bytes) ? scratch->bytes : NULL;
}

static void *
scratch_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
    (void)ptr;
    (void)old_size;
    return scratch_malloc(ctx, size);
}

static void
scratch_free(void *ctx, void *ptr)
{
    (void)ctx;
    (void)ptr;
}

static void
write_real(struct mcpi_buf *buf, double number)
{
    struct scratch scratch;
    const yyjson_alc alc = {scratch_malloc, scratch_realloc, scratch_free, &scratch};
    yyjson_val v = {.tag = MCPI_YY_REAL, .uni = {.f64 = number}};
    const char *text;
    size_t len;

    text = yyjson_val_write_opts(&v, YYJSON_WRITE_NOFLAG, &alc, &len, NULL);
    if (text)
        mcpi_buf_append(buf, text, len);
    else if (buf->status == 0)
        buf->status = MCP_E_NOMEM; /* a yyjson that wants more than REAL_MAX */
}

/* ---- values ---------------------------------------------------------------- */

struct writer {
    struct mcpi_buf *buf;
    bool pretty;
    size_t depth;
    struct {
        size_t left; /* values to come, keys and values of an object both */
        bool is_object;
    } open[MCPI_JSON_DEPTH_MAX];
};

static void
write_newline(struct writer *w)
{
    if (!w->pretty)
        return;
    write_char(w->buf, '\n');
    for (size_t i = 0; i < w->depth; i++)
        MCPI_BUF_LITERAL(w->buf, "  ");
}

static void
write_scalar(struct mcpi_buf *buf, const yyjson_val *v)
{
    switch (mcpi_yy_kind(v)) {
    case MCPI_YY_TRUE:
        MCPI_BUF_LITERAL(buf, "true");
        break;
    case MCPI_YY_FALSE:
        MCPI_BUF_LITERAL(buf, "false");
        break;
    case MCPI_YY_UINT:
        mcpi_buf_uint(buf, v->uni.u64);
        break;
    case MCPI_YY_SINT:
        mcpi_buf_int(buf, v->uni.i64);
        break;
    case MCPI_YY_REAL:
        write_real(buf, v->uni.f64);
        break;
    default:
        MCPI_BUF_LITERAL(buf, "null");
        break;
    }
}

static void
writer_begin(struct writer *w, const yyjson_val *v)
{
    bool is_object = mcpi_yy_type(v) == YYJSON_TYPE_OBJ;

    if (mcpi_yy_len(v) == 0) {
        mcpi_buf_append(w->buf, is_object ? "{}" : "[]", 2);
        return;
    }
    write_char(w->buf, is_object ? '{' : '[');
    w->open[w->depth].left = mcpi_yy_len(v) * (is_object ? 2 : 1);
    w->open[w->depth].is_object = is_object;
    w->depth++;
    write_newline(w);
}

/* What stands between the value just written and the next, closing what is complete.
 * False: that was the last one. */
static bool
writer_step(struct writer *w)
{
    while (w->depth > 0 && --w->open[w->depth - 1].left == 0) {
        w->depth--;
        write_newline(w);
        write_char(w->buf, w->open[w->depth].is_object ? '}' : ']');
    }
    if (w->depth == 0)
        return false;
    if (w->open[w->depth - 1].is_object && w->open[w->depth - 1].left % 2 == 1) {
        write_char(w->buf, ':');
        if (w->pretty)
            write_char(w->buf, ' ');
    } else {
        write_char(w->buf, ',');
        write_newline(w);
    }
    return true;
}

static void
write_value(struct mcpi_buf *buf, const yyjson_val *v, bool pretty)
{
    struct writer w;
    size_t start = buf->len;
    size_t depth;
    bool more = true;

    w.buf = buf;
    w.pretty = pretty;
    w.depth = 0;
    for (; more && buf->status == 0; v++) {
        depth = w.depth;
        if (mcpi_yy_kind(v) == MCPI_YY_PLAIN)
            write_plain(buf, v->uni.str, mcpi_yy_len(v));
        else if (mcpi_yy_type(v) == YYJSON_TYPE_STR)
            write_string(buf, v->uni.str, mcpi_yy_len(v));
        else if (mcpi_yy_is_container(v))
            writer_begin(&w, v);
        else
            write_scalar(buf, v);
        if (w.depth == depth)
            more = writer_step(&w);
    }
    if (buf->status < 0)
        mcpi_buf_truncate(buf, start);
}

void
mcpi_json_write(struct mcpi_buf *buf, const mcp_json *value)
{
    if (value)
        write_value(buf, mcpi_yy(value), false);
    else
        MCPI_BUF_LITERAL(buf, "null");
}

int
mcpi_json_write_string(struct mcpi_buf *buf, const char *text, size_t len)
{
    size_t start = buf->len;

    if (!mcpi_utf8_valid(text, len))
        return MCP_E_INVAL;
    write_string(buf, text, len);
    if (buf->status < 0)
        mcpi_buf_truncate(buf, start);
    return buf->status;
}

int
mcpi_json_write_real(struct mcpi_buf *buf, double number)
{
    if (!isfinite(number))
        return MCP_E_INVAL;
    write_real(buf, number);
    return buf->status;
}

int
mcp_json_print(const mcp_json *value, bool pretty, const mcp_allocator *allocator,
               char **ret_text, size_t *ret_length)
{
    struct mcpi_buf buf;

    if (!ret_text)
        return MCP_E_INVAL;
    mcpi_buf_init(&buf, allocator, MCPI_JSON_TEXT_MAX);
    if (value)
        write_value(&buf, mcpi_yy(value), pretty);
    else
        MCPI_BUF_LITERAL(&buf, "null");
    mcpi_buf_char(&buf, '\0');
    if (buf.status < 0) {
        mcpi_buf_done(&buf);
        return buf.status;
    }
    *ret_text = buf.data;
    if (ret_length)
        *ret_length = buf.len - 1;
    return 0;
}

void
mcp_text_free(char *text, const mcp_allocator *allocator)
{
    mcpi_free(mcpi_mem_or_malloc(allocator), text);
}
