/* command_call_test.c - mcpctl call: call a tool */
#include <string.h>

#include "cli/program.h"

static void
arguments_are_typed_by_the_schema(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"sum\":42", NULL, "call", PROBE, "add", "a=19", "b=23");
    CHECK_RAN(0, "\"text\":\"42\"", NULL, "call", PROBE, "echo", "text=42");
    CHECK_RAN(0, "\"text\":\"x\"", NULL, "call", PROBE, "echo", "text:=\"x\"");
}

static void
a_wrong_one_is_explained_and_nothing_is_sent(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "b: must be a number", "call", PROBE, "add", "a=1", "b=x");
    CHECK_RAN(1, "", "the schema says: number", "call", PROBE, "add", "a=1", "b=x");
    CHECK_RAN(1, "", "text", "call", PROBE, "echo");
}

static void
they_may_come_from_a_file_or_stdin(void **state)
{
    (void)state;
    struct ran ran;

    CHECK_RAN(0, "\"text\":\"from a file\"", NULL, "call", PROBE, "echo", "--args",
              scratch_file("args.json", "{\"text\":\"from a file\"}"));
    ran = run_mcpctl_with(
        (const char *const[]){"call", PROBE, "echo", "--args", "-", NULL},
        "{\"text\":\"from stdin\"}", NULL);
    check_ran(&ran, 0, "\"text\":\"from stdin\"", NULL);
}

static void
progress_is_told_on_stderr(void **state)
{
    (void)state;
    CHECK_RAN(0, NULL, "progress", "call", PROBE, "count", "to=3");
    CHECK_RAN(0, NULL, "{\"progress\":", "--json", "call", PROBE, "count", "to=3");
}

static void
what_a_server_asks_is_declined_without_a_terminal(void **state)
{
    (void)state;
    CHECK_RAN(5, "does not want to travel", "Tell me about your trip", "call",
              CLI_BIN "/example-asking", "book");
    CHECK_RAN(5, "does not want to travel", NULL, "call", CLI_BIN "/example-asking",
              "book", "--era", "legacy", "--no-input");
}

static void
log_messages_are_shown_if_they_are_wanted(void **state)
{
    struct ran ran;

    (void)state;
    CHECK_RAN(0, NULL, "[info] work: step 5 of 5", "call", CLI_BIN "/example-content",
              "work");
    ran = RUN("call", CLI_BIN "/example-content", "work", "--log", "error");
    assert_int_equal(ran.code, 0);
    assert_null(strstr(ran.err, "[info]"));
    ran_done(&ran);
}

TEST_MAIN(TEST(arguments_are_typed_by_the_schema),
          TEST(a_wrong_one_is_explained_and_nothing_is_sent),
          TEST(they_may_come_from_a_file_or_stdin), TEST(progress_is_told_on_stderr),
          TEST(what_a_server_asks_is_declined_without_a_terminal),
          TEST(log_messages_are_shown_if_they_are_wanted))
