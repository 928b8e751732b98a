/*
 * keeper.c - a process of ours between us and what must not get away
 *
 * Over control, one message each. From us: an int, a signal for everybody below. From
 * the keeper: a `struct told`. First THERE, then BEGUN or FAILED, and ENDED as soon as
 * that is known; that nobody is left is its own exit.
 *
 * Until it is THERE it may be killed, and nobody else has to be: it starts nobody before
 * it has said so and then seen that we still want it. From then on it is told, since all
 * but the first one would outlive it.
 *
 * Once the first one has ended, what is left is killed at once; unless a signal was
 * passed on before, for then it was told to end, and we say when its time is over.
 */
#include "run/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/timers.h"
#include "run/loop.h"
#include "run/spawn.h"
#include "run/tree.h"

#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define MARK "--libmcp-keeper"
#define COMMAND "command"
#define SELF "self"
#define WORDS 3 /* in argv: after the name, the mark, and what is kept */
#define EXTRA 3
#define CONTROL 4
#define START_US INT64_C(30000000) /* for main to come to us, on a busy machine */
/* After SIGKILL only the kernel is slow. */
#define REAP_US INT64_C(2000000)
#define MISUSED 2 /* exit code: this was not started by us */
/* Until the next kill, if nobody dies, which wakes us: twice as long each time. Who is
 * left then is another user's, or stuck in the kernel. */
#define AGAIN_FIRST_MS 5
#define AGAIN_MOST_MS 1000

enum tale { THERE, BEGUN, FAILED, ENDED };

struct told {
    enum tale tale;
    int value; /* FAILED: a status; ENDED: as waitpid has it */
    char text[sizeof(((mcp_error *)0)->message)]; /* FAILED: why */
};

/* In the program: as it was called; NULL: mcpi_keeper_enter was not. */
static const char *program;

/* ---- the keeper ------------------------------------------------------------------ */

struct keeper {
    pid_t parent; /* who started us */
    int control;
    int signals; /* a signalfd */
    bool has_extra;
    pid_t first;  /* 0: has ended */
    bool asked;   /* a signal was passed on */
    bool hung_up; /* nothing more comes over control */
    bool killing; /* until nobody is left */
    int again_ms;
    int dumpable; /* as it was executed */
};

static void
tell(const struct keeper *keeper, const struct told *told)
{
    (void)send(keeper->control, told, sizeof(*told), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void
tell_that(const struct keeper *keeper, enum tale tale)
{
    const struct told told = {.tale = tale};

    tell(keeper, &told);
}

static _Noreturn void
keeper_fail(const struct keeper *keeper, const mcp_error *err)
{
    struct told told = {.tale = FAILED, .value = err->status};

    memcpy(told.text, err->message, sizeof(told.text));
    tell(keeper, &told);
    _exit(0);
}

static bool
control_is_ours(void)
{
    socklen_t size = sizeof(int);
    int type = 0;

    return getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

/* Who made the pair, whether it still lives or not. */
static pid_t
control_maker(void)
{
    struct ucred maker = {.pid = 0};
    socklen_t size = sizeof(maker);

    (void)getsockopt(CONTROL, SOL_SOCKET, SO_PEERCRED, &maker, &size);
    return maker.pid;
}

static bool
keeper_is_alone(const struct keeper *keeper)
{
    return getppid() != keeper->parent;
}

/* Before anybody is below us: nobody there may trace us then, look into our memory or
 * take our descriptors, though they are of the same user. */
static void
keeper_hide(struct keeper *keeper)
{
    keeper->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* They are blocked before anybody is started, so that none is missed. A death before
 * that is seen by itself. */
static void
keeper_init(struct keeper *keeper)
{
    mcp_error err = {.status = 0};
    sigset_t caught, all;

    *keeper = (struct keeper){
        .parent = control_maker(), .control = CONTROL, .again_ms = AGAIN_FIRST_MS};
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGCONT, 0, 0, 0); /* heard by who was stopped */
    if (keeper_is_alone(keeper))
        _exit(0);
    keeper_hide(keeper);
    sigemptyset(&caught);
    sigaddset(&caught, SIGCHLD);
    sigaddset(&caught, SIGTERM);
    sigaddset(&caught, SIGINT);
    sigaddset(&caught, SIGHUP);
    sigaddset(&caught, SIGCONT);
    (void)fcntl(CONTROL, F_SETFD, FD_CLOEXEC);
    keeper->has_extra = fcntl(EXTRA, F_SETFD, FD_CLOEXEC) == 0; /* there is one */
    keeper->signals = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
    if (keeper->signals < 0)
        (void)mcpi_error_set(&err, MCP_E_LIMIT, "a keeper cannot watch its children");
    else if (mcpi_tree_root() < 0)
        (void)mcpi_error_set(&err, MCP_E_STATE,
                             "this system cannot keep what a process starts");
    if (err.status < 0)
        keeper_fail(keeper, &err);
}

/* Whatever was said before there is anybody to say it to means the end. */
static void
keeper_report(const struct keeper *keeper)
{
    struct pollfd control = {.fd = keeper->control, .events = POLLIN};

    tell_that(keeper, THERE);
    if (poll(&control, 1, 0) != 0)
        _exit(0);
}

/* What was given to us are its descriptors, its environment and its folder. */
static void
keeper_start_command(struct keeper *keeper, char **words)
{
    struct mcpi_process_options opt = {
        .argv = (const char *const *)words,
        .in = STDIN_FILENO,
        .out = STDOUT_FILENO,
        .err = STDERR_FILENO,
        .own_err = true,
        .extra = EXTRA,
        .has_extra = keeper->has_extra,
        .death_signal = SIGKILL,
    };
    mcp_error err = {.status = 0};
    int pidfd;

    if (mcpi_spawn(&opt, &keeper->first, &pidfd, &err) < 0)
        keeper_fail(keeper, &err);
    close(pidfd);
}

/* What it starts keeps our user, so that nobody is out of reach. It may be traced and may
 * leave a core, as the program may; what is executed may anyway. */
static void
self_prepare(const struct keeper *keeper, pid_t parent)
{
    sigset_t none;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || getppid() != parent)
        _exit(0);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (keeper->dumpable == 1)
        (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    (void)setsid();
    close(keeper->control);
    close(keeper->signals);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* True in what is kept. */
static bool
keeper_start_self(struct keeper *keeper)
{
    pid_t parent = getpid();
    mcp_error err = {.status = 0};

    keeper->first = fork();
    if (keeper->first == 0) {
        self_prepare(keeper, parent);
        return true;
    }
    if (keeper->first < 0) {
        (void)mcpi_error_set(&err, errno == ENOMEM ? MCP_E_NOMEM : MCP_E_LIMIT,
                             "a keeper cannot start a process");
        keeper_fail(keeper, &err);
    }
    return false;
}

/* Whoever reads from what is kept sees its end when that has ended. */
static void
keeper_let_go(const struct keeper *keeper)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int i = 0; i <= STDERR_FILENO; i++) {
        if (null < 0 || dup2(null, i) < 0)
            close(i);
    }
    if (null > STDERR_FILENO)
        close(null);
    if (keeper->has_extra)
        close(EXTRA);
}

static void
keeper_hear(struct keeper *keeper)
{
    int signal = 0;
    ssize_t n = recv(keeper->control, &signal, sizeof(signal), MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n != (ssize_t)sizeof(signal) || signal == SIGKILL) {
        keeper->killing = true;
        if (n <= 0)
            keeper->hung_up = true;
        return;
    }
    keeper->asked = true;
    mcpi_tree_signal(signal);
}

/* SIGCONT comes from whoever likes, and when our parent dies. */
static void
keeper_catch(struct keeper *keeper)
{
    struct signalfd_siginfo info;

    while (read(keeper->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCONT)
            keeper->killing = keeper->killing || keeper_is_alone(keeper);
        else if (info.ssi_signo != SIGCHLD)
            keeper->killing = true;
        keeper->again_ms = AGAIN_FIRST_MS;
    }
}

/* True: somebody is left. */
static bool
keeper_reap(struct keeper *keeper)
{
    struct told told = {.tale = ENDED, .value = MCPI_WAIT_UNKNOWN};
    bool left = mcpi_tree_reap(keeper->first, &told.value);

    if (told.value == MCPI_WAIT_UNKNOWN)
        return left;
    tell(keeper, &told);
    keeper->first = 0;
    keeper->killing = keeper->killing || !keeper->asked;
    return left;
}

static _Noreturn void
keeper_keep(struct keeper *keeper)
{
    struct pollfd fds[2] = {{.fd = keeper->control, .events = POLLIN},
                            {.fd = keeper->signals, .events = POLLIN}};
    int timeout = -1;

    while (keeper_reap(keeper)) {
        if (keeper->killing) {
            mcpi_tree_signal(SIGKILL);
            timeout = keeper->again_ms;
            keeper->again_ms *= timeout < AGAIN_MOST_MS ? 2 : 1;
        }
        fds[0].fd = keeper->hung_up ? -1 : keeper->control;
        if (poll(fds, 2, timeout) < 0)
            continue;
        if (fds[0].revents)
            keeper_hear(keeper);
        if (fds[1].revents)
            keeper_catch(keeper);
    }
    _exit(0);
}

/* ---- in main --------------------------------------------------------------------- */

static _Noreturn void
misused(void)
{
    static const char text[] = "this way of starting a program is libmcp's own\n";
    ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void)n;
    _exit(MISUSED);
}

int
mcpi_keeper_enter(int argc, char **argv, char ***ret_words)
{
    struct keeper keeper;
    bool is_self;

    program = argc > 0 ? argv[0] : "";
    if (argc < WORDS || strcmp(argv[1], MARK) != 0)
        return 0;
    is_self = strcmp(argv[2], SELF) == 0;
    if (!control_is_ours() || (!is_self && strcmp(argv[2], COMMAND) != 0))
        misused();
    keeper_init(&keeper);
    keeper_report(&keeper);
    if (is_self && keeper_start_self(&keeper)) {
        *ret_words = argv + WORDS;
        return 1;
    }
    if (!is_self)
        keeper_start_command(&keeper, argv + WORDS);
    keeper_let_go(&keeper);
    tell_that(&keeper, BEGUN);
    keeper_keep(&keeper);
}

bool
mcpi_keeper_is_ready(void)
{
    return program != NULL;
}

/* ---- the parent ------------------------------------------------------------------ */

/* The name of the program, the mark, what is kept, its words. */
static const char **
make_argv(const mcp_allocator *mem, const struct mcpi_process_options *opt)
{
    size_t count = 0;
    const char **argv;

    while (opt->argv && opt->argv[count])
        count++;
    argv = mcpi_alloc(mem, (WORDS + count + 1) * sizeof(*argv));
    if (!argv)
        return NULL;
    argv[0] = program;
    argv[1] = MARK;
    argv[2] = opt->kept == MCPI_KEPT_SELF ? SELF : COMMAND;
    for (size_t i = 0; i < count; i++)
        argv[WORDS + i] = opt->argv[i];
    argv[WORDS + count] = NULL;
    return argv;
}

/* False: nothing more, for now. */
static bool
hear(struct mcpi_process *process, struct told *ret_told)
{
    ssize_t n;

    do {
        n = recv(process->control, ret_told, sizeof(*ret_told), MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(*ret_told))
        return false;
    process->there = true;
    process->begun = process->begun || ret_told->tale == BEGUN;
    process->ended = ret_told->tale == ENDED;
    if (ret_told->tale == ENDED)
        process->wait_status = ret_told->value;
    if (ret_told->tale == FAILED)
        process->failure = ret_told->value;
    return true;
}

static int
ms_until(int64_t until)
{
    int64_t left = until - mcpi_loop_clock();

    return left > 0 ? (int)(left / 1000) + 1 : 0;
}

static int
fail_timeout(const struct mcpi_process *process, mcp_error *err)
{
    return mcpi_error_set(err, MCP_E_TIMEOUT,
                          process->there
                              ? "the program does not begin"
                              : "the program does not come to mcp_isolated_enter");
}

/* Until it says how it began, or is gone, or is not wanted any more. A program that does
 * not come to that is not waited for. */
static int
await_begin(struct mcpi_process *process, const struct mcpi_process_options *opt,
            int64_t until, mcp_error *err)
{
    struct pollfd fds[3] = {
        {.fd = process->control, .events = POLLIN},
        {.fd = process->pidfd, .events = POLLIN},
        {.fd = opt->has_cancel ? opt->cancel : -1, .events = POLLIN}};
    struct told told = {.tale = THERE};
    bool gone = process->pidfd < 0;

    while (!process->begun && process->failure == 0) {
        if (hear(process, &told))
            continue;
        if (gone)
            return mcpi_error_set(err, MCP_E_STATE, "a keeper ended at its start");
        if (fds[2].revents)
            return mcpi_error_set(err, MCP_E_CANCELED, "%s",
                                  mcp_status_text(MCP_E_CANCELED));
        if (mcpi_loop_clock() >= until)
            return fail_timeout(process, err);
        if (poll(fds, 3, ms_until(until)) > 0)
            gone = fds[1].revents != 0 || (fds[0].revents & POLLHUP);
    }
    if (process->begun)
        return 0;
    told.text[sizeof(told.text) - 1] = '\0';
    return mcpi_error_set(err, told.value, "%s", told.text);
}

static int
spawn_with(struct mcpi_process *process, const struct mcpi_process_options *opt,
           const int control[2], mcp_error *err)
{
    struct mcpi_process_options keeper = *opt;
    const mcp_allocator *mem = mcpi_mem_or_malloc(opt->mem);
    const char **argv = make_argv(mem, opt);
    pid_t pid = 0;
    int pidfd = -1, r;

    if (!argv)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory starting a process");
    keeper.argv = argv;
    keeper.death_signal = SIGKILL; /* until it has somebody to end: keeper_init */
    r = mcpi_spawn_keeper(&keeper, "/proc/self/exe", control[1], &pid, &pidfd, err);
    mcpi_free(mem, argv);
    if (r < 0)
        return r;
    *process = (struct mcpi_process){.pid = pid, .pidfd = pidfd, .control = control[0]};
    process->wait_status = MCPI_WAIT_UNKNOWN;
    process->exited = process->reaped = pidfd < 0;
    return 0;
}

int
mcpi_keeper_spawn(struct mcpi_process *process, const struct mcpi_process_options *opt,
                  mcp_error *err)
{
    struct mcpi_process kept = {.pidfd = -1, .control = -1};
    int64_t within;
    int control[2], r;

    if (!mcpi_keeper_is_ready())
        return mcpi_error_set(err, MCP_E_STATE,
                              "the program did not call mcp_isolated_enter");
    if (opt->kept == MCPI_KEPT_COMMAND && (!opt->argv || !opt->argv[0]))
        return mcpi_error_set(err, MCP_E_INVAL, "no program to run");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0)
        return mcpi_error_set(err, MCP_E_LIMIT, "no descriptors left for a keeper");
    r = spawn_with(&kept, opt, control, err);
    close(control[1]);
    if (r < 0) {
        close(control[0]);
        return r;
    }
    if (opt->start_us >= 0) {
        within = opt->start_us > 0 && opt->start_us < START_US ? opt->start_us
                                                               : START_US;
        r = await_begin(&kept, opt, mcpi_time_add(mcpi_loop_clock(), within), err);
    }
    if (r < 0)
        (void)mcpi_process_done(&kept, REAP_US); /* it is about to exit */
    else
        *process = kept;
    return r;
}

/* One that was stopped goes on to do what it was told. What it has said is looked at
 * after it was told: see above. */
void
mcpi_keeper_wake(struct mcpi_process *process)
{
    (void)mcpi_keeper_poll(process);
    (void)syscall(SYS_pidfd_send_signal, process->pidfd,
                  process->there ? SIGCONT : SIGKILL, NULL, 0);
}

int
mcpi_keeper_signal(struct mcpi_process *process, int signal)
{
    ssize_t n;

    do {
        n = send(process->control, &signal, sizeof(signal),
                 MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(signal))
        return errno == EPIPE || errno == ECONNRESET ? MCP_E_CLOSED : MCP_E_STATE;
    if (signal == SIGKILL)
        mcpi_keeper_wake(process);
    return 0;
}

/* More than close: a fork of ours may have it open too. */
void
mcpi_keeper_end(struct mcpi_process *process)
{
    (void)shutdown(process->control, SHUT_WR);
    mcpi_keeper_wake(process);
}

bool
mcpi_keeper_poll(struct mcpi_process *process)
{
    struct told told;

    while (!process->ended && hear(process, &told))
        continue;
    return process->ended;
}
