/*
 * http_endpoint.c - one MCP endpoint on one loop: its shared peers, its end
 *
 * Core's wish to close a shared peer is only noted down; it is done in the flush, where
 * nothing of core is on the stack:
 *
 *   drain   its streams write what they have; the last one that ends ends the peer.
 *           Core bounds the time.
 *   now     core has given it up and it is lost already: its streams end, and so does
 *           it. A new one takes its place, unless the endpoint closes.
 */
#include "link/http_endpoint.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "link/http_2024.h"
#include "link/http_session.h"
#include "run/random.h"
#include "wire/rpc.h"

/* A frame, and what stands around one as an event with its head. */
#define ROOM ((size_t)2 * MCPI_FRAME_MAX)

static int64_t
endpoint_now(const struct mcpi_endpoint *endpoint)
{
    return mcpi_loop_now(endpoint->loop);
}

/* ---- what core asks -------------------------------------------------------- */

/* Nobody listens to what a shared peer itself says. */
static bool
outlet_is_common(const struct mcpi_outlet *outlet)
{
    const struct mcpi_peer *peer = mcpi_outlet_peer(outlet);

    return peer && mcpi_peer_outlet(peer) == outlet;
}

static void
op_wake(struct mcpi_outlet *outlet)
{
    struct mcpi_endpoint *endpoint;

    if (!outlet_is_common(outlet)) {
        mcpi_http_stream_wake(mcpi_outlet_link(outlet));
        return;
    }
    endpoint = mcpi_outlet_link(outlet);
    mcpi_loop_flush(endpoint->loop, &endpoint->flush);
}

static void
op_settle(struct mcpi_outlet *outlet)
{
    if (!outlet_is_common(outlet))
        mcpi_http_stream_settle(mcpi_outlet_link(outlet));
}

static void
op_fail(struct mcpi_outlet *outlet, int status)
{
    if (!outlet_is_common(outlet))
        mcpi_http_stream_fail(mcpi_outlet_link(outlet), status);
}

static void
op_detach(struct mcpi_outlet *outlet)
{
    if (!outlet_is_common(outlet))
        mcpi_http_stream_detach(mcpi_outlet_link(outlet));
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct mcpi_endpoint *endpoint = mcpi_peer_link(peer);
    enum mcpi_shared_end *end = peer == endpoint->anonymous ? &endpoint->anonymous_end
                                                            : &endpoint->stateless_end;

    *end = how == MCPI_CLOSE_NOW ? MCPI_SHARED_CUT : MCPI_SHARED_DRAINED;
    mcpi_loop_flush(endpoint->loop, &endpoint->flush);
}

static const struct mcpi_link_ops shared_ops = {.wake = op_wake,
                                                .settle = op_settle,
                                                .fail = op_fail,
                                                .detach = op_detach,
                                                .close = op_close};

/* ---- shared peers ---------------------------------------------------------- */

static unsigned
stateless_traits(const mcp_http_options *http)
{
    unsigned traits = MCPI_PRIVATE_IDS | MCPI_NO_REQUESTS | MCPI_STATELESS;

    return http->stateless_runs_on ? traits : traits | MCPI_GONE_CANCELS;
}

static int
shared_open(struct mcpi_endpoint *endpoint)
{
    const unsigned modern = MCPI_PRIVATE_IDS | MCPI_NO_REQUESTS | MCPI_GONE_CANCELS;
    bool stateless = endpoint->opt.legacy && endpoint->http->stateless;
    int r = 0;

    if (!endpoint->anonymous)
        r = mcpi_peer_new(endpoint->engine, &shared_ops, modern, endpoint,
                          &endpoint->anonymous);
    if (r == 0 && stateless && !endpoint->stateless)
        r = mcpi_peer_new(endpoint->engine, &shared_ops,
                          stateless_traits(endpoint->http), endpoint,
                          &endpoint->stateless);
    return r;
}

static struct mcpi_peer *
shared_get(struct mcpi_endpoint *endpoint, struct mcpi_peer *const *peer,
           const enum mcpi_shared_end *end)
{
    if (!*peer && !endpoint->closing)
        (void)shared_open(endpoint); /* else there is none, and that is an answer */
    return *end == MCPI_SHARED_OPEN ? *peer : NULL;
}

struct mcpi_peer *
mcpi_endpoint_anonymous(struct mcpi_endpoint *endpoint)
{
    return shared_get(endpoint, &endpoint->anonymous, &endpoint->anonymous_end);
}

struct mcpi_peer *
mcpi_endpoint_stateless(struct mcpi_endpoint *endpoint)
{
    return shared_get(endpoint, &endpoint->stateless, &endpoint->stateless_end);
}

/* Drop what a shared peer itself says. */
static void
shared_mute(struct mcpi_endpoint *endpoint, struct mcpi_peer *peer)
{
    struct mcpi_out *out;

    if (!peer || mcpi_outlet_is_empty(mcpi_peer_outlet(peer)))
        return;
    do {
        mcpi_buf_clear(&endpoint->scratch);
        out = mcpi_outlet_take(mcpi_peer_outlet(peer), &endpoint->scratch,
                               endpoint_now(endpoint));
        if (out)
            mcpi_out_done(out, MCP_E_CLOSED, endpoint_now(endpoint));
    } while (out);
    mcpi_buf_clear(&endpoint->scratch);
}

/* Is this stream one of that shared peer's or, with NULL, of one that is lost? */
static bool
stream_is_of(const struct mcpi_http_stream *stream, const struct mcpi_peer *peer)
{
    return !stream->session && stream->outlet &&
           mcpi_outlet_peer(stream->outlet) == peer;
}

static struct mcpi_http_stream *
stream_find(const struct mcpi_endpoint *endpoint, const struct mcpi_peer *peer)
{
    struct mcpi_http_stream *stream;

    for (struct mcpi_list *node = endpoint->streams.next; node != &endpoint->streams;
         node = node->next) {
        stream = MCPI_CONTAINER(node, struct mcpi_http_stream, in_endpoint);
        if (stream_is_of(stream, peer))
            return stream;
    }
    return NULL;
}

/* One pass, however many there are. */
static void
streams_end_lost(struct mcpi_endpoint *endpoint)
{
    struct mcpi_http_stream *stream;
    struct mcpi_list *node;
    struct mcpi_list seen;

    mcpi_list_init(&seen);
    while ((node = mcpi_list_pop(&endpoint->streams)) != NULL) {
        mcpi_list_append(&seen, node);
        stream = MCPI_CONTAINER(node, struct mcpi_http_stream, in_endpoint);
        if (stream_is_of(stream, NULL))
            mcpi_http_stream_end(stream);
    }
    while ((node = mcpi_list_pop(&seen)) != NULL)
        mcpi_list_append(&endpoint->streams, node);
}

/* Core wants it closed: see above. */
static void
shared_close(struct mcpi_endpoint *endpoint, struct mcpi_peer **peer,
             enum mcpi_shared_end *end)
{
    if (*end == MCPI_SHARED_OPEN || !*peer)
        return;
    if (*end == MCPI_SHARED_DRAINED && stream_find(endpoint, *peer))
        return;
    mcpi_peer_lost(*peer, MCP_E_CLOSED, endpoint_now(endpoint));
    streams_end_lost(endpoint);
    mcpi_peer_free(*peer);
    *peer = NULL;
    *end = MCPI_SHARED_OPEN;
}

/* ---- the end --------------------------------------------------------------- */

/* But for those who are asked who they are. */
static bool
endpoint_is_empty(const struct mcpi_endpoint *endpoint)
{
    return !endpoint->anonymous && !endpoint->stateless &&
           endpoint->session_count == 0 && endpoint->sessions.count == 0 &&
           mcpi_list_empty(&endpoint->streams) &&
           mcpi_list_empty(&endpoint->old_sessions);
}

static void
on_flush(struct mcpi_flush *flush)
{
    struct mcpi_endpoint *endpoint = MCPI_CONTAINER(flush, struct mcpi_endpoint, flush);

    shared_mute(endpoint, endpoint->anonymous);
    shared_mute(endpoint, endpoint->stateless);
    shared_close(endpoint, &endpoint->anonymous, &endpoint->anonymous_end);
    shared_close(endpoint, &endpoint->stateless, &endpoint->stateless_end);
    if (!endpoint->closing || endpoint->told || !endpoint_is_empty(endpoint))
        return;
    /* who came meanwhile would find nothing, and the hook may take for ever */
    mcpi_endpoint_drop_tickets(endpoint);
    if (!mcpi_list_empty(&endpoint->tickets))
        return; /* an answer is on its way */
    endpoint->told = true;
    if (endpoint->opt.closed)
        endpoint->opt.closed(endpoint->opt.user, endpoint); /* it may be freed now */
}

void
mcpi_endpoint_check(struct mcpi_endpoint *endpoint)
{
    if (endpoint->closing)
        mcpi_loop_flush(endpoint->loop, &endpoint->flush);
}

void
mcpi_endpoint_count(struct mcpi_endpoint *endpoint, int sessions, int streams)
{
    const struct mcpi_http_gauges *gauges = &endpoint->opt.gauges;

    endpoint->session_count += (size_t)sessions; /* wraps as it should */
    if (gauges->changed)
        gauges->changed(gauges->user, 0, sessions, streams);
}

void
mcpi_endpoint_close(struct mcpi_endpoint *endpoint)
{
    int64_t now = endpoint_now(endpoint);

    if (endpoint->closing)
        return;
    endpoint->closing = true;
    mcpi_endpoint_drop_tickets(endpoint);
    mcpi_http_2024_close(endpoint);
    mcpi_session_close_all(endpoint);
    if (endpoint->anonymous)
        mcpi_peer_drain(endpoint->anonymous, now);
    if (endpoint->stateless)
        mcpi_peer_drain(endpoint->stateless, now);
    mcpi_endpoint_check(endpoint);
}

/* ---- serving --------------------------------------------------------------- */

void
mcpi_endpoint_log_refusal(const struct mcpi_endpoint *endpoint, const char *address,
                          int status, const char *why)
{
    MCPI_LOG(endpoint->log, MCP_LOG_DEBUG, "http: %d to %s: %s", status,
             address ? address : "a client", why);
}

void
mcpi_endpoint_refuse(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn, int status,
                     const struct mcpi_id *id, int rpc_code, const char *message)
{
    struct mcpi_http_out out;

    mcpi_endpoint_log_refusal(endpoint, NULL, status, message);
    mcpi_http_refusal(&out, &endpoint->refusal, status, id, rpc_code, message);
    turn->served = NULL;
    turn->by = NULL;
    (void)mcpi_turn_reply(turn, &out); /* the carrier keeps what has not left */
}

/* Names as the options have them; of several with one name the first. */
static void
header_keep(struct mcpi_buf *into, const struct mcpi_http_in *in, const char *name)
{
    for (size_t i = 0; i < in->field_count; i++) {
        if (strcasecmp(in->fields[i].name, name) != 0)
            continue;
        mcpi_buf_append(into, name, strlen(name) + 1);
        mcpi_buf_append(into, in->fields[i].value, strlen(in->fields[i].value) + 1);
        return;
    }
}

int
mcpi_endpoint_keep_headers(struct mcpi_endpoint *endpoint,
                           const struct mcpi_http_in *in, struct mcpi_arrival *into)
{
    const char *const *name = endpoint->http->headers;
    struct mcpi_buf *kept = &endpoint->kept;

    mcpi_buf_clear(kept);
    for (; name && *name; name++)
        header_keep(kept, in, *name);
    into->said = kept->data;
    into->said_len = kept->len;
    return kept->status;
}

/* Whose session is it, as far as the head says? Only sessions live on one shard, and
 * what is modern has none: all else about it is for the other one to find out. */
static bool
is_elsewhere(const struct mcpi_endpoint *endpoint, const struct mcpi_http_known *known,
             unsigned *ret_shard)
{
    const char *id = known->value[MCPI_HTTP_SESSION];
    const char *version = known->value[MCPI_HTTP_VERSION];
    bool modern = false;

    if (!id || endpoint->opt.shards < 2 || !endpoint->opt.elsewhere ||
        !endpoint->opt.legacy || endpoint->http->stateless)
        return false;
    if (version)
        (void)mcpi_engine_version(endpoint->engine, version, &modern);
    return !modern && mcpi_session_shard(id, ret_shard) == 0 &&
           *ret_shard != endpoint->opt.shard && *ret_shard < endpoint->opt.shards;
}

void
mcpi_endpoint_serve(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                    const struct mcpi_http_in *in)
{
    struct mcpi_http_known room;
    const struct mcpi_http_known *known = mcpi_http_known_of(in, &room);
    const struct mcpi_http_who nobody = {.principal = "", .account = in->account};
    unsigned shard;

    mcpi_endpoint_greet_origin(endpoint, turn, known);
    if (is_elsewhere(endpoint, known, &shard) ||
        mcpi_http_2024_elsewhere(endpoint, in, &shard))
        endpoint->opt.elsewhere(endpoint->opt.user, shard, turn, in);
    else if (endpoint->http->identify)
        mcpi_endpoint_identify(endpoint, turn, in);
    else
        mcpi_endpoint_dispatch(endpoint, turn, in, known, &nobody);
}

bool
mcpi_endpoint_must_serve(const struct mcpi_endpoint *endpoint,
                         const struct mcpi_http_in *in)
{
    return endpoint && (mcpi_http_get(in, "mcp-session-id", NULL) ||
                        mcpi_http_2024_wants(endpoint, in));
}

/* ---- making and freeing ---------------------------------------------------- */

/* All that can fail. */
static int
endpoint_fill(struct mcpi_endpoint *endpoint)
{
    unsigned char seed[MCPI_SEED_SIZE];
    int r;

    r = mcpi_random(seed, sizeof(seed));
    if (r < 0)
        return r;
    mcpi_map_init(&endpoint->sessions, endpoint->mem, seed);
    if (!mcpi_buf_reserve(&endpoint->scratch, ROOM) ||
        !mcpi_buf_reserve(&endpoint->refusal, ROOM))
        return MCP_E_NOMEM;
    r = mcpi_endpoint_learn_origins(endpoint);
    if (r < 0)
        return r;
    return shared_open(endpoint);
}

int
mcpi_endpoint_new(const struct mcpi_endpoint_options *opt,
                  struct mcpi_endpoint **ret_endpoint)
{
    static const unsigned char no_seed[MCPI_SEED_SIZE];
    const mcp_allocator *mem = mcpi_engine_mem(opt->engine);
    size_t max = mcpi_engine_max_bytes(opt->engine) + ROOM;
    struct mcpi_endpoint *endpoint;
    int r;

    endpoint = mcpi_alloc_zero(mem, sizeof(*endpoint));
    if (!endpoint)
        return MCP_E_NOMEM;
    endpoint->mem = mem;
    endpoint->loop = opt->loop;
    endpoint->engine = opt->engine;
    endpoint->http = opt->http;
    endpoint->opt = *opt;
    endpoint->log = mcpi_loop_log(opt->loop);
    mcpi_map_init(&endpoint->sessions, mem, no_seed);
    mcpi_list_init(&endpoint->all_sessions);
    mcpi_list_init(&endpoint->streams);
    mcpi_list_init(&endpoint->tickets);
    mcpi_list_init(&endpoint->old_sessions);
    mcpi_flush_init(&endpoint->flush, on_flush);
    mcpi_buf_init(&endpoint->scratch, mem, max);
    mcpi_buf_init(&endpoint->refusal, mem, max);
    mcpi_buf_init(&endpoint->kept, mem, SIZE_MAX); /* the carrier has a limit */
    r = endpoint_fill(endpoint);
    if (r < 0) {
        mcpi_endpoint_free(endpoint);
        return r;
    }
    *ret_endpoint = endpoint;
    return 0;
}

void
mcpi_endpoint_free(struct mcpi_endpoint *endpoint)
{
    if (!endpoint)
        return;
    mcpi_flush_cancel(&endpoint->flush);
    mcpi_peer_free(endpoint->anonymous);
    mcpi_peer_free(endpoint->stateless);
    mcpi_endpoint_forget_origins(endpoint);
    mcpi_map_done(&endpoint->sessions);
    mcpi_buf_done(&endpoint->scratch);
    mcpi_buf_done(&endpoint->refusal);
    mcpi_buf_done(&endpoint->kept);
    mcpi_free(endpoint->mem, endpoint);
}
