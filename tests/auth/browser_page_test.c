/* browser_page_test.c - what a browser asks of us when it comes back */
#include "auth/browser_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define HOST "Host: 127.0.0.1:4321\r\n"
#define GOOD "?code=abc&state=xyz"

static const struct mcpi_page_rules common = {
    .host = "127.0.0.1:4321", .path = "/callback", .state = "xyz"};

/* The same with memory. */
static struct mcpi_page_rules
rules_with(struct test_mem *mem, struct mcpi_page_rules rules)
{
    test_mem_init(mem);
    rules.mem = &mem->allocator;
    return rules;
}

/* Of a copy of just that size, so that a sanitizer sees who reads beyond it. */
static enum mcpi_page
judge(const char *head, size_t len, char query[256])
{
    struct test_mem mem;
    struct mcpi_page_rules rules = rules_with(&mem, common);
    char *copy = malloc(len > 0 ? len : 1);
    const char *at = NULL;
    enum mcpi_page page;
    size_t query_len = 0;

    assert_non_null(copy);
    memcpy(copy, head, len);
    page = mcpi_page_judge(&rules, copy, len, &at, &query_len);
    if (page == MCPI_PAGE_DONE)
        snprintf(query, 256, "%.*s", (int)query_len, at);
    else
        assert_null(at);
    free(copy);
    test_mem_done(&mem);
    return page;
}

static void
assert_judged(const char *head, enum mcpi_page expected)
{
    char query[256] = "";
    enum mcpi_page page = judge(head, strlen(head), query);

    if (page != expected)
        fail_msg("%d instead of %d: %s", page, expected, head);
}

static void
an_answer_is_a_state_and_a_code_or_an_error(void **state)
{
    static const struct {
        const char *query;
        enum mcpi_page page;
    } cases[] = {
        {"?code=abc&state=xyz", MCPI_PAGE_DONE},
        {"?state=xyz&iss=https%3A%2F%2Fa&code=abc", MCPI_PAGE_DONE},
        {"?error=access_denied&state=xyz", MCPI_PAGE_DONE},
        {"?&&state=xyz&code=y&", MCPI_PAGE_DONE},
        {"?code=a?b&state=x%79z", MCPI_PAGE_DONE},
        {"", MCPI_PAGE_BAD},
        {"?", MCPI_PAGE_BAD},
        {"?code=abc", MCPI_PAGE_BAD},
        {"?code=abc&state=xy", MCPI_PAGE_BAD},
        {"?code=abc&state=xyzz", MCPI_PAGE_BAD},
        {"?code=abc&state=XYZ", MCPI_PAGE_BAD},
        {"?code=abc&state=xya", MCPI_PAGE_BAD},
        {"?code=abc&state=xyz&state=xyz", MCPI_PAGE_BAD},
        {"?code=abc&state=xyz&st%61te=abc", MCPI_PAGE_BAD},
        {"?code=abc&state=xyz%00", MCPI_PAGE_BAD},
        {"?code=abc&state=xyz%", MCPI_PAGE_BAD},
        {"?error=abc&state=", MCPI_PAGE_BAD},
        {"?state=xyz", MCPI_PAGE_BAD},
        {"?code=&state=", MCPI_PAGE_BAD},
        {"?code&state", MCPI_PAGE_BAD},
        {"?xcode=abc&state=xyz", MCPI_PAGE_BAD},
        {"?codex=abc&state=xyz", MCPI_PAGE_BAD},
        {"?error_description=abc&state=xyz", MCPI_PAGE_BAD},
    };
    char head[256], query[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(head, sizeof head, "GET /callback%s HTTP/1.1\r\n" HOST "\r\n",
                 cases[i].query);
        assert_judged(head, cases[i].page);
        if (judge(head, strlen(head), query) == MCPI_PAGE_DONE)
            assert_string_equal(query, cases[i].query);
    }
}

static void
only_our_path_by_get_is_one(void **state)
{
    (void)state;
    assert_judged("GET /favicon.ico HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_ABSENT);
    assert_judged("GET /" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_ABSENT);
    assert_judged("GET /callback/" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_ABSENT);
    assert_judged("GET /Callback" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_ABSENT);
    assert_judged("GET /%63allback" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_ABSENT);
    assert_judged("HEAD /callback" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_METHOD);
    assert_judged("POST /callback" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_METHOD);
    assert_judged("get /callback" GOOD " HTTP/1.1\r\n" HOST "\r\n", MCPI_PAGE_METHOD);
}

static void
who_means_another_host_is_elsewhere(void **state)
{
    static const char *const hosts[] = {"evil.example:4321",
                                        "evil.example",
                                        "127.0.0.1",
                                        "127.0.0.1:4322",
                                        "127.0.0.1:43210",
                                        "localhost:4321",
                                        "127.0.0.1:4321.evil.example",
                                        "",
                                        "a@127.0.0.1:4321",
                                        NULL};
    char head[256];

    (void)state;
    for (int i = 0; hosts[i]; i++) {
        snprintf(head, sizeof head,
                 "GET /callback" GOOD " HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
        assert_judged(head, MCPI_PAGE_ELSEWHERE);
    }
    assert_judged("GET /callback" GOOD
                  " HTTP/1.1\r\nA: b\r\nhOST:\t 127.0.0.1:4321 \r\n"
                  "C:\r\n\r\n",
                  MCPI_PAGE_DONE);
}

static void
the_port_of_http_need_not_be_named(void **state)
{
    static const char *const hosts[] = {"localhost", "LOCALHOST:80"};
    struct mcpi_page_rules plain = {
        .host = "localhost:80", .path = "/c", .state = "xyz"};
    const char *query;
    struct test_mem mem;
    char head[256];
    size_t len;

    (void)state;
    plain = rules_with(&mem, plain);
    for (int i = 0; i < 2; i++) {
        snprintf(head, sizeof head, "GET /c" GOOD " HTTP/1.1\r\nHost: %s\r\n\r\n",
                 hosts[i]);
        assert_int_equal(mcpi_page_judge(&plain, head, strlen(head), &query, &len),
                         MCPI_PAGE_DONE);
    }
    test_mem_done(&mem);
}

static void
without_a_state_to_expect_nothing_is_an_answer(void **state)
{
    static const char *const queries[] = {
        GOOD, "?code=a&state=", "?code=a&state=(null)", "?code=a"};
    struct mcpi_page_rules early = common;
    const char *query = NULL;
    struct test_mem mem;
    char head[256];
    size_t len;

    (void)state;
    early.state = NULL;
    early = rules_with(&mem, early);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        snprintf(head, sizeof head, "GET /callback%s HTTP/1.1\r\n" HOST "\r\n",
                 queries[i]);
        assert_int_equal(mcpi_page_judge(&early, head, strlen(head), &query, &len),
                         MCPI_PAGE_BAD);
        assert_null(query);
    }
    test_mem_done(&mem);
}

static void
flow(struct test_mem *mem, void *user)
{
    static const char head[] = "GET /callback" GOOD " HTTP/1.1\r\n" HOST "\r\n";
    struct mcpi_page_rules rules = common;
    enum mcpi_page page;
    const char *query;
    size_t len;

    (void)user;
    rules.mem = &mem->allocator;
    page = mcpi_page_judge(&rules, head, sizeof head - 1, &query, &len);
    assert_int_equal(page, atomic_load(&mem->failed) ? MCPI_PAGE_BAD : MCPI_PAGE_DONE);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, NULL), 1);
}

static void
what_is_not_http_is_bad(void **state)
{
    static const char *const heads[] = {
        "\r\n\r\n",
        "hello\r\n\r\n",
        "GET\r\n\r\n",
        "GET /callback" GOOD "\r\n\r\n",
        "GET /callback" GOOD " HTTP/1.1\r\n\r\n", /* no host */
        "GET /callback" GOOD " HTTP/1.1\r\n" HOST HOST "\r\n",
        "GET /callback" GOOD " HTTP/2.0\r\n" HOST "\r\n",
        "GET /callback" GOOD " HTTP/1.1 \r\n" HOST "\r\n",
        "GET  /callback" GOOD " HTTP/1.1\r\n" HOST "\r\n",
        " GET /callback" GOOD " HTTP/1.1\r\n" HOST "\r\n",
        "GET /callback ?code=a&state=b HTTP/1.1\r\n" HOST "\r\n",
        "GET http://127.0.0.1:4321/callback" GOOD " HTTP/1.1\r\n" HOST "\r\n",
        "GET callback" GOOD " HTTP/1.1\r\n" HOST "\r\n",
        "GET /callback" GOOD "#x HTTP/1.1\r\n" HOST "\r\n",
        "GET /callback" GOOD "\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n",
        "GET /callback" GOOD "\t HTTP/1.1\r\n" HOST "\r\n",
        "GET /callback" GOOD "\n HTTP/1.1\r\n" HOST "\r\n",
        "GET /callback" GOOD " HTTP/1.1\r\n" HOST "no colon\r\n\r\n",
        "GET /callback" GOOD " HTTP/1.1\r\n" HOST " folded: x\r\n\r\n",
        "GET /callback" GOOD " HTTP/1.1\r\n" HOST "Space : x\r\n\r\n",
        "GET /callback" GOOD " HTTP/1.1\r\n" HOST ": x\r\n\r\n",
        "G\x01T /callback",
        "\x16\x03\x01\x02",
        NULL};

    (void)state;
    for (int i = 0; heads[i]; i++)
        assert_judged(heads[i], MCPI_PAGE_BAD);
}

static void
a_zero_byte_is_bad(void **state)
{
    static const char head[] = "GET /callback?code=a\0b&state=c HTTP/1.1\r\n" HOST
                               "\r\n";
    char query[256];

    (void)state;
    assert_int_equal(judge(head, sizeof head - 1, query), MCPI_PAGE_BAD);
    assert_int_equal(judge("\0", 1, query), MCPI_PAGE_BAD);
}

static void
nothing_is_judged_before_its_end(void **state)
{
    static const char head[] = "GET /callback" GOOD " HTTP/1.1\r\n" HOST "A: b\r\n\r\n";
    char query[256];

    (void)state;
    for (size_t len = 0; len < sizeof head - 1; len++)
        assert_int_equal(judge(head, len, query), MCPI_PAGE_NONE);
    assert_int_equal(judge(head, sizeof head - 1, query), MCPI_PAGE_DONE);
    assert_judged("GET /callback" GOOD " HTTP/1.1\r\n" HOST "\r\nand \x01 more",
                  MCPI_PAGE_DONE);
}

static void
a_head_has_a_longest_length(void **state)
{
    char *head = malloc(MCPI_PAGE_HEAD_MAX + 1), query[256];

    (void)state;
    assert_non_null(head);
    memset(head, 'x', MCPI_PAGE_HEAD_MAX);
    assert_int_equal(judge(head, MCPI_PAGE_HEAD_MAX - 1, query), MCPI_PAGE_NONE);
    assert_int_equal(judge(head, MCPI_PAGE_HEAD_MAX, query), MCPI_PAGE_LONG);
    free(head);
}

static void
pages_are_not_kept_nor_shown_elsewhere(void **state)
{
    static const struct {
        enum mcpi_page page;
        const char *begins;
    } cases[] = {
        {MCPI_PAGE_DONE, "HTTP/1.1 200 "},     {MCPI_PAGE_OVER, "HTTP/1.1 410 "},
        {MCPI_PAGE_BAD, "HTTP/1.1 400 "},      {MCPI_PAGE_ABSENT, "HTTP/1.1 404 "},
        {MCPI_PAGE_METHOD, "HTTP/1.1 405 "},   {MCPI_PAGE_LONG, "HTTP/1.1 431 "},
        {MCPI_PAGE_ELSEWHERE, "HTTP/1.1 421 "}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = mcpi_page_text(cases[i].page);

        assert_memory_equal(text, cases[i].begins, strlen(cases[i].begins));
        assert_non_null(strstr(text, "\r\nCache-Control: no-store\r\n"));
        assert_non_null(
            strstr(text, "\r\nContent-Security-Policy: default-src 'none'"));
        assert_non_null(strstr(text, "\r\nReferrer-Policy: no-referrer\r\n"));
        assert_non_null(strstr(text, "\r\nX-Content-Type-Options: nosniff\r\n"));
        assert_non_null(strstr(text, "\r\nConnection: close\r\n\r\n<!DOCTYPE html>"));
        assert_null(strstr(text, "<script"));
    }
    assert_non_null(strstr(mcpi_page_text(MCPI_PAGE_METHOD), "\r\nAllow: GET\r\n"));
    assert_non_null(strstr(mcpi_page_text(MCPI_PAGE_DONE), "close this window"));
}

TEST_MAIN(TEST(an_answer_is_a_state_and_a_code_or_an_error),
          TEST(only_our_path_by_get_is_one), TEST(who_means_another_host_is_elsewhere),
          TEST(the_port_of_http_need_not_be_named),
          TEST(without_a_state_to_expect_nothing_is_an_answer),
          TEST(each_allocation_may_fail), TEST(what_is_not_http_is_bad),
          TEST(a_zero_byte_is_bad), TEST(nothing_is_judged_before_its_end),
          TEST(a_head_has_a_longest_length),
          TEST(pages_are_not_kept_nor_shown_elsewhere))
