/*
 * process_fixture.h - for tests of processes: a program to start, and what it reports
 *
 * The program is the test itself, with a list of things to do as arguments, which it
 * does in order (see helper_do). It reports on its stderr, in lines. Whoever it forked
 * has that descriptor too, so the end of the report says that all of them are dead.
 *
 * kill is replaced, so that a test knows which signals were sent, and can refuse them.
 */
#ifndef TESTS_RUN_PROCESS_FIXTURE_H
#define TESTS_RUN_PROCESS_FIXTURE_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "run/process.h"
#include "support/test.h"

#define HELPER_SECONDS 120 /* so that a test that failed leaves nobody behind */

/* ---- the program --------------------------------------------------------------- */

static inline void
helper_say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        _exit(99);
}

static inline void
helper_on_signal(int signal)
{
    helper_say(signal == SIGTERM ? "term\n" : "signal\n");
    _exit(3);
}

/* Again and again for a while, whoever lets it go on. */
static inline void
helper_stop_parent_on(void)
{
    struct timespec now, end;

    helper_say("on\n");
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += 1;
    do {
        kill(getppid(), SIGSTOP);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || now.tv_nsec < end.tv_nsec);
}

static inline void
helper_hang(void)
{
    for (;;)
        pause();
}

static inline void
helper_write(long bytes)
{
    char block[4096];
    ssize_t n;

    memset(block, 0xff, sizeof block); /* no text in any encoding */
    while (bytes > 0) {
        n = write(STDOUT_FILENO, block,
                  bytes < (long)sizeof block ? (size_t)bytes : sizeof block);
        if (n < 0)
            _exit(98);
        bytes -= n;
    }
}

static inline void
helper_read_to_end(void)
{
    char block[4096];

    while (read(STDIN_FILENO, block, sizeof block) > 0)
        continue;
}

/* "0 1 2": tried one by one, so that nothing has to be opened for it. */
static inline void
helper_say_descriptors(void)
{
    char text[256] = "";
    size_t len = 0;

    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 && len < sizeof text - 16)
            len += (size_t)sprintf(text + len, "%s%d", len ? " " : "", fd);
    }
    strcat(text, "\n");
    helper_say(text);
}

/* Of stdin and stdout, "11": both block. */
static inline void
helper_say_blocking(void)
{
    for (int fd = 0; fd < 2; fd++)
        helper_say(fcntl(fd, F_GETFL) & O_NONBLOCK ? "0" : "1");
    helper_say("\n");
}

/* A line of its status, as the kernel shows it. */
static inline void
helper_say_status(const char *name)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];

    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, name, strlen(name)) == 0)
            helper_say(line);
    }
    if (status)
        fclose(status);
}

/* The sets of blocked and ignored signals. */
static inline void
helper_say_signals(void)
{
    helper_say_status("SigBlk");
    helper_say_status("SigIgn");
}

static inline void
helper_say_ids(void)
{
    char text[128];

    snprintf(text, sizeof text, "%ld %ld %ld\n", (long)getpid(), (long)getsid(0),
             (long)getpgrp());
    helper_say(text);
}

static inline void
helper_say_folder(void)
{
    char text[4096];

    if (getcwd(text, sizeof text - 1))
        helper_say(strcat(text, "\n"));
}

static inline void
helper_say_variable(const char *name)
{
    const char *value = getenv(name);

    helper_say(value ? value : "(none)");
    helper_say("\n");
}

/* A new session each time, and the one before is gone: nobody stays to be found. */
static inline void
helper_chain(void)
{
    time_t until = time(NULL) + HELPER_SECONDS;
    pid_t pid = 0;

    while (pid == 0 && time(NULL) < until) {
        setsid();
        pid = fork();
        if (pid < 0) { /* for want of room: the last one tries again */
            poll(NULL, 0, 1);
            pid = 0;
        }
    }
    _exit(0);
}

static inline void
helper_say_parent(void)
{
    char text[64];

    snprintf(text, sizeof text, "%ld\n", (long)getppid());
    helper_say(text);
}

/* Would what it executes have it? */
static inline void
helper_say_hidden(int fd)
{
    helper_say(fcntl(fd, F_GETFD) & FD_CLOEXEC ? "hidden\n" : "open\n");
}

/* To its fourth descriptor. */
static inline void
helper_tell(const char *text)
{
    if (write(STDERR_FILENO + 1, text, strlen(text)) < 0)
        _exit(96);
}

static inline bool
helper_is(const char *what, const char *name)
{
    return strcmp(what, name) == 0;
}

/* One thing to do; `number` is what stands after a colon in it. */
static inline void
helper_do(const char *what, long number, const char *argument)
{
    char byte;

    if (strncmp(what, "exit:", 5) == 0)
        _exit((int)number);
    else if (strncmp(what, "raise:", 6) == 0)
        raise((int)number);
    else if (strncmp(what, "ignore:", 7) == 0)
        signal((int)number, SIG_IGN);
    else if (strncmp(what, "catch:", 6) == 0)
        signal((int)number, helper_on_signal);
    else if (strncmp(what, "close:", 6) == 0)
        close((int)number);
    else if (strncmp(what, "write:", 6) == 0)
        helper_write(number);
    else if (strncmp(what, "say:", 4) == 0)
        helper_say(argument), helper_say("\n");
    else if (strncmp(what, "env:", 4) == 0)
        helper_say_variable(argument);
    else if (helper_is(what, "byte"))
        (void)!read(STDIN_FILENO, &byte, 1);
    else if (helper_is(what, "eof"))
        helper_read_to_end();
    else if (helper_is(what, "hang"))
        helper_hang();
    else if (helper_is(what, "chain"))
        helper_chain();
    else if (helper_is(what, "parent"))
        helper_say_parent();
    else if (helper_is(what, "stop-parent"))
        kill(getppid(), SIGSTOP);
    else if (helper_is(what, "stop-parent-on"))
        helper_stop_parent_on();
    else if (strncmp(what, "status:", 7) == 0)
        helper_say_status(argument);
    else if (strncmp(what, "hidden:", 7) == 0)
        helper_say_hidden((int)number);
    else if (strncmp(what, "tell:", 5) == 0)
        helper_tell(argument);
    else if (helper_is(what, "session"))
        setsid();
    else if (helper_is(what, "ids"))
        helper_say_ids();
    else if (helper_is(what, "blocking"))
        helper_say_blocking();
    else if (helper_is(what, "descriptors"))
        helper_say_descriptors();
    else if (helper_is(what, "signals"))
        helper_say_signals();
    else if (helper_is(what, "folder"))
        helper_say_folder();
    else
        _exit(97);
}

/* "{" forks: the child does what follows, up to its "}", and exits; the parent goes on
 * behind it. */
static inline int
helper_main(char **what)
{
    alarm(HELPER_SECONDS);
    for (; *what; what++) {
        const char *argument = strchr(*what, ':');

        if (helper_is(*what, "{")) {
            int depth = 1;

            if (fork() == 0) {
                alarm(HELPER_SECONDS);
                continue;
            }
            while (depth > 0) {
                what++;
                depth += helper_is(*what, "{") - helper_is(*what, "}");
            }
        } else if (helper_is(*what, "}")) {
            _exit(0);
        } else {
            argument = argument ? argument + 1 : "";
            helper_do(*what, strtol(argument, NULL, 10), argument);
        }
    }
    _exit(0);
}

#define HELPER(...)                         \
    (const char *const[])                   \
    {                                       \
        "/proc/self/exe", __VA_ARGS__, NULL \
    }

/* All descriptors below 20 that are free. Returns how many there are in ret_taken. */
#define LOW_ONES 20

static inline int
low_ones_take(int ret_taken[LOW_ONES])
{
    int fd = dup(STDERR_FILENO), n = 0;

    for (; fd >= 0 && fd < LOW_ONES; fd = dup(STDERR_FILENO))
        ret_taken[n++] = fd;
    close(fd);
    return n;
}

static inline void
low_ones_give(const int taken[LOW_ONES], int n)
{
    while (n > 0)
        close(taken[--n]);
}

/* libuv opens two descriptors with the first loop and keeps them, so there is one before
 * anything is counted. In every fork it closes those and takes the lowest that are free,
 * and under TSan, which makes vfork a fork, also in what is spawned. A check that plays
 * with low descriptors must not hit them: they are high, and stay so in a fork that is
 * made while the low ones are taken. */
static inline void
libuv_begin(void)
{
    int taken[LOW_ONES], n = low_ones_take(taken);
    uv_loop_t first;

    if (uv_loop_init(&first) == 0)
        (void)uv_loop_close(&first);
    low_ones_give(taken, n);
}

/* In place of TEST_MAIN. */
#define PROCESS_TEST_MAIN(...)                                             \
    int main(int argc, char **argv)                                        \
    {                                                                      \
        static const struct test_case cases[] = {__VA_ARGS__};             \
                                                                           \
        if (argc > 1)                                                      \
            return helper_main(argv + 1);                                  \
        libuv_begin();                                                     \
        return test_main(__FILE__, cases, sizeof cases / sizeof cases[0]); \
    }

/* ---- its report ----------------------------------------------------------------- */

struct report {
    int fd;
    int end; /* for the program; -1: handed out */
};

static inline struct report
report_open(void)
{
    struct report report;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    report.fd = fds[0];
    report.end = fds[1];
    return report;
}

/* The program has it now. */
static inline void
report_given(struct report *report)
{
    close(report->end);
    report->end = -1;
}

/* One more byte; false at the end. */
static inline bool
report_byte(const struct report *report, char *ret_byte)
{
    struct pollfd watched = {.fd = report->fd, .events = POLLIN};
    int r;

    do {
        r = poll(&watched, 1, AWAIT_MS);
    } while (r < 0 && errno == EINTR);
    assert_int_equal(r, 1); /* else somebody did not report, or did not end */
    return read(report->fd, ret_byte, 1) == 1;
}

/* The next line, without its end, in a buffer that the next call reuses. */
static inline const char *
report_line(const struct report *report)
{
    static char line[4096];
    size_t len = 0;

    while (len < sizeof line - 1 && report_byte(report, &line[len]) &&
           line[len] != '\n')
        len++;
    line[len] = '\0';
    return line;
}

/* Everything up to the end: all who had it are dead. Closes it. */
static inline const char *
report_rest(struct report *report)
{
    static char text[4096];
    size_t len = 0;

    while (len < sizeof text - 1 && report_byte(report, &text[len]))
        len++;
    text[len] = '\0';
    close(report->fd);
    return text;
}

/* Is somebody alive who could still report? */
static inline bool
report_is_held(const struct report *report)
{
    struct pollfd watched = {.fd = report->fd, .events = POLLIN};

    return poll(&watched, 1, 0) == 0;
}

/* ---- signals that were sent ------------------------------------------------------ */

/* What becomes of a signal from the code under test. */
enum kill_mode { KILL_PASS, KILL_SWALLOW, KILL_REFUSE };

static enum kill_mode kill_mode;
static int kill_count;  /* signals sent, or tried to; 0 is none */
static int kill_groups; /* those of them that were for a group */

/* Parameters are named as in libc's header, or clang-tidy objects. */
int
kill(pid_t __pid, int __sig)
{
    if (__sig != 0) {
        kill_count++;
        kill_groups += __pid < 0;
        if (kill_mode == KILL_SWALLOW)
            return 0;
    }
    if (kill_mode == KILL_REFUSE) {
        errno = EPERM;
        return -1;
    }
    return (int)syscall(SYS_kill, __pid, __sig);
}

static inline void
kill_reset(void)
{
    kill_mode = KILL_PASS;
    kill_count = kill_groups = 0;
}

/* ---- what is left -------------------------------------------------------------- */

static inline int
count_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static inline bool
has_children(void)
{
    siginfo_t info;

    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Until the program around us has waited for all of them. */
static inline void
await_no_children(void)
{
    for (int i = 0; i < AWAIT_MS && has_children(); i++)
        poll(NULL, 0, 1);
    assert_false(has_children());
}

/* Until it is dead; it stays a zombie. */
static inline void
await_exit(pid_t pid)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        continue;
}

/* ---- a process to try things in ------------------------------------------------- */

#define IN_FORK_SKIP 77

/* A check that would harm the test program runs in a fork of it: 0 is good,
 * IN_FORK_SKIP means that it is not possible here, everything else is the line that
 * failed. */
#define IN_FORK_CHECK(condition)                                            \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1;                                                       \
        }                                                                   \
    } while (0)

/* System calls that this process, and whom it forks, does not have from now on. False:
 * that could not be. */
static inline bool
forbid(const int *calls, size_t count)
{
    struct sock_filter filter[32];
    struct sock_fprog program = {.filter = filter};
    size_t n = 0;

    filter[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                               offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < count; i++) {
        filter[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                   (unsigned)calls[i], 0, 1);
        filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
                                                   SECCOMP_RET_ERRNO | ENOSYS);
    }
    filter[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = (unsigned short)n;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

static inline void
in_fork(int (*check)(void))
{
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        _exit(check());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == IN_FORK_SKIP)
        test_skip("not allowed here");
    assert_int_equal(status, 0);
}

#endif
