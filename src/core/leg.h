/*
 * leg.h - one JSON-RPC request we sent: one id, one ending
 *
 *   QUEUED -> ISSUED -> ENDED      QUEUED -> ENDED      ISSUED -> QUEUED
 *
 * QUEUED: registered in the table, with its clock running, and waiting in an outlet
 * (A14). ISSUED: a link has taken it; its dialect is fixed (E4). ENDED: once, by
 * mcpi_leg_end. Back to QUEUED, once: the peer has refused it without looking at it
 * (core/renew.h). Request, frame and table node are members, so ending allocates
 * nothing. Counted, loop thread only.
 */
#ifndef MCPI_CORE_LEG_H
#define MCPI_CORE_LEG_H

#include "core/dialect.h"
#include "core/outlet.h"

enum mcpi_leg_state { MCPI_LEG_QUEUED, MCPI_LEG_ISSUED, MCPI_LEG_ENDED };

struct mcpi_progress {
    double progress;
    double total; /* NaN: unknown */
    const char *message;
};

/* Whoever sent it: a call, a subscription, or negotiation. */
struct mcpi_leg_owner {
    /* It ended: 0 with a result, MCP_E_PEER with an error, MCP_E_PROTO with an
     * answer that is none, each in answer, which is borrowed for the call; or
     * another status and answer NULL. */
    void (*ended)(void *user, struct mcpi_leg *leg, int status,
                  const struct mcpi_rpc *answer);
    void (*progress)(void *user, struct mcpi_leg *leg, const struct mcpi_progress *p);
    /* Its stream can be taken up again from here (legacy; B27): token is borrowed.
     * NULL: nobody wants to know. */
    void (*resumable)(void *user, struct mcpi_leg *leg, const char *token);
};

struct mcpi_leg_options {
    const struct mcpi_id *id; /* NULL: minted */
    const char *method;       /* terminated; copied */
    const char *params; /* text of a JSON object, without _meta; copied. NULL: none */
    size_t params_len;
    const char
        *meta; /* text of a JSON object of the caller's own; copied. NULL: none */
    size_t meta_len;
    const char *log_level;    /* asked for in the modern era: a constant; NULL: none */
    const char *resume_token; /* copied; NULL: none. Not with a parent (B28) */
    bool resumable;           /* once it can be resumed, as mcpi_leg_resumable_from
                                 tells, it is as if it had a token (B27) */
    int64_t timeout_us;       /* from now; MCPI_NEVER: none */
    bool reset_on_progress;
    bool want_progress;                 /* attach a token */
    bool negotiation;                   /* ours: passes while negotiating */
    const struct mcpi_dialect *dialect; /* NULL: the peer's when it is issued */
    bool detach;                        /* abandoning it sends no signal (B26) */
    struct mcpi_exchange *parent;
    const struct mcpi_leg_owner *owner;
    void *owner_user;
};

struct mcpi_leg {
    /* What its end touches stands together: with many in flight it is cold by then. */
    struct mcpi_map_node by_id;
    struct mcpi_id key; /* folded */
    unsigned refs;
    enum mcpi_leg_state state;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer; /* NULL once ended */
    struct mcpi_outlet *outlet;
    const struct mcpi_leg_owner *owner;
    void *owner_user;
    struct mcpi_list in_parent;
    struct mcpi_timer idle;
    int64_t timeout_us;
    bool reset_on_progress, want_progress, detach;
    bool resumable, want_resumable; /* it can be; it may become so (B27) */
    bool moot;               /* nobody is there to be told of its end: no signal */
    bool again;              /* it was given back, which may be once */
    struct mcpi_fault fault; /* how the link failed it; status 0: it did not */
    void *link_user;         /* the link's own, or NULL */
    const struct mcpi_dialect *dialect; /* fixed when issued */
    struct mcpi_out request, frame;
    struct mcpi_id id; /* verbatim; text is in this block */
    const char *method, *params, *meta, *resume_token; /* in this block */
    size_t method_len, params_len, meta_len;
    const char *log_level;                       /* a constant, or NULL */
    void (*on_signaled)(void *user, int status); /* once, when the frame has ended */
    void *signaled_user;
    int signaled; /* the frame, if there was one: 0, or MCP_E_CLOSED: not told */
    char reason[MCPI_REASON_MAX + 1];
};

/* Register and queue. MCP_E_ID_IN_USE, MCP_E_INVAL (an id that is none, too long, or
 * not UTF-8), MCP_E_CLOSED, MCP_E_NO_CHANNEL (nobody
 * to ask), MCP_E_CANCELED (the parent was told to stop), MCP_E_NOMEM: nothing is left
 * behind (A17). The leg is borrowed until its owner hears that it ended. */
int mcpi_leg_open(struct mcpi_peer *peer, const struct mcpi_leg_options *opt,
                  struct mcpi_leg **ret_leg);

/* The one ending. False: someone was faster. answer: what the peer said, or NULL.
 * reason goes into the frame, if one is sent. */
bool mcpi_leg_end(struct mcpi_leg *leg, int status, const struct mcpi_rpc *answer,
                  const char *reason);

/* How the link failed it (mcpi_leg_fail), valid as long as the leg; why is clean, never
 * NULL, and cut to MCPI_REASON_MAX bytes. NULL: it did not. */
const struct mcpi_fault *mcpi_leg_fault(const struct mcpi_leg *leg);

/* The peer knows nothing of it: let it wait again, in front of all others, with its
 * clock running on; to be sent once more, in the dialect of that moment. False: it is
 * as it was, because that has happened before, or it is not issued, or is still being
 * written, or takes an earlier one up again, of which nobody knows any more. */
bool mcpi_leg_give_back(struct mcpi_leg *leg);

/* Found by what a peer spelled; only legs the peer can know, that is issued ones. */
struct mcpi_leg *mcpi_leg_find(const struct mcpi_peer *peer, const struct mcpi_id *id);

/* Also those still waiting: for our own use. */
struct mcpi_leg *mcpi_leg_find_any(const struct mcpi_peer *peer,
                                   const struct mcpi_id *id);

/* Stop its clock: from now on only the peer or we end it (H2). */
void mcpi_leg_wait_for_ever(struct mcpi_leg *leg);

/* Progress came for it. */
void mcpi_leg_progress(struct mcpi_leg *leg, const struct mcpi_progress *progress);

#endif
