/* http_parser_test.c - requests out of bytes, however they are split, and what is none */
#include "link/http_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "support/test.h"

enum { HEAD_BYTES = 4096, BODY_BYTES = 1000 };

struct fixture {
    struct test_mem mem;
    struct mcpi_http_parsers parsers;
    struct mcpi_http_parser *parser;
    char seen[8192]; /* what came out, as text */
    size_t seen_len;
    bool broken;
};

static void
fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    mcpi_http_parsers_init(&f->parsers, &f->mem.allocator, HEAD_BYTES, BODY_BYTES);
    assert_int_equal(mcpi_http_parser_new(&f->parsers, &f->parser), 0);
}

static void
fixture_close(struct fixture *f)
{
    mcpi_http_parser_free(f->parser);
    mcpi_http_parsers_done(&f->parsers);
    test_mem_done(&f->mem);
}

static void
see(struct fixture *f, const char *text)
{
    size_t len = strlen(text);

    assert_true(f->seen_len + len < sizeof(f->seen));
    memcpy(f->seen + f->seen_len, text, len + 1);
    f->seen_len += len;
}

static void
see_head(struct fixture *f)
{
    const struct mcpi_http_in *in = mcpi_http_parser_in(f->parser);
    char line[256];

    snprintf(line, sizeof(line), "%s %s %zu", in->method_name, in->target,
             in->path_len);
    see(f, line);
    for (size_t i = 0; i < in->field_count; i++) {
        see(f, "|");
        see(f, in->fields[i].name);
        see(f, "=");
        see(f, in->fields[i].value);
    }
    snprintf(line, sizeof(line), "%s%s%s\n",
             mcpi_http_parser_keeps_alive(f->parser) ? "" : " closes",
             mcpi_http_parser_is_old(f->parser) ? " old" : "",
             mcpi_http_parser_expects(f->parser) ? " expects" : "");
    see(f, line);
}

static void
see_body(struct fixture *f)
{
    const struct mcpi_http_in *in = mcpi_http_parser_in(f->parser);
    char body[BODY_BYTES + 1];

    assert_true(in->body_len <= BODY_BYTES);
    memcpy(body, in->body, in->body_len);
    body[in->body_len] = '\0';
    see(f, "<");
    see(f, body);
    see(f, ">\n");
}

static void
see_fault(struct fixture *f)
{
    const char *why = NULL;
    char line[128];

    snprintf(line, sizeof(line), "%d\n", mcpi_http_parser_status(f->parser, &why));
    assert_non_null(why);
    see(f, line);
    f->broken = true;
}

/* Feed one piece to its end. The copy has its exact size, so that a look behind it is
 * noticed, and is gone afterwards. */
static void
feed(struct fixture *f, const char *bytes, size_t len)
{
    enum mcpi_http_event event = MCPI_HTTP_DONE;
    char *piece = malloc(len > 0 ? len : 1);
    size_t at = 0, used;

    assert_non_null(piece);
    if (len > 0)
        memcpy(piece, bytes, len);
    while (event == MCPI_HTTP_HEAD_DONE || (event == MCPI_HTTP_DONE && at < len)) {
        event = mcpi_http_parser_feed(f->parser, piece + at, len - at, &used);
        assert_true(used <= len - at);
        at += used;
        if (event == MCPI_HTTP_HEAD_DONE)
            see_head(f);
        if (event == MCPI_HTTP_DONE) {
            see_body(f);
            mcpi_http_parser_next(f->parser);
        }
        if (event == MCPI_HTTP_FAULT)
            see_fault(f);
        if (event == MCPI_HTTP_MORE)
            assert_int_equal(at, len);
    }
    free(piece);
}

static void
expect_bytes(const char *bytes, size_t len, const char *expected)
{
    struct fixture f;

    for (size_t split = 0; split <= len; split++) { /* at each byte, in two */
        fixture_open(&f);
        feed(&f, bytes, split);
        if (!f.broken)
            feed(&f, bytes + split, len - split);
        assert_string_equal(f.seen, expected);
        fixture_close(&f);
    }
    fixture_open(&f); /* byte by byte */
    for (size_t i = 0; i < len && !f.broken; i++)
        feed(&f, bytes + i, 1);
    assert_string_equal(f.seen, expected);
    fixture_close(&f);
}

#define EXPECT(bytes, expected) expect_bytes(bytes, sizeof(bytes) - 1, expected)

static int
event_of(struct fixture *f, const char *bytes, size_t len, size_t piece)
{
    enum mcpi_http_event event = MCPI_HTTP_MORE;
    const char *why;
    size_t used;

    for (size_t at = 0; at < len && event == MCPI_HTTP_MORE; at += used)
        event = mcpi_http_parser_feed(f->parser, bytes + at,
                                      len - at < piece ? len - at : piece, &used);
    return event == MCPI_HTTP_FAULT ? mcpi_http_parser_status(f->parser, &why)
                                    : (int)event;
}

/* A head with this line in it. */
#define WITH(line) "POST /mcp HTTP/1.1\r\nHost: a\r\n" line "\r\n\r\n"

/* ---- requests ---------------------------------------------------------------------- */

static void
a_request_is_the_same_however_it_is_split(void **state)
{
    (void)state;
    EXPECT(
        "POST /mcp?x=/1 HTTP/1.1\r\nHost: localhost:80\r\nAccept: a, b\r\n"
        "Content-Length: 5\r\n\r\nhello",
        "POST /mcp?x=/1 4|Host=localhost:80|Accept=a, b|Content-Length=5\n<hello>\n");
    EXPECT("GET / HTTP/1.1\r\nhost: a\r\n\r\n", "GET / 1|host=a\n<>\n");
}

static void
values_have_no_white_space_around_them(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\r\nHost: \t a \t \r\nX:\r\nY: \t\r\nZ:b c\r\n\r\n",
           "GET / 1|Host=a|X=|Y=|Z=b c\n<>\n");
}

static void
pipelined_requests_come_one_after_the_other(void **state)
{
    (void)state;
    EXPECT("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
           "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
           "\r\nDELETE /c HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
           "POST /a 2|Host=a|Content-Length=1\n<x>\n"
           "GET /b 2|Host=a\n<>\n"
           "DELETE /c 2|Host=a|Connection=close closes\n<>\n");
}

static void
chunks_become_one_body_and_trailers_are_dropped(void **state)
{
    (void)state;
    EXPECT(WITH("Transfer-Encoding: chunked") "3;x=\"y\"\r\nabc\r\n2\r\nde\r\n0\r\n"
                                              "Content-MD5: x\r\nHost: b\r\n\r\n"
                                              "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
           "POST /mcp 4|Host=a|Transfer-Encoding=chunked\n<abcde>\n"
           "GET / 1|Host=a\n<>\n");
    EXPECT(WITH("Transfer-Encoding: Chunked") "0\r\n\r\n",
           "POST /mcp 4|Host=a|Transfer-Encoding=Chunked\n<>\n");
}

static void
methods_have_their_names(void **state)
{
    static const struct {
        const char *name;
        enum mcpi_http_method method;
    } rows[] = {
        {"GET", MCPI_HTTP_GET},         {"POST", MCPI_HTTP_POST},
        {"DELETE", MCPI_HTTP_DELETE},   {"HEAD", MCPI_HTTP_HEAD},
        {"OPTIONS", MCPI_HTTP_OPTIONS}, {"PUT", MCPI_HTTP_OTHER},
    };
    struct fixture f;
    char bytes[100];
    size_t used;

    (void)state;
    fixture_open(&f);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(bytes, sizeof(bytes), "%s / HTTP/1.1\r\nHost: a\r\n\r\n",
                 rows[i].name);
        assert_int_equal(mcpi_http_parser_feed(f.parser, bytes, strlen(bytes), &used),
                         MCPI_HTTP_HEAD_DONE);
        assert_int_equal(mcpi_http_parser_in(f.parser)->method, rows[i].method);
        assert_string_equal(mcpi_http_parser_in(f.parser)->method_name, rows[i].name);
        mcpi_http_parser_next(f.parser);
    }
    fixture_close(&f);
}

static void
a_method_that_nobody_knows_is_not_implemented(void **state)
{
    (void)state;
    EXPECT("FOO / HTTP/1.1\r\nHost: a\r\n\r\n", "501\n");
    EXPECT("\r\nFOO / HTTP/1.1\r\n\r\n", "501\n");
    EXPECT("get / HTTP/1.1\r\n\r\n", "501\n");
    EXPECT("GETX / HTTP/1.1\r\n\r\n", "501\n");
    EXPECT("GE / HTTP/1.1\r\n\r\n", "501\n");
    EXPECT("PROPFINDX ", "501\n");
    EXPECT("M-SEARCH- ", "501\n");
    EXPECT("PLAY / HTTP/1.1\r\nHost: a\r\n\r\n", "501\n"); /* it is of RTSP */
    EXPECT("GET / HTTP/1.1\r\nHost: a\r\n\r\nFOO / HTTP/1.1\r\n\r\n",
           "GET / 1|Host=a\n<>\n501\n");
}

static void
what_is_no_method_is_a_bad_request(void **state)
{
    (void)state;
    EXPECT(" GET / HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("\r\n / HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("nonsense\r\n\r\n", "400\n");
    EXPECT("GET\t/ HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("FOO\t/ HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("FOO: / HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("GE\r\n\r\n", "400\n");
    EXPECT("GE\0 / HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("{\"jsonrpc\":\"2.0\"}", "400\n");
    EXPECT("FOO", ""); /* there may be more of it */
}

/* As any other that has not ended. */
static void
a_method_that_nobody_knows_is_as_long_as_a_head(void **state)
{
    static const size_t pieces[] = {1, 100, HEAD_BYTES * 2};
    char bytes[HEAD_BYTES + 1];
    struct fixture f;

    (void)state;
    memset(bytes, 'F', sizeof(bytes));
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        fixture_open(&f);
        assert_int_equal(event_of(&f, bytes, HEAD_BYTES - 1, pieces[i]),
                         MCPI_HTTP_MORE);
        assert_true(mcpi_http_parser_is_within(f.parser));
        assert_false(mcpi_http_parser_has_head(f.parser));
        assert_int_equal(event_of(&f, bytes, 2, 1), 431);
        fixture_close(&f);
    }
}

static void
an_absolute_target_is_its_path(void **state)
{
    (void)state;
    EXPECT("GET http://a:1/b?c HTTP/1.1\r\nHost: A:1\r\n\r\n",
           "GET /b?c 2|Host=A:1\n<>\n");
    EXPECT("GET https://a HTTP/1.1\r\nHost: a\r\n\r\n", "GET / 1|Host=a\n<>\n");
    EXPECT("GET HTTP://a?b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?b 1|Host=a\n<>\n");
    EXPECT("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * 1|Host=a\n<>\n");
}

static void
bad_targets_are_refused(void **state)
{
    (void)state;
    EXPECT("GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n", "400\n");
    EXPECT("GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n", "400\n");
    EXPECT("GET http://a/ HTTP/1.0\r\n\r\n", "400\n"); /* nothing to hold it against */
    EXPECT("GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "400\n");
    EXPECT("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "400\n");
    EXPECT("GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400\n");
    EXPECT("GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n", "400\n");
    EXPECT("GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", "400\n");
}

static void
an_upgrade_is_not_followed(void **state)
{
    (void)state;
    EXPECT(WITH("Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2") "hi",
           "POST /mcp 4|Host=a|Upgrade=h2c|Connection=Upgrade|Content-Length=2\n"
           "<hi>\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade"
           "\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
           "GET / 1|Host=a|Upgrade=websocket|Connection=Upgrade\n<>\n"
           "GET /b 2|Host=a\n<>\n");
    EXPECT("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n", "501\n");
}

static void
who_keeps_the_connection_is_known(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.0\r\n\r\n", "GET / 1 closes old\n<>\n");
    EXPECT("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
           "GET / 1|Connection=keep-alive old\n<>\n");
    EXPECT(WITH("Connection: Keep-Alive, Close"),
           "POST /mcp 4|Host=a|Connection=Keep-Alive, Close closes\n<>\n");
    EXPECT(WITH("Expect: 100-Continue"),
           "POST /mcp 4|Host=a|Expect=100-Continue expects\n<>\n");
}

/* ---- what is refused ----------------------------------------------------------------- */

static void
what_could_smuggle_a_request_is_refused(void **state)
{
    (void)state;
    EXPECT(WITH("Content-Length: 3\r\nTransfer-Encoding: chunked"), "400\n");
    EXPECT(WITH("Transfer-Encoding: chunked\r\nContent-Length: 3"), "400\n");
    EXPECT(WITH("Content-Length: 3\r\nContent-Length: 3"), "400\n");
    EXPECT(WITH("Content-Length: 3, 3"), "400\n");
    EXPECT(WITH("Content-Length: +3"), "400\n");
    EXPECT(WITH("Content-Length: -1"), "400\n");
    EXPECT(WITH("Content-Length: 0x3"), "400\n");
    EXPECT(WITH("Content-Length:"), "400\n");
    EXPECT(WITH("Content-Length: 99999999999999999999"), "400\n");
    EXPECT(WITH("Transfer-Encoding: chunked, gzip"), "400\n");
    EXPECT(WITH("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), "400\n");
    EXPECT(WITH("Transfer-Encoding: chunked, chunked"), "400\n");
    EXPECT(WITH("Transfer-Encoding:"), "400\n");
    EXPECT("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400\n");
    EXPECT(WITH("Transfer-Encoding : chunked"), "400\n");
    EXPECT(WITH("X: a\r\n folded"), "400\n");
    EXPECT(WITH(" X: a"), "400\n");
    EXPECT(WITH("X: a\nY: b"), "400\n");
    EXPECT(WITH("X: a\rY: b"), "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\nHost: a\n\n", "400\n");
    EXPECT("GET / HTTP/1.0\nHost: a\n\n", "400\n");
    EXPECT("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "400\n");
}

static void
an_unknown_transfer_coding_is_not_implemented(void **state)
{
    (void)state;
    EXPECT(WITH("Transfer-Encoding: gzip"), "501\n");
    EXPECT(WITH("Transfer-Encoding: gzip, chunked"), "501\n");
    EXPECT(WITH("Transfer-Encoding: identity"), "501\n");
    EXPECT(WITH("Transfer-Encoding: xchunked"), "501\n");
}

static void
bad_chunks_are_refused(void **state)
{
#define CHUNKS(bytes) EXPECT(WITH("Transfer-Encoding: chunked") bytes, chunked_400)
    static const char chunked_400[] =
        "POST /mcp 4|Host=a|Transfer-Encoding=chunked\n400\n";

    (void)state;
    CHUNKS("3\nabc\r\n0\r\n\r\n");
    CHUNKS("3\r\nabc0\r\n\r\n");
    CHUNKS("3 \r\nabc\r\n0\r\n\r\n");
    CHUNKS("x\r\n");
    CHUNKS("\r\n");
    CHUNKS("-1\r\n");
    CHUNKS("fffffffffffffffff\r\n");
#undef CHUNKS
}

static void
host_stands_once(void **state)
{
    (void)state;
    EXPECT("GET / HTTP/1.1\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.0\r\nHost: a\r\nhost: b\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "400\n");
    EXPECT("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET / 1|Host=[::1]:80\n<>\n");
}

static void
control_characters_are_refused(void **state)
{
    (void)state;
    EXPECT(WITH("X: a\0b"), "400\n");
    EXPECT(WITH("X: a\x01"), "400\n");
    EXPECT(WITH("X: a\x7f"), "400\n");
    EXPECT(WITH("X\0: a"), "400\n");
    EXPECT(WITH("X(: a"), "400\n");
    EXPECT(WITH(": a"), "400\n");
    EXPECT("\x16\x03\x01\x02\x00\x01", "400\n"); /* TLS to a plain port */
    EXPECT(WITH("X: \xc3\xa4"), "POST /mcp 4|Host=a|X=\xc3\xa4\n<>\n");
}

static void
other_versions_are_refused_as_such(void **state)
{
    (void)state;
    EXPECT("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/2.0\r\nHost: a\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/1.2\r\nHost: a\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/0.9\r\nHost: a\r\n\r\n", "505\n");
    EXPECT("GET /\r\n\r\n", "505\n");
    EXPECT("GET / HTTP/3.0\r\nHost: a\r\n\r\n", "505\n");
}

/* ---- limits ---------------------------------------------------------------------------- */

/* A head of that many bytes, to its empty line. */
static size_t
long_head(char *into, size_t len)
{
    static const char begin[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";

    memcpy(into, begin, sizeof(begin) - 1);
    memset(into + sizeof(begin) - 1, 'x', len - (sizeof(begin) - 1) - 4);
    memcpy(into + len - 4, "\r\n\r\n", 4);
    return len;
}

static void
a_head_may_be_just_as_long_as_the_limit(void **state)
{
    static const size_t pieces[] = {1, 7, 1000, HEAD_BYTES, HEAD_BYTES * 2};
    char bytes[HEAD_BYTES + 100];
    struct fixture f;

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        fixture_open(&f);
        assert_int_equal(event_of(&f, bytes, long_head(bytes, HEAD_BYTES), pieces[i]),
                         MCPI_HTTP_HEAD_DONE);
        assert_int_equal(strlen(mcpi_http_parser_in(f.parser)->fields[1].value),
                         HEAD_BYTES - 32);
        mcpi_http_parser_next(f.parser);
        assert_int_equal(
            event_of(&f, bytes, long_head(bytes, HEAD_BYTES + 1), pieces[i]), 431);
        fixture_close(&f);
    }
}

static void
too_many_headers_are_431(void **state)
{
    struct fixture f;
    char bytes[HEAD_BYTES];
    size_t len;

    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        fixture_open(&f);
        len = (size_t)sprintf(bytes, "GET / HTTP/1.1\r\nHost: a\r\n");
        for (int i = 1; i < MCPI_HTTP_FIELDS_MAX + extra; i++)
            len += (size_t)sprintf(bytes + len, "X: %d\r\n", i);
        len += (size_t)sprintf(bytes + len, "\r\n");
        assert_int_equal(event_of(&f, bytes, len, len),
                         extra ? 431 : MCPI_HTTP_HEAD_DONE);
        fixture_close(&f);
    }
}

static void
empty_lines_before_a_request_are_not_endless(void **state)
{
    char bytes[HEAD_BYTES + 1];
    struct fixture f;

    (void)state;
    memset(bytes, '\n', sizeof(bytes));
    fixture_open(&f);
    assert_int_equal(event_of(&f, bytes, sizeof(bytes), 10), 431);
    fixture_close(&f);
}

static void
a_body_that_is_too_long_is_413_before_it_comes(void **state)
{
    (void)state;
    EXPECT(WITH("Content-Length: 1001"),
           "POST /mcp 4|Host=a|Content-Length=1001\n413\n");
    EXPECT(WITH("Transfer-Encoding: chunked") "3e8\r\n", /* 1000 */
           "POST /mcp 4|Host=a|Transfer-Encoding=chunked\n");
    EXPECT(WITH("Transfer-Encoding: chunked") "3e9\r\n",
           "POST /mcp 4|Host=a|Transfer-Encoding=chunked\n413\n");
    EXPECT(WITH("Transfer-Encoding: chunked") "3\r\nabc\r\n3e6\r\n",
           "POST /mcp 4|Host=a|Transfer-Encoding=chunked\n413\n");
    EXPECT(WITH("Transfer-Encoding: chunked") "3\r\nabc\r\nffffffffffffffff\r\n",
           "POST /mcp 4|Host=a|Transfer-Encoding=chunked\n413\n");
}

static void
trailers_and_extensions_count_as_head(void **state)
{
    static const char chunked[] = WITH("Transfer-Encoding: chunked");
    char junk[HEAD_BYTES];
    struct fixture f;

    (void)state;
    memset(junk, 'x', sizeof(junk));
    for (int trailer = 0; trailer < 2; trailer++) {
        fixture_open(&f);
        assert_int_equal(event_of(&f, chunked, sizeof(chunked) - 1, 1000),
                         MCPI_HTTP_HEAD_DONE);
        if (trailer)
            assert_int_equal(event_of(&f, "0\r\nX: ", 6, 6), MCPI_HTTP_MORE);
        else
            assert_int_equal(event_of(&f, "3;", 2, 2), MCPI_HTTP_MORE);
        assert_int_equal(event_of(&f, junk, sizeof(junk), 100), 431);
        fixture_close(&f);
    }
    fixture_open(&f);
    assert_int_equal(event_of(&f, chunked, sizeof(chunked) - 1, 1000),
                     MCPI_HTTP_HEAD_DONE);
    assert_int_equal(event_of(&f, "0\r\n", 3, 3), MCPI_HTTP_MORE);
    for (int i = 0; i < MCPI_HTTP_FIELDS_MAX; i++)
        assert_int_equal(event_of(&f, "X:\r\n", 4, 4), MCPI_HTTP_MORE);
    assert_int_equal(event_of(&f, "X:\r\nX", 5, 5), 431);
    fixture_close(&f);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void
a_body_in_one_piece_is_not_copied(void **state)
{
    static const char whole[] = WITH("Content-Length: 5") "hello" WITH(
        "Transfer-Encoding: chunked") "5\r\nhello"
                                      "\r\n0\r\n"
                                      "\r\n";
    const char *end = whole + sizeof(whole) - 1, *at = whole;
    struct fixture f;
    size_t used;

    (void)state;
    fixture_open(&f);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcpi_http_parser_feed(f.parser, at, (size_t)(end - at), &used),
                         MCPI_HTTP_HEAD_DONE);
        at += used;
        assert_int_equal(mcpi_http_parser_feed(f.parser, at, (size_t)(end - at), &used),
                         MCPI_HTTP_DONE);
        at += used;
        assert_in_range(mcpi_http_parser_in(f.parser)->body, whole, end);
        assert_memory_equal(mcpi_http_parser_in(f.parser)->body, "hello", 5);
        mcpi_http_parser_next(f.parser);
    }
    fixture_close(&f);
}

/* The parser, and the head that is shared with all others. */
static void
an_idle_parser_holds_no_head_and_a_request_allocates_nothing(void **state)
{
    static const char bytes[] = WITH("Content-Length: 2") "hi";
    struct mcpi_http_parser *other = NULL;
    struct fixture f;
    long total;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_http_parser_new(&f.parsers, &other), 0);
    assert_int_equal(f.mem.live, 2);
    feed(&f, bytes, sizeof(bytes) - 1);
    assert_int_equal(f.mem.live, 4); /* two are the spare's */
    total = f.mem.total;
    for (int i = 0; i < 100; i++)
        feed(&f, bytes, sizeof(bytes) - 1);
    assert_int_equal(f.mem.total, total);
    mcpi_http_parser_free(other);
    fixture_close(&f);
}

static void
parser_that_was_freed_is_the_next_one(void **state)
{
    static const char begun[] = "POST /a HT";
    struct mcpi_http_parser *other = NULL;
    struct fixture f;
    long total;
    size_t used;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_http_parser_new(&f.parsers, &other), 0);
    (void)mcpi_http_parser_feed(other, begun, sizeof(begun) - 1, &used);
    mcpi_http_parser_free(other);
    total = f.mem.total;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mcpi_http_parser_new(&f.parsers, &other), 0);
        assert_false(mcpi_http_parser_is_within(other));
        (void)mcpi_http_parser_feed(other, begun, sizeof(begun) - 1, &used);
        assert_true(mcpi_http_parser_is_within(other));
        mcpi_http_parser_free(other);
    }
    assert_int_equal(f.mem.total, total);
    fixture_close(&f);
}

static void
heads_that_are_open_at_once_are_their_own(void **state)
{
    static const char bytes[] = WITH("Content-Length: 2") "hi";
    struct mcpi_http_parser *other = NULL;
    struct fixture f;
    size_t used;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_http_parser_new(&f.parsers, &other), 0);
    for (size_t i = 0; i < sizeof(bytes) - 1; i++) {
        if (!mcpi_http_parser_has_head(other))
            (void)mcpi_http_parser_feed(other, bytes + i, 1, &used);
        feed(&f, bytes + i, 1);
    }
    assert_true(mcpi_http_parser_is_within(other));
    assert_false(mcpi_http_parser_is_within(f.parser));
    assert_string_equal(f.seen, "POST /mcp 4|Host=a|Content-Length=2\n<hi>\n");
    assert_string_equal(mcpi_http_parser_in(other)->fields[1].value, "2");
    mcpi_http_parser_free(other);
    fixture_close(&f);
}

static void
what_a_long_request_needed_is_given_back(void **state)
{
    char bytes[4 * HEAD_BYTES];
    struct fixture f;

    (void)state;
    fixture_open(&f);
    f.parsers.head_bytes = sizeof(bytes);
    assert_int_equal(event_of(&f, bytes, long_head(bytes, 3 * HEAD_BYTES), 1000),
                     MCPI_HTTP_HEAD_DONE);
    mcpi_http_parser_next(f.parser);
    assert_null(f.parsers.spare);
    assert_int_equal(f.mem.live, 1);
    fixture_close(&f);
}

static void
flow(struct test_mem *mem, void *user)
{
    char head[3000];
    size_t len = long_head(head, sizeof(head));
    struct mcpi_http_parsers parsers;
    struct mcpi_http_parser *parser;
    static const char post[] = WITH("Content-Length: 200") "some of it";
    const char *why;
    size_t used;
    int faults = 0;

    (void)user;
    mcpi_http_parsers_init(&parsers, &mem->allocator, HEAD_BYTES, BODY_BYTES);
    if (mcpi_http_parser_new(&parsers, &parser) == 0) {
        if (mcpi_http_parser_feed(parser, head, len, &used) == MCPI_HTTP_FAULT)
            faults++;
        else
            mcpi_http_parser_next(parser);
        if (faults == 0) {
            (void)mcpi_http_parser_feed(parser, post, sizeof(post) - 1, &used);
            if (mcpi_http_parser_feed(parser, post + used, sizeof(post) - 1 - used,
                                      &used) == MCPI_HTTP_FAULT)
                faults++;
        }
        assert_int_equal(faults, mem->failed);
        if (faults)
            assert_int_equal(mcpi_http_parser_status(parser, &why), 503);
        mcpi_http_parser_free(parser);
    }
    mcpi_http_parsers_done(&parsers);
}

static void
without_memory_a_request_fails_and_nothing_else(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) >= 4);
}

static void
after_a_fault_nothing_is_used(void **state)
{
    static const char good[] = WITH("X: y");
    struct fixture f;
    size_t used;

    (void)state;
    fixture_open(&f);
    assert_int_equal(event_of(&f, "x\r\n", 3, 3), 400);
    assert_int_equal(mcpi_http_parser_feed(f.parser, good, sizeof(good) - 1, &used),
                     MCPI_HTTP_FAULT);
    assert_int_equal(used, 0);
    fixture_close(&f);
}

/* Issue 20, 5. */
static void
a_long_body_is_charged_to_its_client(void **state)
{
    static const char head[] =
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400000\r\n\r\n";
    static char part[MCPI_HTTP_FREE_MAX];
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct fixture f;
    const char *why;
    size_t used;

    (void)state;
    mcpi_budget_init(&budget);
    mcpi_budget_raise(&budget, MCPI_HELD_ARRIVING, 400000); /* half is for others */
    mcpi_account_init(&account, &budget, NULL);
    fixture_open(&f);
    f.parsers.body_bytes = 400000;
    mcpi_http_parser_charge(f.parser, &account);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(mcpi_http_parser_feed(f.parser, head, sizeof(head) - 1, &used),
                         MCPI_HTTP_HEAD_DONE);
        assert_int_equal(mcpi_http_parser_feed(f.parser, part, 100, &used),
                         MCPI_HTTP_MORE);
        assert_int_equal(mcpi_budget_bytes(&budget), 0); /* that is nothing */
        while (mcpi_http_parser_feed(f.parser, part, sizeof(part), &used) ==
               MCPI_HTTP_MORE) {
            assert_true(mcpi_budget_bytes(&budget) >= sizeof(part));
            assert_true(mcpi_budget_bytes(&budget) <= 200000);
        }
        assert_int_equal(mcpi_http_parser_status(f.parser, &why), 503);
        mcpi_http_parser_next(f.parser);
        assert_int_equal(mcpi_budget_bytes(&budget), 0);
    }
    fixture_close(&f);
}

static void
a_long_head_is_charged_to_its_client(void **state)
{
    static const char head[] = "POST / HTTP/1.1\r\nHost: a\r\nX: ";
    static char part[MCPI_HTTP_FREE_MAX];
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct fixture f;
    const char *why;
    size_t used;

    (void)state;
    memset(part, 'x', sizeof(part));
    mcpi_budget_init(&budget);
    mcpi_budget_raise(&budget, MCPI_HELD_ARRIVING, 100000);
    mcpi_account_init(&account, &budget, NULL);
    fixture_open(&f);
    f.parsers.head_bytes = 100000;
    mcpi_http_parser_charge(f.parser, &account);
    assert_int_equal(mcpi_http_parser_feed(f.parser, head, sizeof(head) - 1, &used),
                     MCPI_HTTP_MORE);
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    while (mcpi_http_parser_feed(f.parser, part, sizeof(part), &used) == MCPI_HTTP_MORE)
        assert_in_range(mcpi_budget_bytes(&budget), sizeof(part), 50000);
    assert_int_equal(mcpi_http_parser_status(f.parser, &why), 503);
    mcpi_http_parser_next(f.parser);
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    fixture_close(&f);
}

TEST_MAIN(TEST(a_request_is_the_same_however_it_is_split),
          TEST(a_long_head_is_charged_to_its_client),
          TEST(a_long_body_is_charged_to_its_client),
          TEST(values_have_no_white_space_around_them),
          TEST(pipelined_requests_come_one_after_the_other),
          TEST(chunks_become_one_body_and_trailers_are_dropped),
          TEST(methods_have_their_names),
          TEST(a_method_that_nobody_knows_is_not_implemented),
          TEST(what_is_no_method_is_a_bad_request),
          TEST(a_method_that_nobody_knows_is_as_long_as_a_head),
          TEST(an_absolute_target_is_its_path), TEST(bad_targets_are_refused),
          TEST(an_upgrade_is_not_followed), TEST(who_keeps_the_connection_is_known),
          TEST(what_could_smuggle_a_request_is_refused),
          TEST(an_unknown_transfer_coding_is_not_implemented),
          TEST(bad_chunks_are_refused), TEST(host_stands_once),
          TEST(control_characters_are_refused),
          TEST(other_versions_are_refused_as_such),
          TEST(a_head_may_be_just_as_long_as_the_limit), TEST(too_many_headers_are_431),
          TEST(empty_lines_before_a_request_are_not_endless),
          TEST(a_body_that_is_too_long_is_413_before_it_comes),
          TEST(trailers_and_extensions_count_as_head),
          TEST(a_body_in_one_piece_is_not_copied),
          TEST(an_idle_parser_holds_no_head_and_a_request_allocates_nothing),
          TEST(parser_that_was_freed_is_the_next_one),
          TEST(heads_that_are_open_at_once_are_their_own),
          TEST(what_a_long_request_needed_is_given_back),
          TEST(without_memory_a_request_fails_and_nothing_else),
          TEST(after_a_fault_nothing_is_used))
