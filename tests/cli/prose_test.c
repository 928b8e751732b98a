/* cli/prose_test.c - proves cli/prose.c: pieces of texts */
#include "cli/prose.h"

#include <string.h>

#include "support/test.h"

static void
check_block(const char **at, const char *expected, bool is_as_is, bool is_apart)
{
    struct cli_block block;

    assert_true(cli_prose_next(at, &block));
    assert_int_equal(block.length, strlen(expected));
    assert_memory_equal(block.data, expected, block.length);
    assert_int_equal(block.is_as_is, is_as_is);
    assert_int_equal(block.is_apart, is_apart);
}

static void
check_end(const char **at)
{
    struct cli_block block;

    assert_false(cli_prose_next(at, &block));
}

static void
empty_lines_part_paragraphs(void **state)
{
    const char *at = "one\ntwo\n\n\nthree\n";

    (void)state;
    check_block(&at, "one\ntwo", false, false);
    check_block(&at, "three", false, true);
    check_end(&at);
}

static void
lines_with_four_blanks_are_a_block_of_their_own(void **state)
{
    const char *at = "text:\n    a\n      b\nmore\n\n    c";

    (void)state;
    check_block(&at, "text:", false, false);
    check_block(&at, "    a\n      b", true, false);
    check_block(&at, "more", false, false);
    check_block(&at, "    c", true, true);
    check_end(&at);
}

static void
text_that_is_empty_or_missing_has_no_block(void **state)
{
    const char *empty = "", *missing = NULL, *blank = "\n\n";

    (void)state;
    check_end(&empty);
    check_end(&missing);
    check_end(&blank);
}

static void
lines_come_one_by_one(void **state)
{
    const char *const text = "a b\n\nc";
    const char *at = text;
    size_t length = 0;

    (void)state;
    assert_ptr_equal(cli_prose_line(&at, &length), text);
    assert_int_equal(length, 3);
    assert_non_null(cli_prose_line(&at, &length));
    assert_int_equal(length, 0);
    assert_string_equal(cli_prose_line(&at, &length), "c");
    assert_int_equal(length, 1);
    assert_null(cli_prose_line(&at, &length));
}

static void
value_of_an_option_says_what_is_offered_for_it(void **state)
{
    (void)state;
    assert_int_equal(cli_prose_value(&(struct cli_option){.name = "a"}),
                     CLI_VALUE_NONE);
    assert_int_equal(
        cli_prose_value(&(struct cli_option){.value = "HOW", .choices = "a|b"}),
        CLI_VALUE_CHOICE);
    assert_int_equal(cli_prose_value(&(struct cli_option){.value = "FILE|-"}),
                     CLI_VALUE_FILE);
    assert_int_equal(cli_prose_value(&(struct cli_option){.value = "FOLDER"}),
                     CLI_VALUE_FOLDER);
    assert_int_equal(cli_prose_value(&(struct cli_option){.value = "DIR"}),
                     CLI_VALUE_FOLDER);
    assert_int_equal(cli_prose_value(&(struct cli_option){.value = "TIME"}),
                     CLI_VALUE_ANY);
}

TEST_MAIN(TEST(empty_lines_part_paragraphs),
          TEST(lines_with_four_blanks_are_a_block_of_their_own),
          TEST(text_that_is_empty_or_missing_has_no_block), TEST(lines_come_one_by_one),
          TEST(value_of_an_option_says_what_is_offered_for_it))
