/*
 * receive.c - a message came in: the one door, for every link
 *
 * Messages are handled to their end in the order they came, on the stack of the caller:
 * a request is in the table before the next message is looked at (F1), a cancel is
 * applied when it is read, and a notification's bookkeeping is done before the response
 * behind it resolves (F36).
 */
#include <math.h>

#include "core/early_cancel.h"
#include "core/exchange.h"
#include "core/leg.h"
#include "core/note.h"
#include "core/peer.h"
#include "core/renew.h"
#include "core/subscription.h"
#include "json/value.h"

struct receipt {
    struct mcpi_peer *peer;
    const struct mcpi_arrival *arrival;
    struct mcpi_outlet *outlet; /* where an answer would go */
    struct mcpi_rpc rpc;
};

static void
receive_refuse(const struct receipt *in, const struct mcpi_refusal *why)
{
    char shown[MCPI_ID_SHOWN];

    MCPI_LOG(&in->peer->engine->log, MCP_LOG_INFO, "request %s refused: %d %s",
             mcpi_id_show(&in->rpc.id, shown), why->code, why->message);
    mcpi_refusal_push(in->outlet, &in->rpc.id, why);
}

/* ---- requests -------------------------------------------------------------- */

/* At modern, servers do not ask; whatever this is, it gets no answer (C4, J7). */
static bool
receive_may_ask(const struct mcpi_peer *peer)
{
    if (peer->engine->role == MCPI_SERVER)
        return true;
    return peer->dialect && peer->dialect->asks_back;
}

/* Not for the peer to cancel (F20). */
static bool
receive_is_negotiation(enum mcpi_method method)
{
    return method == MCPI_METHOD_INITIALIZE || method == MCPI_METHOD_DISCOVER;
}

/* Its cancel arrived before it, and may end it (D25). */
static bool
receive_is_canceled(const struct receipt *in)
{
    return mcpi_early_cancel_take(in->peer, &in->rpc.id) &&
           !receive_is_negotiation(in->rpc.method);
}

static const struct mcpi_dialect *
receive_dialect(const struct mcpi_peer *peer, const struct mcpi_rpc *rpc,
                const struct mcpi_meta *meta)
{
    const struct mcpi_engine *e = peer->engine;
    bool stamped = meta->version && rpc->method != MCPI_METHOD_INITIALIZE;

    if (e->role == MCPI_SERVER && stamped && e->era != MCPI_ERA_LEGACY)
        return &mcpi_dialect_modern;
    return &mcpi_dialect_legacy;
}

static int
receive_admit(const struct receipt *in, struct mcpi_caller *caller,
              struct mcpi_refusal *why)
{
    struct mcpi_peer *peer = in->peer;
    struct mcpi_meta meta;
    const char *fault;

    if (mcpi_json_has_duplicates(in->rpc.params)) {
        mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS, "Invalid params: a key stands twice");
        return MCP_E_PROTO;
    }
    if (mcpi_meta_read(in->rpc.params, &meta, &fault) < 0) {
        mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s", fault);
        return MCP_E_PROTO;
    }
    if (!(peer->traits & MCPI_PRIVATE_IDS) && mcpi_exchange_find(peer, &in->rpc.id)) {
        mcpi_refuse(why, MCPI_RPC_INVALID_REQUEST,
                    "Invalid request: its id is in flight");
        return MCP_E_ID_IN_USE;
    }
    if (mcpi_peer_check_room(peer, why) < 0)
        return MCP_E_LIMIT;
    if (receive_dialect(peer, &in->rpc, &meta)
            ->admit(peer, &in->rpc, &meta, caller, why) < 0)
        return MCP_E_PROTO;
    if (in->arrival->version && !caller->dialect->modern)
        caller->version = in->arrival->version;
    return 0;
}

/* True: it has become an exchange, which has the document now. */
static bool
receive_request(const struct receipt *in)
{
    struct mcpi_caller caller = {0};
    struct mcpi_refusal why;
    char shown[MCPI_ID_SHOWN];
    bool canceled;
    int r;

    if (!receive_may_ask(in->peer)) {
        MCPI_WARN_ONCE(in->peer, MCPI_WARN_ASKED,
                       "request %s dropped: servers do not ask in this era",
                       mcpi_id_show(&in->rpc.id, shown));
        return false;
    }
    canceled = receive_is_canceled(in);
    caller.principal = in->arrival->principal ? in->arrival->principal : "";
    caller.scope = in->arrival->scope;
    caller.claims = in->arrival->claims;
    caller.said = in->arrival->said;
    caller.said_len = in->arrival->said_len;
    if (receive_admit(in, &caller, &why) < 0) {
        receive_refuse(in, &why);
        return false;
    }
    r = mcpi_exchange_open(in->peer, in->arrival, &in->rpc, &caller, canceled);
    if (r < 0) {
        mcpi_refuse(&why, MCPI_RPC_INTERNAL_ERROR, "%s",
                    r == MCP_E_LIMIT ? "Too much is in use for this client"
                                     : "Out of memory");
        receive_refuse(in, &why);
        return false;
    }
    return true;
}

/* ---- answers --------------------------------------------------------------- */

/* May what came on a leg's own stream be its own, whatever it names? One that takes an
 * earlier request up again has that one's answer, with that one's id (B27). */
static bool
receive_is_resumed(const struct mcpi_leg *leg)
{
    return leg && leg->state == MCPI_LEG_ISSUED && leg->resume_token;
}

/* An error without an id, on the stream of a request, says that this could not even be
 * read, or is not allowed: what comes with a status of HTTP. */
static struct mcpi_leg *
receive_leg(const struct receipt *in)
{
    struct mcpi_leg *leg = in->arrival->leg;
    const struct mcpi_rpc *rpc = &in->rpc;
    struct mcpi_id key = mcpi_id_fold(rpc->id);
    bool own;

    if (!leg)
        return mcpi_leg_find(in->peer, &rpc->id);
    /* Its own stream: whatever else has that id meanwhile is another leg (E15). */
    own = mcpi_id_same(&key, &leg->key) || receive_is_resumed(leg) ||
          (rpc->kind == MCPI_RPC_ERROR && rpc->id.kind == MCPI_ID_NONE);
    return leg->state == MCPI_LEG_ISSUED && own ? leg : NULL;
}

/* A result of a kind that nobody told us about must count as invalid; none at all is
 * what older servers send (basic, ResultType). */
static bool
receive_knows_type(const struct mcpi_leg *leg, const struct mcpi_rpc *rpc)
{
    const mcp_json *type = mcp_json_get(rpc->result, "resultType");

    return !leg->dialect->modern || !type || mcp_json_is_string(type, "complete") ||
           mcp_json_is_string(type, "input_required");
}

static void
receive_for_leg(const struct receipt *in, struct mcpi_leg *leg)
{
    const struct mcpi_rpc *rpc = &in->rpc;
    int status = 0;

    if (rpc->kind == MCPI_RPC_ERROR &&
        rpc->error_code == MCPI_RPC_UNSUPPORTED_VERSION &&
        mcpi_peer_change_version(in->peer, leg, rpc))
        return;
    if (rpc->kind == MCPI_RPC_ERROR)
        status = MCP_E_PEER;
    else if (rpc->kind == MCPI_RPC_INVALID || !receive_knows_type(leg, rpc))
        status = MCP_E_PROTO;
    /* It came elsewhere: nobody waits for its own stream to end. */
    if (!in->arrival->leg && leg->link_user && in->peer->ops->hangup)
        in->peer->ops->hangup(in->peer, leg, leg->engine->times.grace);
    mcpi_leg_end(leg, status, rpc, NULL);
}

static void
receive_answer(const struct receipt *in)
{
    const struct mcpi_rpc *rpc = &in->rpc;
    struct mcpi_leg *leg = receive_leg(in);
    struct mcpi_map *map = &in->peer->pending;
    struct mcpi_id key = mcpi_id_fold(rpc->id);
    char shown[MCPI_ID_SHOWN];
    bool late;

    if (leg) {
        receive_for_leg(in, leg);
        return;
    }
    if (rpc->id.kind == MCPI_ID_NONE) {
        MCPI_WARN_ONCE(in->peer, MCPI_WARN_NO_ID,
                       "the peer reports an error without an id: %d %s",
                       rpc->error_code, rpc->error_message);
        return;
    }
    late = mcpi_ring_has(&in->peer->buried, mcpi_id_hash(map, &key));
    MCPI_LOG(&in->peer->engine->log, MCP_LOG_DEBUG, "%s answer to request %s dropped",
             late ? "late" : "unknown", mcpi_id_show(&rpc->id, shown));
}

/* ---- notifications --------------------------------------------------------- */

/* A request of ours that a notification names: on the stream of one, no other (I10). */
static struct mcpi_leg *
receive_named_leg(const struct receipt *in, const struct mcpi_id *id)
{
    struct mcpi_leg *leg = mcpi_leg_find(in->peer, id);

    return in->arrival->leg && in->arrival->leg != leg ? NULL : leg;
}

/* A frame for a request of ours is for the other direction: it ends none (J3, J4), but
 * for a subscription, which a server takes back that way (H9). */
static void
receive_foreign_cancel(const struct receipt *in, const struct mcpi_id *id)
{
    struct mcpi_peer *peer = in->peer;
    struct mcpi_leg *leg = receive_named_leg(in, id);
    char shown[MCPI_ID_SHOWN];

    if (leg && mcpi_subscription_revoked(leg))
        return;
    if (mcpi_leg_find(peer, id))
        MCPI_WARN_ONCE(peer, MCPI_WARN_DIRECTION,
                       "the peer cancels request %s, which is ours: it goes on",
                       mcpi_id_show(id, shown));
    else
        MCPI_LOG(&peer->engine->log, MCP_LOG_DEBUG,
                 "cancel of unknown request %s ignored", mcpi_id_show(id, shown));
}

/* The cancel may be ahead of its request, or name one of ours by mistake. Both sides count
 * their requests, so that on a server such an id is most likely the client's next one. */
static void
receive_unknown_cancel(const struct receipt *in, const struct mcpi_id *id)
{
    bool is_held = receive_may_ask(in->peer) && mcpi_early_cancel_hold(in->peer, id);
    char shown[MCPI_ID_SHOWN];

    if (!is_held ||
        (in->peer->engine->role == MCPI_CLIENT && mcpi_leg_find(in->peer, id)))
        receive_foreign_cancel(in, id);
    else
        MCPI_LOG(&in->peer->engine->log, MCP_LOG_DEBUG,
                 "cancel of request %s held: the request may still arrive",
                 mcpi_id_show(id, shown));
}

/* Returns what it ended, with a reference, or NULL. */
static struct mcpi_exchange *
receive_cancel(const struct receipt *in)
{
    const mcp_json *params = in->rpc.params;
    struct mcpi_id id = mcpi_id_read(mcp_json_get(params, "requestId"));
    const char *reason = mcp_json_string(mcp_json_get(params, "reason"), "");
    struct mcpi_exchange *x = mcpi_exchange_find(in->peer, &id);

    if (!x) {
        receive_unknown_cancel(in, &id);
        return NULL;
    }
    if (receive_is_negotiation(x->rpc.method)) {
        receive_foreign_cancel(in, &id);
        return NULL;
    }
    mcpi_exchange_ref(x);
    mcpi_exchange_end(x, MCPI_CANCELED, NULL, reason);
    return x;
}

static void
receive_progress(const struct receipt *in)
{
    const mcp_json *params = in->rpc.params;
    struct mcpi_id token = mcpi_id_read(mcp_json_get(params, "progressToken"));
    const mcp_json *value = mcp_json_get(params, "progress");
    enum mcp_json_type type = mcp_json_get_type(value);
    struct mcpi_progress p;
    struct mcpi_leg *leg;

    leg = receive_is_resumed(in->arrival->leg) ? in->arrival->leg
                                               : receive_named_leg(in, &token);
    if (!leg || !leg->want_progress)
        return;
    if (type != MCP_JSON_INTEGER && type != MCP_JSON_REAL)
        return;
    p.progress = mcp_json_number(value, 0);
    p.total = mcp_json_number(mcp_json_get(params, "total"), (double)NAN);
    p.message = mcp_json_string(mcp_json_get(params, "message"), NULL);
    mcpi_leg_progress(leg, &p);
}

/* True: it says that it belongs to a subscription. It reaches that one or nobody (H14).
 * Only modern servers have such. */
static bool
receive_event(const struct receipt *in)
{
    struct mcpi_peer *peer = in->peer;
    struct mcpi_meta meta;
    const char *fault;
    char shown[MCPI_ID_SHOWN];

    if (peer->engine->role != MCPI_CLIENT || !peer->dialect || !peer->dialect->modern)
        return false;
    if (mcpi_meta_read(in->rpc.params, &meta, &fault) < 0) {
        MCPI_LOG(&peer->engine->log, MCP_LOG_DEBUG, "notification dropped: %s", fault);
        return true;
    }
    if (meta.subscription_id.kind == MCPI_ID_NONE)
        return false;
    if (!receive_named_leg(in, &meta.subscription_id) ||
        !mcpi_subscription_receive(peer, &meta.subscription_id, &in->rpc))
        MCPI_LOG(&peer->engine->log, MCP_LOG_DEBUG,
                 "notification of unknown subscription %s dropped",
                 mcpi_id_show(&meta.subscription_id, shown));
    return true;
}

static void
receive_note(const struct receipt *in)
{
    struct mcpi_engine *e = in->peer->engine;
    struct mcpi_exchange *about = NULL;

    if (mcpi_json_has_duplicates(in->rpc.params))
        MCPI_LOG(&e->log, MCP_LOG_DEBUG, "notification ignored: a key stands twice");
    else if (in->rpc.method == MCPI_METHOD_NOTE_CANCELED)
        about = receive_cancel(in);
    else if (in->rpc.method == MCPI_METHOD_NOTE_PROGRESS)
        receive_progress(in);
    else if (receive_event(in))
        return;
    if (e->router->notified)
        e->router->notified(e->router_user, in->peer, &in->rpc, about);
    if (about)
        mcpi_exchange_unref(about);
}

/* ---- what is no message ---------------------------------------------------- */

/* A client answers only what has an id, and only where servers ask: what a server
 * prints on its wire by accident must not start a conversation (C4, C11). */
static bool
receive_may_answer(const struct receipt *in)
{
    if (in->peer->engine->role == MCPI_SERVER)
        return true;
    return receive_may_ask(in->peer) && in->rpc.id.kind != MCPI_ID_NONE;
}

/* The leg that it tried to answer: whoever waits for it must not wait for ever. */
static struct mcpi_leg *
receive_invalid_leg(const struct receipt *in)
{
    if (in->rpc.fault_answerable || in->rpc.method_name)
        return NULL;
    return receive_leg(in);
}

static void
receive_invalid(const struct receipt *in)
{
    struct mcpi_leg *leg = receive_invalid_leg(in);
    struct mcpi_refusal why;

    if (leg) {
        receive_for_leg(in, leg);
        return;
    }
    mcpi_refuse(&why, in->rpc.fault, "%s", in->rpc.fault_text);
    if (in->rpc.fault_answerable && receive_may_answer(in))
        receive_refuse(in, &why);
    else
        MCPI_WARN_ONCE(in->peer, MCPI_WARN_INVALID, "message dropped: %s",
                       in->rpc.fault_text);
}

/* Not even JSON, or more of it than is read; but its id may be told. */
static void
receive_unparsed(const struct receipt *in)
{
    struct mcpi_engine *e = in->peer->engine;
    struct mcpi_refusal why;
    struct mcpi_leg *leg;

    MCPI_WARN_ONCE(in->peer, MCPI_WARN_GARBLED, "not a message: %s",
                   in->rpc.fault_text);
    if (e->router->garbled)
        e->router->garbled(e->router_user, in->peer);
    leg = receive_invalid_leg(in);
    mcpi_refuse(&why, in->rpc.fault, "%s", in->rpc.fault_text);
    if (leg)
        receive_for_leg(in, leg);
    else if (in->rpc.fault_answerable && receive_may_answer(in))
        mcpi_refusal_push(in->outlet, &in->rpc.id, &why);
}

/* We are on our way out: who asks now must not wait for an answer that never comes. */
static void
receive_too_late(const struct receipt *in)
{
    struct mcpi_refusal why;

    if (in->rpc.kind != MCPI_RPC_REQUEST || !receive_may_ask(in->peer))
        return;
    mcpi_refuse(&why, MCPI_RPC_INTERNAL_ERROR, "Connection closed");
    receive_refuse(in, &why);
}

void
mcpi_peer_receive(struct mcpi_peer *peer, const struct mcpi_arrival *arrival,
                  int64_t now)
{
    mcp_doc *doc = arrival->take_doc;
    struct receipt in;

    mcpi_engine_at(peer->engine, now);
    in.peer = peer;
    in.arrival = arrival;
    in.outlet = arrival->outlet ? arrival->outlet : peer->outlet;
    if (arrival->rpc)
        in.rpc = *arrival->rpc;
    else
        mcpi_rpc_read(mcp_doc_root(doc), &in.rpc);
    in.rpc.doc = doc;
    if (mcpi_doc_is_repaired(doc))
        MCPI_WARN_ONCE(peer, MCPI_WARN_REPAIRED,
                       "a message held half of a surrogate pair, read as U+FFFD");
    if (peer->state < MCPI_PEER_DRAINING) {
        switch (in.rpc.kind) {
        case MCPI_RPC_REQUEST:
            if (peer->state == MCPI_PEER_LEAVING)
                receive_too_late(&in);
            else if (receive_request(&in))
                doc = NULL;
            break;
        case MCPI_RPC_NOTIFICATION:
            receive_note(&in);
            break;
        case MCPI_RPC_RESULT:
        case MCPI_RPC_ERROR:
            receive_answer(&in);
            break;
        case MCPI_RPC_INVALID:
            if (in.rpc.fault_unparsed)
                receive_unparsed(&in);
            else
                receive_invalid(&in);
            break;
        }
    } else {
        receive_too_late(&in);
    }
    mcp_doc_free(doc);
}
