/* support/streams.c - worlds over descriptors, and a server with a raw client */
#include "support/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/wire.h"

#define TURNS \
    100000 /* that a test may need until all is quiet, far more than any does */

bool
loop_is_busy(struct mcpi_loop *loop)
{
    struct pollfd fd = {.fd = mcpi_loop_fd(loop), .events = POLLIN};

    return poll(&fd, 1, 0) > 0 || mcpi_loop_timeout_ms(loop) == 0;
}

void
pipe_open(int ends[2])
{
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
}

void
socket_pair(int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
}

/* ---- a world over streams -------------------------------------------------- */

static struct streams *
streams_of(struct world *w)
{
    return w->link_state;
}

struct mcpi_stream *
world_stream_of(struct world *w, int side)
{
    return streams_of(w)->stream[side];
}

static int64_t
world_clock(void *user)
{
    const struct world *w = user;

    return w->now;
}

static void
streams_closed(void *user, struct mcpi_stream *stream)
{
    struct streams *s = user;

    s->told[stream == s->stream[CLIENT] ? CLIENT : SERVER]++;
}

/* The same pipe or file once more, by its handle. */
static int
wire_open(int wire, int flags)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", wire);
    return open(path, flags | O_CLOEXEC);
}

/* Bytes on their way from this side to the other. */
static int
streams_in_flight(const struct streams *s, int side)
{
    int bytes = 0;
    int fd;

    if (s->sockets) {
        if (s->stream[1 - side])
            (void)ioctl(s->wire[1 - side], FIONREAD, &bytes);
        return bytes;
    }
    fd = wire_open(s->wire[side], O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return 0; /* a test broke it */
    (void)ioctl(fd, FIONREAD, &bytes);
    close(fd);
    return bytes;
}

int
streams_step(struct world *w, int side)
{
    struct streams *s = streams_of(w);
    int before[2], after[2];
    bool busy;

    if (!s->stream[side])
        return 0;
    for (int i = 0; i < 2; i++)
        before[i] = streams_in_flight(s, i);
    busy = loop_is_busy(s->loop[side]);
    assert_int_equal(mcpi_loop_step(s->loop[side]), 0);
    for (int i = 0; i < 2; i++)
        after[i] = streams_in_flight(s, i);
    return busy || loop_is_busy(s->loop[side]) || before[0] != after[0] ||
           before[1] != after[1];
}

size_t
streams_inject(struct world *w, int side, const char *bytes, size_t len)
{
    struct streams *s = streams_of(w);
    ssize_t n;
    int fd;

    if (s->sockets) {
        n = send(s->wire[side], bytes, len, MSG_DONTWAIT);
    } else {
        fd = wire_open(s->wire[side], O_WRONLY | O_NONBLOCK);
        n = write(fd, bytes, len);
        close(fd);
    }
    return n > 0 ? (size_t)n : 0;
}

void
streams_shutdown(struct world *w, int side)
{
    mcpi_stream_shutdown(streams_of(w)->stream[side]);
}

static void
streams_done(struct streams *s)
{
    if (!s->sockets)
        for (int side = 0; side < 2; side++)
            if (s->wire[side] >= 0)
                close(s->wire[side]);
    free(s);
}

void
streams_free(struct world *w, int side)
{
    struct streams *s = streams_of(w);

    mcpi_stream_free(s->stream[side]);
    mcpi_loop_free(s->loop[side]);
    s->stream[side] = NULL;
    s->loop[side] = NULL;
    if (!s->stream[1 - side])
        streams_done(s);
}

static int
streams_open_side(struct world *w, int side, const struct stream_ends *ends)
{
    struct streams *s = streams_of(w);
    struct mcpi_stream_options so = {.engine = w->engine[side],
                                     .take_in = ends->in,
                                     .take_out = ends->out,
                                     .closed = streams_closed,
                                     .user = s};
    int r;

    s->sockets = ends->in == ends->out;
    s->wire[side] = s->sockets ? ends->in : wire_open(ends->out, O_PATH);
    r = mcpi_loop_new(&w->mem->allocator, NULL, &s->loop[side]);
    if (r < 0)
        return r;
    mcpi_loop_set_clock(s->loop[side], world_clock, w);
    so.loop = s->loop[side];
    r = mcpi_stream_new(&so, &s->stream[side]);
    if (r == 0)
        w->peer[side] = mcpi_stream_peer(s->stream[side]);
    return r;
}

static void
streams_undo(struct world *w, const struct stream_ends ends[2])
{
    struct streams *s = streams_of(w);

    for (int side = 0; side < 2; side++) {
        if (!s->stream[side]) {
            close(ends[side].in);
            if (ends[side].out != ends[side].in)
                close(ends[side].out);
        }
        mcpi_stream_free(s->stream[side]);
        mcpi_loop_free(s->loop[side]);
        w->peer[side] = NULL;
    }
    streams_done(s);
}

int
streams_join(struct world *w, const struct stream_ends ends[2])
{
    struct streams *s = calloc(1, sizeof(*s));
    int r;

    assert_non_null(s);
    w->link_state = s;
    s->wire[0] = s->wire[1] = -1;
    r = streams_open_side(w, CLIENT, &ends[CLIENT]);
    if (r == 0)
        r = streams_open_side(w, SERVER, &ends[SERVER]);
    if (r < 0) {
        streams_undo(w, ends);
        return r;
    }
    for (int side = 0; side < 2; side++) /* libuv knows the descriptors from now on */
        assert_int_equal(mcpi_loop_step(s->loop[side]), 0);
    return 0;
}

static int
stream_open(struct world *w, const struct world_options *opt)
{
    struct stream_ends ends[2];
    int up[2], down[2];

    (void)opt;
    pipe_open(up);
    pipe_open(down);
    ends[CLIENT] = (struct stream_ends){down[0], up[1]};
    ends[SERVER] = (struct stream_ends){up[0], down[1]};
    return streams_join(w, ends);
}

const struct world_link world_stream = {.name = "stream",
                                        .open = stream_open,
                                        .step = streams_step,
                                        .inject = streams_inject,
                                        .shutdown = streams_shutdown,
                                        .free = streams_free};

/* ---- a rig: what it serves ------------------------------------------------- */

static int64_t
rig_clock(void *user)
{
    const struct rig *r = user;

    return r->now;
}

static void
rig_answer(struct rig *r, struct mcpi_exchange *x, size_t padding)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_buf_text(&result.body, "{\"content\":[],\"padding\":\"");
    for (size_t i = 0; i < padding; i++)
        mcpi_buf_char(&result.body, 'x');
    mcpi_buf_text(&result.body, "\"}");
    r->served++;
    mcpi_exchange_finish(x, &result, r->now);
}

static const char *
tool_of(const struct mcpi_exchange *x)
{
    return mcp_json_string(mcp_json_get(x->rpc.params, "name"), "");
}

static void
rig_begin(struct mcpi_exchange *x)
{
    struct rig *r = x->served_user;

    if (strcmp(tool_of(x), "hold") == 0) {
        assert_true(r->held_count < RIG_HELD_MAX);
        r->held[r->held_count++] = x;
        return;
    }
    rig_answer(r, x, strcmp(tool_of(x), "big") == 0 ? r->big : 0);
}

void
rig_finish(struct rig *r, size_t held)
{
    struct mcpi_exchange *x = r->held[held];

    assert_non_null(x);
    r->held[held] = NULL;
    rig_answer(r, x, 0);
}

static void
rig_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct rig *r = x->served_user;

    (void)how;
    (void)reason;
    r->told++;
    for (size_t i = 0; i < r->held_count; i++)
        if (r->held[i] == x)
            rig_finish(r, i);
}

static int
rig_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    static const struct mcpi_served_ops ops = {.begin = rig_begin, .ended = rig_ended};

    (void)why;
    mcpi_exchange_serve(x, &ops, user);
    return 0;
}

static const struct mcpi_router rig_router = {.route = rig_route};

static void
rig_log(void *user, enum mcp_log_level level, const char *line)
{
    struct rig *r = user;

    (void)line;
    r->warnings += level <= MCP_LOG_WARNING;
}

/* ---- a rig: making and freeing --------------------------------------------- */

static void
rig_on_closed(void *user, struct mcpi_stream *stream)
{
    struct rig *r = user;

    assert_ptr_equal(stream, r->stream);
    r->closed++;
    if (r->free_when_closed) {
        mcpi_stream_free(stream);
        r->stream = NULL;
    }
}

static void
rig_open_loop(struct rig *r, struct rig *shared)
{
    struct mcpi_log log = {rig_log, r, MCP_LOG_WARNING};

    if (shared) {
        r->loop = shared->loop;
        r->shares_loop = true;
        return;
    }
    assert_int_equal(mcpi_loop_new(&r->mem.allocator, &log, &r->loop), 0);
    mcpi_loop_set_clock(r->loop, rig_clock, r);
}

void
rig_open(struct rig *r, const struct rig_options *opt)
{
    struct mcpi_engine_options eo = {
        .role = MCPI_SERVER,
        .identity = {.info = "{\"name\":\"rig\",\"version\":\"1\"}"},
        .router = &rig_router,
        .router_user = r,
        .trace = wire_trace,
        .limits = opt->limits,
        .times = opt->times};
    struct mcpi_stream_options so = {.take_in = opt->server.in,
                                     .take_out = opt->server.out,
                                     .closed = rig_on_closed,
                                     .user = r};

    memset(r, 0, sizeof(*r));
    test_mem_init(&r->mem);
    r->now = 1000 * SECOND;
    r->say_fd = opt->test.out;
    r->listen_fd = opt->test.in;
    rig_open_loop(r, opt->on_loop_of);
    eo.mem = &r->mem.allocator;
    eo.timers = mcpi_loop_timers(r->loop);
    assert_int_equal(mcpi_engine_new(&eo, &r->engine), 0);
    so.loop = r->loop;
    so.engine = r->engine;
    assert_int_equal(mcpi_stream_new(&so, &r->stream), 0);
    rig_forget(r);
}

void
rig_open_pipes(struct rig *r)
{
    struct rig_options opt = {0};
    int up[2], down[2];

    pipe_open(up);
    pipe_open(down);
    opt.server = (struct stream_ends){up[0], down[1]};
    opt.test = (struct stream_ends){down[0], up[1]};
    rig_open(r, &opt);
}

void
rig_open_socket(struct rig *r)
{
    struct rig_options opt = {0};
    int ends[2];

    socket_pair(ends);
    opt.server = (struct stream_ends){ends[0], ends[0]};
    opt.test = (struct stream_ends){ends[1], ends[1]};
    rig_open(r, &opt);
}

void
rig_close(struct rig *r)
{
    mcpi_stream_free(r->stream);
    for (size_t i = 0; i < r->held_count; i++)
        if (r->held[i])
            rig_finish(r, i);
    assert_int_equal(mcpi_engine_free(r->engine), 0);
    if (!r->shares_loop)
        mcpi_loop_free(r->loop);
    if (r->listen_fd >= 0 && r->listen_fd != r->say_fd)
        close(r->listen_fd);
    if (r->say_fd >= 0)
        close(r->say_fd);
    free(r->heard);
    if (!r->shares_loop)
        test_mem_done(&r->mem);
}

/* ---- a rig: talking -------------------------------------------------------- */

void
rig_say(struct rig *r, const char *line)
{
    size_t len = strlen(line);

    assert_int_equal(write(r->say_fd, line, len), len);
    assert_int_equal(write(r->say_fd, "\n", 1), 1);
}

void
rig_hush(struct rig *r)
{
    if (r->say_fd == r->listen_fd) {
        shutdown(r->say_fd, SHUT_WR);
        return;
    }
    close(r->say_fd);
    r->say_fd = -1;
}

static ssize_t
listen_once(struct rig *r, char *into, size_t room)
{
    struct pollfd fd = {.fd = r->listen_fd, .events = POLLIN};

    if (r->listen_fd < 0 || poll(&fd, 1, 0) <= 0)
        return 0;
    return read(r->listen_fd, into, room);
}

void
rig_listen(struct rig *r)
{
    char bytes[65536];
    ssize_t n;

    for (n = listen_once(r, bytes, sizeof(bytes)); n > 0;
         n = listen_once(r, bytes, sizeof(bytes))) {
        r->heard = realloc(r->heard, r->heard_len + (size_t)n + 1);
        assert_non_null(r->heard);
        memcpy(r->heard + r->heard_len, bytes, (size_t)n);
        r->heard_len += (size_t)n;
        r->heard[r->heard_len] = '\0';
    }
}

size_t
rig_heard(const struct rig *r, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(r->heard, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

void
rig_forget(struct rig *r)
{
    free(r->heard);
    r->heard = calloc(1, 1);
    assert_non_null(r->heard);
    r->heard_len = 0;
}

/* One turn more than it seems to need: libuv hears of a new wish in the turn after. */
void
rig_run_deaf(struct rig *r)
{
    int quiet = 0;

    for (int i = 0; quiet < 2; i++) {
        assert_true(i < TURNS);
        assert_int_equal(mcpi_loop_step(r->loop), 0);
        quiet = loop_is_busy(r->loop) ? 0 : quiet + 1;
    }
}

void
rig_run(struct rig *r)
{
    size_t before;

    do {
        before = r->heard_len;
        rig_run_deaf(r);
        rig_listen(r);
    } while (r->heard_len != before);
}

void
rig_pass(struct rig *r, int64_t us)
{
    r->now += us;
    rig_run(r);
}
