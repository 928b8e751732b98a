/* commands_test.c - the table of commands is whole: help and completions rely on it */
#include <string.h>

#include "cli/command.h"
#include "support/test.h"

static void
each_command_is_described(void **state)
{
    (void)state;
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        assert_non_null((*c)->run);
        assert_true(strlen((*c)->summary) > 10);
        assert_null(strchr((*c)->summary, '\n'));
        assert_true((*c)->summary[strlen((*c)->summary) - 1] != '.');
        assert_true(strlen((*c)->text) > 20);
        assert_true((*c)->most == CLI_ANY_NUMBER || (*c)->most >= (*c)->least);
        if (!(*c)->no_target && !(*c)->hidden) {
            assert_int_equal(strncmp((*c)->arguments, "TARGET", 6), 0);
            assert_int_equal((*c)->words[0], CLI_WORD_TARGET);
        }
    }
}

static void
check_options(const struct cli_option *options)
{
    for (; options && options->name; options++) {
        assert_true(strlen(options->text) > 10);
        assert_true((options->kind == CLI_FLAG) == !options->value);
        assert_true((options->kind == CLI_CHOICE) == (options->choices != NULL));
        assert_true(options->offset < sizeof(struct cli_options));
    }
}

static void
each_option_is_described(void **state)
{
    (void)state;
    check_options(cli_common_options);
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        check_options((*c)->options);
}

static void
no_command_has_an_option_of_all(void **state)
{
    (void)state;
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        for (const struct cli_option *o = (*c)->options; o && o->name; o++)
            assert_null(cli_option_find(cli_common_options, NULL, o->name));
}

static void
names_are_found_and_guessed(void **state)
{
    (void)state;
    assert_string_equal(cli_command_find("call")->name, "call");
    assert_null(cli_command_find("cal"));
    assert_string_equal(cli_command_guess("cal")->name, "call");
    assert_null(cli_command_guess("generat3")); /* it is hidden */
    assert_null(cli_command_guess("zzz"));
}

TEST_MAIN(TEST(each_command_is_described), TEST(each_option_is_described),
          TEST(no_command_has_an_option_of_all), TEST(names_are_found_and_guessed))
