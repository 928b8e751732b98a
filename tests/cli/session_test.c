/* session_test.c - a session with the target, and calls in it */
#include "cli/session.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/program.h"

static void
each_kind_of_target_is_reached(void **state)
{
    const char *url = probe_http();
    char path[128];

    (void)state;
    CHECK_RAN(0, "\"text\":\"hi\"", NULL, "call", url, "echo", "text=hi");
    probe_stop();
    (void)snprintf(path, sizeof(path), "unix:%s/socket", scratch());
    probe_unix(path + strlen("unix:"));
    CHECK_RAN(0, "\"text\":\"hi\"", NULL, "call", path, "echo", "text=hi");
    probe_stop();
    CHECK_RAN(0, "\"text\":\"hi\"", NULL, "call", "'" PROBE "'", "echo", "text=hi");
}

static void
a_configured_name_is_one(void **state)
{
    (void)state;
    (void)scratch_file(".mcp.json",
                       "{\"mcpServers\":{\"my probe\":{\"command\":\"" PROBE
                       "\"},// mine\n\"probe\":{\"command\":\"" PROBE "\",},}}");
    CHECK_RAN(0, "\"text\":\"hi\"", NULL, "call", "probe", "echo", "text=hi");
}

static void
that_a_project_hides_the_user_s_own_server_is_said(void **state)
{
    (void)state;
    (void)scratch_file(".mcp.json",
                       "{\"mcpServers\":{\"probe\":{\"command\":\"" PROBE "\"},"
                       "\"other\":{\"command\":\"" PROBE "\"}}}");
    (void)scratch_file(".claude.json",
                       "{\"mcpServers\":{\"probe\":{\"command\":\"mine\"}}}");
    CHECK_RAN(0, "\"text\":\"hi\"", "mcpctl: using \"probe\" from ", "call", "probe",
              "echo", "text=hi");
    CHECK_RAN(0, "\"text\":\"hi\"", "", "call", "other", "echo", "text=hi");
    (void)scratch_file(".mcp.json",
                       "{\"mcpServers\":{\"sh\":{\"command\":\"" PROBE "\"}}}");
    CHECK_RAN(0, "\"text\":\"hi\"", "it hides the program of that name", "call", "sh",
              "echo", "text=hi");
    (void)scratch_file(".claude.json", "{}");
}

static void
what_a_server_says_on_stderr_is_shown_harmlessly(void **state)
{
    (void)state;
    CHECK_RAN(0, NULL, "hello from it\n", "info",
              "sh -c 'printf \"hello \\033[31mfrom it\\n\" >&2; exec \"" PROBE "\"'");
}

static void
what_a_server_prints_on_its_wire_is_told_of_once(void **state)
{
    struct ran ran = RUN("info",
                         "sh -c 'echo Starting; echo ready; exec \"" PROBE "\"'");
    const char *told = strstr(ran.err, "not a message: ");

    (void)state;
    assert_non_null(told);
    assert_null(strstr(told + 1, "not a message"));
    check_ran(&ran, 0, "probe-server", "--trace shows the wire");
}

static void
why_there_is_no_session_is_said_once(void **state)
{
    struct ran ran = RUN("info", "sh -c 'exit 7'");
    const char *why = strstr(ran.err, "exited with status 7");

    (void)state;
    assert_non_null(why);
    assert_null(strstr(why + 1, "exited with"));
    check_ran(&ran, CLI_UNREACHABLE, "", NULL);
}

static void
what_a_server_adds_to_its_error_is_shown(void **state)
{
    (void)state;
    (void)scratch_file(
        "picky.sh",
        "while read -r line; do case $line in\n"
        "*'\"initialize\"'*) printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":0,"
        "\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
        "\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}}';;\n"
        "*some/work*) printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
        "{\"code\":7,\"message\":\"no\",\"data\":{\"hint\":\"\\u202e\"}}}';; "
        "esac; done\n");
    CHECK_RAN(1, "", "mcpctl: the server says 7: no\nmcpctl: it adds: {\"hint\":\"",
              "raw", "sh picky.sh", "some/work", "--era", "legacy");
    CHECK_RAN(1, "",
              "\"message\":\"no\",\"data\":{\"hint\":\"\\u202e\"}},\"exit\":1}\n",
              "raw", "sh picky.sh", "some/work", "--era", "legacy", "--json");
}

static void
a_total_time_ends_a_call_that_reports_progress(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "no answer in time", "call", PROBE, "count", "to=1000000",
              "delay_ms=1", "--reset-on-progress", "--max-total", "300ms");
}

static void
headers_reach_an_HTTP_server(void **state)
{
    const char *url = probe_http();

    (void)state;
    CHECK_RAN(0, "2026", NULL, "info", url, "--header", "X-Mine: 1");
    CHECK_RAN(1, "", "--header takes \"Name: value\"", "info", url, "--header",
              "no header");
    CHECK_RAN(1, "", "eader", "info", url, "--header", "Mcp-Method: x");
    probe_stop();
}

static void
an_era_that_the_server_does_not_speak_is_4(void **state)
{
    (void)state;
    CHECK_RAN(4, "", NULL, "info", "/bin/cat", "--era", "legacy", "--timeout", "2s");
}

#define LOGGED 200

/* A server of 2025 whose answer to resources/read is the file "answer". */
static void
write_logging_server(void)
{
    static char answer[LOGGED * 2200]; /* long ones take long to be shown */
    size_t used = 0;

    for (int i = 0; i < LOGGED; i++)
        used += (size_t)snprintf(
            answer + used, sizeof(answer) - used,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
            "\"params\":{\"level\":\"error\",\"data\":\"word %2000d\"}}\n",
            i);
    (void)snprintf(answer + used, sizeof(answer) - used,
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[]}}\n");
    (void)scratch_file("answer", answer);
    (void)scratch_file(
        "server.sh",
        "while read -r line; do case $line in\n"
        "*'\"initialize\"'*) printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":0,"
        "\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":"
        "{\"resources\":{}},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}}';;\n"
        "*resources/read*) cat answer;; esac; done\n");
}

static void
what_is_logged_just_before_the_answer_is_not_lost(void **state)
{
    struct ran ran;
    int count = 0;

    (void)state;
    write_logging_server();
    ran = RUN("read", "sh server.sh", "x:y", "--era", "legacy");
    for (const char *at = strstr(ran.err, "word"); at; at = strstr(at + 1, "word"))
        count++;
    assert_int_equal(ran.code, 0);
    assert_int_equal(count, LOGGED);
    ran_done(&ran);
}

/* Ctrl-C while it is opened: nobody will tell that it has ended. */
static void
a_session_that_never_was_has_no_end_to_wait_for(void **state)
{
    char *words[] = {(char[]){"info"}, (char[]){"/bin/cat"}, NULL};
    struct cli_session session;
    struct cli cli;
    int count;

    (void)state;
    assert_int_equal(cli_init(&cli, 2, words, &count), -1);
    assert_int_equal(mcp_scope_cancel(cli.scope, NULL), 0);
    assert_int_equal(cli_session_open(&cli, words[0], NULL, &session), CLI_CANCELED);
    assert_false(session.tells_end);
    cli_done(&cli);
}

/* A dead one that nobody has waited for counts as gone. */
static bool
is_alive(const char *pid)
{
    char path[64], text[256] = "";
    const char *state;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%.*s/stat",
                   (int)strspn(pid, "0123456789"), pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    (void)!fgets(text, sizeof(text), file);
    (void)fclose(file);
    state = strrchr(text, ')');
    return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

/* The first is heard at once, but it takes seconds until such a server has ended. */
static void
a_second_signal_kills_a_server_that_is_not_ready_and_all_that_it_started(void **state)
{
    const char *const words[] = {"info", "sh stubborn.sh", NULL};
    struct running running;
    char pid[32] = "";
    struct ran ran;

    (void)state;
    (void)scratch_file("stubborn.sh",
                       "trap '' TERM\nsleep 600 &\n"
                       "echo \"child $! started\" >&2\nwait\nsleep 600\n");
    running = start_mcpctl(words, to_be_killed());
    (void)sscanf(strstr(running_until(running.err, " started"), "child "), "child %31s",
                 pid);
    assert_int_equal(kill(running.pid, SIGINT), 0);
    (void)running_until(running.err, "canceled before there was a session");
    assert_int_equal(kill(running.pid, SIGTERM), 0); /* two SIGINT may be one */
    ran = running_end(&running);
    assert_int_equal(ran.code, CLI_CANCELED);
    ran_done(&ran);
    for (int ms = 0; ms < AWAIT_MS && is_alive(pid); ms++)
        (void)poll(NULL, 0, 1);
    assert_false(is_alive(pid));
}

TEST_MAIN(
    TEST(each_kind_of_target_is_reached), TEST(a_configured_name_is_one),
    TEST(that_a_project_hides_the_user_s_own_server_is_said),
    TEST(what_a_server_says_on_stderr_is_shown_harmlessly),
    TEST(what_a_server_prints_on_its_wire_is_told_of_once),
    TEST(why_there_is_no_session_is_said_once),
    TEST(what_a_server_adds_to_its_error_is_shown),
    TEST(a_total_time_ends_a_call_that_reports_progress),
    TEST(headers_reach_an_HTTP_server),
    TEST(an_era_that_the_server_does_not_speak_is_4),
    TEST(what_is_logged_just_before_the_answer_is_not_lost),
    TEST(a_session_that_never_was_has_no_end_to_wait_for),
    TEST(a_second_signal_kills_a_server_that_is_not_ready_and_all_that_it_started))
