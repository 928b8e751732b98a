/* endpoint.c - a server whose link has a stream for each request */
#include "support/endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wire.h"

/* Append a pointer to a growing array, in the test's own memory. */
static void
append(void ***array, size_t *count, void *item)
{
    void **bigger = realloc(*array, (*count + 1) * sizeof(*bigger));

    assert_non_null(bigger);
    bigger[(*count)++] = item;
    *array = bigger;
}

/* ---- what core asks ------------------------------------------------------ */

static void
op_wake(struct mcpi_outlet *outlet)
{
    (void)outlet;
}

static void
op_settle(struct mcpi_outlet *outlet)
{
    struct endpoint_stream *stream = mcpi_outlet_link(outlet);

    stream->settled++;
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct endpoint *ep = mcpi_peer_link(peer);

    ep->how = how;
    ep->closes++;
}

static void
op_fail(struct mcpi_outlet *outlet, int status)
{
    struct endpoint_stream *stream = mcpi_outlet_link(outlet);

    stream->failed++;
    stream->fail_status = status;
}

static void
op_detach(struct mcpi_outlet *outlet)
{
    struct endpoint_stream *stream = mcpi_outlet_link(outlet);

    stream->detached++;
}

static const struct mcpi_link_ops link_ops = {.wake = op_wake,
                                              .settle = op_settle,
                                              .fail = op_fail,
                                              .detach = op_detach,
                                              .close = op_close};
static const struct mcpi_link_ops bare_ops = {
    .wake = op_wake, .settle = op_settle, .close = op_close};

/* ---- handlers ------------------------------------------------------------ */

static struct endpoint_job *
job_of(const struct mcpi_exchange *x)
{
    return x->served_user;
}

static void
job_begin(struct mcpi_exchange *x)
{
    job_of(x)->entered = mcpi_exchange_find(x->peer, &x->rpc.id) == x;
}

static void
job_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    (void)reason;
    job_of(x)->told++;
    job_of(x)->how = how;
}

/* Nothing holds a run that lasts: it is over when it is told. */
static void
lasting_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct mcpi_result result;

    job_ended(x, how, reason);
    job_of(x)->finished = true;
    mcpi_result_init(&result, x->engine);
    mcpi_exchange_finish(x, &result, x->engine->now);
}

static void
lasting_closing(struct mcpi_exchange *x, struct mcpi_result *last)
{
    (void)x;
    mcpi_buf_text(&last->body, "{\"over\":true}");
}

static const struct mcpi_served_ops job_ops = {.begin = job_begin, .ended = job_ended};
static const struct mcpi_served_ops lasting_ops = {
    .begin = job_begin, .ended = lasting_ended, .closing = lasting_closing};

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct endpoint *ep = user;
    struct endpoint_job *job;
    bool lasting;

    (void)why;
    if (strncmp(x->rpc.method_name, "no/", 3) == 0)
        return MCP_E_INVAL;
    job = calloc(1, sizeof(*job));
    assert_non_null(job);
    job->x = mcpi_exchange_ref(x);
    append((void ***)&ep->jobs, &ep->job_count, job);
    lasting = strncmp(x->rpc.method_name, "last/", 5) == 0;
    mcpi_exchange_serve(x, lasting ? &lasting_ops : &job_ops, job);
    return 0;
}

static const struct mcpi_router router = {.route = on_route};

struct endpoint_job *
endpoint_job(struct endpoint *ep)
{
    assert_true(ep->job_count > 0);
    return ep->jobs[ep->job_count - 1];
}

void
endpoint_finish_long(struct endpoint *ep, struct endpoint_job *job, size_t bytes)
{
    struct mcpi_result result;

    mcpi_result_init(&result, ep->engine);
    if (bytes > 0) {
        mcpi_buf_text(&result.body, "{\"text\":\"");
        for (size_t i = 0; i < bytes; i++)
            mcpi_buf_char(&result.body, 'x');
        mcpi_buf_text(&result.body, "\"}");
    } else {
        mcpi_buf_text(&result.body, "{}");
    }
    job->finished = true;
    mcpi_exchange_finish(job->x, &result, ep->now);
}

void
endpoint_finish(struct endpoint *ep, struct endpoint_job *job)
{
    endpoint_finish_long(ep, job, 0);
}

static void
on_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct outcome *out = user;

    (void)call;
    (void)answer;
    out->done++;
    out->status = status;
}

int
endpoint_ask(struct endpoint *ep, struct endpoint_job *job, struct outcome *out)
{
    static const struct mcpi_call_ops ops = {.done = on_done};
    struct mcpi_call_options opt = {
        .method = "roots/list", .parent = job->x, .ops = &ops, .user = out};

    memset(out, 0, sizeof(*out));
    return mcpi_call_start(job->x->peer, &opt, ep->now, &out->call);
}

/* ---- making and freeing -------------------------------------------------- */

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct endpoint *ep = user;
    size_t used = strlen(ep->log);

    snprintf(ep->log + used, sizeof(ep->log) - used, "%c: %s\n", " EWID"[level], line);
}

void
endpoint_open_with(struct endpoint *ep, const struct endpoint_options *wanted)
{
    const struct mcpi_link_ops *ops = wanted->bare ? &bare_ops : &link_ops;
    struct mcpi_engine_options opt = {
        .role = MCPI_SERVER,
        .era = wanted->era,
        .identity = {.info = "{\"name\":\"test-endpoint\",\"version\":\"1\"}"},
        .router = &router,
        .trace = wire_trace,
        .log = {on_log, ep, MCP_LOG_WARNING},
        .limits = wanted->limits,
        .times = wanted->times,
        .seed = {4, 3, 2, 1},
    };

    memset(ep, 0, sizeof(*ep));
    ep->now = 1000 * SECOND;
    test_mem_init(&ep->mem);
    mcpi_timers_init(&ep->timers);
    opt.mem = &ep->mem.allocator;
    opt.timers = &ep->timers;
    opt.router_user = ep;
    assert_int_equal(mcpi_engine_new(&opt, &ep->engine), 0);
    mcpi_engine_at(ep->engine, ep->now);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            mcpi_peer_new(ep->engine, ops, wanted->traits, ep, &ep->peer[i]), 0);
        ep->own[i].peer = ep->peer[i];
    }
}

void
endpoint_open(struct endpoint *ep, unsigned traits, const struct mcpi_times *times)
{
    struct endpoint_options opt = {.traits = traits};

    if (times)
        opt.times = *times;
    endpoint_open_with(ep, &opt);
}

static void
forget(struct endpoint_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++)
        free(stream->sent[i]);
    stream->count = 0;
}

static void
stream_free(struct endpoint_stream *stream)
{
    mcpi_outlet_kill(stream->outlet);
    mcpi_outlet_unref(stream->outlet);
    forget(stream);
    free(stream);
}

void
endpoint_forget(struct endpoint *ep)
{
    for (size_t i = 0; i < ep->job_count; i++) {
        assert_true(ep->jobs[i]->finished);
        mcpi_exchange_unref(ep->jobs[i]->x);
        free(ep->jobs[i]);
    }
    for (size_t i = 0; i < ep->stream_count; i++)
        stream_free(ep->streams[i]);
    ep->job_count = ep->stream_count = 0;
}

void
endpoint_close(struct endpoint *ep)
{
    for (int i = 0; i < 2; i++)
        if (ep->peer[i])
            mcpi_peer_lost(ep->peer[i], MCP_E_CLOSED, ep->now);
    for (size_t i = 0; i < ep->job_count; i++)
        if (!ep->jobs[i]->finished)
            endpoint_finish(ep, ep->jobs[i]);
    endpoint_forget(ep);
    for (int i = 0; i < 2; i++) {
        mcpi_peer_free(ep->peer[i]);
        forget(&ep->own[i]);
    }
    free(ep->jobs);
    free(ep->streams);
    assert_int_equal(ep->engine->counts.calls, 0);
    assert_int_equal(mcpi_engine_free(ep->engine), 0);
    assert_int_equal(mcpi_timers_next(&ep->timers), MCPI_NEVER);
    test_mem_done(&ep->mem);
}

/* ---- messages in and out ------------------------------------------------- */

struct endpoint_stream *
endpoint_post_as(struct endpoint *ep, int peer, const char *text, const char *version,
                 const char *principal)
{
    const struct mcpi_json_limits limits = {1 << 20, 64};
    struct endpoint_stream *stream = calloc(1, sizeof(*stream));
    struct mcpi_arrival arrival = {.version = version, .principal = principal};

    assert_non_null(stream);
    stream->peer = ep->peer[peer];
    append((void ***)&ep->streams, &ep->stream_count, stream);
    assert_int_equal(mcpi_outlet_new(ep->peer[peer], stream, &stream->outlet), 0);
    assert_int_equal(mcpi_doc_parse(&ep->mem.allocator, text, strlen(text), &limits,
                                    &arrival.take_doc),
                     0);
    arrival.outlet = stream->outlet;
    ep->mem.fail_at = ep->fail_next > 0 ? ep->mem.total + ep->fail_next : 0;
    mcpi_peer_receive(ep->peer[peer], &arrival, ep->now);
    ep->mem.fail_at = 0;
    return stream;
}

struct endpoint_stream *
endpoint_post_to(struct endpoint *ep, int peer, const char *text)
{
    return endpoint_post_as(ep, peer, text, NULL, NULL);
}

struct endpoint_stream *
endpoint_post(struct endpoint *ep, const char *text)
{
    return endpoint_post_to(ep, 0, text);
}

void
endpoint_greet(struct endpoint *ep, int peer)
{
    endpoint_post_to(ep, peer, INITIALIZE("\"hello\"", "2025-11-25"));
    endpoint_post_to(ep, peer, NOTE("notifications/initialized", "{}"));
    endpoint_run(ep);
    assert_true(ep->peer[peer]->initialized);
}

static void
stream_run(struct endpoint *ep, struct endpoint_stream *stream,
           struct mcpi_outlet *outlet)
{
    struct mcpi_buf buf;
    struct mcpi_out *out;

    for (;;) {
        mcpi_buf_init(&buf, &ep->mem.allocator, 1 << 20);
        assert_non_null(mcpi_buf_reserve(&buf, MCPI_FRAME_MAX));
        out = mcpi_outlet_take(outlet, &buf, ep->now);
        if (out) {
            assert_true(stream->count < ENDPOINT_SENT_MAX);
            mcpi_buf_char(&buf, '\0');
            stream->codes[stream->count] = mcpi_out_code(out);
            stream->sent[stream->count] = strdup(buf.data);
            assert_non_null(stream->sent[stream->count++]);
            mcpi_out_done(out, 0, ep->now);
        }
        mcpi_buf_done(&buf);
        if (!out)
            return;
    }
}

void
endpoint_run(struct endpoint *ep)
{
    for (int i = 0; i < 2; i++)
        if (ep->peer[i])
            stream_run(ep, &ep->own[i], mcpi_peer_outlet(ep->peer[i]));
    for (size_t i = 0; i < ep->stream_count; i++)
        stream_run(ep, ep->streams[i], ep->streams[i]->outlet);
}

void
endpoint_pass(struct endpoint *ep, int64_t us)
{
    ep->now += us;
    mcpi_timers_expire(&ep->timers, ep->now);
    endpoint_run(ep);
}

void
endpoint_leave(struct endpoint *ep, struct endpoint_stream *stream)
{
    mcpi_outlet_gone(stream->outlet, ep->now);
    mcpi_outlet_kill(stream->outlet);
}
