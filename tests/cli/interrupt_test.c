/*
 * interrupt_test.c - Ctrl-C in the middle of a call, on each transport and in each era:
 * the server is told in the right way, and nothing is left in it
 */
#include "cli/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"

/* Where the call runs, and how its cancel is spelled there. */
struct place {
    const char *era;
    enum { ON_STDIO, ON_HTTP, ON_UNIX } kind;
    const char *spelled, *not_spelled;
};

static struct place places[] = {
    {"modern", ON_STDIO, "\"method\":\"notifications/cancelled\"",
     "closed the response"},
    {"legacy", ON_STDIO, "\"method\":\"notifications/cancelled\"",
     "closed the response"},
    {"modern", ON_HTTP, "closed the response to request", "notifications/cancelled"},
    {"legacy", ON_HTTP, "\"method\":\"notifications/cancelled\"", NULL},
    {"modern", ON_UNIX, "\"method\":\"notifications/cancelled\"",
     "closed the response"},
};

static const char *
target_of(const struct place *place, char *unix_path, size_t room)
{
    if (place->kind == ON_HTTP)
        return probe_http();
    if (place->kind == ON_STDIO)
        return PROBE;
    (void)snprintf(unix_path, room, "unix:%s/socket", scratch());
    probe_unix(unix_path + strlen("unix:"));
    return unix_path;
}

static void
Ctrl_C_cancels_in_the_server_too(void **state)
{
    const struct place *place = *state;
    char path[128];
    const char *target = target_of(place, path, sizeof(path));
    const char *const words[] = {"--trace", "--era", place->era,    "call",
                                 target,    "hang",  "seconds=600", NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)running_until(running.err, "\"method\":\"tools/call\"");
    if (place->kind != ON_STDIO) /* what was canceled before it began is not counted */
        AWAIT_STATS(target, "\"live_handlers\":1", "\"pool_free\":9");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    if (ran.code != CLI_CANCELED || !strstr(ran.err, place->spelled))
        fail_msg("exit %d: %s", ran.code, ran.err);
    if (place->not_spelled)
        assert_null(strstr(strstr(ran.err, "canceling"), place->not_spelled));
    assert_non_null(strstr(ran.err, "mcpctl: canceled tools/call hang: "));
    assert_non_null(strstr(ran.err, "and the server answers"));
    assert_string_equal(ran.out, "");
    ran_done(&ran);
    if (place->kind == ON_STDIO) /* it has ended; tests/checks/terminal.py asks one */
        return;
    AWAIT_STATS(target, "\"live_handlers\":0", "\"pool_free\":10", "\"cancelled\":1");
    probe_stop();
}

/* A result that is more than its reader takes, which is a pipe that nobody reads. */
static void
it_ends_what_is_being_shown(void **state)
{
    static char text[1 << 20];
    struct running running;
    struct pollfd began;
    char word[256];
    struct ran ran;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    (void)snprintf(word, sizeof(word), "text=@%s", scratch_file("text", text));
    running = start_mcpctl((const char *const[]){"call", PROBE, "echo", word, NULL},
                           NULL);
    began = (struct pollfd){.fd = running.out, .events = POLLIN};
    assert_int_equal(poll(&began, 1, AWAIT_MS), 1);
    assert_int_equal(kill(running.pid, SIGINT), 0);
    (void)running_until(running.err, "canceled; the rest is not shown");
    ran = running_end(&running);
    assert_int_equal(ran.code, CLI_CANCELED);
    ran_done(&ran);
}

/* Whoever reads these lines learns of each exit that is not 0 in the same way. */
static void
with_json_a_cancel_is_one_line_too(void **state)
{
    const char *const words[] = {"--json", "--trace",     "call", PROBE,
                                 "hang",   "seconds=600", NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"method\":\"tools/call\"");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    assert_int_equal(ran.code, CLI_CANCELED);
    assert_non_null(strstr(ran.err, "{\"error\":{\"message\":\"canceled tools/call "));
    assert_non_null(strstr(ran.err, "and the server answers\"},\"exit\":130}\n"));
    ran_done(&ran);
}

/* The server does not listen: the first is not confirmed yet when the second kills. */
static void
a_second_one_kills(void **state)
{
    const char *const words[] = {"--trace", "info", "/bin/sleep 600", NULL};
    struct running running = start_mcpctl(words, to_be_killed());
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "server/discover");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    assert_int_equal(kill(running.pid, SIGTERM), 0); /* two SIGINT may be one */
    ran = running_end(&running);
    assert_int_equal(ran.code, CLI_CANCELED);
    ran_done(&ran);
}

static void
the_same_signal_within_a_moment_is_no_second_one(void **state)
{
    (void)state;
    assert_true(cli_interrupt_is_same(SIGINT, 1000, SIGINT, 1000));
    assert_true(cli_interrupt_is_same(SIGINT, 1000, SIGINT, 1199));
    assert_false(cli_interrupt_is_same(SIGINT, 1000, SIGINT, 1200));
    assert_false(cli_interrupt_is_same(SIGINT, 1000, SIGTERM, 1000));
    assert_false(cli_interrupt_is_same(0, 0, SIGINT, 1)); /* there was none */
}

static void
SIGTERM_cancels_too_and_is_what_we_die_of(void **state)
{
    const char *const words[] = {"--trace", "call", PROBE, "hang", "seconds=600", NULL};
    struct running running = start_mcpctl(words, NULL);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"method\":\"tools/call\"");
    assert_int_equal(kill(running.pid, SIGTERM), 0);
    ran = running_end(&running);
    assert_int_equal(ran.signal, SIGTERM);
    assert_non_null(strstr(ran.err, "notifications/cancelled"));
    ran_done(&ran);
}

/* Of a server that says nothing any more nobody knows whether it was told. */
static void
a_cancel_that_nobody_confirms_is_6(void **state)
{
    static const char script[] =
        "sh -c 'read a; echo "
        "\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":0,\\\"result\\\":"
        "{\\\"protocolVersion\\\":\\\"2025-11-25\\\",\\\"capabilities\\\":{},"
        "\\\"serverInfo\\\":{\\\"name\\\":\\\"x\\\",\\\"version\\\":\\\"1\\\"}}}\"; "
        "cat >/dev/null; exit'";
    const char *const words[] = {"--trace", "--era",     "legacy", "raw",
                                 script,    "some/work", NULL};
    const char *const env[] = {TIMES("confirm=50"), NULL};
    struct running running = start_mcpctl(words, env);
    struct ran ran;

    (void)state;
    (void)running_until(running.err, "\"method\":\"some/work\"");
    assert_int_equal(kill(running.pid, SIGINT), 0);
    ran = running_end(&running);
    assert_int_equal(ran.code, CLI_UNCONFIRMED);
    assert_non_null(strstr(ran.err, "but not confirmed"));
    ran_done(&ran);
}

TEST_MAIN(TEST_AS("stdio.modern.Ctrl_C_cancels_in_the_server_too",
                  Ctrl_C_cancels_in_the_server_too, &places[0]),
          TEST_AS("stdio.legacy.Ctrl_C_cancels_in_the_server_too",
                  Ctrl_C_cancels_in_the_server_too, &places[1]),
          TEST_AS("http.modern.Ctrl_C_cancels_in_the_server_too",
                  Ctrl_C_cancels_in_the_server_too, &places[2]),
          TEST_AS("http.legacy.Ctrl_C_cancels_in_the_server_too",
                  Ctrl_C_cancels_in_the_server_too, &places[3]),
          TEST_AS("unix.modern.Ctrl_C_cancels_in_the_server_too",
                  Ctrl_C_cancels_in_the_server_too, &places[4]),
          TEST(it_ends_what_is_being_shown), TEST(with_json_a_cancel_is_one_line_too),
          TEST(a_second_one_kills),
          TEST(the_same_signal_within_a_moment_is_no_second_one),
          TEST(SIGTERM_cancels_too_and_is_what_we_die_of),
          TEST(a_cancel_that_nobody_confirms_is_6))
