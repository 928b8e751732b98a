/*
 * interrupt.c - Ctrl-C, and a reader that goes away
 *
 * The handler may do only what is allowed in one: mcp_scope_cancel is, by its contract.
 * Signals of this kind reach the main thread alone, since those of the library block
 * them, so that the scope cannot go away under the handler: the main thread takes it out
 * of `scope` before it frees it. The thread that looks at stdout is kept from it by the
 * lock.
 */
#include "cli/interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cli/clock.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static struct {
    _Atomic(mcp_scope *) scope;
    atomic_int first; /* the signal */
    atomic_llong first_ms;
    atomic_int count;
    atomic_int group;
    atomic_bool output_gone;
    int pipe[2]; /* of the signal handler's */
    int stop[2]; /* ends the thread */
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* the thread uses the scope */
    bool has_terminal;
    struct termios terminal; /* as it was */
} state = {.pipe = {-1, -1}, .stop = {-1, -1}, .lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- signals ------------------------------------------------------------------- */

static _Noreturn void
kill_all(void)
{
    int group = atomic_load(&state.group);

    if (group > 1)
        (void)kill(-group, SIGKILL);
    if (state.has_terminal) /* a question may have turned its echo off */
        (void)tcsetattr(STDERR_FILENO, TCSANOW, &state.terminal);
    _exit(CLI_CANCELED);
}

bool
cli_interrupt_is_same(int first, int64_t first_ms, int number, int64_t now_ms)
{
    return number == first && now_ms - first_ms < CLI_SAME_PRESS_MS;
}

static void
on_signal(int number)
{
    int saved = errno;
    mcp_scope *scope = atomic_load(&state.scope);
    /* it only looks at a clock, NOLINTNEXTLINE(bugprone-signal-handler) */
    int64_t now = cli_now_ms();
    ssize_t n;

    if (cli_interrupt_is_same(atomic_load(&state.first), atomic_load(&state.first_ms),
                              number, now))
        return;
    if (atomic_fetch_add(&state.count, 1) > 0)
        kill_all();
    atomic_store(&state.first_ms, now);
    atomic_store(&state.first, number);
    n = write(state.pipe[1], "", 1);
    (void)n;   /* a full pipe is readable, too */
    if (scope) /* allowed here, NOLINTNEXTLINE(bugprone-signal-handler) */
        (void)mcp_scope_cancel(scope, number == SIGINT ? "Ctrl-C" : "mcpctl is ending");
    errno = saved;
}

static void
signals_set(void (*handler)(int number))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigaction before;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        /* what we were told to ignore (nohup) stays so */
        if (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    }
}

/* ---- the reader of stdout ------------------------------------------------------ */

static void *
watch_output(void *user)
{
    struct pollfd fds[2] = {{.fd = STDOUT_FILENO},
                            {.fd = state.stop[0], .events = POLLIN}};
    mcp_scope *scope;

    (void)user;
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        continue;
    if (fds[1].revents || !(fds[0].revents & (POLLERR | POLLHUP | POLLNVAL)))
        return NULL;
    atomic_store(&state.output_gone, true);
    pthread_mutex_lock(&state.lock);
    scope = atomic_load(&state.scope);
    if (scope)
        (void)mcp_scope_cancel(scope, "nobody reads the output");
    pthread_mutex_unlock(&state.lock);
    return NULL;
}

static void
watch_begin(void)
{
    struct stat stat;
    sigset_t all, before;

    if (fstat(STDOUT_FILENO, &stat) != 0 ||
        (!S_ISFIFO(stat.st_mode) && !S_ISSOCK(stat.st_mode)))
        return;
    if (pipe2(state.stop, O_CLOEXEC) != 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    state.has_thread = pthread_create(&state.thread, NULL, watch_output, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
watch_end(void)
{
    if (state.has_thread) {
        ssize_t n = write(state.stop[1], "", 1);

        (void)n;
        pthread_join(state.thread, NULL);
    }
    state.has_thread = false;
    for (int i = 0; i < 2; i++) {
        if (state.stop[i] >= 0)
            close(state.stop[i]);
        state.stop[i] = -1;
    }
}

/* ---- the interface ------------------------------------------------------------- */

void
cli_interrupt_begin(struct cli *cli, bool watch)
{
    if (pipe2(state.pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        state.pipe[0] = state.pipe[1] = -1;
    state.has_terminal = tcgetattr(STDERR_FILENO, &state.terminal) == 0;
    atomic_store(&state.scope, cli->scope);
    (void)signal(SIGPIPE, SIG_IGN); /* a write says so, and we end in good order */
    signals_set(on_signal);
    if (watch)
        watch_begin();
}

void
cli_interrupt_end(struct cli *cli)
{
    (void)cli;
    cli_interrupt_scope(NULL);
    watch_end();
    signals_set(SIG_DFL);
    for (int i = 0; i < 2; i++) {
        if (state.pipe[i] >= 0)
            close(state.pipe[i]);
        state.pipe[i] = -1;
    }
}

void
cli_interrupt_scope(mcp_scope *scope)
{
    pthread_mutex_lock(&state.lock);
    atomic_store(&state.scope, scope);
    pthread_mutex_unlock(&state.lock);
    if (scope && (atomic_load(&state.output_gone) || atomic_load(&state.first)))
        (void)mcp_scope_cancel(scope, "canceled before it began");
}

void
cli_interrupt_group(int64_t pid)
{
    atomic_store(&state.group, (int)pid);
}

int
cli_interrupt_signal(void)
{
    return atomic_load(&state.first);
}

void
cli_interrupt_forget(void)
{
    char byte[16];

    while (state.pipe[0] >= 0 && read(state.pipe[0], byte, sizeof(byte)) > 0)
        continue;
    atomic_store(&state.first, 0);
    atomic_store(&state.count, 0);
}

int
cli_interrupt_fd(void)
{
    return state.pipe[0];
}

bool
cli_interrupt_output_gone(void)
{
    return atomic_load(&state.output_gone);
}

void
cli_interrupt_set_output_gone(void)
{
    atomic_store(&state.output_gone, true);
}

static void
die_by(int number)
{
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

int
cli_interrupt_exit(int code)
{
    int first = cli_interrupt_signal();

    if (cli_interrupt_output_gone())
        die_by(SIGPIPE);
    if (first != 0 && first != SIGINT && code == CLI_CANCELED)
        die_by(first);
    return code;
}
