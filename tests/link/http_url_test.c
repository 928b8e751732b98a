/* http_url_test.c - which server a URL names, and what is beside it */
#include "link/http_url.h"

#include <string.h>

#include "support/test.h"

static void
a_URL_of_HTTP_has_a_scheme_and_a_host(void **state)
{
    static const char *const good[] = {
        "http://a",        "https://a/",       "HTTP://a.b:80/c?d#e",
        "http://[::1]:8/", "http://u:p@a/mcp", "https://127.0.0.1:1/",
        "http://a:/",
    };
    static const char *const bad[] = {
        "",
        "a",
        "/a",
        "http:",
        "http:/a",
        "http://",
        "http:///a",
        "ftp://a",
        "http://:1",
        "http://a:b/",
        "http://a b/",
        "http://a\n",
        "http://[::1]x/",
        "httpx://a",
        "http://a\\b",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(mcpi_http_url_valid(good[i], strlen(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(mcpi_http_url_valid(bad[i], strlen(bad[i])));
}

static void
expect_resolved(const char *base, const char *reference, const char *expected)
{
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, NULL, 65536);
    r = mcpi_http_url_resolve(&buf, base, reference, strlen(reference));
    if (expected) {
        assert_int_equal(r, 0);
        assert_string_equal(buf.data, expected);
        assert_int_equal(buf.len, strlen(expected) + 1);
    } else {
        assert_int_equal(r, MCP_E_PROTO);
        assert_int_equal(buf.len, 0);
    }
    mcpi_buf_done(&buf);
}

static void
a_reference_is_taken_beside_its_base(void **state)
{
    static const struct {
        const char *base, *reference, *expected;
    } rows[] = {
        {"http://a/sse", "/messages?s=1", "http://a/messages?s=1"},
        {"http://a/b/sse?x=/y", "messages", "http://a/b/messages"},
        {"http://a/b/sse?x", "?s=1", "http://a/b/sse?s=1"},
        {"http://a/b/", "c/d", "http://a/b/c/d"},
        {"http://a", "c", "http://a/c"},
        {"http://a", "?q", "http://a/?q"},
        {"http://a?q", "c", "http://a/c"},
        {"http://a/b#f", "/c#g", "http://a/c"},
        {"https://u@a:8/b", "/c", "https://u@a:8/c"},
        {"http://a/b", "/c?u=http://x/", "http://a/c?u=http://x/"},
        {"http://a/b", "../c", "http://a/../c"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_resolved(rows[i].base, rows[i].reference, rows[i].expected);
}

static void
D23_a_whole_URL_must_be_of_the_same_origin(void **state)
{
    static const struct {
        const char *base, *reference, *expected;
    } rows[] = {
        {"http://a/sse", "http://a/m", "http://a/m"},
        {"http://a/sse", "HTTP://A:80/m", "http://a/m"},
        {"https://a:443/sse", "https://a/m", "https://a:443/m"},
        {"http://a:080/sse", "http://a/m", "http://a:080/m"},
        {"http://a/sse", "//a/m", "http://a/m"},
        {"http://[::1]:8/sse", "http://[::1]:8/m", "http://[::1]:8/m"},
        {"http://me@a/sse", "http://you@a/m", "http://me@a/m"},
        {"http://a/sse", "http://b/m", NULL},
        {"http://a/sse", "http://a.b/m", NULL},
        {"http://a/sse", "http://a@b/m", NULL},
        {"http://a/sse", "http://a:81/m", NULL},
        {"http://a/sse", "https://a/m", NULL},
        {"http://a/sse", "//b/m", NULL},
        {"http://a/sse", "ftp://a/m", NULL},
        {"http://a/sse", "javascript:1", NULL},
        {"http://a/sse", "http:m", NULL},
        {"http://a/sse", "http:///m", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_resolved(rows[i].base, rows[i].reference, rows[i].expected);
}

static void
what_is_no_reference_is_refused(void **state)
{
    static const char *const bad[] = {"", "/a b", "/a\r\nX: 1", "\\\\b\\m", "/\x7F"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_resolved("http://a/sse", bad[i], NULL);
}

static void
too_long_is_refused(void **state)
{
    static char text[MCPI_HTTP_URL_LIMIT + 2];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    memcpy(text, "http://", 7);
    assert_false(mcpi_http_url_valid(text, sizeof(text) - 1));
    assert_true(mcpi_http_url_valid(text, sizeof(text) - 2));
    memset(text, '/', 8);
    text[1] = 'a';
    expect_resolved("http://a/sse", text, NULL);
}

static void
without_memory_it_fails(void **state)
{
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    test_mem_init(&mem);
    mem.fail_at = 1;
    mcpi_buf_init(&buf, &mem.allocator, 65536);
    assert_int_equal(mcpi_http_url_resolve(&buf, "http://a/", "b", 1), MCP_E_NOMEM);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

static void
what_is_shown_of_a_URL_has_no_secrets(void **state)
{
    static const struct {
        const char *url, *path, *whole;
    } cases[] = {
        {"http://a/mcp", "/mcp", "http://a:80/mcp"},
        {"https://a.b:8443/x/y?key=secret", "/x/y", "https://a.b:8443/x/y"},
        {"http://user:secret@a/mcp#part", "/mcp", "http://a:80/mcp"},
        {"http://[::1]:8?key=secret", "/", "http://[::1]:8/"},
        {"nonsense", "?", "?"},
    };
    char shown[64], small[4];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(
            mcpi_http_url_show(cases[i].url, false, shown, sizeof(shown)),
            cases[i].path);
        assert_string_equal(
            mcpi_http_url_show(cases[i].url, true, shown, sizeof(shown)),
            cases[i].whole);
    }
    assert_string_equal(mcpi_http_url_show("http://a/mcp", false, small, sizeof(small)),
                        "/mc");
}

TEST_MAIN(TEST(a_URL_of_HTTP_has_a_scheme_and_a_host),
          TEST(a_reference_is_taken_beside_its_base),
          TEST(D23_a_whole_URL_must_be_of_the_same_origin),
          TEST(what_is_no_reference_is_refused), TEST(too_long_is_refused),
          TEST(without_memory_it_fails), TEST(what_is_shown_of_a_URL_has_no_secrets))
