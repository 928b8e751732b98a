/* fake.c - one engine on a link that only records */
#include "support/fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/wire.h"

/* ---- what core asks -------------------------------------------------------- */

static struct fake_event *
fake_note_down(struct fake *f, enum fake_event_kind kind, struct mcpi_leg *leg)
{
    size_t size = (f->event_count + 1) * sizeof(*f->events);
    struct fake_event *event;

    f->events = realloc(f->events, size);
    assert_non_null(f->events);
    event = &f->events[f->event_count++];
    memset(event, 0, sizeof(*event));
    event->kind = kind;
    event->leg = leg ? mcpi_leg_ref(leg) : NULL;
    return event;
}

static bool
fake_take_one(struct fake *f, struct mcpi_outlet *outlet)
{
    struct fake_event *event;
    struct mcpi_out *out;

    mcpi_buf_clear(&f->buf);
    out = mcpi_outlet_take(outlet, &f->buf, f->w.now);
    if (!out)
        return false;
    event = fake_note_down(f, FAKE_TAKE, mcpi_out_leg(out));
    event->out = mcpi_out_get_kind(out);
    event->text = malloc(f->buf.len + 1);
    assert_non_null(event->text);
    memcpy(event->text, f->buf.data, f->buf.len);
    event->text[f->buf.len] = '\0';
    f->open = realloc(f->open, (f->open_count + 1) * sizeof(struct mcpi_out *));
    assert_non_null(f->open);
    f->open[f->open_count++] = out;
    return true;
}

static void
op_wake(struct mcpi_outlet *outlet)
{
    struct fake *f = mcpi_outlet_link(outlet);

    f->wakes++;
    if (f->on_wake)
        f->on_wake(f, outlet);
    while (f->eager && fake_take_one(f, outlet))
        continue;
}

static void
op_hangup(struct mcpi_peer *peer, struct mcpi_leg *leg, int64_t after_us)
{
    fake_note_down(mcpi_peer_link(peer), FAKE_HANGUP, leg)->after_us = after_us;
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    fake_note_down(mcpi_peer_link(peer), FAKE_CLOSE, NULL)->how = how;
}

static void
op_ready(struct mcpi_peer *peer)
{
    struct fake *f = mcpi_peer_link(peer);

    f->greeted++;
}

static const struct mcpi_link_ops pipe_ops = {
    .wake = op_wake, .ready = op_ready, .close = op_close};
static const struct mcpi_link_ops streams_ops = {
    .wake = op_wake, .ready = op_ready, .hangup = op_hangup, .close = op_close};

/* ---- what it hears from core ----------------------------------------------- */

static void
job_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static const struct mcpi_served_ops job_ops = {.begin = job_begin};

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct fake *f = user;

    (void)why;
    f->jobs = realloc(f->jobs, (f->job_count + 1) * sizeof(struct mcpi_exchange *));
    assert_non_null(f->jobs);
    f->jobs[f->job_count++] = mcpi_exchange_ref(x);
    mcpi_exchange_serve(x, &job_ops, f);
    return 0;
}

static void
on_ready(void *user, struct mcpi_peer *peer, int status, const struct mcpi_rpc *reply)
{
    struct fake *f = user;

    (void)reply;
    f->ready++;
    f->ready_status = status;
    if (!peer->fault)
        return;
    f->fault = *peer->fault;
    snprintf(f->why, sizeof(f->why), "%s", peer->fault->why);
    f->fault.why = f->why;
}

static void
on_renewed(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *reply)
{
    struct fake *f = user;

    assert_int_equal(peer->state, MCPI_PEER_READY);
    assert_non_null(mcp_json_get(reply->result, "protocolVersion"));
    f->renewed++;
}

static void
on_closed(void *user, struct mcpi_peer *peer, int status)
{
    struct fake *f = user;

    (void)peer;
    (void)status;
    f->closed++;
}

static const struct mcpi_router router = {
    .route = on_route, .ready = on_ready, .renewed = on_renewed, .closed = on_closed};

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct fake *f = user;
    size_t used = strlen(f->log);

    snprintf(f->log + used, sizeof(f->log) - used, "%c: %s\n", " EWID"[level], line);
}

const struct fake_options fake_links[FAKE_LINKS] = {
    [MODERN_PIPE] = {.kind = FAKE_PIPE, .era = MCPI_ERA_MODERN},
    [LEGACY_PIPE] = {.kind = FAKE_PIPE, .era = MCPI_ERA_LEGACY},
    [LEGACY_STREAMS] = {.kind = FAKE_STREAMS, .era = MCPI_ERA_LEGACY, .eager = true},
    [MODERN_STREAMS] = {.kind = FAKE_STREAMS, .era = MCPI_ERA_MODERN, .eager = true},
};

/* ---- making and freeing ---------------------------------------------------- */

int
fake_open(struct fake *f, const struct fake_options *opt)
{
    struct mcpi_engine_options eo = {
        .role = opt->role,
        .era = opt->era,
        .identity = {.info = "{\"name\":\"fake\",\"version\":\"1\"}"},
        .timers = &f->timers,
        .router = &router,
        .router_user = f,
        .log = {on_log, f, MCP_LOG_DEBUG},
        .trace = wire_trace,
        .limits = opt->limits,
        .times = opt->times,
        .seed = {1, 2, 3, 4},
    };
    const struct mcpi_link_ops *ops = opt->kind == FAKE_PIPE ? &pipe_ops : &streams_ops;
    int r;

    memset(f, 0, sizeof(*f));
    f->w.now = 1000 * SECOND;
    f->eager = opt->eager;
    test_mem_init(&f->own_mem);
    f->mem = opt->mem ? opt->mem : &f->own_mem;
    eo.mem = &f->mem->allocator;
    mcpi_timers_init(&f->timers);
    mcpi_buf_init(&f->buf, &f->mem->allocator, 1 << 20);
    if (!mcpi_buf_reserve(&f->buf, MCPI_FRAME_MAX))
        return MCP_E_NOMEM;
    r = mcpi_engine_new(&eo, &f->engine);
    if (r < 0)
        return r;
    mcpi_engine_at(f->engine, f->w.now);
    r = mcpi_peer_new(f->engine, ops, 0, f, &f->peer);
    f->w.peer[CLIENT] = f->peer;
    return r;
}

void
fake_start_with(struct fake *f, const struct fake_options *opt)
{
    assert_int_equal(fake_open(f, opt), 0);
    assert_int_equal(mcpi_peer_connect(f->peer, f->w.now), 0);
    fake_negotiate(f);
    assert_int_equal(f->ready, 1);
    assert_int_equal(f->ready_status, 0);
    fake_forget(f);
}

void
fake_start(struct fake *f, enum fake_kind kind, enum mcpi_era era)
{
    struct fake_options opt = {.kind = kind, .era = era};

    fake_start_with(f, &opt);
}

void
fake_negotiate(struct fake *f)
{
    fake_run(f);
    if (f->engine->era == MCPI_ERA_LEGACY)
        fake_receive(f, RESULT("0", "{\"protocolVersion\":\"2025-11-25\","
                                    "\"capabilities\":{},\"serverInfo\":{}}"));
    else if (f->engine->era != MCPI_ERA_MANUAL)
        fake_receive(f, RESULT("\"libmcp:discover\"",
                               "{\"supportedVersions\":[\"2026-07-28\"]}"));
    fake_run(f);
}

static void
fake_finish_jobs(struct fake *f)
{
    struct mcpi_result result;

    for (size_t i = 0; i < f->job_count; i++) {
        mcpi_result_init(&result, f->engine);
        if (f->jobs[i]->running)
            mcpi_exchange_finish(f->jobs[i], &result, f->w.now);
        mcpi_exchange_unref(f->jobs[i]);
    }
    free(f->jobs);
}

void
fake_close(struct fake *f)
{
    if (f->peer)
        mcpi_peer_lost(f->peer, MCP_E_CLOSED, f->w.now);
    fake_written(f, MCP_E_CLOSED);
    fake_forget(f);
    fake_finish_jobs(f);
    mcpi_peer_free(f->peer);
    if (f->engine) {
        assert_int_equal(f->engine->counts.calls, 0);
        assert_int_equal(f->engine->counts.legs, 0);
    }
    assert_int_equal(mcpi_engine_free(f->engine), 0);
    assert_int_equal(mcpi_timers_next(&f->timers), MCPI_NEVER);
    mcpi_buf_done(&f->buf);
    free(f->open);
    test_mem_done(&f->own_mem);
}

/* ---- motion ---------------------------------------------------------------- */

size_t
fake_take(struct fake *f)
{
    size_t n = 0;

    while (fake_take_one(f, mcpi_peer_outlet(f->peer)))
        n++;
    return n;
}

void
fake_written(struct fake *f, int status)
{
    size_t count = f->open_count;
    struct mcpi_out **open = f->open;

    f->open = NULL;
    f->open_count = 0;
    for (size_t i = 0; i < count; i++)
        mcpi_out_done(open[i], status, f->w.now);
    free(open);
}

void
fake_run(struct fake *f)
{
    fake_take(f);
    fake_written(f, 0);
}

void
fake_receive_on(struct fake *f, struct mcpi_leg *leg, const char *text)
{
    struct mcpi_arrival arrival = {.leg = leg};

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &arrival.take_doc, NULL),
                     0);
    mcpi_peer_receive(f->peer, &arrival, f->w.now);
}

void
fake_receive(struct fake *f, const char *text)
{
    fake_receive_on(f, NULL, text);
}

void
fake_pass(struct fake *f, int64_t us)
{
    int64_t until = f->w.now + us;
    int64_t next;

    for (next = mcpi_timers_next(&f->timers); next <= until;
         next = mcpi_timers_next(&f->timers)) {
        f->w.now = next > f->w.now ? next : f->w.now;
        mcpi_timers_expire(&f->timers, f->w.now);
    }
    f->w.now = until;
    mcpi_engine_at(f->engine, until);
}

/* ---- calls ----------------------------------------------------------------- */

void
fake_call(struct fake *f, const struct mcpi_call_options *opt, struct outcome *out)
{
    world_call(&f->w, CLIENT, opt, out);
}

void
fake_issue(struct fake *f, const struct mcpi_call_options *opt, struct outcome *out)
{
    fake_call(f, opt, out);
    fake_run(f);
    assert_non_null(mcpi_leg_find(f->peer, mcpi_call_id(out->call)));
    fake_forget(f);
}

struct mcpi_leg *
fake_leg(struct fake *f, const struct outcome *out)
{
    return mcpi_leg_find_any(f->peer, mcpi_call_id(out->call));
}

void
fake_frame(struct fake *f, const char *params)
{
    assert_int_equal(mcpi_peer_notify(f->peer, "notifications/cancelled", params,
                                      params ? strlen(params) : 0, f->w.now),
                     0);
}

void
fake_end_by(struct fake *f, enum fake_cause cause, struct outcome *out)
{
    char params[64];

    switch (cause) {
    case CANCEL:
        assert_int_equal(mcpi_call_cancel(out->call, NULL, f->w.now), 0);
        break;
    case BY_HAND:
        snprintf(params, sizeof(params), "{\"requestId\":%lld}",
                 (long long)mcpi_call_id(out->call)->number);
        fake_frame(f, params);
        break;
    case IDLE:
    case TOTAL:
        fake_pass(f, SECOND);
        break;
    case FREE:
        mcpi_call_free(out->call, f->w.now);
        out->call = NULL;
        break;
    case CLOSE:
        mcpi_peer_close(f->peer, f->w.now);
        break;
    case LOST:
        mcpi_peer_lost(f->peer, MCP_E_CLOSED, f->w.now);
        break;
    }
}

/* ---- what was said --------------------------------------------------------- */

static void
describe(const struct fake_event *event, char *into, size_t size)
{
    if (event->kind == FAKE_CLOSE)
        snprintf(into, size, "%s", event->how == MCPI_CLOSE_NOW ? "now" : "drain");
    else if (event->kind == FAKE_HANGUP && event->after_us == MCPI_NEVER)
        snprintf(into, size, "hangup:never");
    else if (event->kind == FAKE_HANGUP)
        snprintf(into, size, "hangup:%lld", (long long)(event->after_us / 1000));
    else if (event->out == MCPI_OUT_REQUEST)
        snprintf(into, size, "request");
    else if (event->out == MCPI_OUT_ANSWER)
        snprintf(into, size, "answer");
    else
        snprintf(into, size, "%s",
                 strstr(event->text, "\"notifications/cancelled\"") ? "frame" : "note");
}

const char *
fake_said(struct fake *f)
{
    size_t used = 0;

    f->said[0] = '\0';
    for (size_t i = 0; i < f->event_count; i++) {
        if (i > 0)
            f->said[used++] = ' ';
        assert_true(used + 24 < sizeof(f->said));
        describe(&f->events[i], f->said + used, sizeof(f->said) - used);
        used += strlen(f->said + used);
    }
    return f->said;
}

void
fake_forget(struct fake *f)
{
    for (size_t i = 0; i < f->event_count; i++) {
        free(f->events[i].text);
        if (f->events[i].leg)
            mcpi_leg_unref(f->events[i].leg);
    }
    free(f->events);
    f->events = NULL;
    f->event_count = 0;
    f->log[0] = '\0';
}

const struct fake_event *
fake_event(struct fake *f, size_t index)
{
    assert_true(index < f->event_count);
    return &f->events[index];
}

const char *
fake_text(struct fake *f, size_t index)
{
    assert_int_equal(fake_event(f, index)->kind, FAKE_TAKE);
    return f->events[index].text;
}

bool
fake_logged(struct fake *f, const char *part)
{
    return strstr(f->log, part) != NULL;
}

void
fake_assert_quiet(struct fake *f)
{
    assert_int_equal(f->engine->counts.calls, 0);
    assert_int_equal(f->engine->counts.legs, 0);
    assert_int_equal(mcpi_timers_next(&f->timers), MCPI_NEVER);
}
