/* tree_test.c - all that a process has started: nobody gets away, nobody else is hit */
#include "run/tree.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "run/process_fixture.h"

#define DEPTH 12
#define MANY 150 /* their numbers are more than one read of the list */
#define UNSEEN (-2)

/* Each check is the root of a tree of its own, in a fork: `held` is a pipe whose other
 * end everybody below has. */
static int held[2];

static int
root_begin(void)
{
    IN_FORK_CHECK(pipe2(held, O_CLOEXEC) == 0);
    IN_FORK_CHECK(mcpi_tree_root() == 0);
    return 0;
}

static int
read_bytes(int count)
{
    struct pollfd watched = {.fd = held[0], .events = POLLIN};
    char byte;

    for (int i = 0; i < count; i++)
        IN_FORK_CHECK(poll(&watched, 1, AWAIT_MS) == 1 && read(held[0], &byte, 1) == 1);
    return 0;
}

/* SIGKILL until nobody is left; then nobody has the pipe. */
static int
end_all(pid_t of, int *ret_status)
{
    struct pollfd watched = {.fd = held[0], .events = POLLIN};
    char byte;
    int rounds = 0;

    while (mcpi_tree_reap(of, ret_status)) {
        IN_FORK_CHECK(rounds++ < AWAIT_MS);
        mcpi_tree_signal(SIGKILL);
        poll(NULL, 0, 1);
    }
    close(held[1]);
    while (poll(&watched, 1, AWAIT_MS) == 1 && read(held[0], &byte, 1) == 1)
        continue;
    IN_FORK_CHECK(poll(&watched, 1, 0) == 1 && read(held[0], &byte, 1) == 0);
    close(held[0]);
    IN_FORK_CHECK(!has_children());
    return 0;
}

static void
say_byte(int signal)
{
    (void)signal;
    (void)!write(held[1], "s", 1);
}

/* Once, however often it is told. */
static void
say_fence(int number)
{
    signal(number, SIG_IGN);
    (void)!write(held[1], "f", 1);
}

static _Noreturn void
stay(void)
{
    alarm(HELPER_SECONDS);
    say_byte(0);
    for (;;)
        pause();
}

/* ---- reaping ------------------------------------------------------------------ */

static int
check_nobody(void)
{
    int status = UNSEEN;

    IN_FORK_CHECK(root_begin() == 0);
    IN_FORK_CHECK(!mcpi_tree_reap(1, &status) && status == UNSEEN);
    mcpi_tree_signal(SIGKILL); /* not us */
    return end_all(1, &status);
}

static void
without_anybody_there_is_nothing_to_do(void **state)
{
    (void)state;
    in_fork(check_nobody);
}

static int
check_status(void)
{
    int status = UNSEEN;
    pid_t first, other;

    IN_FORK_CHECK(root_begin() == 0);
    first = fork();
    if (first == 0)
        stay();
    other = fork();
    if (other == 0)
        _exit(5);
    await_exit(other);
    IN_FORK_CHECK(mcpi_tree_reap(first, &status) && status == UNSEEN);
    IN_FORK_CHECK(waitpid(other, NULL, WNOHANG) == -1); /* nobody waits for it again */
    IN_FORK_CHECK(end_all(first, &status) == 0);
    IN_FORK_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return 0;
}

static void
M11_everybody_is_reaped_and_one_is_told_of(void **state)
{
    (void)state;
    in_fork(check_status);
}

/* The first one ends, its child lives in a session of its own. */
static pid_t
start_daemon(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        setsid();
        if (fork() == 0) {
            setsid();
            stay();
        }
        _exit(3);
    }
    return pid;
}

static int
check_daemon(void)
{
    int status = UNSEEN;
    pid_t first;

    IN_FORK_CHECK(root_begin() == 0);
    first = start_daemon();
    IN_FORK_CHECK(read_bytes(1) == 0);
    await_exit(first);
    IN_FORK_CHECK(mcpi_tree_reap(first, &status)); /* somebody is left */
    IN_FORK_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    return end_all(first, &status);
}

static void
M4_a_daemon_is_somebody_of_ours(void **state)
{
    (void)state;
    in_fork(check_daemon);
}

/* As clone can make one: nobody would be told of its end. */
static int
check_silent(void)
{
    int status = UNSEEN;
    pid_t silent;

    IN_FORK_CHECK(root_begin() == 0);
    silent = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
    if (silent == 0)
        stay();
    IN_FORK_CHECK(read_bytes(1) == 0);
    IN_FORK_CHECK(mcpi_tree_reap(silent, &status) && status == UNSEEN);
    IN_FORK_CHECK(end_all(silent, &status) == 0);
    IN_FORK_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return 0;
}

static void
M4_one_whose_end_is_not_signaled_is_somebody_too(void **state)
{
    (void)state;
    in_fork(check_silent);
}

/* ---- signals ------------------------------------------------------------------ */

/* A line of DEPTH, half of them in sessions of their own, and as many beside it. */
static void
start_line(void)
{
    for (int i = 0; i < DEPTH; i++) {
        if (fork() == 0)
            stay();
        if (fork() != 0)
            break;
        if (i % 2)
            setsid();
    }
}

/* How many are not fences, of what is said until so many fences were. -1: too few. */
static int
count_before_fences(int fences)
{
    struct pollfd watched = {.fd = held[0], .events = POLLIN};
    int count = 0;
    char byte;

    while (fences > 0) {
        if (poll(&watched, 1, AWAIT_MS) != 1 || read(held[0], &byte, 1) != 1)
            return -1;
        if (byte == 'f')
            fences--;
        else
            count++;
    }
    return count;
}

/* Signals of real time are counted, and taken in the order of their numbers: whoever has
 * said the fence has said all that came before, if neither interrupts the other. */
static int
check_once(void)
{
    struct sigaction counted = {.sa_handler = say_byte, .sa_flags = SA_RESTART};
    int status;

    IN_FORK_CHECK(root_begin() == 0);
    sigemptyset(&counted.sa_mask);
    sigaddset(&counted.sa_mask, SIGRTMIN + 1);
    sigaction(SIGRTMIN, &counted, NULL);
    signal(SIGRTMIN + 1, say_fence);
    if (fork() == 0) {
        start_line();
        stay();
    }
    IN_FORK_CHECK(read_bytes(2 * DEPTH + 1) == 0);
    signal(SIGRTMIN, SIG_DFL); /* it is not for us */
    signal(SIGRTMIN + 1, SIG_DFL);
    mcpi_tree_signal(SIGRTMIN);
    IN_FORK_CHECK(kill_count == 1); /* by its number only who is a child */
    mcpi_tree_signal(SIGRTMIN + 1);
    IN_FORK_CHECK(count_before_fences(2 * DEPTH + 1) == 2 * DEPTH + 1);
    return end_all(1, &status);
}

static void
M4_a_signal_reaches_everybody_below_once(void **state)
{
    (void)state;
    kill_reset();
    in_fork(check_once);
}

static int
check_many(void)
{
    int status;

    IN_FORK_CHECK(root_begin() == 0);
    for (int i = 0; i < MANY; i++) {
        if (fork() == 0)
            stay();
    }
    IN_FORK_CHECK(read_bytes(MANY) == 0);
    return end_all(1, &status);
}

static void
M4_also_if_they_are_many(void **state)
{
    (void)state;
    in_fork(check_many);
}

static int
check_chain(void)
{
    int status;

    IN_FORK_CHECK(root_begin() == 0);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            say_byte(0);
            helper_chain();
        }
    }
    IN_FORK_CHECK(read_bytes(3) == 0);
    return end_all(1, &status);
}

static void
M4_who_forks_and_exits_all_the_time_is_outrun(void **state)
{
    (void)state;
    in_fork(check_chain);
}

/* Only children can be listed: it goes from one generation to the next. */
static int
check_without_look(void)
{
    int status;

    if (!forbid((const int[]){SYS_getdents64}, 1))
        return IN_FORK_SKIP;
    IN_FORK_CHECK(root_begin() == 0);
    if (fork() == 0) {
        start_line();
        stay();
    }
    if (fork() == 0)
        helper_chain();
    IN_FORK_CHECK(read_bytes(2 * DEPTH + 1) == 0);
    return end_all(1, &status);
}

static void
M4_a_look_at_all_processes_is_not_needed_for_a_kill(void **state)
{
    (void)state;
    in_fork(check_without_look);
}

static int
check_groups(void)
{
    int status = UNSEEN;
    pid_t first;

    kill_reset();
    IN_FORK_CHECK(root_begin() == 0);
    first = fork();
    if (first == 0)
        stay();
    IN_FORK_CHECK(read_bytes(1) == 0);
    mcpi_tree_signal(SIGKILL);
    IN_FORK_CHECK(kill_groups == 0 && kill_count > 0); /* we are in that one too */
    await_exit(first);
    IN_FORK_CHECK(!mcpi_tree_reap(first, &status));
    first = start_daemon();
    IN_FORK_CHECK(read_bytes(1) == 0);
    mcpi_tree_signal(SIGTERM);
    IN_FORK_CHECK(kill_groups == 0); /* everybody would get it many times */
    mcpi_tree_signal(SIGKILL);
    IN_FORK_CHECK(kill_groups > 0);
    return end_all(first, &status);
}

static void
M4_a_kill_is_for_groups_but_never_for_our_own(void **state)
{
    (void)state;
    in_fork(check_groups);
}

/* One more of them each time, all in one group. */
static int
check_crowd(void)
{
    int status;
    pid_t pid;

    IN_FORK_CHECK(root_begin() == 0);
    pid = fork();
    if (pid == 0) {
        setsid();
        say_byte(0);
        for (int i = 0; i < 60; i++) {
            if (fork() == 0)
                i = i < 57 ? 57 : i; /* each has a few, so that there is an end to it */
        }
        stay();
    }
    IN_FORK_CHECK(read_bytes(1) == 0);
    return end_all(1, &status);
}

static void
M4_who_forks_all_the_time_is_killed_as_a_group(void **state)
{
    (void)state;
    in_fork(check_crowd);
}

/* ---- nobody else -------------------------------------------------------------- */

static int
check_stranger(void)
{
    int status;

    IN_FORK_CHECK(root_begin() == 0);
    if (fork() == 0) { /* in our own group and session, as the stranger is */
        start_line();
        stay();
    }
    IN_FORK_CHECK(read_bytes(2 * DEPTH + 1) == 0);
    mcpi_tree_signal(SIGUSR1);
    return end_all(1, &status);
}

static void
M10_who_is_not_below_is_not_signaled(void **state)
{
    int status = 0;
    pid_t pid;

    (void)state;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(HELPER_SECONDS);
        helper_hang();
    }
    in_fork(check_stranger);
    /* what was sent before, SIGUSR1 or SIGKILL, would come first */
    assert_int_equal(syscall(SYS_kill, pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGTERM);
}

/* ---- what may be missing ------------------------------------------------------ */

static int
check_without_descriptors(void)
{
    struct rlimit before, none;
    int status = UNSEEN;
    pid_t first;

    IN_FORK_CHECK(root_begin() == 0);
    first = fork();
    if (first == 0)
        stay();
    IN_FORK_CHECK(read_bytes(1) == 0);
    IN_FORK_CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    none = before;
    none.rlim_cur = 0;
    IN_FORK_CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    mcpi_tree_signal(SIGKILL);
    IN_FORK_CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    IN_FORK_CHECK(mcpi_tree_reap(first, &status) && status == UNSEEN);
    return end_all(first, &status);
}

static void
without_descriptors_the_next_time_does_it(void **state)
{
    (void)state;
    in_fork(check_without_descriptors);
}

static int
check_foreign(void)
{
    int status;
    pid_t pid;

    if (unshare(CLONE_NEWPID) != 0)
        return IN_FORK_SKIP;
    pid = fork();
    if (pid == 0)
        _exit(mcpi_tree_root() == MCP_E_STATE ? 0 : 1);
    IN_FORK_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    return 0;
}

static void
without_a_proc_of_ours_nobody_can_be_found(void **state)
{
    (void)state;
    in_fork(check_foreign);
}

TEST_MAIN(TEST(without_anybody_there_is_nothing_to_do),
          TEST(M11_everybody_is_reaped_and_one_is_told_of),
          TEST(M4_a_daemon_is_somebody_of_ours),
          TEST(M4_one_whose_end_is_not_signaled_is_somebody_too),
          TEST(M4_a_signal_reaches_everybody_below_once),
          TEST(M4_also_if_they_are_many),
          TEST(M4_who_forks_and_exits_all_the_time_is_outrun),
          TEST(M4_a_look_at_all_processes_is_not_needed_for_a_kill),
          TEST(M4_a_kill_is_for_groups_but_never_for_our_own),
          TEST(M4_who_forks_all_the_time_is_killed_as_a_group),
          TEST(M10_who_is_not_below_is_not_signaled),
          TEST(without_descriptors_the_next_time_does_it),
          TEST(without_a_proc_of_ours_nobody_can_be_found))
