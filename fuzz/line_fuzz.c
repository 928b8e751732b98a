/* line_fuzz.c - framing in any chunks gives the lines that a naive splitter gives */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the naive splitter stands: it has the whole text before it. */
struct naive {
    const char *text;
    size_t len, at, max;
};

/* 1: a line. 0: no more. MCP_E_LIMIT: a line too long; also for an end without a
 * newline that is too long whatever follows. */
static int
naive_next(struct naive *n, const char **ret_text, size_t *ret_len)
{
    size_t from, len;

    while (n->at < n->len) {
        from = n->at;
        while (n->at < n->len && n->text[n->at] != '\n')
            n->at++;
        len = n->at - from;
        if (n->at == n->len)
            return len > n->max + 1 ? MCP_E_LIMIT : 0;
        n->at++;
        if (len > 0 && n->text[from + len - 1] == '\r')
            len--;
        if (len > n->max)
            return MCP_E_LIMIT;
        *ret_text = n->text + from;
        *ret_len = len;
        if (len > 0)
            return 1;
    }
    return 0;
}

/* Take out what is there and hold it against the naive splitter. */
static void
compare(struct mcpi_line *line, struct naive *n)
{
    const char *text, *expected;
    size_t len, expected_len;
    int r;

    for (r = mcpi_line_next(line, &text, &len); r != 0;
         r = mcpi_line_next(line, &text, &len)) {
        if (naive_next(n, &expected, &expected_len) != r)
            abort();
        if (r == 1 && (len != expected_len || memcmp(text, expected, len) != 0))
            abort();
    }
}

static void
feed(struct mcpi_line *line, const char *bytes, size_t len)
{
    size_t room, part;
    char *space;

    while (len > 0) {
        space = mcpi_line_space(line, &room);
        if (!space || room == 0)
            abort();
        part = len < room ? len : room;
        memcpy(space, bytes, part);
        mcpi_line_filled(line, part);
        bytes += part;
        len -= part;
    }
}

/* The first byte is the longest line, the second seeds the sizes of the chunks; the
 * rest is the text. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mcpi_line line;
    struct naive n;
    const char *ignored;
    uint32_t seed;
    size_t at, chunk, ignored_len;

    if (size < 2)
        return 0;
    n = (struct naive){(const char *)data + 2, size - 2, 0, data[0]};
    seed = data[1];
    mcpi_line_init(&line, NULL, n.max);
    for (at = 0; at < n.len; at += chunk) {
        seed = seed * 1103515245u + 12345u;
        chunk = 1 + (seed >> 16) % (1u + data[1] * 4u);
        if (chunk > n.len - at)
            chunk = n.len - at;
        feed(&line, n.text + at, chunk);
        if (seed >> 31) /* else they wait for the next round */
            compare(&line, &n);
        if (line.buf.cap > 2 * n.max + 65536)
            abort();
    }
    compare(&line, &n);
    if (naive_next(&n, &ignored, &ignored_len) != 0)
        abort();
    mcpi_line_done(&line);
    return 0;
}
