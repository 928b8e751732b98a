/* support/http_raw.c - an HTTP client that sends the bytes it is told to */
#include "support/http_raw.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the connection ------------------------------------------------------ */

/* False: nothing happened in that time. */
static bool
fd_poll(int fd, short events, int ms)
{
    struct pollfd one = {.fd = fd, .events = events};

    return poll(&one, 1, ms) == 1;
}

static void
fd_wait(int fd, short events)
{
    if (!fd_poll(fd, events, AWAIT_MS))
        fail_msg("the server is silent");
}

/* What a call into TLS waits for. False: it has failed. */
static bool
tls_wait(const struct http_raw *h, int r)
{
    int why = SSL_get_error(h->tls, r);

    if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        return false;
    fd_wait(h->fd, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT);
    return true;
}

static bool
tls_open(struct http_raw *h, SSL_CTX *context)
{
    int r;

    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes also when it reads */
    h->tls = SSL_new(context);
    assert_non_null(h->tls);
    assert_int_equal(SSL_set_fd(h->tls, h->fd), 1);
    for (;;) {
        r = SSL_connect(h->tls);
        if (r == 1)
            return true;
        if (!tls_wait(h, r))
            return false;
    }
}

static struct sockaddr_in
loopback(int n, int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + (uint32_t)n)};
}

static bool
connect_from(struct http_raw *h, int port, int n)
{
    struct sockaddr_in here = loopback(n, 0), there = loopback(1, port);
    int on = 1;

    *h = (struct http_raw){.fd = -1};
    h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(h->fd >= 0);
    if (n != 1)
        assert_int_equal(bind(h->fd, (struct sockaddr *)&here, sizeof(here)), 0);
    if (connect(h->fd, (struct sockaddr *)&there, sizeof(there)) < 0)
        return false;
    assert_int_equal(setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    assert_int_equal(fcntl(h->fd, F_SETFL, O_NONBLOCK), 0);
    return true;
}

bool
http_try_open(struct http_raw *h, int port, SSL_CTX *context)
{
    return connect_from(h, port, 1) && (!context || tls_open(h, context));
}

void
http_open_from(struct http_raw *h, int port, int n)
{
    if (!connect_from(h, port, n))
        fail_msg("cannot connect to port %d from 127.0.0.%d", port, n);
}

void
http_open(struct http_raw *h, int port, SSL_CTX *context)
{
    if (!http_try_open(h, port, context))
        fail_msg("cannot connect to port %d", port);
}

/* How many bytes were taken; 0: none now; -1: the server has closed. */
static ssize_t
bytes_send(struct http_raw *h, const char *bytes, size_t len)
{
    ssize_t n;
    int r;

    if (!h->tls) {
        n = send(h->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
        return n < 0 && errno == EAGAIN ? 0 : n;
    }
    r = SSL_write(h->tls, bytes, len > 16384 ? 16384 : (int)len);
    if (r > 0)
        return r;
    return tls_wait(h, r) ? 0 : -1;
}

bool
http_push(struct http_raw *h, const void *bytes, size_t len)
{
    const char *at = bytes;
    ssize_t n;

    while (len > 0) {
        fd_wait(h->fd, POLLOUT);
        n = bytes_send(h, at, len);
        if (n < 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

void
http_write(struct http_raw *h, const void *bytes, size_t len)
{
    if (!http_push(h, bytes, len))
        fail_msg("the server has closed");
}

void
http_say(struct http_raw *h, const char *text)
{
    http_write(h, text, strlen(text));
}

void
http_shut(struct http_raw *h)
{
    assert_int_equal(shutdown(h->fd, SHUT_WR), 0);
}

void
http_notify(struct http_raw *h)
{
    (void)SSL_shutdown(h->tls); /* 0: the other side has not said so yet */
}

void
http_close(struct http_raw *h)
{
    SSL_free(h->tls);
    if (h->fd >= 0)
        close(h->fd);
    free(h->data);
    free(h->head);
    free(h->body);
    free(h->event);
    *h = (struct http_raw){.fd = -1};
}

void
http_reset(struct http_raw *h)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(h->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    http_close(h);
}

/* ---- reading ------------------------------------------------------------- */

static void
room_make(char **data, size_t *room, size_t len)
{
    if (len <= *room)
        return;
    *room = 2 * len;
    *data = realloc(*data, *room);
    assert_non_null(*data);
}

/* As recv does. */
static ssize_t
bytes_receive(struct http_raw *h, char *into, size_t room)
{
    int r;

    if (!h->tls)
        return recv(h->fd, into, room, MSG_DONTWAIT);
    r = SSL_read(h->tls, into, (int)room);
    if (r > 0)
        return r;
    switch (SSL_get_error(h->tls, r)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
    case SSL_ERROR_ZERO_RETURN:
        return 0;
    default:
        errno = ECONNRESET;
        return -1;
    }
}

/* What there is now. */
static void
input_take(struct http_raw *h)
{
    ssize_t n;

    if (h->start > h->len - h->start) { /* a byte is moved once */
        memmove(h->data, h->data + h->start, h->len - h->start);
        h->len -= h->start;
        h->start = 0;
    }
    room_make(&h->data, &h->room, h->len + 16384);
    n = bytes_receive(h, h->data + h->len, h->room - h->len);
    if (n > 0)
        h->len += (size_t)n;
    h->reset = n < 0 && errno != EAGAIN;
    h->ended = n == 0 || h->reset;
}

bool
http_wait(struct http_raw *h, int ms)
{
    bool waits = h->tls && SSL_pending(h->tls) > 0;

    if (!h->ended && (waits || fd_poll(h->fd, POLLIN, ms)))
        input_take(h);
    return !h->ended;
}

/* More than there was. False: there will be no more. */
static bool
input_more(struct http_raw *h)
{
    size_t before = h->len - h->start;

    while (!h->ended && h->len - h->start == before) {
        if (!h->tls || SSL_pending(h->tls) == 0)
            fd_wait(h->fd, POLLIN);
        input_take(h);
    }
    return h->len - h->start > before;
}

/* Where this text begins, in what there is and what comes; NULL: it never does. */
static char *
input_find(struct http_raw *h, const char *text)
{
    char *found;

    for (;;) {
        found = h->data
                    ? memmem(h->data + h->start, h->len - h->start, text, strlen(text))
                    : NULL;
        if (found || !input_more(h))
            return found;
    }
}

void
http_expect_end(struct http_raw *h)
{
    while (!h->ended) {
        h->start = h->len;
        (void)input_more(h);
    }
}

/* ---- an answer ----------------------------------------------------------- */

/* Each line gets a terminator instead of its CRLF. */
static void
head_keep(struct http_raw *h, const char *end)
{
    size_t len = (size_t)(end - h->data) - h->start;
    char *line;

    free(h->head);
    h->head = calloc(1, len + 4);
    assert_non_null(h->head);
    memcpy(h->head, h->data + h->start, len);
    for (line = strstr(h->head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
        line[0] = line[1] = '\0';
    h->start += len + 4;
}

const char *
http_field(const struct http_raw *h, const char *name)
{
    size_t len = strlen(name);

    for (const char *line = h->head + strlen(h->head) + 2; line[0] != '\0';
         line += strlen(line) + 2)
        if (strncasecmp(line, name, len) == 0 && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " ");
    return NULL;
}

int
http_head(struct http_raw *h)
{
    const char *length, *coding;
    char *end = input_find(h, "\r\n\r\n");

    h->status = 0;
    if (!end) {
        assert_int_equal(h->len, h->start); /* not in mid-head */
        return 0;
    }
    head_keep(h, end);
    assert_memory_equal(h->head, "HTTP/1.1 ", 9);
    h->status = (int)strtol(h->head + 9, NULL, 10);
    assert_in_range(h->status, 100, 599);
    length = http_field(h, "Content-Length");
    coding = http_field(h, "Transfer-Encoding");
    assert_false(length && coding);
    h->is_chunked = coding != NULL;
    h->left = length ? strtoll(length, NULL, 10) : -1;
    if (h->is_chunked || h->status == 204 || h->status < 200)
        h->left = 0;
    h->is_over = h->left == 0 && !h->is_chunked;
    h->body_len = h->event_at = h->comments = 0;
    room_make(&h->body, &h->body_room, 1);
    h->body[0] = '\0';
    return h->status;
}

/* The line that begins the next chunk. False: there is none. */
static bool
chunk_begin(struct http_raw *h)
{
    char *end;

    end = input_find(h, "\r\n");
    if (!end)
        return false;
    h->left = strtoll(h->data + h->start, &end, 16);
    assert_memory_equal(end, "\r\n", 2);
    h->start = (size_t)(end - h->data) + 2;
    if (h->left > 0)
        return true;
    end = input_find(h, "\r\n"); /* no trailers */
    assert_ptr_equal(end, h->data + h->start);
    h->start += 2;
    h->is_over = true;
    return false;
}

static bool
chunk_end(struct http_raw *h)
{
    while (h->len - h->start < 2)
        if (!input_more(h))
            return false;
    assert_memory_equal(h->data + h->start, "\r\n", 2);
    h->start += 2;
    return true;
}

/* More of the body than there was. False: there is no more. */
static bool
body_more(struct http_raw *h)
{
    size_t part;

    if (h->is_over)
        return false;
    if (h->is_chunked && h->left == 0 && !chunk_begin(h))
        return false;
    if (h->len == h->start && !input_more(h)) {
        h->is_over = h->left < 0 && !h->reset;
        return false;
    }
    part = h->len - h->start;
    if (h->left >= 0 && (int64_t)part > h->left)
        part = (size_t)h->left;
    room_make(&h->body, &h->body_room, h->body_len + part + 1);
    memcpy(h->body + h->body_len, h->data + h->start, part);
    h->body_len += part;
    h->body[h->body_len] = '\0';
    h->start += part;
    if (h->left > 0)
        h->left -= (int64_t)part;
    if (h->left == 0 && h->is_chunked)
        return chunk_end(h);
    h->is_over = h->left == 0;
    return true;
}

const char *
http_body(struct http_raw *h)
{
    while (body_more(h))
        continue;
    assert_true(h->is_over);
    return h->body;
}

int
http_answer(struct http_raw *h)
{
    int status = http_head(h);

    if (status != 0)
        (void)http_body(h);
    return status;
}

/* ---- events -------------------------------------------------------------- */

/* One line of an event, without its end. */
static void
event_line(struct http_raw *h, const char *line, size_t len, char *id)
{
    size_t had;

    if (line[0] == ':')
        h->comments++;
    if (len >= 4 && memcmp(line, "id: ", 4) == 0 && id) {
        assert_true(len - 4 < HTTP_ID_ROOM);
        memcpy(id, line + 4, len - 4);
        id[len - 4] = '\0';
    }
    if (len < 5 || memcmp(line, "data:", 5) != 0)
        return;
    line += 5;
    len -= 5;
    if (len > 0 && line[0] == ' ')
        line++, len--;
    had = h->event ? strlen(h->event) : 0;
    h->event = realloc(h->event, had + len + 1);
    assert_non_null(h->event);
    memcpy(h->event + had, line, len);
    h->event[had + len] = '\0';
}

/* Only comments: no event. */
static bool
event_read(struct http_raw *h, const char *text, const char *end, char *id)
{
    const char *newline;

    free(h->event);
    h->event = NULL;
    if (id)
        id[0] = '\0';
    for (; text < end; text = newline + 1) {
        newline = memchr(text, '\n', (size_t)(end - text) + 1);
        assert_non_null(newline);
        event_line(h, text, (size_t)(newline - text), id);
    }
    return h->event != NULL;
}

const char *
http_event(struct http_raw *h, char *id)
{
    const char *text, *end;

    for (;;) {
        text = h->body + h->event_at;
        end = strstr(text, "\n\n");
        if (end) {
            h->event_at = (size_t)(end - h->body) + 2;
            if (event_read(h, text, end, id))
                return h->event;
        } else if (!body_more(h)) {
            return NULL;
        }
    }
}
