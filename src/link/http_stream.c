/*
 * http_stream.c - the answer to one POST, or what a GET listens to
 *
 * Core's own wishes (wake, settle, fail, detach) are only noted down; all is done in
 * the flush, once a turn, where nothing of core is on the stack.
 *
 * Of several events in one write only the last one's out is held until the bytes have
 * left: they leave in order, so the others are gone by then.
 *
 * A stream ends in one place, mcpi_http_stream_free; the turn goes before it.
 * What a carrier says of a turn that was released reaches nobody (http.h).
 */
#include "link/http_stream.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "link/http_event.h"
#include "link/http_opening.h"
#include "link/http_session.h"
#include "wire/sse.h"

#define PRIMED_SINCE "2025-11-25" /* clients of before choke on an event without data */

static int64_t
stream_now(const struct mcpi_http_stream *s)
{
    return mcpi_loop_now(s->endpoint->loop);
}

static void
stream_schedule(struct mcpi_http_stream *s)
{
    mcpi_loop_flush(s->endpoint->loop, &s->flush);
}

/* ---- the turn, and the end ------------------------------------------------- */

struct mcpi_turn *
mcpi_http_stream_release(struct mcpi_http_stream *s)
{
    struct mcpi_turn *turn = s->turn;

    s->turn = NULL;
    s->busy = false;
    turn->served = NULL;
    turn->by = NULL;
    turn->ends = false;
    if (s->is_sse)
        mcpi_endpoint_count(s->endpoint, 0, -1);
    s->is_sse = false;
    mcpi_timer_disarm(mcpi_loop_timers(s->endpoint->loop), &s->beat);
    return turn;
}

void
mcpi_http_stream_free(struct mcpi_http_stream *s)
{
    struct mcpi_endpoint *endpoint = s->endpoint;
    struct mcpi_session *session = s->session;

    assert(!s->turn);
    mcpi_http_event_done(s, MCP_E_CLOSED);
    if (s->outlet && !s->is_get)
        mcpi_outlet_kill(s->outlet);
    mcpi_outlet_unref(s->outlet);
    mcpi_flush_cancel(&s->flush);
    mcpi_list_remove(&s->in_endpoint);
    if (session)
        mcpi_session_left(session, s);
    mcpi_free(endpoint->mem, s);
    if (endpoint->closing)
        mcpi_endpoint_check(endpoint);
}

/* The client is gone, or must think so, and can not come back. */
static void
stream_lose(struct mcpi_http_stream *s)
{
    if (s->outlet && !s->is_get)
        mcpi_outlet_gone(s->outlet, stream_now(s));
    mcpi_http_stream_free(s);
}

void
mcpi_http_stream_finish(struct mcpi_http_stream *s)
{
    struct mcpi_turn *turn = mcpi_http_stream_release(s);

    turn->ops->end(turn);
    mcpi_http_event_done(s, 0);
    if (s->events > 0)
        mcpi_session_delivered(s->session, s->number);
    mcpi_http_stream_free(s);
}

/* Nothing more will be said, and no answer was. A client that comes back for one is told
 * so, as long as that is known. */
static void
stream_settle(struct mcpi_http_stream *s)
{
    if (s->turn) {
        mcpi_http_stream_finish(s);
        return;
    }
    if (s->events > 0)
        mcpi_session_delivered(s->session, s->number);
    mcpi_http_stream_free(s);
}

static void
stream_abort(struct mcpi_http_stream *s)
{
    struct mcpi_turn *turn = s->turn ? mcpi_http_stream_release(s) : NULL;

    if (turn)
        turn->ops->abort(turn);
    stream_lose(s);
}

void
mcpi_http_stream_end(struct mcpi_http_stream *s)
{
    struct mcpi_turn *turn;
    bool said = s->is_sse;

    if (s->turn) {
        turn = mcpi_http_stream_release(s);
        if (said)
            turn->ops->end(turn);
        else
            turn->ops->abort(turn);
    }
    mcpi_http_stream_free(s);
}

/* ---- bytes ----------------------------------------------------------------- */

static void
stream_arm(struct mcpi_http_stream *s, int64_t from)
{
    int64_t ping_us = s->endpoint->http->ping_ms * 1000;

    if (s->may_sse && ping_us > 0)
        mcpi_timer_arm(mcpi_loop_timers(s->endpoint->loop), &s->beat,
                       mcpi_time_add(from, ping_us));
}

static bool
stream_open(struct mcpi_http_stream *s, const struct mcpi_buf *first)
{
    mcp_http_field fields[3] = {{"Cache-Control", "no-cache"},
                                {"X-Accel-Buffering", "no"}};
    struct mcpi_http_out head = {.status = 200,
                                 .type = "text/event-stream",
                                 .fields = fields,
                                 .field_count = 2,
                                 .body = first->data,
                                 .body_len = first->len};

    if (s->says_session)
        fields[head.field_count++] = (mcp_http_field){"Mcp-Session-Id", s->session->id};
    s->is_sse = true;
    mcpi_endpoint_count(s->endpoint, 0, 1);
    return mcpi_turn_open(s->turn, &head);
}

void
mcpi_http_stream_send(struct mcpi_http_stream *s, const struct mcpi_buf *bytes)
{
    bool left;

    if (s->turn->ends)
        mcpi_http_event_done(s, 0); /* the carrier has it alone: it is held once */
    if (s->is_sse)
        left = s->turn->ops->write(s->turn, bytes->data, bytes->len);
    else
        left = stream_open(s, bytes);
    s->spoken = stream_now(s);
    s->busy = !left;
    if (left)
        mcpi_http_event_done(s, 0);
}

void
mcpi_http_stream_go_on(struct mcpi_http_stream *s)
{
    if (s->settled || s->detaching || (s->outlet && !mcpi_outlet_is_empty(s->outlet)))
        stream_schedule(s);
}

/* ---- saying ---------------------------------------------------------------- */

static bool
stream_may_take(const struct mcpi_http_stream *s)
{
    return !s->is_get || mcpi_session_is_taker(s->session, s);
}

/* One that can come back for the rest: it knows an id. */
static bool
stream_is_resumable(const struct mcpi_http_stream *s)
{
    return s->resumable && s->sent > 0 && s->outlet && !s->session->ending;
}

static void
stream_let_go(struct mcpi_http_stream *s)
{
    struct mcpi_buf *last;
    struct mcpi_turn *turn;

    s->detaching = false;
    if (!stream_is_resumable(s))
        return;
    last = mcpi_http_event_scratch(s);
    mcpi_http_event_write_retry(s, last);
    mcpi_buf_char(last, '\n');
    s->turn->ends = true;
    if (last->status == 0)
        mcpi_http_stream_send(s, last);
    turn = mcpi_http_stream_release(s);
    turn->ops->end(turn);
    mcpi_http_event_done(s, 0);
    mcpi_session_detached(s->session, s);
    mcpi_http_stream_go_on(s);
}

/* All is said that waited, and the carrier has no rest of it. */
static void
stream_rest(struct mcpi_http_stream *s)
{
    if (s->detaching)
        stream_let_go(s);
    else if (s->settled && s->sent == s->events)
        stream_settle(s);
}

/* The store cannot tell the rest now: what follows would hide it, so the client must come
 * back for both. */
static void
stream_send_back(struct mcpi_http_stream *s)
{
    if (stream_is_resumable(s))
        stream_let_go(s);
    else
        stream_abort(s);
}

static void
stream_say(struct mcpi_http_stream *s)
{
    struct mcpi_buf *batch;
    size_t said = 0;
    bool answered = false;

    while (!s->busy && !s->failed && said < MCPI_HTTP_BATCH) {
        batch = mcpi_http_event_scratch(s);
        if (s->sent < s->events && mcpi_http_event_replay(s, batch) < 0) {
            stream_send_back(s);
            return;
        }
        if (batch->len == 0 && stream_may_take(s))
            answered = mcpi_http_event_fill(s, batch);
        if (batch->len == 0)
            break;
        said += batch->len;
        s->turn->ends = answered;
        mcpi_http_stream_send(s, batch);
        if (answered) {
            mcpi_http_stream_finish(s);
            return;
        }
    }
    if (said >= MCPI_HTTP_BATCH)
        stream_schedule(s); /* more in the next turn */
    else if (!s->busy && !s->failed)
        stream_rest(s);
}

/* Nobody is there: what is said goes to the store. A GET says nothing: it waits for the
 * next GET. */
static void
stream_store_all(struct mcpi_http_stream *s)
{
    struct mcpi_buf *batch;
    struct mcpi_out *out;
    struct mcpi_http_span span;
    bool answered = false;

    if (s->is_get)
        return;
    while (!answered) {
        batch = mcpi_http_event_scratch(s);
        out = mcpi_http_event_take(s, batch, s->events + 1, &span);
        if (!out)
            break;
        mcpi_http_event_keep(s, batch->data + span.at, span.len);
        answered = mcpi_out_get_kind(out) == MCPI_OUT_ANSWER;
        mcpi_out_done(out, 0, stream_now(s));
    }
    if (answered)
        mcpi_http_stream_free(s);
    else if (s->settled && !s->failed)
        stream_settle(s);
}

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_http_stream *s = MCPI_CONTAINER(flush, struct mcpi_http_stream, flush);
    struct mcpi_session *session = s->session;

    if (s->failed)
        stream_abort(s);
    else if (!s->turn)
        stream_store_all(s);
    else if (s->is_sse)
        stream_say(s);
    else
        mcpi_http_opening_decide(s);
    if (session && session->closing)
        mcpi_loop_flush(session->endpoint->loop, &session->flush);
}

static void
on_beat(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_http_stream *s = MCPI_CONTAINER(timer, struct mcpi_http_stream, beat);
    int64_t quiet_us = s->endpoint->http->ping_ms * 1000;
    struct mcpi_buf *bytes;

    if (s->spoken + quiet_us > now) {
        stream_arm(s, s->spoken);
        return;
    }
    stream_arm(s, now);
    if (s->busy)
        return; /* the client has enough to read; the carrier sees to it that it does */
    bytes = mcpi_http_event_scratch(s);
    if (s->primes)
        mcpi_http_event_write_priming(s, bytes);
    else
        mcpi_sse_write_ping(bytes);
    if (bytes->status < 0)
        return;
    mcpi_http_event_prime(s);
    mcpi_http_stream_send(s, bytes);
}

/* ---- what the carrier says ------------------------------------------------- */

static void
on_gone(struct mcpi_turn *turn)
{
    struct mcpi_http_stream *s = turn->by;

    (void)mcpi_http_stream_release(s);
    if (!stream_is_resumable(s)) {
        stream_lose(s);
        return;
    }
    mcpi_http_event_done(s, 0); /* the store has it */
    mcpi_session_detached(s->session, s);
    stream_schedule(s);
}

static void
on_written(struct mcpi_turn *turn)
{
    struct mcpi_http_stream *s = turn->by;

    s->busy = false;
    mcpi_http_event_done(s, 0);
    stream_schedule(s);
}

static const struct mcpi_turn_served stream_served = {.gone = on_gone,
                                                      .written = on_written};

static void
stream_serve(struct mcpi_http_stream *s, struct mcpi_turn *turn)
{
    s->turn = turn;
    turn->served = &stream_served;
    turn->by = s;
    s->spoken = stream_now(s);
    stream_arm(s, s->spoken);
}

/* ---- what core asks -------------------------------------------------------- */

void
mcpi_http_stream_wake(struct mcpi_http_stream *s)
{
    stream_schedule(s);
}

void
mcpi_http_stream_settle(struct mcpi_http_stream *s)
{
    s->settled = true;
    stream_schedule(s);
}

void
mcpi_http_stream_fail(struct mcpi_http_stream *s, int status)
{
    (void)status; /* core has logged it */
    s->failed = true;
    stream_schedule(s);
}

void
mcpi_http_stream_detach(struct mcpi_http_stream *s)
{
    s->detaching = s->resumable && s->turn;
    stream_schedule(s);
}

/* ---- making ---------------------------------------------------------------- */

static struct mcpi_http_stream *
stream_alloc(const struct mcpi_http_stream_options *opt)
{
    struct mcpi_endpoint *endpoint = opt->endpoint;
    struct mcpi_http_stream *s;

    s = mcpi_alloc_zero(endpoint->mem, sizeof(*s));
    if (!s)
        return NULL;
    s->endpoint = endpoint;
    s->session = opt->session;
    s->is_get = opt->is_get;
    s->may_json = opt->may_json;
    s->may_sse = opt->may_sse;
    s->resumable = opt->resumable && opt->may_sse && opt->session;
    s->says_session = opt->say_session && opt->session;
    mcpi_list_init(&s->in_session);
    mcpi_list_init(&s->in_endpoint);
    mcpi_list_append(&endpoint->streams, &s->in_endpoint);
    mcpi_flush_init(&s->flush, on_flush);
    mcpi_timer_init(&s->beat, on_beat);
    return s;
}

static int
stream_connect(struct mcpi_http_stream *s, struct mcpi_peer *peer)
{
    s->modern = peer == s->endpoint->anonymous;
    s->number = s->resumable ? ++s->endpoint->next_stream : 0;
    if (s->is_get) {
        s->outlet = mcpi_outlet_ref(mcpi_peer_outlet(peer));
        return 0;
    }
    s->primes = s->resumable &&
                strcmp(mcpi_peer_agreed_version(peer), PRIMED_SINCE) >= 0;
    return mcpi_outlet_new(peer, s, &s->outlet);
}

int
mcpi_http_stream_new(const struct mcpi_http_stream_options *opt,
                     struct mcpi_http_stream **ret_stream)
{
    struct mcpi_http_stream *s = stream_alloc(opt);
    int r;

    if (!s)
        return MCP_E_NOMEM;
    r = stream_connect(s, opt->peer);
    if (r < 0) {
        mcpi_list_remove(&s->in_endpoint);
        mcpi_free(opt->endpoint->mem, s);
        return r;
    }
    stream_serve(s, opt->turn);
    if (s->session)
        mcpi_session_attached(s->session, s);
    if (s->is_get)
        mcpi_http_stream_send(s, mcpi_http_event_scratch(s));
    if (s->is_get || s->primes)
        stream_schedule(s);
    *ret_stream = s;
    return 0;
}

/* ---- coming back ----------------------------------------------------------- */

int
mcpi_http_stream_resume(struct mcpi_http_stream *s, uint64_t after,
                        struct mcpi_turn *turn)
{
    struct mcpi_turn *old;
    uint64_t sent = s->sent;
    int r = 0;

    if (!s->resumable || after > s->events)
        return MCP_E_INVAL;
    s->sent = after;
    if (after < s->events)
        r = mcpi_http_event_find_rest(s);
    if (r < 0) {
        s->sent = sent;
        return r;
    }
    if (s->turn) {
        old = mcpi_http_stream_release(s);
        old->ops->abort(old);
        mcpi_http_event_done(s, 0); /* the store has it */
    }
    stream_serve(s, turn);
    mcpi_session_attached(s->session, s);
    mcpi_http_stream_send(s, mcpi_http_event_scratch(s));
    stream_schedule(s);
    return 0;
}

int
mcpi_http_stream_replay(const struct mcpi_http_stream_options *opt, uint64_t number,
                        uint64_t after)
{
    struct mcpi_http_stream *s = stream_alloc(opt);
    int r;

    if (!s)
        return MCP_E_NOMEM;
    s->is_get = false; /* it is told nothing new */
    s->number = number;
    s->sent = after;
    r = s->resumable ? mcpi_http_event_find_rest(s) : MCP_E_INVAL;
    if (r != 0) {
        mcpi_list_remove(&s->in_endpoint);
        mcpi_free(opt->endpoint->mem, s);
        return r;
    }
    s->events = UINT64_MAX;
    s->settled = true;
    stream_serve(s, opt->turn);
    mcpi_session_attached(s->session, s);
    mcpi_http_stream_send(s, mcpi_http_event_scratch(s));
    stream_schedule(s);
    return 0;
}
