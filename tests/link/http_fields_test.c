/* http_fields_test.c - the header lines of what a client sends */
#include "link/http_fields.h"

#include <string.h>

#include "support/test.h"
#include "json/value.h"

struct lines {
    struct test_mem mem;
    struct mcpi_buf buf;
};

static void
lines_init(struct lines *l)
{
    test_mem_init(&l->mem);
    mcpi_buf_init(&l->buf, &l->mem.allocator, 65536);
}

static void
lines_done(struct lines *l)
{
    mcpi_buf_done(&l->buf);
    test_mem_done(&l->mem);
}

/* Terminators as bars: "A: 1|B: 2|". */
static void
lines_expect(struct lines *l, const char *expected)
{
    assert_int_equal(l->buf.status, 0);
    for (size_t i = 0; i < l->buf.len; i++)
        l->buf.data[i] = (char)(l->buf.data[i] ? l->buf.data[i] : '|');
    mcpi_buf_char(&l->buf, '\0');
    assert_string_equal(l->buf.data, expected);
    mcpi_buf_clear(&l->buf);
}

static void
a_line_is_a_name_and_a_value(void **state)
{
    struct lines l;

    (void)state;
    lines_init(&l);
    assert_int_equal(mcpi_http_fields_add(&l.buf, "A", "one two"), 0);
    assert_int_equal(mcpi_http_fields_add(&l.buf, "B", "\xC3\xA9\t2"), 0);
    lines_expect(&l, "A: one two|B: \xC3\xA9\t2|");
    lines_done(&l);
}

static void
no_line_has_a_break_in_it(void **state)
{
    static const char *const values[] = {"a\r\nB: 2", "a\nb", "a\rb", "\x01", "a\x7F"};
    struct lines l;

    (void)state;
    lines_init(&l);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        assert_int_equal(mcpi_http_fields_add(&l.buf, "A", values[i]), MCP_E_INVAL);
    lines_expect(&l, "");
    lines_done(&l);
}

static void
given_lines_are_taken_without_blanks_around_values(void **state)
{
    static const char *const given[] = {"Authorization: Bearer x", "X-Y:  1 2 \t",
                                        "x:y", NULL};
    mcp_error err;
    struct lines l;

    (void)state;
    lines_init(&l);
    assert_int_equal(mcpi_http_fields_given(&l.buf, NULL, &err), 0);
    assert_int_equal(mcpi_http_fields_given(&l.buf, given, &err), 0);
    lines_expect(&l, "Authorization: Bearer x|X-Y: 1 2|x: y|");
    lines_done(&l);
}

static void
given_lines_that_the_protocol_writes_are_refused(void **state)
{
    static const char *const ours[] = {
        "Accept: */*",
        "content-type: a/b",
        "CONTENT-LENGTH: 1",
        "Host: a",
        "Transfer-Encoding: x",
        "Connection: close",
        "Mcp-Session-Id: x",
        "mcp-anything: 1",
        "MCP-Protocol-Version: 1",
        "Last-Event-ID: secret",
        "Accept-Encoding: gzip",
        "content-encoding: gzip",
        "Expect: 100-continue",
        "Keep-Alive: 5",
        "Proxy-Connection: close",
        "TE: trailers",
        "Trailer: a",
        "Upgrade: h2c",
    };
    const char *given[2] = {NULL, NULL};
    mcp_error err;
    struct lines l;

    (void)state;
    lines_init(&l);
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
        given[0] = ours[i];
        assert_int_equal(mcpi_http_fields_given(&l.buf, given, &err), MCP_E_INVAL);
        assert_int_equal(err.status, MCP_E_INVAL);
        assert_null(strstr(err.message, "secret"));
    }
    given[0] = "Accept-Language: de";
    assert_int_equal(mcpi_http_fields_given(&l.buf, given, &err), 0);
    lines_expect(&l, "Accept-Language: de|");
    lines_done(&l);
}

static void
given_lines_that_are_none_are_refused(void **state)
{
    static const struct {
        const char *line, *why;
    } none[] = {
        {"", "line 2 is not \"Name: value\""},
        {"secret", "line 2"},
        {"Authorization Bearer secret", "line 2"},
        {": secret", "line 2"},
        {"Na me: secret", "line 2"},
        {"Name\r\nOther: secret", "line 2"},
        {"Name: secret\nB: 2", "Name has a line break"},
        {"Name: secret\x7f", "control character"},
        {"Name:", "Name has no value"},
        {"Name:  ", "Name has no value"},
    };
    const char *given[3] = {"First: 1", NULL, NULL};
    mcp_error err;
    struct lines l;

    (void)state;
    lines_init(&l);
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        given[1] = none[i].line;
        assert_int_equal(mcpi_http_fields_given(&l.buf, given, &err), MCP_E_INVAL);
        if (!strstr(err.message, none[i].why) || strstr(err.message, "secret"))
            fail_msg("%s", err.message); /* who sees it is not known */
        mcpi_buf_truncate(&l.buf, 0);
    }
    lines_expect(&l, "");
    lines_done(&l);
}

static void
a_POST_takes_both_kinds_of_answers_and_a_GET_one(void **state)
{
    struct lines l;

    (void)state;
    lines_init(&l);
    mcpi_http_fields_post(&l.buf);
    lines_expect(&l, "Accept: application/json, text/event-stream|"
                     "Content-Type: application/json|");
    mcpi_http_fields_get(&l.buf);
    lines_expect(&l, "Accept: text/event-stream|");
    lines_done(&l);
}

/* ---- what stands in headers too -------------------------------------------- */

static int
mirror_with(struct lines *l, const char *text, const struct mcpi_buf *names,
            const char *schema)
{
    const struct mcpi_json_limits limits = {65536, 64};
    struct mcpi_mirror *mirror = NULL;
    struct mcpi_rpc rpc;
    const char *fault;
    mcp_doc *message, *doc = NULL;
    int r;

    assert_int_equal(mcpi_doc_parse(NULL, text, strlen(text), &limits, &message), 0);
    mcpi_rpc_read(mcp_doc_root(message), &rpc);
    if (schema) {
        assert_int_equal(mcpi_doc_parse(NULL, schema, strlen(schema), &limits, &doc),
                         0);
        assert_int_equal(mcpi_mirror_new(NULL, mcp_doc_root(doc), &mirror, &fault), 0);
    }
    r = mcpi_http_fields_mirror(&l->buf, &rpc, names, mirror);
    mcpi_mirror_free(mirror);
    mcp_doc_free(doc);
    mcp_doc_free(message);
    return r;
}

static int
mirror_text(struct lines *l, const char *text, const char *schema)
{
    return mirror_with(l, text, NULL, schema);
}

#define CALL(method, params) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

static void
a_request_says_its_method_and_three_their_name(void **state)
{
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {CALL("tools/call", "{\"name\":\"t\"}"), "Mcp-Method: tools/call|Mcp-Name: t|"},
        {CALL("prompts/get", "{\"name\":\"p q\"}"),
         "Mcp-Method: prompts/get|Mcp-Name: p q|"},
        {CALL("resources/read", "{\"uri\":\"file:///a\"}"),
         "Mcp-Method: resources/read|Mcp-Name: file:///a|"},
        {CALL("resources/subscribe", "{\"uri\":\"file:///a\"}"),
         "Mcp-Method: resources/subscribe|"},
        {CALL("tools/list", "{\"name\":\"t\"}"), "Mcp-Method: tools/list|"},
        {CALL("tools/call", "{}"), "Mcp-Method: tools/call|"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "Mcp-Method: ping|"},
        {CALL("tools/call", "{\"name\":\"a\\nb\"}"),
         "Mcp-Method: tools/call|Mcp-Name: =?base64?YQpi?=|"},
    };
    struct lines l;

    (void)state;
    lines_init(&l);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(mirror_text(&l, rows[i].text, NULL), 0);
        lines_expect(&l, rows[i].expected);
    }
    lines_done(&l);
}

static void
methods_of_extensions_say_what_they_name_if_they_are_given(void **state)
{
    static const char *const given[] = {"tasks/get taskId", "x/y who", NULL};
    static const struct {
        const char *text, *expected;
    } rows[] = {
        {CALL("tasks/get", "{\"taskId\":\"t 1\",\"who\":\"w\"}"),
         "Mcp-Method: tasks/get|Mcp-Name: t 1|"},
        {CALL("x/y", "{\"who\":\"\u00e9\"}"),
         "Mcp-Method: x/y|Mcp-Name: =?base64?w6k=?=|"},
        {CALL("x/y", "{}"), "Mcp-Method: x/y|"},
        {CALL("x", "{\"who\":\"w\"}"), "Mcp-Method: x|"},
        {CALL("x/y/z", "{\"who\":\"w\"}"), "Mcp-Method: x/y/z|"},
        {CALL("tools/call", "{\"name\":\"t\",\"who\":\"w\"}"),
         "Mcp-Method: tools/call|Mcp-Name: t|"},
    };
    struct mcpi_buf names;
    struct lines l;

    (void)state;
    lines_init(&l);
    mcpi_buf_init(&names, &l.mem.allocator, 4096);
    assert_int_equal(mcpi_http_fields_names(&names, NULL, NULL), 0);
    assert_int_equal(mcpi_http_fields_names(&names, given, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(mirror_with(&l, rows[i].text, &names, NULL), 0);
        lines_expect(&l, rows[i].expected);
    }
    mcpi_buf_done(&names);
    lines_done(&l);
}

static void
names_that_are_none_are_refused(void **state)
{
    static const char *const wrong[] = {"", "x/y", " who", "x/y ", "x/y a b"};
    mcp_error err;
    struct lines l;

    (void)state;
    lines_init(&l);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *const given[] = {"x/y z", wrong[i], NULL};

        assert_int_equal(mcpi_http_fields_names(&l.buf, given, &err), MCP_E_INVAL);
        assert_string_equal(err.message, "name 2 is not \"method member\"");
    }
    lines_done(&l);
}

static void
a_method_that_no_header_can_say_is_not_sent(void **state)
{
    struct lines l;

    (void)state;
    lines_init(&l);
    assert_int_equal(mirror_text(&l, CALL("a\\r\\nB: 2", "{}"), NULL), MCP_E_INVAL);
    lines_expect(&l, "");
    lines_done(&l);
}

#define SCHEMA                                                      \
    "{\"type\":\"object\",\"properties\":{"                         \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}," \
    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"},"  \
    "\"dry\":{\"type\":\"boolean\",\"x-mcp-header\":\"Dry\"},"      \
    "\"none\":{\"type\":\"string\"},"                               \
    "\"in\":{\"type\":\"object\",\"properties\":{"                  \
    "\"deep\":{\"type\":\"string\",\"x-mcp-header\":\"Deep\"}}}}}"

static void
arguments_that_are_mirrored_have_headers(void **state)
{
    struct lines l;

    (void)state;
    lines_init(&l);
    assert_int_equal(
        mirror_text(&l,
                    CALL("tools/call", "{\"name\":\"t\",\"arguments\":{\"region\":"
                                       "\" \\u00e9\",\"count\":42,\"dry\":false,"
                                       "\"none\":\"n\",\"in\":{\"deep\":\"d\"}}}"),
                    SCHEMA),
        0);
    lines_expect(&l, "Mcp-Method: tools/call|Mcp-Name: t|"
                     "Mcp-Param-Region: =?base64?IMOp?=|Mcp-Param-Count: 42|"
                     "Mcp-Param-Dry: false|Mcp-Param-Deep: d|");
    lines_done(&l);
}

static void
arguments_that_are_absent_null_or_of_another_type_have_none(void **state)
{
    struct lines l;

    (void)state;
    lines_init(&l);
    assert_int_equal(
        mirror_text(&l,
                    CALL("tools/call", "{\"name\":\"t\",\"arguments\":{\"region\":"
                                       "null,\"count\":{},\"in\":{}}}"),
                    SCHEMA),
        0);
    lines_expect(&l, "Mcp-Method: tools/call|Mcp-Name: t|");
    lines_done(&l);
}

static void
without_room_it_fails(void **state)
{
    static const char *const given[] = {"A: 1", NULL};
    struct test_mem mem;
    struct mcpi_buf buf;
    struct lines l;
    mcp_error err;

    (void)state;
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 20);
    mcpi_http_fields_post(&buf);
    assert_int_equal(buf.status, MCP_E_LIMIT);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
    lines_init(&l);
    l.mem.fail_at = 1;
    assert_int_equal(mirror_text(&l, CALL("ping", "{}"), NULL), MCP_E_NOMEM);
    lines_done(&l);
    lines_init(&l);
    l.mem.fail_at = 1;
    assert_int_equal(mcpi_http_fields_given(&l.buf, given, &err), MCP_E_NOMEM);
    assert_int_equal(err.status, MCP_E_NOMEM);
    lines_done(&l);
}

TEST_MAIN(TEST(a_line_is_a_name_and_a_value), TEST(no_line_has_a_break_in_it),
          TEST(given_lines_are_taken_without_blanks_around_values),
          TEST(given_lines_that_the_protocol_writes_are_refused),
          TEST(given_lines_that_are_none_are_refused),
          TEST(a_POST_takes_both_kinds_of_answers_and_a_GET_one),
          TEST(a_request_says_its_method_and_three_their_name),
          TEST(methods_of_extensions_say_what_they_name_if_they_are_given),
          TEST(names_that_are_none_are_refused),
          TEST(a_method_that_no_header_can_say_is_not_sent),
          TEST(arguments_that_are_mirrored_have_headers),
          TEST(arguments_that_are_absent_null_or_of_another_type_have_none),
          TEST(without_room_it_fails))
