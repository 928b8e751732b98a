/*
 * http_wire.c - the bytes of one connection
 *
 * libuv is asked to write at once, from where the bytes stand; what the socket does not
 * take is copied and left to libuv. So one who reads costs no copy, and one who does not
 * costs what waits for him, which whoever sends keeps to one message.
 */
#include "link/http_wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/mem.h"

#define PACKED_KEPT 65536 /* of shared buffers above this the memory is given back */
#define TOGETHER 8192     /* parts up to this are one record of TLS */

#define KEEPALIVE_IDLE 15
#define KEEPALIVE_EVERY 5
#define KEEPALIVE_PROBES 3

struct mcpi_http_kept {
    uv_write_t req;
    struct mcpi_buf flying, waiting;
};

static uv_stream_t *
wire_stream(struct mcpi_http_wire *w)
{
    return (uv_stream_t *)&w->tcp;
}

static void
buf_recycle(struct mcpi_buf *buf)
{
    if (buf->cap > PACKED_KEPT)
        mcpi_buf_done(buf);
    mcpi_buf_clear(buf);
}

/* ---- what is kept ------------------------------------------------------------ */

static void
wire_drop_kept(struct mcpi_http_wire *w)
{
    if (!w->kept)
        return;
    mcpi_buf_done(&w->kept->flying);
    mcpi_buf_done(&w->kept->waiting);
    mcpi_free(w->wires->mem, w->kept);
    w->kept = NULL;
    w->talk = 0;
    (void)mcpi_account_change(w->account, MCPI_HELD_BYTES, &w->charged, 0);
}

static void
wire_say_end(struct mcpi_http_wire *w)
{
    uv_os_fd_t fd;

    w->shut = true;
    if (uv_fileno((uv_handle_t *)&w->tcp, &fd) == 0)
        (void)shutdown(fd, SHUT_WR); /* fails if the client is gone */
}

static void on_written(uv_write_t *req, int status);

static int
kept_fly(struct mcpi_http_wire *w)
{
    struct mcpi_http_kept *kept = w->kept;
    uv_buf_t part = uv_buf_init(kept->flying.data, (unsigned)kept->flying.len);

    kept->req.data = w;
    return uv_write(&kept->req, wire_stream(w), &part, 1, on_written);
}

static void
on_written(uv_write_t *req, int status)
{
    struct mcpi_http_wire *w = req->data;
    struct mcpi_buf flown;

    if (w->closing)
        return;
    if (status == 0 && w->kept->waiting.len > 0) {
        flown = w->kept->flying;
        w->kept->flying = w->kept->waiting;
        w->kept->waiting = flown;
        mcpi_buf_clear(&w->kept->waiting);
        status = kept_fly(w);
        if (status == 0)
            return;
    }
    if (status < 0) {
        w->failed = true;
        w->ops->lost(w);
        return;
    }
    wire_drop_kept(w);
    if (w->shutting && !w->shut)
        wire_say_end(w);
    w->ops->left(w);
}

static struct mcpi_http_kept *
kept_new(const mcp_allocator *mem)
{
    struct mcpi_http_kept *kept = mcpi_alloc_zero(mem, sizeof(*kept));

    if (kept) {
        mcpi_buf_init(&kept->flying, mem, UINT32_MAX);
        mcpi_buf_init(&kept->waiting, mem, UINT32_MAX);
    }
    return kept;
}

static size_t
parts_len(const uv_buf_t *parts, unsigned count)
{
    size_t len = 0;

    for (unsigned i = 0; i < count; i++)
        len += parts[i].len;
    return len;
}

/* For what is kept, and so many bytes besides. */
static bool
wire_charge(struct mcpi_http_wire *w, size_t besides)
{
    return mcpi_account_change(w->account, MCPI_HELD_BYTES, &w->charged,
                               (size_t)w->kept->flying.cap + w->kept->waiting.cap +
                                   besides);
}

/* What stands behind the first `sent` bytes. It is charged before it is copied: a client
 * whose share is used up must not cost that much until its connection has closed. */
static bool
wire_append(struct mcpi_http_wire *w, struct mcpi_buf *into, const uv_buf_t *parts,
            unsigned count, size_t sent)
{
    if (!wire_charge(w, parts_len(parts, count) - sent))
        return false;
    for (unsigned i = 0; i < count; i++) {
        size_t skip = sent < parts[i].len ? sent : parts[i].len;

        mcpi_buf_append(into, parts[i].base + skip, parts[i].len - skip);
        sent -= skip;
    }
    return into->status == 0 && wire_charge(w, 0);
}

/* Nothing is kept that will not leave. */
static bool
wire_keep(struct mcpi_http_wire *w, const uv_buf_t *parts, unsigned count, size_t sent)
{
    if (w->kept) {
        if (wire_append(w, &w->kept->waiting, parts, count, sent))
            return true;
        mcpi_buf_done(&w->kept->waiting);
        mcpi_buf_init(&w->kept->waiting, w->wires->mem, UINT32_MAX);
        (void)wire_charge(w, 0);
        return false;
    }
    w->kept = kept_new(w->wires->mem);
    if (!w->kept)
        return false;
    if (wire_append(w, &w->kept->flying, parts, count, sent) && kept_fly(w) == 0)
        return true;
    wire_drop_kept(w);
    return false;
}

/* ---- sending ------------------------------------------------------------------ */

static bool
wire_fail(struct mcpi_http_wire *w)
{
    w->failed = true;
    return false;
}

/* As it is. */
static bool
wire_write(struct mcpi_http_wire *w, const uv_buf_t *parts, unsigned count)
{
    size_t len = parts_len(parts, count);
    int sent = 0;

    if (!w->kept) {
        sent = uv_try_write(wire_stream(w), parts, count);
        if (sent == UV_EAGAIN)
            sent = 0;
        if (sent < 0)
            return wire_fail(w);
    }
    if ((size_t)sent == len)
        return true;
    return wire_keep(w, parts, count, (size_t)sent) ? false : wire_fail(w);
}

static bool
wire_write_out(struct mcpi_http_wire *w)
{
    struct mcpi_buf *out = &w->wires->out;
    uv_buf_t part = uv_buf_init(out->data, (unsigned)out->len);
    bool left = true;

    if (out->status < 0)
        left = wire_fail(w);
    else if (out->len > 0)
        left = wire_write(w, &part, 1);
    buf_recycle(out);
    return left;
}

/* Small parts become one record. */
static int
wire_pack(struct mcpi_http_wire *w, const uv_buf_t *parts, unsigned count)
{
    struct mcpi_buf *packed = &w->wires->packed, *out = &w->wires->out;
    int r = 0;

    if (parts_len(parts, count) > TOGETHER) {
        for (unsigned i = 0; i < count && r == 0; i++)
            r = mcpi_tls_send(w->tls, parts[i].base, parts[i].len, out);
        return r;
    }
    mcpi_buf_clear(packed);
    for (unsigned i = 0; i < count; i++)
        mcpi_buf_append(packed, parts[i].base, parts[i].len);
    if (packed->status < 0)
        return packed->status;
    return mcpi_tls_send(w->tls, packed->data, packed->len, out);
}

bool
mcpi_http_wire_send(struct mcpi_http_wire *wire, const uv_buf_t *parts, unsigned count)
{
    if (wire->failed || wire->closing || wire->shutting)
        return false;
    if (!wire->tls)
        return wire_write(wire, parts, count);
    mcpi_buf_clear(&wire->wires->out);
    if (wire_pack(wire, parts, count) < 0)
        return wire_fail(wire);
    return wire_write_out(wire);
}

size_t
mcpi_http_wire_waiting(const struct mcpi_http_wire *wire)
{
    if (!wire->kept)
        return 0;
    return wire->tcp.write_queue_size + wire->kept->waiting.len;
}

void
mcpi_http_wire_shut(struct mcpi_http_wire *wire)
{
    if (wire->shutting)
        return;
    if (wire->tls && !wire->failed) {
        mcpi_buf_clear(&wire->wires->out);
        mcpi_tls_finish(wire->tls, &wire->wires->out);
        (void)wire_write_out(wire); /* it goes unsaid then */
    }
    wire->shutting = true;
    if (!wire->kept)
        wire_say_end(wire);
}

/* ---- reading ------------------------------------------------------------------ */

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);

static void
on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret_buf)
{
    struct mcpi_http_wire *w = handle->data;

    (void)suggested;
    *ret_buf = uv_buf_init(w->wires->input, MCPI_HTTP_INPUT);
}

/* What TLS answers by itself. A client can ask for new keys as often as it likes, and is
 * told of them each time: who does not read that is given up. */
static void
wire_write_talk(struct mcpi_http_wire *w)
{
    size_t len = w->wires->out.len;

    (void)wire_write_out(w);
    if (!w->kept)
        return;
    w->talk += len;
    if (w->talk > MCPI_HTTP_TALK)
        (void)wire_fail(w);
}

/* What was said before close_notify counts. */
static void
wire_unpack(struct mcpi_http_wire *w, const char *data, size_t len)
{
    struct mcpi_http_wires *shared = w->wires;
    int r;

    mcpi_buf_clear(&shared->plain);
    mcpi_buf_clear(&shared->out);
    r = mcpi_tls_receive(w->tls, data, len, &shared->plain, &shared->out);
    wire_write_talk(w);
    if (shared->plain.len > 0)
        w->ops->got(w, shared->plain.data, shared->plain.len);
    w->ended = r < 0;
    if ((w->failed || (w->ended && !w->held)) && !w->closing)
        w->ops->lost(w);
}

static void
wire_read(struct mcpi_http_wire *w)
{
    (void)uv_read_start(wire_stream(w), on_alloc, on_read); /* fails if it is closed */
}

void
mcpi_http_wire_hold(struct mcpi_http_wire *wire, bool hold)
{
    if (wire->held == hold || wire->closing)
        return;
    wire->held = hold;
    if (hold)
        (void)uv_read_stop(wire_stream(wire));
    else if (wire->ended)
        wire->ops->lost(wire);
    else if (mcpi_list_empty(&wire->in_paused))
        wire_read(wire);
}

/* There is more, but libuv would read it at once. */
static void
wire_pause(struct mcpi_http_wire *w)
{
    (void)uv_read_stop(wire_stream(w));
    mcpi_list_remove(&w->in_paused);
    mcpi_list_append(&w->wires->paused, &w->in_paused);
    mcpi_loop_flush(w->wires->loop, &w->wires->flush);
}

/* The turn is over. */
static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_http_wires *wires = MCPI_CONTAINER(flush, struct mcpi_http_wires,
                                                   flush);
    struct mcpi_http_wire *w;
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&wires->paused)) != NULL) {
        w = MCPI_CONTAINER(node, struct mcpi_http_wire, in_paused);
        if (!w->held)
            wire_read(w);
    }
}

/* What came home before it is done with first, so that a result which was there before
 * the client left wins (F10). */
static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct mcpi_http_wire *w = stream->data;

    if (n == 0)
        return;
    mcpi_loop_run_posts(w->wires->loop);
    if (w->closing)
        return;
    if (n < 0)
        w->ops->lost(w);
    else if (w->tls && !w->shutting)
        wire_unpack(w, buf->base, (size_t)n);
    else
        w->ops->got(w, buf->base, (size_t)n);
    if (n == MCPI_HTTP_INPUT && !w->closing)
        wire_pause(w);
}

/* ---- opening and closing -------------------------------------------------------- */

static void
on_closed(uv_handle_t *handle)
{
    struct mcpi_http_wire *w = handle->data;

    wire_drop_kept(w);
    mcpi_tls_free(w->tls);
    w->tls = NULL;
    w->ops->closed(w);
}

/* Best effort: a socket that knows no such thing works without. A client that vanished
 * without a word is given up after half a minute, with or without something to send. */
static void
socket_set(int fd)
{
    const int one = 1, idle = KEEPALIVE_IDLE, every = KEEPALIVE_EVERY,
              probes = KEEPALIVE_PROBES;
    const unsigned silent_ms = 1000 *
                               (KEEPALIVE_IDLE + KEEPALIVE_EVERY * KEEPALIVE_PROBES);

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof(silent_ms));
}

/* Once libuv has the handle it must be closed in order, so from there on nothing fails;
 * the descriptor is ours. */
static int
wire_start(struct mcpi_http_wire *w, int fd)
{
    int r;

    r = uv_tcp_init(mcpi_loop_uv(w->wires->loop), &w->tcp);
    if (r < 0)
        return MCP_E_LIMIT;
    w->tcp.data = w;
    socket_set(fd);
    if (uv_tcp_open(&w->tcp, fd) < 0) { /* no socket, or one that libuv has already */
        (void)close(fd);
        w->failed = true;
        return 0;
    }
    wire_read(w);
    return 0;
}

int
mcpi_http_wire_open(struct mcpi_http_wire *wire, struct mcpi_http_wires *wires,
                    const struct mcpi_http_wire_ops *ops, int take_fd)
{
    int r;

    memset(wire, 0, sizeof(*wire));
    mcpi_list_init(&wire->in_paused);
    wire->wires = wires;
    wire->ops = ops;
    if (wires->tls) {
        r = mcpi_tls_new(wires->tls, &wire->tls);
        if (r < 0)
            return r;
    }
    r = wire_start(wire, take_fd);
    if (r < 0)
        mcpi_tls_free(wire->tls);
    return r;
}

void
mcpi_http_wire_close(struct mcpi_http_wire *wire, bool reset)
{
    if (wire->closing)
        return;
    wire->closing = true;
    mcpi_list_remove(&wire->in_paused);
    if (!reset || uv_tcp_close_reset(&wire->tcp, on_closed) < 0)
        uv_close((uv_handle_t *)&wire->tcp, on_closed);
}

/* ---- the other end --------------------------------------------------------------- */

void
mcpi_http_address(int fd, char into[MCPI_HTTP_ADDRESS])
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } peer = {0};
    socklen_t len = sizeof(peer);
    const void *address = &peer.four.sin_addr;

    into[0] = '\0';
    if (getpeername(fd, &peer.any, &len) < 0)
        return;
    if (peer.any.sa_family == AF_INET6)
        address = &peer.six.sin6_addr;
    else if (peer.any.sa_family != AF_INET)
        return;
    (void)inet_ntop(peer.any.sa_family, address, into, MCPI_HTTP_ADDRESS);
}

/* ---- what is shared --------------------------------------------------------------- */

int
mcpi_http_wires_init(struct mcpi_http_wires *wires, struct mcpi_loop *loop,
                     struct mcpi_tls_context *tls)
{
    const mcp_allocator *mem = mcpi_loop_mem(loop);

    *wires = (struct mcpi_http_wires){.loop = loop, .mem = mem};
    mcpi_buf_init(&wires->plain, mem, UINT32_MAX);
    mcpi_buf_init(&wires->packed, mem, UINT32_MAX);
    mcpi_buf_init(&wires->out, mem, UINT32_MAX);
    mcpi_list_init(&wires->paused);
    mcpi_flush_init(&wires->flush, on_flush);
    wires->input = mcpi_alloc(mem, MCPI_HTTP_INPUT);
    if (!wires->input)
        return MCP_E_NOMEM;
    if (tls)
        wires->tls = mcpi_tls_context_ref(tls);
    return 0;
}

void
mcpi_http_wires_done(struct mcpi_http_wires *wires)
{
    mcpi_flush_cancel(&wires->flush);
    mcpi_buf_done(&wires->plain);
    mcpi_buf_done(&wires->packed);
    mcpi_buf_done(&wires->out);
    mcpi_free(wires->mem, wires->input);
    wires->input = NULL;
    mcpi_tls_context_unref(wires->tls);
    wires->tls = NULL;
}
