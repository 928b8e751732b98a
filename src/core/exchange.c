/*
 * exchange.c - a request received
 *
 * mcpi_exchange_end is the only way out of the table, and its first step decides every
 * race: an answer and a cancel that meet here come one after the other, and the second
 * finds the exchange ended (F10, F11). The order inside it is a rule: leave the table,
 * set the flag, end the nested legs, push the last word, tell the handler. So frames of
 * nested legs stand in the queue before the parent's last word (J6), and a handler that
 * starts something on being told finds everything closed.
 */
#include "core/exchange.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/call.h"
#include "core/note.h"
#include "core/peer.h"
#include "core/versions.h"
#include "core/welcome.h"

/* Of a reason that is our own. A cancel frame, which may bring a longer one, finds no
 * request whose id is private. */
#define OWN_REASON_MAX 46

static struct mcpi_exchange *
exchange_of(const struct mcpi_map_node *node)
{
    return MCPI_CONTAINER(node, struct mcpi_exchange, by_id);
}

static bool
exchange_has_key(const struct mcpi_map_node *node, const void *key)
{
    struct mcpi_id own = mcpi_id_fold(exchange_of(node)->rpc.id);

    return mcpi_id_same(&own, key);
}

struct mcpi_exchange *
mcpi_exchange_find(const struct mcpi_peer *peer, const struct mcpi_id *id)
{
    struct mcpi_id key = mcpi_id_fold(*id);
    struct mcpi_map_node *node;

    if (key.kind == MCPI_ID_NONE)
        return NULL;
    node = mcpi_map_find(&peer->in_flight, mcpi_id_hash(&peer->in_flight, &key),
                         exchange_has_key, &key);
    return node ? exchange_of(node) : NULL;
}

struct mcpi_exchange *
mcpi_exchange_ref(struct mcpi_exchange *x)
{
    x->refs++;
    return x;
}

static bool
exchange_is_local(const struct mcpi_exchange *x)
{
    return x->on_local_end != NULL;
}

/* The answer does not fit into what its client may make us hold: an error does. */
static void
exchange_answer_too_much(struct mcpi_exchange *x)
{
    MCPI_WARN_ONCE(x->peer, MCPI_WARN_SHARE,
                   "an answer of %zu bytes is more than its client's share of memory",
                   x->answer_bytes);
    mcpi_result_done(&x->result); /* its memory would wait for its client, uncounted */
    mcpi_result_fail(&x->result, MCP_E_LIMIT);
    x->answer_bytes = 0;
}

static void
exchange_charge(struct mcpi_exchange *x)
{
    if (!x->peer)
        return;
    x->answer_bytes = (size_t)x->result.body.cap + x->result.meta.cap;
    if (!mcpi_account_take(x->outlet->account, MCPI_HELD_BYTES, x->answer_bytes))
        exchange_answer_too_much(x);
    mcpi_peer_charge(x->peer, x->outlet, x->answer_bytes);
}

/* Its answer has left or never will; whoever keeps the exchange keeps it without. */
static void
exchange_uncharge(struct mcpi_exchange *x)
{
    if (x->peer)
        x->peer->answer_bytes -= x->answer_bytes;
    mcpi_account_give(x->outlet->account, MCPI_HELD_BYTES, x->answer_bytes);
    x->answer_bytes = 0;
    mcpi_result_done(&x->result);
}

/* Has its client a share left for one more request, of that many bytes? */
static bool
exchange_admit(const struct mcpi_peer *peer, const struct mcpi_outlet *outlet,
               size_t bytes)
{
    if (!mcpi_account_take(outlet->account, MCPI_HELD_BYTES, bytes))
        return false;
    if (!peer->is_charged || mcpi_account_take(outlet->account, MCPI_HELD_REQUESTS, 1))
        return true;
    mcpi_account_give(outlet->account, MCPI_HELD_BYTES, bytes);
    return false;
}

static void
exchange_dismiss(bool is_shared, const struct mcpi_outlet *outlet, size_t bytes)
{
    mcpi_account_give(outlet->account, MCPI_HELD_BYTES, bytes);
    if (is_shared)
        mcpi_account_give(outlet->account, MCPI_HELD_REQUESTS, 1);
}

void
mcpi_exchange_unref(struct mcpi_exchange *x)
{
    if (--x->refs > 0)
        return;
    if (x->peer) {
        mcpi_list_remove(&x->in_peer);
        x->peer->request_bytes -= x->request_bytes;
    }
    if (!exchange_is_local(x))
        exchange_dismiss(x->is_shared, x->outlet, x->size + x->request_bytes);
    mcpi_list_remove(&x->notes); /* those half written go on without us */
    if (x->own_outlet && x->outlet->exchange == x)
        x->outlet->exchange = NULL;
    exchange_uncharge(x);
    mcpi_outlet_unref(x->outlet);
    mcp_doc_free(x->doc);
    mcp_doc_free(x->hello);
    mcp_doc_free(x->caller.claims);
    mcpi_free(x->engine->mem, x);
}

void
mcpi_exchange_serve(struct mcpi_exchange *x, const struct mcpi_served_ops *ops,
                    void *user)
{
    x->served = ops;
    x->served_user = user;
}

void
mcpi_exchange_limit(struct mcpi_exchange *x, int64_t run_us)
{
    x->run_us = run_us;
    mcpi_timer_arm(x->engine->timers, &x->timer, mcpi_time_add(x->engine->now, run_us));
}

/* ---- its answer ------------------------------------------------------------ */

static struct mcpi_exchange *
exchange_of_answer(const struct mcpi_out *out)
{
    return MCPI_CONTAINER(out, struct mcpi_exchange, answer);
}

static void
write_result(const struct mcpi_exchange *x, struct mcpi_buf *into)
{
    const char *members;
    size_t len;

    mcpi_rpc_write_answer(into, &x->rpc.id);
    MCPI_BUF_LITERAL(into, ",\"result\":{");
    mcpi_members(x->result.body.data, x->result.body.len, &members, &len);
    mcpi_buf_append(into, members, len);
    x->caller.dialect->write_result(x->engine, &x->result, len > 0, into);
    MCPI_BUF_LITERAL(into, "}}");
}

static void
write_error(const struct mcpi_exchange *x, struct mcpi_buf *into)
{
    const struct mcpi_result *r = &x->result;

    mcpi_rpc_write_error(into, &x->rpc.id, r->code, r->message, r->body.data,
                         r->body.len);
}

/* An answer that does not fit in memory becomes the fixed error, which fits in what
 * every writer keeps in reserve; zero answers would leave the peer waiting. */
static int
answer_take(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct mcpi_exchange *x = exchange_of_answer(out);
    bool whole = x->result.body.status == 0 && x->result.meta.status == 0;
    size_t mark = into->len;

    if (whole && x->result.code == 0)
        write_result(x, into);
    else if (whole)
        write_error(x, into);
    out->code = x->result.code;
    if (whole && into->status == 0)
        return 0;
    out->code = MCPI_RPC_INTERNAL_ERROR;
    mcpi_buf_rewind(into, mark);
    mcpi_rpc_write_error(into, &x->rpc.id, MCPI_RPC_INTERNAL_ERROR, "Internal error",
                         NULL, 0);
    return into->status;
}

static void
answer_done(struct mcpi_out *out, int status)
{
    struct mcpi_exchange *x = exchange_of_answer(out);

    if (status == MCP_E_NOMEM || status == MCP_E_LIMIT)
        mcpi_outlet_fail(x->outlet, status, "no room to answer a request");
    exchange_uncharge(x);
    mcpi_exchange_unref(x);
}

static const struct mcpi_out_ops answer_ops = {
    .kind = MCPI_OUT_ANSWER, .answers = true, .take = answer_take, .done = answer_done};

/* Move the last word into the exchange and queue it. */
static void
exchange_say(struct mcpi_exchange *x, struct mcpi_result *last)
{
    mcpi_result_done(&x->result);
    mcpi_result_move(&x->result, last);
    exchange_charge(x);
    mcpi_exchange_ref(x);
    if (mcpi_outlet_push(x->outlet, &x->answer))
        return;
    exchange_uncharge(x); /* the peer is gone: nobody to tell (F35) */
    mcpi_exchange_unref(x);
}

/* It has no wire: whoever asked is told. A limit of ours is an answer too. */
static void
exchange_tell(struct mcpi_exchange *x, struct mcpi_result *last)
{
    bool heard = x->ending == MCPI_ANSWERED || x->ending == MCPI_LIMITED;

    x->on_local_end(x->local_user, x, heard ? last : NULL);
    if (last)
        mcpi_result_done(last);
}

/* ---- ended, settled -------------------------------------------------------- */

/* The link is told once (F9). */
void
mcpi_exchange_release(struct mcpi_exchange *x)
{
    struct mcpi_result last;

    if (x->released)
        return;
    x->released = true;
    if (exchange_is_local(x) || !x->peer || !x->outlet->peer)
        return;
    if (x->ending == MCPI_CANCELED && (x->peer->traits & MCPI_LAST_WORD)) {
        mcpi_result_init(&last, x->engine);
        mcpi_result_error(&last, MCPI_RPC_REQUEST_CANCELED, "Request cancelled");
        exchange_say(x, &last);
    }
    if (x->own_outlet && x->peer->ops->settle)
        x->peer->ops->settle(x->outlet);
}

static void
exchange_settle(struct mcpi_exchange *x)
{
    if (x->ending == MCPI_OPEN || x->busy || x->running || x->settled)
        return;
    x->settled = true;
    mcpi_timer_disarm(x->engine->timers, &x->timer);
    mcpi_exchange_release(x);
    if (x->peer)
        x->peer->exchange_count--;
    mcpi_exchange_unref(x);
}

static void
exchange_leave_table(struct mcpi_exchange *x)
{
    mcpi_map_remove(&x->peer->in_flight, &x->by_id); /* not there: private, or none */
    mcpi_list_remove(&x->in_peer);
    mcpi_list_append(&x->peer->ended, &x->in_peer);
    x->peer->open_count--;
    x->engine->counts.exchanges--;
}

/* What its handler asked the peer goes with it, whatever ended it: the context
 * closes with the request (F22, F23, J6). */
static void
exchange_end_nested(struct mcpi_exchange *x)
{
    const char *reason = "the request it belongs to has ended";
    struct mcpi_list *node;

    while ((node = mcpi_list_first(&x->nested)) != NULL)
        mcpi_leg_end(MCPI_CONTAINER(node, struct mcpi_leg, in_parent), MCP_E_CANCELED,
                     NULL, reason);
    mcpi_call_end_nested(x, reason);
}

/* The handler still runs: tell it, and see how long it takes. */
static void
exchange_hold(struct mcpi_exchange *x)
{
    x->engine->counts.held++;
    mcpi_timer_arm(x->engine->timers, &x->timer,
                   mcpi_time_add(x->engine->now, x->engine->times.deaf));
    if (x->served->ended)
        x->served->ended(x, x->ending, x->reason);
}

bool
mcpi_exchange_end(struct mcpi_exchange *x, enum mcpi_ending how,
                  struct mcpi_result *last, const char *reason)
{
    if (x->ending != MCPI_OPEN)
        return false;
    mcpi_exchange_ref(x);
    x->ending = how;
    x->busy = true; /* who finishes the run below settles it after the last word */
    if (reason)
        mcpi_text_clean(x->reason, x->reason_size, reason, strlen(reason));
    exchange_leave_table(x);
    mcpi_timer_disarm(x->engine->timers, &x->timer);
    if (x->running && x->served->flag)
        x->served->flag(x, how, x->reason);
    exchange_end_nested(x);
    if (how == MCPI_CANCELED || how == MCPI_DROPPED)
        mcpi_note_withdraw_all(x);
    if (last && !exchange_is_local(x))
        exchange_say(x, last);
    x->busy = false;
    if (x->running)
        exchange_hold(x);
    exchange_settle(x);
    if (exchange_is_local(x))
        exchange_tell(x, last);
    if (x->peer)
        mcpi_peer_exchange_ended(x->peer);
    mcpi_exchange_unref(x);
    return true;
}

/* Counted by exchange_hold: ended, and its run is alive. */
static bool
exchange_is_held(const struct mcpi_exchange *x)
{
    return x->running && x->ending != MCPI_OPEN && !x->busy;
}

static void
exchange_end_run(struct mcpi_exchange *x)
{
    if (exchange_is_held(x))
        x->engine->counts.held--;
    if (x->deaf)
        x->engine->counts.deaf--;
    x->deaf = false;
    x->running = false;
}

void
mcpi_exchange_finish(struct mcpi_exchange *x, struct mcpi_result *result, int64_t now)
{
    char shown[MCPI_ID_SHOWN];

    mcpi_engine_at(x->engine, now);
    exchange_end_run(x);
    if (x->ending == MCPI_OPEN && x->served->answered)
        x->served->answered(x, result->code);
    if (!mcpi_exchange_end(x, MCPI_ANSWERED, result, NULL)) {
        if (result->code != 0)
            MCPI_LOG(&x->engine->log, MCP_LOG_INFO,
                     "request %s failed after its end: %d %s",
                     mcpi_id_show(&x->rpc.id, shown), result->code, result->message);
        mcpi_result_done(result);
        exchange_settle(x);
    }
}

void
mcpi_exchange_rest(struct mcpi_exchange *x, int64_t now)
{
    assert(x->running);
    mcpi_engine_at(x->engine, now);
    exchange_end_run(x);
    if (x->ending == MCPI_OPEN)
        mcpi_timer_disarm(x->engine->timers, &x->timer);
    exchange_settle(x);
}

bool
mcpi_exchange_resume(struct mcpi_exchange *x, int64_t now)
{
    assert(!x->running);
    mcpi_engine_at(x->engine, now);
    if (x->ending != MCPI_OPEN)
        return false;
    x->running = true;
    mcpi_exchange_limit(x, x->run_us);
    x->served->begin(x);
    return true;
}

void
mcpi_exchange_gone(struct mcpi_exchange *x)
{
    if (x->peer && (x->peer->traits & MCPI_GONE_CANCELS))
        mcpi_exchange_end(x, MCPI_CANCELED, NULL, "the client has left");
}

/* One timer, two meanings: an open exchange has run too long, or an ended one is
 * held by a handler that does not listen. */
static void
exchange_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_exchange *x = MCPI_CONTAINER(timer, struct mcpi_exchange, timer);
    struct mcpi_result last;
    char shown[MCPI_ID_SHOWN];

    mcpi_engine_at(x->engine, now);
    if (x->ending == MCPI_OPEN) {
        mcpi_result_init(&last, x->engine);
        mcpi_result_error(&last, MCPI_RPC_INTERNAL_ERROR,
                          "Run limit of %lld ms reached",
                          (long long)(x->run_us / 1000));
        mcpi_exchange_end(x, MCPI_LIMITED, &last, "run limit reached");
        mcpi_result_done(&last);
        return;
    }
    x->deaf = true;
    x->engine->counts.deaf++;
    MCPI_LOG(&x->engine->log, MCP_LOG_WARNING,
             "the handler of request %s (%.*s) still runs %lld ms after its end",
             mcpi_id_show(&x->rpc.id, shown), (int)x->rpc.method_len,
             x->rpc.method_name, (long long)(x->engine->times.deaf / 1000));
    mcpi_exchange_release(x);
}

/* ---- the beginning --------------------------------------------------------- */

/* Of what is kept of who asks behind an exchange. */
static size_t
caller_size(const struct mcpi_caller *caller)
{
    return strlen(caller->principal) + 1 +
           (caller->scope ? strlen(caller->scope) + 1 : 0) + caller->said_len;
}

static size_t
reason_room(const struct mcpi_peer *peer)
{
    return peer->traits & MCPI_PRIVATE_IDS ? OWN_REASON_MAX + 1 : MCPI_REASON_MAX + 1;
}

/* Besides what it came in. */
static size_t
exchange_size(size_t reason_size, const struct mcpi_caller *caller)
{
    return sizeof(struct mcpi_exchange) + reason_size + caller_size(caller);
}

/* room: as long as caller_size says. */
static void
exchange_keep_caller(struct mcpi_exchange *x, const struct mcpi_caller *caller,
                     char *room)
{
    x->caller = *caller;
    x->caller.claims = mcp_doc_ref(caller->claims);
    x->caller.principal = mcpi_text_stow(&room, caller->principal,
                                         strlen(caller->principal));
    if (caller->scope)
        x->caller.scope = mcpi_text_stow(&room, caller->scope, strlen(caller->scope));
    if (caller->said_len > 0)
        x->caller.said = memcpy(room, caller->said, caller->said_len);
}

static struct mcpi_exchange *
exchange_new(struct mcpi_peer *peer, struct mcpi_outlet *outlet,
             const struct mcpi_rpc *rpc, const struct mcpi_caller *caller)
{
    size_t reason_size = reason_room(peer);
    size_t size = exchange_size(reason_size, caller);
    struct mcpi_exchange *x;

    x = mcpi_alloc_zero_first(peer->engine->mem, size,
                              offsetof(struct mcpi_exchange, result));
    if (!x)
        return NULL;
    mcpi_result_init(&x->result, peer->engine);
    x->size = size;
    x->reason_size = (uint8_t)reason_size;
    x->reason[0] = '\0';
    x->refs = 1; /* the table's and the run's */
    x->engine = peer->engine;
    x->peer = peer;
    x->outlet = mcpi_outlet_ref(outlet);
    x->own_outlet = outlet != peer->outlet;
    x->doc = rpc->doc;
    x->hello = mcp_doc_ref(peer->hello);
    x->rpc = *rpc;
    exchange_keep_caller(x, caller, x->reason + reason_size);
    x->request_bytes = mcpi_doc_bytes(rpc->doc);
    x->progress = -INFINITY;
    mcpi_list_init(&x->in_peer);
    mcpi_list_init(&x->nested);
    mcpi_list_init(&x->calls);
    mcpi_list_init(&x->notes);
    mcpi_timer_init(&x->timer, exchange_expired);
    mcpi_out_init(&x->answer, &answer_ops);
    return x;
}

static void
exchange_enter(struct mcpi_exchange *x)
{
    struct mcpi_peer *peer = x->peer;
    struct mcpi_id key;

    if (!(peer->traits & MCPI_PRIVATE_IDS) && !exchange_is_local(x)) {
        key = mcpi_id_fold(x->rpc.id);
        mcpi_map_add(&peer->in_flight, &x->by_id, mcpi_id_hash(&peer->in_flight, &key));
    }
    if (x->own_outlet)
        x->outlet->exchange = x;
    mcpi_list_append(&peer->open, &x->in_peer);
    peer->open_count++;
    peer->exchange_count++;
    peer->request_bytes += x->request_bytes;
    x->engine->counts.exchanges++;
    mcpi_exchange_limit(x, x->engine->times.run);
}

/* The library's own methods are for the wire: a question has no session to greet. */
static int
exchange_route(struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    const struct mcpi_router *router = x->engine->router;

    if (!exchange_is_local(x) && mcpi_welcome_route(x)) {
        if (router->observe)
            router->observe(x->engine->router_user, x);
        return 0;
    }
    return router->route(x->engine->router_user, x, why);
}

/* A router that refuses has not begun anything: the refusal is the answer. */
static void
exchange_refuse(struct mcpi_exchange *x, const struct mcpi_refusal *why)
{
    struct mcpi_result last;

    mcpi_result_init(&last, x->engine);
    mcpi_result_error(&last, why->code, "%s", why->message);
    mcpi_buf_text(&last.body, why->data);
    mcpi_exchange_end(x, MCPI_ANSWERED, &last, NULL);
    mcpi_result_done(&last);
}

static void
exchange_begin(struct mcpi_exchange *x)
{
    struct mcpi_refusal why;

    why.code = 0;
    if (exchange_route(x, &why) < 0 || !x->served) {
        if (why.code == 0)
            mcpi_refuse(&why, MCPI_RPC_METHOD_NOT_FOUND, "Method not found: %.*s",
                        (int)x->rpc.method_len, x->rpc.method_name);
        exchange_refuse(x, &why);
    } else if (x->ending == MCPI_OPEN) { /* a router may have closed the peer */
        x->running = true;
        x->served->begin(x);
    }
}

int
mcpi_exchange_open(struct mcpi_peer *peer, const struct mcpi_arrival *arrival,
                   const struct mcpi_rpc *rpc, const struct mcpi_caller *caller,
                   bool canceled)
{
    struct mcpi_outlet *outlet = arrival->outlet ? arrival->outlet : peer->outlet;
    size_t bytes = mcpi_doc_bytes(rpc->doc) + exchange_size(reason_room(peer), caller);
    struct mcpi_exchange *x;

    if (!exchange_admit(peer, outlet, bytes))
        return MCP_E_LIMIT;
    x = exchange_new(peer, outlet, rpc, caller);
    if (!x) {
        exchange_dismiss(peer->is_charged, outlet, bytes);
        return MCP_E_NOMEM;
    }
    x->is_shared = peer->is_charged;
    exchange_enter(x);
    mcpi_exchange_ref(x);
    if (canceled)
        mcpi_exchange_end(x, MCPI_CANCELED, NULL, "canceled before it arrived");
    else
        exchange_begin(x);
    mcpi_exchange_unref(x);
    return 0;
}

int
mcpi_exchange_open_local(struct mcpi_peer *peer, const struct mcpi_question *question,
                         mcpi_local_fn *fn, void *user, struct mcpi_exchange **ret_x)
{
    const struct mcpi_caller caller = {
        .dialect = peer->dialect ? peer->dialect : &mcpi_dialect_legacy,
        .version = peer->version ? peer->version : MCPI_VERSION_LEGACY,
        .info = peer->info,
        .capabilities = peer->capabilities,
        .principal = ""};
    size_t len = strlen(question->method);
    const struct mcpi_rpc rpc = {.kind = MCPI_RPC_REQUEST,
                                 .doc = question->doc,
                                 .method = mcpi_method_find(question->method, len),
                                 .method_name = question->method,
                                 .method_len = len,
                                 .params = question->params};
    struct mcpi_refusal why;
    struct mcpi_exchange *x;
    int r;

    if (!mcpi_peer_can_send(peer))
        return MCP_E_CLOSED;
    x = exchange_new(peer, peer->outlet, &rpc, &caller);
    if (!x)
        return MCP_E_NOMEM;
    (void)mcp_doc_ref(question->doc);
    x->request_bytes = question->bytes;
    x->on_local_end = fn;
    x->local_user = user;
    r = mcpi_peer_check_room(peer, &why);
    exchange_enter(x);
    *ret_x = mcpi_exchange_ref(x);
    if (r < 0)
        exchange_refuse(x, &why);
    else
        exchange_begin(x);
    return 0;
}

/* ---- what a handler may do meanwhile --------------------------------------- */

int
mcpi_exchange_may_speak(const struct mcpi_exchange *x)
{
    if (x->ending == MCPI_OPEN)
        return 0;
    return x->ending == MCPI_ANSWERED ? MCP_E_STATE : MCP_E_CANCELED;
}

int
mcpi_exchange_detach(struct mcpi_exchange *x, int64_t now)
{
    int r;

    mcpi_engine_at(x->engine, now);
    r = mcpi_exchange_may_speak(x);
    if (r < 0)
        return r;
    if (!x->own_outlet || !x->outlet->peer || !x->outlet->peer->ops->detach)
        return MCP_E_NO_CHANNEL;
    x->outlet->peer->ops->detach(x->outlet);
    return 0;
}
