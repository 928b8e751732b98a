/*
 * death_test.c - processes that are killed, told to go, or do not want to
 *
 * The program is a subreaper: whoever loses its parent becomes its child, and can be
 * waited for. So nothing that is left behind goes unnoticed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end/raw.h"
#include "end/rogue.h"
#include "support/messages.h"

#include <mcp/server.h>

#define CLIENT_ARGUMENT "--client"
#define PRINTER_ARGUMENT "--printer"
#define PATIENT_ARGUMENT "--patient"

/* ---- the server is killed ------------------------------------------------ */

enum { MANY = 50 };

struct states {
    atomic_int count;
    int status[2];
};

static void
on_state(mcp_client *client, int status, void *user)
{
    struct states *states = user;
    int n = atomic_load(&states->count);

    (void)client;
    if (n < 2)
        states->status[n] = status;
    atomic_store(&states->count, n + 1);
}

static bool
is_told_twice(void *user)
{
    struct states *states = user;

    return atomic_load(&states->count) == 2;
}

static pid_t
open_and_watch(struct probe *p, enum mcp_era era, struct states *states)
{
    const char *const command[] = {PROBE_SERVER, NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .era = era, .on_state = on_state,
                                                     .user = states);

    assert_int_equal(mcp_client_spawn(command, &me, &p->client, NULL), 0);
    return (pid_t)mcp_client_pid(p->client);
}

static void
start_hanging(struct probe *p, mcp_call **calls)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);

    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcp_client_start_tool(p->client, i < 5 ? "hang" : "hang_async",
                                               "{\"seconds\":600}", &opt, NULL, NULL,
                                               &calls[i]),
                         0);
    (void)probe_calm(p, MANY);
}

static bool
nobody_is_ours(void *user)
{
    pid_t server = *(pid_t *)user, pid = waitpid(-1, NULL, WNOHANG);

    assert_true(server == 0 || pid != server); /* the library has waited for it */
    return pid < 0 && errno == ECHILD;
}

/* A server that is killed, or does not wait any longer for its helper, leaves the keeper
 * of that to us, which ends by itself. It does not leave itself: server, or 0 if the test
 * has waited for it. */
static void
expect_no_children_but_keepers(pid_t server)
{
    wait_until(nobody_is_ours, &server);
}

static void
M14_M23_B22_B35_kill_of_the_server_ends_every_call_at_once(void **state)
{
    struct states states = {.count = 0};
    mcp_call *calls[MANY];
    struct probe p;
    pid_t pid;

    pid = open_and_watch(&p, era_of(state), &states);
    start_hanging(&p, calls);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), MCP_E_CLOSED);
    assert_int_equal(mcp_client_call_tool(p.client, "echo", "{\"text\":\"hello\"}",
                                          NULL, NULL, NULL),
                     MCP_E_CLOSED);
    assert_int_equal(mcp_client_notify(p.client, "notifications/any", NULL), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mcp_call_cancel(calls[i], NULL), MCP_E_STATE);
    wait_until(is_told_twice, &states);
    assert_int_equal(states.status[0], 0);
    assert_int_equal(states.status[1], MCP_E_CLOSED);
    probe_close_dead(&p, pid);
    for (int i = 0; i < MANY; i++)
        mcp_call_free(calls[i]);
    expect_no_children_but_keepers(pid);
}

static void
M21_calls_into_a_dead_pipe_kill_nobody(void **state)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS);
    struct probe p;
    pid_t pid;

    probe_open(&p, era_of(state));
    pid = (pid_t)mcp_client_pid(p.client);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(mcp_client_call_tool(p.client, "echo", "{\"text\":\"hello\"}",
                                              &opt, NULL, NULL),
                         MCP_E_CLOSED);
    probe_close_dead(&p, pid);
    expect_no_children_but_keepers(pid);
}

/* ---- the client is killed ------------------------------------------------ */

/* A client with a call that hangs, or with a server that would not go. Says the pid of
 * the server when it is so far, and stays until it is killed. */
static void
client_main(const char *which)
{
    const char *const probe[] = {PROBE_SERVER, NULL};
    bool rogue = strcmp(which, "rogue") == 0;
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .die_with_us = rogue,
                                                     .era = strcmp(which, "legacy") == 0
                                                                ? MCP_ERA_LEGACY
                                                                : MCP_ERA_MODERN);
    struct probe p;

    alarm(100); /* if the test fails */
    if (mcp_client_spawn(rogue ? rogue_command("plain") : probe, &me, &p.client, NULL))
        _exit(1);
    if (rogue) {
        probe_expect(&p, "stay", "{}", "done");
    } else {
        (void)mcp_client_start_tool(p.client, "hang", "{\"seconds\":600}", NULL, NULL,
                                    NULL, NULL);
        (void)probe_calm(&p, 1);
    }
    printf("%d\n", (int)mcp_client_pid(p.client));
    fflush(stdout);
    for (;;)
        pause();
}

static pid_t
client_spawn(struct raw *client, const char *which)
{
    const char *command[] = {rogue_command("")[0], CLIENT_ARGUMENT, which, NULL};
    char said[64];

    raw_spawn(client, command, -1);
    expect_readable(client->out, said, sizeof(said), "\n");
    return (pid_t)atoi(said);
}

static void
M16_F27_a_server_whose_client_is_killed_exits(void **state)
{
    struct raw client;
    pid_t server;

    server = client_spawn(&client,
                          era_of(state) == MCP_ERA_LEGACY ? "legacy" : "modern");
    assert_int_equal(kill(client.pid, SIGKILL), 0);
    expect_signal(raw_close(&client), SIGKILL);
    expect_exit(process_wait(server), 0);
    expect_no_children_but_keepers(0);
}

static void
M22_a_server_that_would_stay_dies_with_its_client(void **state)
{
    struct raw client;
    pid_t server;

    (void)state;
    server = client_spawn(&client, "rogue");
    assert_int_equal(kill(client.pid, SIGKILL), 0);
    expect_signal(raw_close(&client), SIGKILL);
    expect_signal(process_wait(server), SIGKILL);
    expect_no_children();
}

/* ---- the server is told to go -------------------------------------------- */

static int
closed_code(enum mcp_era era)
{
    return era == MCP_ERA_LEGACY ? -32000 : -32603;
}

/* A server with all the time there is, and a handler that needs it. */
#define STAYING "staying\n"

static int
stay(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)out, (void)user;
    if (write(STDERR_FILENO, STAYING, strlen(STAYING)) < 0)
        return MCP_E_INVAL;
    for (;;)
        pause();
}

static void
patient_main(void)
{
    mcp_server *server = NULL;
    int r;

    alarm(100); /* if the test fails */
    r = mcp_server_new(
        &MCP_SERVER_OPTIONS(.name = "patient", .version = "1.0", .stop_ms = 3600000),
        &server, NULL);
    if (r == 0)
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "stay", .run = stay), NULL);
    if (r == 0)
        r = mcp_server_run_stdio(server, NULL);
    mcp_server_free(server);
    exit(r < 0);
}

static void
expect_stopped_by(int signal, const char *tool, enum mcp_era era)
{
    struct raw raw;

    raw_open(&raw, era);
    raw_call(&raw, "1", tool, "{\"seconds\":600}");
    raw_expect_handlers(&raw, 1);
    assert_int_equal(kill(raw.pid, signal), 0);
    raw_expect_error(&raw, "1", closed_code(era));
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0); /* its stdin was open until now */
}

static void
M17_M25_F29_a_signal_ends_the_server_and_answers_what_runs(void **state)
{
    enum mcp_era era = era_of(state);

    expect_stopped_by(SIGTERM, "hang", era);
    expect_stopped_by(SIGINT, "hang_async", era);
    expect_stopped_by(SIGHUP, "hang", era);
    expect_stopped_by(SIGTERM, "deaf", era);
    expect_no_children_but_keepers(0);
}

static void
M17_a_signal_ends_an_idle_server(void **state)
{
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_expect_alive(&raw);
    assert_int_equal(kill(raw.pid, SIGTERM), 0);
    assert_null(raw_read(&raw));
    expect_exit(process_wait(raw.pid), 0); /* with its stdin still open */
    raw.pid = 0;
    (void)raw_close(&raw);
}

/* A handler that does not listen makes the stop take its whole time, an hour; the second
 * signal does not wait for that. */
static void
M17_a_second_signal_ends_the_server_at_once(void **state)
{
    const char *command[] = {rogue_command("")[0], PATIENT_ARGUMENT, NULL};
    enum mcp_era era = era_of(state);
    char said[64];
    struct raw raw;
    int err[2];

    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    raw_spawn(&raw, command, err[1]);
    close(err[1]);
    raw_hello(&raw, era);
    raw_call(&raw, "1", "stay", "{}");
    expect_readable(err[0], said, sizeof(said), STAYING);
    assert_int_equal(kill(raw.pid, SIGTERM), 0);
    raw_expect_error(&raw, "1", closed_code(era)); /* the first one has arrived */
    assert_int_equal(kill(raw.pid, SIGTERM), 0);
    expect_signal(process_wait(raw.pid), SIGTERM);
    raw.pid = 0;
    (void)raw_close(&raw);
    close(err[0]);
}

static void
M17_F31_a_signal_ends_a_server_whose_output_nobody_reads(void **state)
{
    char *text;
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_expect_alive(&raw);
    text = raw_call_text(raw.era, "1", "echo", "{\"text\":\"0123456789012345678901\"}");
    for (int i = 0; i < 2000; i++)
        assert_true(raw_push(&raw, text, strlen(text)));
    free(text);
    assert_int_equal(kill(raw.pid, SIGTERM), 0);
    expect_exit(process_wait(raw.pid), 0);
    raw.pid = 0;
    (void)raw_close(&raw);
}

static void
M17_F29_a_signal_ends_a_server_on_a_socket_with_clients_attached(void **state)
{
    enum mcp_era era = era_of(state);
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .era = era);
    struct probe_socket s;
    mcp_call *call;
    struct probe p;
    struct raw raw;

    probe_socket_open(&s);
    assert_int_equal(mcp_client_connect_unix(s.path, &me, &p.client, NULL), 0);
    assert_int_equal(mcp_client_start_tool(p.client, "hang", "{\"seconds\":600}", NULL,
                                           NULL, NULL, &call),
                     0);
    (void)probe_calm(&p, 1);
    raw_connect(&raw, s.path, era);
    raw_expect_alive(&raw);
    probe_socket_close(&s);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_PEER);
    assert_int_equal(mcp_call_error(call)->rpc_code, closed_code(era));
    assert_int_equal(
        mcp_client_call_tool(p.client, "echo", "{\"text\":\"\"}", NULL, NULL, NULL),
        MCP_E_CLOSED);
    assert_null(raw_read(&raw));
    (void)raw_close(&raw);
    mcp_call_free(call);
    mcp_client_free(p.client);
}

/* ---- the parent dies, and others hold the pipe --------------------------- */

/* A process that starts the server on our pipes, says its pid, and stays. */
static pid_t
parent_fork(int in, int out, int said)
{
    pid_t parent = fork();
    pid_t pid;

    assert_true(parent >= 0);
    if (parent > 0)
        return parent;
    alarm(100);
    pid = fork();
    if (pid == 0) {
        if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
            execl(PROBE_SERVER, PROBE_SERVER, (char *)NULL);
        _exit(127);
    }
    if (write(said, &pid, sizeof(pid)) != sizeof(pid))
        _exit(1);
    for (;;)
        pause();
}

static void
M18_a_server_whose_parent_dies_exits_though_its_pipe_is_open(void **state)
{
    int in[2], out[2], said[2];
    struct raw raw = {0};
    pid_t parent, server;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(said, O_CLOEXEC), 0);
    parent = parent_fork(in[0], out[1], said[1]);
    assert_int_equal(read(said[0], &server, sizeof(server)), sizeof(server));
    raw.in = in[1];
    raw.out = out[0];
    raw_call(&raw, "1", "hang", "{\"seconds\":600}");
    raw_expect_handlers(&raw, 1);
    assert_int_equal(kill(parent, SIGKILL), 0);
    expect_signal(process_wait(parent), SIGKILL);
    expect_exit(process_wait(server), 0);
    (void)raw_close(&raw);
    close(in[0]);
    close(out[1]);
    close(said[0]);
    close(said[1]);
    (void)state;
}

/* ---- what handlers print ------------------------------------------------- */

/* Says and asks on 1 and 0 in every way there is. */
static int
print(mcp_request *req, mcp_result *out, void *user)
{
    char byte;
    ssize_t n;

    (void)req, (void)user;
    printf("printed\n");
    fflush(stdout);
    if (write(STDOUT_FILENO, "written\n", 8) != 8 || system("echo from a child") != 0)
        return mcp_result_fail(out, "cannot print");
    n = read(STDIN_FILENO, &byte, 1);
    return mcp_result_textf(out, "read %d", (int)n);
}

static void
printer_main(void)
{
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    alarm(100);
    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "printer", .version = "1.0"),
                       &server, &err);
    if (r == 0)
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "print", .run = print), &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    mcp_server_free(server);
    exit(r < 0);
}

static void
M19_what_handlers_print_is_not_on_the_wire(void **state)
{
    const char *command[] = {rogue_command("")[0], PRINTER_ARGUMENT, NULL};
    char said[4096];
    struct raw raw;
    int err[2];

    (void)state;
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    raw_spawn(&raw, command, err[1]);
    close(err[1]);
    for (int i = 0; i < 3; i++) {
        raw_call(&raw, "1", "print", "{}");
        raw_expect(&raw, "1", "read 0");
    }
    raw_shut(&raw);
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0);
    expect_readable(err[0], said, sizeof(said), NULL);
    assert_non_null(strstr(said, "printed\n"));
    assert_non_null(strstr(said, "written\n"));
    assert_non_null(strstr(said, "from a child\n"));
    close(err[0]);
}

static void
M19_a_server_without_stdin_or_stdout_says_so_and_exits(void **state)
{
    const char *const closings[] = {"exec \"$0\" <&-", "exec \"$0\" >&-"};

    (void)state;
    for (size_t i = 0; i < sizeof(closings) / sizeof(closings[0]); i++) {
        const char *const command[] = {"/bin/sh", "-c", closings[i], PROBE_SERVER,
                                       NULL};
        struct raw raw;

        raw_spawn(&raw, command, -1);
        expect_exit(raw_close(&raw), 1);
    }
}

static const struct test_case cases[] = {
    IN_BOTH_ERAS(M14_M23_B22_B35_kill_of_the_server_ends_every_call_at_once),
    IN_BOTH_ERAS(M21_calls_into_a_dead_pipe_kill_nobody),
    IN_BOTH_ERAS(M16_F27_a_server_whose_client_is_killed_exits),
    TEST(M22_a_server_that_would_stay_dies_with_its_client),
    IN_BOTH_ERAS(M17_M25_F29_a_signal_ends_the_server_and_answers_what_runs),
    IN_BOTH_ERAS(M17_a_signal_ends_an_idle_server),
    IN_BOTH_ERAS(M17_a_second_signal_ends_the_server_at_once),
    IN_BOTH_ERAS(M17_F31_a_signal_ends_a_server_whose_output_nobody_reads),
    IN_BOTH_ERAS(M17_F29_a_signal_ends_a_server_on_a_socket_with_clients_attached),
    TEST(M18_a_server_whose_parent_dies_exits_though_its_pipe_is_open),
    TEST(M19_what_handlers_print_is_not_on_the_wire),
    TEST(M19_a_server_without_stdin_or_stdout_says_so_and_exits),
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], ROGUE_ARGUMENT) == 0)
        rogue_main(argv[2]);
    if (argc == 3 && strcmp(argv[1], CLIENT_ARGUMENT) == 0)
        client_main(argv[2]);
    if (argc == 2 && strcmp(argv[1], PRINTER_ARGUMENT) == 0)
        printer_main();
    if (argc == 2 && strcmp(argv[1], PATIENT_ARGUMENT) == 0)
        patient_main();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    return test_main(__FILE__, cases, sizeof(cases) / sizeof(cases[0]));
}
