/*
 * spawn.c - starting a program
 *
 * All that needs memory or a lock is done first, in a plan. Then vfork: the child works
 * on our stack while this thread sleeps, so a large program pays nothing for its size,
 * and the child must not change anything that we look at later. It makes system calls
 * only, with all signals blocked (a handler of the program would run in our memory) and
 * with cancellation off. Some tools turn vfork into fork, which works here too.
 *
 * How it went comes back through a pipe that closes itself when the program is
 * executed: nothing means that it runs. Another thread of the program may fork at the
 * wrong moment and hold that pipe open in a process of its own; so we do not wait for
 * its end for ever, but look whether the child has executed something.
 */
#include "run/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/procfs.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#define WAIT_PIDFD ((idtype_t)3) /* P_PIDFD, which older headers do not have */

#define DEFAULT_PATH "/bin:/usr/bin"
#define EXECUTED_MS 10 /* then see whether it is only the pipe that hangs */
#define DESCRIPTORS_MAX (1UL << 20) /* to try one by one where nothing better works */
#define FAILED 127                  /* what shells say; nobody sees it */

enum step { STEP_DESCRIPTORS, STEP_FOLDER, STEP_DEATH_SIGNAL, STEP_PROGRAM };

struct report {
    enum step step;
    int error;
};

enum { EXTRA = STDERR_FILENO + 1, CONTROL, GIVEN };

struct plan {
    const struct mcpi_process_options *opt;
    const char *file; /* to execute; NULL: look for argv[0] */
    const mcp_allocator *mem;
    const char **env;
    char **files;    /* what to try to execute, in order; NULL at the end */
    int from[GIVEN]; /* become 0, 1, 2, 3, 4; -1: one that it does not get */
    int null;        /* /dev/null; -1: not needed */
    int report[2];
    int room; /* for the pidfd, so that there is one once the program runs */
    pid_t parent;
};

/* ---- in the child ------------------------------------------------------------- */

static _Noreturn void
child_fail(const struct plan *plan, enum step step, int error)
{
    struct report report = {.step = step, .error = error};
    ssize_t n = write(plan->report[1], &report, sizeof(report));

    (void)n; /* who would read it is gone, then */
    _exit(FAILED);
}

static bool
hide_listed(void)
{
    struct mcpi_procfs listed;
    long fd;

    if (mcpi_procfs_open(&listed, "/proc/self/fd") < 0)
        return false;
    for (fd = mcpi_procfs_next(&listed); fd >= 0; fd = mcpi_procfs_next(&listed)) {
        if (fd > STDERR_FILENO)
            (void)fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    }
    mcpi_procfs_close(&listed);
    return fd == -1;
}

static void
hide_each(void)
{
    struct rlimit limit;
    unsigned long max = DESCRIPTORS_MAX;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < max)
        max = (unsigned long)limit.rlim_max;
    for (unsigned long fd = STDERR_FILENO + 1; fd < max; fd++)
        (void)fcntl((int)fd, F_SETFD, FD_CLOEXEC); /* most are not open */
}

/* The sources are copied out of the way first: they may be among 0 to 4 themselves.
 * What the program around us opened without close-on-exec stays with it too (M13). */
static void
child_set_descriptors(const struct plan *plan)
{
    int from[GIVEN];

    for (int i = 0; i < GIVEN; i++) {
        from[i] = plan->from[i] < 0 ? -1 : fcntl(plan->from[i], F_DUPFD_CLOEXEC, GIVEN);
        if (from[i] < 0 && plan->from[i] >= 0)
            child_fail(plan, STEP_DESCRIPTORS, errno);
    }
    if (syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0 &&
        !hide_listed())
        hide_each();
    for (int i = 0; i < GIVEN; i++) {
        if (from[i] >= 0 && dup2(from[i], i) < 0)
            child_fail(plan, STEP_DESCRIPTORS, errno);
    }
}

/* Asked of the kernel: libc does not let anybody change the signals it uses itself, and
 * whoever started us may have left those ignored too. All zero is the default action, no
 * flags, an empty mask, on every system. Refused for a few that are never else. */
static void
child_reset_signals(void)
{
    static const char standard[64];
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        (void)syscall(SYS_rt_sigaction, i, standard, NULL, (size_t)(NSIG - 1) / 8);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* If we died before the kernel knew about the signal, it will not come (M22). A parent
 * outside of the child's pid namespace is seen as 0. */
static void
child_set_death_signal(const struct plan *plan)
{
    pid_t parent;

    if (plan->opt->death_signal == 0)
        return;
    if (prctl(PR_SET_PDEATHSIG, plan->opt->death_signal, 0, 0, 0) != 0)
        child_fail(plan, STEP_DEATH_SIGNAL, errno);
    parent = getppid();
    if (parent != plan->parent && parent != 0)
        _exit(FAILED);
}

static bool
is_elsewhere(int error)
{
    return error == ENOENT || error == ENOTDIR || error == ESTALE || error == ENODEV ||
           error == ETIMEDOUT;
}

/* As execvp: a folder without the file is passed over, one with a file that may not be
 * executed too, but is remembered. */
static _Noreturn void
child_execute(const struct plan *plan)
{
    char *const *argv = (char *const *)(uintptr_t)plan->opt->argv;
    char *const *env = (char *const *)(uintptr_t)plan->env;
    int error = ENOENT;

    for (char *const *file = plan->files; *file; file++) {
        execve(*file, argv, env);
        if (!is_elsewhere(errno) || !plan->files[1])
            error = errno;
        if (error != ENOENT && error != EACCES)
            break;
    }
    child_fail(plan, STEP_PROGRAM, error);
}

/* Not inlined: it must not share a place on the stack with what the parent needs. */
__attribute__((noinline)) static _Noreturn void
child_run(const struct plan *plan)
{
    (void)setsid(); /* a new process leads no group, so it cannot fail */
    child_set_descriptors(plan);
    if (plan->opt->cwd && chdir(plan->opt->cwd) != 0)
        child_fail(plan, STEP_FOLDER, errno);
    child_set_death_signal(plan);
    child_reset_signals();
    child_execute(plan);
}

/* ---- the plan ----------------------------------------------------------------- */

static int
fail_system(mcp_error *err, int error, const char *what)
{
    char text[80] = "not a program that this system can run"; /* libuv lacks those */
    int status = MCP_E_INVAL;

    if (error == EAGAIN || error == EMFILE || error == ENFILE)
        status = MCP_E_LIMIT;
    else if (error == ENOMEM)
        status = MCP_E_NOMEM;
    else if (error == ENOSYS)
        status = MCP_E_STATE;
    if (error != ENOEXEC && error != ELIBBAD)
        (void)uv_strerror_r(uv_translate_sys_error(error), text, sizeof(text));
    return mcpi_error_set(err, status, "%s: %s", what, text);
}

static int
fail_memory(mcp_error *err)
{
    (void)mcpi_error_set(err, MCP_E_NOMEM, "out of memory starting a process");
    return MCP_E_NOMEM;
}

/* Close-on-exec by itself. libc has no name for it before glibc 2.36. */
static int
pidfd_open_for(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool
same_name(const char *a, const char *b)
{
    size_t len = strcspn(a, "=");

    return strncmp(a, b, len) == 0 && b[len] == '=';
}

static bool
list_has_name(const char *const *list, const char *entry)
{
    for (; list && *list; list++) {
        if (same_name(entry, *list))
            return true;
    }
    return false;
}

static size_t
list_len(const char *const *list)
{
    size_t len = 0;

    while (list && list[len])
        len++;
    return len;
}

/* Does a program need it that is to know nothing of ours? A value that is a function of
 * a shell is code. */
static bool
entry_is_plain(const char *entry)
{
    static const char *const names[] = {
        "HOME=", "LOGNAME=", "PATH=", "SHELL=", "TERM=", "USER=", NULL};
    const char *value = strchr(entry, '=');

    return value && strncmp(value, "=()", 3) != 0 && list_has_name(names, entry);
}

/* Ours, without what is given; then what is given, the last of each name. */
static int
plan_environment(struct plan *plan, mcp_error *err)
{
    const char *const *ours = (const char *const *)environ;
    const char *const *given = plan->opt->env;
    size_t n = 0;

    for (size_t i = 0; given && given[i]; i++) {
        if (given[i][0] != '=' && strchr(given[i], '='))
            continue;
        (void)mcpi_error_set(err, MCP_E_INVAL, "not NAME=value: \"%s\"", given[i]);
        return MCP_E_INVAL;
    }
    plan->env = mcpi_alloc(plan->mem,
                           (list_len(ours) + list_len(given) + 1) * sizeof(*plan->env));
    if (!plan->env)
        return fail_memory(err);
    for (; ours && *ours; ours++) {
        if (plan->opt->clear_env && !entry_is_plain(*ours))
            continue;
        if (!list_has_name(given, *ours))
            plan->env[n++] = *ours;
    }
    for (; given && *given; given++) {
        if (!list_has_name(given + 1, *given))
            plan->env[n++] = *given;
    }
    plan->env[n] = NULL;
    return 0;
}

/* The program is looked up as it would look up others: in its own PATH. */
static const char *
plan_path(const struct plan *plan)
{
    for (const char *const *entry = plan->env; *entry; entry++) {
        if (same_name("PATH=", *entry))
            return *entry + strlen("PATH=");
    }
    return DEFAULT_PATH;
}

/* One block: the list, and behind it the texts it points to. An empty folder in PATH is
 * the current one. */
static int
plan_files(struct plan *plan, mcp_error *err)
{
    const char *name = plan->file ? plan->file : plan->opt->argv[0];
    const char *path = strchr(name, '/') || !*name ? "" : plan_path(plan);
    size_t count = 1, name_size = strlen(name) + 1, i = 0;
    char *text;

    for (const char *at = path; *at; at++)
        count += *at == ':';
    plan->files = mcpi_alloc(plan->mem, (count + 1) * sizeof(*plan->files) +
                                            strlen(path) + count * (name_size + 1));
    if (!plan->files)
        return fail_memory(err);
    text = (char *)(plan->files + count + 1);
    for (;;) {
        size_t len = strcspn(path, ":");

        plan->files[i++] = text;
        memcpy(text, path, len);
        text += len;
        if (len > 0)
            *text++ = '/';
        memcpy(text, name, name_size);
        text += name_size;
        path += len;
        if (*path++ == '\0')
            break;
    }
    plan->files[i] = NULL;
    return 0;
}

/* Without a stderr of ours to share there is /dev/null. */
static int
plan_descriptors(struct plan *plan, mcp_error *err)
{
    const struct mcpi_process_options *opt = plan->opt;

    plan->from[0] = opt->in;
    plan->from[1] = opt->out;
    plan->from[2] = opt->own_err ? opt->err : STDERR_FILENO;
    if (!opt->own_err && fcntl(STDERR_FILENO, F_GETFD) < 0)
        plan->from[2] = -1;
    plan->from[EXTRA] = opt->has_extra ? opt->extra : -1;
    for (int i = 0; i <= STDERR_FILENO; i++) {
        if (plan->from[i] >= 0)
            continue;
        if (plan->null < 0)
            plan->null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (plan->null < 0)
            return fail_system(err, errno, "cannot open /dev/null");
        plan->from[i] = plan->null;
    }
    return 0;
}

/* The child's end is none of those that it replaces. */
static int
plan_report(struct plan *plan, mcp_error *err)
{
    int moved;

    if (pipe2(plan->report, O_CLOEXEC) != 0) {
        plan->report[0] = plan->report[1] = -1;
        return fail_system(err, errno, "cannot make a pipe");
    }
    if (plan->report[1] >= GIVEN)
        return 0;
    moved = fcntl(plan->report[1], F_DUPFD_CLOEXEC, GIVEN);
    if (moved < 0)
        return fail_system(err, errno, "cannot make a pipe");
    close(plan->report[1]);
    plan->report[1] = moved;
    return 0;
}

/* Also finds out whether the system has such a thing, before anything is started; some
 * sandboxes do not permit what they do not know. */
static int
plan_room(struct plan *plan, mcp_error *err)
{
    plan->room = pidfd_open_for(plan->parent);
    if (plan->room >= 0)
        return 0;
    return fail_system(err, errno == EPERM ? ENOSYS : errno, "cannot watch a process");
}

static int
plan_init(struct plan *plan, const struct mcpi_process_options *opt, mcp_error *err)
{
    int r;

    plan->opt = opt;
    plan->mem = mcpi_mem_or_malloc(opt->mem);
    plan->parent = getpid();
    if (!opt->argv || !opt->argv[0])
        return mcpi_error_set(err, MCP_E_INVAL, "no program to run");
    r = plan_environment(plan, err);
    if (r == 0)
        r = plan_files(plan, err);
    if (r == 0)
        r = plan_descriptors(plan, err);
    if (r == 0)
        r = plan_report(plan, err);
    if (r == 0)
        r = plan_room(plan, err);
    return r;
}

static void
close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void
plan_done(struct plan *plan)
{
    close_if_open(&plan->report[0]);
    close_if_open(&plan->report[1]);
    close_if_open(&plan->room);
    close_if_open(&plan->null);
    mcpi_free(plan->mem, plan->files);
    mcpi_free(plan->mem, plan->env);
}

/* ---- in the parent ------------------------------------------------------------ */

/* Nothing that is used later may change after vfork: no locals but these. */
static pid_t
plan_fork(const struct plan *plan)
{
    sigset_t all, before;
    pid_t pid;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
    if (pid == 0)
        child_run(plan); /* NOLINT(clang-analyzer-unix.Vfork): see above */
    error = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return pid;
}

/* Does it run another program than ours? If nothing can be seen, vfork has waited. */
static bool
has_executed(pid_t pid)
{
    struct mcpi_procfs_stat stat;

    return !mcpi_procfs_is_ours() || mcpi_procfs_stat(pid, &stat) < 0 ||
           stat.state == 'Z' || !(stat.flags & MCPI_PROCFS_FORKED);
}

/* True: *ret_report says why it failed. */
static bool
plan_wait_report(const struct plan *plan, pid_t pid, struct report *ret_report)
{
    struct pollfd watched = {.fd = plan->report[0], .events = POLLIN};
    ssize_t n;
    int r;

    for (;;) {
        r = poll(&watched, 1, EXECUTED_MS);
        if (r == 0 && has_executed(pid)) {
            r = poll(&watched, 1, 0); /* it may have failed since */
            if (r == 0)
                return false;
        }
        if (r <= 0)
            continue; /* not yet, or interrupted */
        n = read(plan->report[0], ret_report, sizeof(*ret_report));
        if (n >= 0 || errno != EINTR)
            return n == (ssize_t)sizeof(*ret_report);
    }
}

/* It is about to exit. */
static void
failed_reap(int pidfd)
{
    siginfo_t info;

    if (pidfd < 0)
        return; /* it has, and the program around us has waited for it */
    while (waitid(WAIT_PIDFD, (id_t)pidfd, &info, WEXITED) != 0 && errno == EINTR)
        continue;
    close(pidfd);
}

static int
fail_report(const struct plan *plan, const struct report *report, mcp_error *err)
{
    char what[160];

    switch (report->step) {
    case STEP_FOLDER:
        (void)snprintf(what, sizeof(what), "cannot enter the folder \"%s\"",
                       plan->opt->cwd);
        return fail_system(err, report->error, what);
    case STEP_PROGRAM:
        (void)snprintf(what, sizeof(what), "cannot run \"%s\"",
                       plan->file ? plan->file : plan->opt->argv[0]);
        return fail_system(err, report->error, what);
    case STEP_DEATH_SIGNAL:
        return fail_system(err, report->error, "cannot ask for a signal at our death");
    case STEP_DESCRIPTORS:
    default:
        return fail_system(err, report->error, "cannot hand over descriptors");
    }
}

/* The room was made for it, but somebody else was faster: take the program back. */
static int
fail_pidfd(pid_t pid, mcp_error *err)
{
    int error = errno;

    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return fail_system(err, error, "cannot watch a process");
}

static int
plan_run(struct plan *plan, pid_t *ret_pid, int *ret_pidfd, mcp_error *err)
{
    struct report report;
    pid_t pid;
    int pidfd;

    pid = plan_fork(plan);
    if (pid < 0)
        return fail_system(err, errno, "cannot start a process");
    close_if_open(&plan->room);
    close_if_open(&plan->report[1]);
    pidfd = pidfd_open_for(pid);
    if (pidfd < 0 && errno != ESRCH)
        return fail_pidfd(pid, err);
    if (plan_wait_report(plan, pid, &report)) {
        failed_reap(pidfd);
        return fail_report(plan, &report, err);
    }
    *ret_pid = pid;
    *ret_pidfd = pidfd;
    return 0;
}

int
mcpi_spawn(const struct mcpi_process_options *opt, pid_t *ret_pid, int *ret_pidfd,
           mcp_error *err)
{
    return mcpi_spawn_keeper(opt, NULL, -1, ret_pid, ret_pidfd, err);
}

int
mcpi_spawn_keeper(const struct mcpi_process_options *opt, const char *file, int control,
                  pid_t *ret_pid, int *ret_pidfd, mcp_error *err)
{
    struct plan plan = {.file = file, .null = -1, .report = {-1, -1}, .room = -1};
    int cancelable, r;

    plan.from[CONTROL] = control;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelable);
    r = plan_init(&plan, opt, err);
    if (r == 0)
        r = plan_run(&plan, ret_pid, ret_pidfd, err);
    plan_done(&plan);
    (void)pthread_setcancelstate(cancelable, NULL);
    return r;
}
