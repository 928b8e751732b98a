/* command_resources_test.c - mcpctl resources: the resources of a server */
#include "cli/program.h"

static void
all_are_listed(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"uri\":\"visits://icon\"", NULL, "resources",
              CLI_BIN "/example-resources");
    CHECK_RAN(0, "\"uri\":\"visits://icon\"", NULL, "resources",
              CLI_BIN "/example-resources", "--era", "legacy");
}

TEST_MAIN(TEST(all_are_listed))
