/* mirror_fuzz.c - what is encoded is decoded, and any schema is read or refused */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "wire/mirror.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool holds)
{
    if (!holds)
        abort();
}

static void
expect_text(const struct mcpi_buf *buf, const char *text, size_t len)
{
    expect(buf->status == 0 && buf->len == len);
    expect(len == 0 || memcmp(buf->data, text, len) == 0);
}

/* ---- values ------------------------------------------------------------- */

/* Any text, there and back; only what is no UTF-8 must not come back. */
static void
try_encode(const char *text, size_t len)
{
    struct mcpi_buf value, back;
    int r;

    mcpi_buf_init(&value, NULL, SIZE_MAX);
    mcpi_buf_init(&back, NULL, SIZE_MAX);
    mcpi_mirror_encode(&value, text, len);
    for (size_t i = 0; i < value.len; i++)
        expect(value.data[i] >= 0x20 && value.data[i] <= 0x7E);
    r = mcpi_mirror_decode(&back, value.data ? value.data : "", value.len);
    expect(r == (mcpi_utf8_valid(text, len) ? 0 : MCP_E_PROTO));
    if (r == 0)
        expect_text(&back, text, len);
    mcpi_buf_done(&value);
    mcpi_buf_done(&back);
}

/* Any value of a header: what it stands for is said by its own encoding too. */
static void
try_decode(const char *value, size_t len)
{
    struct mcpi_buf text, again, back;
    const char *plain;

    mcpi_buf_init(&text, NULL, SIZE_MAX);
    mcpi_buf_init(&again, NULL, SIZE_MAX);
    mcpi_buf_init(&back, NULL, SIZE_MAX);
    if (mcpi_mirror_decode(&text, value, len) == 0) {
        plain = text.data ? text.data : "";
        expect(mcpi_utf8_valid(plain, text.len));
        mcpi_mirror_encode(&again, plain, text.len);
        expect(mcpi_mirror_decode(&back, again.data ? again.data : "", again.len) == 0);
        expect_text(&back, plain, text.len);
    } else {
        expect(text.len == 0);
    }
    mcpi_buf_done(&text);
    mcpi_buf_done(&again);
    mcpi_buf_done(&back);
}

/* Whatever can be written is equal to what it was written from. */
static void
try_value(const mcp_json *said, const char *text, size_t len)
{
    struct mcpi_buf value;
    int r;

    mcpi_buf_init(&value, NULL, SIZE_MAX);
    r = mcpi_mirror_write(&value, said);
    expect(r == 0 || r == MCP_E_INVAL);
    if (r == 0)
        expect(mcpi_mirror_compare(NULL, value.data ? value.data : "", value.len,
                                   said) == 0);
    r = mcpi_mirror_compare(NULL, text, len, said);
    expect(r == 0 || r == MCP_E_PROTO);
    mcpi_buf_done(&value);
}

/* ---- schemas ------------------------------------------------------------ */

static void
try_schema(const mcp_json *schema)
{
    struct mcpi_mirror *mirror = NULL;
    const char *fault = NULL;
    const char *name;
    int r;

    r = mcpi_mirror_new(NULL, schema, &mirror, &fault);
    expect(r == 0 ? !fault : r == MCP_E_INVAL && fault && !mirror);
    expect(!mirror || mcpi_mirror_count(mirror) > 0);
    for (size_t i = 0; i < mcpi_mirror_count(mirror); i++) {
        name = mcpi_mirror_name(mirror, i);
        expect(mcpi_text_is_token(name, strlen(name)));
        expect(strncmp(mcpi_mirror_header(mirror, i), "mcp-param-", 10) == 0);
        expect(mcpi_text_same_letters(mcpi_mirror_header(mirror, i) + 10, name));
        /* a schema is a value too */
        (void)mcpi_mirror_value(mirror, i, schema);
        for (size_t j = 0; j < i; j++)
            expect(!mcpi_text_same_letters(mcpi_mirror_name(mirror, j), name));
    }
    mcpi_mirror_free(mirror);
}

/* A line: the value of a header; behind it a text, which may be JSON. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct mcpi_json_limits limits = {1 << 20, 256};
    const char *text = (const char *)data;
    const char *newline = memchr(text, '\n', size);
    size_t line = newline ? (size_t)(newline - text) : 0;
    size_t from = newline ? line + 1 : 0;
    mcp_doc *doc = NULL;

    try_encode(text, size);
    try_decode(text, line ? line : size);
    if (mcpi_doc_parse(NULL, text + from, size - from, &limits, &doc) < 0)
        return 0;
    try_value(mcp_doc_root(doc), text, line);
    try_schema(mcp_doc_root(doc));
    mcp_doc_free(doc);
    return 0;
}
