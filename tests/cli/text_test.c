/* cli/text_test.c - proves cli/text.c: texts that grow, and characters one by one */
#include "cli/text.h"

#include <string.h>

#include "support/test.h"

static void
an_empty_text_is_an_empty_string(void **state)
{
    struct cli_text text = {0};

    (void)state;
    assert_string_equal(cli_text_string(&text), "");
    cli_text_add(&text, "x", 0);
    cli_text_pad(&text, 0);
    assert_string_equal(cli_text_string(&text), "");
    cli_text_done(&text);
}

static void
parts_are_added_in_order(void **state)
{
    struct cli_text text = {0};

    (void)state;
    cli_text_puts(&text, "one");
    cli_text_pad(&text, 2);
    cli_text_printf(&text, "%d%s", 2, "three");
    cli_text_add(&text, "four five", 4);
    assert_string_equal(cli_text_string(&text), "one  2threefour");
    assert_int_equal(text.length, 15);
    assert_false(text.failed);
    cli_text_done(&text);
}

static void
a_text_grows_far_beyond_its_first_room(void **state)
{
    struct cli_text text = {0};

    (void)state;
    for (int i = 0; i < 10000; i++)
        cli_text_printf(&text, "%04d", i);
    assert_int_equal(text.length, 40000);
    assert_memory_equal(text.data + 4 * 1234, "1234", 4);
    assert_string_equal(text.data + 4 * 9999, "9999");
    cli_text_done(&text);
}

static void
a_failure_stays_and_keeps_what_was_there(void **state)
{
    struct cli_text text = {0};

    (void)state;
    cli_text_puts(&text, "before");
    cli_text_pad(&text, SIZE_MAX / 2);
    assert_true(text.failed);
    cli_text_puts(&text, "after");
    cli_text_printf(&text, "%d", 1);
    assert_string_equal(cli_text_string(&text), "before");
    cli_text_done(&text);
    assert_false(text.failed);
}

/* The first character, or what is wrong, and how many bytes it took. */
static void
check_decode(const char *text, size_t bytes, uint32_t point)
{
    uint32_t found = 0;

    assert_int_equal(cli_text_decode(text, strlen(text), &found), bytes);
    assert_int_equal(found, point);
}

static void
characters_of_each_length_are_read(void **state)
{
    (void)state;
    check_decode("a", 1, 'a');
    check_decode("\xC2\x9B", 2, 0x9B);
    check_decode("\xE2\x80\xAEx", 3, 0x202E);
    check_decode("\xEF\xBF\xBD", 3, 0xFFFD);
    check_decode("\xF0\x9F\x98\x80", 4, 0x1F600);
    check_decode("\xF4\x8F\xBF\xBF", 4, 0x10FFFF);
}

static void
what_is_no_utf8_is_a_replacement_character(void **state)
{
    (void)state;
    check_decode("\x9B", 1, 0xFFFD);
    check_decode("\xC0\xAF", 1, 0xFFFD);
    check_decode("\xE0\x9F\xBF", 1, 0xFFFD);
    check_decode("\xED\xA0\x80", 1, 0xFFFD);
    check_decode("\xF4\x90\x80\x80", 1, 0xFFFD);
    check_decode("\xFFx", 1, 0xFFFD);
    check_decode("\xE2\x80", 2, 0xFFFD);
    check_decode("\xF0\x9F\x98x", 3, 0xFFFD);
}

TEST_MAIN(TEST(an_empty_text_is_an_empty_string), TEST(parts_are_added_in_order),
          TEST(a_text_grows_far_beyond_its_first_room),
          TEST(a_failure_stays_and_keeps_what_was_there),
          TEST(characters_of_each_length_are_read),
          TEST(what_is_no_utf8_is_a_replacement_character))
