/* main_test.c - mcpctl as a whole: words, exit codes, what goes where */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <mcp/json.h>

#include "cli/program.h"

static void
wrong_usage_is_1_and_explained(void **state)
{
    (void)state;
    CHECK_RAN(1, NULL, "did you mean call?", "cal", "x");
    CHECK_RAN(1, NULL, "mcpctl help lists them", "nonsense");
    CHECK_RAN(1, NULL, "too few words: mcpctl call TARGET TOOL", "call", PROBE);
    CHECK_RAN(1, NULL, "too many words", "info", PROBE, "more");
    CHECK_RAN(1, NULL, "did you mean --timeout?", "info", PROBE, "--timeuot", "5s");
    CHECK_RAN(1, NULL, "--era takes one of", "info", PROBE, "--era", "old");
    CHECK_RAN(1, NULL, "which command?", "--json");
}

static void
help_and_version_need_no_server(void **state)
{
    (void)state;
    CHECK_RAN(0, "mcpctl 0.", NULL, "--version");
    CHECK_RAN(0, "Commands:", NULL, "--help");
    CHECK_RAN(0, "Commands:", NULL, "-h");
    CHECK_RAN(0, "mcpctl call", NULL, "call", "-h");
    CHECK_RAN(0, "mcpctl call", NULL, "call", "--help");
    CHECK_RAN(0, "mcpctl call", NULL, "help", "call");
}

static void
who_is_not_there_is_4(void **state)
{
    (void)state;
    CHECK_RAN(4, NULL, "no such file", "info", "./no-such-server");
    CHECK_RAN(4, NULL, NULL, "info", "http://127.0.0.1:1/mcp");
    CHECK_RAN(4, NULL, NULL, "info", "unix:/no/such/socket");
    CHECK_RAN(4, NULL, NULL, "info", "/bin/true");
}

static void
a_tool_that_fails_is_5(void **state)
{
    (void)state;
    CHECK_RAN(5, "\"isError\":true", "the tool failed", "call",
              CLI_BIN "/example-asking", "book");
}

static void
what_the_server_refuses_is_1(void **state)
{
    (void)state;
    CHECK_RAN(1, NULL, "-32601", "raw", PROBE, "no/such/method");
}

/* The opening has a minute: it would time out as well, with another exit code. */
static void
a_timeout_is_1_and_the_server_is_told(void **state)
{
    (void)state;
    CHECK_RAN_IN("hello=60000", 1, NULL, "notifications/cancelled", "--trace", "call",
                 PROBE, "hang", "seconds=600", "--timeout", "100ms");
}

/* Each failure is one line of JSON, with all that is known of it. */
static void
with_json_a_failure_is_one_line_of_JSON(void **state)
{
    struct ran ran = RUN("--json", "raw", PROBE, "no/such/method");
    const mcp_json *error;
    mcp_doc *doc;

    (void)state;
    assert_int_equal(ran.code, 1);
    assert_string_equal(ran.out, "");
    assert_int_equal(mcp_doc_parse(ran.err, strlen(ran.err), NULL, &doc, NULL), 0);
    error = mcp_json_get(mcp_doc_root(doc), "error");
    assert_int_equal(mcp_json_int(mcp_json_get(error, "code"), 0), -32601);
    assert_true(mcp_json_is_string(mcp_json_get(error, "status"), "MCP_E_PEER"));
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_doc_root(doc), "exit"), 0), 1);
    mcp_doc_free(doc);
    ran_done(&ran);
}

static void
options_may_stand_before_the_command(void **state)
{
    (void)state;
    CHECK_RAN(0, "2025-11-25", NULL, "--era", "legacy", "--timeout=5s", "info", PROBE);
    CHECK_RAN(0, "2026-07-28", NULL, "info", PROBE, "--era", "modern");
}

/* A reader that takes one line and leaves, as head(1) does. */
static void
a_reader_that_leaves_ends_it_by_SIGPIPE_and_without_a_word(void **state)
{
    const char *const words[] = {"--trace", "call", PROBE, "hang", "seconds=600", NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"method\":\"tools/call\"");
    close(running.out);
    running.out = dup(running.err); /* so that there is one to be read and closed */
    ran = running_end(&running);
    assert_int_equal(ran.signal, SIGPIPE);
    assert_null(strstr(ran.err, "mcpctl:"));
    ran_done(&ran);
}

static void
variables_and_folder_reach_a_server(void **state)
{
    (void)state;
    CHECK_RAN(4, NULL, NULL, "info", PROBE, "--cwd", "/no/such/folder");
    CHECK_RAN(0, "2026", NULL, "info", PROBE, "--cwd", "/", "--env", "A=1");
    CHECK_RAN(1, "", "--env takes NAME=value", "info", PROBE, "--env", "nothing");
    CHECK_RAN(1, "", "--env takes NAME=value", "info", PROBE, "--env", "=x");
}

/* mcpctl by a shell, which sends its stdout elsewhere. */
static struct ran
run_by_shell(const char *line)
{
    const char *const argv[] = {"/bin/sh", "-c", line, NULL};
    struct running running = start_program(argv);

    return running_end(&running);
}

static void
a_stdout_that_is_full_is_a_failure(void **state)
{
    struct ran ran = run_by_shell(MCPCTL " info " PROBE " --json >/dev/full");

    (void)state;
    assert_non_null(strstr(ran.err, "\"exit\":1"));
    check_ran(&ran, 1, "", "{\"error\":{\"message\":\"cannot write to stdout: ");
}

/* Its number must not be that of the pipe to the server. */
static void
a_stdout_that_is_closed_is_a_failure(void **state)
{
    struct ran ran = run_by_shell(MCPCTL " info " PROBE " >&-");

    (void)state;
    check_ran(&ran, 1, "", "cannot write to stdout: Bad file descriptor");
    ran = run_by_shell(MCPCTL " info " PROBE " <&- 2>&-");
    check_ran(&ran, 0, "2026-07-28", "");
}

TEST_MAIN(TEST(wrong_usage_is_1_and_explained), TEST(help_and_version_need_no_server),
          TEST(who_is_not_there_is_4), TEST(a_tool_that_fails_is_5),
          TEST(what_the_server_refuses_is_1),
          TEST(a_timeout_is_1_and_the_server_is_told),
          TEST(with_json_a_failure_is_one_line_of_JSON),
          TEST(options_may_stand_before_the_command),
          TEST(a_reader_that_leaves_ends_it_by_SIGPIPE_and_without_a_word),
          TEST(variables_and_folder_reach_a_server),
          TEST(a_stdout_that_is_full_is_a_failure),
          TEST(a_stdout_that_is_closed_is_a_failure))
