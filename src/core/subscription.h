/*
 * subscription.h - our own subscriptions/listen: opened, fed, ended once
 *
 *   OPENING -> OPEN -> ENDED(local | graceful | lost)
 *
 * Client side, modern era. The request has an id of the library's own, text, and its
 * route exists before it is sent (H1). Only the wait for the acknowledgment has a clock
 * (H2). The first reason to end it wins (H6). Nothing is replayed and nothing is
 * reopened by itself (H10).
 */
#ifndef MCPI_CORE_SUBSCRIPTION_H
#define MCPI_CORE_SUBSCRIPTION_H

#include "core/leg.h"

struct mcpi_subscription;

enum mcpi_subscription_end {
    MCPI_SUBSCRIPTION_OPEN = 0,
    MCPI_SUBSCRIPTION_LOCAL,    /* we closed it */
    MCPI_SUBSCRIPTION_GRACEFUL, /* the server ended it, with a result */
    MCPI_SUBSCRIPTION_LOST      /* anything else */
};

struct mcpi_subscription_ops {
    /* Acknowledged: filter is the object of what the server agreed to, borrowed. A
     * result before any acknowledgment opens it with an empty filter (NULL) and ends it
     * (H8). */
    void (*opened)(void *user, const mcp_json *filter);
    /* An event, tagged with our id; params is borrowed from note. */
    void (*event)(void *user, const struct mcpi_rpc *note);
    /* It ended, not by mcpi_subscription_close; before `opened` that means that it
     * could not be opened. status: 0 graceful; MCP_E_PEER with the error in answer;
     * MCP_E_TIMEOUT no acknowledgment; MCP_E_CLOSED; MCP_E_CANCELED the server took it
     * back (H9). Still to be freed by mcpi_subscription_close. */
    void (*ended)(void *user, enum mcpi_subscription_end how, int status,
                  const struct mcpi_rpc *answer);
};

struct mcpi_subscription_options {
    const struct mcpi_id *id; /* NULL: "listen-N", N minted */
    const char *filter;       /* text of a JSON object: params.notifications */
    size_t filter_len;
    const char *meta; /* the caller's own _meta members, or NULL */
    size_t meta_len;
    int64_t open_us; /* longest wait for the acknowledgment; 0: times.request */
    const struct mcpi_subscription_ops *ops;
    void *user;
};

/* Statuses of mcpi_leg_open. The peer is modern and agreed (else MCP_E_NO_CHANNEL). */
int mcpi_subscription_open(struct mcpi_peer *peer,
                           const struct mcpi_subscription_options *opt, int64_t now,
                           struct mcpi_subscription **ret);

const struct mcpi_id *mcpi_subscription_id(const struct mcpi_subscription *s);
enum mcpi_subscription_end mcpi_subscription_how(const struct mcpi_subscription *s);

/* As mcpi_call_fault, from `ended` on. */
const struct mcpi_fault *mcpi_subscription_fault(const struct mcpi_subscription *s);

/* End it if it is open, in the spelling of its link (H3, H4), and free it: no callback
 * runs any more (H12). NULL ok. */
void mcpi_subscription_close(struct mcpi_subscription *s, int64_t now);

/* ---- from receive.c --------------------------------------------------------- */

/* A notification that carries a subscription id: true if it is one of ours and was
 * dealt with; such notifications reach nobody else (H14). */
bool mcpi_subscription_receive(struct mcpi_peer *peer, const struct mcpi_id *id,
                               const struct mcpi_rpc *note);

/* A cancel frame of the server's names this leg: true if it is a subscription, which
 * is lost now (H9). */
bool mcpi_subscription_revoked(struct mcpi_leg *leg);

#endif
