/*
 * mcp/subscription.h - a client hears of changes: an event source that can be waited on
 *
 *     mcp_subscribe wish = MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED);
 *     r = mcp_client_subscribe(client, &wish, &s, &err);
 *     while (mcp_subscription_next(s, MCP_TIMEOUT_NONE, &event) == 0)
 *         printf("%d\n", event.change);
 *     mcp_subscription_free(s);
 *
 * From 2026-07-28 on it is a subscriptions/listen request of its own; in older versions
 * it is fed by resources/subscribe and by what a server says unasked. Events that come
 * faster than they are read are kept once each. A subscription counts as a call in
 * mcp_client_count, and so does each resources/subscribe and resources/unsubscribe. It
 * stays valid when its client is freed: it is lost then.
 */
#ifndef MCP_SUBSCRIPTION_H
#define MCP_SUBSCRIPTION_H

#include <mcp/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_subscription mcp_subscription;

/* How it ended; the first reason counts. */
enum mcp_subscription_end {
    MCP_SUBSCRIPTION_OPEN = 0,
    MCP_SUBSCRIPTION_GRACEFUL, /* the server has ended it, in order */
    MCP_SUBSCRIPTION_LOST      /* connection, backlog, or the server's fault: nothing is
                                  replayed, subscribe again */
};

typedef struct mcp_notice {
    enum mcp_change change;
    const char *uri; /* MCP_RESOURCE_UPDATED; valid until the next one is taken */
} mcp_notice;

typedef struct mcp_subscribe {
    size_t size;
    unsigned lists;          /* a set of mcp_change, without MCP_RESOURCE_UPDATED */
    const char *const *uris; /* resources to watch; ends with NULL; NULL: none */
    int64_t timeout_ms;      /* until the server has agreed; 0: the client's */
    size_t backlog;          /* events that may wait, each counted once: 1024. Then the
                                subscription is lost (H13) */
    /* Ends it as mcp_subscription_free does, but for the handle: what waits is dropped,
     * it is lost, and its status is MCP_E_CANCELED, or MCP_E_TOTAL_TIMEOUT. NULL: none
     * */
    mcp_scope *scope;
    /* Instead of mcp_subscription_next: called for each event, one at a time, in order,
     * and once at the end (how, with the status if it is lost). Each may be NULL. */
    void (*on_event)(mcp_subscription *s, const mcp_notice *event, void *user);
    void (*on_end)(mcp_subscription *s, enum mcp_subscription_end how, int status,
                   void *user);
    void *user;
    /* Do not wait until the server has agreed: return at once. Needed on the thread of
     * a loop. on_end, or mcp_subscription_next, tells of a failure. */
    bool no_wait;
} mcp_subscribe;

#define MCP_SUBSCRIBE(...) ((mcp_subscribe){.size = sizeof(mcp_subscribe), __VA_ARGS__})

/* Open it. opt NULL: asks for nothing. A server may agree to less than is asked, or to
 * nothing. MCP_E_PEER: refused, err has the server's error (a legacy server: all of it
 * was); MCP_E_TIMEOUT, MCP_E_CLOSED, MCP_E_CANCELED (the scope, or the server took it
 * back), MCP_E_TOTAL_TIMEOUT (the scope), MCP_E_PROTO, MCP_E_STATE (would wait on a
 * loop), MCP_E_INVAL, MCP_E_LIMIT (longer than a message may be, or too many workers
 * wait), MCP_E_NOMEM: nothing is left, and no callback ran or will. [any] */
MCP_API int mcp_client_subscribe(mcp_client *client, const mcp_subscribe *opt,
                                 mcp_subscription **ret, mcp_error *err);

/* What the server has agreed to: a set of mcp_change; and is this resource watched? 0
 * and false until then. */
MCP_API unsigned mcp_subscription_lists(mcp_subscription *s);
MCP_API bool mcp_subscription_watches(mcp_subscription *s, const char *uri);

/* Take the next event, waiting for it at most timeout_ms (0: just look, on any thread;
 * MCP_TIMEOUT_NONE: for ever). 0; MCP_E_AGAIN: none yet; MCP_E_CLOSED: it has ended, in
 * whatever way, and all events were taken; MCP_E_STATE: on_event gets them, or this
 * would wait on a loop. One thread at a time. */
MCP_API int mcp_subscription_next(mcp_subscription *s, int64_t timeout_ms,
                                  mcp_notice *ret_event);

/* A descriptor that polls readable while there is an event to take, or its end to be
 * seen. It is the subscription's: do not read or close it. MCP_E_LIMIT; MCP_E_STATE:
 * on_event gets the events. */
MCP_API int mcp_subscription_fd(mcp_subscription *s, int *ret_fd);

MCP_API enum mcp_subscription_end mcp_subscription_how(mcp_subscription *s);

/* Why it was lost: a status; err, if it is not NULL, gets it in words. 0: it was not.
 * */
MCP_API int mcp_subscription_status(mcp_subscription *s, mcp_error *err);

/* End it, if it is open, and tell the server; what waits is dropped (H12). On return no
 * callback of it runs or will run, except from inside one. On the thread of a loop it
 * does not wait for one that runs on a worker. Two callbacks must not free each other's
 * subscription. NULL ok. [any] */
MCP_API void mcp_subscription_free(mcp_subscription *s);

#ifdef __cplusplus
}
#endif
#endif
