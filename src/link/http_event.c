/*
 * http_event.c - messages as server-sent events: taken, kept, said once more
 *
 * A message is taken right behind the beginning of its event, so it is copied once, by
 * whoever encodes it. It has no line break in it.
 */
#include "link/http_event.h"

#include "link/http_session.h"
#include "wire/rpc.h"

#define EVENT_ROOM 128                     /* all that stands around a message */
#define SCRATCH_KEEP ((size_t)1024 * 1024) /* one long answer is not kept for ever */

static int64_t
event_now(const struct mcpi_http_stream *s)
{
    return mcpi_loop_now(s->endpoint->loop);
}

/* The longest message may stand behind a batch that is almost full. */
static size_t
scratch_max(const struct mcpi_http_stream *s)
{
    return mcpi_engine_max_bytes(s->endpoint->engine) + MCPI_HTTP_BATCH + EVENT_ROOM;
}

struct mcpi_buf *
mcpi_http_event_scratch(struct mcpi_http_stream *s)
{
    struct mcpi_buf *scratch = &s->endpoint->scratch;
    struct mcpi_buf fresh;

    mcpi_buf_clear(scratch);
    scratch->max = mcpi_buf_most(scratch_max(s));
    if (scratch->cap > SCRATCH_KEEP) {
        mcpi_buf_init(&fresh, scratch->mem, scratch->max);
        if (mcpi_buf_reserve(&fresh, MCPI_FRAME_MAX + EVENT_ROOM)) {
            mcpi_buf_done(scratch);
            *scratch = fresh;
        }
    }
    return scratch;
}

/* ---- writing --------------------------------------------------------------- */

static void
write_id(const struct mcpi_http_stream *s, struct mcpi_buf *into, uint64_t number)
{
    MCPI_BUF_LITERAL(into, "id: ");
    mcpi_buf_uint(into, s->number);
    mcpi_buf_char(into, '-');
    mcpi_buf_uint(into, number);
    mcpi_buf_char(into, '\n');
}

void
mcpi_http_event_write_retry(const struct mcpi_http_stream *s, struct mcpi_buf *into)
{
    MCPI_BUF_LITERAL(into, "retry: ");
    mcpi_buf_int(into, s->endpoint->http->retry_ms);
    mcpi_buf_char(into, '\n');
}

/* Up to where the message begins. */
static void
write_event(const struct mcpi_http_stream *s, struct mcpi_buf *into, uint64_t number)
{
    MCPI_BUF_LITERAL(into, "event: message\n");
    if (s->resumable)
        write_id(s, into, number);
    MCPI_BUF_LITERAL(into, "data: ");
}

void
mcpi_http_event_write_priming(const struct mcpi_http_stream *s, struct mcpi_buf *into)
{
    write_id(s, into, s->events + 1);
    mcpi_http_event_write_retry(s, into);
    MCPI_BUF_LITERAL(into, "data: \n\n");
}

void
mcpi_http_event_keep(struct mcpi_http_stream *s, const char *data, size_t len)
{
    const mcp_event_store *store = s->endpoint->http->store;
    int r;

    if (!s->resumable)
        return;
    s->events++;
    if (s->session->ending)
        return; /* nobody can come back */
    r = store->append(store->self, s->session->id, s->number, s->events, data, len);
    if (r < 0)
        MCPI_LOG(s->endpoint->log, MCP_LOG_INFO, "an event is not kept: %s",
                 mcp_status_text(r));
}

void
mcpi_http_event_prime(struct mcpi_http_stream *s)
{
    if (!s->primes)
        return;
    s->primes = false;
    mcpi_http_event_keep(s, "", 0);
    s->sent = s->events;
}

struct mcpi_out *
mcpi_http_event_take(struct mcpi_http_stream *s, struct mcpi_buf *into, uint64_t number,
                     struct mcpi_http_span *ret)
{
    size_t mark = into->len;
    struct mcpi_out *out;
    int status;

    while (s->outlet && !mcpi_outlet_is_empty(s->outlet)) {
        write_event(s, into, number);
        ret->at = into->len;
        if (!mcpi_buf_reserve(into, MCPI_FRAME_MAX + 2)) {
            mcpi_buf_rewind(into, mark);
            mcpi_http_stream_fail(s, MCP_E_NOMEM);
            return NULL;
        }
        out = mcpi_outlet_take(s->outlet, into, event_now(s));
        ret->len = into->len - ret->at;
        MCPI_BUF_LITERAL(into, "\n\n");
        status = into->status;
        if (out && status == 0)
            return out;
        mcpi_buf_rewind(into, mark);
        if (!out)
            return NULL;
        mcpi_out_done(out, status, event_now(s));
    }
    return NULL;
}

void
mcpi_http_event_done(struct mcpi_http_stream *s, int status)
{
    struct mcpi_out *out = s->out;

    s->out = NULL;
    if (out)
        mcpi_out_done(out, status, event_now(s));
}

bool
mcpi_http_event_fill(struct mcpi_http_stream *s, struct mcpi_buf *batch)
{
    struct mcpi_out *out;
    struct mcpi_http_span span;

    while (batch->len < MCPI_HTTP_BATCH) {
        out = mcpi_http_event_take(s, batch, s->events + 1, &span);
        if (!out)
            return false;
        mcpi_http_event_keep(s, batch->data + span.at, span.len);
        s->sent = s->events;
        mcpi_http_event_done(s, 0);
        s->out = out;
        if (mcpi_out_get_kind(out) == MCPI_OUT_ANSWER)
            return true;
    }
    return false;
}

/* ---- what the store has ---------------------------------------------------- */

struct replay {
    struct mcpi_http_stream *stream;
    struct mcpi_buf *into; /* NULL: only look */
    bool found;            /* something, if it only looks */
    bool full;
    bool failed; /* no memory */
};

static void
replay_event(void *user, uint64_t number, const char *data, size_t len)
{
    struct replay *replay = user;
    struct mcpi_buf *into = replay->into;
    size_t mark;

    replay->found = replay->found || number > replay->stream->sent;
    if (!into || replay->full || number <= replay->stream->sent)
        return;
    mark = into->len;
    write_event(replay->stream, into, number);
    mcpi_buf_append(into, data, len);
    MCPI_BUF_LITERAL(into, "\n\n");
    if (into->status < 0) {
        mcpi_buf_rewind(into, mark);
        replay->full = replay->failed = true;
        return;
    }
    replay->stream->sent = number;
    replay->full = into->len >= MCPI_HTTP_BATCH;
}

static int
replay_run(struct replay *replay)
{
    const struct mcpi_http_stream *s = replay->stream;
    const mcp_event_store *store = s->endpoint->http->store;

    return store->replay(store->self, s->session->id, s->number, s->sent, replay_event,
                         replay);
}

int
mcpi_http_event_find_rest(struct mcpi_http_stream *s)
{
    struct replay replay = {.stream = s};
    int r = replay_run(&replay);

    if (r == 0)
        return !replay.found;
    return r == MCP_E_INVAL ? r : MCP_E_CLOSED;
}

int
mcpi_http_event_replay(struct mcpi_http_stream *s, struct mcpi_buf *batch)
{
    struct replay replay = {.stream = s, .into = batch};
    int r = replay_run(&replay);

    if (batch->len > 0)
        return 0;
    if (replay.failed)
        mcpi_http_stream_fail(s, MCP_E_NOMEM);
    else if (r != 0 && r != MCP_E_INVAL)
        return MCP_E_CLOSED;
    else
        s->sent = s->events;
    return 0;
}
