/* cli/generate_test.c - proves cli/generate.c: what completions are made of */
#include "cli/generate.h"

#include <string.h>

#include "support/test.h"

static const struct cli_command call = {
    .name = "call",
    .most = CLI_ANY_NUMBER,
    .words = {CLI_WORD_TARGET, CLI_WORD_TOOL, CLI_WORD_ARGUMENT},
};
static const struct cli_command get = {
    .name = "get",
    .most = 3,
    .words = {CLI_WORD_TARGET, CLI_WORD_PROMPT, CLI_WORD_ARGUMENT},
};
static const struct cli_command other = {
    .name = "other",
    .most = 4,
    .words = {CLI_WORD_ARGUMENT, CLI_WORD_COMMAND, CLI_WORD_ANY, CLI_WORD_RESOURCE},
};

static void
words_of_a_command_are_counted(void **state)
{
    (void)state;
    assert_int_equal(cli_generate_count(&call), 3);
    assert_int_equal(cli_generate_count(&other), CLI_WORDS_MAX);
    assert_int_equal(cli_generate_count(&(struct cli_command){0}), 0);
    assert_true(cli_generate_repeats(&call));
    assert_false(cli_generate_repeats(&get));
    assert_true(cli_generate_repeats(
        &(struct cli_command){.most = 3, .words = {CLI_WORD_TARGET, CLI_WORD_ANY}}));
}

static void
each_word_has_its_list(void **state)
{
    (void)state;
    assert_string_equal(cli_generate_list(&call, 0), "servers");
    assert_string_equal(cli_generate_list(&call, 1), "tools");
    assert_string_equal(cli_generate_list(&call, 2), "tool-arguments");
    assert_string_equal(cli_generate_list(&get, 1), "prompts");
    assert_string_equal(cli_generate_list(&get, 2), "prompt-arguments");
    assert_null(cli_generate_list(&other, 0));
    assert_string_equal(cli_generate_list(&other, 1), "commands");
    assert_null(cli_generate_list(&other, 2));
    assert_string_equal(cli_generate_list(&other, 3), "resources");
}

static void
quotes_cannot_be_left(void **state)
{
    struct cli_text text = {0};

    (void)state;
    cli_generate_inside(&text, "it's [a]: $(x) \\", 16, "[]:\\");
    assert_string_equal(cli_text_string(&text), "it'\\''s \\[a\\]\\: $(x) \\\\");
    cli_text_done(&text);
}

static void
choices_become_words_and_texts_are_cut(void **state)
{
    struct cli_text text = {0};

    (void)state;
    cli_generate_choices(&text, "auto|modern|legacy");
    assert_string_equal(cli_text_string(&text), "auto modern legacy");
    assert_int_equal(cli_generate_short("some text; and more; of it"), 9);
    assert_int_equal(cli_generate_short("all"), 3);
    cli_text_done(&text);
}

static void
add_both(struct cli_text *into, const struct cli_option *option, const char *command)
{
    cli_text_printf(into, "%s.%s ", command, option->name);
}

static void
each_option_of_a_table_is_visited(void **state)
{
    const struct cli_option table[] = {{.name = "a"}, {.name = "b"}, {0}};
    struct cli_text text = {0};

    (void)state;
    cli_generate_each(table, "x", add_both, &text);
    cli_generate_each(NULL, "y", add_both, &text);
    assert_string_equal(cli_text_string(&text), "x.a x.b ");
    cli_text_done(&text);
}

TEST_MAIN(TEST(words_of_a_command_are_counted), TEST(each_word_has_its_list),
          TEST(quotes_cannot_be_left), TEST(choices_become_words_and_texts_are_cut),
          TEST(each_option_of_a_table_is_visited))
