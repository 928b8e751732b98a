/* command_templates_test.c - mcpctl templates: patterns of resources */
#include "cli/program.h"

static void
all_are_listed(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"uriTemplate\":\"users://{name}/card\"", NULL, "templates",
              CLI_BIN "/example-resources");
}

TEST_MAIN(TEST(all_are_listed))
