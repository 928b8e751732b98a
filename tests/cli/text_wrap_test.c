/* cli/text_wrap_test.c - proves cli/text_wrap.c: lines that fit */
#include <string.h>

#include "cli/text.h"
#include "support/test.h"

static void
check(const char *text, size_t columns, size_t indent, const char *expected)
{
    struct cli_text lines = {0};

    cli_text_add_wrapped(&lines, text, strlen(text), columns, indent);
    assert_string_equal(cli_text_string(&lines), expected);
    cli_text_done(&lines);
}

static void
a_line_that_fits_stays(void **state)
{
    (void)state;
    check("", 10, 0, "");
    check("one two", 7, 0, "one two");
    check("one\n\ntwo\n", 10, 0, "one\n\ntwo\n");
}

static void
lines_break_at_blanks(void **state)
{
    (void)state;
    check("one two three", 7, 0, "one two\nthree");
    check("one two   three", 8, 0, "one two\nthree");
    check("one two three", 6, 0, "one\ntwo\nthree");
    check("\xE4\xB8\xAD \xE6\x96\x87", 4, 0, "\xE4\xB8\xAD\n\xE6\x96\x87");
}

static void
a_word_longer_than_a_line_is_left_whole(void **state)
{
    (void)state;
    check("a http://long.example/path b", 10, 0, "a\nhttp://long.example/path\nb");
    check("averylongword", 4, 2, "averylongword");
}

static void
later_lines_are_indented_and_the_first_begins_there(void **state)
{
    (void)state;
    check("one two three", 11, 4, "one two\n    three");
    check("one\n\ntwo", 20, 4, "one\n\n    two");
    check("one two", 2, 4, "one\n    two");
}

static void
blanks_inside_of_a_line_stay(void **state)
{
    (void)state;
    check("  if (x)\n    y;  z", 40, 0, "  if (x)\n    y;  z");
    check("a   \nb", 40, 0, "a\nb");
    check("a\tb\n\tc", 40, 0, "a       b\n        c");
    check("a\tb", 40, 3, "a       b");
}

TEST_MAIN(TEST(a_line_that_fits_stays), TEST(lines_break_at_blanks),
          TEST(a_word_longer_than_a_line_is_left_whole),
          TEST(later_lines_are_indented_and_the_first_begins_there),
          TEST(blanks_inside_of_a_line_stay))
