/* curl_watch.c - the sockets of libcurl, on the loop */
#include "run/curl_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/fd.h"

#define ROOM_FIRST 64
#define DROPPED_BYTES 256 /* more than a last word of TLS */

struct mcpi_curl_watch {
    uv_poll_t poll;
    const mcp_allocator *mem;
    struct mcpi_curl_watches *watches;
    int fd;
    bool ours;   /* opened here; else libcurl closes it, and not before it says so */
    bool begun;  /* poll is a handle of libuv's */
    bool closed; /* uv_close was called: nothing more of it */
    bool spoiled;
    int wanted; /* UV_READABLE, UV_WRITABLE; 0: libcurl waits for nothing */
    int armed;  /* what libuv looks at */
    enum mcpi_address_kind kind; /* as it was marked */
};

/* ---- the table -------------------------------------------------------------- */

static int
table_fit(struct mcpi_curl_watches *watches, size_t fd)
{
    const mcp_allocator *mem = mcpi_loop_mem(watches->loop);
    size_t room = watches->room > 0 ? watches->room : ROOM_FIRST;
    struct mcpi_curl_watch **table;

    if (fd < watches->room)
        return 0;
    while (room <= fd)
        room *= 2;
    table = mcpi_realloc(mem, watches->table, room * sizeof(struct mcpi_curl_watch *));
    if (!table)
        return MCP_E_NOMEM;
    for (size_t i = watches->room; i < room; i++)
        table[i] = NULL;
    watches->table = table;
    watches->room = room;
    return 0;
}

static struct mcpi_curl_watch *
table_find(const struct mcpi_curl_watches *watches, int fd)
{
    return fd >= 0 && (size_t)fd < watches->room ? watches->table[fd] : NULL;
}

/* ---- one socket ------------------------------------------------------------- */

static void
on_closed(uv_handle_t *handle)
{
    struct mcpi_curl_watch *watch = handle->data;

    mcpi_free(watch->mem, watch);
}

/* One that never was a handle may be of a socket that libcurl has closed without a word:
 * the number may be somebody else's by now, and libuv must not touch it. */
static void
watch_drop(struct mcpi_curl_watch *watch)
{
    watch->watches->table[watch->fd] = NULL;
    watch->watches->spoiled -= watch->spoiled;
    watch->closed = true;
    if (watch->begun)
        uv_close((uv_handle_t *)&watch->poll, on_closed);
    else
        mcpi_free(watch->mem, watch);
}

static int
watch_make(struct mcpi_curl_watches *watches, int fd, bool ours,
           struct mcpi_curl_watch **ret_watch)
{
    const mcp_allocator *mem = mcpi_loop_mem(watches->loop);
    struct mcpi_curl_watch *watch;

    if (table_fit(watches, (size_t)fd) < 0)
        return MCP_E_NOMEM;
    if (watches->table[fd]) /* closed behind our back, and the number came again */
        watch_drop(watches->table[fd]);
    watch = mcpi_alloc_zero(mem, sizeof(*watch));
    if (!watch)
        return MCP_E_NOMEM;
    watch->mem = mem;
    watch->watches = watches;
    watch->fd = fd;
    watch->ours = ours;
    watches->table[fd] = watch;
    *ret_watch = watch;
    return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events);

static int
watch_begin(struct mcpi_curl_watch *watch)
{
    uv_loop_t *uv = mcpi_loop_uv(watch->watches->loop);

    if (watch->begun)
        return 0;
    if (uv_poll_init(uv, &watch->poll, watch->fd) < 0)
        return MCP_E_STATE;
    watch->poll.data = watch;
    watch->begun = true;
    return 0;
}

static int
watch_arm(struct mcpi_curl_watch *watch, int events)
{
    int r = 0;

    if (watch->armed == events)
        return 0;
    if (watch_begin(watch) < 0)
        return MCP_E_STATE;
    if (events == 0)
        (void)uv_poll_stop(&watch->poll); /* cannot fail */
    else
        r = uv_poll_start(&watch->poll, events, on_ready);
    watch->armed = r < 0 ? 0 : events;
    return r < 0 ? MCP_E_STATE : 0;
}

/* Something comes on a connection that nobody uses: most likely its end. A request that
 * was written to it now would be lost; so writing fails, and libcurl takes another one.
 * It would find out by itself, but not always: 8.22 looks only once a second, and 7.88
 * takes one for alive as long as the last word of TLS can be read. */
static void
watch_spoil(struct mcpi_curl_watch *watch)
{
    struct mcpi_curl_watches *watches = watch->watches;
    char dropped[DROPPED_BYTES];

    (void)watch_arm(watch, 0);
    (void)shutdown(watch->fd, SHUT_RDWR); /* or it has failed already */
    (void)recv(watch->fd, dropped, sizeof(dropped), MSG_DONTWAIT);
    if (watch->spoiled)
        return;
    watch->spoiled = true;
    watches->spoiled++;
    if (watches->on_spoiled)
        watches->on_spoiled(watches->user);
}

/* An error of the socket (libuv has stopped the handle then) is for libcurl to find: it
 * reads and writes, and is told which one it is. */
static void
on_ready(uv_poll_t *poll, int status, int events)
{
    struct mcpi_curl_watch *watch = poll->data;
    int found = 0;

    if (status < 0)
        watch->armed = 0;
    if (watch->wanted == 0) {
        watch_spoil(watch);
        return;
    }
    if (status < 0 || (events & UV_READABLE))
        found |= CURL_CSELECT_IN;
    if (status < 0 || (events & UV_WRITABLE))
        found |= CURL_CSELECT_OUT;
    watch->watches->ready(watch->watches->user, watch->fd, found);
    if (!watch->closed && watch->armed == 0) /* it is not freed before this turn ends */
        (void)watch_arm(watch, watch->wanted);
}

/* ---- the interface ---------------------------------------------------------- */

void
mcpi_curl_watches_init(struct mcpi_curl_watches *watches, struct mcpi_loop *loop,
                       void (*ready)(void *user, int fd, int events), void *user)
{
    *watches = (struct mcpi_curl_watches){.loop = loop, .ready = ready, .user = user};
}

void
mcpi_curl_watches_done(struct mcpi_curl_watches *watches)
{
    for (size_t fd = 0; fd < watches->room; fd++)
        if (watches->table[fd])
            watch_drop(watches->table[fd]);
    mcpi_free(mcpi_loop_mem(watches->loop), watches->table);
    watches->table = NULL;
    watches->room = 0;
}

int
mcpi_curl_watches_open(struct mcpi_curl_watches *watches,
                       const struct curl_sockaddr *address)
{
    struct mcpi_curl_watch *watch;
    int fd, r;

    fd = mcpi_fd_above_stdio(socket(address->family,
                                    address->socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                    address->protocol));
    if (fd < 0)
        return -1;
    r = watch_make(watches, fd, true, &watch);
    if (r == 0)
        return fd;
    close(fd);
    errno = r == MCP_E_NOMEM ? ENOMEM : EBADF;
    return -1;
}

void
mcpi_curl_watches_close(struct mcpi_curl_watches *watches, int fd)
{
    struct mcpi_curl_watch *watch = table_find(watches, fd);

    if (watch)
        watch_drop(watch);
    close(fd);
}

void
mcpi_curl_watches_mark(struct mcpi_curl_watches *watches, int fd,
                       enum mcpi_address_kind kind)
{
    struct mcpi_curl_watch *watch = table_find(watches, fd);

    if (watch)
        watch->kind = kind;
}

static int
port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } name = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t len = sizeof(name);

    if (getsockname(fd, &name.any, &len) != 0)
        return -1;
    if (name.any.sa_family == AF_INET6)
        return ntohs(name.six.sin6_port);
    return name.any.sa_family == AF_INET ? ntohs(name.four.sin_port) : -1;
}

enum mcpi_address_kind
mcpi_curl_watches_kind(const struct mcpi_curl_watches *watches, int local_port)
{
    for (size_t fd = 0; fd < watches->room; fd++)
        if (watches->table[fd] && port_of((int)fd) == local_port)
            return watches->table[fd]->kind;
    return MCPI_ADDRESS_SPECIAL;
}

static int
events_of(int what)
{
    int events = 0;

    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT)
        events |= UV_READABLE;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT)
        events |= UV_WRITABLE;
    return events;
}

int
mcpi_curl_watches_set(struct mcpi_curl_watches *watches, int fd, int what, bool stays)
{
    struct mcpi_curl_watch *watch = table_find(watches, fd);
    int r;

    if (what == CURL_POLL_REMOVE) {
        if (watch && watch->ours && stays)
            watch->wanted = 0;
        else if (watch)
            watch_drop(watch);
        return 0;
    }
    if (!watch) {
        r = watch_make(watches, fd, false, &watch);
        if (r < 0)
            return r;
    }
    watch->wanted = events_of(what);
    return watch_arm(watch, watch->wanted);
}
