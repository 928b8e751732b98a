/*
 * link/http_fixture.h - a listener on a loop that is stepped, a fake endpoint, and clients
 * on sockets of loopback, with TLS or without
 *
 * The state of a case is &plain or &secure. Time stands still unless a test moves it.
 */
#ifndef TESTS_LINK_HTTP_FIXTURE_H
#define TESTS_LINK_HTTP_FIXTURE_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "link/http_connection.h"
#include "link/http_listener.h"
#include "link/tls_fixture.h"
#include "run/accounts.h"

#define MS INT64_C(1000)
#define SECOND (1000 * MS)

static bool plain = false, secure = true;

enum { HELD_MAX = 256 };

struct fixture {
    struct test_mem mem;
    struct mcpi_loop *loop;
    int64_t now;
    mcp_http_options http;
    struct mcpi_tls_context *tls;
    struct mcpi_http_listener *listener;
    struct mcpi_accounts *accounts; /* NULL: nobody counts */
    int port;
    int connections; /* by the gauges */
    int closed;      /* the listener said so */
    bool free_when_closed;
    /* the endpoint */
    bool hold;      /* do not answer at once */
    bool big;       /* answer with more than a socket takes */
    char seen[512]; /* the last request */
    int served, gone, written, refused;
    struct mcpi_turn *held[HELD_MAX];
    size_t held_count;
    struct mcpi_post post; /* for tests that need one */
};

struct client {
    struct fixture *f;
    int fd;
    bool tls;
    struct tls_client session;
    char *text; /* what came, terminated */
    size_t len, cap;
    bool ended, reset;
};

/* ---- the endpoint ---------------------------------------------------------------- */

static inline struct mcpi_endpoint *
fixture_endpoint(struct fixture *f)
{
    return (struct mcpi_endpoint *)(void *)f; /* only handed through */
}

static inline void
turn_gone(struct mcpi_turn *turn)
{
    struct fixture *f = turn->by;

    turn->served = NULL;
    turn->by = NULL;
    f->gone++;
}

static inline void
turn_was_written(struct mcpi_turn *turn)
{
    struct fixture *f = turn->by;

    f->written++;
}

static const struct mcpi_turn_served turn_served = {turn_gone, turn_was_written};

static inline bool
fake_check_head(struct mcpi_endpoint *endpoint, const struct mcpi_http_in *in,
                uint64_t body_len, struct mcpi_http_out *ret_out)
{
    struct fixture *f = (struct fixture *)(void *)endpoint;

    (void)body_len;
    if (strncmp(in->target, "/refused", 8) != 0)
        return true;
    f->refused++;
    *ret_out = (struct mcpi_http_out){
        .status = 404, .type = "text/plain", .body = "not here", .body_len = 8};
    return false;
}

static inline void
fake_greet_origin(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                  const struct mcpi_http_known *known)
{
    static const mcp_http_field greeting = {"Access-Control-Allow-Origin", "page"};
    const char *origin = known->value[MCPI_HTTP_ORIGIN];

    (void)endpoint;
    turn->fields = &greeting;
    turn->field_count = origin && strcmp(origin, "page") == 0;
}

static inline bool
turn_reply(struct mcpi_turn *turn, const char *body)
{
    struct mcpi_http_out out = {
        .status = 200, .type = "text/plain", .body = body, .body_len = strlen(body)};

    turn->served = NULL;
    turn->by = NULL;
    return turn->ops->reply(turn, &out);
}

static inline bool
turn_open(struct mcpi_turn *turn, const char *first)
{
    struct mcpi_http_out out = {.status = 200,
                                .type = "text/event-stream",
                                .body = first,
                                .body_len = strlen(first)};

    return turn->ops->open(turn, &out);
}

static inline bool
turn_write(struct mcpi_turn *turn, const char *text)
{
    return turn->ops->write(turn, text, strlen(text));
}

static inline void
turn_end(struct mcpi_turn *turn)
{
    turn->served = NULL;
    turn->by = NULL;
    turn->ops->end(turn);
}

static inline void
turn_abort(struct mcpi_turn *turn)
{
    turn->served = NULL;
    turn->by = NULL;
    turn->ops->abort(turn);
}

static inline void
fake_serve(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
           const struct mcpi_http_in *in)
{
    struct fixture *f = (struct fixture *)(void *)endpoint;

    snprintf(f->seen, sizeof(f->seen), "%s %s %.*s", in->method_name, in->target,
             (int)in->body_len, in->body);
    f->served++;
    assert_string_equal(in->address, "127.0.0.1");
    assert_int_equal(in->secure, f->tls != NULL);
    if (!f->hold) {
        (void)turn_reply(turn, f->seen);
        return;
    }
    turn->served = &turn_served;
    turn->by = f;
    assert_true(f->held_count < HELD_MAX);
    f->held[f->held_count++] = turn;
}

/* ---- the listener ------------------------------------------------------------------ */

static inline int64_t
fixture_clock(void *user)
{
    const struct fixture *f = user;

    return f->now;
}

static inline void
fixture_count(void *user, int connections, int sessions, int streams)
{
    struct fixture *f = user;

    f->connections += connections;
    assert_int_equal(sessions | streams, 0);
}

static inline void
fixture_closed(void *user, struct mcpi_http_listener *listener)
{
    struct fixture *f = user;

    f->closed++;
    assert_ptr_equal(listener, f->listener);
    if (f->free_when_closed) {
        mcpi_http_listener_free(f->listener);
        f->listener = NULL;
    }
}

static inline int
fixture_listen(struct fixture *f)
{
    struct mcpi_http_listener_options opt = {.loop = f->loop,
                                             .http = &f->http,
                                             .endpoint = fixture_endpoint(f),
                                             .tls = f->tls,
                                             .gauges = {fixture_count, f},
                                             .clients = {.accounts = f->accounts},
                                             .check_head = fake_check_head,
                                             .serve = fake_serve,
                                             .greet_origin = fake_greet_origin,
                                             .closed = fixture_closed,
                                             .user = f};
    bool loopback = false;
    int fd = -1, r;

    f->port = 0;
    assert_int_equal(
        mcpi_http_listen(NULL, &f->port, MCPI_HTTP_ALONE, &fd, &loopback, NULL), 0);
    assert_true(loopback);
    r = mcpi_http_listener_new(&opt, fd, &f->listener, NULL);
    if (r < 0)
        close(fd);
    return r;
}

static inline void
fixture_prepare(struct fixture *f, bool tls)
{
    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    f->now = 1000 * SECOND;
    f->http = MCP_HTTP_OPTIONS(.head_ms = 10000, .body_ms = 60000, .idle_ms = 75000,
                               .write_ms = 30000, .connections = 1000,
                               .body_bytes = 1 << 20, .head_bytes = 8192);
    if (tls)
        f->tls = tls_context(NULL);
}

static inline void
fixture_open(struct fixture *f, void *const *state)
{
    fixture_prepare(f, *(const bool *)*state);
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
    mcpi_loop_set_clock(f->loop, fixture_clock, f);
    assert_int_equal(fixture_listen(f), 0);
}

/* Where clients may have so many bytes of requests, and enough of all else. */
static inline void
fixture_open_counting(struct fixture *f, void *const *state, size_t arriving)
{
    struct mcpi_budget *budget;

    fixture_prepare(f, *(const bool *)*state);
    assert_int_equal(mcpi_accounts_new(&f->mem.allocator, &f->accounts), 0);
    budget = mcpi_accounts_budget(f->accounts);
    mcpi_budget_raise(budget, MCPI_HELD_ARRIVING, arriving);
    mcpi_budget_raise(budget, MCPI_HELD_BYTES, 1 << 30);
    mcpi_budget_raise(budget, MCPI_HELD_CONNECTIONS, f->http.connections);
    assert_int_equal(mcpi_loop_new(&f->mem.allocator, NULL, &f->loop), 0);
    mcpi_loop_set_clock(f->loop, fixture_clock, f);
    assert_int_equal(fixture_listen(f), 0);
}

static inline void
fixture_close(struct fixture *f)
{
    mcpi_http_listener_free(f->listener);
    mcpi_loop_free(f->loop);
    mcpi_tls_context_unref(f->tls);
    assert_int_equal(f->connections, 0);
    if (f->accounts)
        assert_int_equal(mcpi_accounts_count(f->accounts), 0);
    mcpi_accounts_unref(f->accounts);
    test_mem_done(&f->mem);
}

static inline void
step(struct fixture *f)
{
    assert_int_equal(mcpi_loop_step(f->loop), 0);
}

/* Until it is so, or the test has failed. */
#define UNTIL(f, condition)                                           \
    do {                                                              \
        int64_t until_ = mcpi_loop_clock() + AWAIT_US;                \
                                                                      \
        while (!(condition)) {                                        \
            struct pollfd fd_ = {mcpi_loop_fd((f)->loop), POLLIN, 0}; \
                                                                      \
            assert_true(mcpi_loop_clock() < until_);                  \
            step(f);                                                  \
            if (!(condition))                                         \
                (void)poll(&fd_, 1, 1);                               \
        }                                                             \
    } while (0)

/* ---- a client ------------------------------------------------------------------------ */

/* Bytes as they are. */
static inline void
client_push(struct client *c, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0) {
            if (errno != EAGAIN)
                return; /* cut off */
            step(c->f);
            continue;
        }
        data += n;
        len -= (size_t)n;
    }
}

static inline void
client_push_session(struct client *c)
{
    char bytes[4096];
    size_t len = tls_client_take(&c->session, bytes, sizeof(bytes));

    for (; len > 0; len = tls_client_take(&c->session, bytes, sizeof(bytes)))
        client_push(c, bytes, len);
}

static inline void
client_send_bytes(struct client *c, const char *data, size_t len)
{
    if (!c->tls) {
        client_push(c, data, len);
        return;
    }
    assert_int_equal(SSL_write(c->session.ssl, data, (int)len), (int)len);
    client_push_session(c);
}

static inline void
client_send(struct client *c, const char *text)
{
    client_send_bytes(c, text, strlen(text));
}

static inline void
client_keep(struct client *c, const char *data, size_t len)
{
    if (c->cap - c->len <= len) {
        c->cap = (c->cap + len + 64) * 2;
        c->text = realloc(c->text, c->cap);
        assert_non_null(c->text);
    }
    memcpy(c->text + c->len, data, len);
    c->len += len;
    c->text[c->len] = '\0';
}

static inline void
client_unpack(struct client *c)
{
    char bytes[16384];
    int n = tls_client_read(&c->session, bytes, sizeof(bytes));

    for (; n > 0; n = tls_client_read(&c->session, bytes, sizeof(bytes)))
        client_keep(c, bytes, (size_t)n);
    if (n == 0)
        c->ended = true;
    client_push_session(c);
}

/* What is there. */
static inline void
client_read(struct client *c)
{
    char bytes[65536];
    ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

    if (n > 0 && c->tls) {
        tls_client_give(&c->session, bytes, (size_t)n);
        client_unpack(c);
    } else if (n > 0) {
        client_keep(c, bytes, (size_t)n);
    }
    c->ended = c->ended || n == 0;
    if (n < 0 && errno != EAGAIN)
        c->ended = c->reset = true;
}

/* Turns of the loop, and reading between them, until it is so. */
#define CLIENT_UNTIL(c, condition) UNTIL((c)->f, (client_read(c), (condition)))

static inline void
client_await(struct client *c, const char *text)
{
    CLIENT_UNTIL(c, strstr(c->text, text) || c->ended);
    assert_non_null(strstr(c->text, text));
}

static inline void
client_await_end(struct client *c)
{
    CLIENT_UNTIL(c, c->ended);
}

static inline void
client_forget(struct client *c)
{
    c->len = 0;
    c->text[0] = '\0';
}

static inline int
socket_to(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
    return fd;
}

static inline void
client_open_raw(struct client *c, struct fixture *f)
{
    *c = (struct client){.f = f, .fd = socket_to(f->port)};
    client_keep(c, "", 0);
}

static inline void
client_open(struct client *c, struct fixture *f)
{
    int before = f->connections;

    client_open_raw(c, f);
    UNTIL(f, f->connections == before + 1);
    if (!f->tls)
        return;
    c->tls = true;
    tls_client_open(&c->session, 0);
    client_unpack(c);
    CLIENT_UNTIL(c, SSL_is_init_finished(c->session.ssl));
    step(f);
}

static inline void
client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    if (c->tls)
        tls_client_close(&c->session);
    c->tls = false;
    free(c->text);
    c->text = NULL;
}

/* Break it: the server sees a reset. */
static inline void
client_reset(struct client *c)
{
    struct linger now = {1, 0};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(c->fd);
    c->fd = -1;
}

/* The body of the answer that has come, by its Content-Length. */
static inline const char *
client_body(const struct client *c)
{
    const char *end = strstr(c->text, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(path, length, body) \
    "POST " path " HTTP/1.1\r\nHost: a\r\nContent-Length: " length "\r\n\r\n" body

#define BOTH(function)                             \
    TEST_AS("plain." #function, function, &plain), \
        TEST_AS("tls." #function, function, &secure)

#endif
