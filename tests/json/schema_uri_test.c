/* json/schema_uri_test.c - proves json/schema_uri.c: RFC 3986, section 5.4 */
#include "json/schema_uri.h"

#include <string.h>

#include "support/test.h"

static void
resolves(const char *base, const char *ref, const char *expected)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_uri_resolve(&buf, base, strlen(base), ref, strlen(ref));
    mcpi_buf_char(&buf, '\0');
    assert_int_equal(buf.status, 0);
    assert_string_equal(buf.data, expected);
    mcpi_buf_done(&buf);
}

static void
normal_examples_of_the_standard(void **state)
{
    static const char *const pairs[][2] = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        resolves("http://a/b/c/d;p?q", pairs[i][0], pairs[i][1]);
}

static void
abnormal_examples_of_the_standard(void **state)
{
    static const char *const pairs[][2] = {
        {"../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g/./h", "http://a/b/c/g/h"},
        {"g/../h", "http://a/b/c/h"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        resolves("http://a/b/c/d;p?q", pairs[i][0], pairs[i][1]);
}

static void
other_bases(void **state)
{
    (void)state;
    resolves("", "a/b.json", "a/b.json");
    resolves("", "#x", "");
    resolves("http://a", "b", "http://a/b");
    resolves("urn:uuid:1-2", "#/x", "urn:uuid:1-2");
    resolves("urn:example:a?=b", "", "urn:example:a?=b");
    resolves("file:///c:/folder/file.json", "other.json",
             "file:///c:/folder/other.json");
    resolves("a/b.json", "c.json", "a/c.json");
}

static void
text_with_a_null_byte_ends(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_uri_resolve(&buf, "http://a/\0/b", 12, "c\0/../d", 7);
    assert_int_equal(buf.status, 0);
    mcpi_buf_done(&buf);
}

static void
fragments_are_cut_and_decoded(void **state)
{
    struct mcpi_buf buf;
    size_t len = 0;

    (void)state;
    assert_null(mcpi_uri_fragment("http://a", 8, &len));
    assert_string_equal(mcpi_uri_fragment("a#b#c", 5, &len), "b#c");
    assert_int_equal(len, 3);
    mcpi_buf_init(&buf, NULL, 100);
    assert_int_equal(mcpi_uri_decode(&buf, "a%25%c3%A4", 10), 0);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "a%\xC3\xA4", 4);
    assert_int_equal(mcpi_uri_decode(&buf, "%4", 2), MCP_E_INVAL);
    assert_int_equal(mcpi_uri_decode(&buf, "%g0", 3), MCP_E_INVAL);
    mcpi_buf_done(&buf);
}

static void
absolute_is_what_has_a_scheme(void **state)
{
    (void)state;
    assert_int_equal(mcpi_uri_scheme("urn:x", 5), 3);
    assert_int_equal(mcpi_uri_scheme("a+b-c.1:", 8), 7);
    assert_int_equal(mcpi_uri_scheme("1a:", 3), 0);
    assert_int_equal(mcpi_uri_scheme("/a:b", 4), 0);
    assert_int_equal(mcpi_uri_scheme("", 0), 0);
}

TEST_MAIN(TEST(normal_examples_of_the_standard),
          TEST(abnormal_examples_of_the_standard), TEST(other_bases),
          TEST(text_with_a_null_byte_ends), TEST(fragments_are_cut_and_decoded),
          TEST(absolute_is_what_has_a_scheme))
