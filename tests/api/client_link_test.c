/* client_link_test.c - a spawned server, from its start to the last of its group */
#include <errno.h>
#include <fcntl.h>
#include <mcp/client.h>
#include <mcp/loop.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/loop.h"
#include "support/gone.h"
#include "support/script.h"
#include "support/shell.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#define LONG_MS 60000 /* for a process that goes by itself */

struct fixture {
    struct test_mem mem;
    struct told told;
    mcp_client *client;
    mcp_error err;
    int reports[2]; /* a pipe that is the child's stderr */
    mcp_scope *scope;
};

static void
fixture_open(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    test_mem_init(&f->mem);
    told_init(&f->told);
    assert_int_equal(pipe2(f->reports, O_CLOEXEC), 0);
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    close(f->reports[0]);
    close(f->reports[1]);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

static int
spawn(struct fixture *f, const char *line, mcp_client_options opt)
{
    opt.allocator = &f->mem.allocator;
    opt.stderr_fd = f->reports[1];
    opt.user = &f->told;
    return mcp_client_spawn(SHELL(line), &opt, &f->client, &f->err);
}

static void
spawn_well(struct fixture *f, const char *line, mcp_client_options opt)
{
    if (spawn(f, line, opt) < 0)
        fail_msg("not spawned: %s", f->err.message);
}

/* A number that the child wrote to its stderr: a process id. */
static pid_t
reported(struct fixture *f)
{
    char text[32] = "";
    size_t len = 0;

    while (!strchr(text, '\n') && len < sizeof text - 1) {
        assert_int_equal(read(f->reports[0], text + len, 1), 1);
        len++;
    }
    return (pid_t)strtol(text, NULL, 10);
}

static bool
lives(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void
await_gone(pid_t pid)
{
    int i;

    for (i = 0; i < LONG_MS && !process_is_gone(pid); i++)
        usleep(1000);
    assert_true(process_is_gone(pid));
}

static mcp_call *
start(struct fixture *f)
{
    mcp_call *call;

    assert_int_equal(
        mcp_client_start(f->client, "x/y", NULL, NULL, told_done, &f->told, &call), 0);
    return call;
}

/* ---- good servers -------------------------------------------------------- */

static void
M7_a_good_server_is_called_and_goes_by_itself(void **state)
{
    struct fixture f;
    mcp_reply *reply;
    pid_t pid;

    (void)state;
    fixture_open(&f);
    spawn_well(&f, "trap 'echo 99 >&2' TERM; " SHELL_ANSWERS "; echo $? >&2",
               SCRIPT_OPTIONS(.exit_ms = LONG_MS));
    pid = (pid_t)mcp_client_pid(f.client);
    assert_true(lives(pid));
    assert_int_equal(mcp_client_call(f.client, "x/y", NULL, NULL, &reply, &f.err), 0);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_reply_result(reply), "n"), 0), 1);
    mcp_reply_free(reply);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_false(lives(pid));
    assert_int_equal(reported(&f), 0); /* it was not signaled */
    fixture_close(&f);
}

static void
M14_calls_wake_at_once_when_the_server_dies(void **state)
{
    struct fixture f;
    mcp_call *call;

    (void)state;
    fixture_open(&f);
    /* a grandchild holds the pipes open for much longer (M5) */
    spawn_well(&f, SHELL_GREETS "sleep 1000 & echo $! >&2; read l; exit 3",
               SCRIPT_OPTIONS(.on_state = told_state, .exit_ms = 50, .term_ms = 50));
    call = start(&f);
    told_await(&f.told, done, 1);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_CLOSED);
    told_await(&f.told, states,
               2); /* M23: it is told; a restart is the host's choice */
    mcp_call_free(call);
    mcp_client_free(f.client);
    f.client = NULL;
    await_gone(reported(&f)); /* M4 */
    fixture_close(&f);
}

static void
M8_a_server_stuck_in_a_write_can_still_go(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    spawn_well(&f,
               SHELL_GREETS "while read l; do :; done; head -c 1000000 /dev/zero; "
                            "echo 77 >&2",
               SCRIPT_OPTIONS(.exit_ms = LONG_MS));
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(reported(&f), 77);
    fixture_close(&f);
}

/* ---- bad ones ------------------------------------------------------------ */

static void
M1_a_server_that_does_not_go_is_made_to(void **state)
{
    struct fixture f;
    pid_t pid;

    (void)state;
    fixture_open(&f);
    spawn_well(&f, "trap 'echo 15 >&2' TERM; " SHELL_GREETS "while :; do sleep 1; done",
               SCRIPT_OPTIONS(.exit_ms = 30, .term_ms = 30));
    pid = (pid_t)mcp_client_pid(f.client);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_false(lives(pid));
    fixture_close(&f);
}

/* A loop that others run, whose time passes once the child has reported. */
struct timed {
    struct fixture f;
    struct virtual_clock clock;
    mcp_loop *loop;
    pthread_t runs, passes;
    pid_t pid;
    atomic_bool over;
};

static void *
run_loop(void *user)
{
    return (void *)(intptr_t)mcp_loop_run(user);
}

/* One step of the ladder after the other is due. */
static void *
pass_when_reported(void *user)
{
    struct timed *t = user;

    t->pid = reported(&t->f);
    while (!atomic_load(&t->over))
        virtual_clock_pass(&t->clock, LONG_MS);
    return NULL;
}

static void
timed_open(struct timed *t)
{
    fixture_open(&t->f);
    atomic_init(&t->over, false);
    assert_int_equal(mcp_loop_new(NULL, &t->loop, NULL), 0);
    assert_int_equal(pthread_create(&t->runs, NULL, run_loop, t->loop), 0);
    virtual_clock_init(&t->clock);
    virtual_clock_hold(&t->clock, mcpi_loop_inside(t->loop));
    assert_int_equal(pthread_create(&t->passes, NULL, pass_when_reported, t), 0);
}

static void
timed_close(struct timed *t)
{
    atomic_store(&t->over, true);
    pthread_join(t->passes, NULL);
    mcp_loop_stop(t->loop);
    pthread_join(t->runs, NULL);
    mcp_loop_free(t->loop);
    fixture_close(&t->f);
}

static void
M12_a_canceled_opening_leaves_nothing(void **state)
{
    mcp_scope *scope;
    struct timed t;

    (void)state;
    timed_open(&t);
    assert_int_equal(mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = LONG_MS), &scope),
                     0);
    assert_int_equal(
        spawn(&t.f, "trap '' TERM; echo $$ >&2; while :; do sleep 1; done",
              SCRIPT_OPTIONS(.scope = scope, .loop = t.loop, .exit_ms = 10,
                             .term_ms = 10, .kill_ms = INT64_MAX)), /* the kernel's */
        MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(t.f.err.message, "the time of the scope is used up");
    assert_false(lives(t.pid)); /* M2: the whole ladder ran */
    mcp_scope_free(scope);
    timed_close(&t);
}

static void *
cancel_when_reported(void *user)
{
    struct fixture *f = user;
    pid_t pid = reported(f);

    (void)mcp_scope_cancel(f->scope, "changed my mind");
    return (void *)(intptr_t)pid;
}

static void
M12_an_opening_is_canceled_from_another_thread(void **state)
{
    struct fixture f;
    mcp_scope *scope;
    pthread_t thread;
    void *pid;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    f.scope = scope;
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_reported, &f), 0);
    assert_int_equal(spawn(&f, "echo $$ >&2; exec sleep 1000",
                           SCRIPT_OPTIONS(.scope = scope, .exit_ms = 10)),
                     MCP_E_CANCELED);
    assert_string_equal(f.err.message, "the opening was canceled: changed my mind");
    pthread_join(thread, &pid);
    assert_false(lives((pid_t)(intptr_t)pid));
    mcp_scope_free(scope);
    fixture_close(&f);
}

static void
M27_the_scope_of_the_opening_is_not_the_clients(void **state)
{
    mcp_scope *scope;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    spawn_well(&f, SHELL_ANSWERS, SCRIPT_OPTIONS(.scope = scope));
    assert_int_equal(mcp_scope_cancel(scope, NULL), 0);
    assert_int_equal(mcp_client_call(f.client, "x/y", NULL, NULL, NULL, NULL), 0);
    mcp_scope_free(scope);
    assert_int_equal(mcp_client_call(f.client, "x/y", NULL, NULL, NULL, NULL), 0);
    fixture_close(&f);
}

static void
nothing_is_spawned_under_a_scope_that_is_over(void **state)
{
    mcp_scope *scope;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    mcp_scope_cancel(scope, NULL);
    assert_int_equal(spawn(&f, "echo 1 >&2", SCRIPT_OPTIONS(.scope = scope)),
                     MCP_E_CANCELED);
    mcp_scope_free(scope);
    close(f.reports[1]);
    f.reports[1] = -1;
    assert_int_equal(read(f.reports[0], &(char){0}, 1), 0); /* nobody wrote there */
    fixture_close(&f);
}

static void
M2_a_server_that_says_nothing_is_given_up(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(
        spawn(&f, "echo $$ >&2; while read l; do :; done",
              SCRIPT_OPTIONS(.probe_ms = 20, .hello_ms = 20, .exit_ms = LONG_MS)),
        MCP_E_TIMEOUT);
    assert_string_equal(f.err.message, "the server did not answer in time");
    assert_false(lives(reported(&f)));
    fixture_close(&f);
}

static void
what_went_wrong_is_said(void **state)
{
    static const char *const nobody[] = {"/no/such/program", NULL};
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(spawn(&f, "exit 7", SCRIPT_OPTIONS()), MCP_E_CLOSED);
    assert_string_equal(f.err.message,
                        "the server exited with status 7 before it was ready");
    assert_int_equal(spawn(&f, "kill -9 $$", SCRIPT_OPTIONS()), MCP_E_CLOSED);
    assert_string_equal(f.err.message, "signal 9 ended the server before it was ready");
    assert_int_equal(mcp_client_spawn(nobody, &SCRIPT_OPTIONS(), &f.client, &f.err),
                     MCP_E_INVAL);
    assert_non_null(strstr(f.err.message, "/no/such/program"));
    assert_int_equal(mcp_client_spawn(SHELL("exit"), &SCRIPT_OPTIONS(.exit_ms = -1),
                                      &f.client, &f.err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_spawn(NULL, &SCRIPT_OPTIONS(), &f.client, &f.err),
                     MCP_E_INVAL);
    fixture_close(&f);
}

static void
a_server_may_refuse(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(spawn(&f,
                           "read l; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{"
                           "\"code\":-32603,\"message\":\"closed today\"}}'; read l",
                           SCRIPT_OPTIONS(.era = MCP_ERA_LEGACY)),
                     MCP_E_PEER);
    assert_int_equal(f.err.rpc_code, -32603);
    assert_string_equal(f.err.message, "the server refused: closed today");
    assert_int_equal(spawn(&f,
                           "read l; echo '{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{"
                           "\"protocolVersion\":\"1999-01-01\"}}'; read l",
                           SCRIPT_OPTIONS(.era = MCP_ERA_LEGACY)),
                     MCP_E_PROTO);
    assert_string_equal(f.err.message,
                        "the server speaks no version of the protocol that we do");
    fixture_close(&f);
}

/* ---- without waiting ----------------------------------------------------- */

static void
calls_wait_in_line_until_the_server_is_ready(void **state)
{
    struct fixture f;
    mcp_call *call;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    spawn_well(&f, SHELL_ANSWERS, SCRIPT_OPTIONS(.no_wait = true));
    assert_int_equal(mcp_client_call(f.client, "x/y", NULL,
                                     &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("0")), NULL,
                                     &err),
                     MCP_E_ID_IN_USE); /* A9: negotiation was first */
    call = start(&f);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
calls_end_if_the_server_never_gets_ready(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    spawn_well(&f, "exec /no/such/program",
               SCRIPT_OPTIONS(.no_wait = true, .on_state = told_state));
    mcp_call_release(start(&f));
    told_await(&f.told, done, 1);
    told_await(&f.told, states, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    fixture_close(&f);
}

static void
an_opening_may_be_closed_under_way(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    spawn_well(&f, "while read l; do :; done", SCRIPT_OPTIONS(.no_wait = true));
    mcp_client_close(f.client);
    mcp_client_free(f.client);
    f.client = NULL;
    fixture_close(&f);
}

static void
M26_clients_are_closed_in_any_order(void **state)
{
    struct fixture f[3];
    pid_t pids[3];
    int i;

    (void)state;
    for (i = 0; i < 3; i++) {
        fixture_open(&f[i]);
        spawn_well(&f[i], SHELL_LISTENS, SCRIPT_OPTIONS());
        pids[i] = (pid_t)mcp_client_pid(f[i].client);
    }
    mcp_client_free(f[1].client);
    f[1].client = NULL;
    assert_false(lives(pids[1]));
    assert_true(lives(pids[0]) && lives(pids[2]));
    mcp_client_close(f[0].client);
    for (i = 0; i < 3; i++)
        fixture_close(&f[i]);
    assert_false(lives(pids[0]) || lives(pids[2]));
}

static void
a_loop_that_is_freed_ends_the_ladder_first(void **state)
{
    struct fixture f;
    mcp_loop *loop;
    pid_t pid;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    spawn_well(
        &f, "trap '' TERM; " SHELL_GREETS "while :; do sleep 1; done",
        SCRIPT_OPTIONS(.no_wait = true, .loop = loop, .exit_ms = 30, .term_ms = 30));
    while (!mcp_client_version(f.client))
        assert_int_equal(mcp_loop_step(loop), 0);
    pid = (pid_t)mcp_client_pid(f.client);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_true(lives(pid));
    mcp_loop_free(loop);
    assert_false(lives(pid));
    fixture_close(&f);
}

static void
spawn_once(struct test_mem *mem, void *user)
{
    mcp_client *client = NULL;
    mcp_error err;
    int r;

    (void)user;
    r = mcp_client_spawn(SHELL(SHELL_LISTENS),
                         &SCRIPT_OPTIONS(.allocator = &mem->allocator, .cwd = "/"),
                         &client, &err);
    if (r < 0)
        assert_true(r == MCP_E_NOMEM || r == MCP_E_CLOSED || r == MCP_E_LIMIT);
    mcp_client_free(client);
}

static void
M11_each_allocation_of_a_spawn_may_fail(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(spawn_once, NULL), 20, 200);
    assert_true(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD); /* all are reaped */
}

TEST_MAIN(TEST(M7_a_good_server_is_called_and_goes_by_itself),
          TEST(M14_calls_wake_at_once_when_the_server_dies),
          TEST(M8_a_server_stuck_in_a_write_can_still_go),
          TEST(M1_a_server_that_does_not_go_is_made_to),
          TEST(M12_a_canceled_opening_leaves_nothing),
          TEST(M12_an_opening_is_canceled_from_another_thread),
          TEST(M27_the_scope_of_the_opening_is_not_the_clients),
          TEST(nothing_is_spawned_under_a_scope_that_is_over),
          TEST(M2_a_server_that_says_nothing_is_given_up),
          TEST(what_went_wrong_is_said), TEST(a_server_may_refuse),
          TEST(calls_wait_in_line_until_the_server_is_ready),
          TEST(calls_end_if_the_server_never_gets_ready),
          TEST(an_opening_may_be_closed_under_way),
          TEST(M26_clients_are_closed_in_any_order),
          TEST(a_loop_that_is_freed_ends_the_ladder_first),
          TEST(M11_each_allocation_of_a_spawn_may_fail))
