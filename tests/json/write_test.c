/* json/write_test.c - proves json/write.c: values, strings and numbers as text */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "json/value.h"

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

/* Parse, write, compare. */
static void
assert_written(const char *text, const char *expected)
{
    mcp_doc *doc = parse(text);
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_json_write(&buf, mcp_doc_root(doc));
    assert_int_equal(buf.status, 0);
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(buf.data, expected);
    mcpi_buf_done(&buf);
    mcp_doc_free(doc);
}

static void
values_are_written_on_one_line(void **state)
{
    (void)state;
    assert_written(" { \"a\" : [ 1 , -2 , 2.5 ] , \"b\" : { } ,\n\"c\":[]}",
                   "{\"a\":[1,-2,2.5],\"b\":{},\"c\":[]}");
    assert_written("[[[]],[{\"x\":null}],true,false]",
                   "[[[]],[{\"x\":null}],true,false]");
    assert_written("null", "null");
    assert_written("\"s\"", "\"s\"");
    assert_written("[]", "[]");
    assert_written("{}", "{}");
    assert_written("{\"a\":{\"b\":{\"c\":[[1],2]}},\"d\":3}",
                   "{\"a\":{\"b\":{\"c\":[[1],2]}},\"d\":3}");
}

static void
numbers_keep_their_value_and_kind(void **state)
{
    (void)state;
    assert_written("[18446744073709551615,-9223372036854775808,9007199254740993]",
                   "[18446744073709551615,-9223372036854775808,9007199254740993]");
    assert_written("[1.0,0.1,1e-300]", "[1.0,0.1,1e-300]");
}

static void
part_of_a_document_is_written_alone(void **state)
{
    mcp_doc *doc = parse("{\"a\":[1,{\"b\":2}],\"c\":3}");
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    MCPI_BUF_LITERAL(&buf, "x=");
    mcpi_json_write(&buf, mcp_json_get(mcp_doc_root(doc), "a"));
    mcpi_json_write(&buf, NULL);
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(buf.data, "x=[1,{\"b\":2}]null");
    mcpi_buf_done(&buf);
    mcp_doc_free(doc);
}

static void
only_what_must_be_is_escaped(void **state)
{
    (void)state;
    assert_written("\"\\u0000\\u0001\\u001f\\u007f\"", "\"\\u0000\\u0001\\u001f\x7f\"");
    assert_written("\"\\b\\f\\n\\r\\t\\\"\\\\\\/\"", "\"\\b\\f\\n\\r\\t\\\"\\\\/\"");
    assert_written("\"\\u00e4\\u20ac\\ud83d\\ude00\\u2028\"",
                   "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xE2\x80\xA8\"");
    assert_written("{\"a\\nb\":1}", "{\"a\\nb\":1}");
}

static size_t
escaped_length(int c)
{
    if (c && strchr("\b\f\n\r\t\"\\", c))
        return 2;
    return c < 0x20 ? 6 : 1;
}

static void
every_byte_is_escaped_right_at_every_place(void **state)
{
    char text[24], read[24];
    struct mcpi_buf buf;
    mcp_doc *doc;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    for (int c = 0; c < 0x80; c++) {
        for (size_t at = 0; at < 20; at++) {
            memset(text, '~', 20);
            text[at] = (char)c;
            mcpi_buf_clear(&buf);
            assert_int_equal(mcpi_json_write_string(&buf, text, 20), 0);
            assert_int_equal(mcp_doc_parse(buf.data, buf.len, NULL, &doc, NULL), 0);
            assert_int_equal(mcp_json_string_length(mcp_doc_root(doc)), 20);
            memcpy(read, mcp_json_string(mcp_doc_root(doc), NULL), 20);
            assert_memory_equal(read, text, 20);
            assert_int_equal(buf.len, 21 + escaped_length(c));
            mcp_doc_free(doc);
        }
    }
    mcpi_buf_done(&buf);
}

static void
text_that_is_not_utf8_appends_nothing(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    mcpi_buf_char(&buf, 'x');
    assert_int_equal(mcpi_json_write_string(&buf, "a\xC3", 2), MCP_E_INVAL);
    assert_int_equal(mcpi_json_write_string(&buf, "\xED\xA0\x80", 3), MCP_E_INVAL);
    assert_int_equal(buf.len, 1);
    assert_int_equal(buf.status, 0);
    assert_int_equal(mcpi_json_write_string(&buf, "", 0), 0);
    assert_memory_equal(buf.data, "x\"\"", 3);
    mcpi_buf_done(&buf);
}

static void
maximum_counts_bytes_that_are_written(void **state)
{
    mcp_doc *doc = parse("{\"k\":[\"a\\nb\",12]}"); /* 17 bytes */
    struct mcpi_buf buf;

    (void)state;
    for (size_t max = 1; max < 20; max++) {
        mcpi_buf_init(&buf, NULL, max + 1);
        mcpi_buf_char(&buf, 'x');
        mcpi_json_write(&buf, mcp_doc_root(doc));
        assert_int_equal(buf.status, max < 17 ? MCP_E_LIMIT : 0);
        assert_int_equal(buf.len, max < 17 ? 1 : 18);
        mcpi_buf_done(&buf);
    }
    mcp_doc_free(doc);
}

static void
failed_string_appends_nothing(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 8);
    mcpi_buf_char(&buf, 'x');
    assert_int_equal(mcpi_json_write_string(&buf, "a\nb\nc", 5), MCP_E_LIMIT);
    assert_int_equal(buf.len, 1);
    assert_int_equal(mcpi_json_write_string(&buf, "a", 1), MCP_E_LIMIT);
    assert_int_equal(mcpi_json_write_real(&buf, 1), MCP_E_LIMIT);
    assert_int_equal(buf.len, 1);
    mcpi_buf_done(&buf);
}

static void
reals_read_back_as_the_same_double(void **state)
{
    static const double numbers[] = {
        0.1,  1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 123456789012345678.0,
        1e21, -2.5};
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        double back;

        mcpi_buf_clear(&buf);
        assert_int_equal(mcpi_json_write_real(&buf, numbers[i]), 0);
        mcpi_buf_char(&buf, '\0');
        back = strtod(buf.data, NULL);
        assert_memory_equal(&back, &numbers[i], sizeof(back));
    }
    mcpi_buf_clear(&buf);
    assert_int_equal(mcpi_json_write_real(&buf, NAN), MCP_E_INVAL);
    assert_int_equal(mcpi_json_write_real(&buf, INFINITY), MCP_E_INVAL);
    assert_int_equal(mcpi_json_write_real(&buf, -INFINITY), MCP_E_INVAL);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
}

static void
long_string_needs_no_more_than_twice_its_length(void **state)
{
    size_t len = 1 << 20;
    char *text = malloc(len);
    struct mcpi_buf buf;

    (void)state;
    assert_non_null(text);
    memset(text, 'a', len);
    mcpi_buf_init(&buf, NULL, 64 * len);
    assert_int_equal(mcpi_json_write_string(&buf, text, len), 0);
    assert_in_range(buf.cap, len + 2, 2 * len);
    mcpi_buf_done(&buf);
    free(text);
}

static void
print_is_terminated_and_may_be_pretty(void **state)
{
    mcp_doc *doc = parse("{\"a\":[1,{\"b\":[]}],\"c\":{}}");
    struct test_mem mem;
    size_t len;
    char *text;

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(
        mcp_json_print(mcp_doc_root(doc), false, &mem.allocator, &text, &len), 0);
    assert_string_equal(text, "{\"a\":[1,{\"b\":[]}],\"c\":{}}");
    assert_int_equal(len, strlen(text));
    mcp_text_free(text, &mem.allocator);
    assert_int_equal(mcp_json_print(mcp_doc_root(doc), true, NULL, &text, NULL), 0);
    assert_string_equal(text,
                        "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n"
                        "  \"c\": {}\n}");
    mcp_text_free(text, NULL);
    assert_int_equal(mcp_json_print(NULL, true, NULL, &text, &len), 0);
    assert_string_equal(text, "null");
    mcp_text_free(text, NULL);
    mcp_text_free(NULL, NULL);
    assert_int_equal(mcp_json_print(NULL, true, NULL, NULL, &len), MCP_E_INVAL);
    test_mem_done(&mem);
    mcp_doc_free(doc);
}

static void
print_document(struct test_mem *mem, void *user)
{
    char *text = NULL;
    int r = mcp_json_print(mcp_doc_root(user), true, &mem->allocator, &text, NULL);

    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    assert_int_equal(text != NULL, r == 0);
    mcp_text_free(text, &mem->allocator);
}

static void
printing_survives_any_failed_allocation(void **state)
{
    mcp_doc *doc = parse(
        "[\"0123456789\\n0123456789\",{\"0123456789\":\"01234567890\"},"
        "[[[[[[\"0123456789\",1.5,-7,null,true,\"\\u0000\"]]]]]]]");

    (void)state;
    assert_in_range(test_each_allocation_fails(print_document, doc), 2, 10);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(values_are_written_on_one_line), TEST(numbers_keep_their_value_and_kind),
          TEST(part_of_a_document_is_written_alone), TEST(only_what_must_be_is_escaped),
          TEST(every_byte_is_escaped_right_at_every_place),
          TEST(text_that_is_not_utf8_appends_nothing),
          TEST(maximum_counts_bytes_that_are_written),
          TEST(failed_string_appends_nothing), TEST(reals_read_back_as_the_same_double),
          TEST(long_string_needs_no_more_than_twice_its_length),
          TEST(print_is_terminated_and_may_be_pretty),
          TEST(printing_survives_any_failed_allocation))
