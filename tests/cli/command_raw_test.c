/* command_raw_test.c - mcpctl raw: any method, as it is */
#include <signal.h>

#include "cli/program.h"

static void
the_result_is_shown(void **state)
{
    (void)state;
    CHECK_RAN(0, "{\"tools\":[", NULL, "raw", PROBE, "tools/list");
    CHECK_RAN(0, "\"sum\":3", NULL, "raw", PROBE, "tools/call",
              "{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}");
}

static void
parameters_may_come_from_stdin(void **state)
{
    (void)state;
    struct ran ran = run_mcpctl_with(
        (const char *const[]){"raw", PROBE, "tools/call", "-", NULL},
        "{\"name\":\"echo\",\"arguments\":{\"text\":\"from stdin\"}}", NULL);

    check_ran(&ran, 0, "from stdin", NULL);
}

static void
Ctrl_C_ends_the_reading_of_stdin(void **state)
{
    const char *const words[] = {"--trace", "raw", PROBE, "tools/list", "-", NULL};
    struct running running = start_mcpctl_with_input(words);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"supportedVersions\"");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    (void)running_until(running.err, "cancel"); /* its stdin is still open */
    ran = running_end(&running);
    check_ran(&ran, 130, "", NULL);
}

static void
what_is_no_object_is_refused(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "no JSON", "raw", PROBE, "tools/list", "{");
    CHECK_RAN(1, "", "must be a JSON object", "raw", PROBE, "tools/list", "[]");
}

static void
a_notification_is_sent_and_not_waited_for(void **state)
{
    (void)state;
    CHECK_RAN(0, "", "--> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"",
              "--trace", "raw", PROBE, "notifications/x", "{\"a\":1}", "--notify",
              "--era", "legacy");
}

TEST_MAIN(TEST(the_result_is_shown), TEST(parameters_may_come_from_stdin),
          TEST(Ctrl_C_ends_the_reading_of_stdin), TEST(what_is_no_object_is_refused),
          TEST(a_notification_is_sent_and_not_waited_for))
