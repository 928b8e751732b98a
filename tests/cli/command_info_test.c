/* command_info_test.c - mcpctl info: who the server is, and what it can do */
#include "cli/program.h"

static void
it_tells_who_the_server_is(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"serverInfo\":{\"name\":\"probe-server\"", NULL, "info", PROBE);
    CHECK_RAN(0, "\"protocolVersion\":\"2026-07-28\"", NULL, "info", PROBE);
    CHECK_RAN(0, "\"protocolVersion\":\"2025-11-25\"", NULL, "info", PROBE, "--era",
              "legacy");
}

static void
it_tells_what_it_can(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"capabilities\":{\"logging\":{}", NULL, "info", PROBE);
}

TEST_MAIN(TEST(it_tells_who_the_server_is), TEST(it_tells_what_it_can))
