/* unix.c - Unix sockets: listening, connecting, and a listener on a loop */
#include "link/unix.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "link/descriptor.h"
#include "run/fd.h"

#define ACCEPTS_A_TURN 64 /* clients that come all at once do not stop the others */
#define RETRY_US 100000   /* without descriptors: often enough to go unnoticed */
#define LOCK_TRIES 40     /* of 10 ms; a lock that is held for longer is not ours */

/* ---- words for errors ------------------------------------------------------ */

static int
fail(mcp_error *err, int status, const char *what, const char *path, const char *why)
{
    if (err) {
        *err = (mcp_error){.status = status};
        (void)snprintf(err->message, sizeof(err->message), "%s %.120s: %s", what, path,
                       why);
    }
    return status;
}

static bool
errno_is_limit(int number)
{
    return number == EMFILE || number == ENFILE || number == ENOBUFS ||
           number == ENOMEM;
}

static int
fail_errno(mcp_error *err, const char *what, const char *path)
{
    int number = errno;

    return fail(err, errno_is_limit(number) ? MCP_E_LIMIT : MCP_E_INVAL, what, path,
                strerror(number));
}

/* ---- addresses ------------------------------------------------------------- */

struct address {
    struct sockaddr_un un;
    socklen_t len;
};

/* "@name" is an abstract address: it begins with a zero byte and has no file. */
static int
address_read(struct address *a, const char *path, mcp_error *err)
{
    size_t len = strlen(path);

    *a = (struct address){.un = {.sun_family = AF_UNIX}};
    if (len == 0 || len >= sizeof(a->un.sun_path))
        return fail(err, MCP_E_INVAL, "cannot use the socket path", path,
                    len == 0 ? "it is empty" : "it is too long");
    memcpy(a->un.sun_path, path, len);
    a->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    if (path[0] == '@')
        a->un.sun_path[0] = '\0';
    else
        a->len++;
    return 0;
}

static const struct sockaddr *
address_of(const struct address *a)
{
    return (const struct sockaddr *)&a->un;
}

static int
socket_new(void)
{
    return mcpi_fd_above_stdio(
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/* ---- listening ------------------------------------------------------------- */

/* Is this a socket file on which nobody listens any more? */
static bool
address_is_stale(const struct address *a)
{
    struct stat st;
    bool stale;
    int fd;

    if (a->un.sun_path[0] == '\0' || lstat(a->un.sun_path, &st) < 0 ||
        !S_ISSOCK(st.st_mode))
        return false;
    fd = socket_new();
    if (fd < 0)
        return false;
    stale = connect(fd, address_of(a), a->len) < 0 && errno == ECONNREFUSED;
    (void)close(fd);
    return stale;
}

/* Two that start at the same moment must not take each other's socket, not yet
 * listening, for a stale one. Best effort: -1 is no lock. */
static int
folder_lock(const struct address *a)
{
    const struct timespec pause = {.tv_nsec = 10000000};
    char folder[sizeof(a->un.sun_path)];
    char *slash;
    int fd;

    if (a->un.sun_path[0] == '\0')
        return -1;
    memcpy(folder, a->un.sun_path, sizeof(folder));
    slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    for (int i = 0; i < LOCK_TRIES && flock(fd, LOCK_EX | LOCK_NB) < 0; i++)
        (void)nanosleep(&pause, NULL);
    return fd;
}

static int
address_bind(int fd, const struct address *a)
{
    if (bind(fd, address_of(a), a->len) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return -1;
    if (address_is_stale(a) && unlink(a->un.sun_path) == 0)
        return bind(fd, address_of(a), a->len);
    errno = EADDRINUSE;
    return -1;
}

/* The mode of a socket file is that of the socket when it is bound: nobody else can
 * connect, not even for a moment. */
static int
address_listen(int fd, const struct address *a)
{
    int lock, r, number;

    if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
        return -1;
    lock = folder_lock(a);
    r = address_bind(fd, a);
    if (r == 0)
        r = listen(fd, SOMAXCONN);
    number = errno;
    if (lock >= 0)
        (void)close(lock);
    errno = number;
    return r;
}

int
mcpi_unix_listen(const char *path, int *ret_fd, mcp_error *err)
{
    struct address a;
    int fd, r;

    r = address_read(&a, path, err);
    if (r < 0)
        return r;
    fd = socket_new();
    if (fd < 0)
        return fail_errno(err, "cannot listen on", path);
    if (address_listen(fd, &a) < 0) {
        r = fail_errno(err, "cannot listen on", path);
        (void)close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* ---- connecting ------------------------------------------------------------ */

/* The kernel waits for room in the queue as long as a send may take. */
static void
fd_wait_at_most(int fd, int64_t us)
{
    struct timeval limit = {.tv_sec = us / 1000000, .tv_usec = us % 1000000};

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

static int
fd_set_blocking(int fd, bool blocking)
{
    return fcntl(fd, F_SETFL, O_RDWR | (blocking ? 0 : O_NONBLOCK));
}

static int
fd_connect(int fd, const struct address *a, int64_t within_us)
{
    int64_t until = mcpi_time_add(mcpi_loop_clock(), within_us);
    int64_t left = within_us;

    for (;;) {
        if (left > 0 && fd_set_blocking(fd, true) < 0)
            return -1;
        fd_wait_at_most(fd, left > 0 && left < MCPI_NEVER ? left : 0);
        if (connect(fd, address_of(a), a->len) == 0)
            break;
        if (errno != EINTR)
            return -1;
        left = until == MCPI_NEVER ? MCPI_NEVER : until - mcpi_loop_clock();
        if (left <= 0)
            left = 1; /* once more, and not for ever */
    }
    fd_wait_at_most(fd, 0);
    return fd_set_blocking(fd, false);
}

static int
connect_failed(mcp_error *err, const char *path)
{
    switch (errno) {
    case ECONNREFUSED:
    case ENOENT:
        return fail(err, MCP_E_CLOSED, "cannot connect to", path,
                    "nobody listens there");
    case EAGAIN:
        return fail(err, MCP_E_TIMEOUT, "cannot connect to", path,
                    "too many wait there already");
    default:
        return fail_errno(err, "cannot connect to", path);
    }
}

int
mcpi_unix_connect(const char *path, int64_t within_us, int *ret_fd, mcp_error *err)
{
    struct address a;
    int fd, r;

    r = address_read(&a, path, err);
    if (r < 0)
        return r;
    fd = socket_new();
    if (fd < 0)
        return fail_errno(err, "cannot connect to", path);
    if (fd_connect(fd, &a, within_us) < 0) {
        r = connect_failed(err, path);
        (void)close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

/* ---- the listener ---------------------------------------------------------- */

struct mcpi_unix_listener {
    const mcp_allocator *mem;
    struct mcpi_unix_listener_options opt;
    int fd;
    uv_poll_t poll;
    struct mcpi_timer retry; /* armed: for want of descriptors nobody is let in */
    bool has_file;
    dev_t device; /* of the socket file, to know it again */
    ino_t inode;
    bool warned;
    bool freed;
};

static void on_poll(uv_poll_t *poll, int status, int events);

static void
listener_watch(struct mcpi_unix_listener *l)
{
    (void)uv_poll_start(&l->poll, UV_READABLE, on_poll); /* fails on bad arguments */
}

static void
on_retry(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    listener_watch(MCPI_CONTAINER(timer, struct mcpi_unix_listener, retry));
}

/* Clients wait in the queue meanwhile, none is turned away. */
static void
listener_pause(struct mcpi_unix_listener *l, int number)
{
    int64_t now = mcpi_loop_now(l->opt.loop);

    if (!l->warned)
        MCPI_LOG(&l->opt.log, MCP_LOG_WARNING,
                 "listener: no client can be let in for the moment: %s",
                 strerror(number));
    l->warned = true;
    (void)uv_poll_stop(&l->poll);
    mcpi_timer_arm(mcpi_loop_timers(l->opt.loop), &l->retry,
                   mcpi_time_add(now, RETRY_US));
}

/* True: one came, or went before it was let in; there may be more. */
static bool
listener_accept(struct mcpi_unix_listener *l)
{
    int fd = mcpi_fd_above_stdio(
        accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));

    if (fd >= 0) {
        l->warned = false;
        l->opt.accepted(l->opt.user, fd);
        return true;
    }
    if (errno == EAGAIN)
        return false;
    if (errno == ECONNABORTED || errno == EINTR)
        return true;
    listener_pause(l, errno);
    return false;
}

static void
on_poll(uv_poll_t *poll, int status, int events)
{
    struct mcpi_unix_listener *l = poll->data;

    (void)events;
    if (status < 0) {
        listener_pause(l, EIO);
        return;
    }
    for (int i = 0; i < ACCEPTS_A_TURN && listener_accept(l); i++)
        if (l->freed)
            return;
}

bool
mcpi_unix_listens(int fd)
{
    int listens = 0, type = 0;
    socklen_t len = sizeof(int);

    return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/* The file a socket was bound to, if it is still there. */
static void
listener_know_file(struct mcpi_unix_listener *l)
{
    struct sockaddr_un un = {0};
    socklen_t len = sizeof(un) - 1; /* a path may fill it, with no zero at its end */
    struct stat st;

    if (getsockname(l->fd, (struct sockaddr *)&un, &len) < 0 ||
        un.sun_family != AF_UNIX || un.sun_path[0] == '\0' ||
        lstat(un.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
        return;
    l->has_file = true;
    l->device = st.st_dev;
    l->inode = st.st_ino;
}

int
mcpi_unix_listener_new(const struct mcpi_unix_listener_options *opt, int take_fd,
                       struct mcpi_unix_listener **ret_listener, mcp_error *err)
{
    const mcp_allocator *mem = mcpi_loop_mem(opt->loop);
    struct mcpi_unix_listener *l;
    int r;

    if (!mcpi_unix_listens(take_fd))
        return fail(err, MCP_E_INVAL, "cannot listen on", "a descriptor",
                    "it is no listening stream socket");
    l = mcpi_alloc_zero(mem, sizeof(*l));
    if (!l)
        return fail(err, MCP_E_NOMEM, "cannot listen on", "a descriptor",
                    mcp_status_text(MCP_E_NOMEM));
    l->mem = mem;
    l->opt = *opt;
    l->fd = take_fd;
    mcpi_timer_init(&l->retry, on_retry);
    r = uv_poll_init(mcpi_loop_uv(opt->loop), &l->poll, take_fd);
    if (r < 0) {
        mcpi_free(mem, l);
        return fail(err, r == UV_EEXIST ? MCP_E_INVAL : MCP_E_LIMIT, "cannot listen on",
                    "a descriptor", uv_strerror(r));
    }
    (void)fcntl(take_fd, F_SETFD, FD_CLOEXEC); /* one handed in may not have it */
    l->poll.data = l;
    listener_know_file(l);
    listener_watch(l);
    *ret_listener = l;
    return 0;
}

static void
on_handle_closed(uv_handle_t *handle)
{
    struct mcpi_unix_listener *l = handle->data;

    mcpi_free(l->mem, l);
}

void
mcpi_unix_listener_free(struct mcpi_unix_listener *listener, const char *unlink_path)
{
    struct stat st;

    if (!listener)
        return;
    listener->freed = true;
    if (unlink_path && listener->has_file && lstat(unlink_path, &st) == 0 &&
        st.st_dev == listener->device && st.st_ino == listener->inode)
        (void)unlink(unlink_path); /* nobody can be told */
    mcpi_timer_disarm(mcpi_loop_timers(listener->opt.loop), &listener->retry);
    uv_close((uv_handle_t *)&listener->poll, on_handle_closed);
    (void)close(listener->fd);
}
