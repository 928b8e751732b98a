/* command_ping_test.c - mcpctl ping: is anybody there? */
#include "cli/program.h"

static void
it_is_in_either_era(void **state)
{
    (void)state;
    CHECK_RAN(0, "{\"ping\":1,\"ms\":", NULL, "ping", PROBE);
    CHECK_RAN(0, "{\"ping\":3,\"ms\":", NULL, "ping", PROBE, "--count", "3", "--era",
              "legacy");
}

static void
each_one_is_asked(void **state)
{
    (void)state;
    CHECK_RAN(0, NULL, "\"id\":2,\"method\":\"server/discover\"", "--trace", "ping",
              PROBE, "--count", "2");
}

TEST_MAIN(TEST(it_is_in_either_era), TEST(each_one_is_asked))
