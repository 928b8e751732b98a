/* descriptor.c - one descriptor, read and written without ever waiting */
#include "link/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/fd.h"

/* ---- opening --------------------------------------------------------------- */

/* The other half of a pseudo terminal: opening it again would make a new one. */
static bool
fd_is_pty_master(int fd)
{
    unsigned number;

    return ioctl(fd, TIOCGPTN, &number) == 0;
}

/* An open file of our own. -1: not to be had (no /proc, not ours any more). */
static int
fd_reopen(int fd, int flags)
{
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return mcpi_fd_above_stdio(
        open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

static enum mcpi_descriptor_kind
kind_of(mode_t mode)
{
    if (S_ISSOCK(mode))
        return MCPI_DESCRIPTOR_SOCKET;
    if (S_ISFIFO(mode))
        return MCPI_DESCRIPTOR_PIPE;
    return MCPI_DESCRIPTOR_DEVICE; /* until it refuses to be polled */
}

static size_t
fd_capacity(int fd, enum mcpi_descriptor_kind kind)
{
    socklen_t len = sizeof(int);
    int bytes = 0;

    if (kind == MCPI_DESCRIPTOR_PIPE)
        bytes = fcntl(fd, F_GETPIPE_SZ);
    else if (kind == MCPI_DESCRIPTOR_SOCKET)
        (void)getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, &len); /* else 0 */
    return bytes > 0 ? (size_t)bytes : 0;
}

int
mcpi_descriptor_open(struct mcpi_descriptor *d, int given)
{
    struct stat st;
    int flags, own;

    flags = fcntl(given, F_GETFL);
    if (flags < 0 || fstat(given, &st) < 0)
        return MCP_E_INVAL;
    *d = (struct mcpi_descriptor){.fd = given, .given = -1, .flags = flags};
    d->kind = kind_of(st.st_mode);
    d->capacity = fd_capacity(given, d->kind);
    if (d->kind != MCPI_DESCRIPTOR_PIPE && (!isatty(given) || fd_is_pty_master(given)))
        return 0;
    own = fd_reopen(given, flags);
    if (own >= 0) {
        d->given = given;
        d->fd = own;
        d->flags = -1;
    }
    return 0;
}

static void
flags_put_back(struct mcpi_descriptor *d)
{
    if (d->flags >= 0 && !(d->flags & O_NONBLOCK))
        (void)fcntl(d->fd, F_SETFL, d->flags); /* there is nothing else to try */
    d->flags = -1;
}

void
mcpi_descriptor_polled(struct mcpi_descriptor *d, bool can_be)
{
    if (!can_be)
        d->kind = MCPI_DESCRIPTOR_FILE;
    if (!can_be || d->kind == MCPI_DESCRIPTOR_SOCKET)
        flags_put_back(d);
}

void
mcpi_descriptor_keep(struct mcpi_descriptor *d)
{
    if (d->given >= 0)
        (void)close(d->given);
    else
        (void)fcntl(d->fd, F_SETFD, FD_CLOEXEC); /* a reopened one has it */
    d->given = -1;
}

void
mcpi_descriptor_drop(struct mcpi_descriptor *d)
{
    if (d->fd < 0)
        return;
    flags_put_back(d);
    if (d->given >= 0)
        (void)close(d->fd);
    d->fd = d->given = -1;
}

/* ---- in use ---------------------------------------------------------------- */

ssize_t
mcpi_descriptor_read(const struct mcpi_descriptor *d, char *into, size_t room)
{
    ssize_t n;

    do {
        if (d->kind == MCPI_DESCRIPTOR_SOCKET)
            n = recv(d->fd, into, room, MSG_DONTWAIT);
        else
            n = read(d->fd, into, room);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    return errno == EAGAIN ? MCP_E_AGAIN : MCP_E_CLOSED;
}

ssize_t
mcpi_descriptor_write(const struct mcpi_descriptor *d, const char *bytes, size_t len)
{
    ssize_t n;

    do {
        if (d->kind == MCPI_DESCRIPTOR_SOCKET)
            n = send(d->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
            n = write(d->fd, bytes, len);
    } while (n < 0 && errno == EINTR);
    if (n >= 0)
        return n;
    if (errno == EAGAIN)
        return MCP_E_AGAIN;
    return errno == EPIPE || errno == ECONNRESET ? MCP_E_CLOSED : MCP_E_SEND_FAILED;
}

static bool
fd_can_write(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};

    return poll(&poll_fd, 1, 0) > 0;
}

/* An empty pipe takes all it holds. Of one that is not empty only this much is sure,
 * because a page that is half used counts as full. */
static size_t
pipe_room(const struct mcpi_descriptor *d)
{
    int used;

    if (ioctl(d->fd, FIONREAD, &used) == 0 && used == 0)
        return d->capacity;
    return fd_can_write(d->fd) ? PIPE_BUF : 0;
}

/* Half of what is free, because the kernel counts its own bookkeeping too. */
static size_t
socket_room(const struct mcpi_descriptor *d)
{
    int used;

    if (ioctl(d->fd, SIOCOUTQ, &used) == 0 && (size_t)used < d->capacity)
        return 1 + (d->capacity - (size_t)used) / 2;
    return fd_can_write(d->fd) ? 1 : 0;
}

size_t
mcpi_descriptor_room(const struct mcpi_descriptor *d)
{
    switch (d->kind) {
    case MCPI_DESCRIPTOR_PIPE:
        return pipe_room(d);
    case MCPI_DESCRIPTOR_SOCKET:
        return socket_room(d);
    case MCPI_DESCRIPTOR_FILE:
        return SIZE_MAX;
    case MCPI_DESCRIPTOR_DEVICE:
        break;
    }
    return fd_can_write(d->fd) ? 1 : 0;
}

/* ---- the end --------------------------------------------------------------- */

void
mcpi_descriptor_shut(const struct mcpi_descriptor *d)
{
    if (d->kind == MCPI_DESCRIPTOR_SOCKET)
        (void)shutdown(d->fd, SHUT_WR); /* it fails if the other end is gone */
}

void
mcpi_descriptor_close(struct mcpi_descriptor *d)
{
    if (d->fd < 0)
        return;
    flags_put_back(d);
    (void)close(d->fd);
    d->fd = -1;
}

int
mcpi_descriptor_take(struct mcpi_descriptor *d)
{
    int fd = d->fd;

    d->fd = d->flags = -1;
    return fd;
}
