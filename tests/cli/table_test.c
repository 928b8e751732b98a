/* cli/table_test.c - proves cli/table.c: columns side by side */
#include "cli/table.h"

#include <string.h>

#include "support/test.h"

static const char *const headings[] = {"NAME", "TITLE", "TEXT", NULL};

#define ROW(...) ((const char *const[]){__VA_ARGS__})

/* Prints it, checks it, and frees it. */
static void
check(struct cli_table *table, size_t width, bool color, const char *expected)
{
    struct cli_text shown = {0};

    cli_table_print(table, width, color, &shown);
    assert_string_equal(cli_text_string(&shown), expected);
    assert_false(shown.failed);
    cli_text_done(&shown);
    cli_table_free(table);
}

static void
columns_are_as_wide_as_what_is_in_them(void **state)
{
    struct cli_table *table = cli_table_new(headings);

    (void)state;
    cli_table_row(table, ROW("a", "long title", "x"));
    cli_table_row(table, ROW("\xE4\xB8\xAD\xE6\x96\x87\xE4\xB8\xAD", "b", "y"));
    check(table, 80, false,
          "NAME    TITLE       TEXT\n"
          "a       long title  x\n"
          "\xE4\xB8\xAD\xE6\x96\x87\xE4\xB8\xAD  b           y\n");
}

static void
the_last_column_is_wrapped_below_itself(void **state)
{
    struct cli_table *table = cli_table_new(headings);

    (void)state;
    cli_table_row(table, ROW("a", "b", "one two three four five\nsix\n\n"));
    check(table, 37, false,
          "NAME  TITLE  TEXT\n"
          "a     b      one two three four five\n"
          "             six\n");
}

static void
cells_that_are_not_there_leave_no_blanks_at_the_end(void **state)
{
    struct cli_table *table = cli_table_new(headings);

    (void)state;
    cli_table_row(table, ROW("a", NULL, NULL));
    cli_table_row(table, ROW(NULL, "b", ""));
    cli_table_row(table, ROW(NULL, NULL, "c"));
    check(table, 80, false,
          "NAME  TITLE  TEXT\n"
          "a\n"
          "      b\n"
          "             c\n");
}

static void
texts_of_a_server_are_made_harmless(void **state)
{
    struct cli_table *table = cli_table_new(headings);

    (void)state;
    cli_table_row(table, ROW("a\nb", "\033[31mt\033]0;x\007", "one\033[2J\ntwo"));
    check(table, 80, false,
          "NAME  TITLE  TEXT\n"
          "a b   t      one\n"
          "             two\n");
}

static void
the_widest_columns_are_cut_if_there_is_no_room(void **state)
{
    struct cli_table *table = cli_table_new(headings);

    (void)state;
    cli_table_row(table, ROW("a", "a title that is much too long", "text"));
    check(table, 42, false,
          "NAME  TITLE       TEXT\n"
          "a     a title t\xE2\x80\xA6  text\n");
}

static void
headings_are_bold_only_in_color(void **state)
{
    static const char *const one[] = {"NAME", NULL};
    struct cli_table *table = cli_table_new(one);

    (void)state;
    cli_table_row(table, ROW("a"));
    check(table, 80, true, "\033[1mNAME\033[m\na\n");
}

static void
a_table_that_could_not_be_made_says_so(void **state)
{
    struct cli_text shown = {0};

    (void)state;
    cli_table_row(NULL, headings);
    cli_table_print(NULL, 80, false, &shown);
    assert_true(shown.failed);
    cli_table_free(NULL);
}

TEST_MAIN(TEST(columns_are_as_wide_as_what_is_in_them),
          TEST(the_last_column_is_wrapped_below_itself),
          TEST(cells_that_are_not_there_leave_no_blanks_at_the_end),
          TEST(texts_of_a_server_are_made_harmless),
          TEST(the_widest_columns_are_cut_if_there_is_no_room),
          TEST(headings_are_bold_only_in_color),
          TEST(a_table_that_could_not_be_made_says_so))
