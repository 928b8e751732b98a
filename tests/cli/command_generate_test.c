/* cli/command_generate_test.c - proves cli/command_generate.c: which file is written */
#include <string.h>

#include "cli/program.h"

static void
each_file_is_written(void **state)
{
    (void)state;
    CHECK_RAN(0, "\n# SYNOPSIS\n", NULL, "generate", "man");
    CHECK_RAN(0, "complete -F _mcpctl mcpctl", NULL, "generate", "bash");
    CHECK_RAN(0, "#compdef mcpctl", NULL, "generate", "zsh");
    CHECK_RAN(0, "complete -c mcpctl -f", NULL, "generate", "fish");
}

static void
other_words_are_refused(void **state)
{
    (void)state;
    CHECK_RAN(1, NULL, "generate man|bash|zsh|fish", "generate", "tcsh");
    CHECK_RAN(1, NULL, "generate man|bash|zsh|fish", "generate", "man", "more");
    CHECK_RAN(1, NULL, NULL, "generate");
}

static void
command_is_not_in_help(void **state)
{
    struct ran ran = RUN("help");

    (void)state;
    assert_null(strstr(ran.out, "generate"));
    ran_done(&ran);
}

TEST_MAIN(TEST(each_file_is_written), TEST(other_words_are_refused),
          TEST(command_is_not_in_help))
