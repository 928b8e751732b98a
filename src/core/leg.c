/*
 * leg.c - one JSON-RPC request we sent
 *
 * mcpi_leg_end is the only way out, and leg_signal, below it, the only place that
 * decides what a cancel looks like on the wire. At most one signal follows, because a
 * leg ends once; it comes after its request, because both stand in one queue.
 */
#include "core/leg.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/exchange.h"
#include "core/peer.h"

static struct mcpi_leg *
leg_of(const struct mcpi_map_node *node)
{
    return MCPI_CONTAINER(node, struct mcpi_leg, by_id);
}

static bool
leg_has_key(const struct mcpi_map_node *node, const void *key)
{
    return mcpi_id_same(&leg_of(node)->key, key);
}

struct mcpi_leg *
mcpi_leg_find_any(const struct mcpi_peer *peer, const struct mcpi_id *id)
{
    struct mcpi_id key = mcpi_id_fold(*id);
    struct mcpi_map_node *node;

    if (key.kind == MCPI_ID_NONE)
        return NULL;
    node = mcpi_map_find(&peer->pending, mcpi_id_hash(&peer->pending, &key),
                         leg_has_key, &key);
    return node ? leg_of(node) : NULL;
}

struct mcpi_leg *
mcpi_leg_find(const struct mcpi_peer *peer, const struct mcpi_id *id)
{
    struct mcpi_leg *leg = mcpi_leg_find_any(peer, id);

    return leg && leg->state == MCPI_LEG_ISSUED ? leg : NULL;
}

struct mcpi_leg *
mcpi_leg_ref(struct mcpi_leg *leg)
{
    leg->refs++;
    return leg;
}

void
mcpi_leg_unref(struct mcpi_leg *leg)
{
    if (--leg->refs > 0)
        return;
    mcpi_outlet_unref(leg->outlet);
    mcpi_free(leg->engine->mem, leg);
}

void
mcpi_leg_set_link(struct mcpi_leg *leg, void *link_user)
{
    leg->link_user = link_user;
}

void *
mcpi_leg_link(const struct mcpi_leg *leg)
{
    return leg->link_user;
}

const struct mcpi_id *
mcpi_leg_id(const struct mcpi_leg *leg)
{
    return &leg->key;
}

bool
mcpi_leg_is_over(const struct mcpi_leg *leg)
{
    return leg->state == MCPI_LEG_ENDED;
}

bool
mcpi_leg_is_modern(const struct mcpi_leg *leg)
{
    return leg->dialect && leg->dialect->modern;
}

const struct mcpi_fault *
mcpi_leg_fault(const struct mcpi_leg *leg)
{
    return leg->fault.status < 0 ? &leg->fault : NULL;
}

const char *
mcpi_leg_resume_token(const struct mcpi_leg *leg)
{
    return leg->resume_token;
}

/* ---- its two messages ------------------------------------------------------ */

static struct mcpi_leg *
leg_of_request(const struct mcpi_out *out)
{
    return MCPI_CONTAINER(out, struct mcpi_leg, request);
}

static void
leg_write_params(const struct mcpi_leg *leg, struct mcpi_buf *into)
{
    struct mcpi_stamp stamp = {.log_level = leg->log_level,
                               .members = leg->meta,
                               .members_len = leg->meta_len};
    const char *members;
    size_t len, mark, start;

    if (leg->want_progress)
        stamp.progress_token = &leg->id;
    leg->dialect->stamp(leg->peer, &stamp);
    mark = into->len;
    MCPI_BUF_LITERAL(into, ",\"params\":{");
    start = into->len;
    mcpi_members(leg->params, leg->params_len, &members, &len);
    mcpi_buf_append(into, members, len);
    if (len > 0)
        mcpi_buf_char(into, ',');
    if (!mcpi_meta_write(into, &stamp) && len > 0)
        mcpi_buf_truncate(into, into->len - 1);
    if (into->len == start && leg->params_len == 0)
        mcpi_buf_truncate(into, mark);
    else
        mcpi_buf_char(into, '}');
}

static int
leg_take_request(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct mcpi_leg *leg = leg_of_request(out);
    struct mcpi_peer *peer = leg->peer;

    if (!leg->dialect)
        leg->dialect = peer->dialect;
    mcpi_rpc_write_request(into, &leg->id, leg->method, leg->method_len);
    leg_write_params(leg, into);
    mcpi_buf_char(into, '}');
    if (into->status < 0)
        return into->status;
    leg->state = MCPI_LEG_ISSUED;
    if (leg->dialect->modern)
        peer->spoken = peer->version;
    else if (strcmp(leg->method, mcpi_method_name(MCPI_METHOD_INITIALIZE)) == 0)
        peer->spoken = "";
    return 0;
}

static void
leg_request_done(struct mcpi_out *out, int status)
{
    struct mcpi_leg *leg = leg_of_request(out);

    if (status < 0 && leg->state == MCPI_LEG_ISSUED)
        mcpi_leg_end(leg, MCP_E_SEND_FAILED, NULL, "could not be sent");
    else if (status < 0)
        mcpi_leg_end(leg, status, NULL, NULL);
    mcpi_leg_unref(leg);
}

static struct mcpi_leg *
leg_of_frame(const struct mcpi_out *out)
{
    return MCPI_CONTAINER(out, struct mcpi_leg, frame);
}

static int
leg_take_frame(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct mcpi_leg *leg = leg_of_frame(out);

    /* What the link says of its troubles is not for the peer. */
    mcpi_rpc_write_cancel(into, &leg->id,
                          mcpi_leg_fault(leg) ? "the stream failed" : leg->reason);
    return into->status;
}

static void
leg_frame_done(struct mcpi_out *out, int status)
{
    struct mcpi_leg *leg = leg_of_frame(out);

    /* A courtesy that could not be sent changes nobody's outcome (D5); why it could not
     * is the link's to say. */
    leg->signaled = status < 0 ? MCP_E_CLOSED : 0;
    if (leg->on_signaled)
        leg->on_signaled(leg->signaled_user, leg->signaled);
    mcpi_leg_unref(leg);
}

static const struct mcpi_out_ops request_ops = {
    .kind = MCPI_OUT_REQUEST, .take = leg_take_request, .done = leg_request_done};
static const struct mcpi_out_ops greeting_ops = {.kind = MCPI_OUT_REQUEST,
                                                 .first = true,
                                                 .take = leg_take_request,
                                                 .done = leg_request_done};
static const struct mcpi_out_ops frame_ops = {.kind = MCPI_OUT_NOTE,
                                              .takes_back = true,
                                              .take = leg_take_frame,
                                              .done = leg_frame_done};

struct mcpi_leg *
mcpi_out_leg(const struct mcpi_out *out)
{
    bool ours = out->ops == &request_ops || out->ops == &greeting_ops;

    return ours ? leg_of_request(out) : NULL;
}

struct mcpi_leg *
mcpi_out_canceled_leg(const struct mcpi_out *out)
{
    return out->ops == &frame_ops ? leg_of_frame(out) : NULL;
}

bool
mcpi_leg_is_negotiation(const struct mcpi_leg *leg)
{
    return leg->request.ops == &greeting_ops;
}

/* ---- the end --------------------------------------------------------------- */

/* Abandoning it must not tell the peer: asked for, or it can be resumed later (B27).
 * Whoever cancels it has made sure that it cannot. */
static bool
leg_detaches(const struct mcpi_leg *leg, bool own_stream, bool closing)
{
    if (leg->detach)
        return true;
    return leg->resumable && own_stream && !closing && !leg->dialect->modern;
}

static void
leg_push_frame(struct mcpi_leg *leg)
{
    mcpi_leg_ref(leg);
    if (mcpi_outlet_push(leg->outlet, &leg->frame))
        return;
    leg->signaled = MCP_E_CLOSED;
    mcpi_leg_unref(leg);
}

/* Never framed, whoever asks: negotiation, or the user by hand (B16, B17). */
static bool
leg_is_unframed(const struct mcpi_leg *leg)
{
    enum mcpi_method method = mcpi_method_find(leg->method, leg->method_len);

    return method == MCPI_METHOD_INITIALIZE || method == MCPI_METHOD_DISCOVER;
}

/* Every cancel we send for what was issued is decided here; the table in
 * docs/architecture.md is this function. closing: the link will say it by closing,
 * where it can: the end of a request's own stream says nothing of what was asked on it
 * (J5). */
static void
leg_signal(struct mcpi_leg *leg, bool closing)
{
    const struct mcpi_link_ops *ops = leg->peer->ops;
    bool own_stream = ops->hangup != NULL;
    bool nested = leg->outlet != leg->peer->outlet;

    if (leg_detaches(leg, own_stream, closing)) {
        if (own_stream)
            ops->hangup(leg->peer, leg, leg->dialect->modern ? MCPI_NEVER : 0);
    } else if (own_stream && (leg->dialect->modern || leg_is_unframed(leg))) {
        ops->hangup(leg->peer, leg, 0);
    } else if (!closing || own_stream || nested) {
        if (!leg_is_unframed(leg))
            leg_push_frame(leg);
        if (own_stream)
            ops->hangup(leg->peer, leg, leg->engine->times.grace);
    }
}

/* It has not left, but what it takes up again has: a cancel of that counts (B27). */
static bool
leg_is_begun(const struct mcpi_leg *leg)
{
    const struct mcpi_peer *peer = leg->peer;

    return leg->resume_token && !leg->resumable && !leg->detach && peer->ops->hangup &&
           peer->dialect && !peer->dialect->modern && peer->state != MCPI_PEER_CLOSED;
}

bool
mcpi_leg_end(struct mcpi_leg *leg, int status, const struct mcpi_rpc *answer,
             const char *reason)
{
    bool issued = leg->state == MCPI_LEG_ISSUED;
    struct mcpi_peer *peer = leg->peer;

    if (leg->state == MCPI_LEG_ENDED)
        return false;
    mcpi_leg_ref(leg);
    leg->state = MCPI_LEG_ENDED;
    mcpi_map_remove(&peer->pending, &leg->by_id);
    mcpi_timer_disarm(leg->engine->timers, &leg->idle);
    mcpi_list_remove(&leg->in_parent);
    leg->engine->counts.legs--;
    if (issued && !answer)
        mcpi_ring_add(&peer->buried, leg->by_id.hash);
    peer->answered = peer->answered || answer;
    if (reason)
        mcpi_text_clean(leg->reason, sizeof(leg->reason), reason, strlen(reason));
    if (!issued)
        mcpi_out_withdraw(&leg->request);
    if (!issued && leg_is_begun(leg))
        leg_push_frame(leg);
    else if (issued && !answer && !leg->moot && peer->state != MCPI_PEER_CLOSED)
        leg_signal(leg, status == MCP_E_CLOSED && !mcpi_leg_fault(leg));
    leg->peer = NULL;
    leg->owner->ended(leg->owner_user, leg, status, answer);
    mcpi_leg_unref(leg); /* the table's */
    mcpi_leg_unref(leg);
    return true;
}

void
mcpi_leg_fail(struct mcpi_leg *leg, const struct mcpi_fault *fault, int64_t now)
{
    mcpi_engine_at(leg->engine, now);
    if (leg->state != MCPI_LEG_ISSUED)
        return; /* it has no stream, or none any more */
    leg->fault = *fault;
    leg->fault.why = leg->reason;
    leg->moot = leg->moot || fault->unsent;
    mcpi_leg_end(leg, fault->status, NULL, fault->why ? fault->why : "");
}

bool
mcpi_leg_give_back(struct mcpi_leg *leg)
{
    if (leg->state != MCPI_LEG_ISSUED || leg->again || leg->resume_token ||
        leg->request.state != MCPI_OUT_IDLE)
        return false;
    leg->again = true;
    leg->state = MCPI_LEG_QUEUED;
    leg->dialect = NULL;
    leg->link_user = NULL;
    mcpi_leg_ref(leg); /* the queue's */
    mcpi_outlet_give_back(leg->outlet, &leg->request);
    return true;
}

static void
leg_idle_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_leg *leg = MCPI_CONTAINER(timer, struct mcpi_leg, idle);
    char reason[MCPI_REASON_MAX + 1];

    mcpi_engine_at(leg->engine, now);
    snprintf(reason, sizeof(reason), "timed out after %lld ms",
             (long long)(leg->timeout_us / 1000));
    mcpi_leg_end(leg, MCP_E_TIMEOUT, NULL, reason);
}

static void
leg_arm(struct mcpi_leg *leg)
{
    mcpi_timer_arm(leg->engine->timers, &leg->idle,
                   mcpi_time_add(leg->engine->now, leg->timeout_us));
}

void
mcpi_leg_rest(struct mcpi_leg *leg, bool rest, int64_t now)
{
    mcpi_engine_at(leg->engine, now);
    if (!mcpi_leg_is_negotiation(leg) || leg->state == MCPI_LEG_ENDED)
        return;
    if (rest)
        mcpi_timer_disarm(leg->engine->timers, &leg->idle);
    else
        leg_arm(leg);
}

void
mcpi_leg_wait_for_ever(struct mcpi_leg *leg)
{
    leg->timeout_us = MCPI_NEVER;
    mcpi_timer_disarm(leg->engine->timers, &leg->idle);
}

void
mcpi_leg_progress(struct mcpi_leg *leg, const struct mcpi_progress *progress)
{
    if (leg->reset_on_progress)
        leg_arm(leg);
    if (leg->owner->progress)
        leg->owner->progress(leg->owner_user, leg, progress);
}

void
mcpi_leg_resumable_from(struct mcpi_leg *leg, const char *event_id)
{
    if (leg->state != MCPI_LEG_ISSUED || leg->dialect->modern)
        return;
    leg->resumable = leg->resumable || leg->want_resumable;
    if (leg->owner->resumable)
        leg->owner->resumable(leg->owner_user, leg, event_id);
}

/* ---- the beginning --------------------------------------------------------- */

static struct mcpi_outlet *
outlet_for(const struct mcpi_peer *peer, const struct mcpi_leg_options *opt)
{
    return opt->parent ? opt->parent->outlet : peer->outlet;
}

static int
check_channel(const struct mcpi_peer *peer, const struct mcpi_leg_options *opt)
{
    const struct mcpi_exchange *x = opt->parent;

    if (!mcpi_peer_can_send(peer) || !mcpi_outlet_peer(outlet_for(peer, opt)))
        return MCP_E_CLOSED;
    if (x && x->ending != MCPI_OPEN) /* its context closed with it (F22, F23) */
        return x->running && x->ending != MCPI_ANSWERED ? MCP_E_CANCELED
                                                        : MCP_E_NO_CHANNEL;
    if (peer->engine->role == MCPI_CLIENT)
        return 0;
    if (peer->traits & (MCPI_NO_REQUESTS | MCPI_STATELESS)) /* J9 */
        return MCP_E_NO_CHANNEL;
    if (x ? !x->caller.dialect->asks_back : !peer->initialized)
        return MCP_E_NO_CHANNEL;
    return 0;
}

static int
choose_id(struct mcpi_peer *peer, const struct mcpi_id *wanted, struct mcpi_id *ret)
{
    if (!wanted) {
        do
            *ret = mcpi_id_int(++peer->next_id);
        while (mcpi_leg_find_any(peer, ret));
        return 0;
    }
    if (wanted->kind == MCPI_ID_NONE)
        return MCP_E_INVAL;
    if (wanted->kind == MCPI_ID_STRING &&
        (wanted->len > MCPI_ID_MAX || !mcpi_utf8_valid(wanted->text, wanted->len)))
        return MCP_E_INVAL;
    if (mcpi_leg_find_any(peer, wanted))
        return MCP_E_ID_IN_USE;
    *ret = *wanted;
    return 0;
}

/* One block: the leg and everything it must remember. */
static struct mcpi_leg *
leg_new(struct mcpi_engine *e, const struct mcpi_leg_options *opt,
        const struct mcpi_id *id)
{
    const char *token = opt->parent ? NULL : opt->resume_token;
    size_t method_len = strlen(opt->method);
    size_t token_len = token ? strlen(token) : 0;
    size_t texts = id->len + method_len + opt->params_len + opt->meta_len + token_len +
                   5;
    struct mcpi_leg *leg;
    char *at;

    leg = mcpi_alloc_zero_first(e->mem, sizeof(*leg) + texts,
                                offsetof(struct mcpi_leg, reason));
    if (!leg)
        return NULL;
    leg->reason[0] = '\0';
    at = (char *)(leg + 1);
    leg->id = *id;
    if (id->kind == MCPI_ID_STRING)
        leg->id.text = mcpi_text_stow(&at, id->text, id->len);
    leg->key = mcpi_id_fold(leg->id);
    leg->method = mcpi_text_stow(&at, opt->method, method_len);
    leg->method_len = method_len;
    leg->params = mcpi_text_stow(&at, opt->params, opt->params_len);
    leg->params_len = opt->params ? opt->params_len : 0;
    leg->meta = mcpi_text_stow(&at, opt->meta, opt->meta_len);
    leg->meta_len = opt->meta ? opt->meta_len : 0;
    leg->resume_token = mcpi_text_stow(&at, token, token_len);
    leg->resumable = token != NULL;
    leg->want_resumable = opt->resumable && !opt->parent;
    return leg;
}

static void
leg_set_up(struct mcpi_leg *leg, struct mcpi_peer *peer,
           const struct mcpi_leg_options *opt)
{
    leg->refs = 1; /* the table's */
    leg->engine = peer->engine;
    leg->peer = peer;
    leg->outlet = mcpi_outlet_ref(outlet_for(peer, opt));
    mcpi_list_init(&leg->in_parent);
    mcpi_out_init(&leg->request, opt->negotiation ? &greeting_ops : &request_ops);
    mcpi_out_init(&leg->frame, &frame_ops);
    mcpi_timer_init(&leg->idle, leg_idle_expired);
    leg->dialect = opt->dialect;
    leg->timeout_us = opt->timeout_us;
    leg->reset_on_progress = opt->reset_on_progress;
    leg->want_progress = opt->want_progress;
    leg->detach = opt->detach;
    leg->log_level = opt->log_level;
}

/* The owner of a leg that is being opened: its start will tell. */
static void
opening_ended(void *user, struct mcpi_leg *leg, int status,
              const struct mcpi_rpc *answer)
{
    int *ret_status = user;

    (void)leg;
    (void)answer;
    *ret_status = status;
}

static const struct mcpi_leg_owner opening_owner = {.ended = opening_ended};

/* A link may take it from inside push, and fail to: it ends before it has begun. */
static int
leg_push(struct mcpi_leg *leg, const struct mcpi_leg_options *opt)
{
    int r = 0;

    leg->owner = &opening_owner;
    leg->owner_user = &r;
    mcpi_leg_ref(leg);                                  /* the queue's */
    mcpi_leg_ref(leg);                                  /* ours */
    (void)mcpi_outlet_push(leg->outlet, &leg->request); /* open, and never dropped */
    leg->owner = opt->owner;
    leg->owner_user = opt->owner_user;
    mcpi_leg_unref(leg);
    return r;
}

int
mcpi_leg_open(struct mcpi_peer *peer, const struct mcpi_leg_options *opt,
              struct mcpi_leg **ret_leg)
{
    struct mcpi_leg *leg;
    struct mcpi_id id;
    int r;

    r = check_channel(peer, opt);
    if (r < 0)
        return r;
    r = choose_id(peer, opt->id, &id);
    if (r < 0)
        return r;
    leg = leg_new(peer->engine, opt, &id);
    if (!leg)
        return MCP_E_NOMEM;
    leg_set_up(leg, peer, opt);
    peer->engine->counts.legs++;
    mcpi_map_add(&peer->pending, &leg->by_id, mcpi_id_hash(&peer->pending, &leg->key));
    if (opt->parent)
        mcpi_list_append(&opt->parent->nested, &leg->in_parent);
    leg_arm(leg);
    r = leg_push(leg, opt);
    if (r == 0)
        *ret_leg = leg;
    return r;
}
