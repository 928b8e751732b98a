/* near_test.c - "did you mean": the nearest of several names */
#include "cli/near.h"

#include <string.h>

#include "support/test.h"

static const char *
nearest(const char *text)
{
    static const char *const names[] = {"call", "tail", "resources", "templates", NULL};
    struct cli_near near = cli_near_begin(text, strlen(text));

    for (const char *const *name = names; *name; name++)
        cli_near_offer(&near, *name);
    return near.best;
}

static void
a_slip_is_understood(void **state)
{
    (void)state;
    assert_string_equal(nearest("calll"), "call");
    assert_string_equal(nearest("cal"), "call");
    assert_string_equal(nearest("resuorces"), "resources");
    assert_string_equal(nearest("temp"), "templates");
}

static void
another_word_is_none(void **state)
{
    (void)state;
    assert_null(nearest("bench"));
    assert_null(nearest(""));
    assert_null(nearest("x"));
}

static void
very_long_names_are_passed_over(void **state)
{
    char text[200];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_null(nearest(text));
}

TEST_MAIN(TEST(a_slip_is_understood), TEST(another_word_is_none),
          TEST(very_long_names_are_passed_over))
