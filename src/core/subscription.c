/*
 * subscription.c - our own subscriptions/listen: opened, fed, ended once
 *
 * A subscription is a leg that lasts: what routes its events is the entry of its leg in
 * the peer's table, which is there before the request can be sent (H1) and gone when
 * the leg has ended, whatever ended it. So an event finds its own subscription or none
 * (H14).
 */
#include "core/subscription.h"

#include <stdio.h>

#include "base/mem.h"
#include "core/peer.h"

struct mcpi_subscription {
    unsigned refs; /* the user's, its leg's, and those on the stack */
    struct mcpi_engine *engine;
    struct mcpi_leg *leg; /* counted; kept after its end, for its id */
    const struct mcpi_subscription_ops *ops; /* NULL: nobody to tell any more (H12) */
    void *user;
    bool opened;
    enum mcpi_subscription_end how;
};

static void
subscription_unref(struct mcpi_subscription *s)
{
    if (--s->refs > 0)
        return;
    if (s->leg)
        mcpi_leg_unref(s->leg);
    mcpi_free(s->engine->mem, s);
}

/* Only the wait for this has a clock (H2). */
static void
subscription_become_open(struct mcpi_subscription *s, const mcp_json *filter)
{
    s->opened = true;
    mcpi_leg_wait_for_ever(s->leg);
    if (s->ops)
        s->ops->opened(s->user, filter);
}

/* A result that asks for something is none that ends a subscription. */
static bool
is_graceful(int status, const struct mcpi_rpc *answer)
{
    const mcp_json *type = answer ? mcp_json_get(answer->result, "resultType") : NULL;

    return status == 0 && !mcp_json_is_string(type, "input_required");
}

/* The one ending: the leg is over, by the peer, by a clock or by us (H6). */
static void
subscription_leg_ended(void *user, struct mcpi_leg *leg, int status,
                       const struct mcpi_rpc *answer)
{
    struct mcpi_subscription *s = user;
    bool graceful = is_graceful(status, answer);

    (void)leg;
    if (s->how == MCPI_SUBSCRIPTION_OPEN)
        s->how = graceful ? MCPI_SUBSCRIPTION_GRACEFUL : MCPI_SUBSCRIPTION_LOST;
    if (graceful && !s->opened)
        subscription_become_open(s, NULL); /* H8 */
    if (status == 0 && !graceful)
        status = MCP_E_PROTO;
    if (s->ops)
        s->ops->ended(s->user, s->how, status, answer);
    subscription_unref(s); /* the leg's */
}

static const struct mcpi_leg_owner subscription_owner = {
    .ended = subscription_leg_ended};

static struct mcpi_subscription *
subscription_of(const struct mcpi_leg *leg)
{
    return leg && leg->owner == &subscription_owner ? leg->owner_user : NULL;
}

/* ---- opening --------------------------------------------------------------- */

#define MINTED_SIZE 32 /* "listen-" and any int64 */

/* Text, so that it meets no minted id of a call (H1). */
static struct mcpi_id
mint_id(struct mcpi_peer *peer, char into[MINTED_SIZE])
{
    struct mcpi_id id;
    int len;

    do {
        len = snprintf(into, MINTED_SIZE, "listen-%lld", (long long)++peer->next_id);
        id = mcpi_id_string(into, (size_t)len);
    } while (mcpi_leg_find_any(peer, &id));
    return id;
}

static int
subscription_open_leg(struct mcpi_subscription *s, struct mcpi_peer *peer,
                      const struct mcpi_subscription_options *opt)
{
    struct mcpi_buf *buf = &s->engine->scratch;
    char minted[MINTED_SIZE];
    struct mcpi_id id = opt->id ? *opt->id : mint_id(peer, minted);
    struct mcpi_leg_options lo = {
        .id = &id,
        .method = mcpi_method_name(MCPI_METHOD_LISTEN),
        .meta = opt->meta,
        .meta_len = opt->meta_len,
        .timeout_us = opt->open_us != 0 ? opt->open_us : s->engine->times.request,
        .owner = &subscription_owner,
        .owner_user = s,
    };
    int r;

    mcpi_buf_clear(buf);
    MCPI_BUF_LITERAL(buf, "{\"notifications\":");
    mcpi_buf_append(buf, opt->filter, opt->filter_len);
    mcpi_buf_char(buf, '}');
    if (buf->status < 0)
        return buf->status;
    lo.params = buf->data;
    lo.params_len = buf->len;
    r = mcpi_leg_open(peer, &lo, &s->leg);
    if (r == 0)
        mcpi_leg_ref(s->leg);
    return r;
}

int
mcpi_subscription_open(struct mcpi_peer *peer,
                       const struct mcpi_subscription_options *opt, int64_t now,
                       struct mcpi_subscription **ret)
{
    struct mcpi_engine *e = peer->engine;
    struct mcpi_subscription *s;
    int r;

    mcpi_engine_at(e, now);
    if (e->role != MCPI_CLIENT || !peer->agreed || !peer->dialect->modern)
        return MCP_E_NO_CHANNEL;
    s = mcpi_alloc_zero(e->mem, sizeof(*s));
    if (!s)
        return MCP_E_NOMEM;
    s->refs = 2;
    s->engine = e;
    s->ops = opt->ops;
    s->user = opt->user;
    r = subscription_open_leg(s, peer, opt);
    if (r < 0) {
        mcpi_free(e->mem, s);
        return r;
    }
    *ret = s;
    return 0;
}

const struct mcpi_id *
mcpi_subscription_id(const struct mcpi_subscription *s)
{
    return &s->leg->id;
}

enum mcpi_subscription_end
mcpi_subscription_how(const struct mcpi_subscription *s)
{
    return s->how;
}

const struct mcpi_fault *
mcpi_subscription_fault(const struct mcpi_subscription *s)
{
    return mcpi_leg_fault(s->leg);
}

void
mcpi_subscription_close(struct mcpi_subscription *s, int64_t now)
{
    if (!s)
        return;
    mcpi_engine_at(s->engine, now);
    s->ops = NULL;
    if (s->how == MCPI_SUBSCRIPTION_OPEN)
        s->how = MCPI_SUBSCRIPTION_LOCAL;
    mcpi_leg_end(s->leg, MCP_E_CANCELED, NULL, "subscription closed");
    subscription_unref(s);
}

/* ---- what comes ------------------------------------------------------------ */

bool
mcpi_subscription_receive(struct mcpi_peer *peer, const struct mcpi_id *id,
                          const struct mcpi_rpc *note)
{
    struct mcpi_subscription *s = subscription_of(mcpi_leg_find(peer, id));
    bool ack = note->method == MCPI_METHOD_NOTE_ACKNOWLEDGED;
    const mcp_json *filter;
    char shown[MCPI_ID_SHOWN];

    if (!s)
        return false;
    s->refs++;
    if (ack && !s->opened) {
        filter = mcp_json_get(note->params, "notifications");
        if (mcp_json_get_type(filter) != MCP_JSON_OBJECT)
            filter = NULL;
        subscription_become_open(s, filter);
    } else if (!ack && s->opened) {
        s->ops->event(s->user, note);
    } else {
        MCPI_LOG(&s->engine->log, MCP_LOG_DEBUG, "%s subscription %s dropped",
                 ack ? "second acknowledgment of" : "event before the start of",
                 mcpi_id_show(id, shown));
    }
    subscription_unref(s);
    return true;
}

bool
mcpi_subscription_revoked(struct mcpi_leg *leg)
{
    if (!subscription_of(leg))
        return false;
    leg->detach = !leg->peer->ops->hangup; /* on a pipe there is nothing to say */
    mcpi_leg_end(leg, MCP_E_CANCELED, NULL, "taken back by the server");
    return true;
}
