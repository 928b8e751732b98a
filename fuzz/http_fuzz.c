/* http_fuzz.c - requests are the same in any pieces, and keep what the header promises */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "link/http_parser.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition) \
    do {                   \
        if (!(condition))  \
            abort();       \
    } while (0)

struct run {
    struct mcpi_http_parsers parsers;
    struct mcpi_http_parser *parser;
    struct mcpi_buf seen; /* all that came out */
    int status;           /* of a fault; 0: none */
    bool whole_head;      /* at the fault */
};

static void
see_text(struct run *run, const char *text)
{
    mcpi_buf_append(&run->seen, text, strlen(text) + 1);
}

static void
check_value(const char *value)
{
    size_t len = strlen(value);

    REQUIRE(len == 0 || (value[0] != ' ' && value[0] != '\t' && value[len - 1] != ' ' &&
                         value[len - 1] != '\t'));
    for (size_t i = 0; i < len; i++)
        REQUIRE(value[i] == '\t' || (unsigned char)value[i] >= ' ');
}

static void
see_head(struct run *run)
{
    const struct mcpi_http_in *in = mcpi_http_parser_in(run->parser);
    size_t total = strlen(in->target);

    REQUIRE(in->path_len <= total && total > 0);
    REQUIRE(in->field_count <= MCPI_HTTP_FIELDS_MAX);
    REQUIRE(mcpi_http_parser_has_head(run->parser));
    see_text(run, in->method_name);
    see_text(run, in->target);
    for (size_t i = 0; i < in->field_count; i++) {
        REQUIRE(in->fields[i].name[0] != '\0');
        check_value(in->fields[i].value);
        total += strlen(in->fields[i].name) + strlen(in->fields[i].value);
        see_text(run, in->fields[i].name);
        see_text(run, in->fields[i].value);
    }
    REQUIRE(total <= run->parsers.head_bytes);
    see_text(run, mcpi_http_parser_keeps_alive(run->parser) ? "keeps" : "closes");
    see_text(run, mcpi_http_parser_is_old(run->parser) ? "old" : "new");
    see_text(run, mcpi_http_parser_expects(run->parser) ? "expects" : "");
}

static void
see_body(struct run *run)
{
    const struct mcpi_http_in *in = mcpi_http_parser_in(run->parser);

    REQUIRE(in->body && in->body_len <= run->parsers.body_bytes);
    REQUIRE(in->body_len == mcpi_http_parser_length(run->parser));
    see_text(run, "body");
    mcpi_buf_append(&run->seen, in->body, in->body_len);
}

static void
see_fault(struct run *run)
{
    const char *why = NULL;

    run->status = mcpi_http_parser_status(run->parser, &why);
    REQUIRE(run->status >= 400 && run->status <= 505 && why);
}

/* One piece, to its end. */
static void
feed(struct run *run, const char *piece, size_t len)
{
    enum mcpi_http_event event = MCPI_HTTP_HEAD_DONE;
    size_t used;

    while (event == MCPI_HTTP_HEAD_DONE || (event == MCPI_HTTP_DONE && len > 0)) {
        event = mcpi_http_parser_feed(run->parser, piece, len, &used);
        REQUIRE(used <= len);
        piece += used;
        len -= used;
        if (event == MCPI_HTTP_HEAD_DONE) {
            run->whole_head = true;
            see_head(run);
        } else if (event == MCPI_HTTP_DONE) {
            see_body(run);
            run->whole_head = false;
            mcpi_http_parser_next(run->parser);
            REQUIRE(!mcpi_http_parser_is_within(run->parser));
        } else if (event == MCPI_HTTP_FAULT) {
            see_fault(run);
        } else {
            REQUIRE(len == 0);
        }
    }
}

/* In pieces of up to `most` bytes, each with a memory of its own. */
static void
run_all(struct run *run, const char *text, size_t len, size_t most, uint32_t seed)
{
    size_t chunk;
    char *piece;

    *run = (struct run){0};
    mcpi_http_parsers_init(&run->parsers, mcpi_mem_or_malloc(NULL), 512, 256);
    mcpi_buf_init(&run->seen, NULL, UINT32_MAX);
    REQUIRE(mcpi_http_parser_new(&run->parsers, &run->parser) == 0);
    for (size_t at = 0; at < len && run->status == 0; at += chunk) {
        seed = seed * 1103515245u + 12345u;
        chunk = 1 + (seed >> 16) % most;
        if (chunk > len - at)
            chunk = len - at;
        piece = malloc(chunk);
        REQUIRE(piece);
        memcpy(piece, text + at, chunk);
        feed(run, piece, chunk);
        free(piece);
    }
}

static void
run_done(struct run *run)
{
    mcpi_http_parser_free(run->parser);
    mcpi_http_parsers_done(&run->parsers);
    mcpi_buf_done(&run->seen);
}

/* The first byte seeds the sizes of the pieces; the rest is what a client sends. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct run whole, split;

    if (size < 2)
        return 0;
    run_all(&whole, (const char *)data + 1, size - 1, SIZE_MAX / 2, 1);
    run_all(&split, (const char *)data + 1, size - 1, 1 + data[0] % 32u, data[0]);
    REQUIRE((whole.status == 0) == (split.status == 0));
    /* of two faults in one trailer either may be seen first */
    REQUIRE(whole.status == split.status || whole.whole_head);
    REQUIRE(whole.whole_head == split.whole_head);
    REQUIRE(whole.seen.len == split.seen.len);
    REQUIRE(whole.seen.len == 0 ||
            memcmp(whole.seen.data, split.seen.data, whole.seen.len) == 0);
    run_done(&whole);
    run_done(&split);
    return 0;
}
