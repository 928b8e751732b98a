/*
 * stream.c - messages over descriptors
 *
 *   OPEN -> closing -> ended -> told -> freed
 *
 * closing: core wants it closed; nothing is read any more (F30), what waits is written.
 * ended: the output is closed and core knows (stream_end, the one ending). told: its
 * owner knows. Any of these may be skipped, none is left.
 *
 * Core's own wishes (wake, close) are only noted down; all is done from the loop, in
 * on_poll and on_flush, where nothing of core is on the stack. What core or a post does
 * meanwhile can be seen in `reading` and `freed` afterwards: the memory stays until
 * libuv has given back the last handle, which is never before this turn is over.
 *
 * A handle of libuv is closed together with its descriptor, not later: closing it later
 * would take another one's watch away, once the number is in use again.
 */
#include "link/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "link/descriptor.h"
#include "link/pipe.h"

/* What is read of one who is gone: more than a pipe holds. Who still writes then is not
 * the one we knew. */
#define FINISH_BYTES ((size_t)1024 * 1024)

struct side {
    struct mcpi_descriptor descriptor;
    uv_poll_t poll;
    bool polled; /* poll is open; else the descriptor counts as always ready */
    int events;  /* asked of it */
};

struct mcpi_stream {
    const mcp_allocator *mem; /* the loop's: we may outlive the engine by a turn */
    struct mcpi_loop *loop;
    struct mcpi_peer *peer;
    struct mcpi_pipe pipe;
    struct mcpi_flush flush;
    struct side side[2];
    struct side *in, *out; /* may be the same */
    uv_idle_t last;        /* never runs; its close is the last thing of all */
    unsigned handles;      /* of libuv, not yet given back */
    void (*closed)(void *user, struct mcpi_stream *stream);
    void *user;
    bool reading;   /* no EOF yet, and somebody wants to know */
    bool blocked;   /* the output waits for room */
    bool shut;      /* the output is closed */
    bool closing;   /* end when all is written */
    bool cut;       /* end at once */
    bool finishing; /* read what is there, then end */
    bool taken;     /* the input is another's */
    bool ended;
    bool told;
    bool freed;
};

/* ---- sides ----------------------------------------------------------------- */

static void
on_handle_closed(uv_handle_t *handle)
{
    struct mcpi_stream *s = handle->data;

    if (--s->handles == 0)
        mcpi_free(s->mem, s);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void
side_watch(struct side *side, int events)
{
    if (!side->polled || side->events == events)
        return;
    side->events = events;
    if (events != 0)
        (void)uv_poll_start(&side->poll, events, on_poll); /* fails on bad arguments */
    else
        (void)uv_poll_stop(&side->poll);
}

static void
side_unpoll(struct side *side)
{
    if (!side->polled)
        return;
    side->polled = false;
    side->events = 0;
    uv_close((uv_handle_t *)&side->poll, on_handle_closed);
}

static void
side_close(struct side *side)
{
    side_unpoll(side);
    mcpi_descriptor_close(&side->descriptor);
}

/* One that cannot be polled (EPERM) is always ready, as a file is. */
static int
side_poll(struct mcpi_stream *s, struct side *side)
{
    int r;

    r = uv_poll_init(mcpi_loop_uv(s->loop), &side->poll, side->descriptor.fd);
    if (r < 0 && r != UV_EPERM)
        return r == UV_EEXIST || r == UV_EBADF ? MCP_E_INVAL : MCP_E_LIMIT;
    mcpi_descriptor_polled(&side->descriptor, r == 0);
    if (r == 0) {
        side->poll.data = s;
        side->polled = true;
        s->handles++;
    }
    return 0;
}

/* ---- the stream ------------------------------------------------------------ */

static int64_t
stream_now(const struct mcpi_stream *s)
{
    return mcpi_loop_now(s->loop);
}

/* Ask libuv, or the next turn, for what is wanted now. */
static void
stream_watch(struct mcpi_stream *s)
{
    int in = s->reading ? UV_READABLE : 0;
    int out = s->blocked ? UV_WRITABLE : 0;

    if (s->in == s->out) {
        side_watch(s->in, in | out);
    } else {
        side_watch(s->in, in);
        side_watch(s->out, out);
    }
    if ((s->reading && !s->in->polled) || (s->blocked && !s->out->polled))
        mcpi_loop_flush(s->loop, &s->flush);
}

static void
stream_stop_reading(struct mcpi_stream *s)
{
    s->reading = false;
    stream_watch(s);
}

static void
stream_close_output(struct mcpi_stream *s)
{
    if (s->shut)
        return;
    s->shut = true;
    s->blocked = false;
    mcpi_descriptor_shut(&s->out->descriptor);
    if (s->in != s->out)
        side_close(s->out);
    stream_watch(s);
}

static void
stream_end(struct mcpi_stream *s, int status)
{
    if (s->ended)
        return;
    s->ended = true;
    stream_stop_reading(s);
    stream_close_output(s);
    mcpi_peer_lost(s->peer, status, stream_now(s));
    mcpi_pipe_abort(&s->pipe, stream_now(s));
    mcpi_loop_flush(s->loop, &s->flush);
}

static void
stream_tell(struct mcpi_stream *s)
{
    if (s->told)
        return;
    s->told = true;
    if (s->closed)
        s->closed(s->user, s); /* it may be freed now */
}

/* ---- reading --------------------------------------------------------------- */

static void
stream_input_ended(struct mcpi_stream *s)
{
    stream_stop_reading(s);
    mcpi_pipe_ended(&s->pipe, stream_now(s));
}

/* One read call. What came home before it is done with first, so that a result which
 * was there before the cancel was read wins (F10). Returns how much was dispatched. */
static size_t
stream_read(struct mcpi_stream *s)
{
    size_t room;
    ssize_t n;
    char *into;

    into = mcpi_pipe_space(&s->pipe, &room);
    if (!into) {
        stream_end(s, MCP_E_NOMEM);
        return 0;
    }
    room = room < MCPI_STREAM_TURN ? room : MCPI_STREAM_TURN;
    n = mcpi_descriptor_read(&s->in->descriptor, into, room);
    if (n == MCP_E_AGAIN && s->in->polled)
        return 0;
    mcpi_loop_run_posts(s->loop);
    if (!s->reading)
        return 0; /* who closes reads no more */
    if (n > 0) {
        mcpi_pipe_filled(&s->pipe, (size_t)n, stream_now(s));
        return (size_t)n;
    }
    stream_input_ended(s);
    if (n < 0)
        stream_end(s, MCP_E_CLOSED);
    return 0;
}

/* The other side is gone. What it said before is read, all of it. */
static void
stream_read_rest(struct mcpi_stream *s, int status)
{
    size_t left = FINISH_BYTES;

    while (s->reading && left > 0) {
        size_t len = stream_read(s);

        if (len == 0)
            break;
        left -= len < left ? len : left;
    }
    if (s->freed || s->ended)
        return;
    if (s->reading)
        stream_input_ended(s);
    stream_end(s, status);
}

/* ---- writing --------------------------------------------------------------- */

static void
stream_wait_for_room(struct mcpi_stream *s, bool wait)
{
    s->blocked = wait;
    stream_watch(s);
}

static void
stream_write_failed(struct mcpi_stream *s, int status)
{
    if (status != MCP_E_CLOSED)
        MCPI_LOG(mcpi_loop_log(s->loop), MCP_LOG_WARNING, "stream: cannot write: %s",
                 strerror(errno));
    stream_close_output(s);
    stream_read_rest(s, status);
}

/* One write call with what can leave now. Above 0: that much left, and there may be
 * more; 0: nothing waits, or there is no room. */
static ssize_t
stream_write_once(struct mcpi_stream *s)
{
    const char *bytes;
    size_t room, len;
    ssize_t n;

    if (mcpi_pipe_is_idle(&s->pipe)) {
        stream_wait_for_room(s, false);
        return 0;
    }
    room = mcpi_descriptor_room(&s->out->descriptor);
    if (room == 0) {
        stream_wait_for_room(s, true);
        return 0;
    }
    bytes = mcpi_pipe_output(&s->pipe, room, &len, stream_now(s));
    if (len == 0)
        return 0; /* what waited was withdrawn */
    n = mcpi_descriptor_write(&s->out->descriptor, bytes, len);
    if (n == MCP_E_AGAIN)
        stream_wait_for_room(s, true);
    if (n <= 0)
        return n == MCP_E_AGAIN ? 0 : n;
    mcpi_pipe_written(&s->pipe, (size_t)n, stream_now(s));
    return n;
}

static void
stream_write(struct mcpi_stream *s)
{
    size_t total = 0;
    ssize_t n = 0;

    do {
        if (s->shut)
            break;
        n = stream_write_once(s);
        total += n > 0 ? (size_t)n : 0;
    } while (n > 0 && total < MCPI_STREAM_TURN);
    if (n < 0)
        stream_write_failed(s, (int)n);
    else if (n > 0)
        mcpi_loop_flush(s->loop, &s->flush); /* more in the next turn */
}

/* ---- on the loop ----------------------------------------------------------- */

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_stream *s = MCPI_CONTAINER(flush, struct mcpi_stream, flush);

    if (s->ended) {
        stream_tell(s);
        return;
    }
    if (s->cut) {
        stream_end(s, MCP_E_CLOSED);
        return;
    }
    if (s->finishing) {
        stream_read_rest(s, MCP_E_CLOSED);
        return;
    }
    if (s->reading && !s->in->polled) {
        (void)stream_read(s);
        if (s->freed)
            return;
        stream_watch(s); /* and the next turn again, unless that was all */
    }
    if (!s->ended)
        stream_write(s);
    if (!s->freed && s->closing && (s->shut || mcpi_pipe_is_idle(&s->pipe)))
        stream_end(s, MCP_E_CLOSED);
}

/* A handle that reports an error is of no more use to libuv: from here on reads and
 * writes say themselves what is wrong. */
static void
on_poll(uv_poll_t *poll, int status, int events)
{
    struct mcpi_stream *s = poll->data;
    struct side *side = poll == &s->in->poll ? s->in : s->out;

    if (status < 0) {
        side_unpoll(side);
        stream_watch(s);
        return;
    }
    if (events & UV_WRITABLE)
        mcpi_loop_flush(s->loop, &s->flush);
    if ((events & UV_READABLE) && s->reading)
        (void)stream_read(s);
}

/* ---- what core asks -------------------------------------------------------- */

static void
op_wake(struct mcpi_outlet *outlet)
{
    struct mcpi_stream *s = mcpi_outlet_link(outlet);

    mcpi_loop_flush(s->loop, &s->flush);
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct mcpi_stream *s = mcpi_peer_link(peer);

    s->closing = true;
    stream_stop_reading(s);
    if (how == MCPI_CLOSE_NOW) {
        s->cut = true;
        stream_close_output(s);
    }
    mcpi_loop_flush(s->loop, &s->flush);
}

static const struct mcpi_link_ops stream_ops = {.wake = op_wake, .close = op_close};

/* ---- making and freeing ---------------------------------------------------- */

/* The memory goes with the last handle. */
static void
stream_bury(struct mcpi_stream *s)
{
    s->freed = true;
    s->reading = false;
    mcpi_flush_cancel(&s->flush);
    side_unpoll(&s->side[0]);
    side_unpoll(&s->side[1]);
    uv_close((uv_handle_t *)&s->last, on_handle_closed);
}

static int
stream_open_peer(struct mcpi_stream *s, struct mcpi_engine *engine)
{
    int r;

    r = mcpi_peer_new(engine, &stream_ops, 0, s, &s->peer);
    if (r < 0)
        return r;
    r = mcpi_pipe_init(&s->pipe, engine, s->peer);
    if (r < 0)
        mcpi_peer_free(s->peer);
    return r;
}

static int
stream_open_sides(struct mcpi_stream *s, const struct mcpi_stream_options *opt)
{
    bool both = opt->take_in == opt->take_out;
    int r;

    s->in = &s->side[0];
    s->out = &s->side[both ? 0 : 1];
    if (fcntl(opt->take_out, F_GETFD) < 0)
        return MCP_E_INVAL; /* before its number is used for the input once more */
    r = mcpi_descriptor_open(&s->in->descriptor, opt->take_in);
    if (r == 0 && !both)
        r = mcpi_descriptor_open(&s->out->descriptor, opt->take_out);
    if (r == 0)
        r = side_poll(s, s->in);
    if (r == 0 && !both)
        r = side_poll(s, s->out);
    return r;
}

static void
stream_begin(struct mcpi_stream *s)
{
    mcpi_descriptor_keep(&s->in->descriptor);
    if (s->in != s->out)
        mcpi_descriptor_keep(&s->out->descriptor);
    s->reading = true;
    stream_watch(s);
}

int
mcpi_stream_new(const struct mcpi_stream_options *opt, struct mcpi_stream **ret_stream)
{
    const mcp_allocator *mem = mcpi_loop_mem(opt->loop);
    struct mcpi_stream *s;
    int r;

    s = mcpi_alloc_zero(mem, sizeof(*s));
    if (!s)
        return MCP_E_NOMEM;
    s->mem = mem;
    s->loop = opt->loop;
    s->closed = opt->closed;
    s->user = opt->user;
    s->side[0].descriptor.fd = s->side[1].descriptor.fd = -1;
    mcpi_flush_init(&s->flush, on_flush);
    r = stream_open_peer(s, opt->engine);
    if (r < 0) {
        mcpi_free(mem, s);
        return r;
    }
    uv_idle_init(mcpi_loop_uv(s->loop), &s->last);
    s->last.data = s;
    s->handles = 1;
    r = stream_open_sides(s, opt);
    if (r < 0) {
        stream_bury(s);
        mcpi_descriptor_drop(&s->side[0].descriptor);
        mcpi_descriptor_drop(&s->side[1].descriptor);
        mcpi_pipe_done(&s->pipe, stream_now(s));
        mcpi_peer_free(s->peer);
        return r;
    }
    stream_begin(s);
    *ret_stream = s;
    return 0;
}

void
mcpi_stream_free(struct mcpi_stream *stream)
{
    if (!stream)
        return;
    stream_end(stream, MCP_E_CLOSED);
    side_close(stream->in);
    mcpi_pipe_done(&stream->pipe, stream_now(stream));
    mcpi_peer_free(stream->peer);
    stream_bury(stream);
}

struct mcpi_peer *
mcpi_stream_peer(const struct mcpi_stream *stream)
{
    return stream->peer;
}

void
mcpi_stream_finish(struct mcpi_stream *stream)
{
    stream->finishing = true;
    mcpi_loop_flush(stream->loop, &stream->flush);
}

void
mcpi_stream_shutdown(struct mcpi_stream *stream)
{
    stream_close_output(stream);
}

int
mcpi_stream_take_input(struct mcpi_stream *stream)
{
    struct mcpi_descriptor *d = &stream->in->descriptor;

    if (stream->taken)
        return -1;
    stream->taken = true;
    stream_stop_reading(stream);
    if (stream->in == stream->out && !stream->shut)
        return fcntl(d->fd, F_DUPFD_CLOEXEC, 0); /* it is still written to */
    side_unpoll(stream->in);
    return mcpi_descriptor_take(d);
}
