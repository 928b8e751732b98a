/* run/curl_url_test.c - URLs, and where redirects go */
#include "run/curl_url.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

#include "run/curl.h"
#include "support/test.h"

static void
urls_of_http_pass(void **state)
{
    (void)state;
    assert_int_equal(mcpi_curl_url_check("http://a"), 0);
    assert_int_equal(mcpi_curl_url_check("HTTPS://A.b:444/c?d#e"), 0);
    assert_int_equal(mcpi_curl_url_check("http://[::1]:8080/mcp"), 0);
    assert_int_equal(mcpi_curl_url_check("http://user:word@host/"), 0);
}

static void
others_do_not(void **state)
{
    static const char *const urls[] = {
        "",
        "a",
        "/mcp",
        "//a/mcp",
        "localhost:8080/mcp",
        "ftp://a/",
        "ws://a/",
        "file:///a",
        "http://a:bc/",
        "http://a:70000/",
        "http://a\n",
        "http://\x01",
        "http://a b/",
        "stdio:",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++)
        if (mcpi_curl_url_check(urls[i]) != MCP_E_INVAL)
            fail_msg("%s", urls[i]);
}

static void
each_step(struct test_mem *mem, void *user)
{
    struct mcpi_curl_url *url;

    (void)user;
    if (mcpi_curl_url_new(&mem->allocator, "http://a/mcp", &url) == 0)
        mcpi_curl_url_unref(url);
}

static void
one_is_read_if_there_is_memory(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(each_step, NULL), 1);
}

static void
one_is_freed_by_the_last_who_has_it(void **state)
{
    struct mcpi_curl_url *url;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(mcpi_curl_url_new(&mem.allocator, "ftp://a/", &url), MCP_E_INVAL);
    assert_int_equal(mem.live, 0);
    assert_int_equal(mcpi_curl_url_new(&mem.allocator, "http://a/mcp", &url), 0);
    assert_ptr_equal(mcpi_curl_url_ref(url), url);
    mcpi_curl_url_unref(url);
    assert_string_equal(url->text, "http://a/mcp");
    mcpi_curl_url_unref(url);
    test_mem_done(&mem);
}

static void
one_knows_where_it_goes(void **state)
{
    static const struct {
        const char *url;
        enum mcpi_address_kind near;
        unsigned port;
        bool direct;
    } cases[] = {{"http://a.test/", MCPI_ADDRESS_ANY, 80, false},
                 {"https://a.test", MCPI_ADDRESS_ANY, 443, false},
                 {"https://a.test:65535/x", MCPI_ADDRESS_ANY, 65535, false},
                 {"http://u:p@127.1:81/", MCPI_ADDRESS_LOOPBACK, 81, true},
                 {"HTTP://[::1]:81/", MCPI_ADDRESS_LOOPBACK, 81, true},
                 {"http://127.255.255.254/", MCPI_ADDRESS_LOOPBACK, 80, true},
                 {"http://a.LocalHost./", MCPI_ADDRESS_LOOPBACK, 80, true},
                 {"https://localhost/", MCPI_ADDRESS_LOOPBACK, 443, false},
                 {"http://localhost.test/", MCPI_ADDRESS_ANY, 80, false},
                 {"http://alocalhost/", MCPI_ADDRESS_ANY, 80, false},
                 {"http://[fd00::1]:82/", MCPI_ADDRESS_PRIVATE, 82, false},
                 {"http://[fe80::1%25eth0]/", MCPI_ADDRESS_SPECIAL, 80, false},
                 {"http://%31%32%37.0.0.1/", MCPI_ADDRESS_LOOPBACK, 80, true},
                 {"https://8.8.8.8/?127.0.0.1", MCPI_ADDRESS_PUBLIC, 443, false}};
    struct mcpi_curl_url *url;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mcpi_curl_url_new(&mem.allocator, cases[i].url, &url), 0);
        assert_int_equal(url->near, cases[i].near);
        assert_int_equal(url->port, cases[i].port);
        assert_int_equal(url->direct, cases[i].direct);
        mcpi_curl_url_unref(url);
    }
    test_mem_done(&mem);
}

/* target NULL: not followed. */
static const struct {
    const char *url, *location, *target;
    bool foreign;
} redirects[] = {
    {"http://a/mcp", "/x", "http://a/x", false},
    {"http://a/mcp", "x?y#z", "http://a/x?y#z", false},
    {"http://a/b/mcp", "../x", "http://a/x", false},
    {"http://a/mcp?q", "?r", "http://a/mcp?r", false},
    {"http://a/mcp", "http://A:80/x", "http://A:80/x", false},
    {"https://a:443/mcp", "https://a/x", "https://a/x", false},
    {"http://a/mcp", "http://a:8080/x", "http://a:8080/x", true},
    {"http://a/mcp", "https://a/x", "https://a/x", true},
    {"http://a/mcp", "https://a:80/x", "https://a:80/x", true},
    {"https://a/mcp", "http://a:443/x", "http://a:443/x", true},
    {"http://a/mcp", "//b/x", "http://b/x", true},
    {"http://a/mcp", "http://a.b/x", "http://a.b/x", true},
    {"http://a/mcp", "http://a@b/x", "http://a@b/x", true},
    {"http://a/mcp", "ftp://a/x", NULL, false},
    {"http://a/mcp", "javascript:alert(1)", NULL, false},
    {"http://a/mcp", "http://:80/", NULL, false},
};

static void
a_target_is_seen_from_its_url(void **state)
{
    char why[128] = "", *target;
    bool foreign;
    int r;

    (void)state;
    for (size_t i = 0; i < sizeof(redirects) / sizeof(redirects[0]); i++) {
        struct mcpi_curl_redirect redirect = {.url = redirects[i].url,
                                              .location = redirects[i].location,
                                              .status = 307,
                                              .follow_any = true};

        target = NULL;
        r = mcpi_curl_url_redirect(&redirect, &target, &foreign, why, sizeof(why));
        if (!redirects[i].target) {
            if (r == 0)
                print_message("%s\n", target);
            assert_int_equal(r, MCP_E_PROTO);
            assert_non_null(strstr(why, redirects[i].location));
            continue;
        }
        assert_int_equal(r, 0);
        assert_string_equal(target, redirects[i].target);
        assert_int_equal(foreign, redirects[i].foreign);
        curl_free(target);
        redirect.follow_any = false;
        r = mcpi_curl_url_redirect(&redirect, &target, &foreign, why, sizeof(why));
        assert_int_equal(r, redirects[i].foreign ? MCP_E_PROTO : 0);
        if (r == 0)
            curl_free(target);
        else
            assert_non_null(strstr(why, redirects[i].target));
    }
}

static void
some_are_not_followed_at_all(void **state)
{
    struct mcpi_curl_redirect redirect = {.url = "http://a/", .location = "/x"};
    char why[32] = "", *target;
    bool foreign;

    (void)state;
    redirect.status = 303;
    assert_int_equal(
        mcpi_curl_url_redirect(&redirect, &target, &foreign, why, sizeof(why)),
        MCP_E_PROTO);
    assert_int_equal(strlen(why), sizeof(why) - 1); /* cut */
    redirect.status = 308;
    redirect.count = MCPI_CURL_REDIRECTS_MAX;
    assert_int_equal(
        mcpi_curl_url_redirect(&redirect, &target, &foreign, why, sizeof(why)),
        MCP_E_PROTO);
    redirect.count--;
    assert_int_equal(
        mcpi_curl_url_redirect(&redirect, &target, &foreign, why, sizeof(why)), 0);
    curl_free(target);
}

static void
these_statuses_are_redirects(void **state)
{
    (void)state;
    for (long status = 100; status < 600; status++)
        assert_int_equal(mcpi_curl_url_is_redirect(status),
                         status == 301 || status == 302 || status == 303 ||
                             status == 307 || status == 308);
}

TEST_MAIN(TEST(urls_of_http_pass), TEST(others_do_not),
          TEST(one_is_read_if_there_is_memory),
          TEST(one_is_freed_by_the_last_who_has_it), TEST(one_knows_where_it_goes),
          TEST(a_target_is_seen_from_its_url), TEST(some_are_not_followed_at_all),
          TEST(these_statuses_are_redirects))
