/* cli/text_width_test.c - proves cli/text_width.c: columns, and texts cut to them */
#include <string.h>

#include "cli/text.h"
#include "support/test.h"

#define WIDTH(literal) cli_text_width(literal, sizeof(literal) - 1)

static void
latin_letters_are_one_column_each(void **state)
{
    (void)state;
    assert_int_equal(WIDTH(""), 0);
    assert_int_equal(WIDTH("abc"), 3);
    assert_int_equal(WIDTH("gr\xC3\xBC\xC3\x9F"), 4);
    assert_int_equal(WIDTH("\xE2\x80\xA6"), 1);
}

static void
east_asian_letters_and_emoji_are_two(void **state)
{
    (void)state;
    assert_int_equal(WIDTH("\xE4\xB8\xAD\xE6\x96\x87"), 4);
    assert_int_equal(WIDTH("\xEA\xB0\x80"), 2);
    assert_int_equal(WIDTH("\xEF\xBC\xA1"), 2);
    assert_int_equal(WIDTH("\xF0\x9F\x98\x80"), 2);
    assert_int_equal(WIDTH("\xF0\xA0\x80\x80"), 2);
}

static void
marks_and_controls_take_no_column(void **state)
{
    (void)state;
    assert_int_equal(WIDTH("e\xCC\x81"), 1);
    assert_int_equal(WIDTH("\xE2\x9D\xA4\xEF\xB8\x8F"), 1);
    assert_int_equal(WIDTH("a\xE2\x80\x8D"
                           "b"),
                     2);
    assert_int_equal(WIDTH("a\033\007\xC2\x9B"
                           "b"),
                     2);
}

/* A search in a table that is not sorted would miss some. */
static void
both_ends_of_the_tables_are_found(void **state)
{
    (void)state;
    assert_int_equal(cli_text_point_width(0x2FF), 1);
    assert_int_equal(cli_text_point_width(0x300), 0);
    assert_int_equal(cli_text_point_width(0xE01EF), 0);
    assert_int_equal(cli_text_point_width(0x1100), 2);
    assert_int_equal(cli_text_point_width(0x3FFFD), 2);
    assert_int_equal(cli_text_point_width(0xA4D0), 1);
    assert_int_equal(cli_text_point_width(0x10FFFF), 1);
}

static void
tabs_go_to_the_next_stop(void **state)
{
    (void)state;
    assert_int_equal(WIDTH("\t"), 8);
    assert_int_equal(WIDTH("abc\tx"), 9);
    assert_int_equal(WIDTH("12345678\t"), 16);
}

static void
check_cut(const char *text, size_t columns, const char *expected)
{
    struct cli_text cut = {0};

    cli_text_add_cut(&cut, text, strlen(text), columns);
    assert_string_equal(cli_text_string(&cut), expected);
    assert_true(cli_text_width(cli_text_string(&cut), cut.length) <= columns);
    cli_text_done(&cut);
}

static void
a_text_that_fits_is_not_cut(void **state)
{
    (void)state;
    check_cut("", 0, "");
    check_cut("abc", 3, "abc");
    check_cut("\xE4\xB8\xAD", 2, "\xE4\xB8\xAD");
    check_cut("e\xCC\x81", 1, "e\xCC\x81");
}

static void
a_longer_text_is_cut_with_a_mark(void **state)
{
    (void)state;
    check_cut("abcd", 3, "ab\xE2\x80\xA6");
    check_cut("abcd", 1, "\xE2\x80\xA6");
    check_cut("abcd", 0, "");
    check_cut("\xE4\xB8\xAD\xE6\x96\x87", 3, "\xE4\xB8\xAD\xE2\x80\xA6");
    check_cut("\xE4\xB8\xAD\xE6\x96\x87", 2, "\xE2\x80\xA6");
    check_cut("e\xCC\x81xy", 2, "e\xCC\x81\xE2\x80\xA6");
}

TEST_MAIN(TEST(latin_letters_are_one_column_each),
          TEST(east_asian_letters_and_emoji_are_two),
          TEST(marks_and_controls_take_no_column),
          TEST(both_ends_of_the_tables_are_found), TEST(tabs_go_to_the_next_stop),
          TEST(a_text_that_fits_is_not_cut), TEST(a_longer_text_is_cut_with_a_mark))
