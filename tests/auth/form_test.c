/* form_test.c - application/x-www-form-urlencoded: written and read */
#include "auth/form.h"

#include <stdlib.h>

#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
is_text(const struct mcpi_buf *buf, const char *text)
{
    assert_int_equal(buf->status, 0);
    assert_int_equal(buf->len, strlen(text));
    if (buf->len > 0)
        assert_memory_equal(buf->data, text, buf->len);
}

/* ---- writing ------------------------------------------------------------- */

static void
pairs_have_an_ampersand_between(void **state)
{
    struct mcpi_buf form;

    (void)state;
    mcpi_buf_init(&form, NULL, 200);
    mcpi_form_add(&form, "a", NULL);
    is_text(&form, "");
    mcpi_form_add(&form, "grant_type", "refresh_token");
    mcpi_form_add(&form, "none", NULL);
    mcpi_form_add(&form, "empty", "");
    mcpi_form_add(&form, "scope", "a b");
    is_text(&form, "grant_type=refresh_token&empty=&scope=a%20b");
    mcpi_buf_done(&form);
}

static void
a_query_begins_with_its_mark(void **state)
{
    struct mcpi_buf url;

    (void)state;
    mcpi_buf_init(&url, NULL, 200);
    mcpi_buf_text(&url, "https://a.example/?");
    mcpi_form_add(&url, "a", "1");
    mcpi_form_add(&url, "b", "2");
    is_text(&url, "https://a.example/?a=1&b=2");
    mcpi_buf_clear(&url);
    mcpi_buf_text(&url, "https://a.example/?own=1");
    mcpi_form_add(&url, "a", "1");
    is_text(&url, "https://a.example/?own=1&a=1");
    mcpi_buf_done(&url);
}

static void
what_has_a_meaning_is_escaped(void **state)
{
    struct mcpi_buf text;

    (void)state;
    mcpi_buf_init(&text, NULL, 200);
    mcpi_form_escape(&text, "");
    is_text(&text, "");
    mcpi_form_escape(&text, "AZaz09-._~");
    is_text(&text, "AZaz09-._~");
    mcpi_buf_clear(&text);
    mcpi_form_escape(&text, "a b+c:d/e%f&g=h?#\n\x7f\xC3\xA9*!");
    is_text(&text, "a%20b%2Bc%3Ad%2Fe%25f%26g%3Dh%3F%23%0A%7F%C3%A9%2A%21");
    mcpi_buf_clear(&text);
    mcpi_form_add(&text, "a&b", "c=d");
    is_text(&text, "a%26b=c%3Dd");
    mcpi_buf_done(&text);
}

static void
a_pair_that_does_not_fit_is_not_begun(void **state)
{
    struct mcpi_buf form;

    (void)state;
    mcpi_buf_init(&form, NULL, 10);
    mcpi_form_add(&form, "a", "1");
    mcpi_form_add(&form, "b", "     ");
    assert_int_equal(form.status, MCP_E_LIMIT);
    assert_int_equal(form.len, 3);
    mcpi_buf_done(&form);
    mcpi_buf_init(&form, NULL, 10);
    mcpi_form_escape(&form, "    ");
    assert_int_equal(form.status, MCP_E_LIMIT);
    assert_int_equal(form.len, 0);
    mcpi_buf_done(&form);
}

/* ---- reading ------------------------------------------------------------- */

static int
find(const char *form, const char *name, const char *expected)
{
    struct mcpi_buf value;
    int r;

    mcpi_buf_init(&value, NULL, 200);
    r = mcpi_form_find(&value, form, strlen(form), name);
    if (r == 1 && expected) {
        assert_int_equal(value.len, strlen(expected) + 1);
        assert_string_equal(value.data, expected);
    } else {
        assert_int_equal(value.len, 0);
    }
    mcpi_buf_done(&value);
    return r;
}

static void
a_value_is_found_by_its_name(void **state)
{
    static const char *const rows[][3] = {
        {"code=x", "code", "x"},
        {"a=1&code=x&b=2", "code", "x"},
        {"a=1&code=x", "code", "x"},
        {"&&code=x&&", "code", "x"},
        {"code=", "code", ""},
        {"code", "code", ""},
        {"code&a=1", "code", ""},
        {"code=a=b==", "code", "a=b=="},
        {"code=a+b%20c%2Bd", "code", "a b c+d"},
        {"code=%C3%a9%26%3d", "code", "\xC3\xA9&="},
        {"c%6Fde=x", "code", "x"},
        {"c%ode=y&code=x", "code", "x"}, /* another name */
        {"co%de=y&code=x", "code", "x"},
        {"=y&code=x", "code", "x"},
        {"code=a?b#c", "code", "a?b#c"},
        {"a+b=x", "a b", "x"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (find(rows[i][0], rows[i][1], rows[i][2]) != 1)
            fail_msg("%s", rows[i][0]);
}

static void
other_names_are_not_it(void **state)
{
    static const char *const rows[] = {"",        "cod=x",     "codes=x", "Code=x",
                                       "=code",   "&",         "a=code",  "a=1;code=x",
                                       "?code=x", "code%00=x", " code=x"};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (find(rows[i], "code", NULL) != 0)
            fail_msg("%s", rows[i]);
}

static void
a_value_that_is_there_twice_or_broken_is_refused(void **state)
{
    static const char *const rows[] = {
        "code=x&code=x", "code=x&code=y", "code&code",      "code=x&a=1&c%6fde=y",
        "code=%",        "code=%4",       "code=ab%4",      "code=%4g",
        "code=%g4",      "code=a%00b",    "code=%00",       "code=x&code=%",
        "code=% 41",     "code=%+1",      "code=%&code=%41"};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (find(rows[i], "code", NULL) != MCP_E_INVAL)
            fail_msg("%s", rows[i]);
}

static void
a_form_ends_where_its_length_says(void **state)
{
    static const char form[] = "code=ab%41&code=x";
    struct mcpi_buf value;

    (void)state;
    mcpi_buf_init(&value, NULL, 100);
    assert_int_equal(mcpi_form_find(&value, form, 7, "code"), 1);
    assert_string_equal(value.data, "ab");
    mcpi_buf_clear(&value);
    assert_int_equal(mcpi_form_find(&value, form, 9, "code"), MCP_E_INVAL);
    assert_int_equal(mcpi_form_find(&value, form, 10, "code"), 1);
    assert_string_equal(value.data, "abA");
    mcpi_buf_clear(&value);
    /* a NUL that stands there as it is */
    assert_int_equal(mcpi_form_find(&value, "code=a\0b", 8, "code"), MCP_E_INVAL);
    assert_int_equal(value.len, 0);
    mcpi_buf_done(&value);
}

static void
what_is_refused_leaves_no_trace(void **state)
{
    static const char form[] = "code=hunter2&code=other";
    struct mcpi_buf value;

    (void)state;
    mcpi_buf_init(&value, NULL, 100);
    MCPI_BUF_LITERAL(&value, "kept");
    assert_int_equal(mcpi_form_find(&value, form, sizeof(form) - 1, "code"),
                     MCP_E_INVAL);
    is_text(&value, "kept");
    assert_null(memmem(value.data, 16, "hunter2", 7));
    assert_int_equal(mcpi_form_find(&value, "code=hunter2%", 13, "code"), MCP_E_INVAL);
    assert_null(memmem(value.data, 16, "hunter2", 7));
    mcpi_buf_done(&value);
}

static void
a_buffer_that_failed_says_so(void **state)
{
    struct mcpi_buf value;

    (void)state;
    mcpi_buf_init(&value, NULL, 3);
    assert_int_equal(mcpi_form_find(&value, "code=abc", 8, "code"), MCP_E_LIMIT);
    assert_int_equal(value.len, 0);
    assert_int_equal(mcpi_form_find(&value, "code=a", 6, "code"), MCP_E_LIMIT);
    assert_int_equal(mcpi_form_find(&value, "code=a", 6, "none"), 0);
    mcpi_buf_done(&value);
}

static void
what_is_written_is_read(void **state)
{
    struct mcpi_buf form, value;
    char text[256];

    (void)state;
    for (int c = 1; c < 256; c++)
        text[c - 1] = (char)c;
    text[255] = '\0';
    mcpi_buf_init(&form, NULL, 10000);
    mcpi_buf_init(&value, NULL, 10000);
    mcpi_form_add(&form, "first", "1");
    mcpi_form_add(&form, text, text);
    assert_int_equal(mcpi_form_find(&value, form.data, form.len, text), 1);
    assert_string_equal(value.data, text);
    mcpi_buf_done(&form);
    mcpi_buf_done(&value);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_buf form, value;
    int r;

    (void)user;
    mcpi_buf_init(&form, &mem->allocator, 1000);
    mcpi_buf_init(&value, &mem->allocator, 1000);
    mcpi_form_add(&form, "a", "1");
    if (form.status == 0) {
        r = mcpi_form_find(&value, form.data, form.len, "a");
        assert_int_equal(r, mem->failed ? MCP_E_NOMEM : 1);
    }
    mcpi_buf_done(&form);
    mcpi_buf_done(&value);
}

static void
any_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, NULL), 2);
}

TEST_MAIN(TEST(pairs_have_an_ampersand_between), TEST(a_query_begins_with_its_mark),
          TEST(what_has_a_meaning_is_escaped),
          TEST(a_pair_that_does_not_fit_is_not_begun),
          TEST(a_value_is_found_by_its_name), TEST(other_names_are_not_it),
          TEST(a_value_that_is_there_twice_or_broken_is_refused),
          TEST(a_form_ends_where_its_length_says),
          TEST(what_is_refused_leaves_no_trace), TEST(a_buffer_that_failed_says_so),
          TEST(what_is_written_is_read), TEST(any_allocation_may_fail))
