/* support/http_script.c - an HTTP server that does what the test tells it */
#include "support/http_script.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIECE 16384

/* ---- waiting ---------------------------------------------------------------- */

static int
ms_left(int64_t until)
{
    int64_t left = until - mcpi_loop_clock();

    return left > 0 ? (int)((left + 999) / 1000) : 0;
}

bool
http_script_wait(struct http_script *s, int fd, short events, int ms)
{
    struct pollfd two[2] = {{.fd = fd, .events = events}, {.fd = -1}};
    int64_t until = mcpi_loop_clock() + (int64_t)ms * 1000;
    int wait, loop_ms;

    do {
        wait = ms_left(until);
        if (s->loop) {
            assert_int_equal(mcpi_loop_step(s->loop), 0);
            two[1] = (struct pollfd){.fd = mcpi_loop_fd(s->loop), .events = POLLIN};
            loop_ms = mcpi_loop_timeout_ms(s->loop);
            if (loop_ms >= 0 && loop_ms < wait)
                wait = loop_ms;
        }
        if (poll(two, 2, wait) > 0 && two[0].revents != 0)
            return true;
    } while (ms_left(until) > 0);
    return false;
}

static void
visit_wait(struct visit *v, short events)
{
    if (!http_script_wait(v->script, v->fd, events, SCRIPT_PATIENCE_MS))
        fail_msg("the client is silent");
}

/* ---- the server ------------------------------------------------------------- */

static SSL_CTX *
context_make(const struct tls_pair *pair)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());

    assert_non_null(context);
    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes also when it reads */
    assert_int_equal(SSL_CTX_use_certificate_chain_file(context, pair->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey_file(context, pair->key, SSL_FILETYPE_PEM),
                     1);
    return context;
}

void
http_script_listen(struct http_script *s, int backlog)
{
    assert_int_equal(listen(s->fd, backlog), 0);
}

void
http_script_open(struct http_script *s, const struct tls_pair *pair,
                 struct mcpi_loop *loop)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);

    *s = (struct http_script){.loop = loop};
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&address, sizeof(address)), 0);
    http_script_listen(s, SOMAXCONN);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&address, &len), 0);
    s->port = ntohs(address.sin_port);
    s->tls = pair ? context_make(pair) : NULL;
    (void)snprintf(s->url, sizeof(s->url), "http%s://127.0.0.1:%d/mcp", pair ? "s" : "",
                   s->port);
}

void
http_script_close(struct http_script *s)
{
    close(s->fd);
    s->fd = -1;
    SSL_CTX_free(s->tls);
    s->tls = NULL;
}

void
http_script_ask(struct http_script *s, const struct tls_pair *client)
{
    assert_int_equal(SSL_CTX_load_verify_file(s->tls, client->certificate), 1);
    SSL_CTX_set_verify(s->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

bool
http_script_is_visited(struct http_script *s, int ms)
{
    return http_script_wait(s, s->fd, POLLIN, ms);
}

/* ---- a connection ----------------------------------------------------------- */

void
visit_accept_plain(struct visit *v, struct http_script *s)
{
    int on = 1;

    *v = (struct visit){.script = s, .fd = -1};
    if (!http_script_is_visited(s, SCRIPT_PATIENCE_MS))
        fail_msg("nobody connects");
    v->fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    assert_true(v->fd >= 0);
    assert_int_equal(setsockopt(v->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
}

/* What a call into TLS waits for. False: it has failed. */
static bool
tls_wait(struct visit *v, int r)
{
    int why = SSL_get_error(v->tls, r);

    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        return false;
    visit_wait(v, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT);
    return true;
}

bool
visit_greet(struct visit *v)
{
    int r;

    v->tls = SSL_new(v->script->tls);
    assert_non_null(v->tls);
    assert_int_equal(SSL_set_fd(v->tls, v->fd), 1);
    for (;;) {
        ERR_clear_error();
        r = SSL_accept(v->tls);
        if (r == 1)
            return true;
        if (!tls_wait(v, r))
            return false;
    }
}

void
visit_accept(struct visit *v, struct http_script *s)
{
    visit_accept_plain(v, s);
    if (s->tls && !visit_greet(v))
        fail_msg("the client does not greet");
}

static void
visit_free(struct visit *v)
{
    SSL_free(v->tls);
    close(v->fd);
    free(v->data);
    free(v->head);
    free(v->body);
    ERR_clear_error();
    *v = (struct visit){.script = v->script, .fd = -1};
}

void
visit_shut(struct visit *v)
{
    if (v->tls)
        (void)SSL_shutdown(v->tls);
    assert_int_equal(shutdown(v->fd, SHUT_WR), 0);
}

void
visit_close(struct visit *v)
{
    if (v->tls && !v->ended)
        (void)SSL_shutdown(v->tls);
    visit_free(v);
}

void
visit_reset(struct visit *v)
{
    struct linger at_once = {.l_onoff = 1};

    assert_int_equal(
        setsockopt(v->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)), 0);
    visit_free(v);
}

/* ---- reading ---------------------------------------------------------------- */

static void
visit_fit(struct visit *v)
{
    if (v->room - v->len > PIECE)
        return;
    v->room = v->room * 2 + PIECE * 2;
    v->data = realloc(v->data, v->room);
    assert_non_null(v->data);
}

/* More than 0: so many bytes; 0: none now; -1: the client has closed. */
static ssize_t
visit_receive(struct visit *v)
{
    ssize_t n;
    int r;

    visit_fit(v);
    if (!v->tls) {
        n = recv(v->fd, v->data + v->len, PIECE, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN)
            return 0;
        v->reset = n < 0;
    } else {
        ERR_clear_error();
        r = SSL_read(v->tls, v->data + v->len, PIECE);
        if (r <= 0 && SSL_get_error(v->tls, r) == SSL_ERROR_WANT_READ)
            return 0;
        n = r > 0 ? r : 0;
        v->reset = r <= 0 && SSL_get_error(v->tls, r) != SSL_ERROR_ZERO_RETURN;
    }
    if (n <= 0) {
        v->ended = true;
        return -1;
    }
    v->len += (size_t)n;
    return n;
}

/* False: the client has closed. */
static bool
visit_more(struct visit *v)
{
    ssize_t n = v->ended ? -1 : visit_receive(v);

    while (n == 0) {
        visit_wait(v, POLLIN);
        n = visit_receive(v);
    }
    return n > 0;
}

static void
visit_consume(struct visit *v, size_t len)
{
    memmove(v->data, v->data + len, v->len - len);
    v->len -= len;
}

void
visit_read_bytes(struct visit *v, size_t len)
{
    while (v->len < len)
        if (!visit_more(v))
            fail_msg("the client has closed");
}

static char *
text_take(struct visit *v, size_t len)
{
    char *text = malloc(len + 1);

    assert_non_null(text);
    if (len > 0)
        memcpy(text, v->data, len);
    text[len] = '\0';
    visit_consume(v, len);
    return text;
}

static bool
head_read(struct visit *v)
{
    const char *end;

    for (end = NULL; !end;) {
        end = v->len > 0 ? memmem(v->data, v->len, "\r\n\r\n", 4) : NULL;
        if (end || visit_more(v))
            continue;
        if (v->len > 0)
            fail_msg("the client has closed in its head");
        return false;
    }
    free(v->head);
    v->head = text_take(v, (size_t)(end - v->data) + 4);
    return true;
}

void
visit_read_head(struct visit *v)
{
    if (!head_read(v))
        fail_msg("the client has closed");
}

bool
visit_try_read(struct visit *v)
{
    const char *length;

    if (!head_read(v))
        return false;
    length = visit_field(v, "Content-Length");
    v->body_len = length ? strtoul(length, NULL, 10) : 0;
    visit_read_bytes(v, v->body_len);
    free(v->body);
    v->body = text_take(v, v->body_len);
    return true;
}

void
visit_read(struct visit *v)
{
    if (!visit_try_read(v))
        fail_msg("the client has closed");
}

const char *
visit_field(struct visit *v, const char *name)
{
    static _Thread_local char value[4096];
    size_t len = strlen(name);
    const char *line, *end;

    for (line = strstr(v->head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, len) != 0 || line[len] != ':')
            continue;
        line += len + 1 + strspn(line + len + 1, " ");
        end = strstr(line, "\r\n");
        (void)snprintf(value, sizeof(value), "%.*s", (int)(end - line), line);
        return value;
    }
    return NULL;
}

bool
visit_asks(const struct visit *v, const char *method_and_target)
{
    size_t len = strlen(method_and_target);

    return strncmp(v->head, method_and_target, len) == 0 && v->head[len] == ' ';
}

void
visit_await_gone(struct visit *v)
{
    while (visit_more(v))
        v->len = 0;
}

bool
visit_is_there(struct visit *v)
{
    return !v->ended && visit_receive(v) >= 0;
}

/* ---- writing ---------------------------------------------------------------- */

/* How many bytes were taken; 0: none now; -1: the client has closed. */
static ssize_t
bytes_send(struct visit *v, const char *bytes, size_t len)
{
    ssize_t n;
    int r;

    if (!v->tls) {
        n = send(v->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        return n < 0 && errno == EAGAIN ? 0 : n;
    }
    ERR_clear_error();
    r = SSL_write(v->tls, bytes, len > PIECE ? PIECE : (int)len);
    if (r > 0)
        return r;
    return tls_wait(v, r) ? 0 : -1;
}

bool
visit_push(struct visit *v, const void *bytes, size_t len)
{
    const char *at = bytes;
    ssize_t n;

    while (len > 0) {
        n = bytes_send(v, at, len);
        if (n < 0)
            return false;
        if (n == 0)
            visit_wait(v, POLLOUT);
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void
visit_send(struct visit *v, const void *bytes, size_t len)
{
    if (!visit_push(v, bytes, len))
        fail_msg("the client has closed");
}

void
visit_say(struct visit *v, const char *text)
{
    visit_send(v, text, strlen(text));
}

void
visit_answer(struct visit *v, const char *status, const char *type, const char *body)
{
    char head[512];

    (void)snprintf(head, sizeof(head),
                   "HTTP/1.1 %s\r\n%s%s%sContent-Length: %zu\r\n\r\n", status,
                   type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "",
                   strlen(body));
    visit_say(v, head);
    visit_say(v, body);
}

void
visit_begin_chunks(struct visit *v, const char *status, const char *type)
{
    char head[512];

    (void)snprintf(
        head, sizeof(head),
        "HTTP/1.1 %s\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", status,
        type);
    visit_say(v, head);
}

void
visit_chunk(struct visit *v, const char *text)
{
    char line[32];

    (void)snprintf(line, sizeof(line), "%zx\r\n", strlen(text));
    visit_say(v, line);
    visit_say(v, text);
    visit_say(v, "\r\n");
}
