/*
 * http_listener.c - a listening socket, and the connections that came of it
 *
 * Its memory is freed when its owner has freed it and libuv has given back the handle of
 * the last connection, because connections read into it. A client above the limit is told
 * so without becoming a connection, from the socket's own buffer; it has read its answer or
 * it has not, nothing waits for it.
 */
#include "link/http_listener.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "link/descriptor.h"
#include "link/http_connection.h"
#include "run/fd.h"
#include "run/memory.h"
#include "wire/rpc.h"

#define BACKLOG \
    4096 /* clients that come while the loop is busy; the system has its own */
#define HEAD_MAX ((size_t)1024 * 1024) /* of an answer: the endpoint's, so no limit */
#define REFUSAL_MAX 4096
#define DATE_US 1000000
#define HOST_MAX 256

/* So many at once that what they leave behind is worth giving back, when no more than this
 * part of them is left. */
#define CROWD 1024
#define CROWD_LEFT 4
#define CALM_US 500000 /* for what goes together with it */

/* ---- listening ------------------------------------------------------------------ */

static int
listen_fail(mcp_error *err, int number, const char *host, int port)
{
    bool limit = number == EMFILE || number == ENFILE || number == ENOBUFS ||
                 number == ENOMEM;

    return mcpi_error_set(err, limit ? MCP_E_LIMIT : MCP_E_INVAL,
                          "cannot listen on %.100s port %d: %s", host, port,
                          strerror(number));
}

static int
socket_share(int fd)
{
    const int one = 1;

    return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
}

/* "::" shall mean everybody; a kernel may be set so that it is IPv6 only. The first on a
 * port shares it when it has got it: it would join anybody who shares it already. */
static int
socket_bind(int fd, const struct addrinfo *address, enum mcpi_http_share share)
{
    const int one = 1, zero = 0;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (address->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
    if (share == MCPI_HTTP_NEXT && socket_share(fd) < 0)
        return -1;
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return -1;
    return share == MCPI_HTTP_FIRST ? socket_share(fd) : 0;
}

/* A descriptor, or -1 and errno. */
static int
socket_listen(const struct addrinfo *address, enum mcpi_http_share share)
{
    int fd, number;

    fd = mcpi_fd_above_stdio(
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0 || socket_bind(fd, address, share) == 0)
        return fd;
    number = errno;
    (void)close(fd);
    errno = number;
    return -1;
}

union socket_name {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

static bool
name_is_loopback(const union socket_name *name)
{
    if (name->any.sa_family == AF_INET)
        return ntohl(name->four.sin_addr.s_addr) >> 24 == 127;
    if (IN6_IS_ADDR_V4MAPPED(&name->six.sin6_addr))
        return name->six.sin6_addr.s6_addr[12] == 127;
    return IN6_IS_ADDR_LOOPBACK(&name->six.sin6_addr);
}

/* "[::1]" is "::1". */
static int
host_read(const char *host, char into[HOST_MAX], mcp_error *err)
{
    size_t len = strlen(host);

    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (len == 0 || len >= HOST_MAX)
        return mcpi_error_set(err, MCP_E_INVAL, "cannot listen on \"%.100s\": no host",
                              host);
    memcpy(into, host, len);
    into[len] = '\0';
    return 0;
}

static int
host_find(const char *host, int port, struct addrinfo **ret_found, mcp_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char service[16];
    int r;

    if (port < 0 || port > 65535)
        return mcpi_error_set(err, MCP_E_INVAL, "cannot listen on port %d", port);
    (void)snprintf(service, sizeof(service), "%d", port);
    r = getaddrinfo(host, service, &hints, ret_found);
    if (r != 0)
        return mcpi_error_set(err, r == EAI_MEMORY ? MCP_E_NOMEM : MCP_E_INVAL,
                              "cannot listen on %.100s: %s", host, gai_strerror(r));
    return 0;
}

int
mcpi_http_listen(const char *host, int *port, enum mcpi_http_share share, int *ret_fd,
                 bool *ret_loopback, mcp_error *err)
{
    union socket_name name = {0};
    socklen_t len = sizeof(name);
    struct addrinfo *found = NULL;
    char clean[HOST_MAX];
    int fd = -1, r;

    r = host_read(host ? host : "127.0.0.1", clean, err);
    if (r == 0)
        r = host_find(clean, *port, &found, err);
    if (r < 0)
        return r;
    errno = EADDRNOTAVAIL;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = socket_listen(at, share);
    if (fd < 0)
        r = listen_fail(err, errno, clean, *port);
    freeaddrinfo(found);
    if (r < 0)
        return r;
    (void)getsockname(fd, &name.any, &len); /* it is bound: this works */
    *port = ntohs(name.any.sa_family == AF_INET ? name.four.sin_port
                                                : name.six.sin6_port);
    *ret_loopback = name_is_loopback(&name);
    *ret_fd = fd;
    return 0;
}

/* ---- too many -------------------------------------------------------------------- */

/* What the client has sent so far is read, or closing would take the answer back. */
static void
socket_say_last(int fd, const struct mcpi_buf *head, const struct mcpi_http_out *out,
                char *scratch)
{
    struct iovec parts[2] = {
        {head->data, head->len},
        {(void *)(uintptr_t)out->body, out->body_len},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    (void)sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(fd, SHUT_WR);
    (void)recv(fd, scratch, MCPI_HTTP_INPUT, MSG_DONTWAIT);
}

static void
listener_turn_away(struct mcpi_http_listener *l, int take_fd, const char *why)
{
    static const mcp_http_field later = {"Retry-After", "1"};
    struct mcpi_http_out out;

    MCPI_LOG(mcpi_loop_log(l->opt.loop), MCP_LOG_DEBUG, "http: turned away: %s", why);
    if (!l->opt.tls) {
        mcpi_http_refusal(&out, &l->refusal, 503, NULL, MCPI_RPC_INTERNAL_ERROR, why);
        out.fields = &later;
        out.field_count = 1;
        mcpi_buf_clear(&l->head);
        mcpi_http_answer_head(&l->head, &out, MCPI_HTTP_BY_LENGTH, MCPI_HTTP_CLOSES,
                              mcpi_http_listener_date(l));
        if (l->head.status == 0)
            socket_say_last(take_fd, &l->head, &out, l->wires.input);
    }
    (void)close(take_fd);
}

static void
on_accepted(void *user, int take_fd)
{
    struct mcpi_http_listener *l = user;
    struct mcpi_http_connection *connection;
    int r = MCP_E_LIMIT;

    /* accounts know how many there are on all loops */
    if (l->opt.clients.accounts || l->count < l->opt.http->connections)
        r = mcpi_http_connection_new(l, take_fd, &connection);
    if (r < 0)
        listener_turn_away(l, take_fd,
                           r == MCP_E_LIMIT ? "Too many connections"
                                            : "No room for another connection");
}

/* ---- its connections --------------------------------------------------------------- */

static void
listener_count(const struct mcpi_http_listener *l, int by)
{
    if (l->opt.gauges.changed)
        l->opt.gauges.changed(l->opt.gauges.user, by, 0, 0);
}

static void
listener_bury(struct mcpi_http_listener *l)
{
    mcpi_timer_disarm(mcpi_loop_timers(l->opt.loop), &l->calm);
    mcpi_http_parsers_done(&l->parsers);
    mcpi_http_wires_done(&l->wires);
    mcpi_buf_done(&l->head);
    mcpi_buf_done(&l->refusal);
    mcpi_free(l->mem, l);
}

void
mcpi_http_listener_joined(struct mcpi_http_listener *listener, struct mcpi_list *node)
{
    mcpi_list_append(&listener->connections, node);
    listener->count++;
    listener->handles++;
    if (listener->count > listener->most)
        listener->most = listener->count;
    listener_count(listener, 1);
}

static bool
listener_lost_crowd(const struct mcpi_http_listener *l)
{
    return l->most >= CROWD && l->count <= l->most / CROWD_LEFT;
}

/* Many connections, or many bytes, have gone. */
static void
on_calm(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_http_listener *l = MCPI_CONTAINER(timer, struct mcpi_http_listener,
                                                  calm);
    struct mcpi_accounts *accounts = l->opt.clients.accounts;
    bool lost_crowd = listener_lost_crowd(l);

    (void)now;
    if (lost_crowd)
        l->most = l->count;
    if (!lost_crowd &&
        !(accounts && mcpi_budget_settle(mcpi_accounts_budget(accounts))))
        return;
    mcpi_memory_trim(l->mem);
}

void
mcpi_http_listener_freed(struct mcpi_http_listener *listener)
{
    struct mcpi_accounts *accounts = listener->opt.clients.accounts;
    struct mcpi_loop *loop = listener->opt.loop;

    if (mcpi_timer_is_armed(&listener->calm))
        return;
    if (listener_lost_crowd(listener) ||
        (accounts && mcpi_budget_is_calm(mcpi_accounts_budget(accounts))))
        mcpi_timer_arm(mcpi_loop_timers(loop), &listener->calm,
                       mcpi_time_add(mcpi_loop_now(loop), CALM_US));
}

void
mcpi_http_listener_lost(struct mcpi_http_listener *listener, struct mcpi_list *node)
{
    mcpi_list_remove(node);
    listener->count--;
    listener_count(listener, -1);
    mcpi_http_listener_freed(listener);
}

void
mcpi_http_listener_buried(struct mcpi_http_listener *listener)
{
    listener->handles--;
    if (listener->handles > 0)
        return;
    if (listener->freed)
        listener_bury(listener);
    else if (listener->closing)
        mcpi_loop_flush(listener->opt.loop, &listener->flush);
}

const char *
mcpi_http_listener_date(struct mcpi_http_listener *listener)
{
    int64_t now = mcpi_loop_now(listener->opt.loop);

    if (now >= listener->date_until) {
        mcpi_http_date(listener->date, time(NULL));
        listener->date_until = mcpi_time_add(now, DATE_US);
    }
    return listener->date;
}

/* ---- making, closing, freeing -------------------------------------------------------- */

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_http_listener *l = MCPI_CONTAINER(flush, struct mcpi_http_listener,
                                                  flush);

    if (l->handles > 0 || l->told)
        return;
    l->told = true;
    if (l->opt.closed)
        l->opt.closed(l->opt.user, l);
}

static int
listener_init(struct mcpi_http_listener *l,
              const struct mcpi_http_listener_options *opt)
{
    l->mem = mcpi_loop_mem(opt->loop);
    l->opt = *opt;
    if (!l->opt.check_head)
        l->opt.check_head = mcpi_endpoint_check_head;
    if (!l->opt.serve)
        l->opt.serve = mcpi_endpoint_serve;
    if (!l->opt.greet_origin)
        l->opt.greet_origin = mcpi_endpoint_greet_origin;
    l->date_until = INT64_MIN;
    mcpi_list_init(&l->connections);
    mcpi_flush_init(&l->flush, on_flush);
    mcpi_buf_init(&l->head, l->mem, HEAD_MAX);
    mcpi_buf_init(&l->refusal, l->mem, REFUSAL_MAX);
    mcpi_timer_init(&l->calm, on_calm);
    mcpi_http_parsers_init(&l->parsers, l->mem, opt->http->head_bytes,
                           opt->http->body_bytes);
    return mcpi_http_wires_init(&l->wires, opt->loop, opt->tls);
}

int
mcpi_http_listener_new(const struct mcpi_http_listener_options *opt, int take_fd,
                       struct mcpi_http_listener **ret_listener, mcp_error *err)
{
    struct mcpi_unix_listener_options socket = {
        .loop = opt->loop, .log = *mcpi_loop_log(opt->loop), .accepted = on_accepted};
    struct mcpi_http_listener *l = mcpi_alloc_zero(mcpi_loop_mem(opt->loop),
                                                   sizeof(*l));
    int r;

    if (!l)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    r = listener_init(l, opt);
    if (r < 0)
        (void)mcpi_error_set(err, r, "%s", mcp_status_text(r));
    socket.user = l;
    if (r == 0)
        r = mcpi_unix_listener_new(&socket, take_fd, &l->socket, err);
    if (r < 0) {
        listener_bury(l);
        return r;
    }
    *ret_listener = l;
    return 0;
}

void
mcpi_http_listener_close(struct mcpi_http_listener *listener)
{
    struct mcpi_list *node, *next;

    if (listener->closing)
        return;
    listener->closing = true;
    mcpi_unix_listener_free(listener->socket, NULL);
    listener->socket = NULL;
    for (node = listener->connections.next; node != &listener->connections;
         node = next) {
        next = node->next;
        mcpi_http_connection_retire(mcpi_http_connection_of(node));
    }
    if (listener->handles == 0)
        mcpi_loop_flush(listener->opt.loop, &listener->flush);
}

void
mcpi_http_listener_free(struct mcpi_http_listener *listener)
{
    struct mcpi_list *node;

    if (!listener)
        return;
    mcpi_unix_listener_free(listener->socket, NULL);
    listener->socket = NULL;
    listener->closing = true;
    mcpi_flush_cancel(&listener->flush);
    listener->told = true;
    for (node = mcpi_list_first(&listener->connections); node;
         node = mcpi_list_first(&listener->connections))
        mcpi_http_connection_cut(mcpi_http_connection_of(node));
    listener->freed = true;
    if (listener->handles == 0)
        listener_bury(listener);
}
