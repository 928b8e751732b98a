/*
 * builder.c - a text written front to back, with a sticky failure
 *
 * What is open is a stack of bits: 1 for an object, 0 for an array. Whether a comma is
 * due is one flag for the whole: only the innermost container takes the next value.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "json/value.h"

/* What is nested deeper is refused by most readers, ours too. */
#define BUILDER_DEPTH_MAX 128

#define BITS 64

struct mcp_builder {
    struct mcpi_buf buf;
    int status;   /* the first failure */
    size_t depth; /* containers that are open */
    bool comma;   /* due before the next value */
    bool whole;   /* the outermost value is complete */
    uint64_t is_object[BUILDER_DEPTH_MAX / BITS];
};

mcp_builder *
mcp_builder_new(const mcp_allocator *allocator)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    mcp_builder *b = mcpi_alloc_zero(mem, sizeof(*b));

    if (b)
        mcpi_buf_init(&b->buf, mem, MCPI_JSON_TEXT_MAX);
    return b;
}

void
mcp_builder_free(mcp_builder *b)
{
    if (!b)
        return;
    mcpi_buf_done(&b->buf);
    mcpi_free(b->buf.mem, b);
}

static void
builder_fail(mcp_builder *b, int status)
{
    if (b->status == 0)
        b->status = status;
}

static bool
builder_in_object(const mcp_builder *b)
{
    size_t top = b->depth - 1;

    return b->depth > 0 && b->is_object[top / BITS] >> (top % BITS) & 1;
}

/* Comma and key, and whether a value may stand here at all. */
static bool
builder_before_value(mcp_builder *b, const char *key)
{
    int r = 0;

    if (!b || b->status < 0)
        return false;
    if (b->whole || builder_in_object(b) != (key != NULL)) {
        builder_fail(b, MCP_E_INVAL);
        return false;
    }
    if (b->comma)
        mcpi_buf_char(&b->buf, ',');
    if (key) {
        r = mcpi_json_write_string(&b->buf, key, strlen(key));
        mcpi_buf_char(&b->buf, ':');
    }
    if (r < 0)
        builder_fail(b, r);
    return r == 0;
}

/* The terminator is kept ready behind a complete text: reading it cannot fail. */
static void
builder_after_value(mcp_builder *b)
{
    char *end;

    b->comma = true;
    if (b->depth == 0) {
        b->whole = true;
        end = mcpi_buf_reserve(&b->buf, 1);
        if (end)
            *end = '\0';
    }
    if (b->buf.status < 0)
        builder_fail(b, b->buf.status);
}

static void
builder_begin(mcp_builder *b, const char *key, bool is_object)
{
    uint64_t bit;

    if (!builder_before_value(b, key))
        return;
    if (b->depth == BUILDER_DEPTH_MAX) {
        builder_fail(b, MCP_E_LIMIT);
        return;
    }
    mcpi_buf_char(&b->buf, is_object ? '{' : '[');
    bit = (uint64_t)1 << (b->depth % BITS);
    if (is_object)
        b->is_object[b->depth / BITS] |= bit;
    else
        b->is_object[b->depth / BITS] &= ~bit;
    b->depth++;
    b->comma = false;
    if (b->buf.status < 0)
        builder_fail(b, b->buf.status);
}

void
mcp_builder_begin_object(mcp_builder *b, const char *key)
{
    builder_begin(b, key, true);
}

void
mcp_builder_begin_array(mcp_builder *b, const char *key)
{
    builder_begin(b, key, false);
}

void
mcp_builder_end(mcp_builder *b)
{
    if (!b || b->status < 0)
        return;
    if (b->depth == 0) {
        builder_fail(b, MCP_E_INVAL);
        return;
    }
    mcpi_buf_char(&b->buf, builder_in_object(b) ? '}' : ']');
    b->depth--;
    builder_after_value(b);
}

void
mcp_builder_null(mcp_builder *b, const char *key)
{
    mcp_builder_value(b, key, NULL);
}

void
mcp_builder_bool(mcp_builder *b, const char *key, bool value)
{
    if (!builder_before_value(b, key))
        return;
    mcpi_buf_text(&b->buf, value ? "true" : "false");
    builder_after_value(b);
}

void
mcp_builder_int(mcp_builder *b, const char *key, int64_t value)
{
    if (!builder_before_value(b, key))
        return;
    mcpi_buf_int(&b->buf, value);
    builder_after_value(b);
}

void
mcp_builder_uint(mcp_builder *b, const char *key, uint64_t value)
{
    if (!builder_before_value(b, key))
        return;
    mcpi_buf_uint(&b->buf, value);
    builder_after_value(b);
}

void
mcp_builder_real(mcp_builder *b, const char *key, double value)
{
    int r;

    if (!builder_before_value(b, key))
        return;
    r = mcpi_json_write_real(&b->buf, value);
    if (r < 0)
        builder_fail(b, r);
    builder_after_value(b);
}

void
mcp_builder_string(mcp_builder *b, const char *key, const char *text)
{
    /* no text is not an empty text: length 1 of nothing is refused below */
    mcp_builder_string_n(b, key, text, text ? strlen(text) : 1);
}

void
mcp_builder_string_n(mcp_builder *b, const char *key, const char *text, size_t length)
{
    int r = MCP_E_INVAL;

    if (!builder_before_value(b, key))
        return;
    if (text || length == 0)
        r = mcpi_json_write_string(&b->buf, text ? text : "", length);
    if (r < 0)
        builder_fail(b, r);
    builder_after_value(b);
}

void
mcp_builder_value(mcp_builder *b, const char *key, const mcp_json *value)
{
    if (!builder_before_value(b, key))
        return;
    mcpi_json_write(&b->buf, value);
    builder_after_value(b);
}

int
mcp_builder_status(const mcp_builder *b)
{
    if (!b)
        return MCP_E_NOMEM;
    if (b->status < 0)
        return b->status;
    return b->whole ? 0 : MCP_E_STATE;
}

const char *
mcp_builder_text(const mcp_builder *b, size_t *ret_length)
{
    if (mcp_builder_status(b) < 0)
        return NULL;
    if (ret_length)
        *ret_length = b->buf.len;
    return b->buf.data;
}

int
mcp_builder_parse(const mcp_builder *b, mcp_doc **ret_doc)
{
    const struct mcpi_json_limits limits = {
        .max_bytes = MCPI_JSON_TEXT_MAX,
        .max_depth = SIZE_MAX, /* what was written may be read */
    };
    int r = mcp_builder_status(b);

    if (r < 0)
        return r;
    if (!ret_doc)
        return MCP_E_INVAL;
    return mcpi_doc_parse(b->buf.mem, b->buf.data, b->buf.len, &limits, ret_doc);
}

void
mcp_builder_reset(mcp_builder *b)
{
    if (!b)
        return;
    mcpi_buf_clear(&b->buf);
    b->status = 0;
    b->depth = 0;
    b->comma = false;
    b->whole = false;
}
