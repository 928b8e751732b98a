/*
 * browser_desk.c - where the browser of one visit comes back to: a port of this machine
 *
 * Once the thread runs, everything in here is its own; others only ring the bell, which
 * ends it, and join it; and give it the state to expect, once.
 *
 * SO_REUSEADDR lets us have a port again on which connections of ours have just ended; on
 * Linux it lets nobody listen where somebody does, and SO_REUSEPORT, which would, is never
 * set. "localhost" may be [::1] to a browser, so that somebody else must not have the same
 * port there.
 */
#include "auth/browser_desk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>

#include "auth/browser_page.h"
#include "auth/form.h"
#include "base/mem.h"
#include "run/fd.h"
#include "run/thread.h"

#define CLIENTS 16 /* browsers open two or three, some of them only in case */
#define BACKLOG 64
#define ACCEPTS_A_TURN 32 /* so that the bell is heard though clients keep coming */
#define LISTENERS 2
#define ANY_TRIES 8       /* to find a port that is free in IPv4 and IPv6 */
#define DRAIN_MS 1000     /* for a client to see our end; who sees it has the page */
#define DRAIN_BYTES 65536 /* of what it sends though we do not listen any more */
#define DEAF_MS 100       /* without descriptors: often enough to go unnoticed */
#define STACK ((size_t)256 * 1024)

struct client {
    int fd;
    int64_t until; /* ms */
    bool drains;   /* has its page; what it says now is thrown away */
    size_t len;    /* of the head; or of what was thrown away */
    char head[MCPI_PAGE_HEAD_MAX];
};

struct mcpi_desk {
    const mcp_allocator *mem;
    mcp_auth_visit *visit;
    int64_t client_ms;
    int listeners[LISTENERS]; /* -1: none */
    int bell;
    pthread_t thread;
    struct mcpi_page_rules rules;   /* but for the state: */
    _Atomic(const char *) expected; /* NULL: none yet; else in the buffer, for good */
    struct mcpi_buf state;
    char uri[MCP_AUTH_URI_MAX];
    char host[256];                  /* with port */
    struct client *clients[CLIENTS]; /* the oldest first */
    size_t count;
    bool answered;
    int64_t deaf_until;
    char answer[MCP_AUTH_URI_MAX + MCPI_PAGE_HEAD_MAX];
};

static int64_t
now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- listening -------------------------------------------------------------------- */

union name {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static union name
name_of(int family, int port)
{
    union name name = {0};

    if (family == AF_INET)
        name.four = (struct sockaddr_in){.sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)port),
                                         .sin_addr = {htonl(INADDR_LOOPBACK)}};
    else
        name.six = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                         .sin6_port = htons((uint16_t)port),
                                         .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    return name;
}

static int
socket_bind(int fd, int family, int port)
{
    union name name = name_of(family, port);
    socklen_t len = family == AF_INET ? sizeof(name.four) : sizeof(name.six);
    const int one = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
    return bind(fd, &name.any, len) == 0 && listen(fd, BACKLOG) == 0 ? 0 : -1;
}

/* 0, or errno. */
static int
socket_listen(int family, int port, int *ret_fd)
{
    int fd, number;

    fd = mcpi_fd_above_stdio(
        socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0)
        return errno;
    if (socket_bind(fd, family, port) < 0) {
        number = errno;
        (void)close(fd);
        return number;
    }
    *ret_fd = fd;
    return 0;
}

static int
socket_port(int fd)
{
    union name name = {0};
    socklen_t len = sizeof(name);

    (void)getsockname(fd, &name.any, &len);
    return ntohs(name.four.sin_port);
}

static void
desk_close(struct mcpi_desk *desk)
{
    for (int i = 0; i < LISTENERS; i++) {
        if (desk->listeners[i] >= 0)
            (void)close(desk->listeners[i]);
        desk->listeners[i] = -1;
    }
}

/* 0, or errno. A machine without IPv6 has nobody there either. */
static int
desk_listen(struct mcpi_desk *desk, const char *host, int port, int *ret_port)
{
    int number = socket_listen(AF_INET, port, &desk->listeners[0]);

    if (number != 0)
        return number;
    port = socket_port(desk->listeners[0]);
    if (strcmp(host, "localhost") == 0)
        number = socket_listen(AF_INET6, port, &desk->listeners[1]);
    if (number == EADDRINUSE) {
        desk_close(desk);
        return number;
    }
    *ret_port = port;
    return 0;
}

static int
desk_listen_any(struct mcpi_desk *desk, const struct mcpi_desk_options *opt,
                int *ret_port)
{
    int number = EADDRINUSE;

    if (opt->port > 0)
        return desk_listen(desk, opt->host, opt->port, ret_port);
    if (opt->earlier > 0)
        number = desk_listen(desk, opt->host, opt->earlier, ret_port);
    if (number == 0)
        return 0;
    for (int i = 0; i < ANY_TRIES; i++) {
        number = desk_listen(desk, opt->host, 0, ret_port);
        if (number != EADDRINUSE)
            break;
    }
    return number;
}

static int
status_of(int number)
{
    switch (number) {
    case 0:
        return 0;
    case EADDRINUSE:
        return MCP_E_STATE;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
        return MCP_E_LIMIT;
    case ENOMEM:
        return MCP_E_NOMEM;
    default:
        return MCP_E_INVAL;
    }
}

/* ---- clients: on the thread --------------------------------------------------------- */

static void
client_free(struct mcpi_desk *desk, struct client *client)
{
    (void)close(client->fd);
    explicit_bzero(client->head, sizeof(client->head));
    mcpi_free(desk->mem, client);
}

static void
desk_drop(struct mcpi_desk *desk, size_t i)
{
    client_free(desk, desk->clients[i]);
    desk->count--;
    memmove(desk->clients + i, desk->clients + i + 1,
            (desk->count - i) * sizeof(*desk->clients));
}

static void
desk_tell(struct mcpi_desk *desk, const char *query, size_t len)
{
    size_t base = strlen(desk->uri);

    memcpy(desk->answer, desk->uri, base);
    memcpy(desk->answer + base, query, len);
    desk->answer[base + len] = '\0';
    desk->answered = true;
    mcp_auth_answer(desk->visit, desk->answer);
    explicit_bzero(desk->answer, base + len);
}

/* A page is shorter than what a socket takes at once. If it does not take it, nobody is
 * there to see it. */
static void
client_show(struct client *client, enum mcpi_page page)
{
    const char *text = mcpi_page_text(page);
    ssize_t n = send(client->fd, text, strlen(text), MSG_NOSIGNAL);

    (void)n;
    (void)shutdown(client->fd, SHUT_WR);
    client->drains = true;
    if (client->until > now_ms() + DRAIN_MS)
        client->until = now_ms() + DRAIN_MS;
}

/* The page first: when the visit is told, it may end all this. */
static void
client_answer(struct mcpi_desk *desk, struct client *client)
{
    struct mcpi_page_rules rules = desk->rules;
    const char *query = NULL;
    size_t len = 0;
    enum mcpi_page page;
    bool first;

    rules.state = atomic_load(&desk->expected);
    page = mcpi_page_judge(&rules, client->head, client->len, &query, &len);
    if (page == MCPI_PAGE_NONE)
        return;
    first = page == MCPI_PAGE_DONE && !desk->answered;
    client_show(client, page == MCPI_PAGE_DONE && !first ? MCPI_PAGE_OVER : page);
    if (first)
        desk_tell(desk, query, len);
    explicit_bzero(client->head, client->len);
    client->len = 0;
}

/* Closing with something unread would throw away the page, too, on its way. */
static bool
client_drain(struct client *client)
{
    ssize_t n = recv(client->fd, client->head, sizeof(client->head), 0);

    if (n > 0)
        client->len += (size_t)n;
    if (n == 0 || client->len > DRAIN_BYTES)
        return false;
    return n > 0 || errno == EAGAIN || errno == EINTR;
}

/* False: it is to be dropped. */
static bool
client_turn(struct mcpi_desk *desk, struct client *client)
{
    ssize_t n;

    if (client->drains)
        return client_drain(client);
    n = recv(client->fd, client->head + client->len, sizeof(client->head) - client->len,
             0);
    if (n == 0)
        return false;
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    client->len += (size_t)n;
    client_answer(desk, client);
    return true;
}

/* Somebody has to go for a new one: the oldest, but not unheard. */
static void
desk_make_room(struct mcpi_desk *desk)
{
    if (!desk->clients[0]->drains)
        (void)client_turn(desk, desk->clients[0]);
    desk_drop(desk, 0);
}

static void
desk_add(struct mcpi_desk *desk, int take_fd)
{
    struct client *client;

    if (desk->count == CLIENTS)
        desk_make_room(desk);
    client = mcpi_alloc(desk->mem, sizeof(*client));
    if (!client) {
        (void)close(take_fd);
        return;
    }
    client->fd = take_fd;
    client->until = now_ms() + desk->client_ms;
    client->drains = false;
    client->len = 0;
    desk->clients[desk->count++] = client;
}

/* Without descriptors the socket would be ready for ever: somebody has to go, or it is
 * not looked at for a while. */
static void
desk_is_short(struct mcpi_desk *desk)
{
    if (desk->count > 0)
        desk_make_room(desk);
    else
        desk->deaf_until = now_ms() + DEAF_MS;
}

static void
desk_accept(struct mcpi_desk *desk, int listener)
{
    int fd = 0;

    for (int i = 0; i < ACCEPTS_A_TURN && fd >= 0; i++) {
        fd = mcpi_fd_above_stdio(
            accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (fd >= 0)
            desk_add(desk, fd);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
                 errno == ENOMEM)
            desk_is_short(desk);
    }
}

/* ---- the thread ----------------------------------------------------------------------- */

enum { BELL, FIRST_LISTENER, FIRST_CLIENT = FIRST_LISTENER + LISTENERS };

/* poll passes over what is -1. */
static void
desk_watch(const struct mcpi_desk *desk, int64_t now, struct pollfd *watched)
{
    watched[BELL] = (struct pollfd){.fd = desk->bell, .events = POLLIN};
    for (int i = 0; i < LISTENERS; i++)
        watched[FIRST_LISTENER + i] = (struct pollfd){
            .fd = now < desk->deaf_until ? -1 : desk->listeners[i], .events = POLLIN};
    for (size_t i = 0; i < desk->count; i++)
        watched[FIRST_CLIENT + i] = (struct pollfd){.fd = desk->clients[i]->fd,
                                                    .events = POLLIN};
}

/* For poll; -1: for ever. */
static int
desk_patience(const struct mcpi_desk *desk, int64_t now)
{
    int64_t until = now < desk->deaf_until ? desk->deaf_until : INT64_MAX;

    for (size_t i = 0; i < desk->count; i++) {
        if (desk->clients[i]->until < until)
            until = desk->clients[i]->until;
    }
    if (until == INT64_MAX)
        return -1;
    return until > now ? (int)(until - now) : 0;
}

/* From the last to the first: who is dropped moves only those that had their turn. */
static void
desk_serve(struct mcpi_desk *desk, const struct pollfd *watched)
{
    int64_t now = now_ms();

    for (size_t i = desk->count; i-- > 0;) {
        if ((watched[FIRST_CLIENT + i].revents != 0 &&
             !client_turn(desk, desk->clients[i])) ||
            desk->clients[i]->until <= now)
            desk_drop(desk, i);
    }
}

static void *
desk_run(void *user)
{
    struct mcpi_desk *desk = user;
    struct pollfd watched[FIRST_CLIENT + CLIENTS];
    int64_t now;

    for (;;) {
        now = now_ms();
        desk_watch(desk, now, watched);
        if (poll(watched, FIRST_CLIENT + desk->count, desk_patience(desk, now)) < 0)
            continue; /* interrupted */
        if (watched[BELL].revents != 0)
            break;
        desk_serve(desk, watched);
        for (int i = 0; i < LISTENERS; i++) {
            if (watched[FIRST_LISTENER + i].revents != 0)
                desk_accept(desk, desk->listeners[i]);
        }
    }
    while (desk->count > 0)
        desk_drop(desk, desk->count - 1);
    return NULL;
}

/* ---- making and freeing ------------------------------------------------------------------ */

static void
desk_destroy(struct mcpi_desk *desk)
{
    desk_close(desk);
    if (desk->state.data)
        explicit_bzero(desk->state.data, desk->state.cap);
    mcpi_buf_done(&desk->state);
    if (desk->bell >= 0)
        (void)close(desk->bell);
    mcpi_free(desk->mem, desk);
}

static int
desk_open(struct mcpi_desk *desk, const struct mcpi_desk_options *opt)
{
    int port, r, len;

    r = status_of(desk_listen_any(desk, opt, &port));
    if (r < 0)
        return r;
    (void)snprintf(desk->host, sizeof(desk->host), "%s:%d", opt->host, port);
    len = snprintf(desk->uri, sizeof(desk->uri), "http://%s%s", desk->host, opt->path);
    if (len < 0 || (size_t)len >= sizeof(desk->uri))
        return MCP_E_INVAL;
    desk->rules.mem = opt->mem;
    desk->rules.host = desk->host;
    desk->rules.path = desk->uri + strlen("http://") + strlen(desk->host);
    desk->bell = mcpi_fd_above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (desk->bell < 0)
        return status_of(errno);
    return mcpi_thread_start(&desk->thread, STACK, desk_run, desk);
}

int
mcpi_desk_new(const struct mcpi_desk_options *opt, struct mcpi_desk **ret_desk)
{
    struct mcpi_desk *desk;
    int r;

    desk = mcpi_alloc_zero(opt->mem, sizeof(*desk));
    if (!desk)
        return MCP_E_NOMEM;
    desk->mem = opt->mem;
    desk->visit = opt->visit;
    mcpi_buf_init(&desk->state, opt->mem, MCPI_PAGE_HEAD_MAX); /* longer cannot come */
    desk->client_ms = opt->client_ms > 0 ? opt->client_ms : MCPI_DESK_CLIENT_MS;
    desk->listeners[0] = desk->listeners[1] = desk->bell = -1;
    r = desk_open(desk, opt);
    if (r < 0) {
        desk_destroy(desk);
        return r;
    }
    *ret_desk = desk;
    return 0;
}

int
mcpi_desk_expect(struct mcpi_desk *desk, const char *url)
{
    const char *query = strchr(url, '?');
    int r;

    if (atomic_load(&desk->expected))
        return MCP_E_STATE;
    if (!query)
        return MCP_E_INVAL;
    query++;
    r = mcpi_form_find(&desk->state, query, strcspn(query, "#"), "state");
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    if (desk->state.len <= 1) { /* none, or it is empty */
        mcpi_buf_truncate(&desk->state, 0);
        return MCP_E_INVAL;
    }
    atomic_store(&desk->expected, desk->state.data);
    return 0;
}

void
mcpi_desk_free(struct mcpi_desk *desk)
{
    if (!desk)
        return;
    (void)eventfd_write(desk->bell, 1); /* cannot fail: it counts further than to one */
    pthread_join(desk->thread, NULL);
    desk_destroy(desk);
}

const char *
mcpi_desk_uri(const struct mcpi_desk *desk)
{
    return desk->uri;
}
