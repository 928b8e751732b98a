/* cli/generate_fish_test.c - proves cli/generate_fish.c: what the file for fish has.
 * tests/checks/completions.py asks fish itself. */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "support/test.h"

static void
options_and_words_are_offered_as_the_table_says(void **state)
{
    static const char *const lines[] = {
        " -l era -x -a 'auto modern legacy' -d ",
        " -l cwd -x -a '(__fish_complete_directories)' -d ",
        " -l ca -r -F -d ",
        " -l timeout -x -d ",
        "complete -c mcpctl -l json -d ",
        " -n '__mcpctl_in call' -l args -r -F -d ",
        " -n '__mcpctl_at call 1 1' -F -a '(__mcpctl_ask servers)'\n",
        " -n '__mcpctl_at call 2 2' -a '(__mcpctl_ask tools)'\n",
        " -n '__mcpctl_at call 3 999' -a '(__mcpctl_ask tool-arguments)'\n",
        " -n '__mcpctl_at help 1 1' -a 'info ",
    };
    struct cli_text file = {0};

    (void)state;
    cli_generate_fish(&file);
    assert_false(file.failed);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(file.data, lines[i]) == NULL)
            fail_msg("it does not have: %s", lines[i]);
    }
    cli_text_done(&file);
}

static void
all_commands_are_offered_but_hidden_ones(void **state)
{
    struct cli_text file = {0};
    char line[80];

    (void)state;
    cli_generate_fish(&file);
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)snprintf(line, sizeof line, " -n __mcpctl_first -a %s -d '", (*c)->name);
        assert_int_equal(strstr(file.data, line) != NULL, !(*c)->hidden);
    }
    cli_text_done(&file);
}

TEST_MAIN(TEST(options_and_words_are_offered_as_the_table_says),
          TEST(all_commands_are_offered_but_hidden_ones))
