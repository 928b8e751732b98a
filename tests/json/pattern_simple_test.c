/* json/pattern_simple_test.c - proves json/pattern_simple.c: the same as PCRE2, faster */
#include "json/pattern_simple.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "json/pattern.h"

static const char *const simple_ones[] = {
    "^[a-z]+$",
    "^[a-z][a-z0-9_]*$",
    "^a$",
    "^ab*$",
    "^[A-Za-z0-9_-]{2,4}$",
    "^\\d{2}-\\d{1}$",
    "^[\\w.-]+$",
    "^a{0,2}$",
    "^[-a]?$",
    "^[a\\]\\\\b]*$",
    "^a{3}$",
    "^[$^.]+$",
    "^a{2,}$",
    "^\\$\\.a$",
    "^[\\d-]+$",
};

static void
common_patterns_are_simple(void **state)
{
    struct mcpi_pattern_simple simple;

    (void)state;
    for (size_t i = 0; i < sizeof(simple_ones) / sizeof(simple_ones[0]); i++) {
        if (!mcpi_pattern_simple_read(&simple, simple_ones[i], strlen(simple_ones[i])))
            fail_msg("%s", simple_ones[i]);
    }
}

static void
all_others_are_left_to_pcre(void **state)
{
    static const char *const others[] = {
        "",
        "a",
        "^",
        "^$",
        "^a",
        "a$",
        "^a+b$",
        "^a?b$",
        "^(a)$",
        "^a|b$",
        "^.$",
        "^[^a]$",
        "^[]$",
        "^\\s$",
        "^\\u0061$",
        "^a+?$",
        "^a++$",
        "^a{1}{2}$",
        "^a{,2}$",
        "^a{2,1}$",
        "^[b-a]$",
        "^[a-\\d]$",
        "^[[a]]$",
        "^\xC3\xA4$",
        "^[\xC3\xA4]$",
        "^\\D$",
        "^a{65536}$",
        "^a$$",
        "^a$b",
        "^[a",
        "^[a\\",
        "^\\",
        "^a{",
        "^*$",
        "^a{99999999999999999999}$",
        "^aaaaaaaaaaaaaaaaa$",
        "^\\1$",
        "^[\\b]$",
    };
    struct mcpi_pattern_simple simple;

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (mcpi_pattern_simple_read(&simple, others[i], strlen(others[i])))
            fail_msg("%s", others[i]);
    }
}

/* The same pattern in a group is PCRE2's. */
static void
pattern_agrees(const char *pattern)
{
    static const char letters[] = "aabbz0-_.$^]\\A\n\xC3";
    struct mcpi_pattern_simple simple;
    struct mcpi_pattern *p = NULL;
    char grouped[100], text[8];

    snprintf(grouped, sizeof grouped, "^(?:%.*s)$", (int)strlen(pattern) - 2,
             pattern + 1);
    assert_true(mcpi_pattern_simple_read(&simple, pattern, strlen(pattern)));
    assert_int_equal(mcpi_pattern_new(NULL, grouped, strlen(grouped), &p, NULL), 0);
    for (int i = 0; i < 5000; i++) {
        size_t len = (size_t)rand() % 5;

        for (size_t j = 0; j < len; j++) {
            text[j] = letters[(size_t)rand() % (sizeof letters - 1)];
            if (text[j] == '\xC3')
                text[j] = i % 2 ? '\0' : 'b'; /* U+0000 too; the rest is UTF-8 */
        }
        if (mcpi_pattern_simple_match(&simple, text, len) !=
            (mcpi_pattern_find(p, text, len) == 1))
            fail_msg("%s: %.*s", pattern, (int)len, text);
    }
    assert_false(mcpi_pattern_simple_match(&simple, "\xC3\xA4", 2));
    mcpi_pattern_free(p);
}

static void
verdicts_are_those_of_pcre(void **state)
{
    unsigned seed = (unsigned)test_seed(7);

    (void)state;
    print_message("seed %u\n", seed);
    srand(seed);
    for (size_t i = 0; i < sizeof(simple_ones) / sizeof(simple_ones[0]); i++)
        pattern_agrees(simple_ones[i]);
}

TEST_MAIN(TEST(common_patterns_are_simple), TEST(all_others_are_left_to_pcre),
          TEST(verdicts_are_those_of_pcre))
