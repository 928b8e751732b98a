/* command_tools_test.c - mcpctl tools: the tools of a server, or one */
#include "cli/program.h"

static void
all_are_listed(void **state)
{
    (void)state;
    CHECK_RAN(0, "{\"tools\":[{\"name\":\"add\"", NULL, "tools", PROBE);
    CHECK_RAN(0, "\"name\":\"touch\"", NULL, "tools", PROBE, "--era", "legacy");
}

static void
one_is_shown_whole(void **state)
{
    (void)state;
    CHECK_RAN(0, "{\"name\":\"hang\",\"description\"", NULL, "tools", PROBE, "hang");
}

static void
one_that_is_not_there_is_1_with_a_near_name(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "did you mean hang?", "tools", PROBE, "hag");
    CHECK_RAN(1, "", "there is no tool \"zzzzzz\"", "tools", PROBE, "zzzzzz");
}

TEST_MAIN(TEST(all_are_listed), TEST(one_is_shown_whole),
          TEST(one_that_is_not_there_is_1_with_a_near_name))
