/*
 * peer.h - one counterpart: its id space in both directions and what was agreed with it
 *
 *   client:  FRESH -> NEGOTIATING -> READY -> CLOSING -> CLOSED
 *                                READY -> NEGOTIATING: once more (core/renew.h)
 *   server:  READY -> LEAVING or DRAINING -> CLOSING -> CLOSED
 *
 * NEGOTIATING: nothing but that passes; the rest waits. LEAVING: we stop, and running
 * requests may still finish; no other is taken. DRAINING: the input has ended and
 * running requests may still finish (F28). CLOSING: the link flushes. CLOSED: the link
 * is gone; every waiter has been told.
 */
#ifndef MCPI_CORE_PEER_H
#define MCPI_CORE_PEER_H

#include "base/ring.h"
#include "core/dialect.h"
#include "core/due.h"
#include "core/outlet.h"

enum mcpi_peer_state {
    MCPI_PEER_FRESH,
    MCPI_PEER_NEGOTIATING,
    MCPI_PEER_READY,
    MCPI_PEER_LEAVING,
    MCPI_PEER_DRAINING,
    MCPI_PEER_CLOSING,
    MCPI_PEER_CLOSED
};

struct mcpi_peer {
    struct mcpi_list in_engine;
    struct mcpi_engine *engine;
    const struct mcpi_link_ops *ops;
    void *link_user;
    unsigned traits;
    enum mcpi_peer_state state;
    struct mcpi_outlet *outlet;
    struct mcpi_map pending;   /* legs, by folded id */
    struct mcpi_map in_flight; /* exchanges, by folded id */
    struct mcpi_list outlets;  /* those that are alive, its own among them */
    struct mcpi_list open;     /* exchanges */
    struct mcpi_list ended;    /* exchanges that somebody still holds */
    struct mcpi_list waiting;  /* calls between two legs; core/call.c */
    size_t open_count;         /* of those open */
    size_t exchange_count;     /* open, or with a run alive */
    size_t request_bytes;      /* of requests that are not freed */
    size_t answer_bytes;       /* of answers that wait, refusals among them */
    size_t refusal_bytes;      /* of refusals that wait and are charged to no account */
    bool is_charged; /* what is held of it is its clients', who each have an account */
    struct mcpi_early_cancels *early; /* NULL: messages come in order */
    struct mcpi_ring buried; /* ids of ours that were abandoned: "late" (B21) */
    int64_t next_id;
    struct mcpi_timer timer; /* LEAVING, DRAINING, CLOSING: the bound */
    const char *spoken;      /* version last sent; "" none. In wire order */
    unsigned warned;         /* mcpi_warning: the log has it */
    int failing;             /* given up, from the next turn on, for this reason */

    /* What was agreed. Client: with the server; server: by a legacy initialize. */
    const struct mcpi_dialect *dialect;
    const char *version;
    mcp_doc *hello; /* keeps info and capabilities */
    const mcp_json *info, *capabilities;
    bool initialized; /* server: a legacy client has introduced itself */
    bool agreed;      /* other messages than negotiation may pass */
    bool negotiated;  /* client: the router has heard how it went */
    bool answered;    /* client: a request was, since it is READY */
    unsigned barren;  /* client: sessions lost in a row in which none was */
    int64_t lost_at;  /* the last one */
    /* Client: how the link failed the negotiation, while the router hears of that and
     * the calls that waited for it end; else NULL. Borrowed from its leg. */
    const struct mcpi_fault *fault;
    const char *log_level;      /* legacy: set for the session; constant */
    struct mcpi_map subscribed; /* legacy: resources; core/subscribe.c */
    unsigned promised;   /* legacy: lists of whose changes it is told, mcpi_topic; all,
                          unless whoever knows what was negotiated says less */
    struct mcpi_due due; /* legacy: what it is still to be told */
    struct mcpi_timer due_timer; /* there was no memory for that: try again */
};

/* What a peer can make us say again and again is a warning once, and then a remark. */
enum mcpi_warning {
    MCPI_WARN_DIRECTION = 1, /* J4 */
    MCPI_WARN_NO_ID = 2,
    MCPI_WARN_ASKED = 4,
    MCPI_WARN_INVALID = 8,
    MCPI_WARN_GARBLED = 16,
    MCPI_WARN_FAILED = 32,
    MCPI_WARN_SHARE = 64,
    MCPI_WARN_REPAIRED = 128
};

#define MCPI_WARN_ONCE(peer, bit, ...)                                    \
    do {                                                                  \
        MCPI_LOG(&(peer)->engine->log,                                    \
                 (peer)->warned &(bit) ? MCP_LOG_DEBUG : MCP_LOG_WARNING, \
                 __VA_ARGS__);                                            \
        (peer)->warned |= (bit);                                          \
    } while (0)

/* One setter; the log shows every transition. */
void mcpi_peer_become(struct mcpi_peer *peer, enum mcpi_peer_state to);

bool mcpi_peer_can_send(
    const struct mcpi_peer *peer); /* a new leg or note may be queued */

/* Send a notification. params: text of a JSON object, or NULL. One that is a cancel
 * frame for a pending leg ends that leg instead, and the leg sends its own (B34).
 * Dropped quietly once closed (B22). */
int mcpi_peer_notify(struct mcpi_peer *peer, const char *method, const char *params,
                     size_t params_len, int64_t now);

/* Close from our side: no more input, calls end CLOSED, running requests are
 * answered, the link flushes and closes, all within times.stop. Idempotent. */
void mcpi_peer_close(struct mcpi_peer *peer, int64_t now);

/* An answer of that size waits now, in that outlet. A peer that does not read its
 * answers must not fill memory with them. What is charged is taken off when it is
 * freed. */
void mcpi_peer_charge(struct mcpi_peer *peer, struct mcpi_outlet *outlet, size_t bytes);

/* May one more request of this peer's be served? MCP_E_LIMIT with why: it has too much
 * in flight. */
int mcpi_peer_check_room(const struct mcpi_peer *peer, struct mcpi_refusal *why);

/* A request of its peer's keeps that many bytes more, which the peer has answered: they
 * count as its own until it is freed. MCP_E_LIMIT: the peer has too much in flight;
 * MCP_E_CLOSED: it is gone. */
int mcpi_peer_keep(struct mcpi_exchange *x, size_t bytes);

/* Whoever asked is not there any more: end all that is open, without a word. */
void mcpi_peer_drop_exchanges(struct mcpi_peer *peer, const char *reason);

/* An exchange ended: a draining peer may be done. */
void mcpi_peer_exchange_ended(struct mcpi_peer *peer);

#endif
