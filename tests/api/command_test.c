/* command_test.c - a command, run for a request and ended with it */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/server.h"
#include "support/gone.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#include <mcp/client.h>
#include <mcp/isolate.h>
#include <mcp/server.h>

/* A server with one tool that runs one command, and a client of it in memory. */
struct scene {
    mcp_server *server;
    mcp_client *client;
    mcp_command command;
    int status;
    mcp_error err;
    mcp_command_result result;
    atomic_int returned;
    atomic_int pid; /* of the command, as it printed it */
    mcp_request *req;
    atomic_int begun, failed;   /* of many at once */
    struct virtual_clock clock; /* after scene_hold_time */
};

static int
run_command(mcp_request *req, mcp_result *out, void *user)
{
    struct scene *s = user;

    s->req = req;
    s->status = mcp_request_command(req, &s->command, &s->result, &s->err);
    atomic_store(&s->returned, 1);
    return s->status < 0 ? s->status : mcp_result_text(out, "ran");
}

static void
scene_open_with(struct scene *s, mcp_command command, mcp_server_options opt,
                mcp_tool tool)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "t", .version = "1");

    memset(s, 0, sizeof(*s));
    s->command = command;
    tool.name = "run";
    tool.user = s;
    opt.name = "t";
    opt.version = "1";
    opt.stop_ms = 20000; /* handlers end before it is gone */
    assert_int_equal(mcp_server_new(&opt, &s->server, NULL), 0);
    assert_int_equal(mcp_server_add_tool(s->server, &tool, NULL), 0);
    assert_int_equal(mcp_server_start(s->server, NULL), 0);
    assert_int_equal(mcp_client_attach_server(s->server, &me, &s->client, NULL), 0);
}

static void
scene_open(struct scene *s, mcp_command command)
{
    scene_open_with(s, command, MCP_SERVER_OPTIONS(.page = 0),
                    MCP_TOOL(.run = run_command));
}

/* The server's time jumps from now on when the command says something. It runs besides,
 * for the grace: a process that is forked just then may miss its SIGTERM. */
static void
scene_hold_time(struct scene *s)
{
    virtual_clock_init_running(&s->clock);
    virtual_clock_hold(&s->clock, s->server->trunk.host.inside);
    s->command.user = s;
}

static void
scene_close(struct scene *s)
{
    mcp_client_free(s->client);
    mcp_server_free(s->server);
    mcp_command_result_done(&s->result);
}

static void
scene_call(struct scene *s, int status)
{
    mcp_reply *reply = NULL;

    assert_int_equal(mcp_client_call_tool(s->client, "run", NULL, NULL, &reply, NULL),
                     status);
    mcp_reply_free(reply);
}

static void
pause_ms(long ms)
{
    struct timespec left = {ms / 1000, (ms % 1000) * 1000000};

    nanosleep(&left, NULL);
}

static void
wait_for(atomic_int *flag)
{
    for (int waited = 0; atomic_load(flag) == 0; waited += 2) {
        assert_true(waited < AWAIT_MS);
        pause_ms(2);
    }
}

#define SHELL(script) ((const char *const[]){"sh", "-c", script, NULL})

static void
output_errors_and_exit_code_come_back(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("echo out; echo err >&2; exit 3")));
    scene_call(&s, 0);
    assert_int_equal(s.status, 0);
    assert_int_equal(s.result.exit_code, 3);
    assert_int_equal(s.result.signal, 0);
    assert_string_equal(s.result.output, "out\n");
    assert_int_equal(s.result.output_length, 4);
    assert_string_equal(s.result.errors, "err\n");
    assert_false(s.result.is_cut);
    scene_close(&s);
}

static void
input_environment_and_folder_reach_it(void **state)
{
    const char *const env[] = {"GREETING=hello", NULL};
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("cat; echo $GREETING; pwd"), .env = env,
                               .cwd = "/", .input = "line\n", .input_length = 5));
    scene_call(&s, 0);
    assert_string_equal(s.result.output, "line\nhello\n/\n");
    scene_close(&s);
}

static void
more_input_than_a_pipe_holds_goes_through(void **state)
{
    size_t len = 1 << 20;
    char *input = malloc(len);
    struct scene s;

    (void)state;
    memset(input, 'x', len);
    scene_open(
        &s, MCP_COMMAND(.argv = SHELL("wc -c"), .input = input, .input_length = len));
    scene_call(&s, 0);
    assert_string_equal(s.result.output, "1048576\n");
    scene_close(&s);
    free(input);
}

static void
M21_a_command_that_does_not_read_its_input_is_no_harm(void **state)
{
    size_t len = 1 << 20;
    char *input = calloc(1, len);
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("exec <&-; echo done"), .input = input,
                               .input_length = len));
    scene_call(&s, 0);
    assert_string_equal(s.result.output, "done\n");
    scene_close(&s);
    free(input);
}

static void
output_beyond_its_limit_is_cut(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("printf 1234567890"), .max_output = 4));
    scene_call(&s, 0);
    assert_string_equal(s.result.output, "1234");
    assert_true(s.result.is_cut);
    scene_close(&s);
}

static int
count_output(void *user, bool is_stderr, const char *bytes, size_t length)
{
    (void)is_stderr, (void)bytes;
    *(size_t *)user += length;
    return 0;
}

/* As much as is kept is just what one read gives, so that the rest waits in the pipe when
 * it has exited. */
static void
what_is_not_kept_is_shown_and_counts_as_cut(void **state)
{
    size_t shown = 0;
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("head -c 60000 /dev/zero"),
                               .max_output = 16384, .on_output = count_output,
                               .user = &shown));
    scene_call(&s, 0);
    assert_int_equal(s.result.output_length, 16384);
    assert_true(s.result.is_cut);
    assert_int_equal(shown, 60000);
    scene_close(&s);
}

static void
a_signal_that_ends_it_is_reported(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("kill -9 $$")));
    scene_call(&s, 0);
    assert_int_equal(s.result.exit_code, -1);
    assert_int_equal(s.result.signal, SIGKILL);
    scene_close(&s);
}

static void
what_cannot_be_run_is_said(void **state)
{
    const char *const none[] = {"/no/such/program", NULL};
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = none));
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_INVAL);
    assert_non_null(strstr(s.err.message, "/no/such/program"));
    scene_close(&s);
}

static int
note_pid(void *user, bool is_stderr, const char *bytes, size_t length)
{
    struct scene *s = user;
    char text[32] = {0};

    (void)is_stderr;
    memcpy(text, bytes, length < sizeof(text) - 1 ? length : sizeof(text) - 1);
    atomic_store(&s->pid, atoi(text));
    return 0;
}

/* It has begun: its time is up. */
static int
pass_time(void *user, bool is_stderr, const char *bytes, size_t length)
{
    struct scene *s = user;

    virtual_clock_pass(&s->clock, s->command.timeout_ms);
    return note_pid(user, is_stderr, bytes, length);
}

/* Prints the pid of a grandchild, and then both sleep. */
static const char sleeper[] = "sleep 300 & echo $!; wait";
static const char deaf_sleeper[] =
    "trap '' TERM; sh -c \"trap '' TERM; sleep 300\" & echo $!; wait; wait";

static void
expect_gone(struct scene *s)
{
    for (int waited = 0; !process_is_gone(atomic_load(&s->pid)); waited += 2) {
        assert_true(waited < AWAIT_MS);
        pause_ms(2);
    }
}

static void
cancel_ends(mcp_command command)
{
    struct scene s;
    mcp_call *call;

    command.on_output = note_pid;
    scene_open(&s, command);
    s.command.user = &s;
    assert_int_equal(
        mcp_client_start_tool(s.client, "run", NULL, NULL, NULL, NULL, &call), 0);
    wait_for(&s.pid);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    wait_for(&s.returned);
    assert_int_equal(s.status, MCP_E_CANCELED);
    assert_null(s.result.output);
    expect_gone(&s);
    mcp_call_free(call);
    scene_close(&s);
}

static void
M4_a_cancel_ends_its_whole_group(void **state)
{
    (void)state;
    cancel_ends(MCP_COMMAND(.argv = SHELL(sleeper)));
}

static void
M1_what_ignores_sigterm_is_killed(void **state)
{
    (void)state;
    cancel_ends(MCP_COMMAND(.argv = SHELL(deaf_sleeper), .grace_ms = 100));
}

static void
its_own_time_limit_ends_it(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL(sleeper), .timeout_ms = AWAIT_MS,
                               .on_output = pass_time));
    scene_hold_time(&s);
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_TIMEOUT);
    expect_gone(&s);
    scene_close(&s);
}

static int
refuse_output(void *user, bool is_stderr, const char *bytes, size_t length)
{
    (void)user, (void)is_stderr, (void)bytes, (void)length;
    return MCP_E_LIMIT;
}

static void
a_callback_may_end_it(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("echo x; sleep 300"),
                               .on_output = refuse_output));
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_LIMIT);
    scene_close(&s);
}

static void
M5_what_a_grandchild_holds_open_is_not_waited_for(void **state)
{
    struct scene s;

    (void)state;
    scene_open(
        &s, MCP_COMMAND(.argv = SHELL("sleep 300 & echo $!"), .on_output = note_pid));
    s.command.user = &s;
    scene_call(&s, 0);
    assert_int_equal(s.result.exit_code, 0);
    assert_int_equal(atoi(s.result.output), atomic_load(&s.pid));
    expect_gone(&s); /* and it goes with its group */
    scene_close(&s);
}

/* ---- all that it started ------------------------------------------------ */

/* The number of one that has left the group and lost its parent, before it ends. */
#define DAEMON "setsid sh -c 'setsid sleep 300 & echo $!'; "
#define DEAF_DAEMON "trap '' TERM; " DAEMON

#define CONTAINED(script, ...) \
    MCP_COMMAND(.argv = SHELL(script), .contained = true, __VA_ARGS__)

static void
contained_all_comes_back_as_ever(void **state)
{
    const char *const env[] = {"GREETING=hello", NULL};
    struct scene s;

    (void)state;
    scene_open(&s,
               CONTAINED("cat; echo $GREETING; pwd; echo err >&2; exit 3", .env = env,
                         .cwd = "/", .input = "line\n", .input_length = 5));
    scene_call(&s, 0);
    assert_int_equal(s.result.exit_code, 3);
    assert_int_equal(s.result.signal, 0);
    assert_string_equal(s.result.output, "line\nhello\n/\n");
    assert_string_equal(s.result.errors, "err\n");
    scene_close(&s);
    scene_open(&s, CONTAINED("kill -9 $$", .cwd = NULL));
    scene_call(&s, 0);
    assert_int_equal(s.result.exit_code, -1);
    assert_int_equal(s.result.signal, SIGKILL);
    scene_close(&s);
}

static void
contained_what_cannot_be_run_is_said_as_ever(void **state)
{
    const char *const none[] = {"/no/such/program", NULL};
    char message[sizeof(((mcp_error *)0)->message)];
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = none));
    scene_call(&s, MCP_E_PEER);
    memcpy(message, s.err.message, sizeof(message));
    scene_close(&s);
    scene_open(&s, MCP_COMMAND(.argv = none, .contained = true));
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_INVAL);
    assert_string_equal(s.err.message, message);
    scene_close(&s);
}

static void
M4_a_daemon_goes_with_a_contained_command(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, CONTAINED(DEAF_DAEMON "exit 5", .on_output = note_pid));
    s.command.user = &s;
    scene_call(&s, 0);
    assert_int_equal(s.result.exit_code, 5);
    assert_int_equal(atoi(s.result.output), atomic_load(&s.pid));
    assert_int_equal(kill(atomic_load(&s.pid), 0), -1); /* before it has returned */
    assert_int_equal(errno, ESRCH);
    scene_close(&s);
}

static void
M4_a_cancel_ends_a_daemon_of_a_contained_command(void **state)
{
    (void)state;
    cancel_ends(CONTAINED(DAEMON "sleep 300", .grace_ms = 0));
}

static void
M1_what_ignores_sigterm_is_killed_if_it_is_contained(void **state)
{
    (void)state;
    cancel_ends(CONTAINED(DEAF_DAEMON "sleep 300", .grace_ms = 100));
    cancel_ends(CONTAINED(DEAF_DAEMON "trap - TERM; sleep 300", .grace_ms = 100));
}

/* It cleans up although the shell above it is gone at once. */
static void
M1_a_daemon_of_a_contained_command_has_its_grace(void **state)
{
    static const char script[] = "trap 'sleep 0.1; rmdir $PWD; exit' TERM; echo $$; "
                                 "while :; do sleep 0.05; done";
    char folder[] = "/tmp/command_test.XXXXXX";
    const char *const argv[] = {"sh", "-c", "setsid sh -c \"$0\" & sleep 300", script,
                                NULL};

    (void)state;
    assert_non_null(mkdtemp(folder));
    cancel_ends(MCP_COMMAND(.argv = argv, .cwd = folder, .contained = true,
                            .grace_ms = INT64_MAX));
    assert_int_equal(rmdir(folder), -1);
    assert_int_equal(errno, ENOENT);
}

/* "NEVER_ENTER=" and a folder, which this program removes when it is started with that,
 * to be stuck then. */
struct stuck {
    char entry[64];
    const char *env[2];
};

#define ENTRY "NEVER_ENTER="

static void
stuck_init(struct stuck *stuck)
{
    strcpy(stuck->entry, ENTRY "/tmp/command_test.XXXXXX");
    assert_non_null(mkdtemp(stuck->entry + strlen(ENTRY)));
    stuck->env[0] = stuck->entry;
    stuck->env[1] = NULL;
}

static void
stuck_await(const struct stuck *stuck)
{
    for (int waited = 0; access(stuck->entry + strlen(ENTRY), F_OK) == 0; waited += 2) {
        assert_true(waited < AWAIT_MS);
        pause_ms(2);
    }
}

static void
a_cancel_ends_a_contained_command_that_has_not_begun(void **state)
{
    struct stuck stuck;
    struct scene s;
    mcp_call *call;

    (void)state;
    stuck_init(&stuck);
    scene_open(&s, CONTAINED("true", .env = stuck.env));
    assert_int_equal(
        mcp_client_start_tool(s.client, "run", NULL, NULL, NULL, NULL, &call), 0);
    stuck_await(&stuck);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    wait_for(&s.returned);
    assert_int_equal(s.status, MCP_E_CANCELED);
    mcp_call_free(call);
    scene_close(&s);
}

static void
so_does_its_time_limit(void **state)
{
    struct stuck stuck;
    struct scene s;

    (void)state;
    stuck_init(&stuck);
    scene_open(&s, CONTAINED("true", .env = stuck.env, .timeout_ms = 1));
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_TIMEOUT);
    scene_close(&s);
    (void)rmdir(stuck.entry + strlen(ENTRY)); /* it may have had no time for that */
}

static void
a_contained_command_has_its_own_time_limit(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, CONTAINED(DAEMON "sleep 300", .timeout_ms = AWAIT_MS,
                             .on_output = pass_time));
    scene_hold_time(&s);
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_TIMEOUT);
    expect_gone(&s);
    scene_close(&s);
}

/* ---- more than the pool has room for ------------------------------------ */

#define WORKERS 4
#define SURPLUS 2
#define CALLS 8

/* Its worker waits until more than the surplus are there, or one was refused. */
static int
hold_output(void *user, bool is_stderr, const char *bytes, size_t length)
{
    struct scene *s = user;

    (void)is_stderr, (void)bytes, (void)length;
    atomic_fetch_add(&s->begun, 1);
    for (int waited = 0; atomic_load(&s->begun) <= SURPLUS; waited += 2) {
        if (atomic_load(&s->failed) > 0 || waited > AWAIT_MS)
            return MCP_E_LIMIT;
        pause_ms(2);
    }
    return 0;
}

static int
run_one_of_many(mcp_request *req, mcp_result *out, void *user)
{
    struct scene *s = user;
    mcp_command_result result = {0};
    int r = mcp_request_command(req, &s->command, &result, NULL);

    mcp_command_result_done(&result);
    if (r < 0)
        atomic_fetch_add(&s->failed, 1);
    return r < 0 ? r : mcp_result_text(out, "ran");
}

static void
more_at_once_than_the_pool_has_to_spare_all_run(void **state)
{
    mcp_call *calls[CALLS];
    struct scene s;

    (void)state;
    scene_open_with(&s, MCP_COMMAND(.argv = SHELL("echo x"), .on_output = hold_output),
                    MCP_SERVER_OPTIONS(.workers = WORKERS, .overdue = SURPLUS),
                    MCP_TOOL(.run = run_one_of_many));
    s.command.user = &s;
    for (int i = 0; i < CALLS; i++)
        assert_int_equal(
            mcp_client_start_tool(s.client, "run", NULL, NULL, NULL, NULL, &calls[i]),
            0);
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(mcp_call_wait(calls[i], 2 * AWAIT_MS, NULL, NULL), 0);
        mcp_call_free(calls[i]);
    }
    assert_int_equal(atomic_load(&s.failed), 0);
    assert_int_equal(atomic_load(&s.begun), CALLS);
    scene_close(&s);
}

/* ---- a request that is only told ---------------------------------------- */

static int
hold_until_canceled(void *user, bool is_stderr, const char *bytes, size_t length)
{
    struct scene *s = user;

    (void)is_stderr, (void)bytes, (void)length;
    atomic_store(&s->begun, 1);
    for (int waited = 0; !mcp_request_is_canceled(s->req); waited += 2) {
        if (waited > AWAIT_MS)
            return MCP_E_LIMIT;
        pause_ms(2);
    }
    return 0;
}

static void
F4_of_a_signal_only_request_it_runs_to_its_end(void **state)
{
    struct scene s;
    mcp_call *call;

    (void)state;
    scene_open_with(&s,
                    MCP_COMMAND(.argv = SHELL("echo x; sleep 0.1; exit 4"),
                                .on_output = hold_until_canceled),
                    MCP_SERVER_OPTIONS(.page = 0),
                    MCP_TOOL(.run = run_command, .flags = MCP_SIGNAL_ONLY));
    s.command.user = &s;
    assert_int_equal(
        mcp_client_start_tool(s.client, "run", NULL, NULL, NULL, NULL, &call), 0);
    wait_for(&s.begun);
    assert_int_equal(mcp_call_cancel(call, "just so you know"), 0);
    wait_for(&s.returned);
    assert_int_equal(s.status, 0);
    assert_int_equal(s.result.exit_code, 4);
    mcp_call_free(call);
    scene_close(&s);
}

/* ---- the largest numbers ------------------------------------------------ */

static void
no_limit_at_all_is_a_limit(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("echo out; echo err >&2"),
                               .max_output = SIZE_MAX, .grace_ms = INT64_MAX));
    scene_call(&s, 0);
    assert_string_equal(s.result.output, "out\n");
    assert_string_equal(s.result.errors, "err\n");
    assert_false(s.result.is_cut);
    scene_close(&s);
}

static void
M1_a_grace_without_end_gives_it_its_time(void **state)
{
    char folder[] = "/tmp/command_test.XXXXXX";
    struct scene s;

    (void)state;
    assert_non_null(mkdtemp(folder));
    scene_open(&s, MCP_COMMAND(.argv = SHELL("trap 'sleep 0.1; rmdir $PWD; exit' TERM;"
                                             "echo $$; while :; do sleep 0.05; done"),
                               .cwd = folder, .timeout_ms = AWAIT_MS,
                               .grace_ms = INT64_MAX, .on_output = pass_time));
    scene_hold_time(&s);
    scene_call(&s, MCP_E_PEER);
    assert_int_equal(s.status, MCP_E_TIMEOUT);
    assert_int_equal(rmdir(folder), -1); /* it tidied up before it went */
    assert_int_equal(errno, ENOENT);
    scene_close(&s);
}

static int
reply_with_command(mcp_request *req, mcp_result *out, void *user)
{
    const char *const argv[] = {"true", NULL};
    mcp_command_result result;

    (void)user;
    if (mcp_request_command(req, &MCP_COMMAND(.argv = argv), &result, NULL) ==
        MCP_E_STATE)
        return mcp_result_text(out, "refused");
    return MCP_E_INVAL;
}

static void
on_a_loop_thread_it_is_refused(void **state)
{
    const mcp_tool tool = MCP_TOOL(.name = "inline", .reply = reply_with_command);
    mcp_reply *reply = NULL;
    struct scene s;

    (void)state;
    scene_open(&s, MCP_COMMAND(.argv = SHELL("true")));
    assert_int_equal(mcp_server_add_tool(s.server, &tool, NULL), 0);
    assert_int_equal(mcp_client_call_tool(s.client, "inline", NULL, NULL, &reply, NULL),
                     0);
    assert_string_equal(mcp_reply_text(reply), "refused");
    mcp_reply_free(reply);
    scene_close(&s);
}

static void
enter(int argc, char **argv)
{
    const char *folder = getenv("NEVER_ENTER");

    while (folder) {
        (void)rmdir(folder);
        pause();
    }
    mcp_isolated_enter(argc, argv, NULL, 0);
}

TEST_MAIN_AFTER(
    enter, TEST(output_errors_and_exit_code_come_back),
    TEST(input_environment_and_folder_reach_it),
    TEST(more_input_than_a_pipe_holds_goes_through),
    TEST(M21_a_command_that_does_not_read_its_input_is_no_harm),
    TEST(output_beyond_its_limit_is_cut),
    TEST(what_is_not_kept_is_shown_and_counts_as_cut),
    TEST(a_signal_that_ends_it_is_reported), TEST(what_cannot_be_run_is_said),
    TEST(M4_a_cancel_ends_its_whole_group), TEST(M1_what_ignores_sigterm_is_killed),
    TEST(its_own_time_limit_ends_it), TEST(a_callback_may_end_it),
    TEST(M5_what_a_grandchild_holds_open_is_not_waited_for),
    TEST(contained_all_comes_back_as_ever),
    TEST(contained_what_cannot_be_run_is_said_as_ever),
    TEST(M4_a_daemon_goes_with_a_contained_command),
    TEST(M4_a_cancel_ends_a_daemon_of_a_contained_command),
    TEST(M1_what_ignores_sigterm_is_killed_if_it_is_contained),
    TEST(M1_a_daemon_of_a_contained_command_has_its_grace),
    TEST(a_cancel_ends_a_contained_command_that_has_not_begun),
    TEST(so_does_its_time_limit), TEST(a_contained_command_has_its_own_time_limit),
    TEST(more_at_once_than_the_pool_has_to_spare_all_run),
    TEST(F4_of_a_signal_only_request_it_runs_to_its_end),
    TEST(no_limit_at_all_is_a_limit), TEST(M1_a_grace_without_end_gives_it_its_time),
    TEST(on_a_loop_thread_it_is_refused))
