/* mirror_test.c - what of a message also stands in HTTP headers */
#include "wire/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static void
holds(const struct mcpi_buf *buf, const char *text, size_t len)
{
    assert_int_equal(buf->status, 0);
    if (buf->len != len || (len > 0 && memcmp(buf->data, text, len) != 0))
        fail_msg("%.*s", (int)buf->len, buf->data);
}

/* ---- as text ------------------------------------------------------------ */

static const struct {
    const char *text, *value;
} encodings[] = {
    /* those of the specification */
    {"us-west1", "us-west1"},
    {"Hello, \xE4\xB8\x96\xE7\x95\x8C", "=?base64?SGVsbG8sIOS4lueVjA==?="},
    {" padded ", "=?base64?IHBhZGRlZCA=?="},
    {"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
    {"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
    /* more */
    {"", ""},
    {"a b  c", "a b  c"},
    {"a\tb", "=?base64?YQli?="},
    {" a", "=?base64?IGE=?="},
    {"a ", "=?base64?YSA=?="},
    {" ", "=?base64?IA==?="},
    {"\x7f", "=?base64?fw==?="},
    {"~!\"", "~!\""},
    {"=?base64?"
     "?=",
     "=?base64?PT9iYXNlNjQ/Pz0=?="},
    {"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
    {"=?base64?SGVsbG8=", "=?base64?SGVsbG8="},
    {"SGVsbG8=?=", "SGVsbG8=?="},
    {"=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="},
};

static void
a_value_is_plain_where_it_can_be(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++) {
        mcpi_buf_clear(&buf);
        mcpi_mirror_encode(&buf, encodings[i].text, strlen(encodings[i].text));
        holds(&buf, encodings[i].value, strlen(encodings[i].value));
        mcpi_buf_clear(&buf);
        assert_int_equal(
            mcpi_mirror_decode(&buf, encodings[i].value, strlen(encodings[i].value)),
            0);
        holds(&buf, encodings[i].text, strlen(encodings[i].text));
    }
    mcpi_buf_clear(&buf);
    mcpi_mirror_encode(&buf, "a\0b", 3);
    holds(&buf, "=?base64?YQBi?=", 15);
    mcpi_buf_done(&buf);
}

static void
half_a_marker_is_text(void **state)
{
    static const char *const plain[] = {
        "=?base64?SGVsbG8=",    "SGVsbG8=?=",          "SGVsbG8=",
        "=?base64?=",           "=?Base64?SGVsbG8=?=", "=?base64SGVsbG8=?=",
        "a=?base64?SGVsbG8=?=", "=?base64?SGVsbG8=?=a"};
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        mcpi_buf_clear(&buf);
        assert_int_equal(mcpi_mirror_decode(&buf, plain[i], strlen(plain[i])), 0);
        holds(&buf, plain[i], strlen(plain[i]));
    }
    mcpi_buf_done(&buf);
}

static void
blanks_around_a_value_are_none_of_it(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    assert_int_equal(mcpi_mirror_decode(&buf, " \ta\tb \t", 7), 0);
    holds(&buf, "a\tb", 3);
    mcpi_buf_clear(&buf);
    assert_int_equal(mcpi_mirror_decode(&buf, " =?base64?IGE=?= ", 17), 0);
    holds(&buf, " a", 2);
    mcpi_buf_clear(&buf);
    assert_int_equal(mcpi_mirror_decode(&buf, " \t ", 3), 0);
    holds(&buf, "", 0);
    mcpi_buf_done(&buf);
}

static void
what_no_header_may_say_is_refused(void **state)
{
    static const char *const bad[] = {
        "=?base64?SGVsbG8?=",     /* padding left out */
        "=?base64?SGVs!!!bG8=?=", /* no Base64 */
        "=?base64?SGVsbG9=?=",    /* not the one spelling */
        "=?base64?SGVs bG8=?=",
        "=?base64?SGVsbG8==?=",
        "=?base64?====?=",
        "=?base64?_-__?=", /* the other alphabet */
        "=?base64?/w==?=", /* no UTF-8 */
        "=?base64?7aCA?=", /* a surrogate */
        "caf\xC3\xA9",
        "a\x7f",
        "a\nb",
        "a\rb",
        "\x01",
        "\xff",
    };
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    mcpi_buf_text(&buf, "x");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mcpi_mirror_decode(&buf, bad[i], strlen(bad[i])) != MCP_E_PROTO)
            fail_msg("%s was read", bad[i]);
        holds(&buf, "x", 1);
    }
    assert_int_equal(mcpi_mirror_decode(&buf, "a\0b", 3), MCP_E_PROTO);
    mcpi_buf_done(&buf);
}

static void
a_full_buffer_keeps_what_it_had(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 18);
    mcpi_buf_text(&buf, "x");
    mcpi_mirror_encode(&buf, "\xC3\xA9 12345", 8);
    assert_int_equal(buf.status, MCP_E_LIMIT);
    assert_int_equal(buf.len, 1);
    assert_int_equal(mcpi_mirror_decode(&buf, "a", 1), MCP_E_LIMIT);
    mcpi_buf_done(&buf);
}

/* ---- as values ---------------------------------------------------------- */

static int
compare(const char *value, size_t len, const char *said)
{
    mcp_doc *doc = NULL;
    int r;

    assert_int_equal(mcp_doc_parse(said, strlen(said), NULL, &doc, NULL), 0);
    r = mcpi_mirror_compare(NULL, value, len, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return r;
}

static void
same(const char *value, const char *said)
{
    if (compare(value, strlen(value), said) != 0)
        fail_msg("%s is not %s", value, said);
}

static void
other(const char *value, const char *said)
{
    if (compare(value, strlen(value), said) != MCP_E_PROTO)
        fail_msg("%s is %s", value, said);
}

static void
strings_are_the_same_byte_by_byte(void **state)
{
    (void)state;
    same("us-west1", "\"us-west1\"");
    same("", "\"\"");
    same("=?base64?"
         "?=",
         "\"\"");
    same("=?base64?SGVsbG8=?=", "\"Hello\"");
    same("=?base64?YQBi?=", "\"a\\u0000b\"");
    same("SGVsbG8=", "\"SGVsbG8=\"");
    same("42", "\"42\"");
    other("us-west1", "\"US-WEST1\"");
    other("us-west", "\"us-west1\"");
    other("us-west12", "\"us-west1\"");
    other("42.0", "\"42\"");
    other("=?base64?SGVsbG8?=", "\"Hello\"");
    other("=?base64?SGVsbG8?=", "\"=?base64?SGVsbG8?=\"");
    other("a", "\"a\\u0000b\"");
    assert_int_equal(compare("a\0b", 3, "\"a\\u0000b\""), MCP_E_PROTO);
}

static void
booleans_are_the_two_words(void **state)
{
    (void)state;
    same("true", "true");
    same("false", "false");
    same("=?base64?dHJ1ZQ==?=", "true");
    other("True", "true");
    other("1", "true");
    other("true", "false");
    other("", "false");
    other("true", "\"false\"");
}

static void
integers_are_compared_as_numbers(void **state)
{
    static const char *const forty_two[] = {"42",
                                            "42.0",
                                            "42.000000000000000000000000000000",
                                            "4.2e1",
                                            "4.2E+1",
                                            "420e-1",
                                            "0.42e2",
                                            "42e0",
                                            "42000000000000000000000000000e-27",
                                            "=?base64?NDI=?="};

    (void)state;
    for (size_t i = 0; i < sizeof(forty_two) / sizeof(forty_two[0]); i++) {
        same(forty_two[i], "42");
        same(forty_two[i], "42.0");
        same(forty_two[i], "4.2e1");
        other(forty_two[i], "-42");
        other(forty_two[i], "43");
    }
    same("-7", "-7");
    same("-7.00", "-7");
    same("0", "0");
    same("-0", "0");
    same("0.000", "-0.0");
    same("0e99999999999999999999", "0");
}

static void
what_spells_no_integer_is_none(void **state)
{
    static const char *const bad[] = {"",
                                      "+42",
                                      "042",
                                      "42.",
                                      ".42",
                                      "42.5",
                                      "0x2a",
                                      "4 2",
                                      "42a",
                                      "--42",
                                      "-",
                                      "42e",
                                      "42e+",
                                      "42e-1",
                                      "NaN",
                                      "Infinity",
                                      "42,0",
                                      "42e1",
                                      "1e99999999999999999999",
                                      "1e-99999999999999999999",
                                      "42.0.0",
                                      "00",
                                      "42e1.0"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        other(bad[i], "42");
        other(bad[i], "0");
    }
}

static void
integers_beyond_doubles_are_exact(void **state)
{
    (void)state;
    same("9007199254740993", "9007199254740993");
    same("9007199254740993.0", "9007199254740993");
    same("9007199254740993000e-3", "9007199254740993");
    other("9007199254740992", "9007199254740993");
    other("9007199254740993.0", "9007199254740992");
    other("9007199254740993", "9007199254740992.0");
    same("18446744073709551615", "18446744073709551615");
    other("18446744073709551616", "18446744073709551615");
    other("18446744073709551616", "0");
    other("18446744073709551625", "9");
    other("-1", "18446744073709551615");
    same("-9223372036854775808", "-9223372036854775808");
    other("9223372036854775808", "-9223372036854775808");
    other("-9223372036854775809", "-9223372036854775808");
    same("1e19", "1e19");
    other("1e20", "1e20"); /* no 64 bits: nobody can be sure of it */
}

static void
nothing_else_is_said_by_a_header(void **state)
{
    (void)state;
    other("42.5", "42.5");
    other("null", "null");
    other("", "null");
    other("[]", "[]");
    other("{}", "{}");
    assert_int_equal(mcpi_mirror_compare(NULL, "", 0, NULL), MCP_E_PROTO);
}

static void
writes(const char *said, const char *value)
{
    struct mcpi_buf buf;
    mcp_doc *doc = NULL;

    mcpi_buf_init(&buf, NULL, 100);
    assert_int_equal(mcp_doc_parse(said, strlen(said), NULL, &doc, NULL), 0);
    if (value) {
        assert_int_equal(mcpi_mirror_write(&buf, mcp_doc_root(doc)), 0);
        holds(&buf, value, strlen(value));
        same(value, said);
    } else {
        assert_int_equal(mcpi_mirror_write(&buf, mcp_doc_root(doc)), MCP_E_INVAL);
        assert_int_equal(buf.len, 0);
    }
    mcp_doc_free(doc);
    mcpi_buf_done(&buf);
}

static void
a_value_is_written_as_it_is_read(void **state)
{
    (void)state;
    writes("\"us-west1\"", "us-west1");
    writes("\"\"", "");
    writes("\" a\"", "=?base64?IGE=?=");
    writes("true", "true");
    writes("false", "false");
    writes("42", "42");
    writes("-7", "-7");
    writes("42.0", "42");
    writes("1e3", "1000");
    writes("18446744073709551615", "18446744073709551615");
    writes("-9223372036854775808", "-9223372036854775808");
    writes("42.5", NULL);
    writes("1e300", NULL);
    writes("null", NULL);
    writes("[1]", NULL);
    writes("{}", NULL);
}

/* ---- memory ------------------------------------------------------------- */

static void
compare_encoded(struct test_mem *mem, void *user)
{
    const mcp_json *said = mcp_doc_root(user);
    int r = mcpi_mirror_compare(&mem->allocator, "=?base64?SGVsbG8=?=", 19, said);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
}

static void
compare_plain(struct test_mem *mem, void *user)
{
    const mcp_json *said = mcp_doc_root(user);

    assert_int_equal(mcpi_mirror_compare(&mem->allocator, "Hello", 5, said), 0);
}

static void
only_an_encoded_value_costs_memory(void **state)
{
    mcp_doc *doc = NULL;

    (void)state;
    assert_int_equal(mcp_doc_parse("\"Hello\"", 7, NULL, &doc, NULL), 0);
    assert_int_equal(test_each_allocation_fails(compare_encoded, doc), 1);
    assert_int_equal(test_each_allocation_fails(compare_plain, doc), 0);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(a_value_is_plain_where_it_can_be), TEST(half_a_marker_is_text),
          TEST(blanks_around_a_value_are_none_of_it),
          TEST(what_no_header_may_say_is_refused),
          TEST(a_full_buffer_keeps_what_it_had),
          TEST(strings_are_the_same_byte_by_byte), TEST(booleans_are_the_two_words),
          TEST(integers_are_compared_as_numbers), TEST(what_spells_no_integer_is_none),
          TEST(integers_beyond_doubles_are_exact),
          TEST(nothing_else_is_said_by_a_header),
          TEST(a_value_is_written_as_it_is_read),
          TEST(only_an_encoded_value_costs_memory))
