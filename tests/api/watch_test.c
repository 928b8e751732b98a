/*
 * watch_test.c - a server that is a process of its own: stdio, signals, its parent
 *
 * Each case forks a process that runs a server, and looks at it from outside.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "api/raw_client.h"

/* ---- the server's process ----------------------------------------------- */

struct child {
    pid_t pid;
    int in, out; /* our ends of its stdin and stdout */
    int errors;  /* and of its stderr */
    char text[1 << 16];
};

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

static int
sleep_on(mcp_request *req, mcp_result *out, void *user)
{
    int64_t *ms = user;
    int r = mcp_request_sleep(req, *ms);

    return r < 0 ? r : mcp_result_text(out, "slept");
}

static int
say_much(mcp_request *req, mcp_result *out, void *user)
{
    static char text[1 << 20];

    (void)req;
    (void)user;
    memset(text, 'x', sizeof(text));
    return mcp_result_text_n(out, text, sizeof(text));
}

/* What a careless handler does. */
static int
print(mcp_request *req, mcp_result *out, void *user)
{
    char c;

    (void)req;
    (void)user;
    printf("printed by the handler\n");
    fflush(stdout);
    if (system("echo printed by a child; cat") != 0)
        return MCP_E_STATE;
    return mcp_result_textf(out, "read %d", (int)read(0, &c, 1));
}

/* Raises SIGPIPE on the thread of the loop, as a write to a client that left does. */
static int
write_to_nobody(mcp_request *req, mcp_result *out, void *user)
{
    int ends[2];

    (void)req;
    (void)user;
    if (pipe(ends) < 0)
        return MCP_E_LIMIT;
    close(ends[0]);
    (void)!write(ends[1], "x", 1);
    close(ends[1]);
    return mcp_result_text(out, "broken");
}

static int64_t forever = 100000, briefly = 20;

static mcp_server *
server_make(int64_t stop_ms)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "say", .reply = say),
        MCP_TOOL(.name = "sleep", .run = sleep_on, .user = &forever),
        MCP_TOOL(.name = "nap", .run = sleep_on, .user = &briefly),
        MCP_TOOL(.name = "much", .reply = say_much),
        MCP_TOOL(.name = "print", .run = print),
        MCP_TOOL(.name = "break", .reply = write_to_nobody),
    };
    mcp_server *server = NULL;

    if (mcp_server_new(
            &MCP_SERVER_OPTIONS(.name = "child", .version = "1", .stop_ms = stop_ms),
            &server, NULL) < 0)
        _exit(90);
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        if (mcp_server_add_tool(server, &tools[i], NULL) < 0)
            _exit(91);
    }
    return server;
}

/* Fork a process that has the three descriptors and runs fn(user); what that returns is
 * its exit status. */
static void
child_start(struct child *child, int (*fn)(void *user), void *user)
{
    int in[2], out[2], errors[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(errors, O_CLOEXEC), 0);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(errors[1], 2);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        close(errors[0]);
        close(errors[1]);
        _exit(fn(user));
    }
    close(in[0]);
    close(out[1]);
    close(errors[1]);
    child->in = in[1];
    child->out = out[0];
    child->errors = errors[0];
}

static void
child_send(struct child *child, const char *line)
{
    assert_int_equal(write(child->in, line, strlen(line)), strlen(line));
    assert_int_equal(write(child->in, "\n", 1), 1);
}

/* Read until this text has come; NULL: until EOF. */
static const char *
child_read(struct child *child, int fd, const char *until)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    size_t len = 0;
    ssize_t n = 1;

    child->text[0] = '\0';
    while (n > 0 && len < sizeof(child->text) - 1 &&
           !(until && strstr(child->text, until))) {
        if (poll(&poll_fd, 1, AWAIT_MS) != 1)
            fail_msg("nothing came in time");
        n = read(fd, child->text + len, sizeof(child->text) - 1 - len);
        if (n > 0)
            len += (size_t)n;
        child->text[len] = '\0';
    }
    if (until && !strstr(child->text, until))
        fail_msg("no %s in %s", until, child->text);
    return child->text;
}

static void
child_converse(struct child *child)
{
    child_send(child, REQUEST("1", "tools/call", "{\"name\":\"say\"," STAMP "}"));
    child_read(child, child->out, "said");
}

/* Wait for one that ends, pid or any (-1); the test fails if none does in time. */
static pid_t
wait_for(pid_t pid, int *ret_status)
{
    pid_t found = 0;

    for (int64_t end = raw_now_ms() + AWAIT_MS; found == 0 && raw_now_ms() < end;) {
        found = waitpid(pid, ret_status, WNOHANG);
        raw_pause();
    }
    return found;
}

static int
child_wait(struct child *child)
{
    int status = -1;

    assert_int_equal(wait_for(child->pid, &status), child->pid);
    return status;
}

static void
child_close(struct child *child)
{
    if (child->in >= 0)
        close(child->in);
    close(child->out);
    close(child->errors);
}

/* ---- stdio -------------------------------------------------------------- */

static int
run_stdio(void *user)
{
    mcp_server *server = server_make(0);
    char name[64];
    int r;

    (void)user;
    snprintf(name, sizeof(name), "@libmcp-stdio-%ld", (long)getpid());
    if (mcp_server_listen_unix(server, name, NULL) < 0)
        return 92; /* a socket that lives is no reason to stay */
    r = mcp_server_run_stdio(server, NULL);
    mcp_server_free(server);
    return r == 0 ? 0 : 1;
}

static void
M16_end_of_input_ends_it(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, run_stdio, NULL);
    child_converse(&child);
    close(child.in);
    child.in = -1;
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

static void
F28_what_was_asked_before_the_end_is_answered(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, run_stdio, NULL);
    child_send(&child, REQUEST("7", "tools/call", "{\"name\":\"nap\"," STAMP "}"));
    close(child.in);
    child.in = -1;
    child_read(&child, child.out, "slept");
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

static void
M19_what_handlers_print_is_not_on_the_wire(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, run_stdio, NULL);
    child_send(&child, REQUEST("1", "tools/call", "{\"name\":\"print\"," STAMP "}"));
    child_read(&child, child.out, "\n");
    assert_int_equal(child.text[0], '{');
    assert_non_null(strstr(child.text, "read 0")); /* its stdin is at its end */
    close(child.in);
    child.in = -1;
    assert_string_equal(child_read(&child, child.out, NULL), "");
    child_read(&child, child.errors, "printed by a child");
    assert_non_null(strstr(child.text, "printed by the handler"));
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

static int
take_stdio_twice(void *user)
{
    mcp_server *server = server_make(0);
    int first, second;

    (void)user;
    first = mcp_server_attach_stdio(server, NULL);
    second = mcp_server_attach_stdio(server, NULL);
    if (second == MCP_E_STATE)
        second = mcp_server_run_stdio(server, NULL);
    mcp_server_free(server);
    return first == 0 && second == MCP_E_STATE ? 0 : 1;
}

static void
stdio_is_taken_once(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, take_stdio_twice, NULL);
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

static int
run_without_stdin(void *user)
{
    mcp_server *server = server_make(0);
    mcp_error err = {0};
    int r;

    (void)user;
    close(0);
    r = mcp_server_run_stdio(server, &err);
    mcp_server_free(server);
    return r == MCP_E_INVAL && err.message[0] ? 0 : 1;
}

static void
without_a_stdin_it_does_not_run(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, run_without_stdin, NULL);
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

/* ---- signals ------------------------------------------------------------ */

static void
M17_a_signal_stops_it(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct child child;

    (void)state;
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        child_start(&child, run_stdio, NULL);
        child_converse(&child);
        child_send(&child,
                   REQUEST("2", "tools/call", "{\"name\":\"sleep\"," STAMP "}"));
        child_converse(&child); /* so that the other one runs */
        kill(child.pid, signals[i]);
        child_read(&child, child.out, "Connection closed"); /* the one that sleeps */
        assert_int_equal(child_wait(&child), 0); /* though its client is still there */
        child_close(&child);
    }
}

static int
run_with_default_sigpipe(void *user)
{
    signal(SIGPIPE, SIG_DFL);
    return run_stdio(user);
}

static void
M21_a_broken_pipe_before_the_stop_kills_nobody(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, run_with_default_sigpipe, NULL);
    child_send(&child, REQUEST("1", "tools/call", "{\"name\":\"break\"," STAMP "}"));
    child_read(&child, child.out, "broken");
    kill(child.pid, SIGTERM);
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

static int
run_slowly(void *user)
{
    mcp_server *server = server_make(1000000);
    int r;

    (void)user;
    r = mcp_server_run_stdio(server, NULL);
    mcp_server_free(server);
    return r == 0 ? 0 : 1;
}

static void
M17_a_second_one_kills(void **state)
{
    struct child child;
    char c;
    int status;

    (void)state;
    child_start(&child, run_slowly, NULL);
    for (int i = 0; i < 3; i++) /* more than the pipe takes, and we do not read */
        child_send(&child, REQUEST("1", "tools/call", "{\"name\":\"much\"," STAMP "}"));
    assert_int_equal(read(child.out, &c, 1), 1);
    kill(child.pid, SIGTERM);
    while (waitpid(child.pid, &status, WNOHANG) == 0) {
        kill(child.pid, SIGTERM); /* the first of them that comes after the first */
        raw_pause();
    }
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    child_close(&child);
}

static void
on_signal(int signal)
{
    (void)signal;
}

/* The mask of a run, and what is left of it afterwards. */
static int
check_mask(void *user)
{
    struct sigaction action = {.sa_handler = on_signal}, found;
    mcp_server *server = server_make(0);
    sigset_t before, after;

    (void)user;
    sigaction(SIGTERM, &action, NULL);
    sigemptyset(&before);
    sigaddset(&before, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    mcp_server_stop(server);
    if (mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), NULL) != 0)
        return 1;
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    mcp_server_free(server);
    sigaction(SIGTERM, NULL, &found);
    if (sigismember(&after, SIGTERM) || sigismember(&after, SIGINT) ||
        sigismember(&after, SIGHUP) || !sigismember(&after, SIGUSR2))
        return 2;
    return found.sa_handler == on_signal ? 0 : 3;
}

static void
mask_and_dispositions_are_what_they_were(void **state)
{
    struct child child;

    (void)state;
    child_start(&child, check_mask, NULL);
    assert_int_equal(child_wait(&child), 0);
    child_close(&child);
}

static int
run_blind(void *user)
{
    mcp_server *server = server_make(0);

    (void)user;
    if (mcp_server_attach_stdio(server, NULL) < 0)
        return 1;
    (void)mcp_server_run(server, NULL, NULL);
    return 2;
}

static void
without_the_option_a_signal_does_what_it_always_did(void **state)
{
    struct child child;
    int status;

    (void)state;
    child_start(&child, run_blind, NULL);
    child_converse(&child);
    kill(child.pid, SIGTERM);
    status = child_wait(&child);
    assert_true(WIFSIGNALED(status));
    child_close(&child);
}

/* ---- the parent --------------------------------------------------------- */

struct family {
    int (*fn)(void *user);
    int go[2]; /* the parent goes when this is closed */
};

/* A parent that has a server for a child, and dies before it. */
static int
parent_main(void *user)
{
    struct family *family = user;
    pid_t pid = fork();
    char c;

    if (pid == 0)
        _exit(family->fn(family));
    close(family->go[1]);
    (void)!read(family->go[0], &c, 1);
    return 0;
}

static int
run_watching(void *user)
{
    struct family *family = user;

    close(family->go[0]);
    close(family->go[1]);
    return run_stdio(NULL);
}

static void
family_start(struct child *child, struct family *family)
{
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_int_equal(pipe2(family->go, O_CLOEXEC), 0);
    child_start(child, parent_main, family);
    close(family->go[0]);
}

/* The parent goes, and the server follows: nobody else has the other end of its
 * output. */
static void
family_end(struct child *child, struct family *family)
{
    int status = -1;

    close(family->go[1]);
    assert_int_equal(child_wait(child), 0);
    child_read(child, child->out, NULL);
    assert_true(wait_for(-1, &status) > 0); /* the server is ours now */
    assert_int_equal(status, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    child_close(child);
}

static void
M18_it_goes_with_its_parent(void **state)
{
    struct family family = {.fn = run_watching};
    struct child child;

    (void)state;
    family_start(&child, &family);
    child_converse(&child);
    family_end(&child, &family); /* our ends of its pipes are open all the time */
}

static int
run_as_an_orphan(void *user)
{
    struct family *family = user;
    pid_t parent = getppid();
    mcp_server *server = server_make(0);
    int r;

    close(family->go[0]);
    close(family->go[1]);
    (void)!write(1, "made\n", 5);
    while (getppid() == parent)
        raw_pause();
    r = mcp_server_run_stdio(server, NULL);
    mcp_server_free(server);
    return r == 0 ? 0 : 1;
}

static void
M18_one_whose_parent_is_gone_already_does_not_stay(void **state)
{
    struct family family = {.fn = run_as_an_orphan};
    struct child child;

    (void)state;
    family_start(&child, &family);
    child_read(&child, child.out, "made");
    family_end(&child, &family);
}

TEST_MAIN(TEST(M16_end_of_input_ends_it),
          TEST(F28_what_was_asked_before_the_end_is_answered),
          TEST(M19_what_handlers_print_is_not_on_the_wire), TEST(stdio_is_taken_once),
          TEST(without_a_stdin_it_does_not_run), TEST(M17_a_signal_stops_it),
          TEST(M21_a_broken_pipe_before_the_stop_kills_nobody),
          TEST(M17_a_second_one_kills), TEST(mask_and_dispositions_are_what_they_were),
          TEST(without_the_option_a_signal_does_what_it_always_did),
          TEST(M18_it_goes_with_its_parent),
          TEST(M18_one_whose_parent_is_gone_already_does_not_stay))
