/* spawn_test.c - starting a program: what it gets, what it does not, and what is left
 * behind when it cannot be started */
#include "run/spawn.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "run/process_fixture.h"

#define NOBODY 65534

/* Replaced, to be born as an orphan. */
static bool parent_is_gone;

pid_t
getppid(void)
{
    return parent_is_gone ? 1 : (pid_t)syscall(SYS_getppid);
}

static struct mcpi_process_options
make_options(const char *const *argv, const struct report *report)
{
    return (struct mcpi_process_options){
        .argv = argv, .in = -1, .out = -1, .err = report->end, .own_err = true};
}

/* Starts it, waits for it, and returns what it reported. */
static const char *
run(const struct mcpi_process_options *opt, struct report *report, int *ret_status)
{
    const char *text;
    mcp_error err;
    pid_t pid;
    int fd;

    if (mcpi_spawn(opt, &pid, &fd, &err) < 0)
        fail_msg("%s", err.message);
    assert_true(fd >= 0);
    report_given(report);
    text = report_rest(report);
    assert_int_equal(waitpid(pid, ret_status, 0), pid);
    close(fd);
    return text;
}

static const char *
run_helper(const char *const *argv)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(argv, &report);
    const char *text;
    int status = -1;

    text = run(&opt, &report, &status);
    assert_int_equal(status, 0);
    return text;
}

/* ---- what it gets ---------------------------------------------------------------- */

static void
M3_it_leads_its_own_session_and_group(void **state)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(HELPER("ids", "byte"), &report);
    char expected[128];
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(mcpi_spawn(&opt, &pid, &fd, NULL), 0);
    report_given(&report);
    snprintf(expected, sizeof expected, "%ld %ld %ld\n", (long)pid, (long)pid,
             (long)pid);
    assert_string_equal(report_rest(&report), expected);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fd);
}

static void
M13_it_gets_its_three_descriptors_and_no_others(void **state)
{
    int leaky[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        leaky[i] = open("/dev/null", O_RDONLY);
    assert_string_equal(run_helper(HELPER("descriptors")), "0 1 2\n");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fcntl(leaky[i], F_GETFD), 0); /* here nothing has changed */
        close(leaky[i]);
    }
}

/* For a check in a fork: starts the helper, and compares what it says. */
static int
says(const struct mcpi_process_options *opt, int report, int end, const char *expected)
{
    char text[256] = "";
    mcp_error err = {.message = ""};
    int fd, status = -1;
    size_t len = 0;
    ssize_t n = 1;
    pid_t pid;

    if (mcpi_spawn(opt, &pid, &fd, &err) < 0)
        fprintf(stderr, "%s\n", err.message);
    IN_FORK_CHECK(err.message[0] == '\0');
    close(end);
    while (n > 0 && len < sizeof text - 1) {
        n = read(report, text + len, sizeof text - 1 - len);
        len += n > 0 ? (size_t)n : 0;
    }
    IN_FORK_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    IN_FORK_CHECK(strcmp(text, expected) == 0);
    return 0;
}

static int
check_without(const int *calls, size_t count)
{
    struct mcpi_process_options opt = {
        .argv = HELPER("descriptors"), .in = -1, .out = -1, .own_err = true};
    int fds[2];

    IN_FORK_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    IN_FORK_CHECK(dup2(fds[0], 700) == 700); /* without close-on-exec */
    IN_FORK_CHECK(dup(fds[0]) >= 0);
    if (!forbid(calls, count))
        return IN_FORK_SKIP;
    opt.err = fds[1];
    return says(&opt, fds[0], fds[1], "0 1 2\n");
}

static int
check_without_close_range(void)
{
    return check_without((const int[]){SYS_close_range}, 1);
}

static int
check_without_listing(void)
{
    struct rlimit limit;

    IN_FORK_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_max = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    limit.rlim_cur = limit.rlim_max;
    IN_FORK_CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    return check_without((const int[]){SYS_close_range, SYS_getdents64}, 2);
}

static void
M13_also_on_a_system_without_close_range(void **state)
{
    (void)state;
    in_fork(check_without_close_range);
    in_fork(check_without_listing);
}

/* Its stdin is our stderr, and so on: each would overwrite the next one's source. */
static int
check_rotated(void)
{
    struct mcpi_process_options opt = {
        .argv = HELPER("eof", "write:3", "say:done", "descriptors"),
        .in = 2,
        .out = 0,
        .err = 1,
        .own_err = true};
    int in[2], out[2], err[2];
    char bytes[8];

    IN_FORK_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
                  pipe2(err, O_CLOEXEC) == 0);
    close(in[1]);
    IN_FORK_CHECK(dup2(in[0], 2) == 2 && dup2(out[1], 0) == 0 && dup2(err[1], 1) == 1);
    close(err[1]);
    IN_FORK_CHECK(says(&opt, err[0], 1, "done\n0 1 2\n") == 0);
    IN_FORK_CHECK(read(out[0], bytes, sizeof bytes) == 3);
    return 0;
}

/* With 0, 1 and 2 closed here, the pipe of the report would be among them. */
static int
check_closed(void)
{
    struct mcpi_process_options opt = {
        .argv = HELPER("descriptors"), .in = -1, .out = -1, .own_err = true};
    static const char *const none[] = {"/proc/none", NULL};
    struct mcpi_process_options bad = {.argv = none, .in = -1, .out = -1};
    int fds[2], fd;
    pid_t pid;

    IN_FORK_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    opt.err = fds[1];
    close(0);
    close(1);
    close(2);
    IN_FORK_CHECK(mcpi_spawn(&bad, &pid, &fd, NULL) == MCP_E_INVAL);
    return says(&opt, fds[0], fds[1], "0 1 2\n");
}

/* The same descriptor three times, and a stderr to share that is not there. */
static int
check_same(void)
{
    struct mcpi_process_options opt = {.argv = HELPER("write:2", "byte", "exit:0"),
                                       .in = -1};
    int fds[2];
    char bytes[8];

    IN_FORK_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    opt.out = fds[1];
    close(2);
    IN_FORK_CHECK(says(&opt, fds[0], fds[1], "\xff\xff") == 0);
    IN_FORK_CHECK(read(fds[0], bytes, sizeof bytes) == 0);
    return 0;
}

static void
M13_the_given_descriptors_may_be_0_1_2_or_the_same(void **state)
{
    (void)state;
    in_fork(check_rotated);
    in_fork(check_closed);
    in_fork(check_same);
}

/* With one more descriptor, and a keeper's: each may be where another shall be. */
static int
check_given(int extra, int control, const char *expected)
{
    struct mcpi_process_options opt = {.argv = HELPER("descriptors"),
                                       .in = -1,
                                       .out = -1,
                                       .extra = extra,
                                       .has_extra = extra >= 0,
                                       .own_err = true};
    char text[64] = "";
    int fds[2], fd, status = -1;
    ssize_t n;
    pid_t pid;

    IN_FORK_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    IN_FORK_CHECK(dup3(fds[0], 30, O_CLOEXEC) == 30 && close(fds[0]) == 0);
    IN_FORK_CHECK(dup3(fds[1], 31, O_CLOEXEC) == 31 && close(fds[1]) == 0);
    fds[0] = 30;
    opt.err = fds[1] = 31;
    IN_FORK_CHECK(mcpi_spawn_keeper(&opt, "/proc/self/exe", control, &pid, &fd, NULL) ==
                  0);
    close(fds[1]);
    close(fd);
    IN_FORK_CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    n = read(fds[0], text, sizeof text - 1);
    close(fds[0]);
    IN_FORK_CHECK(n > 0 && strcmp(text, expected) == 0);
    return 0;
}

/* The pipe through which we hear of it is not among those that it gets. */
static int
check_given_fails(int high)
{
    struct mcpi_process_options opt = {.argv = HELPER("exit:0"),
                                       .in = high,
                                       .out = high,
                                       .extra = high,
                                       .has_extra = true};
    pid_t pid;
    int fd;

    IN_FORK_CHECK(mcpi_spawn_keeper(&opt, "/proc/none", high, &pid, &fd, NULL) ==
                  MCP_E_INVAL);
    opt.extra = 900;
    IN_FORK_CHECK(mcpi_spawn_keeper(&opt, "/proc/self/exe", high, &pid, &fd, NULL) ==
                  MCP_E_INVAL);
    return 0;
}

static int
check_all_given(void)
{
    int high = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, LOW_ONES);

    for (int fd = 3; fd < 10; fd++)
        IN_FORK_CHECK(dup2(high, fd) == fd);
    IN_FORK_CHECK(check_given(-1, -1, "0 1 2\n") == 0);
    IN_FORK_CHECK(check_given(3, -1, "0 1 2 3\n") == 0);
    IN_FORK_CHECK(check_given(4, -1, "0 1 2 3\n") == 0);
    IN_FORK_CHECK(check_given(high, -1, "0 1 2 3\n") == 0);
    IN_FORK_CHECK(check_given(-1, 3, "0 1 2 4\n") == 0);
    IN_FORK_CHECK(check_given(4, 3, "0 1 2 3 4\n") == 0);
    IN_FORK_CHECK(check_given(2, 0, "0 1 2 3 4\n") == 0);
    for (int fd = 3; fd < 10; fd++)
        close(fd); /* then the pipe of the report would be among them */
    IN_FORK_CHECK(check_given(high, high, "0 1 2 3 4\n") == 0);
    IN_FORK_CHECK(check_given_fails(high) == 0);
    IN_FORK_CHECK(check_given(-1, high, "0 1 2 4\n") == 0);
    return 0;
}

static int
check_all_given_without_close_range(void)
{
    return forbid((const int[]){SYS_close_range}, 1) ? check_all_given() : IN_FORK_SKIP;
}

static void
in_fork_with_low_ones(int (*check)(void))
{
    int taken[LOW_ONES], n = low_ones_take(taken);

    in_fork(check);
    low_ones_give(taken, n);
}

static void
M13_one_more_descriptor_and_that_of_a_keeper(void **state)
{
    (void)state;
    in_fork_with_low_ones(check_all_given);
    in_fork_with_low_ones(check_all_given_without_close_range);
}

/* It is the same one, not only one that is open. */
static int
check_extra_is_the_one(void)
{
    struct mcpi_process_options opt = {
        .argv = HELPER("tell:hello"), .in = -1, .out = -1, .has_extra = true};
    char text[8] = "";
    int fds[2], fd;
    pid_t pid;

    IN_FORK_CHECK(pipe2(fds, O_CLOEXEC) == 0);
    opt.extra = fds[1];
    IN_FORK_CHECK(mcpi_spawn(&opt, &pid, &fd, NULL) == 0);
    close(fds[1]);
    IN_FORK_CHECK(waitpid(pid, NULL, 0) == pid);
    IN_FORK_CHECK(read(fds[0], text, sizeof text) == 5);
    IN_FORK_CHECK(strcmp(text, "hello") == 0 && read(fds[0], text, 1) == 0);
    return 0;
}

static void
the_extra_descriptor_is_the_one_that_was_given(void **state)
{
    (void)state;
    in_fork(check_extra_is_the_one);
}

static void
a_file_is_executed_whatever_its_name_is_said_to_be(void **state)
{
    static const char *const argv[] = {"/proc/none", "say:here", NULL};
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(argv, &report);
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(mcpi_spawn_keeper(&opt, "/proc/self/exe", -1, &pid, &fd, NULL), 0);
    report_given(&report);
    assert_string_equal(report_rest(&report), "here\n");
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(fd);
}

/* What the kernel has of an action, which libc would not let us set for its own signals. */
struct kernel_action {
    uintptr_t words[8];
};

static void
act_by_kernel(int number, const struct kernel_action *now, struct kernel_action *before)
{
    assert_int_equal(syscall(SYS_rt_sigaction, number, now, before, 8), 0);
}

static void
M21_its_signals_are_the_defaults_and_ours_stay(void **state)
{
    sigset_t blocked, before, after;
    const struct kernel_action ignored = {{(uintptr_t)SIG_IGN}};
    struct kernel_action used;
    struct sigaction now;

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    act_by_kernel(SIGRTMIN - 1, &ignored, &used); /* one of libc's own */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    assert_string_equal(run_helper(HELPER("signals")), "SigBlk:\t0000000000000000\n"
                                                       "SigIgn:\t0000000000000000\n");
    sigprocmask(SIG_SETMASK, &before, &after);
    assert_true(sigismember(&after, SIGUSR1) && sigismember(&after, SIGPIPE));
    assert_false(sigismember(&after, SIGTERM));
    sigaction(SIGPIPE, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    act_by_kernel(SIGRTMIN - 1, &used, NULL);
}

static void
the_pidfd_is_ours_and_readable_at_the_end(void **state)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(HELPER("exit:7"), &report);
    struct pollfd watched = {.events = POLLIN};
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(mcpi_spawn(&opt, &pid, &watched.fd, NULL), 0);
    report_given(&report);
    assert_true(fcntl(watched.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
    assert_int_equal(waitpid(pid, &status, WNOHANG), pid);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_string_equal(report_rest(&report), "");
    close(watched.fd);
}

/* ---- environment, folder, PATH ------------------------------------------------- */

static const char *
run_with_environment(const char *const *env, bool clear)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(
        HELPER("env:MCP_A", "env:MCP_B", "env:MCP_C"), &report);
    int status;

    opt.env = env;
    opt.clear_env = clear;
    return run(&opt, &report, &status);
}

static void
its_environment_is_ours_with_changes(void **state)
{
    static const char *const some[] = {"MCP_B=1", "MCP_C=x=y", "MCP_B=2", NULL};

    (void)state;
    setenv("MCP_A", "ours", 1);
    setenv("MCP_B", "ours", 1);
    assert_string_equal(run_with_environment(NULL, false), "ours\nours\n(none)\n");
    assert_string_equal(run_with_environment(some, false), "ours\n2\nx=y\n");
    assert_string_equal(run_with_environment(some, true), "(none)\n2\nx=y\n");
    assert_string_equal(run_with_environment(NULL, true), "(none)\n(none)\n(none)\n");
    unsetenv("MCP_A");
    unsetenv("MCP_B");
}

/* What a shell needs, unless it is code; and nothing that may be a secret. */
static void
a_clean_environment_has_only_what_any_program_needs(void **state)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(
        HELPER("env:LOGNAME", "env:TERM", "env:MCP_TOKEN"), &report);
    int status;

    (void)state;
    setenv("LOGNAME", "me", 1);
    setenv("TERM", "() { :; }", 1);
    setenv("MCP_TOKEN", "secret", 1);
    opt.clear_env = true;
    assert_string_equal(run(&opt, &report, &status), "me\n(none)\n(none)\n");
    unsetenv("LOGNAME");
    unsetenv("TERM");
    unsetenv("MCP_TOKEN");
}

static void
what_is_no_variable_is_refused(void **state)
{
    static const char *const bad[][2] = {{"MCP_A", NULL}, {"=x", NULL}, {"", NULL}};
    mcp_error err;
    pid_t pid;
    int fd;

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct mcpi_process_options opt = {.argv = HELPER("exit:0"), .env = bad[i]};

        assert_int_equal(mcpi_spawn(&opt, &pid, &fd, &err), MCP_E_INVAL);
        assert_non_null(strstr(err.message, "NAME=value"));
    }
    assert_false(has_children());
}

/* Folders of a test, removed at its end. */
struct place {
    char root[32];
    char path[160]; /* root/empty:root/locked:root/bin */
    char exe[256];  /* this program */
};

static void
place_file(const struct place *place, const char *name, unsigned mode)
{
    char path[300];
    int fd;

    snprintf(path, sizeof path, "%s/%s", place->root, name);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "\x01\x02", 2), 2);
    close(fd);
}

static void
place_make(struct place *place)
{
    char path[300];
    ssize_t n = readlink("/proc/self/exe", place->exe, sizeof place->exe - 1);

    assert_true(n > 0);
    place->exe[n] = '\0';
    strcpy(place->root, "/tmp/mcp-spawn-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    snprintf(place->path, sizeof place->path, "%s/empty:%s/locked:%s/bin", place->root,
             place->root, place->root);
    for (int i = 0; i < 3; i++) {
        static const char *const folders[] = {"empty", "locked", "bin"};

        snprintf(path, sizeof path, "%s/%s", place->root, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    place_file(place, "locked/mcp-prog", 0600);
    place_file(place, "locked/mcp-locked", 0600);
    place_file(place, "bin/mcp-junk", 0700);
    snprintf(path, sizeof path, "%s/bin/mcp-prog", place->root);
    assert_int_equal(symlink(place->exe, path), 0);
}

static void
place_remove(struct place *place)
{
    static const char *const all[] = {"locked/mcp-prog",
                                      "locked/mcp-locked",
                                      "bin/mcp-junk",
                                      "bin/mcp-prog",
                                      "empty",
                                      "locked",
                                      "bin",
                                      "."};
    char path[300];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", place->root, all[i]);
        if (unlink(path) != 0)
            rmdir(path);
    }
    rmdir(place->root);
}

static void
it_is_looked_up_in_its_path(void **state)
{
    static const char *const argv[] = {"mcp-prog", "say:here", NULL};
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(argv, &report);
    struct place place;
    char variable[200];
    const char *env[2] = {variable, NULL};
    int status;

    (void)state;
    place_make(&place);
    snprintf(variable, sizeof variable, "PATH=%s", place.path);
    opt.env = env; /* its PATH, not ours; the locked one is passed over */
    assert_string_equal(run(&opt, &report, &status), "here\n");

    report = report_open();
    opt.err = report.end;
    snprintf(variable, sizeof variable, "PATH=%s/empty::", place.root);
    snprintf(place.path, sizeof place.path, "%s/bin", place.root);
    opt.cwd = place.path; /* an empty entry is the folder it runs in */
    assert_string_equal(run(&opt, &report, &status), "here\n");
    place_remove(&place);
}

static void
without_a_path_there_is_a_default(void **state)
{
    static const char *const argv[] = {"sh", "-c", "echo $0 >&2", NULL};
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(argv, &report);
    char before[4096];
    int status;

    (void)state;
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    unsetenv("PATH");
    opt.clear_env = true;
    assert_string_equal(run(&opt, &report, &status), "sh\n");
    setenv("PATH", before, 1);
}

static void
it_runs_in_its_folder(void **state)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(HELPER("folder"), &report);
    struct place place;
    char expected[100];
    int status;

    (void)state;
    place_make(&place);
    snprintf(expected, sizeof expected, "%s\n", place.root);
    opt.cwd = place.root;
    assert_string_equal(run(&opt, &report, &status), expected);

    report = report_open(); /* a path is meant from there */
    opt.err = report.end;
    opt.argv = (const char *const[]){"bin/mcp-prog", "folder", NULL};
    assert_string_equal(run(&opt, &report, &status), expected);
    place_remove(&place);
}

/* ---- when it cannot be started --------------------------------------------------- */

/* Nothing is left: no process, no descriptor. */
static void
assert_fails(const struct mcpi_process_options *opt, int expected, const char *text)
{
    int before = count_descriptors();
    mcp_error err = {.message = ""};
    pid_t pid = 5;
    int fd = 5;

    assert_int_equal(mcpi_spawn(opt, &pid, &fd, &err), expected);
    assert_int_equal(err.status, expected);
    if (!strstr(err.message, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err.message);
    assert_int_equal(pid, 5);
    assert_int_equal(fd, 5);
    assert_int_equal(count_descriptors(), before);
    assert_false(has_children());
    assert_int_equal(mcpi_spawn(opt, &pid, &fd, NULL), expected);
    assert_false(has_children());
}

static void
M11_a_program_that_cannot_run_leaves_nothing(void **state)
{
    static const char *const argv[][2] = {
        {"/proc/none/program", NULL}, {"mcp-no-such-program", NULL}, {"", NULL},
        {"bin/mcp-prog/x", NULL},     {"bin/mcp-junk", NULL},        {"./bin", NULL},
        {"mcp-locked", NULL},
    };
    static const char *const text[] = {
        "cannot run \"/proc/none/program\": no such file or directory",
        "cannot run \"mcp-no-such-program\": no such file or directory",
        "cannot run \"\": no such file",
        "cannot run \"bin/mcp-prog/x\": not a directory",
        "cannot run \"bin/mcp-junk\": not a program",
        "cannot run \"./bin\": permission denied",
        "cannot run \"mcp-locked\": permission denied",
    };
    struct mcpi_process_options opt = {.in = -1, .out = -1};
    struct place place;
    char variable[200];
    const char *env[2] = {variable, NULL};

    (void)state;
    place_make(&place);
    snprintf(variable, sizeof variable, "PATH=%s", place.path);
    opt.env = env;
    opt.cwd = place.root;
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++) {
        opt.argv = argv[i];
        assert_fails(&opt, MCP_E_INVAL, text[i]);
    }
    place_remove(&place);
}

/* The name of the program is what it is called by, and may well be there. */
static void
a_file_that_cannot_run_is_named_instead_of_the_program(void **state)
{
    const struct mcpi_process_options opt = {
        .argv = HELPER("exit:0"), .in = -1, .out = -1};
    mcp_error err = {0};
    pid_t pid;
    int fd;

    (void)state;
    assert_int_equal(mcpi_spawn_keeper(&opt, "/proc/none/exe", -1, &pid, &fd, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message,
                        "cannot run \"/proc/none/exe\": no such file or directory");
}

static void
M11_bad_options_leave_nothing(void **state)
{
    static const char *const none[] = {NULL};
    struct mcpi_process_options opt = {.in = -1, .out = -1};

    (void)state;
    assert_fails(&opt, MCP_E_INVAL, "no program");
    opt.argv = none;
    assert_fails(&opt, MCP_E_INVAL, "no program");
    opt.argv = HELPER("exit:0");
    opt.cwd = "/proc/none";
    assert_fails(&opt, MCP_E_INVAL, "folder \"/proc/none\": no such file or directory");
    opt.cwd = "/dev/null";
    assert_fails(&opt, MCP_E_INVAL, "not a directory");
    opt.cwd = NULL;
    opt.in = 900;
    assert_fails(&opt, MCP_E_INVAL, "descriptors: bad file descriptor");
    opt.in = -1;
    opt.death_signal = 1000;
    assert_fails(&opt, MCP_E_INVAL, "signal at our death: invalid argument");
}

static void
long_names_are_cut_in_the_reason(void **state)
{
    char name[2000];
    const char *argv[2] = {name, NULL};
    struct mcpi_process_options opt = {.argv = argv, .in = -1, .out = -1};

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_fails(&opt, MCP_E_INVAL, "name too long");
}

/* How it went with no more than so many descriptors. */
static int
spawn_with_limit(const struct mcpi_process_options *opt, rlim_t limit)
{
    struct rlimit before, low;
    mcp_error err;
    pid_t pid = 0;
    int fd = -1, r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    r = mcpi_spawn(opt, &pid, &fd, &err);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    if (r == 0) {
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        close(fd);
    }
    return r;
}

static void
M11_without_descriptors_nothing_is_left(void **state)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct mcpi_process_options opt = {.argv = argv, .in = -1, .out = -1};
    int before = count_descriptors();
    int failures = 0, r = MCP_E_LIMIT;

    (void)state;
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
M11_without_processes_nothing_is_left(void **state)
{
    struct mcpi_process_options opt = {.argv = HELPER("exit:0"), .in = -1, .out = -1};
    int before = count_descriptors();
    struct rlimit limit, low;
    mcp_error err;
    bool root = geteuid() == 0;
    pid_t pid;
    int fd, r;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NPROC, &limit), 0);
    low = limit;
    low.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NPROC, &low), 0);
    if (root) /* who has no such limit */
        assert_int_equal(setresuid(NOBODY, NOBODY, 0), 0);
    r = mcpi_spawn(&opt, &pid, &fd, &err);
    if (root)
        assert_int_equal(setresuid(0, 0, 0), 0);
    assert_int_equal(setrlimit(RLIMIT_NPROC, &limit), 0);
    assert_int_equal(r, MCP_E_LIMIT);
    assert_non_null(strstr(err.message, "cannot start a process"));
    assert_false(has_children());
    assert_int_equal(count_descriptors(), before);
}

static void
spawn_with_memory(struct test_mem *mem, void *user)
{
    static const char *const argv[] = {"true", NULL};
    struct mcpi_process_options opt = {
        .mem = &mem->allocator, .argv = argv, .in = -1, .out = -1};
    pid_t pid;
    int fd, r;

    (void)user;
    r = mcpi_spawn(&opt, &pid, &fd, NULL);
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    if (r == 0) {
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        close(fd);
    }
    assert_false(has_children());
}

static void
M11_each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(spawn_with_memory, NULL), 2);
}

static int
check_without_pidfd(void)
{
    struct mcpi_process_options opt = {.argv = HELPER("exit:0"), .in = -1, .out = -1};
    mcp_error err;
    pid_t pid;
    int fd;

    if (!forbid((const int[]){SYS_pidfd_open}, 1))
        return IN_FORK_SKIP;
    IN_FORK_CHECK(mcpi_spawn(&opt, &pid, &fd, &err) == MCP_E_STATE);
    IN_FORK_CHECK(strstr(err.message, "cannot watch a process") != NULL);
    IN_FORK_CHECK(kill_count == 0); /* nor was one taken back */
    IN_FORK_CHECK(!has_children());
    return 0;
}

static void
a_system_without_pidfd_starts_nothing(void **state)
{
    (void)state;
    in_fork(check_without_pidfd);
}

/* ---- the program around us ----------------------------------------------------- */

static void
M11_a_host_that_ignores_SIGCHLD_may_be_faster(void **state)
{
    struct mcpi_process_options opt = {.argv = HELPER("exit:0"), .in = -1, .out = -1};
    static const char *const argv[] = {"/proc/none", NULL};
    struct pollfd watched = {.events = POLLIN};
    struct sigaction now;
    pid_t pid;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(mcpi_spawn(&opt, &pid, &watched.fd, NULL), 0);
        if (watched.fd >= 0) {
            assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
            close(watched.fd);
        }
    }
    opt.argv = argv;
    for (int i = 0; i < 20; i++)
        assert_int_equal(mcpi_spawn(&opt, &pid, &watched.fd, NULL), MCP_E_INVAL);
    sigaction(SIGCHLD, NULL, &now);
    assert_true(now.sa_handler == SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    assert_false(has_children());
}

/* Forks as fast as it can, without exec: each holds every pipe that is open then. */
struct forker {
    atomic_bool stop;
    pid_t pids[2000];
    int count;
};

static void *
fork_and_fork(void *user)
{
    struct forker *forker = user;
    pid_t pid;

    while (!atomic_load(&forker->stop) && forker->count < 2000) {
        pid = fork();
        if (pid == 0)
            helper_hang();
        if (pid > 0)
            forker->pids[forker->count++] = pid;
    }
    return NULL;
}

static void
a_fork_elsewhere_does_not_hold_us_up(void **state)
{
    static const char *const argv[] = {"/bin/true", NULL};
    struct mcpi_process_options opt = {.argv = argv, .in = -1, .out = -1};
    static struct forker forker;
    pthread_t thread;
    int fd, status;
    pid_t pid;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, fork_and_fork, &forker), 0);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(mcpi_spawn(&opt, &pid, &fd, NULL), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(fd);
    }
    atomic_store(&forker.stop, true);
    pthread_join(thread, NULL);
    for (int i = 0; i < forker.count; i++) {
        syscall(SYS_kill, forker.pids[i], SIGKILL);
        assert_int_equal(waitpid(forker.pids[i], NULL, 0), forker.pids[i]);
    }
}

struct spawner {
    struct mcpi_process_options opt;
    pid_t pid;
    int fd;
    int cancelable; /* afterwards */
};

static void *
cancel_and_spawn(void *user)
{
    struct spawner *spawner = user;

    pthread_cancel(pthread_self());
    (void)mcpi_spawn(&spawner->opt, &spawner->pid, &spawner->fd, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &spawner->cancelable);
    return NULL;
}

static void
a_thread_that_is_canceled_is_not_stopped_midway(void **state)
{
    struct spawner spawner = {.opt = {.argv = HELPER("exit:0"), .in = -1, .out = -1},
                              .cancelable = -1};
    pthread_t thread;
    void *result;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, cancel_and_spawn, &spawner), 0);
    pthread_join(thread, &result);
    assert_null(result);
    assert_int_equal(spawner.cancelable, PTHREAD_CANCEL_ENABLE);
    assert_int_equal(waitpid(spawner.pid, NULL, 0), spawner.pid);
    close(spawner.fd);
}

/* ---- the death of ours --------------------------------------------------------- */

/* A process between us and the program, which dies without cleaning up. */
static void
die_as_parent(const struct report *report, int death_signal)
{
    struct mcpi_process_options opt = make_options(
        HELPER("catch:15", "say:lives", "hang"), report);
    char byte;
    pid_t pid;
    int fd;

    opt.death_signal = death_signal;
    if (mcpi_spawn(&opt, &pid, &fd, NULL) < 0)
        _exit(1);
    close(report->end);
    while (read(report->fd, &byte, 1) == 1 && byte != '\n')
        continue;
    raise(SIGKILL);
    _exit(1);
}

static void
M22_it_gets_the_signal_when_we_die(void **state)
{
    struct report report = report_open();
    pid_t pid = fork();
    int status;

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        die_as_parent(&report, SIGTERM);
    report_given(&report);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_string_equal(report_rest(&report), "term\n");
}

static void
M22_if_we_died_before_it_asked_it_does_not_run(void **state)
{
    struct report report = report_open();
    struct mcpi_process_options opt = make_options(HELPER("say:ran"), &report);
    int fd, status;
    pid_t pid;

    (void)state;
    parent_is_gone = true;
    opt.death_signal = SIGKILL;
    assert_int_equal(mcpi_spawn(&opt, &pid, &fd, NULL), 0);
    parent_is_gone = false;
    report_given(&report);
    assert_string_equal(report_rest(&report), "");
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 127);
    close(fd);
}

static void *
spawn_and_end(void *user)
{
    struct spawner *spawner = user;

    (void)mcpi_spawn(&spawner->opt, &spawner->pid, &spawner->fd, NULL);
    return NULL;
}

/* A thread that ends takes what it spawned with it only if that was asked for. */
static void
M22_the_signal_is_tied_to_the_thread_and_only_if_asked_for(void **state)
{
    struct spawner spawner = {.pid = 0};
    pthread_t thread;
    int in[2], status;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct report report = report_open();

        assert_int_equal(pipe2(in, O_CLOEXEC), 0);
        spawner.opt = make_options(HELPER("eof", "exit:4"), &report);
        spawner.opt.in = in[0];
        spawner.opt.death_signal = i == 0 ? 0 : SIGKILL;
        assert_int_equal(pthread_create(&thread, NULL, spawn_and_end, &spawner), 0);
        pthread_join(thread, NULL);
        assert_true(spawner.pid > 0);
        report_given(&report);
        if (i == 0)
            close(in[1]);
        assert_int_equal(waitpid(spawner.pid, &status, 0), spawner.pid);
        if (i == 0)
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
        else
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        close(in[0]);
        if (i == 1)
            close(in[1]);
        close(spawner.fd);
        assert_string_equal(report_rest(&report), "");
    }
}

PROCESS_TEST_MAIN(TEST(M3_it_leads_its_own_session_and_group),
                  TEST(M13_it_gets_its_three_descriptors_and_no_others),
                  TEST(M13_also_on_a_system_without_close_range),
                  TEST(M13_the_given_descriptors_may_be_0_1_2_or_the_same),
                  TEST(M13_one_more_descriptor_and_that_of_a_keeper),
                  TEST(the_extra_descriptor_is_the_one_that_was_given),
                  TEST(a_file_is_executed_whatever_its_name_is_said_to_be),
                  TEST(M21_its_signals_are_the_defaults_and_ours_stay),
                  TEST(the_pidfd_is_ours_and_readable_at_the_end),
                  TEST(its_environment_is_ours_with_changes),
                  TEST(a_clean_environment_has_only_what_any_program_needs),
                  TEST(what_is_no_variable_is_refused),
                  TEST(it_is_looked_up_in_its_path),
                  TEST(without_a_path_there_is_a_default), TEST(it_runs_in_its_folder),
                  TEST(M11_a_program_that_cannot_run_leaves_nothing),
                  TEST(a_file_that_cannot_run_is_named_instead_of_the_program),
                  TEST(M11_bad_options_leave_nothing),
                  TEST(long_names_are_cut_in_the_reason),
                  TEST(M11_without_descriptors_nothing_is_left),
                  TEST(M11_without_processes_nothing_is_left),
                  TEST(M11_each_allocation_may_fail),
                  TEST(a_system_without_pidfd_starts_nothing),
                  TEST(M11_a_host_that_ignores_SIGCHLD_may_be_faster),
                  TEST(a_fork_elsewhere_does_not_hold_us_up),
                  TEST(a_thread_that_is_canceled_is_not_stopped_midway),
                  TEST(M22_it_gets_the_signal_when_we_die),
                  TEST(M22_if_we_died_before_it_asked_it_does_not_run),
                  TEST(M22_the_signal_is_tied_to_the_thread_and_only_if_asked_for))
