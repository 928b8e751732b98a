/* cli/generate_zsh_test.c - proves cli/generate_zsh.c: what the file for zsh has.
 * tests/checks/completions.py asks zsh itself. */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "support/test.h"

static void
options_and_words_are_offered_as_the_table_says(void **state)
{
    static const char *const lines[] = {
        "#compdef mcpctl\n",
        ":ERA:(auto modern legacy)'\n",
        "        '*--header=[",
        ":FOLDER:_files -/'\n",
        ":FILE:_files'\n",
        "        '--json[",
        "            '1:target:_mcpctl_targets'\n",
        "            '2:tools:_mcpctl_ask tools'\n",
        "            '*:tool-arguments:_mcpctl_ask tool-arguments'\n",
        "            '1:command:_mcpctl_commands'\n",
        "\n_mcpctl \"$@\"\n",
    };
    struct cli_text file = {0};

    (void)state;
    cli_generate_zsh(&file);
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
    cli_generate_zsh(&file);
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)snprintf(line, sizeof line, "\n    %s)\n", (*c)->name);
        assert_int_equal(strstr(file.data, line) != NULL, !(*c)->hidden);
    }
    cli_text_done(&file);
}

TEST_MAIN(TEST(options_and_words_are_offered_as_the_table_says),
          TEST(all_commands_are_offered_but_hidden_ones))
