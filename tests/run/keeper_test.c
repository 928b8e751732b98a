/* keeper_test.c - a keeper: nobody whom it keeps gets away, nothing is left of it */
#include "run/keeper.h"

#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "run/process_fixture.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#define NOBODY 65534
#define NOTHING "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"

/* ---- this program, executed anew ------------------------------------------------- */

/* In a program that is kept: one more keeper. */
static _Noreturn void
helper_nest(void)
{
    struct mcpi_process_options opt = {
        .argv = HELPER("{", "session", "say:in", "hang", "}", "hang"),
        .in = -1,
        .out = -1,
        .err = STDERR_FILENO,
        .own_err = true,
        .kept = MCPI_KEPT_COMMAND};
    struct mcpi_process process;

    if (mcpi_process_spawn(&process, &opt, NULL) < 0)
        helper_say("not started\n");
    for (;;)
        helper_hang();
}

/* In a keeper that a test wants to look into, or to trace: it can be. */
int
prctl(int option, ...)
{
    unsigned long words[4];
    va_list list;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    if (option == PR_SET_DUMPABLE && words[0] == 0 && getenv("LOOK_INTO_KEEPER"))
        return 0;
    return (int)syscall(SYS_prctl, option, words[0], words[1], words[2], words[3]);
}

static void
helper_say_error(const char *what, long result)
{
    char text[64];

    snprintf(text, sizeof text, "%s: %s\n", what,
             result >= 0 ? "done" : strerror(errno));
    helper_say(text);
}

/* All ways to get hold of what is above. */
static void
helper_reach_for(pid_t pid)
{
    char path[64], byte;
    struct iovec ours = {&byte, 1}, theirs = {&byte, 1};
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

    helper_say_error("attach", ptrace(PTRACE_ATTACH, pid, NULL, NULL));
    helper_say_error("seize", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
    snprintf(path, sizeof path, "/proc/%ld/mem", (long)pid);
    helper_say_error("mem", open(path, O_RDWR | O_CLOEXEC));
    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    helper_say_error("fd", open(path, O_RDONLY | O_CLOEXEC));
    helper_say_error("read", process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
    helper_say_error("getfd", syscall(SYS_pidfd_getfd, pidfd, 4, 0));
}

/* That it could, if it might: with a process that it has forked off, which dies with
 * what it reports. */
static _Noreturn void
helper_reach(void)
{
    pid_t child = fork();

    if (child == 0)
        helper_hang();
    helper_say_error("own", ptrace(PTRACE_SEIZE, child, NULL, NULL));
    helper_say(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 ? "open\n" : "closed\n");
    helper_reach_for(getppid());
    _exit(0);
}

static void
enter(int argc, char **argv)
{
    char **words;

    while (getenv("NEVER_ENTER"))
        pause();
    if (mcpi_keeper_enter(argc, argv, &words) == 1) {
        alarm(HELPER_SECONDS);
        if (words[0] && strcmp(words[0], "nest") == 0)
            helper_nest();
        if (words[0] && strcmp(words[0], "reach") == 0)
            helper_reach();
        helper_main(words);
    }
    if (argc > 1 && strcmp(argv[1], "reach") == 0)
        helper_reach();
    if (argc > 1)
        helper_main(argv + 1);
}

/* ---- starting and ending --------------------------------------------------------- */

static void
start_with(struct mcpi_process *process, struct mcpi_process_options opt,
           struct report *report)
{
    mcp_error err;

    kill_reset();
    *report = report_open();
    opt.out = -1;
    opt.err = report->end;
    opt.own_err = true;
    if (mcpi_process_spawn(process, &opt, &err) < 0)
        fail_msg("%s", err.message);
    report_given(report);
    assert_true(process->pid > 1);
    assert_true(process->control >= 0);
}

static struct mcpi_process_options
kept_command(const char *const *argv)
{
    return (struct mcpi_process_options){
        .argv = argv, .in = -1, .kept = MCPI_KEPT_COMMAND};
}

static struct mcpi_process_options
kept_self(const char *const *words)
{
    return (struct mcpi_process_options){
        .argv = words, .in = -1, .kept = MCPI_KEPT_SELF};
}

static void
start(struct mcpi_process *process, const char *const *argv, struct report *report)
{
    start_with(process, kept_command(argv), report);
}

#define WORDS(...)        \
    (const char *const[]) \
    {                     \
        __VA_ARGS__, NULL \
    }

static void
await_poll(struct mcpi_process *process)
{
    struct pollfd watched = {.fd = process->pidfd, .events = POLLIN};

    assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
    assert_true(mcpi_process_poll(process));
    assert_false(mcpi_process_group_lives(process));
    assert_int_equal(mcpi_process_signal(process, SIGKILL), MCP_E_CLOSED);
}

/* Not all of it, only the first one. */
static void
await_end(struct mcpi_process *process)
{
    struct pollfd watched = {.fd = process->control, .events = POLLIN};

    assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
    (void)mcpi_process_poll(process);
    assert_true(process->ended);
}

static void
done(struct mcpi_process *process)
{
    assert_int_equal(mcpi_process_done(process, AWAIT_US), 0);
    assert_true(process->exited && process->reaped);
    assert_int_equal(process->pid, 0);
    assert_int_equal(process->pidfd, -1);
    assert_int_equal(process->control, -1);
    assert_int_equal(kill_count, 0); /* numbers are for the keeper */
    assert_false(has_children());
    assert_false(mcpi_process_group_lives(process));
    assert_int_equal(mcpi_process_signal(process, SIGKILL), MCP_E_CLOSED);
    assert_int_equal(mcpi_process_done(process, 0), 0);
}

static void
done_killed(struct mcpi_process *process)
{
    done(process);
    assert_true(process->ended);
    assert_true(WIFSIGNALED(process->wait_status));
    assert_int_equal(WTERMSIG(process->wait_status), SIGKILL);
}

/* What it reports, run to its end; it must go well. */
static const char *
run(struct mcpi_process_options opt)
{
    struct mcpi_process process;
    struct report report;
    const char *text;

    start_with(&process, opt, &report);
    text = report_rest(&report);
    await_poll(&process);
    assert_int_equal(process.wait_status, 0);
    done(&process);
    return text;
}

static int
status_after(struct mcpi_process_options opt)
{
    struct mcpi_process process;
    struct report report;

    start_with(&process, opt, &report);
    await_poll(&process);
    assert_true(process.ended);
    done(&process);
    assert_string_equal(report_rest(&report), "");
    return process.wait_status;
}

static void
its_status_is_that_of_the_first_one(void **state)
{
    int status = status_after(kept_command(HELPER("exit:7")));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    status = status_after(kept_command(HELPER("raise:15")));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(status_after(kept_command(HELPER("exit:0"))), 0);
    status = status_after(kept_self(WORDS("exit:7")));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    status = status_after(kept_self(WORDS("raise:9")));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

/* ---- what it gets ---------------------------------------------------------------- */

static void
assert_leads(struct mcpi_process_options opt)
{
    long pid, session, group, parent;
    struct mcpi_process process;
    struct report report;

    start_with(&process, opt, &report);
    assert_int_equal(
        sscanf(report_line(&report), "%ld %ld %ld", &pid, &session, &group), 3);
    parent = strtol(report_line(&report), NULL, 10);
    assert_int_equal(parent, process.pid);
    assert_int_not_equal(pid, process.pid);
    assert_int_equal(session, pid);
    assert_int_equal(group, pid);
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
}

static void
M3_it_leads_its_own_session_below_its_keeper(void **state)
{
    (void)state;
    assert_leads(kept_command(HELPER("ids", "parent", "hang")));
    assert_leads(kept_self(WORDS("ids", "parent", "hang")));
}

static void
M13_a_command_gets_its_descriptors_and_no_others(void **state)
{
    struct mcpi_process_options opt = kept_command(HELPER("descriptors"));
    int leaky = open("/dev/null", O_RDONLY);

    (void)state;
    assert_string_equal(run(opt), "0 1 2\n");
    opt.extra = leaky;
    opt.has_extra = true;
    assert_string_equal(run(opt), "0 1 2 3\n");
    close(leaky);
}

static void
M13_self_gets_its_words_and_its_descriptor(void **state)
{
    struct mcpi_process_options opt = kept_self(
        WORDS("descriptors", "hidden:3", "tell:hello", "say:--libmcp-keeper"));
    struct mcpi_process process;
    struct report report;
    char text[16] = "";
    int pair[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    opt.extra = pair[1];
    opt.has_extra = true;
    start_with(&process, opt, &report);
    close(pair[1]);
    assert_string_equal(report_line(&report), "0 1 2 3");
    assert_string_equal(report_line(&report), "hidden");
    assert_int_equal(read(pair[0], text, sizeof text), 5);
    assert_string_equal(text, "hello");
    assert_int_equal(read(pair[0], text, sizeof text), 0); /* nobody else has it */
    close(pair[0]);
    assert_string_equal(report_rest(&report), "--libmcp-keeper\n");
    await_poll(&process);
    done(&process);
    assert_string_equal(run(kept_self(WORDS("descriptors"))), "0 1 2\n");
}

static void
self_needs_no_words(void **state)
{
    (void)state;
    assert_string_equal(run(kept_self(NULL)), "");
    assert_string_equal(run(kept_self((const char *const[]){NULL})), "");
}

static void
M21_its_signals_are_the_defaults(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    assert_string_equal(run(kept_command(HELPER("signals"))), NOTHING);
    assert_string_equal(run(kept_self(WORDS("signals"))), NOTHING);
    signal(SIGPIPE, SIG_DFL);
}

static void
only_self_cannot_become_another_user(void **state)
{
    (void)state;
    assert_string_equal(run(kept_command(HELPER("status:NoNewPrivs"))),
                        "NoNewPrivs:\t0\n");
    assert_string_equal(run(kept_self(WORDS("status:NoNewPrivs"))), "NoNewPrivs:\t1\n");
}

static void
its_environment_and_folder_are_as_asked_for(void **state)
{
    static const char *const env[] = {"MCP_B=1", NULL};
    struct mcpi_process_options opt = kept_command(
        HELPER("env:MCP_A", "env:MCP_B", "folder"));

    (void)state;
    setenv("MCP_A", "ours", 1);
    opt.env = env;
    opt.cwd = "/proc";
    assert_string_equal(run(opt), "ours\n1\n/proc\n");
    opt.clear_env = true;
    assert_string_equal(run(opt), "(none)\n1\n/proc\n");
    opt.kept = MCPI_KEPT_SELF;
    opt.argv = WORDS("env:MCP_A", "env:MCP_B", "folder");
    assert_string_equal(run(opt), "(none)\n1\n/proc\n");
    unsetenv("MCP_A");
}

/* ---- the keeper itself ----------------------------------------------------------- */

static void
descriptor_read(pid_t pid, int fd, char into[64])
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)pid, fd);
    n = readlink(path, into, 63);
    into[n > 0 ? n : 0] = '\0';
}

static int
descriptors_of(pid_t pid)
{
    char path[64];
    int count = 0;
    DIR *dir;

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2; /* . and .. */
}

static void
M13_the_keeper_has_nothing_of_ours(void **state)
{
    struct mcpi_process_options opt = kept_self(WORDS("say:up", "hang"));
    int leaky = open("/dev/zero", O_RDONLY);
    struct mcpi_process process;
    struct report report;
    char target[64];

    (void)state;
    opt.in = opt.extra = leaky;
    opt.has_extra = true;
    setenv("LOOK_INTO_KEEPER", "1", 1);
    start_with(&process, opt, &report);
    unsetenv("LOOK_INTO_KEEPER");
    assert_string_equal(report_line(&report), "up");
    for (int fd = 0; fd <= 2; fd++) {
        descriptor_read(process.pid, fd, target);
        assert_string_equal(target, "/dev/null");
    }
    descriptor_read(process.pid, 3, target);
    assert_string_equal(target, "");
    descriptor_read(process.pid, 4, target);
    assert_memory_equal(target, "socket:", 7);
    descriptor_read(process.pid, 5, target);
    assert_string_equal(target, "anon_inode:[signalfd]");
    assert_int_equal(descriptors_of(process.pid), 5);
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
    close(leaky);
}

/* As a user who may not trace everybody. */
static void
assert_out_of_reach(struct mcpi_process_options opt)
{
    bool is_root = geteuid() == 0;
    struct mcpi_process process;
    struct report report;

    if (is_root)
        assert_int_equal(setresuid(NOBODY, NOBODY, 0), 0);
    start_with(&process, opt, &report);
    if (is_root) {
        assert_int_equal(setresuid(0, 0, 0), 0);
        assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
    }
    assert_string_equal(report_rest(&report), "own: done\n"
                                              "open\n"
                                              "attach: Operation not permitted\n"
                                              "seize: Operation not permitted\n"
                                              "mem: Permission denied\n"
                                              "fd: Permission denied\n"
                                              "read: Operation not permitted\n"
                                              "getfd: Operation not permitted\n");
    await_poll(&process);
    assert_int_equal(process.wait_status, 0);
    done(&process);
}

static void
nobody_below_can_take_hold_of_the_keeper(void **state)
{
    (void)state;
    assert_out_of_reach(kept_command(HELPER("reach")));
    assert_out_of_reach(kept_self(WORDS("reach")));
}

/* The name of this program and the words are seen in a list of processes. */
static void
it_is_seen_as_what_it_is(void **state)
{
    struct mcpi_process process;
    struct report report;
    char path[64], line[4096], own[4096];
    ssize_t n;
    int fd;

    (void)state;
    fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, own, sizeof own) > 0);
    close(fd);
    start(&process, HELPER("hang"), &report);
    snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)process.pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = read(fd, line, sizeof line);
    close(fd);
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
    assert_string_equal(line, own);
    assert_int_equal((size_t)n, strlen(own) + 1 +
                                    sizeof("--libmcp-keeper\0command\0"
                                           "/proc/self/exe\0hang"));
    assert_memory_equal(line + strlen(own) + 1, "--libmcp-keeper\0command", 24);
}

/* By somebody who has read about it in a list of processes. */
static void
it_cannot_be_started_by_hand(void **state)
{
    static const char *const argv[][5] = {
        {"/proc/self/exe", "--libmcp-keeper", "command", "true", NULL},
        {"/proc/self/exe", "--libmcp-keeper", "self", NULL},
        {"/proc/self/exe", "--libmcp-keeper", "other", NULL},
    };
    struct mcpi_process process;
    struct report report;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct mcpi_process_options opt = {.argv = argv[i], .in = -1, .out = -1};

        report = report_open();
        opt.err = report.end;
        opt.own_err = true;
        assert_int_equal(mcpi_process_spawn(&process, &opt, NULL), 0);
        report_given(&report);
        assert_string_equal(report_rest(&report),
                            "this way of starting a program is libmcp's own\n");
        await_exit(process.pid);
        assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
        assert_int_equal(WEXITSTATUS(process.wait_status), 2);
    }
    assert_false(has_children());
}

/* ---- nobody gets away ------------------------------------------------------------ */

#define DAEMON "{", "session", "{", "session", "ignore:15", "say:in", "hang", "}", "}"

static void
M4_a_daemon_goes_when_the_first_one_ends(void **state)
{
    struct mcpi_process_options opt = kept_command(HELPER(DAEMON, "byte", "exit:4"));
    struct mcpi_process process;
    struct report report;
    int in[2];

    (void)state;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    opt.in = in[0];
    start_with(&process, opt, &report);
    close(in[0]);
    assert_string_equal(report_line(&report), "in");
    assert_false(mcpi_process_poll(&process));
    close(in[1]); /* it ends by itself now */
    assert_string_equal(report_rest(&report), "");
    await_poll(&process);
    assert_int_equal(WEXITSTATUS(process.wait_status), 4);
    done(&process);
}

static void
M1_done_ends_everybody(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("ignore:15", DAEMON, "hang"), &report);
    assert_string_equal(report_line(&report), "in");
    assert_false(mcpi_process_poll(&process));
    assert_true(mcpi_process_group_lives(&process));
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
}

static void
M4_a_kill_ends_everybody_without_a_wait(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER(DAEMON, "hang"), &report);
    assert_string_equal(report_line(&report), "in");
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), 0);
    assert_string_equal(report_rest(&report), "");
    await_poll(&process);
    done_killed(&process);
}

static void
M4_a_signal_goes_to_everybody(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process,
          HELPER("catch:15", "{", "session", "{", "session", "say:in", "hang", "}",
                 "hang", "}", "hang"),
          &report);
    assert_string_equal(report_line(&report), "in");
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), 0);
    assert_string_equal(report_rest(&report), "term\nterm\nterm\n");
    await_poll(&process);
    assert_int_equal(WEXITSTATUS(process.wait_status), 3);
    done(&process);
}

/* Who was told to end is given time, also when the first one is dead. */
static void
M1_what_was_signaled_has_its_time(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER(DAEMON, "hang"), &report);
    assert_string_equal(report_line(&report), "in");
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), 0);
    await_end(&process);
    assert_int_equal(WTERMSIG(process.wait_status), SIGTERM);
    assert_false(mcpi_process_poll(&process));
    assert_true(mcpi_process_group_lives(&process));
    assert_true(report_is_held(&report));
    done(&process);
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(WTERMSIG(process.wait_status), SIGTERM); /* of the first one */
}

static void
M4_who_forks_and_exits_all_the_time_is_outrun(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("{", "chain", "}", "{", "chain", "}", "say:in", "hang"),
          &report);
    assert_string_equal(report_line(&report), "in");
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
}

static void
M4_a_keeper_below_a_keeper(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start_with(&process, kept_self(WORDS("nest")), &report);
    assert_string_equal(report_line(&report), "in");
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
}

static void
M1_one_that_does_not_end_is_given_up(void **state)
{
    struct mcpi_process process;
    struct report report;
    pid_t pid;

    (void)state;
    setenv("LOOK_INTO_KEEPER", "1", 1);
    start(&process, HELPER("say:up", "hang"), &report);
    unsetenv("LOOK_INTO_KEEPER");
    assert_string_equal(report_line(&report), "up");
    pid = process.pid;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
        ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
        skip(); /* not allowed here */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(mcpi_process_done(&process, 2000), MCP_E_TIMEOUT);
    assert_int_equal(process.pidfd, -1);
    assert_int_equal(process.control, -1);
    (void)ptrace(PTRACE_DETACH, pid, NULL, NULL); /* and then it does its work */
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* By what it keeps, perhaps. */
static void
M4_a_keeper_that_was_stopped_ends_all(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    for (int i = 0; i < 2; i++) {
        start(&process, HELPER(DAEMON, "hang"), &report);
        assert_string_equal(report_line(&report), "in");
        syscall(SYS_kill, process.pid, SIGSTOP);
        if (i == 0) {
            assert_int_equal(mcpi_process_signal(&process, SIGKILL), 0);
            await_poll(&process);
        }
        assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
        assert_string_equal(report_rest(&report), "");
    }
}

/* It is there and hears, though nobody has read that it has begun. */
static void
M4_one_whose_begin_was_not_seen_ends_all(void **state)
{
    struct mcpi_process_options opt = kept_command(HELPER(DAEMON, "hang"));
    struct mcpi_process process;
    struct report report;

    (void)state;
    opt.start_us = -1;
    start_with(&process, opt, &report);
    assert_string_equal(report_line(&report), "in");
    assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    assert_string_equal(report_rest(&report), "");
}

/* Stopped by what it keeps, before it has said that it has begun or right after. */
static void
M4_a_keeper_that_is_stopped_at_its_begin_ends_all(void **state)
{
    struct mcpi_process_options opt = kept_command(
        HELPER("stop-parent", DAEMON, "hang"));
    struct report report = report_open();
    struct mcpi_process process;
    int r;

    (void)state;
    opt.out = -1;
    opt.err = report.end;
    opt.own_err = true;
    opt.start_us = 100000;
    r = mcpi_process_spawn(&process, &opt, NULL);
    report_given(&report);
    if (r == 0)
        assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    else
        assert_int_equal(r, MCP_E_TIMEOUT);
    (void)report_rest(&report); /* until nobody has it */
    assert_false(has_children());
}

/* It is woken as often as it takes: a stop may come behind the first time, and behind
 * others. */
static void
M4_a_keeper_that_is_stopped_again_ends_all(void **state)
{
    struct mcpi_process_options opt = kept_command(HELPER("stop-parent-on", "hang"));
    struct mcpi_process process;
    struct report report;

    (void)state;
    opt.start_us = -1; /* it is stopped before it says so */
    start_with(&process, opt, &report);
    assert_string_equal(report_line(&report), "on");
    assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    assert_string_equal(report_rest(&report), "");
    assert_false(has_children());
}

static int
cancel_at_once(void)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[1]);
    return ends[0];
}

static void
a_cancel_ends_the_wait_for_its_begin(void **state)
{
    static const char *const env[] = {"NEVER_ENTER=1", NULL};
    struct mcpi_process_options opt = kept_self(NULL);
    int before = count_descriptors();
    struct mcpi_process process;

    (void)state;
    opt.out = -1;
    opt.env = env;
    opt.cancel = cancel_at_once();
    opt.has_cancel = true;
    assert_int_equal(mcpi_process_spawn(&process, &opt, NULL), MCP_E_CANCELED);
    close(opt.cancel);
    assert_false(has_children());
    assert_int_equal(count_descriptors(), before);
}

/* ---- deaths ---------------------------------------------------------------------- */

/* By a hand that is not ours: what it kept goes with it, and is not told of. */
static void
assert_dies_with_keeper(struct mcpi_process_options opt)
{
    struct mcpi_process process;
    struct report report;

    start_with(&process, opt, &report);
    assert_string_equal(report_line(&report), "up");
    syscall(SYS_kill, process.pid, SIGKILL);
    assert_string_equal(report_rest(&report), "");
    await_poll(&process);
    assert_false(process.ended);
    assert_int_equal(process.wait_status, MCPI_WAIT_UNKNOWN);
    done(&process);
}

static void
M22_what_is_kept_dies_with_its_keeper(void **state)
{
    (void)state;
    assert_dies_with_keeper(kept_command(HELPER("ignore:15", "say:up", "hang")));
    assert_dies_with_keeper(kept_self(WORDS("ignore:15", "say:up", "hang")));
}

static void
a_keeper_that_is_told_to_end_ends_all(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    struct mcpi_process process;
    struct report report;

    (void)state;
    for (int i = 0; i < 3; i++) {
        start(&process, HELPER(DAEMON, "hang"), &report);
        assert_string_equal(report_line(&report), "in");
        syscall(SYS_kill, process.pid, signals[i]);
        assert_string_equal(report_rest(&report), "");
        await_poll(&process);
        done_killed(&process);
    }
}

enum { PLAIN = 0, HOLDER = 1, STOPPED = 2, AWAY = 4 };

/* A process that starts a tree, and lives until it is killed. HOLDER: it forks one
 * more, who has all of its descriptors; `lives` is told that one's number. STOPPED: its
 * keeper was stopped. AWAY: it never comes to be one. */
static _Noreturn void
middle_run(const struct report *report, const struct report *lives, int how)
{
    static const char *const away[] = {"NEVER_ENTER=1", NULL};
    struct mcpi_process_options opt = kept_command(HELPER(DAEMON, "hang"));
    struct mcpi_process process;
    pid_t pid = 0;

    alarm(HELPER_SECONDS);
    if (how & AWAY) {
        opt.env = away;
        opt.start_us = -1;
    }
    opt.out = -1;
    opt.err = report->end;
    opt.own_err = true;
    if (mcpi_process_spawn(&process, &opt, NULL) < 0)
        _exit(1);
    close(report->end);
    if (how & STOPPED) {
        syscall(SYS_kill, process.pid, SIGSTOP);
        waitpid(process.pid, NULL, WUNTRACED);
    }
    if (how & HOLDER)
        pid = fork();
    if ((how & HOLDER) && pid == 0) {
        alarm(HELPER_SECONDS);
        helper_hang();
    }
    dprintf(lives->end, "%ld\n", (long)pid);
    for (;;)
        helper_hang();
}

static void
assert_ends_with_us(int how)
{
    struct report report = report_open();
    struct report lives = report_open();
    pid_t pid = fork();
    pid_t held;

    assert_true(pid >= 0);
    if (pid == 0)
        middle_run(&report, &lives, how);
    report_given(&report);
    report_given(&lives);
    held = (pid_t)strtol(report_line(&lives), NULL, 10);
    if (!(how & AWAY))
        assert_string_equal(report_line(&report), "in");
    syscall(SYS_kill, pid, SIGKILL);
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(held > 1, (how & HOLDER) != 0);
    if (how & HOLDER) {
        assert_true(report_is_held(&lives));
        syscall(SYS_kill, held, SIGKILL);
    }
    assert_string_equal(report_rest(&lives), "");
}

static void
M22_everybody_ends_when_we_die(void **state)
{
    (void)state;
    assert_ends_with_us(PLAIN);
}

static void
M22_also_if_somebody_forked_off_from_us_lives(void **state)
{
    (void)state;
    assert_ends_with_us(HOLDER);
}

static void
M22_also_if_the_keeper_was_stopped(void **state)
{
    (void)state;
    assert_ends_with_us(STOPPED);
    assert_ends_with_us(STOPPED | HOLDER);
}

static void
M22_also_if_the_keeper_never_came_to_be_one(void **state)
{
    (void)state;
    assert_ends_with_us(AWAY | HOLDER);
}

/* It has heard what came before, and has not ended what it keeps for it. */
static void
assert_goes_on(struct mcpi_process *process, struct report *report)
{
    assert_int_equal(mcpi_process_signal(process, SIGTERM), 0);
    assert_string_equal(report_rest(report), "term\n");
    await_poll(process);
    assert_int_equal(WEXITSTATUS(process->wait_status), 3);
    done(process);
}

static void
M22_a_keeper_that_is_only_continued_goes_on(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("catch:15", "say:up", "hang"), &report);
    assert_string_equal(report_line(&report), "up");
    syscall(SYS_kill, process.pid, SIGSTOP);
    syscall(SYS_kill, process.pid, SIGCONT);
    assert_goes_on(&process, &report);
}

struct starter {
    struct mcpi_process_options opt;
    struct mcpi_process process;
    int status;
};

static void *
start_and_end(void *user)
{
    struct starter *starter = user;

    starter->status = mcpi_process_spawn(&starter->process, &starter->opt, NULL);
    return NULL;
}

static void
M22_one_whose_thread_has_ended_goes_on(void **state)
{
    struct report report = report_open();
    struct starter starter = {
        .opt = kept_command(HELPER("catch:15", "say:up", "hang"))};
    pthread_t thread;

    (void)state;
    kill_reset();
    starter.opt.out = -1;
    starter.opt.err = report.end;
    starter.opt.own_err = true;
    assert_int_equal(pthread_create(&thread, NULL, start_and_end, &starter), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(starter.status, 0);
    report_given(&report);
    assert_string_equal(report_line(&report), "up");
    assert_goes_on(&starter.process, &report);
}

static void
M22_a_control_that_is_closed_is_enough(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER(DAEMON, "hang"), &report);
    assert_string_equal(report_line(&report), "in");
    close(process.control);
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(waitpid(process.pid, NULL, 0), process.pid);
    close(process.pidfd);
}

/* ---- the program around us ------------------------------------------------------- */

static void
M11_how_it_ended_is_known_also_if_the_host_waits_for_it(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    start(&process, HELPER("exit:6"), &report);
    for (int i = 0; i < AWAIT_MS && !mcpi_process_poll(&process); i++)
        poll(NULL, 0, 1);
    assert_true(process.exited && process.reaped && process.ended);
    assert_int_equal(WEXITSTATUS(process.wait_status), 6);
    done(&process);
    assert_string_equal(report_rest(&report), "");
    start(&process, HELPER(DAEMON, "hang"), &report);
    assert_string_equal(report_line(&report), "in");
    done_killed(&process);
    assert_string_equal(report_rest(&report), "");
    signal(SIGCHLD, SIG_DFL);
}

static void
M11_others_are_not_waited_for(void **state)
{
    pid_t other = fork();
    struct mcpi_process process;
    struct report report;
    int status;

    (void)state;
    if (other == 0)
        _exit(9);
    start(&process, HELPER("exit:0"), &report);
    assert_string_equal(report_rest(&report), "");
    await_poll(&process);
    assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 9);
    assert_false(has_children());
}

/* ---- when it cannot be started --------------------------------------------------- */

/* The same as for one that is not kept, and nothing is left. */
static void
assert_fails_alike(struct mcpi_process_options opt)
{
    int before = count_descriptors();
    struct mcpi_process process = {.pid = 0, .pidfd = -1, .control = -1};
    mcp_error plain, kept;

    opt.in = opt.out = -1;
    opt.kept = MCPI_NOT_KEPT;
    assert_int_equal(mcpi_process_spawn(&process, &opt, &plain), MCP_E_INVAL);
    opt.kept = MCPI_KEPT_COMMAND;
    assert_int_equal(mcpi_process_spawn(&process, &opt, &kept), MCP_E_INVAL);
    assert_int_equal(kept.status, MCP_E_INVAL);
    assert_string_equal(kept.message, plain.message);
    assert_int_equal(mcpi_process_spawn(&process, &opt, NULL), MCP_E_INVAL);
    assert_int_equal(process.pid, 0);
    assert_int_equal(count_descriptors(), before);
    assert_false(has_children());
}

static void
M11_what_cannot_run_is_told_as_ever(void **state)
{
    static const char *const bad[] = {"MCP_A", NULL};
    char name[2000];

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_fails_alike((struct mcpi_process_options){.argv = NULL});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS(NULL)});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS("")});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS(name)});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS("mcp-no-such")});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS("/proc/none/x")});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS("/proc/version")});
    assert_fails_alike((struct mcpi_process_options){.argv = WORDS("/")});
    assert_fails_alike(
        (struct mcpi_process_options){.argv = WORDS("true"), .cwd = "/proc/none"});
    assert_fails_alike(
        (struct mcpi_process_options){.argv = WORDS("true"), .env = bad});
}

static void
spawn_with_memory(struct test_mem *mem, void *user)
{
    struct mcpi_process_options opt = *(const struct mcpi_process_options *)user;
    struct mcpi_process process;
    int r;

    opt.mem = &mem->allocator;
    opt.out = -1;
    r = mcpi_process_spawn(&process, &opt, NULL);
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    if (r == 0)
        assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    assert_false(has_children());
}

static void
M11_each_allocation_may_fail(void **state)
{
    struct mcpi_process_options opt = kept_command(HELPER("hang"));

    (void)state;
    assert_int_equal(test_each_allocation_fails(spawn_with_memory, &opt), 3);
    opt = kept_self(WORDS("hang"));
    assert_int_equal(test_each_allocation_fails(spawn_with_memory, &opt), 3);
}

/* How it went with no more than so many descriptors, here and in the keeper. */
static int
spawn_with_limit(const struct mcpi_process_options *opt, rlim_t limit)
{
    struct mcpi_process process;
    struct rlimit before, low;
    int r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    r = mcpi_process_spawn(&process, opt, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (r == 0)
        assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    return r;
}

static void
M11_without_descriptors_nothing_is_left(void **state)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct mcpi_process_options opt = kept_command(argv);
    int before = count_descriptors();
    int failures = 0, r = MCP_E_LIMIT;

    (void)state;
    opt.out = -1;
    for (rlim_t limit = 0; r != 0 && limit < 1000; limit++) {
        r = spawn_with_limit(&opt, limit);
        assert_false(has_children());
        assert_int_equal(count_descriptors(), before);
        if (r != 0) {
            assert_int_equal(r, MCP_E_LIMIT);
            failures++;
        }
    }
    assert_int_equal(r, 0);
    assert_true(failures >= 3);
}

static void
M11_a_program_that_does_not_come_to_it_is_not_waited_for(void **state)
{
    static const char *const env[] = {"NEVER_ENTER=1", NULL};
    struct mcpi_process_options opt = kept_self(NULL);
    int before = count_descriptors();
    struct mcpi_process process;
    mcp_error err;

    (void)state;
    opt.out = -1;
    opt.env = env;
    opt.start_us = 50000;
    assert_int_equal(mcpi_process_spawn(&process, &opt, &err), MCP_E_TIMEOUT);
    assert_string_equal(err.message, "the program does not come to mcp_isolated_enter");
    assert_false(has_children());
    assert_int_equal(count_descriptors(), before);
}

/* Then it ends as what it is. */
static void
M11_its_begin_need_not_be_waited_for(void **state)
{
    static const char *const env[] = {"NEVER_ENTER=1", NULL};
    struct mcpi_process_options opt = kept_self(WORDS("exit:3"));
    struct mcpi_process process;
    struct report report;

    (void)state;
    opt.start_us = -1;
    start_with(&process, opt, &report);
    await_poll(&process);
    assert_true(process.begun && process.ended);
    assert_int_equal(WEXITSTATUS(process.wait_status), 3);
    done(&process);
    assert_string_equal(report_rest(&report), "");
    opt.env = env;
    start_with(&process, opt, &report);
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), 0);
    await_poll(&process);
    assert_false(process.begun || process.ended);
    assert_int_equal(WTERMSIG(process.wait_status), SIGKILL);
    done(&process);
    assert_string_equal(report_rest(&report), "");
    start_with(&process, opt, &report);
    done(&process);
    assert_string_equal(report_rest(&report), "");
}

TEST_MAIN_AFTER(
    enter, TEST(its_status_is_that_of_the_first_one),
    TEST(M3_it_leads_its_own_session_below_its_keeper),
    TEST(M13_a_command_gets_its_descriptors_and_no_others),
    TEST(M13_self_gets_its_words_and_its_descriptor), TEST(self_needs_no_words),
    TEST(M21_its_signals_are_the_defaults), TEST(only_self_cannot_become_another_user),
    TEST(its_environment_and_folder_are_as_asked_for),
    TEST(M13_the_keeper_has_nothing_of_ours),
    TEST(nobody_below_can_take_hold_of_the_keeper), TEST(it_is_seen_as_what_it_is),
    TEST(it_cannot_be_started_by_hand), TEST(M4_a_daemon_goes_when_the_first_one_ends),
    TEST(M1_done_ends_everybody), TEST(M4_a_kill_ends_everybody_without_a_wait),
    TEST(M4_a_signal_goes_to_everybody), TEST(M1_what_was_signaled_has_its_time),
    TEST(M4_who_forks_and_exits_all_the_time_is_outrun),
    TEST(M4_a_keeper_below_a_keeper), TEST(M1_one_that_does_not_end_is_given_up),
    TEST(M4_a_keeper_that_was_stopped_ends_all),
    TEST(M4_one_whose_begin_was_not_seen_ends_all),
    TEST(M4_a_keeper_that_is_stopped_at_its_begin_ends_all),
    TEST(M4_a_keeper_that_is_stopped_again_ends_all),
    TEST(a_cancel_ends_the_wait_for_its_begin),
    TEST(M11_its_begin_need_not_be_waited_for),
    TEST(M22_what_is_kept_dies_with_its_keeper),
    TEST(a_keeper_that_is_told_to_end_ends_all), TEST(M22_everybody_ends_when_we_die),
    TEST(M22_also_if_somebody_forked_off_from_us_lives),
    TEST(M22_also_if_the_keeper_was_stopped),
    TEST(M22_also_if_the_keeper_never_came_to_be_one),
    TEST(M22_a_keeper_that_is_only_continued_goes_on),
    TEST(M22_one_whose_thread_has_ended_goes_on),
    TEST(M22_a_control_that_is_closed_is_enough),
    TEST(M11_how_it_ended_is_known_also_if_the_host_waits_for_it),
    TEST(M11_others_are_not_waited_for), TEST(M11_what_cannot_run_is_told_as_ever),
    TEST(M11_each_allocation_may_fail), TEST(M11_without_descriptors_nothing_is_left),
    TEST(M11_a_program_that_does_not_come_to_it_is_not_waited_for))
