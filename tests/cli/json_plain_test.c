/* cli/json_plain_test.c - proves cli/json_plain.c: comments and trailing commas go */
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "support/test.h"

/* In a block of just its size, so that a step over its end is seen. */
static void
assert_plain(const char *text, const char *expected)
{
    size_t length = strlen(text);
    char *copy = malloc(length ? length : 1);

    assert_non_null(copy);
    memcpy(copy, text, length);
    cli_json_plain(copy, length);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(copy, expected, length);
    free(copy);
}

static void
comments_become_blanks(void **state)
{
    (void)state;
    assert_plain("{} // x", "{}     ");
    assert_plain("{//x\n}", "{   \n}");
    assert_plain("{/* x */}", "{       }");
    assert_plain("{/**/}", "{    }");
    assert_plain("/*/ */1", "      1");
    assert_plain("/* a\r\nb */1", "    \r\n    1");
}

static void
trailing_commas_become_blanks(void **state)
{
    (void)state;
    assert_plain("[1,]", "[1 ]");
    assert_plain("{\"a\":1,}", "{\"a\":1 }");
    assert_plain("[1,2, \n /* x */ ]", "[1,2  \n         ]");
    assert_plain("[[1,],{\"b\":[],},]", "[[1 ],{\"b\":[] } ]");
}

static void
commas_between_values_stay(void **state)
{
    (void)state;
    assert_plain("[1,2,\"a\",{}]", "[1,2,\"a\",{}]");
    assert_plain("[1,/* x */2]", "[1,       2]");
}

static void
commas_that_are_wrong_stay(void **state)
{
    (void)state;
    assert_plain("[,]", "[,]");
    assert_plain("{,}", "{,}");
    assert_plain("[1,,]", "[1,,]");
    assert_plain("1,", "1,");
}

static void
strings_stay_as_they_are(void **state)
{
    (void)state;
    assert_plain("[\"// x /* ,] \"]", "[\"// x /* ,] \"]");
    assert_plain("[\"\\\"//\",]", "[\"\\\"//\" ]");
    assert_plain("[\"\\\\\"]//", "[\"\\\\\"]  ");
}

static void
the_mark_of_utf8_becomes_blanks(void **state)
{
    (void)state;
    assert_plain("\xEF\xBB\xBF{}", "   {}");
    assert_plain("\xEF\xBB", "\xEF\xBB");
}

static void
what_is_not_closed_stays(void **state)
{
    (void)state;
    assert_plain("", "");
    assert_plain("/", "/");
    assert_plain("/*", "/*");
    assert_plain("/*/", "/*/");
    assert_plain("[/* x ,]", "[/* x ,]");
    assert_plain("\"a", "\"a");
    assert_plain("\"a\\", "\"a\\");
    assert_plain("1 / 2", "1 / 2");
}

static void
many_comments_that_are_not_closed_take_no_time(void **state)
{
    size_t length = 8 << 20, i;
    char *text = malloc(length);

    (void)state;
    assert_non_null(text);
    for (i = 0; i < length; i += 2)
        memcpy(text + i, "/*", 2);
    text[1] = '/';
    text[2] = '\n';
    cli_json_plain(text, length);
    assert_int_equal(text[0], ' ');
    free(text);
}

TEST_MAIN(TEST(comments_become_blanks), TEST(trailing_commas_become_blanks),
          TEST(commas_between_values_stay), TEST(commas_that_are_wrong_stay),
          TEST(strings_stay_as_they_are), TEST(the_mark_of_utf8_becomes_blanks),
          TEST(what_is_not_closed_stays),
          TEST(many_comments_that_are_not_closed_take_no_time))
