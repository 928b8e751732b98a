/*
 * listener.h - a modern client listens: one subscriptions/listen request, served
 *
 * Acknowledged first, then the events it asked for, each tagged with the request's id,
 * until either side ends it. What is due to it is a bounded set (due.h), and when that is
 * full the listener is told to end (H19).
 */
#ifndef MCPI_CORE_LISTENER_H
#define MCPI_CORE_LISTENER_H

#include "core/due.h"
#include "core/exchange.h"

struct mcpi_event {
    enum mcpi_topic topic;
    const char *uri; /* UPDATED: of which; terminated. NULL: of all that are named,
                        because nobody knows which */
};

struct mcpi_listener;

struct mcpi_listener_options {
    unsigned offered; /* topics that the server has; others are not acknowledged */
    /* It cannot keep up, or there is no memory: close it, with an error. Called once,
     * from a timer, never from inside a function of this file. Nothing more is pushed
     * meanwhile. */
    void (*slow)(void *user);
    void *user;
};

/* Serve a subscriptions/listen request whose run has begun: the acknowledgment is
 * pushed before this returns, and no event comes before it (H15). The run has no limit
 * any more. A reference to x is kept until the last event has left. MCP_E_PROTO with
 * why: a filter that is none; MCP_E_LIMIT with why: no slot is free (H20), or it names
 * too many resources; MCP_E_NOMEM. */
int mcpi_listener_open(struct mcpi_exchange *x, const struct mcpi_listener_options *opt,
                       struct mcpi_listener **ret, struct mcpi_refusal *why);

/* Free its slot; nothing more is pushed (H16). last: it ends gracefully: all that is
 * due is pushed first, and *last becomes the result that carries the subscription id
 * (H17); NULL: it does not. Cannot fail (H21). listener NULL: no-op. */
void mcpi_listener_close(struct mcpi_listener *listener, struct mcpi_result *last);

/* Tell all listeners of an engine that asked for it; see mcpi_engine_publish. */
void mcpi_listeners_tell(struct mcpi_engine *engine, const struct mcpi_event *event);

#endif
