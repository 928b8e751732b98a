/*
 * peer.c - one counterpart, from the first byte to the last
 *
 * Who may end what: mcpi_peer_lost is the one ending of a peer; all other ways (close,
 * EOF, failure) lead there, each within a bound that one timer keeps. Legs end before
 * exchanges, so that a handler which waits for the other side wakes with CLOSED (J8).
 */
#include "core/peer.h"

#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "core/call.h"
#include "core/early_cancel.h"
#include "core/exchange.h"
#include "core/negotiate.h"
#include "core/note.h"
#include "core/subscribe.h"

static const char *const state_names[] = {"FRESH",    "NEGOTIATING", "READY", "LEAVING",
                                          "DRAINING", "CLOSING",     "CLOSED"};

void
mcpi_peer_become(struct mcpi_peer *peer, enum mcpi_peer_state to)
{
    MCPI_LOG(&peer->engine->log, MCP_LOG_DEBUG, "peer: %s -> %s",
             state_names[peer->state], state_names[to]);
    peer->state = to;
}

bool
mcpi_peer_can_send(const struct mcpi_peer *peer)
{
    return peer->state < MCPI_PEER_DRAINING && peer->failing == 0;
}

static bool
peer_is_ending(const struct mcpi_peer *peer)
{
    return peer->state >= MCPI_PEER_CLOSING;
}

void *
mcpi_peer_link(const struct mcpi_peer *peer)
{
    return peer->link_user;
}

struct mcpi_outlet *
mcpi_peer_outlet(const struct mcpi_peer *peer)
{
    return peer->outlet;
}

const char *
mcpi_peer_spoken(const struct mcpi_peer *peer)
{
    return peer->spoken;
}

bool
mcpi_peer_is_idle(const struct mcpi_peer *peer)
{
    return peer->exchange_count == 0;
}

const char *
mcpi_peer_agreed_version(const struct mcpi_peer *peer)
{
    return peer->initialized ? peer->version : "";
}

/* ---- all at once ----------------------------------------------------------- */

static void
peer_end_legs(struct mcpi_peer *peer, const char *reason)
{
    struct mcpi_map_node *node;

    while ((node = mcpi_map_any(&peer->pending)) != NULL)
        mcpi_leg_end(MCPI_CONTAINER(node, struct mcpi_leg, by_id), MCP_E_CLOSED, NULL,
                     reason);
    mcpi_call_close_all(peer, reason);
}

static struct mcpi_exchange *
peer_first_open(const struct mcpi_peer *peer)
{
    struct mcpi_list *node = mcpi_list_first(&peer->open);

    return node ? MCPI_CONTAINER(node, struct mcpi_exchange, in_peer) : NULL;
}

void
mcpi_peer_drop_exchanges(struct mcpi_peer *peer, const char *reason)
{
    struct mcpi_exchange *x;

    while ((x = peer_first_open(peer)) != NULL)
        mcpi_exchange_end(x, MCPI_DROPPED, NULL, reason);
}

/* It lasts until one side ends it, and says itself what its end is. */
static bool
exchange_is_lasting(const struct mcpi_exchange *x)
{
    return x->running && x->served->closing;
}

/* The peer has ended it by closing its side. */
static void
exchange_drop(struct mcpi_exchange *x)
{
    mcpi_exchange_end(x, MCPI_DROPPED, NULL, "connection lost");
}

/* Our own stop: the peer still waits, so it gets an answer (F29, H17). */
static void
exchange_close(struct mcpi_exchange *x)
{
    struct mcpi_result last;

    mcpi_exchange_ref(x);
    mcpi_result_init(&last, x->engine);
    if (exchange_is_lasting(x))
        x->served->closing(x, &last);
    else
        mcpi_result_error(&last, x->caller.dialect->closed_code, "Connection closed");
    mcpi_exchange_end(x, MCPI_CLOSED, &last, "connection closed");
    mcpi_result_done(&last);
    mcpi_exchange_unref(x);
}

/* What lasts is not worth a drain. Each one is looked at once and goes to the end of
 * the list: who is told of an end may end others, and begin none. */
static void
peer_end_lasting(struct mcpi_peer *peer, void (*end)(struct mcpi_exchange *x))
{
    size_t left = peer->open_count;
    struct mcpi_exchange *x;

    for (; left > 0 && peer->open_count > 0; left--) {
        x = peer_first_open(peer);
        mcpi_list_remove(&x->in_peer);
        mcpi_list_append(&peer->open, &x->in_peer);
        if (exchange_is_lasting(x))
            end(x);
    }
}

static void
peer_answer_exchanges(struct mcpi_peer *peer)
{
    struct mcpi_exchange *x;

    while ((x = peer_first_open(peer)) != NULL)
        exchange_close(x);
}

/* Those that were told to stop and have not may not be heard of any more: what they
 * were asked on ends now. */
static void
peer_release_exchanges(struct mcpi_peer *peer)
{
    struct mcpi_list *node;
    struct mcpi_exchange *x;
    size_t left = 0;

    for (node = peer->ended.next; node != &peer->ended; node = node->next)
        left++;
    for (; left > 0 && !mcpi_list_empty(&peer->ended); left--) {
        node = mcpi_list_pop(&peer->ended);
        mcpi_list_append(&peer->ended, node);
        x = mcpi_exchange_ref(MCPI_CONTAINER(node, struct mcpi_exchange, in_peer));
        mcpi_exchange_release(x);
        mcpi_exchange_unref(x);
    }
}

static void
peer_kill_outlets(struct mcpi_peer *peer)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(&peer->outlets)) != NULL)
        mcpi_outlet_kill(MCPI_CONTAINER(node, struct mcpi_outlet, in_peer));
}

/* ---- the end --------------------------------------------------------------- */

void
mcpi_peer_lost(struct mcpi_peer *peer, int status, int64_t now)
{
    struct mcpi_engine *e = peer->engine;

    mcpi_engine_at(e, now);
    if (peer->state == MCPI_PEER_CLOSED)
        return;
    MCPI_TELL(e, "the connection is closed%s%s", status == MCP_E_CLOSED ? "" : ": ",
              status == MCP_E_CLOSED ? "" : mcp_status_text(status));
    mcpi_peer_become(peer, MCPI_PEER_CLOSED);
    mcpi_timer_disarm(e->timers, &peer->timer);
    mcpi_session_lost(peer);
    peer_kill_outlets(peer);
    peer_end_legs(peer, NULL);
    mcpi_peer_drop_exchanges(peer, "connection lost");
    mcpi_negotiate_abort(peer, status);
    if (e->router->closed)
        e->router->closed(e->router_user, peer, status);
}

static void
peer_close_now(struct mcpi_peer *peer, int status)
{
    peer->ops->close(peer, MCPI_CLOSE_NOW);
    mcpi_peer_lost(peer, status, peer->engine->now);
}

/* The link flushes; the bound is ours (F31). */
static void
peer_close_link(struct mcpi_peer *peer)
{
    mcpi_peer_become(peer, MCPI_PEER_CLOSING);
    mcpi_timer_arm(peer->engine->timers, &peer->timer,
                   mcpi_time_add(peer->engine->now, peer->engine->times.stop));
    peer->ops->close(peer, MCPI_CLOSE_DRAIN);
}

void
mcpi_peer_close(struct mcpi_peer *peer, int64_t now)
{
    mcpi_engine_at(peer->engine, now);
    if (peer_is_ending(peer) || peer->failing != 0)
        return;
    mcpi_peer_become(peer, MCPI_PEER_CLOSING);
    peer_end_legs(peer, "connection closing");
    peer_answer_exchanges(peer);
    peer_release_exchanges(peer);
    mcpi_negotiate_abort(peer, MCP_E_CLOSED);
    peer_close_link(peer);
}

void
mcpi_peer_drain(struct mcpi_peer *peer, int64_t now)
{
    struct mcpi_engine *e = peer->engine;

    mcpi_engine_at(e, now);
    if (peer->state >= MCPI_PEER_LEAVING || peer->failing != 0)
        return;
    if (peer->open_count == 0 || e->times.drain < 0) {
        mcpi_peer_close(peer, now);
        return;
    }
    mcpi_peer_become(peer, MCPI_PEER_LEAVING);
    mcpi_timer_arm(e->timers, &peer->timer, mcpi_time_add(e->now, e->times.drain));
    peer_end_lasting(peer, exchange_close); /* the last one closes */
}

void
mcpi_peer_end(struct mcpi_peer *peer, const char *reason, int64_t now)
{
    struct mcpi_exchange *x;

    mcpi_engine_at(peer->engine, now);
    if (peer_is_ending(peer) || peer->failing != 0)
        return;
    mcpi_peer_become(peer, MCPI_PEER_CLOSING);
    peer_end_legs(peer, reason);
    while ((x = peer_first_open(peer)) != NULL)
        mcpi_exchange_end(x, MCPI_CANCELED, NULL, reason);
    peer_release_exchanges(peer);
    mcpi_negotiate_abort(peer, MCP_E_CLOSED);
    peer_close_link(peer);
}

void
mcpi_peer_input_ended(struct mcpi_peer *peer, int64_t now)
{
    struct mcpi_engine *e = peer->engine;
    bool leaving = peer->state == MCPI_PEER_LEAVING;

    mcpi_engine_at(e, now);
    if (peer->state >= MCPI_PEER_DRAINING || peer->failing != 0)
        return; /* the timer of who is given up stays armed */
    MCPI_TELL(e, "EOF: nothing more will come");
    mcpi_peer_become(peer, MCPI_PEER_DRAINING);
    peer_end_legs(peer, NULL); /* no answer can come any more */
    mcpi_negotiate_abort(peer, MCP_E_CLOSED);
    peer_end_lasting(peer, exchange_drop);
    if (e->times.drain < 0)
        mcpi_peer_drop_exchanges(peer, "connection lost");
    if (peer->state != MCPI_PEER_DRAINING)
        return;
    if (peer->open_count == 0)
        peer_close_link(peer);
    else if (!leaving) /* its time runs already */
        mcpi_timer_arm(e->timers, &peer->timer, mcpi_time_add(e->now, e->times.drain));
}

void
mcpi_peer_exchange_ended(struct mcpi_peer *peer)
{
    if (peer->failing != 0 || peer->open_count > 0)
        return;
    if (peer->state == MCPI_PEER_DRAINING)
        peer_close_link(peer);
    else if (peer->state == MCPI_PEER_LEAVING)
        mcpi_peer_close(peer, peer->engine->now);
}

void
mcpi_peer_fail(struct mcpi_peer *peer, int status, const char *why)
{
    if (peer->state == MCPI_PEER_CLOSED || peer->failing != 0)
        return;
    MCPI_LOG(&peer->engine->log, MCP_LOG_ERROR, "giving the link up: %s", why);
    MCPI_TELL(peer->engine, "giving the connection up: %s", why);
    peer->failing = status;
    /* Not from here: somebody is in the middle of an ending. */
    mcpi_timer_arm(peer->engine->timers, &peer->timer, peer->engine->now);
}

void
mcpi_peer_charge(struct mcpi_peer *peer, struct mcpi_outlet *outlet, size_t bytes)
{
    if (!peer->is_charged && peer->answer_bytes > peer->engine->limits.held_bytes)
        mcpi_outlet_fail(outlet, MCP_E_LIMIT, "the peer does not read its answers");
    peer->answer_bytes += bytes;
}

/* Many clients in one: what one of them makes us hold must not be the end of others. */
static bool
peer_holds_too_much(const struct mcpi_peer *peer)
{
    return !peer->is_charged &&
           peer->request_bytes + peer->answer_bytes > peer->engine->limits.held_bytes;
}

bool
mcpi_peer_has_room(const struct mcpi_peer *peer)
{
    return !peer_holds_too_much(peer) &&
           peer->exchange_count < peer->engine->limits.in_flight;
}

int
mcpi_peer_check_room(const struct mcpi_peer *peer, struct mcpi_refusal *why)
{
    const struct mcpi_limits *limits = &peer->engine->limits;

    if (peer_holds_too_much(peer)) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too much in flight; the limit is %zu bytes", limits->held_bytes);
        return MCP_E_LIMIT;
    }
    if (peer->exchange_count >= limits->in_flight) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too many requests in flight; the limit is %zu", limits->in_flight);
        return MCP_E_LIMIT;
    }
    return 0;
}

int
mcpi_peer_keep(struct mcpi_exchange *x, size_t bytes)
{
    struct mcpi_peer *peer = x->peer;

    if (!peer)
        return MCP_E_CLOSED;
    if (peer_holds_too_much(peer) ||
        !mcpi_account_take(x->outlet->account, MCPI_HELD_BYTES, bytes))
        return MCP_E_LIMIT;
    x->request_bytes += bytes;
    peer->request_bytes += bytes;
    return 0;
}

static void
peer_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_peer *peer = MCPI_CONTAINER(timer, struct mcpi_peer, timer);

    mcpi_engine_at(peer->engine, now);
    if (peer->failing == 0 && peer->state == MCPI_PEER_DRAINING) {
        /* the last one closes the link */
        mcpi_peer_drop_exchanges(peer, "connection lost");
        return;
    }
    if (peer->failing == 0 && peer->state == MCPI_PEER_LEAVING) {
        mcpi_peer_close(peer, now);
        return;
    }
    if (peer->failing == 0)
        MCPI_LOG(&peer->engine->log, MCP_LOG_WARNING,
                 "closing: not all could be written in time");
    peer_close_now(peer, peer->failing != 0 ? peer->failing : MCP_E_CLOSED);
}

/* ---- the beginning --------------------------------------------------------- */

int
mcpi_peer_new(struct mcpi_engine *e, const struct mcpi_link_ops *ops, unsigned traits,
              void *link_user, struct mcpi_peer **ret_peer)
{
    struct mcpi_peer *peer;
    int r;

    peer = mcpi_alloc_zero(e->mem, sizeof(*peer));
    if (!peer)
        return MCP_E_NOMEM;
    peer->engine = e;
    peer->ops = ops;
    peer->link_user = link_user;
    peer->traits = traits;
    peer->state = e->role == MCPI_CLIENT ? MCPI_PEER_FRESH : MCPI_PEER_READY;
    peer->agreed = e->role == MCPI_SERVER;
    peer->spoken = "";
    mcpi_list_init(&peer->outlets);
    r = traits & MCPI_UNORDERED ? mcpi_early_cancel_init(peer) : 0;
    if (r == 0)
        r = mcpi_outlet_new(peer, link_user, &peer->outlet);
    if (r < 0) {
        mcpi_early_cancel_done(peer);
        mcpi_free(e->mem, peer);
        return r;
    }
    mcpi_map_init(&peer->pending, e->mem, e->seed);
    mcpi_map_init(&peer->in_flight, e->mem, e->seed);
    mcpi_session_init(peer);
    mcpi_list_init(&peer->open);
    mcpi_list_init(&peer->ended);
    mcpi_list_init(&peer->waiting);
    mcpi_ring_init(&peer->buried);
    mcpi_timer_init(&peer->timer, peer_expired);
    mcpi_list_append(&e->peers, &peer->in_engine);
    e->counts.peers++;
    *ret_peer = peer;
    return 0;
}

/* Handlers that still run outlive their peer: they keep their exchange, not us. All
 * have ended by now. */
static void
peer_orphan_exchanges(struct mcpi_peer *peer)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&peer->ended)) != NULL)
        MCPI_CONTAINER(node, struct mcpi_exchange, in_peer)->peer = NULL;
}

void
mcpi_peer_free(struct mcpi_peer *peer)
{
    struct mcpi_engine *e;

    if (!peer)
        return;
    e = peer->engine;
    mcpi_peer_lost(peer, MCP_E_CLOSED, e->now);
    peer_kill_outlets(peer); /* those made after it was lost */
    peer_orphan_exchanges(peer);
    mcpi_list_remove(&peer->in_engine);
    e->counts.peers--;
    mcpi_map_done(&peer->pending);
    mcpi_map_done(&peer->in_flight);
    mcpi_session_done(peer);
    mcpi_early_cancel_done(peer);
    mcpi_account_give(peer->outlet->account, MCPI_HELD_BYTES,
                      mcpi_doc_bytes(peer->hello));
    mcpi_outlet_unref(peer->outlet);
    mcp_doc_free(peer->hello);
    mcpi_free(e->mem, peer);
}

/* ---- notifications --------------------------------------------------------- */

/* A cancel frame written by hand (B34): the leg it names ends, and says so itself,
 * with its own id and in its own spelling; so does a call whose last leg had that id, if
 * it is between two of them. 1: it did; 0: it names none. */
static int
peer_end_named_leg(struct mcpi_peer *peer, const char *params, size_t len)
{
    const struct mcpi_json_limits limits = {peer->engine->limits.message_bytes,
                                            peer->engine->limits.depth};
    struct mcpi_leg *leg;
    struct mcpi_id id;
    const char *reason;
    mcp_doc *doc;
    bool ended;
    int r;

    if (!params)
        return 0;
    r = mcpi_doc_parse(peer->engine->mem, params, len, &limits, &doc);
    if (r < 0)
        return r;
    id = mcpi_id_read(mcp_json_get(mcp_doc_root(doc), "requestId"));
    reason = mcp_json_string(mcp_json_get(mcp_doc_root(doc), "reason"), NULL);
    leg = mcpi_leg_find_any(peer, &id);
    if (leg) {
        leg->resumable = false;
        ended = mcpi_leg_end(leg, MCP_E_CANCELED, NULL, reason);
    } else {
        ended = mcpi_call_cancel_named(peer, &id, reason);
    }
    mcp_doc_free(doc);
    return ended;
}

int
mcpi_peer_notify(struct mcpi_peer *peer, const char *method, const char *params,
                 size_t params_len, int64_t now)
{
    bool frame = mcpi_method_find(method, strlen(method)) == MCPI_METHOD_NOTE_CANCELED;
    int r;

    mcpi_engine_at(peer->engine, now);
    if (!mcpi_peer_can_send(peer))
        return 0;
    if (!frame)
        return mcpi_note_push(peer->outlet, NULL, method, params, params_len);
    r = peer_end_named_leg(peer, params, params_len);
    if (r != 0)
        return r < 0 ? r : 0;
    return mcpi_note_push_frame(peer->outlet, params, params_len);
}
