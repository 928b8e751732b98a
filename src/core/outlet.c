/* outlet.c - messages that wait to be written, and the moment they are */
#include "core/outlet.h"

#include "base/mem.h"
#include "core/engine.h"
#include "core/exchange.h"
#include "core/peer.h"

int
mcpi_outlet_new(struct mcpi_peer *peer, void *link_user, struct mcpi_outlet **ret)
{
    struct mcpi_outlet *outlet;

    outlet = mcpi_alloc_zero(peer->engine->mem, sizeof(*outlet));
    if (!outlet)
        return MCP_E_NOMEM;
    outlet->refs = 1;
    outlet->peer = peer;
    outlet->engine = peer->engine;
    outlet->link_user = link_user;
    if (peer->outlet)
        outlet->account = mcpi_account_ref(peer->outlet->account);
    mcpi_list_init(&outlet->first);
    mcpi_list_init(&outlet->queue);
    mcpi_list_init(&outlet->in_peer);
    mcpi_list_append(&peer->outlets, &outlet->in_peer);
    *ret = outlet;
    return 0;
}

struct mcpi_outlet *
mcpi_outlet_ref(struct mcpi_outlet *outlet)
{
    outlet->refs++;
    return outlet;
}

void
mcpi_outlet_unref(struct mcpi_outlet *outlet)
{
    if (!outlet || --outlet->refs > 0)
        return;
    mcpi_list_remove(&outlet->in_peer);
    mcpi_account_unref(outlet->account);
    mcpi_free(outlet->engine->mem, outlet);
}

void
mcpi_outlet_set_account(struct mcpi_outlet *outlet, struct mcpi_account *account)
{
    mcpi_account_unref(outlet->account);
    outlet->account = mcpi_account_ref(account);
    if (outlet->peer && outlet != outlet->peer->outlet &&
        (outlet->peer->traits & MCPI_PRIVATE_IDS))
        outlet->peer->is_charged = outlet->peer->is_charged || account;
}

void *
mcpi_outlet_link(const struct mcpi_outlet *outlet)
{
    return outlet->link_user;
}

struct mcpi_peer *
mcpi_outlet_peer(const struct mcpi_outlet *outlet)
{
    return outlet->peer;
}

void
mcpi_out_init(struct mcpi_out *out, const struct mcpi_out_ops *ops)
{
    mcpi_list_init(&out->node);
    out->ops = ops;
    out->outlet = NULL;
    out->state = MCPI_OUT_IDLE;
    out->code = 0;
}

/* Until a client has agreed with its server only negotiation passes, also while it
 * closes. */
static struct mcpi_out *
outlet_next(const struct mcpi_outlet *outlet)
{
    struct mcpi_list *node = mcpi_list_first(&outlet->first);

    if (!node && outlet->peer && outlet->peer->agreed)
        node = mcpi_list_first(&outlet->queue);
    return node ? MCPI_CONTAINER(node, struct mcpi_out, node) : NULL;
}

bool
mcpi_outlet_is_empty(const struct mcpi_outlet *outlet)
{
    return outlet_next(outlet) == NULL;
}

static void
outlet_count(struct mcpi_outlet *outlet, const struct mcpi_out *out, bool in)
{
    size_t answers = out->ops->kind == MCPI_OUT_ANSWER;
    size_t weight = out->ops->droppable ? out->weight : 0;

    outlet->answers = in ? outlet->answers + answers : outlet->answers - answers;
    outlet->weight = in ? outlet->weight + weight : outlet->weight - weight;
}

void
mcpi_outlet_fail(struct mcpi_outlet *outlet, int status, const char *why)
{
    struct mcpi_peer *peer = outlet->peer;

    if (!peer || outlet->failed)
        return;
    if (outlet == peer->outlet || !peer->ops->fail) {
        mcpi_peer_fail(peer, status, why);
        return;
    }
    outlet->failed = true;
    MCPI_WARN_ONCE(peer, MCPI_WARN_FAILED, "giving a response up: %s", why);
    peer->ops->fail(outlet, status);
}

/* Does it pass a peer that is negotiating? Negotiation does, and what belongs to a
 * request of the peer's: a legacy server may ping before it has answered initialize. */
static bool
out_passes(const struct mcpi_out *out, const struct mcpi_peer *peer)
{
    return out->ops->first || (out->ops->answers && !peer->agreed);
}

bool
mcpi_outlet_push(struct mcpi_outlet *outlet, struct mcpi_out *out)
{
    const struct mcpi_limits *limits = &outlet->engine->limits;

    if (!outlet->peer)
        return false;
    if (out->ops->droppable && outlet->weight + out->weight > limits->queued_bytes) {
        outlet->engine->counts.dropped++;
        return false;
    }
    mcpi_list_append(out_passes(out, outlet->peer) ? &outlet->first : &outlet->queue,
                     &out->node);
    out->outlet = mcpi_outlet_ref(outlet);
    out->state = MCPI_OUT_QUEUED;
    outlet_count(outlet, out, true);
    if (outlet->answers > limits->queued_answers)
        mcpi_outlet_fail(outlet, MCP_E_LIMIT, "the peer does not read its answers");
    if (!mcpi_outlet_is_empty(outlet))
        outlet->peer->ops->wake(outlet);
    return true;
}

static void
out_unlink(struct mcpi_out *out)
{
    mcpi_list_remove(&out->node);
    outlet_count(out->outlet, out, false);
}

/* The one ending of an out. It may be gone afterwards. */
static void
out_end(struct mcpi_out *out, int status)
{
    struct mcpi_outlet *outlet = out->outlet;

    out->outlet = NULL;
    out->state = MCPI_OUT_IDLE;
    out->ops->done(out, status);
    mcpi_outlet_unref(outlet);
}

bool
mcpi_out_withdraw(struct mcpi_out *out)
{
    if (out->state != MCPI_OUT_QUEUED)
        return false;
    out_unlink(out);
    out_end(out, MCP_E_CANCELED);
    return true;
}

void
mcpi_outlet_give_back(struct mcpi_outlet *outlet, struct mcpi_out *out)
{
    mcpi_list_prepend(&outlet->queue, &out->node);
    out->outlet = mcpi_outlet_ref(outlet);
    out->state = MCPI_OUT_QUEUED;
    outlet_count(outlet, out, true);
    if (!mcpi_outlet_is_empty(outlet))
        outlet->peer->ops->wake(outlet);
}

/* Whoever hears of one may withdraw others: they are put aside first. */
void
mcpi_outlet_forget(struct mcpi_outlet *outlet)
{
    struct mcpi_list *node, *next;
    struct mcpi_list moot;
    struct mcpi_out *out;

    mcpi_list_init(&moot);
    for (node = outlet->queue.next; node != &outlet->queue; node = next) {
        next = node->next;
        out = MCPI_CONTAINER(node, struct mcpi_out, node);
        if (!out->ops->answers && !out->ops->takes_back)
            continue;
        mcpi_list_remove(node);
        mcpi_list_append(&moot, node);
    }
    while ((node = mcpi_list_first(&moot)) != NULL) {
        out = MCPI_CONTAINER(node, struct mcpi_out, node);
        out_unlink(out);
        out_end(out, MCP_E_CLOSED);
    }
}

static void
outlet_trace(const struct mcpi_outlet *outlet, const char *text, size_t len)
{
    const struct mcpi_engine *e = outlet->engine;

    if (e->trace)
        e->trace(e->trace_user, outlet->peer, text, len);
}

struct mcpi_out *
mcpi_outlet_take(struct mcpi_outlet *outlet, struct mcpi_buf *buf, int64_t now)
{
    struct mcpi_out *out;
    size_t mark = buf->len;
    int r;

    mcpi_engine_at(outlet->engine, now);
    for (out = outlet_next(outlet); out; out = outlet_next(outlet)) {
        out_unlink(out);
        out->state = MCPI_OUT_TAKEN;
        r = out->ops->take(out, buf);
        if (r == 0) {
            outlet_trace(outlet, buf->data + mark, buf->len - mark);
            return out;
        }
        mcpi_buf_rewind(buf, mark);
        out_end(out, r < 0 ? r : 0);
    }
    return NULL;
}

void
mcpi_outlet_kill(struct mcpi_outlet *outlet)
{
    struct mcpi_list *node;
    struct mcpi_out *out;

    outlet->peer = NULL;
    mcpi_list_remove(&outlet->in_peer);
    mcpi_outlet_ref(outlet);
    for (;;) {
        node = mcpi_list_first(&outlet->first);
        if (!node)
            node = mcpi_list_first(&outlet->queue);
        if (!node)
            break;
        out = MCPI_CONTAINER(node, struct mcpi_out, node);
        out_unlink(out);
        out_end(out, MCP_E_CLOSED);
    }
    mcpi_outlet_unref(outlet);
}

void
mcpi_outlet_gone(struct mcpi_outlet *outlet, int64_t now)
{
    mcpi_engine_at(outlet->engine, now);
    if (outlet->exchange)
        mcpi_exchange_gone(outlet->exchange);
}

enum mcpi_out_kind
mcpi_out_get_kind(const struct mcpi_out *out)
{
    return out->ops->kind;
}

int
mcpi_out_code(const struct mcpi_out *out)
{
    return out->ops->kind == MCPI_OUT_ANSWER ? out->code : 0;
}

void
mcpi_out_done(struct mcpi_out *out, int status, int64_t now)
{
    mcpi_engine_at(out->outlet->engine, now);
    out_end(out, status);
}
