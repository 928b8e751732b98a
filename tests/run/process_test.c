/* process_test.c - a process: its exit, its group, and that it is reaped once */
#include "run/process.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "run/process_fixture.h"

#define NOBODY 65534

static void
start(struct mcpi_process *process, const char *const *argv, struct report *report)
{
    struct mcpi_process_options opt = {
        .argv = argv, .in = -1, .out = -1, .own_err = true};
    mcp_error err;

    kill_reset();
    *report = report_open();
    opt.err = report->end;
    if (mcpi_process_spawn(process, &opt, &err) < 0)
        fail_msg("%s", err.message);
    report_given(report);
    assert_true(process->pid > 1);
    assert_true(process->pidfd >= 0 || process->reaped); /* by a host that was faster */
}

static void
await_poll(struct mcpi_process *process)
{
    struct pollfd watched = {.fd = process->pidfd, .events = POLLIN};

    assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
    assert_true(mcpi_process_poll(process));
}

/* Bounded: what was killed takes a moment to die. */
static void
await_group_gone(struct mcpi_process *process)
{
    for (int i = 0; i < AWAIT_MS && mcpi_process_group_lives(process); i++)
        poll(NULL, 0, 1);
    assert_false(mcpi_process_group_lives(process));
}

/* ---- the leader ------------------------------------------------------------------ */

static int
status_after(const char *const *argv)
{
    struct mcpi_process process;
    struct report report;

    start(&process, argv, &report);
    await_poll(&process);
    assert_true(mcpi_process_poll(&process));
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(kill_count, 0);
    return process.wait_status;
}

static void
its_status_is_as_waitpid_gives_it(void **state)
{
    int status = status_after(HELPER("exit:7"));

    (void)state;
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    status = status_after(HELPER("raise:15"));
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
    assert_int_equal(status_after(HELPER("exit:0")), 0);
    assert_false(WIFEXITED(MCPI_WAIT_UNKNOWN) || WIFSIGNALED(MCPI_WAIT_UNKNOWN) ||
                 WIFSTOPPED(MCPI_WAIT_UNKNOWN));
}

static void
polling_does_not_reap(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("byte", "say:x", "exit:0"), &report);
    await_poll(&process);
    assert_false(process.reaped);
    assert_true(has_children());
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_true(process.reaped);
    assert_int_equal(process.pid, 0);
    assert_int_equal(process.pidfd, -1);
    assert_false(has_children());
    assert_string_equal(report_rest(&report), "x\n");
}

static void
a_failed_start_changes_nothing(void **state)
{
    static const char *const argv[] = {"/proc/none", NULL};
    struct mcpi_process_options opt = {.argv = argv, .in = -1, .out = -1};
    struct mcpi_process process = {.pid = 0, .pidfd = -1, .control = -1};
    mcp_error err;

    (void)state;
    assert_int_equal(mcpi_process_spawn(&process, &opt, &err), MCP_E_INVAL);
    assert_int_equal(process.pid, 0);
    assert_false(mcpi_process_poll(&process));
    assert_false(mcpi_process_group_lives(&process));
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), MCP_E_CLOSED);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_false(has_children());
}

/* This program did not make ready for it. */
static void
without_a_keeper_nothing_is_kept(void **state)
{
    struct mcpi_process_options opt = {.argv = HELPER("exit:0"), .in = -1, .out = -1};
    struct mcpi_process process = {.pid = 0, .pidfd = -1, .control = -1};
    mcp_error err;

    (void)state;
    for (int kept = MCPI_KEPT_COMMAND; kept <= MCPI_KEPT_SELF; kept++) {
        opt.kept = (enum mcpi_keeping)kept;
        assert_int_equal(mcpi_process_spawn(&process, &opt, &err), MCP_E_STATE);
        assert_non_null(strstr(err.message, "mcp_isolated_enter"));
        assert_int_equal(process.pid, 0);
    }
    assert_false(has_children());
}

/* So that nobody takes its keeper for one. */
static void
what_is_not_kept_has_no_control(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("exit:0"), &report);
    assert_int_equal(process.control, -1);
    await_poll(&process);
    assert_false(process.ended);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_int_equal(process.control, -1);
    assert_string_equal(report_rest(&report), "");
}

static void
M1_done_kills_what_runs(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("ignore:15", "{", "hang", "}", "say:up", "hang"), &report);
    assert_string_equal(report_line(&report), "up");
    assert_false(mcpi_process_poll(&process));
    assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    assert_true(WIFSIGNALED(process.wait_status));
    assert_int_equal(WTERMSIG(process.wait_status), SIGKILL);
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(kill_count, 1);
    assert_false(has_children());
}

static void
M1_one_that_does_not_die_is_given_up(void **state)
{
    struct mcpi_process process;
    struct report report;
    pid_t pid;

    (void)state;
    start(&process, HELPER("hang"), &report);
    pid = process.pid;
    kill_mode = KILL_SWALLOW;
    assert_int_equal(mcpi_process_done(&process, 2000), MCP_E_TIMEOUT);
    assert_int_equal(process.pidfd, -1);
    kill_reset();
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_string_equal(report_rest(&report), "");
}

/* ---- the group ------------------------------------------------------------------- */

static void
M4_a_signal_goes_to_the_whole_group(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("{", "{", "say:in", "hang", "}", "hang", "}", "hang"),
          &report);
    assert_string_equal(report_line(&report), "in");
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), 0);
    assert_string_equal(report_rest(&report), "");
    await_poll(&process);
    await_group_gone(&process);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_int_equal(kill_count, 1);
}

static void
M4_also_when_the_leader_is_dead(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("{", "say:in", "hang", "}", "exit:0"), &report);
    assert_string_equal(report_line(&report), "in");
    await_poll(&process);
    assert_true(mcpi_process_group_lives(&process));
    assert_true(mcpi_process_group_lives(&process)); /* by its witness */
    assert_false(process.reaped);
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), 0);
    assert_string_equal(report_rest(&report), "");
    await_group_gone(&process);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
}

static void
M4_a_witness_that_is_gone_is_not_the_last(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process,
          HELPER("{", "say:1", "hang", "}", "{", "say:2", "hang", "}", "exit:0"),
          &report);
    (void)report_line(&report);
    (void)report_line(&report);
    await_poll(&process);
    assert_true(mcpi_process_group_lives(&process));
    assert_true(process.witness > 0 && process.witness != process.pid);
    syscall(SYS_kill, process.witness, SIGKILL);
    for (int i = 0; i < AWAIT_MS; i++) {
        pid_t before = process.witness;

        assert_true(mcpi_process_group_lives(&process));
        if (process.witness != before)
            break;
        poll(NULL, 0, 1);
    }
    assert_true(report_is_held(&report));
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_string_equal(report_rest(&report), "");
}

static void
M10_an_empty_group_is_never_signaled_again(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    start(&process, HELPER("exit:0"), &report);
    await_poll(&process);
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), MCP_E_CLOSED);
    assert_true(process.group_gone);
    assert_true(process.reaped);
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), MCP_E_CLOSED);
    assert_false(mcpi_process_group_lives(&process));
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), MCP_E_CLOSED);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_int_equal(kill_count, 0);
    assert_string_equal(report_rest(&report), "");
}

/* Dead ones whose parent has left the group and does not wait for them. */
static void
M10_zombies_are_nobody(void **state)
{
    struct mcpi_process process;
    struct report report;
    long stranger;

    (void)state;
    start(&process,
          HELPER("{", "{", "exit:0", "}", "session", "ids", "hang", "}", "exit:0"),
          &report);
    stranger = strtol(report_line(&report), NULL, 10);
    await_poll(&process);
    await_group_gone(&process);
    assert_true(process.reaped);
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), MCP_E_CLOSED);
    assert_int_equal(kill_count, 0);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_true(report_is_held(&report)); /* a session of its own is its own */
    assert_true(stranger > 1);
    syscall(SYS_kill, stranger, SIGKILL);
    assert_string_equal(report_rest(&report), "");
}

static void
M9_not_allowed_is_not_gone(void **state)
{
    struct mcpi_process process;
    struct report report;
    int r;

    (void)state;
    start(&process, HELPER("{", "say:in", "hang", "}", "hang"), &report);
    assert_string_equal(report_line(&report), "in");
    kill_mode = KILL_REFUSE;
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), MCP_E_STATE);
    assert_false(process.group_gone);
    kill_reset();
    if (geteuid() == 0) { /* and with a kernel that refuses */
        assert_int_equal(setresuid(NOBODY, NOBODY, 0), 0);
        r = mcpi_process_signal(&process, SIGTERM);
        assert_int_equal(setresuid(0, 0, 0), 0);
        assert_int_equal(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), 0);
        assert_int_equal(r, MCP_E_STATE);
    }
    assert_true(mcpi_process_group_lives(&process));
    assert_int_equal(mcpi_process_signal(&process, SIGKILL), 0);
    assert_string_equal(report_rest(&report), "");
    await_poll(&process);
    await_group_gone(&process);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
}

/* ---- without a useful /proc ---------------------------------------------------- */

static bool
lives_without_descriptors(struct mcpi_process *process)
{
    struct rlimit before, none;
    bool lives;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    lives = mcpi_process_group_lives(process);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    return lives;
}

static void
M4_without_a_look_at_proc_the_kernel_is_asked(void **state)
{
    struct mcpi_process process;
    struct report report;

    (void)state;
    /* who is left falls to us, so that its end does not depend on who else would wait */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    start(&process, HELPER("{", "say:in", "hang", "}", "exit:0"), &report);
    assert_string_equal(report_line(&report), "in");
    await_poll(&process);
    assert_true(lives_without_descriptors(&process));
    assert_true(process.reaped); /* the group holds the number */
    assert_true(mcpi_process_group_lives(&process));
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), 0);
    assert_string_equal(report_rest(&report), "");
    assert_true(wait(NULL) > 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    assert_false(lives_without_descriptors(&process));
    assert_true(process.group_gone);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
}

/* In a namespace of pids, whose numbers can be given out again at will. */

static int
recycle(pid_t number)
{
    char text[16];
    pid_t pid;
    int ready[2];
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    int n = snprintf(text, sizeof text, "%ld", (long)number - 1);

    if (fd < 0 || write(fd, text, (size_t)n) != n)
        return -1;
    close(fd);
    if (pipe2(ready, O_CLOEXEC) != 0)
        return -1;
    pid = fork();
    if (pid == 0) { /* a group of two */
        setsid();
        if (fork() > 0 && write(ready[1], "x", 1) == 1)
            waitpid(-1, NULL, 0);
        helper_hang();
    }
    return pid == number && read(ready[0], text, 1) == 1 ? 0 : -1;
}

/* The number belongs to somebody else's group now, and ours is buried by us or by the
 * host. */
static int
check_recycled(bool own_proc, bool host_reaps)
{
    struct mcpi_process_options opt = {.argv = HELPER("exit:0"), .in = -1, .out = -1};
    struct mcpi_process process;
    struct pollfd watched = {.events = POLLIN};
    pid_t number;
    int status;

    if (own_proc && (unshare(CLONE_NEWNS) != 0 ||
                     mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
                     mount("proc", "/proc", "proc", 0, NULL) != 0))
        return IN_FORK_SKIP;
    IN_FORK_CHECK(mcpi_process_spawn(&process, &opt, NULL) == 0);
    number = process.pid;
    watched.fd = process.pidfd;
    IN_FORK_CHECK(poll(&watched, 1, AWAIT_MS) == 1);
    if (host_reaps)
        IN_FORK_CHECK(waitpid(number, NULL, 0) == number);
    else
        IN_FORK_CHECK(!mcpi_process_group_lives(&process) && process.reaped);
    if (recycle(number) != 0)
        return IN_FORK_SKIP;
    kill_reset();
    IN_FORK_CHECK(mcpi_process_signal(&process, SIGKILL) == MCP_E_CLOSED);
    IN_FORK_CHECK(mcpi_process_done(&process, 0) == 0);
    IN_FORK_CHECK(kill_count == 0);
    IN_FORK_CHECK(waitpid(number, &status, WNOHANG) == 0); /* nobody else's child */
    IN_FORK_CHECK(syscall(SYS_kill, -number, SIGKILL) == 0);
    IN_FORK_CHECK(waitpid(number, &status, 0) == number);
    return 0;
}

/* The first process of a new namespace does the check. */
static int
check_in_namespace(int (*check)(void))
{
    int status;
    pid_t pid;

    if (unshare(CLONE_NEWPID) != 0)
        return IN_FORK_SKIP;
    pid = fork();
    if (pid == 0)
        _exit(check());
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : 1;
}

static int
recycled_in_own_proc(void)
{
    return check_recycled(true, false);
}

static int
recycled_after_host_in_own_proc(void)
{
    return check_recycled(true, true);
}

static int
recycled_in_foreign_proc(void)
{
    return check_recycled(false, false);
}

static int
check_all_recycled(void)
{
    static int (*const checks[])(void) = {recycled_in_own_proc,
                                          recycled_after_host_in_own_proc,
                                          recycled_in_foreign_proc};
    int status;
    pid_t pid;

    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        pid = fork();
        if (pid == 0)
            _exit(check_in_namespace(checks[i]));
        IN_FORK_CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        if (WEXITSTATUS(status) != 0)
            return WEXITSTATUS(status);
    }
    return 0;
}

static void
M10_a_number_that_somebody_else_has_got_is_not_signaled(void **state)
{
    (void)state;
    in_fork(check_all_recycled);
}

/* ---- the program around us ----------------------------------------------------- */

static void
M11_each_is_reaped_once_and_nobody_elses_child(void **state)
{
    struct mcpi_process process[3];
    struct report report[3];
    pid_t other = fork();
    int status;

    (void)state;
    assert_true(other >= 0);
    if (other == 0)
        _exit(9);
    await_exit(other);
    for (int i = 0; i < 3; i++)
        start(&process[i], HELPER("exit:1"), &report[i]);
    for (int i = 2; i >= 0; i--) {
        pid_t pid = process[i].pid;

        await_poll(&process[i]);
        assert_int_equal(mcpi_process_done(&process[i], 0), 0);
        assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
        assert_string_equal(report_rest(&report[i]), "");
    }
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(WEXITSTATUS(status), 9);
    assert_false(has_children());
}

/* Both hosts that take our exit status from us. */
static atomic_int host_waits;

static void
host_wait_for_all(int signal)
{
    int error = errno;

    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        atomic_fetch_add(&host_waits, 1);
    errno = error;
}

static void
assert_lives_with_host(void)
{
    struct mcpi_process process;
    struct report report;

    /* somebody of the group is left */
    start(&process, HELPER("{", "say:in", "hang", "}", "exit:5"), &report);
    assert_string_equal(report_line(&report), "in");
    await_no_children();
    assert_true(mcpi_process_poll(&process));
    assert_int_equal(process.wait_status, MCPI_WAIT_UNKNOWN);
    assert_true(process.reaped);
    assert_true(mcpi_process_group_lives(&process));
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), 0);
    assert_string_equal(report_rest(&report), "");
    await_group_gone(&process);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_int_equal(kill_count, 1);

    /* nobody is left */
    start(&process, HELPER("byte", "exit:5"), &report);
    await_no_children();
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), MCP_E_CLOSED);
    assert_int_equal(mcpi_process_signal(&process, SIGTERM), MCP_E_CLOSED);
    assert_int_equal(mcpi_process_done(&process, 0), 0);
    assert_int_equal(kill_count, 0);
    assert_string_equal(report_rest(&report), "");

    /* it dies while we wait for it */
    start(&process, HELPER("hang"), &report);
    assert_int_equal(mcpi_process_done(&process, AWAIT_US), 0);
    assert_string_equal(report_rest(&report), "");
    assert_false(has_children());
}

static void
M11_a_host_that_ignores_SIGCHLD(void **state)
{
    struct sigaction now;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    assert_lives_with_host();
    sigaction(SIGCHLD, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
}

static void
M11_a_host_that_waits_for_every_child(void **state)
{
    struct sigaction all = {.sa_handler = host_wait_for_all};
    struct sigaction now;

    (void)state;
    atomic_store(&host_waits, 0);
    assert_int_equal(sigaction(SIGCHLD, &all, NULL), 0); /* no SA_RESTART: EINTR too */
    assert_lives_with_host();
    sigaction(SIGCHLD, NULL, &now);
    assert_true(now.sa_handler == host_wait_for_all);
    assert_true(atomic_load(&host_waits) > 0);
    signal(SIGCHLD, SIG_DFL);
}

PROCESS_TEST_MAIN(TEST(its_status_is_as_waitpid_gives_it), TEST(polling_does_not_reap),
                  TEST(a_failed_start_changes_nothing),
                  TEST(without_a_keeper_nothing_is_kept),
                  TEST(what_is_not_kept_has_no_control), TEST(M1_done_kills_what_runs),
                  TEST(M1_one_that_does_not_die_is_given_up),
                  TEST(M4_a_signal_goes_to_the_whole_group),
                  TEST(M4_also_when_the_leader_is_dead),
                  TEST(M4_a_witness_that_is_gone_is_not_the_last),
                  TEST(M10_an_empty_group_is_never_signaled_again),
                  TEST(M10_zombies_are_nobody), TEST(M9_not_allowed_is_not_gone),
                  TEST(M4_without_a_look_at_proc_the_kernel_is_asked),
                  TEST(M10_a_number_that_somebody_else_has_got_is_not_signaled),
                  TEST(M11_each_is_reaped_once_and_nobody_elses_child),
                  TEST(M11_a_host_that_ignores_SIGCHLD),
                  TEST(M11_a_host_that_waits_for_every_child))
