/* doctor_cancel_test.c - proves cli/doctor_cancel.c: who obeys a cancel */
#include <stdio.h>

#include "cli/program.h"

#define OBEYS "\"title\":\"Obeys a cancel\","

static void
a_tool_that_stops_passes(void **state)
{
    (void)state;
    CHECK_RAN(0, OBEYS "\"verdict\":\"pass\",\"seen\":\"No answer came", NULL, "doctor",
              PROBE, "--tool", "hang", "seconds=600");
    CHECK_RAN(0, OBEYS "\"verdict\":\"pass\"", NULL, "doctor", probe_http(), "--tool",
              "hang_async", "seconds=600", "--era", "legacy");
    probe_stop();
}

static void
a_tool_that_cannot_show_it_is_skipped(void **state)
{
    (void)state;
    CHECK_RAN(0, OBEYS "\"verdict\":\"skip\",\"seen\":\"No tool was named", NULL,
              "doctor", PROBE);
    CHECK_RAN(0, OBEYS "\"verdict\":\"skip\",\"seen\":\"echo ended by itself", NULL,
              "doctor", PROBE, "--tool", "echo", "text=x");
    CHECK_RAN(0, OBEYS "\"verdict\":\"skip\",\"seen\":\"There is no tool", NULL,
              "doctor", PROBE, "--tool", "nothing");
}

/* A server that answers after 0.5 s, whatever it is told meanwhile. */
static void
a_server_that_answers_all_the_same_fails(void **state)
{
    const char *path = scratch_file(
        "deaf.sh",
        "while read -r line; do\n"
        "id=${line#*\\\"id\\\":}; id=${id%%,*}\n"
        "say() { echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,$1}\"; }\n"
        "case $line in\n"
        "*initialize\\\"*) say '\"result\":{\"protocolVersion\":\"2025-11-25\","
        "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"d\",\"version\":"
        "\"1\"}}';;\n"
        "*tools/list*) say '\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{"
        "\"type\":\"object\"}}]}';;\n"
        "*tools/call*) sleep 0.5; say '\"result\":{\"content\":[]}';;\n"
        "*\\\"ping\\\"*) say '\"result\":{}';;\n"
        "*notifications/*) ;;\n"
        "*) say '\"error\":{\"code\":-32601,\"message\":\"no\"}';;\n"
        "esac; done\n");
    char target[512];

    (void)state;
    (void)snprintf(target, sizeof(target), "/bin/sh %s", path);
    CHECK_RAN(1, OBEYS "\"verdict\":\"fail\",\"seen\":\"It answers a request", NULL,
              "doctor", target, "--tool", "t");
}

TEST_MAIN(TEST(a_tool_that_stops_passes), TEST(a_tool_that_cannot_show_it_is_skipped),
          TEST(a_server_that_answers_all_the_same_fails))
