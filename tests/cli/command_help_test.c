/* cli/command_help_test.c - proves cli/command_help.c: mcpctl help, as it is run */
#include "cli/program.h"

static void
help_lists_commands_and_common_options(void **state)
{
    (void)state;
    CHECK_RAN(0, "\n  call        ", NULL, "help");
    CHECK_RAN(0, "\n  --era auto|modern|legacy", NULL, "help");
}

static void
help_of_a_command_is_its_own(void **state)
{
    (void)state;
    CHECK_RAN(0, "mcpctl call - ", NULL, "help", "call");
    CHECK_RAN(0, "mcpctl call - ", NULL, "call", "--help");
    CHECK_RAN(0, "mcpctl generate - ", NULL, "help", "generate");
}

static void
command_that_is_none_is_said_and_one_that_is_near(void **state)
{
    (void)state;
    CHECK_RAN(1, NULL, "there is no command 'zzzzzz'", "help", "zzzzzz");
    CHECK_RAN(1, NULL, "did you mean 'tools'?", "help", "tols");
}

TEST_MAIN(TEST(help_lists_commands_and_common_options),
          TEST(help_of_a_command_is_its_own),
          TEST(command_that_is_none_is_said_and_one_that_is_near))
