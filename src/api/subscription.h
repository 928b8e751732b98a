/*
 * subscription.h - a subscription from the inside: a handle that any thread may hold,
 * over a loop side of one of two kinds
 *
 *   WAITING -> OPENING -> OPEN -> ENDED      any -> ENDED
 *
 * WAITING: for the client to be ready. OPENING: asked, not agreed to. A modern server is
 * asked with a subscriptions/listen of core; a legacy one for each resource, by a watch
 * that all subscriptions of the client share (subscription_legacy.c), and what it says
 * unasked is fed to those who want it.
 *
 * The block is counted: the user's handle, and the loop side, which lets go when the
 * subscription has ended and nothing of it is on its way (begin, act, a delivery). From
 * then on it is `gone`: only memory is left, whatever becomes of loop and pool.
 *
 * `lock` is a leaf and is not held during callbacks. Functions on the handle are
 * mcpi_source_*: struct mcpi_subscription is core's.
 */
#ifndef MCPI_API_SUBSCRIPTION_H
#define MCPI_API_SUBSCRIPTION_H

#include "api/client.h"
#include "api/subscription_queue.h"
#include "core/subscription.h"

struct mcpi_watch;

/* A resource that is asked for. */
struct mcpi_wish {
    struct mcpi_map_node by_uri; /* constant */
    const char *uri;             /* in the block */
    size_t len;
    struct mcp_subscription *source;
    struct mcpi_watch *watch; /* legacy, until it is refused or over; loop only */
    struct mcpi_list in_watch;
    bool waits;     /* for the watch's answer; loop only */
    bool is_agreed; /* written by the loop, under the lock of its source */
};

struct mcp_subscription {
    atomic_uint refs;
    const mcp_allocator *mem;
    struct mcp_client *client; /* counted */

    /* What was asked; constant. */
    struct mcpi_claim claim;
    char id[24];          /* its text */
    unsigned lists;       /* a set of mcp_change */
    struct mcpi_map uris; /* of wishes, which stand behind this block */
    struct mcpi_wish *wishes;
    size_t wish_count;
    int64_t timeout_us; /* until it is agreed to; MCPI_NEVER: none */
    void (*on_event)(mcp_subscription *s, const mcp_notice *event, void *user);
    void (*on_end)(mcp_subscription *s, enum mcp_subscription_end how, int status,
                   void *user);
    void *user;
    bool on_lane; /* has callbacks */
    bool no_wait;
    struct mcpi_scope *scope; /* counted; NULL: none */

    /* Loop thread only. */
    struct mcpi_list in_client;
    mcp_builder *filter;            /* modern: what is asked; until it was */
    struct mcpi_subscription *core; /* modern */
    struct mcpi_scope_hook scope_hook;
    struct mcpi_timer timer; /* until it is agreed to, if core has none */
    unsigned honored;        /* changes that are let in */
    size_t unanswered;       /* legacy: wishes, until it is open */
    mcp_error refusal;       /* legacy: the last one; status 0: none */
    bool is_over;

    struct mcpi_post begin, act; /* to the loop */
    struct mcpi_post deliver;    /* on the lane: one event, or the end */
    struct mcpi_lane lane;       /* if on_lane */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    struct mcpi_notices events;
    bool begin_out, act_out; /* posted, not yet run */
    unsigned lane_busy;
    unsigned agreed; /* lists */
    bool is_opened;
    bool is_freed; /* no callback begins any more */
    bool is_gone;
    bool is_ended; /* what follows is constant */
    enum mcp_subscription_end how;
    mcp_error error; /* if it is lost; status 0: it is not */
    bool is_told;    /* on_end has begun, or is not wanted */
    bool is_seen;    /* mcp_subscription_next has said so */
    int fd;          /* -1 until asked for */
    bool is_raised;  /* it polls readable */
};

/* A new one with what its options say, known to nobody yet (subscription_make.c).
 * [any] */
int mcpi_source_make(struct mcp_client *client, const mcp_subscribe *opt,
                     mcp_subscription **ret, mcp_error *err);
void mcpi_source_ref(mcp_subscription *s);
void mcpi_source_unref(mcp_subscription *s);

/* The wish of that URI, or NULL. [any] */
struct mcpi_wish *mcpi_source_find(const mcp_subscription *s, const char *uri,
                                   size_t len);

/* Wait until it is open or has failed. Statuses of mcp_client_subscribe. [any] */
int mcpi_source_await(mcp_subscription *s, mcp_error *err);

/* mcp_subscription_free without its checks. [any] */
void mcpi_source_free(mcp_subscription *s);

/* Under lock: the descriptor shows what there is to take. */
void mcpi_source_show(mcp_subscription *s);

/* ---- the loop side (subscription.c) -------------------------------------- */

/* Its lane, if it has callbacks. [any] */
int mcpi_source_init_lane(mcp_subscription *s);

/* Claim its id and post its beginning. *ret is set before anything can run of it.
 * MCP_E_CLOSED. [any] */
int mcpi_source_begin(mcp_subscription *s, mcp_subscription **ret, mcp_error *err);

/* The server has agreed to these lists, and to the wishes that say so. [loop] */
void mcpi_source_opened(mcp_subscription *s, unsigned lists);

/* A change that it wants to hear of; may end it, if too many wait. [loop] */
void mcpi_source_event(mcp_subscription *s, enum mcp_change change, const char *uri);

/* It is lost, for this reason, which is put into words; answer: the server's error, for
 * MCP_E_PEER. [loop] */
void mcpi_source_fail(mcp_subscription *s, int status, const struct mcpi_rpc *answer);
/* If the link has words for it, in these; fault may be NULL. */
void mcpi_source_fail_by(mcp_subscription *s, int status, const struct mcpi_rpc *answer,
                         const struct mcpi_fault *fault);
/* The words are there. */
void mcpi_source_lose(mcp_subscription *s, const mcp_error *why);
/* The server has ended it, in order. [loop] */
void mcpi_source_finish(mcp_subscription *s);

/* Call fn with each of a client's that has not ended; it may end any of them. [loop] */
void mcpi_subscriptions_each(struct mcp_client *client,
                             void (*fn)(mcp_subscription *s, void *user), void *user);

/* What the server said was wrong. */
void mcpi_source_describe(const struct mcpi_rpc *answer, mcp_error *err);

/* The client is ready: those who waited begin. [loop] */
void mcpi_subscriptions_ready(struct mcp_client *client);

/* The client closes: those whom core does not tell are lost. [loop] */
void mcpi_subscriptions_close(struct mcp_client *client);

/* ---- modern (subscription_modern.c) -------------------------------------- */

/* Ask for it; core has the clock from then on. A status: it cannot be asked. [loop] */
int mcpi_source_start_modern(mcp_subscription *s);

/* ---- legacy (subscription_legacy.c) -------------------------------------- */

/* Ask for what the server can tell. A status: nothing can be asked. [loop] */
int mcpi_source_start_legacy(mcp_subscription *s);

/* It has ended: its wishes are nobody's. [loop] */
void mcpi_source_leave(mcp_subscription *s);

/* A legacy server said that something has changed. uri: of MCP_RESOURCE_UPDATED, else
 * NULL. [loop] */
void mcpi_subscriptions_feed(struct mcp_client *client, enum mcp_change change,
                             const char *uri);

/* A legacy server has lost our session, and there is a new one: what it was asked for is
 * asked for again, and all that it tells of may have changed. [loop] */
void mcpi_subscriptions_renew(struct mcp_client *client);

#endif
