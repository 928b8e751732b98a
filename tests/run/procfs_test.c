/* procfs_test.c - reading /proc: numbers in a folder, the status of a process */
#include "run/procfs.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

#define MANY 300 /* more than fit into one read of a folder */

static bool
folder_has(const char *folder, long wanted)
{
    struct mcpi_procfs procfs;
    bool found = false;
    long number;

    assert_int_equal(mcpi_procfs_open(&procfs, folder), 0);
    for (number = mcpi_procfs_next(&procfs); number >= 0;
         number = mcpi_procfs_next(&procfs))
        found = found || number == wanted;
    assert_int_equal(number, -1);
    mcpi_procfs_close(&procfs);
    return found;
}

static void
the_numbers_of_a_folder(void **state)
{
    (void)state;
    assert_true(folder_has("/proc", getpid()));
    assert_true(folder_has("/proc/self/fd", 0));
    assert_false(folder_has("/proc/self/fd", 1000000));
}

static void
all_of_a_large_folder(void **state)
{
    int fds[MANY];
    int found = 0;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_true(fds[i] >= 0);
    }
    for (int i = 0; i < MANY; i += 50)
        found += folder_has("/proc/self/fd", fds[i]);
    assert_int_equal(found, MANY / 50);
    assert_true(folder_has("/proc/self/fd", fds[MANY - 1]));
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
}

/* In a pid namespace with the /proc of the one around it. Without root that takes a user
 * namespace as well. */
static int
check_foreign(void)
{
    int status;
    pid_t pid;

    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
        return 77;
    pid = fork();
    if (pid == 0)
        _exit(mcpi_procfs_is_ours() ? 1 : 0);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

static void
the_numbers_of_another_namespace_are_not_ours(void **state)
{
    pid_t pid = fork();
    int status;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(check_foreign());
    assert_true(mcpi_procfs_is_ours());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        test_skip("not allowed here");
    assert_int_equal(status, 0);
}

static void
a_folder_that_is_not_there(void **state)
{
    struct mcpi_procfs procfs;
    struct mcpi_procfs_stat stat;
    struct rlimit before, none;
    int r, s;

    (void)state;
    assert_int_equal(mcpi_procfs_open(&procfs, "/proc/none"), MCP_E_STATE);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    r = mcpi_procfs_open(&procfs, "/proc");
    s = mcpi_procfs_stat(getpid(), &stat);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(r, MCP_E_LIMIT);
    assert_int_equal(s, MCP_E_LIMIT);
}

static void
the_status_of_ourselves(void **state)
{
    struct mcpi_procfs_stat stat;

    (void)state;
    assert_int_equal(mcpi_procfs_stat(getpid(), &stat), 0);
    assert_int_equal(stat.pid, getpid());
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.parent, getppid());
    assert_int_equal(stat.group, getpgrp());
    assert_int_equal(stat.session, getsid(0));
    assert_false(stat.flags & MCPI_PROCFS_FORKED);
}

static void
a_fork_and_a_zombie_are_seen(void **state)
{
    struct mcpi_procfs_stat stat;
    siginfo_t info;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        pause();
        _exit(0);
    }
    assert_int_equal(mcpi_procfs_stat(pid, &stat), 0);
    assert_int_equal(stat.parent, getpid());
    assert_true(stat.flags & MCPI_PROCFS_FORKED);
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(mcpi_procfs_stat(pid, &stat), 0);
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(mcpi_procfs_stat(pid, &stat), MCP_E_CLOSED);
    assert_int_equal(mcpi_procfs_stat(0, &stat), MCP_E_CLOSED);
    assert_int_equal(mcpi_procfs_stat(-1, &stat), MCP_E_CLOSED);
}

static void
a_name_cannot_forge_a_status(void **state)
{
    struct mcpi_procfs_stat stat;
    char name[16];

    (void)state;
    assert_int_equal(prctl(PR_GET_NAME, name, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_NAME, "a) Z 1 2 3 (b", 0, 0, 0), 0);
    assert_int_equal(mcpi_procfs_stat(getpid(), &stat), 0);
    assert_int_equal(prctl(PR_SET_NAME, name, 0, 0, 0), 0);
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.group, getpgrp());
}

static void
a_line_is_read(void **state)
{
    const char *line = "4194304 (a b) S 55 77 66 34816 -1 4194368 1 2 3";
    struct mcpi_procfs_stat stat;

    (void)state;
    assert_int_equal(mcpi_procfs_read_stat(line, strlen(line), &stat), 0);
    assert_int_equal(stat.pid, 4194304);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.parent, 55);
    assert_int_equal(stat.group, 77);
    assert_int_equal(stat.session, 66);
    assert_int_equal(stat.flags, 4194368);
}

static void
what_is_no_line_is_refused(void **state)
{
    static const char *const lines[] = {
        "",
        "7",
        "7 ",
        "7 (a",
        "7 a) S 1 2 3 4 5 6",
        "(a) S 1 2 3 4 5 6",
        "x (a) S 1 2 3 4 5 6",
        "7 (a)",
        "7 (a) ",
        "7 (a) S",
        "7 (a) S 1 2 3 4 5",
        "7 (a) S 1 2 3 4 x 6",
        "7 (a) S 1 2 3 4 - 6",
        "7 (a) S 1  2 3 4 5 6",
        "7 (a) SS 1 2 3 4 5 6",
        "7 (a) S 1 99999999999999999999 3 4 5 6",
    };
    struct mcpi_procfs_stat stat;

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_int_equal(mcpi_procfs_read_stat(lines[i], strlen(lines[i]), &stat),
                         MCP_E_SYNTAX);
}

static void
a_line_that_is_cut_does_no_harm(void **state)
{
    char line[4096] = "7 (";
    struct mcpi_procfs_stat stat;

    (void)state;
    memset(line + 3, ')', sizeof line - 3);
    assert_int_equal(mcpi_procfs_read_stat(line, sizeof line, &stat), MCP_E_SYNTAX);
}

TEST_MAIN(TEST(the_numbers_of_a_folder), TEST(all_of_a_large_folder),
          TEST(the_numbers_of_another_namespace_are_not_ours),
          TEST(a_folder_that_is_not_there), TEST(the_status_of_ourselves),
          TEST(a_fork_and_a_zombie_are_seen), TEST(a_name_cannot_forge_a_status),
          TEST(a_line_is_read), TEST(what_is_no_line_is_refused),
          TEST(a_line_that_is_cut_does_no_harm))
