/* doctor_cancel_test.c - proves cli/doctor_cancel.c: who obeys a cancel */
#include <stdio.h>

#include "cli/program.h"

#define OBEYS "\"title\":\"Obeys a cancel\","

/* A tool that takes long is canceled soon; one that ends by itself gets the time to. */
#define SOON "run=50"
#define NOT_YET "run=60000"

/* A server of sh(1) with one tool, t, which does what one script says, and the other one
 * when it is asked whether it lives, after its answer; $id is the id of the request, and
 * say answers it. Returns it as a target. */
static const char *
server_with(const char *on_call, const char *on_ping)
{
    static char target[512];
    char text[2048];

    (void)snprintf(
        text, sizeof(text),
        "tell() { echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",$1}\"; }\n"
        "say() { tell \"\\\"id\\\":$id,$1\"; }\n"
        "while read -r line; do\n"
        "id=${line#*\\\"id\\\":}; id=${id%%%%,*}\n"
        "case $line in\n"
        "*initialize\\\"*) say '\"result\":{\"protocolVersion\":\"2025-11-25\","
        "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"d\",\"version\":"
        "\"1\"}}';;\n"
        "*tools/list*) say '\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":{"
        "\"type\":\"object\"}}]}';;\n"
        "*tools/call*) %s;;\n"
        "*\\\"ping\\\"*) say '\"result\":{}'; %s;;\n"
        "*notifications/*) ;;\n"
        "*) say '\"error\":{\"code\":-32601,\"message\":\"no\"}';;\n"
        "esac; done\n",
        on_call, on_ping);
    (void)snprintf(target, sizeof(target), "/bin/sh %s", scratch_file("t.sh", text));
    return target;
}

static void
a_tool_that_stops_passes(void **state)
{
    (void)state;
    CHECK_RAN_IN(SOON, 0, OBEYS "\"verdict\":\"pass\",\"seen\":\"No answer came", NULL,
                 "doctor", PROBE, "--tool", "hang", "seconds=600");
    CHECK_RAN_IN(SOON, 0, OBEYS "\"verdict\":\"pass\"", NULL, "doctor", probe_http(),
                 "--tool", "hang_async", "seconds=600", "--era", "legacy");
    probe_stop();
}

static void
a_tool_that_cannot_show_it_is_skipped(void **state)
{
    (void)state;
    CHECK_RAN(0, OBEYS "\"verdict\":\"skip\",\"seen\":\"No tool was named", NULL,
              "doctor", PROBE);
    CHECK_RAN_IN(NOT_YET, 0,
                 OBEYS "\"verdict\":\"skip\",\"seen\":\"echo ended by itself", NULL,
                 "doctor", PROBE, "--tool", "echo", "text=x");
    CHECK_RAN(0, OBEYS "\"verdict\":\"skip\",\"seen\":\"There is no tool", NULL,
              "doctor", PROBE, "--tool", "nothing");
}

#define ANSWER "'\"result\":{\"content\":[]}'"

/* Once right behind the cancel; and once a moment after it has shown that the session
 * goes on, so that nobody sees it who does not wait. */
static void
a_server_that_answers_all_the_same_fails(void **state)
{
    (void)state;
    CHECK_RAN_IN(SOON, 1, OBEYS "\"verdict\":\"fail\",\"seen\":\"It answers a request",
                 NULL, "doctor", server_with("read -r cancel; say " ANSWER, ":"),
                 "--tool", "t");
    CHECK_RAN_IN(SOON, 1, OBEYS "\"verdict\":\"fail\",\"seen\":\"It answers a request",
                 NULL, "doctor",
                 server_with("call=$id",
                             "[ -z \"$call\" ] || (sleep 0.1; id=$call; say " ANSWER
                             ") &"),
                 "--tool", "t");
}

/* Nothing but its progress shows that the work goes on, until the server ends. */
static void
a_server_that_reports_further_progress_fails(void **state)
{
    (void)state;
    CHECK_RAN_IN(
        SOON, 1, OBEYS "\"verdict\":\"fail\",\"seen\":\"It goes on", NULL, "doctor",
        server_with("token=${line#*progressToken\\\":}; token=${token%%[,\\}]*}\n"
                    "(n=0; while tell \"\\\"method\\\":\\\"notifications/progress\\\","
                    "\\\"params\\\":{\\\"progressToken\\\":$token,"
                    "\\\"progress\\\":$n}\"; do n=$((n + 1)); sleep 0.01; done) &\n"
                    "trap \"kill $!\" EXIT",
                    ":"),
        "--tool", "t");
}

static void
a_server_that_dies_of_the_call_fails(void **state)
{
    (void)state;
    CHECK_RAN_IN(NOT_YET, 1,
                 OBEYS "\"verdict\":\"fail\",\"seen\":\"The server went away", NULL,
                 "doctor", server_with("exit 1", ":"), "--tool", "t");
}

TEST_MAIN(TEST(a_tool_that_stops_passes), TEST(a_tool_that_cannot_show_it_is_skipped),
          TEST(a_server_that_answers_all_the_same_fails),
          TEST(a_server_that_reports_further_progress_fails),
          TEST(a_server_that_dies_of_the_call_fails))
