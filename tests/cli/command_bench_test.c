/* command_bench_test.c - mcpctl bench: speed, and what canceled calls leave behind */
#include <signal.h>
#include <string.h>

#include <mcp/json.h>

#include "cli/program.h"

static void
calls_are_counted_and_nothing_is_left(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"answered\":50,", NULL, "bench", PROBE, "--tool", "echo", "text=hi",
              "--count", "50", "--at-once", "4");
}

static void
canceled_calls_leave_nothing_over_http(void **state)
{
    struct ran ran = RUN("bench", probe_http(), "--tool", "hang_async", "seconds=600",
                         "--count", "20", "--at-once", "4", "--cancel-rate", "100%");

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.out, "\"canceled\":20,"));
    assert_non_null(strstr(ran.out, "\"verdict\":\"clean\""));
    assert_non_null(strstr(ran.out, "\"latency_ms\":{}"));
    ran_done(&ran);
    probe_stop();
}

static void
calls_may_be_canceled_at_once(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"canceled\":20,", NULL, "bench", PROBE, "--tool", "hang",
              "seconds=600", "--count", "20", "--cancel-rate", "1", "--cancel-after",
              "0");
}

static void
a_tool_that_is_not_there_is_no_run(void **state)
{
    (void)state;
    CHECK_RAN(1, NULL, "no tool named nothing", "bench", PROBE, "--tool", "nothing");
    CHECK_RAN(1, NULL, "--tool", "bench", PROBE, "text=hi");
    CHECK_RAN(4, NULL, NULL, "bench", "/nonexistent/server");
}

/* The call that is under way shows in the trace. */
static void
ctrl_c_ends_it_early_and_reports(void **state)
{
    const char *const words[] = {"bench",     PROBE,         "--tool",
                                 "hang",      "seconds=600", "--trace",
                                 "--timeout", "1h",          NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"tools/call\"");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    assert_int_equal(ran.code, 130);
    assert_non_null(strstr(ran.out, "\"interrupted\":true"));
    assert_non_null(strstr(ran.out, "\"handlers_after\":0"));
    ran_done(&ran);
}

TEST_MAIN(TEST(calls_are_counted_and_nothing_is_left),
          TEST(canceled_calls_leave_nothing_over_http),
          TEST(calls_may_be_canceled_at_once), TEST(a_tool_that_is_not_there_is_no_run),
          TEST(ctrl_c_ends_it_early_and_reports))
