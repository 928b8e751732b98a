/* json/pattern_test.c - proves json/pattern.c: what is found, and what is given up */
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "json/pattern.h"

static int
find_n(const char *pattern, const char *text, size_t len)
{
    struct mcpi_pattern *p = NULL;
    mcp_error err;
    int r;

    if (mcpi_pattern_new(NULL, pattern, strlen(pattern), &p, &err) < 0)
        fail_msg("%s: %s", pattern, err.message);
    r = mcpi_pattern_find(p, text, len);
    mcpi_pattern_free(p);
    return r;
}

static int
find(const char *pattern, const char *text)
{
    return find_n(pattern, text, strlen(text));
}

static void
pattern_is_found_anywhere_unless_anchored(void **state)
{
    (void)state;
    assert_int_equal(find("b", "abc"), 1);
    assert_int_equal(find("^b", "abc"), 0);
    assert_int_equal(find("^$", ""), 1);
    assert_int_equal(find_n("^a.b$", "a\0b", 3), 1);
}

static void
patterns_read_as_ecma_262(void **state)
{
    (void)state;
    assert_int_equal(find("a$", "a\n"), 0);         /* $ is the very end */
    assert_int_equal(find("^\\d$", "\xD9\xA3"), 0); /* an Arabic digit */
    assert_int_equal(find("^\\u00e4\\u{1F600}$", "\xC3\xA4\xF0\x9F\x98\x80"), 1);
    assert_int_equal(find("^.$", "\xF0\x9F\x98\x80"), 1); /* one character */
    assert_int_equal(find("[]", "a"), 0);                 /* nothing is in it */
    assert_int_equal(find("^\\p{L}+$", "\xC3\xA4z"), 1);
    assert_int_equal(find("^(?:(a)|b)\\1$", "b"), 1); /* a group not met is empty */
}

static void
what_is_no_pattern_is_refused_with_its_place(void **state)
{
    struct mcpi_pattern *p = NULL;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(mcpi_pattern_new(NULL, "ab(", 3, &p, &err), MCP_E_INVAL);
    assert_null(p);
    assert_non_null(strstr(err.message, "parenthesis"));
    assert_non_null(strstr(err.message, "byte 3"));
    assert_int_equal(mcpi_pattern_new(NULL, ".(", 2, &p, &err), MCP_E_INVAL);
    assert_null(strstr(err.message, "byte")); /* not that of the translation */
    assert_int_equal(mcpi_pattern_new(NULL, "\\C", 2, &p, NULL), MCP_E_INVAL);
}

/* Patterns that ECMA-262 has and PCRE2 cannot search for are said to be that. */
static void
what_is_not_supported_is_named(void **state)
{
    static const char *const cases[][2] = {
        {"(?<=a*)b", "a lookbehind of variable length"},
        {".(?<!a|bc+)d", "a lookbehind of variable length"},
        {"a{65536}", "a repetition of more than 65535 times"},
        {"(((a{999}){999}){999}){999}", "repetitions that make it too large"},
        {"\\uD83D", "half of a surrogate pair"},
    };
    struct mcpi_pattern *p = NULL;
    mcp_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int r = mcpi_pattern_new(NULL, cases[i][0], strlen(cases[i][0]), &p, &err);

        if (r != MCP_E_LIMIT || strncmp(err.message, "a pattern with ", 15) != 0 ||
            !strstr(err.message, cases[i][1]) || !strstr(err.message, "not supported"))
            fail_msg("%s: %d %s", cases[i][0], r, err.message);
    }
}

static void
names_and_depths_beyond_those_of_pcre_are_named(void **state)
{
    char deep[602], name[304] = "(?<";
    struct mcpi_pattern *p = NULL;
    mcp_error err;

    (void)state;
    memset(deep, '(', 301);
    memset(deep + 301, ')', 301);
    assert_int_equal(mcpi_pattern_new(NULL, deep, sizeof deep, &p, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "a pattern with groups nested too deep, which is "
                                     "not supported");
    memset(name + 3, 'a', 299);
    memcpy(name + 302, ">)", 2);
    assert_int_equal(mcpi_pattern_new(NULL, name, sizeof name, &p, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "a pattern with a group name that is too long, "
                                     "which is not supported");
}

static void
pattern_beyond_its_length_is_refused(void **state)
{
    static char text[MCPI_PATTERN_LENGTH_MAX + 1];
    struct mcpi_pattern *p = NULL;

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(mcpi_pattern_new(NULL, text, sizeof text, &p, NULL), MCP_E_LIMIT);
    assert_int_equal(mcpi_pattern_new(NULL, text, sizeof text - 1, &p, NULL), 0);
    mcpi_pattern_free(p);
}

static void
backtracking_without_end_is_given_up(void **state)
{
    char text[65];

    (void)state;
    memset(text, 'a', sizeof text);
    text[63] = 'b';
    text[64] = '\0';
    assert_int_equal(find("^(a+)+$", text), MCP_E_LIMIT);
    assert_int_equal(find("^(a|a?)+$", text), MCP_E_LIMIT);
    assert_int_equal(find("(x+x+)+y", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"), 0);
}

/* PCRE2's own limit is one for each place where a search may begin. */
static void
effort_at_all_places_of_a_text_is_bounded_together(void **state)
{
    static const char hard[] = "(?:a?){0,14}[bc]";
    struct mcpi_pattern *p = NULL;
    uint64_t budget = 1000000;
    char text[2000];

    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(mcpi_pattern_new(NULL, hard, strlen(hard), &p, NULL), 0);
    assert_int_equal(mcpi_pattern_find_within(p, text, sizeof text, &budget),
                     MCP_E_LIMIT);
    assert_in_range(budget, 0, 100000);
    mcpi_pattern_free(p);
}

static void
hard_search_goes_on_at_every_character(void **state)
{
    (void)state;
    assert_int_equal(find("(?:a?){0,8}[bc]", "\xC3\xA4"
                                             "aaaaaaaaaaaaaaaab"),
                     1);
    assert_int_equal(find("(?<=\xC3\xA4)(?:a?){0,8}[bc]", "aaaaaaaaaaa\xC3\xA4"
                                                          "ab"),
                     1);
    assert_int_equal(find("(?:a?){0,8}(?!a)(?:$|b)", "aaaaaaaaaaaaaaaa"), 1);
    assert_int_equal(find("(?:a?){0,8}[bc]", "aaaaaaaaaaaaaaaaaaaa"), 0);
}

static void
search_of_much_text_keeps_its_memory_bound(void **state)
{
    size_t len = 4 << 20;
    char *text = malloc(len);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', len);
    assert_int_equal(find_n("^(?:a|b)*$", text, len), MCP_E_LIMIT);
    assert_int_equal(find_n("^a*$", text, len), 1);
    free(text);
}

static void
compile_and_find(struct test_mem *mem, void *user)
{
    struct mcpi_pattern *p = NULL;
    int r;

    (void)user;
    r = mcpi_pattern_new(&mem->allocator, "^(?:a|b)*c$", 11, &p, NULL);
    if (r == 0)
        r = mcpi_pattern_find(p, "abababababc", 11);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 1);
    mcpi_pattern_free(p);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(compile_and_find, NULL) >= 5);
}

TEST_MAIN(TEST(pattern_is_found_anywhere_unless_anchored),
          TEST(patterns_read_as_ecma_262),
          TEST(what_is_no_pattern_is_refused_with_its_place),
          TEST(what_is_not_supported_is_named),
          TEST(names_and_depths_beyond_those_of_pcre_are_named),
          TEST(pattern_beyond_its_length_is_refused),
          TEST(backtracking_without_end_is_given_up),
          TEST(effort_at_all_places_of_a_text_is_bounded_together),
          TEST(hard_search_goes_on_at_every_character),
          TEST(search_of_much_text_keeps_its_memory_bound),
          TEST(each_allocation_may_fail))
