/*
 * watch.c - what stops a running server from outside: signals, and its parent's end
 *
 * Signals are blocked in the thread that runs and read from a descriptor; dispositions
 * are the program's. After the first one the mask is what it was, so that a second one
 * does what it would do without us (M17). A parent is watched through a pidfd; its
 * number is looked at again afterwards, because it may have gone, and its number with
 * it, before the descriptor was there (M18).
 */
#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/server.h"
#include "base/text.h"

/* The handle is the server's: libuv gives it back when its loop runs next, or is
 * freed. */
static int
poll_open(mcp_server *server, uv_poll_t *poll, int fd, uv_poll_cb fn)
{
    if (uv_poll_init(mcpi_loop_uv(server->trunk.host.inside), poll, fd) < 0)
        return MCP_E_LIMIT;
    poll->data = server;
    uv_poll_start(poll, UV_READABLE, fn);
    return 0;
}

/* ---- signals ------------------------------------------------------------ */

/* Those alone that we have blocked: the loop on this stack holds SIGPIPE, and one that
 * waits there would kill us (M21). */
static void
signals_unmask(struct mcpi_watch *watch)
{
    if (watch->is_masked)
        pthread_sigmask(SIG_UNBLOCK, &watch->masked, NULL);
    watch->is_masked = false;
}

/* The next signal that waits, or 0. */
static int
signals_read(const struct mcpi_watch *watch)
{
    struct signalfd_siginfo info;
    ssize_t n;

    do
        n = read(watch->signal_fd, &info, sizeof(info));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

static void
on_signal(uv_poll_t *poll, int status, int events)
{
    mcp_server *server = poll->data;
    int signal = signals_read(&server->watch);

    (void)status;
    (void)events;
    if (signal == 0)
        return;
    MCPI_LOG(&server->trunk.host.log, MCP_LOG_INFO, "signal %d: stopping", signal);
    uv_poll_stop(poll);
    mcpi_server_begin_stop(server);
    signals_unmask(&server->watch);
}

static const int stopping[] = {SIGTERM, SIGINT, SIGHUP};
#define STOPPING (sizeof(stopping) / sizeof(stopping[0]))

static void
signals_mask(struct mcpi_watch *watch, const sigset_t *set)
{
    sigset_t before;

    pthread_sigmask(SIG_BLOCK, set, &before);
    sigemptyset(&watch->masked);
    for (size_t i = 0; i < STOPPING; i++)
        if (sigismember(&before, stopping[i]) != 1)
            sigaddset(&watch->masked, stopping[i]);
    watch->is_masked = true;
}

static int
signals_open(mcp_server *server, mcp_error *err)
{
    struct mcpi_watch *watch = &server->watch;
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < STOPPING; i++)
        sigaddset(&set, stopping[i]);
    fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0 || poll_open(server, &watch->signals, fd, on_signal) < 0) {
        (void)mcpi_error_set(err, MCP_E_LIMIT, "signals cannot be watched: %s",
                             strerror(errno));
        if (fd >= 0)
            close(fd);
        return MCP_E_LIMIT;
    }
    watch->signal_fd = fd;
    signals_mask(watch, &set);
    return 0;
}

/* Signals that nobody has read yet wanted the end that has come. */
static void
signals_close(struct mcpi_watch *watch)
{
    if (watch->signal_fd < 0)
        return;
    uv_close((uv_handle_t *)&watch->signals, NULL);
    while (watch->is_masked && signals_read(watch) != 0)
        continue;
    signals_unmask(watch);
    close(watch->signal_fd);
    watch->signal_fd = -1;
}

/* ---- the parent --------------------------------------------------------- */

static void
parent_gone(mcp_server *server)
{
    MCPI_LOG(&server->trunk.host.log, MCP_LOG_INFO,
             "the parent process is gone: stopping");
    mcp_server_stop(server);
}

static void
on_parent(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    uv_poll_stop(poll);
    parent_gone(poll->data);
}

/* One that cannot be watched, for it is in another pid namespace, is let be. */
static void
parent_open(mcp_server *server)
{
    struct mcpi_watch *watch = &server->watch;
    int fd = (int)syscall(SYS_pidfd_open, server->parent, 0);

    if (getppid() != server->parent) {
        if (fd >= 0)
            close(fd);
        parent_gone(server);
        return;
    }
    if (fd < 0 || poll_open(server, &watch->parent, fd, on_parent) < 0) {
        MCPI_LOG(&server->trunk.host.log, MCP_LOG_WARNING,
                 "the parent cannot be watched: %s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return;
    }
    watch->parent_fd = fd;
}

static void
parent_close(struct mcpi_watch *watch)
{
    if (watch->parent_fd < 0)
        return;
    uv_close((uv_handle_t *)&watch->parent, NULL);
    close(watch->parent_fd);
    watch->parent_fd = -1;
}

/* ---- both --------------------------------------------------------------- */

int
mcpi_watch_open(mcp_server *server, const mcp_run_options *opt, mcp_error *err)
{
    int r = 0;

    if (opt->signals)
        r = signals_open(server, err);
    if (r == 0 && opt->watch_parent)
        parent_open(server);
    return r;
}

void
mcpi_watch_close(mcp_server *server)
{
    signals_close(&server->watch);
    parent_close(&server->watch);
}
