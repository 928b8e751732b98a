/* htu_test.c - the URL that a proof is for: which are the same */
#include "auth/htu.h"

#include <string.h>

#include "support/test.h"

static bool
same(const char *a, const char *b)
{
    bool there = mcpi_htu_same(a, strlen(a), b, strlen(b));

    assert_int_equal(mcpi_htu_same(b, strlen(b), a, strlen(a)), there);
    return there;
}

static void
a_url_is_the_same_as_itself(void **state)
{
    (void)state;
    assert_true(same("https://a.example/mcp", "https://a.example/mcp"));
    assert_true(same("http://127.0.0.1:8080/a/b", "http://127.0.0.1:8080/a/b"));
    assert_true(same("https://[::1]:8443/", "https://[::1]:8443/"));
    assert_true(same("https://[2001:db8::a]/", "https://[2001:DB8::A]:443/"));
}

static void
scheme_and_host_have_no_case(void **state)
{
    (void)state;
    assert_true(same("HTTPS://A.Example/mcp", "https://a.example/mcp"));
    assert_false(same("https://a.example/MCP", "https://a.example/mcp"));
}

static void
the_port_of_the_scheme_is_none(void **state)
{
    (void)state;
    assert_true(same("https://a.example:443/x", "https://a.example/x"));
    assert_true(same("http://a.example:80/x", "http://a.example/x"));
    assert_true(same("http://a.example:/x", "http://a.example/x"));
    assert_true(same("http://a.example:0080/x", "http://a.example/x"));
    assert_false(same("https://a.example:80/x", "https://a.example/x"));
    assert_false(same("http://a.example:443/x", "https://a.example/x"));
    assert_false(same("https://a.example:8443/x", "https://a.example/x"));
}

static void
query_and_fragment_do_not_count(void **state)
{
    (void)state;
    assert_true(same("https://a.example/x?y=z", "https://a.example/x"));
    assert_true(same("https://a.example/x#y?z", "https://a.example/x?u#v"));
    assert_true(same("https://a.example?x/y", "https://a.example"));
    assert_true(same("https://a.example#@b/", "https://a.example/"));
    assert_int_equal(mcpi_htu_length("https://a/b?c#d", 15), 11);
    assert_int_equal(mcpi_htu_length("https://a/b#c?d", 15), 11);
    assert_int_equal(mcpi_htu_length("https://a/b", 11), 11);
}

static void
no_path_is_the_root(void **state)
{
    (void)state;
    assert_true(same("https://a.example", "https://a.example/"));
    assert_false(same("https://a.example/x", "https://a.example/x/"));
    assert_false(same("https://a.example/x", "https://a.example/"));
    assert_false(same("https://a.example/x/../y", "https://a.example/y"));
}

static void
another_place_is_another(void **state)
{
    (void)state;
    assert_false(same("http://a.example/x", "https://a.example/x"));
    assert_false(same("https://b.example/x", "https://a.example/x"));
    assert_false(same("https://a.example.evil/x", "https://a.example/x"));
    assert_false(same("https://a.example/x/y", "https://a.example/x"));
}

static void
what_is_no_url_is_not_even_itself(void **state)
{
    static const char *const bad[] = {"",
                                      "/",
                                      "x",
                                      "https",
                                      "https:",
                                      "https:/a",
                                      "https://",
                                      "https:///x",
                                      "ftp://a/",
                                      "//a/x",
                                      "https://:1",
                                      "https://a:x/",
                                      "https://a:65536/",
                                      "https://a:1:2/",
                                      "https://a:99999999999999999999/",
                                      "https://u@a/",
                                      "https://u:p@a/",
                                      "https://[::1]x/",
                                      "https://[::1]80/",
                                      " https://a/",
                                      "https://a:-1/"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (same(bad[i], bad[i]))
            fail_msg("taken: %s", bad[i]);
    }
}

static void
a_nul_does_not_end_it(void **state)
{
    static const char nul[] = "https://a.example/x\0y", host[] = "https://a\0.example/";

    (void)state;
    assert_false(mcpi_htu_same(nul, sizeof(nul) - 1, nul, strlen(nul)));
    assert_true(mcpi_htu_same(nul, sizeof(nul) - 1, nul, sizeof(nul) - 1));
    assert_false(mcpi_htu_same(host, sizeof(host) - 1, "https://a\0.exampl3/",
                               sizeof(host) - 1));
}

TEST_MAIN(TEST(a_url_is_the_same_as_itself), TEST(scheme_and_host_have_no_case),
          TEST(the_port_of_the_scheme_is_none), TEST(query_and_fragment_do_not_count),
          TEST(no_path_is_the_root), TEST(another_place_is_another),
          TEST(what_is_no_url_is_not_even_itself), TEST(a_nul_does_not_end_it))
