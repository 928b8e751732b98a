/* place_test.c - URLs of authorization: which may be used, and which are the same */
#include "auth/place.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- reading ------------------------------------------------------------- */

static const struct {
    const char *url;
    bool tls;
    const char *host;
    int port;
    const char *path, *query;
} parts[] = {
    {"https://a.example", true, "a.example", 443, "", ""},
    {"http://a.example", false, "a.example", 80, "", ""},
    {"https://a.example/", true, "a.example", 443, "/", ""},
    {"https://a.example:8443/mcp?x=1&y=/?", true, "a.example", 8443, "/mcp",
     "?x=1&y=/?"},
    {"https://a.example?x", true, "a.example", 443, "", "?x"},
    {"HTTPS://A.Example:1/B", true, "A.Example", 1, "/B", ""},
    {"hTTp://a.example:65535//b//", false, "a.example", 65535, "//b//", ""},
    {"https://a.example:00443/", true, "a.example", 443, "/", ""},
    {"http://[::1]:3000/cb", false, "[::1]", 3000, "/cb", ""},
    {"https://[2001:DB8::192.0.2.1]", true, "[2001:DB8::192.0.2.1]", 443, "", ""},
    {"https://a-b_c.1/~%20@:", true, "a-b_c.1", 443, "/~%20@:", ""},
    {"https://m\xC3\xBCnchen.example", true, "m\xC3\xBCnchen.example", 443, "", ""},
};

static void
is_text(const char *at, size_t len, const char *expected)
{
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(at, expected, len);
}

static void
a_url_has_parts(void **state)
{
    struct mcpi_place place;

    (void)state;
    for (size_t i = 0; i < COUNT(parts); i++) {
        if (!mcpi_place_read(parts[i].url, &place))
            fail_msg("%s", parts[i].url);
        assert_int_equal(place.tls, parts[i].tls);
        assert_int_equal(place.port, parts[i].port);
        is_text(place.host, place.host_len, parts[i].host);
        is_text(place.path, place.path_len, parts[i].path);
        is_text(place.query, place.query_len, parts[i].query);
    }
}

static const char *const no_urls[] = {
    "",
    "/",
    "a.example",
    "//a.example",
    "https:",
    "https:/a.example",
    "https://",
    "https:///a",
    "https://?a",
    "https://:443/",
    "ftp://a.example",
    "httpss://a.example",
    "javascript:alert(1)",
    "javascript://a.example/%0aalert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    " https://a.example",
    "https://a.example ",
    "https://a.example/a b",
    "https://a.example/\n",
    "https://a.example/\x7f",
    "https://a.example/\x01",
    "https://a.example/#",
    "https://a.example#b",
    "https://a.example?a#b",
    "https://a.example\\b",
    "https://a.example/\\b",
    "https://user@a.example/",
    "https://user:pass@a.example/",
    "https://@a.example/",
    "https://a.example:80@b.example/",
    "https://a%2eexample/",
    "https://a.example:/",
    "https://a.example:0/",
    "https://a.example:65536/",
    "https://a.example:99999/",
    "https://a.example:000443/",
    "https://a.example:18446744073709551617/",
    "https://a.example:+1/",
    "https://a.example:8o/",
    "https://a.example:1:2/",
    "https://a,b/",
    "https://a*b/",
    "https://[::1",
    "https://[]/",
    "https://[::1]a/",
    "https://[::1]]/",
    "https://[fe80::1%25eth0]/",
    "https://[::g]/",
    "https://::1/",
};

static void
what_is_no_url_of_ours_is_not_read(void **state)
{
    struct mcpi_place place = {.port = 77};

    (void)state;
    for (size_t i = 0; i < COUNT(no_urls); i++) {
        if (mcpi_place_read(no_urls[i], &place))
            fail_msg("%s", no_urls[i]);
        assert_false(mcpi_place_is_safe(no_urls[i]));
        assert_false(mcpi_place_covers(no_urls[i], no_urls[i]));
        assert_false(mcpi_place_same_origin(no_urls[i], no_urls[i]));
    }
    assert_false(mcpi_place_read(NULL, &place));
    assert_false(mcpi_place_is_safe(NULL));
    assert_int_equal(place.port, 77);
}

static void
a_url_has_a_longest_length(void **state)
{
    char url[MCPI_PLACE_MAX + 2];
    struct mcpi_place place;

    (void)state;
    memset(url, 'a', sizeof(url));
    memcpy(url, "https://a.example/", 18);
    url[MCPI_PLACE_MAX] = '\0';
    assert_true(mcpi_place_read(url, &place));
    url[MCPI_PLACE_MAX] = 'a';
    url[MCPI_PLACE_MAX + 1] = '\0';
    assert_false(mcpi_place_read(url, &place));
}

/* ---- safe ---------------------------------------------------------------- */

static void
https_and_loopback_are_safe(void **state)
{
    static const char *const safe[] = {
        "https://a.example/token",
        "HTTPS://a.example",
        "https://10.0.0.1/",
        "http://localhost",
        "http://LocalHost:3000/token",
        "http://app.localhost/",
        "http://a.b.localhost:1/",
        "http://127.0.0.1:80/",
        "http://127.255.255.255",
        "http://127.0.0.0/x?y",
        "http://[::1]",
        "http://[::1]:8080/token",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(safe); i++)
        if (!mcpi_place_is_safe(safe[i]))
            fail_msg("%s", safe[i]);
}

static void
what_only_looks_like_loopback_is_not_safe(void **state)
{
    static const char *const unsafe[] = {
        "http://a.example/token",
        "http://10.0.0.1/",
        "http://128.0.0.1/",
        "http://12.0.0.1/",
        "http://0.0.0.0/",
        "http://0/",
        "http://127.1/",
        "http://127.0.1/",
        "http://127/",
        "http://127.0.0.1./",
        "http://127.0.0.1.2/",
        "http://127.0.0.256/",
        "http://127.0.0.1111/",
        "http://127.0.0./",
        "http://127..0.1/",
        "http://127.0.0.01/",
        "http://0127.0.0.1/",
        "http://0177.0.0.1/",
        "http://0x7f.0.0.1/",
        "http://0x7f000001/",
        "http://2130706433/",
        "http://127.0.0.1.example.com/",
        "http://localhost.example.com/",
        "http://localhost./",
        "http://notlocalhost/",
        "http://.localhost/",
        "http://localhos/",
        "http://[::]/",
        "http://[::2]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://\357\275\214ocalhost/",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(unsafe); i++)
        if (mcpi_place_is_safe(unsafe[i]))
            fail_msg("%s", unsafe[i]);
}

/* ---- the same ------------------------------------------------------------ */

static void
an_origin_is_scheme_host_and_port(void **state)
{
    static const char *const same[][2] = {
        {"https://a.example", "https://a.example/b?c"},
        {"https://a.example:443", "HTTPS://A.EXAMPLE/"},
        {"http://a.example:80/x", "http://a.example"},
        {"http://[::1]:3000/", "http://[::1]:3000/b"},
    };
    static const char *const different[][2] = {
        {"https://a.example", "http://a.example"},
        {"https://a.example", "https://a.example:444"},
        {"https://a.example:80", "http://a.example:80"},
        {"https://a.example", "https://b.example"},
        {"https://a.example", "https://a.example.com"},
        {"https://a.example", "https://a.example."},
        {"http://[::1]", "http://127.0.0.1"},
        {"https://a.example", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(same); i++)
        assert_true(mcpi_place_same_origin(same[i][0], same[i][1]));
    for (size_t i = 0; i < COUNT(different); i++) {
        assert_false(mcpi_place_same_origin(different[i][0], different[i][1]));
        assert_false(mcpi_place_same_origin(different[i][1], different[i][0]));
    }
}

static void
a_resource_covers_itself_and_what_is_below(void **state)
{
    static const char *const rows[][2] = {
        {"https://a.example/mcp", "https://a.example/mcp"},
        {"https://a.example", "https://a.example/mcp"},
        {"https://a.example/", "https://a.example/mcp"},
        {"https://a.example", "https://a.example/"},
        {"https://a.example/", "https://a.example"},
        {"https://A.Example:443/mcp", "https://a.example/mcp"},
        {"https://a.example/a", "https://a.example/a/b"},
        {"https://a.example/a/", "https://a.example/a/b"},
        {"https://a.example/a/", "https://a.example/a"},
        {"https://a.example/a", "https://a.example/a/"},
        {"https://a.example/a", "https://a.example/a?x=1"},
        {"https://a.example/a?x=1", "https://a.example/a?x=1"},
        {"https://a.example/.a/b..", "https://a.example/.a/b../..c/..."},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!mcpi_place_covers(rows[i][0], rows[i][1]))
            fail_msg("%s %s", rows[i][0], rows[i][1]);
}

static void
a_resource_covers_nothing_else(void **state)
{
    static const char *const rows[][2] = {
        {"https://evil.example/mcp", "https://a.example/mcp"},
        {"http://a.example/mcp", "https://a.example/mcp"},
        {"https://a.example/mcp", "http://a.example/mcp"},
        {"https://a.example:8443/mcp", "https://a.example/mcp"},
        {"https://a.example/a", "https://a.example/ab"},
        {"https://a.example/a", "https://a.example/b"},
        {"https://a.example/a/c", "https://a.example/a/b"},
        {"https://a.example/a/b", "https://a.example/a"},
        {"https://a.example/A", "https://a.example/a"},
        {"https://a.example/%61", "https://a.example/a"},
        {"https://a.example//", "https://a.example/a"},
        {"https://a.example/a?x=1", "https://a.example/a"},
        {"https://a.example/a?x=1", "https://a.example/a?x=2"},
        {"https://a.example/a?", "https://a.example/a"},
        {"https://a.example/a", "https://a.example/a/../b"},
        {"https://a.example/a", "https://a.example/a/%2E%2e/b"},
        {"https://a.example/a", "https://a.example/a/.%2e"},
        {"https://a.example/a", "https://a.example/a/./b"},
        {"https://a.example/a/..", "https://a.example/a/../b"},
        {"https://a.example/..", "https://a.example/.."},
        {"https://a.example@evil.example/", "https://a.example/"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (mcpi_place_covers(rows[i][0], rows[i][1]))
            fail_msg("%s %s", rows[i][0], rows[i][1]);
}

/* ---- where documents are ------------------------------------------------- */

typedef int find_fn(struct mcpi_buf *into, const char *url);

/* What is found for a URL: so many, one a line. */
static void
found(find_fn *find, const char *url, const char *lines)
{
    struct mcpi_buf buf;
    int count = 0;

    mcpi_buf_init(&buf, NULL, 4 * MCPI_PLACE_MAX);
    for (const char *at = lines; *at; at++)
        count += *at == '\n';
    assert_int_equal(find(&buf, url), count);
    for (size_t i = 0; i < buf.len; i++)
        if (buf.data[i] == '\0')
            buf.data[i] = '\n';
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(buf.data, lines);
    mcpi_buf_done(&buf);
}

#define AT(rest) "https://a.example:8443/.well-known/" rest "\n"

static void
metadata_of_a_resource_is_below_its_path_then_at_the_root(void **state)
{
    find_fn *find = mcpi_place_resource_metadata;

    (void)state;
    found(find, "https://a.example:8443/public/mcp",
          AT("oauth-protected-resource/public/mcp") AT("oauth-protected-resource"));
    found(find, "https://a.example:8443/mcp/",
          AT("oauth-protected-resource/mcp/") AT("oauth-protected-resource"));
    found(find, "https://a.example:8443/mcp?k=v",
          AT("oauth-protected-resource/mcp?k=v") AT("oauth-protected-resource"));
    found(find, "https://a.example:8443", AT("oauth-protected-resource"));
    found(find, "https://a.example:8443/", AT("oauth-protected-resource"));
    found(find, "https://a.example:8443?k=v", AT("oauth-protected-resource"));
    found(find, "https://a.example:8443/?k=v", AT("oauth-protected-resource"));
    found(find, "http://[::1]:1/a",
          "http://[::1]:1/.well-known/oauth-protected-resource/a\n"
          "http://[::1]:1/.well-known/oauth-protected-resource\n");
}

static void
metadata_of_an_issuer_is_at_two_or_three_places(void **state)
{
    static const char tenant[] = AT("oauth-authorization-server/t/1")
        AT("openid-configuration/t/1") "https://a.example:8443/t/1/.well-known/"
                                       "openid-configuration\n";
    find_fn *find = mcpi_place_issuer_metadata;

    (void)state;
    found(find, "https://a.example:8443",
          AT("oauth-authorization-server") AT("openid-configuration"));
    found(find, "https://a.example:8443/",
          AT("oauth-authorization-server") AT("openid-configuration"));
    found(find, "https://a.example:8443//",
          AT("oauth-authorization-server") AT("openid-configuration"));
    found(find, "https://a.example:8443/t/1", tenant);
    found(find, "https://a.example:8443/t/1/", tenant);
}

static void
no_documents_are_about_what_is_no_url(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    for (size_t i = 0; i < COUNT(no_urls); i++) {
        assert_int_equal(mcpi_place_resource_metadata(&buf, no_urls[i]), MCP_E_INVAL);
        assert_int_equal(mcpi_place_issuer_metadata(&buf, no_urls[i]), MCP_E_INVAL);
    }
    assert_int_equal(mcpi_place_issuer_metadata(&buf, "https://a.example?b"),
                     MCP_E_INVAL);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
}

static void
what_does_not_fit_is_not_begun(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    MCPI_BUF_LITERAL(&buf, "kept");
    assert_int_equal(mcpi_place_issuer_metadata(&buf, "https://a.example/tenant"),
                     MCP_E_LIMIT);
    assert_int_equal(buf.len, 4);
    mcpi_buf_clear(&buf);
    assert_int_equal(mcpi_place_resource_metadata(&buf, "https://a.example/tenant"),
                     MCP_E_LIMIT);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_buf buf;
    int r;

    (void)user;
    mcpi_buf_init(&buf, &mem->allocator, 4 * MCPI_PLACE_MAX);
    r = mcpi_place_issuer_metadata(&buf, "https://a.example/tenant");
    assert_true(r == 3 || (r == MCP_E_NOMEM && buf.len == 0));
    mcpi_buf_done(&buf);
}

static void
any_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 0);
}

TEST_MAIN(TEST(a_url_has_parts), TEST(what_is_no_url_of_ours_is_not_read),
          TEST(a_url_has_a_longest_length), TEST(https_and_loopback_are_safe),
          TEST(what_only_looks_like_loopback_is_not_safe),
          TEST(an_origin_is_scheme_host_and_port),
          TEST(a_resource_covers_itself_and_what_is_below),
          TEST(a_resource_covers_nothing_else),
          TEST(metadata_of_a_resource_is_below_its_path_then_at_the_root),
          TEST(metadata_of_an_issuer_is_at_two_or_three_places),
          TEST(no_documents_are_about_what_is_no_url),
          TEST(what_does_not_fit_is_not_begun), TEST(any_allocation_may_fail))
