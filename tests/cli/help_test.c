/* cli/help_test.c - proves cli/help.c: help, as it stands on a terminal */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

static const struct cli_option options[] = {
    {"short", NULL, NULL, CLI_FLAG, 0, "be short"},
    {"level", "LEVEL", "one|two|three|four|five|six", CLI_CHOICE, 0, "How much"},
    {0},
};

static const struct cli_command shown = {
    .name = "shown",
    .arguments = "TARGET [WORD]",
    .summary = "Show something",
    .text = "A text that is\nin two lines.\n\n    as it  is\nand more",
    .examples = "mcpctl shown x\nmcpctl shown y --short",
    .options = options,
};

static void
check_command(const struct cli_command *command, const char *expected)
{
    struct cli_text text = {0};

    cli_help_add_command(command, &text);
    assert_false(text.failed);
    assert_string_equal(cli_text_string(&text), expected);
    cli_text_done(&text);
}

static void
help_of_a_command_has_all_that_the_table_has(void **state)
{
    (void)state;
    check_command(&shown,
                  "mcpctl shown - Show something\n"
                  "\n"
                  "Usage: mcpctl shown [OPTIONS] TARGET [WORD]\n"
                  "\n"
                  "A text that is in two lines.\n"
                  "\n"
                  "    as it  is\n"
                  "and more\n"
                  "\n"
                  "Options:\n"
                  "  --short               Be short\n"
                  "  --level LEVEL         How much: one, two, three, four, five "
                  "or six\n"
                  "\n"
                  "Examples:\n"
                  "  mcpctl shown x\n"
                  "  mcpctl shown y --short\n"
                  "\n"
                  "\"mcpctl help\" lists the options that all commands have.\n");
}

static void
what_a_command_does_not_have_is_left_out(void **state)
{
    (void)state;
    check_command(
        &(struct cli_command){
            .name = "bare", .arguments = "", .summary = "S", .text = "T"},
        "mcpctl bare - S\n"
        "\n"
        "Usage: mcpctl bare\n"
        "\n"
        "T\n"
        "\n"
        "\"mcpctl help\" lists the options that all commands have.\n");
}

static void
few_choices_stand_beside_the_option(void **state)
{
    const struct cli_option option = {"era", "ERA", "a|b", CLI_CHOICE, 0, "Which"};
    struct cli_text name = {0}, text = {0};

    (void)state;
    cli_help_add_option(&option, &name);
    cli_help_add_option_text(&option, &text);
    assert_string_equal(cli_text_string(&name), "--era a|b");
    assert_string_equal(cli_text_string(&text), "Which");
    cli_text_done(&name);
    cli_text_done(&text);
}

static void
all_commands_and_common_options_are_listed_but_hidden_ones(void **state)
{
    struct cli_text text = {0};
    char line[80];

    (void)state;
    cli_help_add_all(&text);
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)snprintf(line, sizeof line, "\n  %s ", (*c)->name);
        assert_int_equal(strstr(text.data, line) != NULL, !(*c)->hidden);
    }
    for (const struct cli_option *o = cli_common_options; o->name != NULL; o++) {
        (void)snprintf(line, sizeof line, "\n  --%s", o->name);
        assert_non_null(strstr(text.data, line));
    }
    cli_text_done(&text);
}

/* Lines that are shown as they are, and examples, are their authors' business. */
static void
check_columns(struct cli_text *text, const char *who)
{
    char *rest = NULL;

    assert_false(text->failed);
    for (char *line = strtok_r(text->data, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (cli_text_width(line, strlen(line)) > CLI_HELP_COLUMNS &&
            strncmp(line, "    ", 4) != 0 && strncmp(line, "  mcpctl ", 9) != 0)
            fail_msg("help of %s is too wide: %s", who, line);
    }
    cli_text_done(text);
}

static void
no_line_is_wider_than_a_terminal(void **state)
{
    struct cli_text text = {0};

    (void)state;
    cli_help_add_all(&text);
    check_columns(&text, "mcpctl");
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        text = (struct cli_text){0};
        cli_help_add_command(*c, &text);
        check_columns(&text, (*c)->name);
    }
}

static void
every_command_has_what_help_needs(void **state)
{
    (void)state;
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        const size_t length = strlen((*c)->summary);

        if (length == 0 || (*c)->summary[length - 1] == '.' || *(*c)->text == '\0' ||
            (*c)->examples == NULL || strncmp((*c)->examples, "mcpctl ", 7) != 0)
            fail_msg("%s lacks a summary, a text or examples", (*c)->name);
        for (const struct cli_option *o = (*c)->options; o != NULL && o->name; o++) {
            if (*o->text == '\0' || o->text[strlen(o->text) - 1] == '.')
                fail_msg("--%s of %s lacks a text", o->name, (*c)->name);
        }
    }
}

TEST_MAIN(TEST(help_of_a_command_has_all_that_the_table_has),
          TEST(what_a_command_does_not_have_is_left_out),
          TEST(few_choices_stand_beside_the_option),
          TEST(all_commands_and_common_options_are_listed_but_hidden_ones),
          TEST(no_line_is_wider_than_a_terminal),
          TEST(every_command_has_what_help_needs))
