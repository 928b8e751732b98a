/*
 * opening_test.c - servers that do not start, do not answer, or do not go
 *
 * The program is a subreaper: whoever loses its parent becomes its child, and can be
 * waited for. So nothing that is left behind goes unnoticed.
 */
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

/* ---- the ladder ---------------------------------------------------------- */

static pid_t
rogue_child(struct probe *p)
{
    mcp_reply *reply = NULL;
    pid_t pid;

    assert_int_equal(mcp_client_call_tool(p->client, "child", "{}", NULL, &reply, NULL),
                     0);
    pid = (pid_t)atoi(mcp_reply_text(reply));
    assert_true(pid > 1);
    mcp_reply_free(reply);
    return pid;
}

static mcp_client_options
quick_options(void)
{
    return MCP_CLIENT_OPTIONS(.exit_ms = 50, .term_ms = 50, .kill_ms = AWAIT_MS);
}

static void
M1_M4_a_server_that_does_not_go_is_killed_with_its_children(void **state)
{
    mcp_client_options opt = quick_options();
    struct probe p;
    pid_t child;

    opt.era = era_of(state);
    rogue_open(&p, "plain", &opt);
    child = rogue_child(&p);
    probe_expect(&p, "stay", "{}", "done");
    probe_close(&p);
    expect_signal(process_wait(child), SIGKILL);
    expect_no_children();
}

static void
M4_M5_a_child_of_a_server_that_is_gone_is_killed(void **state)
{
    mcp_client_options opt = quick_options();
    struct probe p;
    pid_t server, child;

    opt.era = era_of(state);
    rogue_open(&p, "plain", &opt);
    server = (pid_t)mcp_client_pid(p.client);
    child = rogue_child(&p);
    /* the child holds the pipes open, and still the server counts as gone */
    assert_int_equal(mcp_client_call_tool(p.client, "leave", "{}", NULL, NULL, NULL),
                     MCP_E_CLOSED);
    probe_close_dead(&p, server);
    expect_signal(process_wait(child), SIGKILL);
    expect_no_children();
}

static void
M7_M8_a_server_with_much_to_say_at_its_end_is_heard_out(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.era = era_of(state),
                                                .exit_ms = AWAIT_MS);
    char said[256];
    struct probe p;
    int err[2];

    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    opt.stderr_fd = err[1];
    rogue_open(&p, "plain", &opt);
    close(err[1]);
    probe_expect(&p, "talk", "{}", "done");
    probe_close(&p);
    expect_readable(err[0], said, sizeof(said), NULL);
    assert_non_null(strstr(said, "said it all"));
    close(err[0]);
    expect_no_children();
}

static void
M1_a_server_that_is_stopped_is_killed(void **state)
{
    mcp_client_options opt = quick_options();
    struct probe p;

    opt.era = era_of(state);
    rogue_open(&p, "plain", &opt);
    probe_expect(&p, "plain", "{}", "done");
    assert_int_equal(kill((pid_t)mcp_client_pid(p.client), SIGSTOP), 0);
    probe_close(&p);
    expect_no_children();
}

/* ---- many, and in strange surroundings ------------------------------------------ */

enum { CROWD = 8, ROUNDS = 5 };

struct crowd {
    const char *const *command;
    atomic_int good;
};

/* Open, ask and free, again and again. Asserts nothing: it is a thread of its own. */
static void *
crowd_run(void *user)
{
    struct crowd *crowd = user;

    for (int i = 0; i < ROUNDS; i++) {
        const mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "test",
                                                          .version = "1.0",
                                                          .quiet = true);
        mcp_client *client = NULL;
        mcp_reply *reply = NULL;

        if (mcp_client_spawn(crowd->command, &opt, &client, NULL) < 0)
            break;
        if (mcp_client_call_tool(client, "descriptors", "{}", NULL, &reply, NULL) ==
                0 &&
            strcmp(mcp_reply_text(reply), "3") == 0)
            atomic_fetch_add(&crowd->good, 1);
        mcp_reply_free(reply);
        mcp_client_free(client);
    }
    return NULL;
}

static void
M26_M13_many_clients_at_once_do_not_meet(void **state)
{
    pthread_t threads[CROWD];
    struct crowd crowd = {.command = rogue_command("plain")};

    (void)state;
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, crowd_run, &crowd), 0);
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&crowd.good), CROWD * ROUNDS);
    expect_no_children();
}

static void *
free_elsewhere(void *client)
{
    mcp_client_free(client);
    return NULL;
}

static void
M26_clients_may_be_freed_in_any_order_on_any_thread(void **state)
{
    mcp_client_options opt = quick_options();
    struct probe clients[4];
    pthread_t thread;

    opt.era = era_of(state);
    for (int i = 0; i < 4; i++)
        rogue_open(&clients[i], "plain", &opt);
    assert_int_equal(pthread_create(&thread, NULL, free_elsewhere, clients[1].client),
                     0);
    probe_close(&clients[2]);
    pthread_join(thread, NULL);
    probe_expect(&clients[3], "plain", "{}", "done");
    probe_close(&clients[0]);
    probe_expect(&clients[3], "plain", "{}", "done");
    probe_close(&clients[3]);
    expect_no_children();
}

#define BARE_ARGUMENT "--bare"

/* A client in a process that lacks some of its three. */
static void
bare_main(const char *without)
{
    mcp_client_options opt = quick_options();
    struct probe p;

    for (int fd = 0; fd < 3; fd++)
        if (strchr(without, '0' + fd))
            close(fd);
    rogue_open(&p, "plain", &opt);
    probe_expect(&p, "descriptors", "{}", "3");
    probe_close(&p);
    _exit(0);
}

static void
M13_a_client_works_without_stdin_stdout_and_stderr(void **state)
{
    const char *const without[] = {"0", "1", "2", "01", "12", "012"};

    (void)state;
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        const char *command[] = {rogue_command("")[0], BARE_ARGUMENT, without[i], NULL};
        struct raw raw;

        raw_spawn(&raw, command, -1);
        expect_exit(process_wait(raw.pid), 0);
        raw.pid = 0;
        (void)raw_close(&raw);
    }
}

/* ---- openings that fail -------------------------------------------------- */

static void
expect_no_opening(const char *const *command, int status, const char *word)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0");
    mcp_client *client = (mcp_client *)(uintptr_t)&me; /* must not be touched */
    size_t descriptors = count_descriptors();
    mcp_error err = {0};

    assert_int_equal(mcp_client_spawn(command, &me, &client, &err), status);
    assert_ptr_equal(client, &me);
    assert_int_equal(err.status, status);
    assert_true(err.message[0] != '\0');
    if (!strstr(err.message, word))
        fail_msg("\"%s\" does not say %s", err.message, word);
    assert_int_equal(count_descriptors(), descriptors);
    expect_no_children();
}

static void
M11_a_server_that_cannot_be_started_leaves_nothing(void **state)
{
    const char *const missing[] = {"/nonexistent/mcp-server", NULL};
    const char *const unknown[] = {"mcp-server-that-is-nowhere", NULL};
    const char *const folder[] = {"/tmp", NULL};
    const char *const quits[] = {"true", NULL};
    const char *const fails[] = {"false", NULL};

    (void)state;
    expect_no_opening(missing, MCP_E_INVAL, "/nonexistent/mcp-server");
    expect_no_opening(unknown, MCP_E_INVAL, "mcp-server-that-is-nowhere");
    expect_no_opening(folder, MCP_E_INVAL, "/tmp");
    expect_no_opening(quits, MCP_E_CLOSED, "");
    expect_no_opening(fails, MCP_E_CLOSED, "");
    expect_no_opening(rogue_command("leaver"), MCP_E_CLOSED, "");
}

static void
M2_M11_a_server_that_never_answers_is_given_up_and_killed(void **state)
{
    mcp_client_options opt = quick_options();
    size_t descriptors = count_descriptors();
    mcp_client *client = NULL;

    opt.era = era_of(state);
    opt.probe_ms = opt.hello_ms = 100;
    assert_int_equal(rogue_try("silent", &opt, &client), MCP_E_TIMEOUT);
    assert_int_equal(rogue_try("deaf", &opt, &client), MCP_E_TIMEOUT);
    assert_null(client);
    assert_int_equal(count_descriptors(), descriptors);
    expect_no_children();
}

struct canceler {
    pthread_t thread;
    mcp_scope *scope;
    int err[2];
    char said[64];
};

/* Cancels when the server says that it is there. */
static void *
canceler_run(void *user)
{
    struct canceler *c = user;
    size_t len = 0;

    while (len < sizeof(c->said) - 1 && !memchr(c->said, '\n', len)) {
        ssize_t n = read(c->err[0], c->said + len, sizeof(c->said) - 1 - len);

        if (n <= 0)
            break;
        len += (size_t)n;
    }
    (void)mcp_scope_cancel(c->scope, "enough");
    return NULL;
}

static void
expect_canceled_opening(const char *name, mcp_client_options *opt)
{
    struct canceler c = {0};
    mcp_client *client = NULL;
    pid_t pid;

    assert_int_equal(pipe2(c.err, O_CLOEXEC), 0);
    assert_int_equal(mcp_scope_new(NULL, &c.scope), 0);
    assert_int_equal(pthread_create(&c.thread, NULL, canceler_run, &c), 0);
    opt->scope = c.scope;
    opt->stderr_fd = c.err[1];
    assert_int_equal(rogue_try(name, opt, &client), MCP_E_CANCELED);
    assert_null(client);
    pthread_join(c.thread, NULL);
    assert_int_equal(sscanf(c.said, "here %d", &pid), 1);
    assert_true(process_is_gone(pid));
    mcp_scope_free(c.scope);
    close(c.err[0]);
    close(c.err[1]);
    expect_no_children();
}

static void
M12_M2_a_canceled_opening_leaves_nothing(void **state)
{
    mcp_client_options opt = quick_options();
    size_t descriptors = count_descriptors();

    opt.era = era_of(state);
    opt.hello_ms = opt.probe_ms = MCP_TIMEOUT_NONE;
    expect_canceled_opening("silent", &opt);
    expect_canceled_opening("deaf", &opt);
    assert_int_equal(count_descriptors(), descriptors);
}

static void
B5_an_opening_under_a_scope_that_is_over_fails_at_once(void **state)
{
    mcp_client_options opt = quick_options();
    mcp_client *client = NULL;

    (void)state;
    assert_int_equal(mcp_scope_new(NULL, &opt.scope), 0);
    assert_int_equal(mcp_scope_cancel(opt.scope, NULL), 0);
    assert_int_equal(rogue_try("silent", &opt, &client), MCP_E_CANCELED);
    assert_null(client);
    mcp_scope_free(opt.scope);
    expect_no_children();
}

static void
M27_the_scope_of_the_opening_is_not_that_of_the_client(void **state)
{
    mcp_client_options opt = quick_options();
    struct probe p;

    opt.era = era_of(state);
    assert_int_equal(mcp_scope_new(NULL, &opt.scope), 0);
    rogue_open(&p, "plain", &opt);
    assert_int_equal(mcp_scope_cancel(opt.scope, NULL), 0);
    mcp_scope_free(opt.scope);
    for (int i = 0; i < 100; i++)
        probe_expect(&p, "plain", "{}", "done");
    assert_false(process_is_gone((pid_t)mcp_client_pid(p.client)));
    probe_close(&p);
}

/* ---- fork without exec --------------------------------------------------- */

#define CHECK(expression)              \
    do {                               \
        if (!(expression))             \
            _exit(__LINE__ % 200 + 1); \
    } while (0)

static void
forked_child(struct probe *p, mcp_call *call)
{
    mcp_client *c = p->client;
    mcp_call *another = NULL;
    mcp_reply *reply = NULL;

    alarm(100);
    CHECK(mcp_client_call(c, "ping", NULL, NULL, &reply, NULL) == MCP_E_STATE);
    CHECK(mcp_client_call_tool(c, "plain", "{}", NULL, &reply, NULL) == MCP_E_STATE);
    CHECK(mcp_client_list_tools(c, NULL, NULL, &reply, NULL) == MCP_E_STATE);
    CHECK(mcp_client_ping(c, NULL, NULL) == MCP_E_STATE);
    CHECK(mcp_client_start(c, "ping", NULL, NULL, NULL, NULL, &another) == MCP_E_STATE);
    CHECK(mcp_client_start_tool(c, "plain", "{}", NULL, NULL, NULL, &another) ==
          MCP_E_STATE);
    CHECK(mcp_client_notify(c, "notifications/any", NULL) == MCP_E_STATE);
    CHECK(mcp_call_cancel(call, NULL) == MCP_E_STATE);
    CHECK(mcp_call_wait(call, MCP_TIMEOUT_NONE, &reply, NULL) == MCP_E_STATE);
    CHECK(mcp_call_flush(call, 0) == MCP_E_STATE);
    CHECK(!another && !reply);
    mcp_call_free(call);
    mcp_client_close(c);
    mcp_client_free(c);
    _exit(0);
}

static void
every_function_fails_in_a_forked_process_and_the_client_lives_on(void **state)
{
    mcp_client_options opt = quick_options();
    mcp_call *call = NULL;
    struct probe p;
    pid_t pid;
    int status;

    opt.era = era_of(state);
    rogue_open(&p, "plain", &opt);
    assert_int_equal(
        mcp_client_start_tool(p.client, "mute", "{}", NULL, NULL, NULL, &call), 0);
    probe_expect(&p, "plain", "{}", "done");
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        forked_child(&p, call);
    status = process_wait(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        fail_msg("the check in line N with N %% 200 + 1 == %d", WEXITSTATUS(status));
    expect_exit(status, 0);
    probe_expect(&p, "plain", "{}", "done");
    assert_int_equal(mcp_call_wait(call, 1, NULL, NULL), MCP_E_AGAIN);
    probe_close(&p);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CLOSED);
    mcp_call_free(call);
    expect_no_children();
}

static const struct test_case cases[] = {
    IN_BOTH_ERAS(M1_M4_a_server_that_does_not_go_is_killed_with_its_children),
    IN_BOTH_ERAS(M4_M5_a_child_of_a_server_that_is_gone_is_killed),
    IN_BOTH_ERAS(M1_a_server_that_is_stopped_is_killed),
    TEST(M26_M13_many_clients_at_once_do_not_meet),
    IN_BOTH_ERAS(M26_clients_may_be_freed_in_any_order_on_any_thread),
    TEST(M13_a_client_works_without_stdin_stdout_and_stderr),
    IN_BOTH_ERAS(M7_M8_a_server_with_much_to_say_at_its_end_is_heard_out),
    TEST(M11_a_server_that_cannot_be_started_leaves_nothing),
    IN_BOTH_ERAS(M2_M11_a_server_that_never_answers_is_given_up_and_killed),
    IN_BOTH_ERAS(M12_M2_a_canceled_opening_leaves_nothing),
    TEST(B5_an_opening_under_a_scope_that_is_over_fails_at_once),
    IN_BOTH_ERAS(M27_the_scope_of_the_opening_is_not_that_of_the_client),
    IN_BOTH_ERAS(every_function_fails_in_a_forked_process_and_the_client_lives_on),
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], ROGUE_ARGUMENT) == 0)
        rogue_main(argv[2]);
    if (argc == 3 && strcmp(argv[1], BARE_ARGUMENT) == 0)
        bare_main(argv[2]);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    return test_main(__FILE__, cases, sizeof(cases) / sizeof(cases[0]));
}
