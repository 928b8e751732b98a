/*
 * http_2024.c - HTTP+SSE of 2024-11-05
 *
 *   OPEN -> closing -> gone     session_end is the one ending
 *
 * A session is a pipe in disguise: one peer with one outlet, whose output is the stream
 * of its GET and whose input is what is posted. So its requests share a table of ids, a
 * posted cancel finds them. Only their order is not certain: each is posted on a connection
 * of its own (D25). When the stream is lost the peer is.
 *
 * Core's own wishes (wake, close) are only noted down; all is done in on_flush, where
 * nothing of core is on the stack.
 *
 * The buffer for what is written and the map of ids are made with the first session and
 * go with the last: most endpoints never see one.
 */
#include "link/http_2024.h"

#include <string.h>

#include "base/mem.h"
#include "link/http_session.h"
#include "link/http_session_id.h"
#include "run/random.h"
#include "wire/meta.h"
#include "wire/rpc.h"
#include "wire/sse.h"
#include "json/value.h"

#define SSE_TYPE "text/event-stream"

/* What one write carries at most; see MCPI_PIPE_BATCH. */
#define BATCH 16
#define BATCH_BYTES 65536

#define BEFORE "event: message\ndata: "
#define AFTER "\n\n"
#define AROUND (sizeof(BEFORE) + sizeof(AFTER))

#define KEEP ((size_t)256 * 1024) /* an idle buffer above this is given back */

/* The first event: where to post, which the path is most of. */
#define GREETING_MAX ((size_t)64 * 1024)

struct mcpi_old_table {
    struct mcpi_map by_id;
    struct mcpi_buf buf; /* one batch on its way out; carriers keep what waits */
};

struct session {
    struct mcpi_list in_endpoint;
    struct mcpi_map_node by_id;
    struct mcpi_endpoint *endpoint;
    struct mcpi_peer *peer;
    struct mcpi_turn *turn; /* of its GET; NULL: not any more */
    struct mcpi_flush flush;
    struct mcpi_timer beat;      /* the next ping */
    int64_t spoke;               /* when something was last written */
    struct mcpi_out *out[BATCH]; /* taken; not yet the carrier's */
    size_t out_count;
    bool waits;                   /* the carrier keeps something */
    bool closing;                 /* end when all is written */
    bool cut;                     /* end at once */
    struct mcpi_account *account; /* of who opened it; counted, or NULL */
    char id[MCPI_SESSION_ID];
    char principal[]; /* "" for nobody in particular */
};

static int64_t
session_now(const struct session *s)
{
    return mcpi_loop_now(s->endpoint->loop);
}

/* ---- the table ----------------------------------------------------------- */

static int
table_make(struct mcpi_endpoint *endpoint)
{
    unsigned char seed[MCPI_SEED_SIZE];
    struct mcpi_old_table *table;
    int r;

    if (endpoint->old_table)
        return 0;
    r = mcpi_random(seed, sizeof(seed));
    if (r < 0)
        return r;
    table = mcpi_alloc_zero(endpoint->mem, sizeof(*table));
    if (!table)
        return MCP_E_NOMEM;
    mcpi_map_init(&table->by_id, endpoint->mem, seed);
    mcpi_buf_init(&table->buf, endpoint->mem,
                  mcpi_engine_max_bytes(endpoint->engine) + BATCH_BYTES + AROUND);
    endpoint->old_table = table;
    return 0;
}

static void
table_drop(struct mcpi_endpoint *endpoint)
{
    struct mcpi_old_table *table = endpoint->old_table;

    if (!table || !mcpi_list_empty(&endpoint->old_sessions))
        return;
    endpoint->old_table = NULL;
    mcpi_map_done(&table->by_id);
    mcpi_buf_done(&table->buf);
    mcpi_free(endpoint->mem, table);
}

struct wanted {
    char id[MCPI_SESSION_ID]; /* "": none */
    const char *principal;    /* NULL: whosoever */
};

static bool
session_matches(const struct mcpi_map_node *node, const void *key)
{
    const struct session *s = MCPI_CONTAINER(node, struct session, by_id);
    const struct wanted *wanted = key;

    return mcpi_session_id_is(s->id, wanted->id) &&
           (!wanted->principal || mcpi_session_id_is(s->principal, wanted->principal));
}

static struct session *
session_find(const struct mcpi_endpoint *endpoint, const struct wanted *wanted)
{
    const struct mcpi_old_table *table = endpoint->old_table;
    struct mcpi_map_node *node;
    uint64_t hash;

    if (!table)
        return NULL;
    hash = mcpi_map_hash(&table->by_id, wanted->id, strlen(wanted->id));
    node = mcpi_map_find(&table->by_id, hash, session_matches, wanted);
    return node ? MCPI_CONTAINER(node, struct session, by_id) : NULL;
}

/* ---- its end ------------------------------------------------------------- */

static struct mcpi_turn *
session_release(struct session *s)
{
    struct mcpi_turn *turn = s->turn;

    s->turn = NULL;
    turn->served = NULL;
    turn->by = NULL;
    return turn;
}

static void
session_free(struct session *s)
{
    mcpi_peer_free(s->peer);
    mcpi_account_give(s->account, MCPI_HELD_SESSIONS, 1);
    mcpi_account_unref(s->account);
    mcpi_free(s->endpoint->mem, s);
}

/* Its turn has been ended, or is gone. Handlers are told (D23); those that do not listen
 * outlive it. */
static void
session_end(struct session *s)
{
    struct mcpi_endpoint *endpoint = s->endpoint;

    mcpi_timer_disarm(mcpi_loop_timers(s->endpoint->loop), &s->beat);
    mcpi_list_remove(&s->in_endpoint);
    (void)mcpi_map_remove(&endpoint->old_table->by_id, &s->by_id);
    mcpi_peer_lost(s->peer, MCP_E_CLOSED, session_now(s));
    mcpi_flush_cancel(&s->flush);
    session_free(s);
    table_drop(endpoint);
    mcpi_endpoint_count(endpoint, -1, -1);
    mcpi_endpoint_check(endpoint);
}

/* ---- writing ------------------------------------------------------------- */

/* One more message, as an event. False: there is none, or no room. */
static bool
session_take(struct session *s, struct mcpi_buf *buf)
{
    struct mcpi_outlet *outlet = mcpi_peer_outlet(s->peer);
    size_t mark = buf->len;
    struct mcpi_out *out;

    if (s->out_count == BATCH || mark >= BATCH_BYTES || mcpi_outlet_is_empty(outlet))
        return false;
    if (!mcpi_buf_reserve(buf, MCPI_FRAME_MAX + AROUND)) {
        mcpi_buf_rewind(buf, mark);
        if (mark == 0)
            mcpi_peer_fail(s->peer, MCP_E_NOMEM, "no memory to write a message");
        return false;
    }
    MCPI_BUF_LITERAL(buf, BEFORE);
    out = mcpi_outlet_take(outlet, buf, session_now(s));
    if (!out) {
        mcpi_buf_rewind(buf, mark);
        return false;
    }
    MCPI_BUF_LITERAL(buf, AFTER);
    if (buf->status < 0) { /* half of an event would spoil the next */
        mcpi_buf_rewind(buf, mark);
        mcpi_out_done(out, MCP_E_NOMEM, session_now(s));
        return true;
    }
    s->out[s->out_count++] = out;
    return true;
}

static void
buf_give_back(struct mcpi_buf *buf)
{
    const mcp_allocator *mem = buf->mem;
    size_t max = buf->max;

    if (buf->cap <= KEEP)
        return;
    mcpi_buf_done(buf);
    mcpi_buf_init(buf, mem, max);
}

/* What waits is held once, by its carrier. */
static void
session_hand_over(struct session *s)
{
    size_t count = s->out_count;

    s->out_count = 0;
    for (size_t i = 0; i < count; i++)
        mcpi_out_done(s->out[i], 0, session_now(s));
}

/* One write, of all that waits but no more than a batch. */
static void
session_write(struct session *s)
{
    struct mcpi_buf *buf = &s->endpoint->old_table->buf;

    mcpi_buf_clear(buf);
    while (session_take(s, buf))
        continue;
    if (buf->len == 0)
        return;
    s->spoke = session_now(s);
    session_hand_over(s);
    s->waits = !s->turn->ops->write(s->turn, buf->data, buf->len);
    buf_give_back(buf);
    if (s->waits)
        return;
    if (!mcpi_outlet_is_empty(mcpi_peer_outlet(s->peer)))
        mcpi_loop_flush(s->endpoint->loop, &s->flush); /* more in the next turn */
}

static void
on_flush(struct mcpi_flush *flush)
{
    struct session *s = MCPI_CONTAINER(flush, struct session, flush);
    struct mcpi_turn *turn;

    if (!s->cut && !s->waits)
        session_write(s);
    if (!s->cut &&
        (!s->closing || s->waits || !mcpi_outlet_is_empty(mcpi_peer_outlet(s->peer))))
        return;
    turn = session_release(s);
    if (s->cut)
        turn->ops->abort(turn);
    else
        turn->ops->end(turn);
    session_end(s);
}

/* A write only moves `spoke`; the timer looks when it fires. */
static void
on_beat(struct mcpi_timer *timer, int64_t now)
{
    struct session *s = MCPI_CONTAINER(timer, struct session, beat);
    int64_t interval = s->endpoint->http->ping_ms * 1000;
    struct mcpi_buf *buf = &s->endpoint->old_table->buf;

    if (!s->waits && mcpi_time_add(s->spoke, interval) <= now) {
        mcpi_buf_clear(buf);
        mcpi_sse_write_ping(buf);
        if (buf->status == 0)
            s->waits = !s->turn->ops->write(s->turn, buf->data, buf->len);
        s->spoke = now;
    }
    mcpi_timer_arm(mcpi_loop_timers(s->endpoint->loop), &s->beat,
                   mcpi_time_add(s->waits ? now : s->spoke, interval));
}

/* ---- its carrier --------------------------------------------------------- */

static void
on_gone(struct mcpi_turn *turn)
{
    struct session *s = turn->by;

    (void)session_release(s);
    session_end(s);
}

static void
on_written(struct mcpi_turn *turn)
{
    struct session *s = turn->by;

    s->waits = false;
    mcpi_loop_flush(s->endpoint->loop, &s->flush);
}

static const struct mcpi_turn_served served = {.gone = on_gone, .written = on_written};

/* ---- what core asks ------------------------------------------------------ */

static void
op_wake(struct mcpi_outlet *outlet)
{
    struct session *s = mcpi_outlet_link(outlet);

    mcpi_loop_flush(s->endpoint->loop, &s->flush);
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct session *s = mcpi_peer_link(peer);

    s->closing = true;
    s->cut = s->cut || how == MCPI_CLOSE_NOW;
    mcpi_loop_flush(s->endpoint->loop, &s->flush);
}

static const struct mcpi_link_ops link_ops = {.wake = op_wake, .close = op_close};

/* ---- GET: a new session -------------------------------------------------- */

static int
session_new(struct mcpi_endpoint *endpoint, const struct mcpi_http_who *who,
            struct session **ret_session)
{
    size_t len = strlen(who->principal) + 1;
    struct session *s;
    int r;

    s = mcpi_alloc_zero(endpoint->mem, sizeof(*s) + len);
    if (!s)
        return MCP_E_NOMEM;
    s->endpoint = endpoint;
    memcpy(s->principal, who->principal, len);
    mcpi_list_init(&s->in_endpoint);
    mcpi_flush_init(&s->flush, on_flush);
    mcpi_timer_init(&s->beat, on_beat);
    r = mcpi_session_id_make(s->id, endpoint->opt.shard);
    if (r == 0)
        r = mcpi_peer_new(endpoint->engine, &link_ops, MCPI_UNORDERED, s, &s->peer);
    if (r == 0 && mcpi_endpoint_enter_session(endpoint, who->account) < 0) {
        mcpi_peer_free(s->peer);
        r = MCP_E_LIMIT;
    }
    if (r < 0) {
        mcpi_free(endpoint->mem, s);
        return r;
    }
    s->account = mcpi_account_ref(who->account);
    mcpi_outlet_set_account(mcpi_peer_outlet(s->peer), s->account);
    *ret_session = s;
    return 0;
}

/* The first event names where to post; head and event leave in one write. */
static int
greeting_write(const struct session *s, struct mcpi_buf *into)
{
    mcpi_buf_init(into, s->endpoint->mem, GREETING_MAX);
    MCPI_BUF_LITERAL(into, "event: endpoint\ndata: ");
    mcpi_buf_text(into, s->endpoint->http->message_path);
    MCPI_BUF_LITERAL(into, "?sessionId=");
    mcpi_buf_text(into, s->id);
    MCPI_BUF_LITERAL(into, "\n\n");
    return into->status;
}

static void
session_open(struct session *s, struct mcpi_turn *turn, const struct mcpi_buf *greeting)
{
    static const mcp_http_field fields[] = {{"Cache-Control", "no-cache"},
                                            {"X-Accel-Buffering", "no"}};
    const struct mcpi_http_out out = {.status = 200,
                                      .type = SSE_TYPE,
                                      .fields = fields,
                                      .field_count = sizeof(fields) / sizeof(fields[0]),
                                      .body = greeting->data,
                                      .body_len = greeting->len};
    struct mcpi_endpoint *endpoint = s->endpoint;
    struct mcpi_old_table *table = endpoint->old_table;

    mcpi_list_append(&endpoint->old_sessions, &s->in_endpoint);
    mcpi_map_add(&table->by_id, &s->by_id,
                 mcpi_map_hash(&table->by_id, s->id, strlen(s->id)));
    mcpi_endpoint_count(endpoint, 1, 1);
    s->turn = turn;
    turn->served = &served;
    turn->by = s;
    s->spoke = session_now(s);
    if (endpoint->http->ping_ms > 0)
        mcpi_timer_arm(mcpi_loop_timers(s->endpoint->loop), &s->beat,
                       mcpi_time_add(s->spoke, endpoint->http->ping_ms * 1000));
    s->waits = !mcpi_turn_open(turn, &out);
}

static int
serve_get(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
          const struct mcpi_http_who *who)
{
    struct mcpi_buf greeting;
    struct session *s = NULL;
    int r;

    r = table_make(endpoint);
    if (r == 0)
        r = session_new(endpoint, who, &s);
    if (r < 0) {
        table_drop(endpoint);
        return r;
    }
    r = greeting_write(s, &greeting);
    if (r == 0) {
        session_open(s, turn, &greeting);
    } else {
        session_free(s);
        table_drop(endpoint);
    }
    mcpi_buf_done(&greeting);
    return r;
}

/* ---- POST: a message ----------------------------------------------------- */

/* The value of sessionId in the query, if it can be one. Ours need no escapes. */
static void
query_read(const struct mcpi_http_in *in, char id[MCPI_SESSION_ID])
{
    static const char name[] = "sessionId=";
    const char *at = in->target + in->path_len;
    size_t len;

    id[0] = '\0';
    while (*at == '?' || *at == '&') {
        at++;
        len = strcspn(at, "&#");
        if (strncmp(at, name, sizeof(name) - 1) == 0) {
            at += sizeof(name) - 1;
            len -= sizeof(name) - 1;
            if (len < MCPI_SESSION_ID) {
                memcpy(id, at, len);
                id[len] = '\0';
            }
            return;
        }
        at += len;
    }
}

/* A stamp is of the modern era, which does not know this transport. */
static bool
is_modern(const struct mcpi_rpc *rpc)
{
    struct mcpi_meta meta;
    const char *fault;

    return rpc->kind == MCPI_RPC_REQUEST && rpc->method != MCPI_METHOD_INITIALIZE &&
           mcpi_meta_read(rpc->params, &meta, &fault) == 0 && meta.version;
}

/* Why it is refused here; NULL: it is handed up. What is refused there, its client hears
 * of on the stream, which is where many look for the end of a request. */
static const char *
post_fault(const struct mcpi_rpc *rpc)
{
    if (rpc->fault_unparsed && rpc->id.kind == MCPI_ID_NONE)
        return rpc->fault_text;
    if (is_modern(rpc))
        return "Invalid request: this transport is of 2024-11-05";
    return NULL;
}

static void
refuse_memory(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn)
{
    mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                         "Out of memory");
}

static void
serve_post(struct session *s, struct mcpi_turn *turn, const struct mcpi_http_in *in,
           const struct mcpi_http_who *who)
{
    struct mcpi_endpoint *endpoint = s->endpoint;
    const struct mcpi_json_limits limits = {mcpi_engine_max_bytes(endpoint->engine),
                                            mcpi_engine_max_depth(endpoint->engine)};
    struct mcpi_arrival arrival = {.principal = *s->principal ? s->principal : NULL,
                                   .scope = who->scope,
                                   .claims = who->claims};
    struct mcpi_rpc rpc;
    const char *fault;

    if (mcpi_endpoint_keep_headers(endpoint, in, &arrival) < 0 ||
        mcpi_rpc_parse(endpoint->mem, in->body, in->body_len, &limits, &rpc) ==
            MCP_E_NOMEM) {
        refuse_memory(endpoint, turn);
        return;
    }
    fault = post_fault(&rpc);
    if (fault) {
        mcp_doc_free(rpc.doc);
        mcpi_endpoint_refuse(
            endpoint, turn, 400, NULL,
            rpc.kind == MCPI_RPC_INVALID ? rpc.fault : MCPI_RPC_INVALID_REQUEST, fault);
        return;
    }
    (void)mcpi_turn_reply(turn, &(struct mcpi_http_out){.status = 202});
    arrival.take_doc = rpc.doc;
    arrival.rpc = &rpc;
    mcpi_peer_receive(s->peer, &arrival, session_now(s));
}

/* ---- requests ------------------------------------------------------------ */

static bool
path_is(const struct mcpi_http_in *in, const char *path)
{
    return path && strlen(path) == in->path_len &&
           memcmp(in->target, path, in->path_len) == 0;
}

bool
mcpi_http_2024_wants(const struct mcpi_endpoint *endpoint,
                     const struct mcpi_http_in *in)
{
    const mcp_http_options *http = endpoint->http;

    return http->sse_path && endpoint->opt.legacy &&
           (path_is(in, http->sse_path) || path_is(in, http->message_path));
}

bool
mcpi_http_2024_elsewhere(const struct mcpi_endpoint *endpoint,
                         const struct mcpi_http_in *in, unsigned *ret_shard)
{
    char id[MCPI_SESSION_ID];

    if (!endpoint->opt.elsewhere || !mcpi_http_2024_wants(endpoint, in) ||
        !path_is(in, endpoint->http->message_path))
        return false;
    query_read(in, id);
    return mcpi_session_shard(id, ret_shard) == 0 &&
           *ret_shard != endpoint->opt.shard && *ret_shard < endpoint->opt.shards;
}

struct mcpi_peer *
mcpi_http_2024_named(const struct mcpi_endpoint *endpoint,
                     const struct mcpi_http_in *in)
{
    struct wanted wanted = {.principal = NULL};
    const struct session *s;

    if (!mcpi_http_2024_wants(endpoint, in))
        return NULL;
    query_read(in, wanted.id);
    s = session_find(endpoint, &wanted);
    return s ? s->peer : NULL;
}

static void
refuse_method(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn, bool is_stream)
{
    const mcp_http_field allow = {"Allow", is_stream ? "GET" : "POST"};
    struct mcpi_http_out out;

    mcpi_endpoint_log_refusal(endpoint, NULL, 405, "Method not allowed");
    mcpi_http_refusal(&out, &endpoint->refusal, 405, NULL, MCPI_RPC_INVALID_REQUEST,
                      "Method not allowed");
    out.fields = &allow;
    out.field_count = 1;
    (void)mcpi_turn_reply(turn, &out);
}

void
mcpi_http_2024_serve(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                     const struct mcpi_http_in *in, const struct mcpi_http_who *who)
{
    bool is_stream = path_is(in, endpoint->http->sse_path);
    struct wanted wanted = {.principal = who->principal};
    struct session *s;
    unsigned shard;

    if (in->method != (is_stream ? MCPI_HTTP_GET : MCPI_HTTP_POST)) {
        refuse_method(endpoint, turn, is_stream);
        return;
    }
    if (is_stream) {
        if (endpoint->closing || serve_get(endpoint, turn, who) < 0)
            mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                                 "No session can be opened now");
        return;
    }
    query_read(in, wanted.id);
    s = session_find(endpoint, &wanted);
    if (s)
        serve_post(s, turn, in, who);
    else if (mcpi_http_2024_elsewhere(endpoint, in, &shard))
        endpoint->opt.elsewhere(endpoint->opt.user, shard, turn, in);
    else
        mcpi_endpoint_refuse(endpoint, turn, 404, NULL, MCPI_RPC_INVALID_REQUEST,
                             "Not found: no such session");
}

void
mcpi_http_2024_close(struct mcpi_endpoint *endpoint)
{
    int64_t now = mcpi_loop_now(endpoint->loop);
    struct mcpi_list *node, *next;

    for (node = endpoint->old_sessions.next; node != &endpoint->old_sessions;
         node = next) {
        next = node->next;
        mcpi_peer_drain(MCPI_CONTAINER(node, struct session, in_endpoint)->peer, now);
    }
}
