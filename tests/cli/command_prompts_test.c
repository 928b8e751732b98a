/* command_prompts_test.c - mcpctl prompts: the prompts of a server */
#include "cli/program.h"

static void
all_are_listed(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"name\":\"review\"", NULL, "prompts", CLI_BIN "/example-prompts");
}

TEST_MAIN(TEST(all_are_listed))
