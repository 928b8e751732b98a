/* cli/generate_bash_test.c - proves cli/generate_bash.c: what the file for bash has.
 * tests/checks/completions.py asks bash itself. */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "support/test.h"

static void
options_and_words_are_offered_as_the_table_says(void **state)
{
    static const char *const lines[] = {
        "        *:--era) kind=choice choices='auto modern legacy' ;;\n",
        "        *:--cwd) kind=folder ;;\n",
        "        *:--ca) kind=file ;;\n",
        "        *:--timeout) kind=any ;;\n",
        "        call:--args | :--args) kind=file ;;\n",
        "            lists=(servers tools tool-arguments) more=1 ;;\n",
        "            lists=(servers) more= ;;\n",
        "            lists=(commands) more= ;;\n",
        "\ncomplete -F _mcpctl mcpctl\n",
    };
    struct cli_text file = {0};

    (void)state;
    cli_generate_bash(&file);
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
    cli_generate_bash(&file);
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)snprintf(line, sizeof line, "\n        %s)\n", (*c)->name);
        assert_int_equal(strstr(file.data, line) != NULL, !(*c)->hidden);
    }
    cli_text_done(&file);
}

TEST_MAIN(TEST(options_and_words_are_offered_as_the_table_says),
          TEST(all_commands_are_offered_but_hidden_ones))
