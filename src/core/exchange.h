/*
 * exchange.h - a request received, from its arrival to the end of its last run
 *
 * Two moments, because a handler may outlive the ending:
 *
 *   OPEN -> ENDED    once, by mcpi_exchange_end, whatever the cause. It leaves the
 *                    table in the same step, so the id may be used again; from then on
 *                    only its last word and the frames of its nested legs are sent.
 *        -> SETTLED  once: ended, and no run of a handler is alive any more.
 *
 *   ending     by                                   last word     handler told
 *   ANSWERED   mcpi_exchange_finish                 the answer    -
 *   CANCELED   frame, disconnect where it counts    none          yes
 *   LIMITED    run limit (F34)                      an error      yes
 *   CLOSED     our own stop (F29)                   an error      yes
 *   DROPPED    link lost, EOF after the drain       none          yes
 *
 * Counted, loop thread only. The table and the live run own one reference together;
 * whoever keeps a pointer longer takes its own.
 */
#ifndef MCPI_CORE_EXCHANGE_H
#define MCPI_CORE_EXCHANGE_H

#include "core/dialect.h"
#include "core/outlet.h"

enum mcpi_ending {
    MCPI_OPEN = 0,
    MCPI_ANSWERED,
    MCPI_CANCELED,
    MCPI_LIMITED,
    MCPI_CLOSED,
    MCPI_DROPPED
};

/* Who serves an exchange. */
struct mcpi_served_ops {
    /* Start the run. It ends with mcpi_exchange_finish, now or later. */
    void (*begin)(struct mcpi_exchange *x);
    /* It ended otherwise than by finish while the run is alive. Two steps, so that
     * whoever is woken by the end of what it asked the peer sees why: `flag` comes
     * before nested legs end and only notes it down; `ended` comes after the last
     * word and tells the handler. The run still ends with finish. Each may be NULL. */
    void (*flag)(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason);
    void (*ended)(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason);
    /* It is about to be answered by its finish: with a result (0) or an error. May be
     * NULL. */
    void (*answered)(struct mcpi_exchange *x, int code);
    /* Our own stop is about to end it (F29): make last what it is to be answered with,
     * and push what must precede that. NULL: it is answered with an error. */
    void (*closing)(struct mcpi_exchange *x, struct mcpi_result *last);
};

/* A request without a wire: a question that came inside of an answer, served like any
 * other. */
struct mcpi_question {
    mcp_doc *doc;           /* params is in it; a reference is taken */
    const char *method;     /* terminated; in doc, or constant */
    const mcp_json *params; /* an object, or NULL */
    size_t bytes;           /* of doc, its share: counts towards the limit */
};

/* How a local exchange ended: with this answer, which is borrowed; NULL: without one,
 * because it was canceled or its peer is gone. Once. */
typedef void mcpi_local_fn(void *user, struct mcpi_exchange *x,
                           const struct mcpi_result *answer);

struct mcpi_exchange {
    /* What its end touches stands together: with many in flight it is cold by then. */
    struct mcpi_map_node by_id;
    struct mcpi_list in_peer; /* the peer's open or ended ones */
    unsigned refs;
    enum mcpi_ending ending;
    bool running;  /* a run is alive */
    bool busy;     /* in the middle of its end */
    bool deaf;     /* ended, and a run is alive for too long */
    bool released; /* the link knows that nothing more will be said */
    bool settled;
    bool own_outlet; /* outlet is ours alone: it is settled with us */
    uint8_t reason_size;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer; /* NULL once the peer is freed */
    struct mcpi_outlet *outlet;
    mcp_doc *doc;
    mcp_doc *hello; /* legacy: what caller borrows from; may outlive the peer */
    const struct mcpi_served_ops *served;
    void *served_user;
    struct mcpi_timer timer; /* open: run limit. ended and running: deafness */
    int64_t run_us;          /* that limit */
    struct mcpi_list nested; /* legs asked on behalf of this request */
    struct mcpi_list calls;  /* likewise, calls that are between two legs */
    struct mcpi_list notes;  /* progress and logs that wait in the outlet */
    struct mcpi_out answer;
    mcpi_local_fn *on_local_end; /* local: who is told, instead of a wire; else NULL */
    void *local_user;
    struct mcpi_rpc rpc; /* borrowed from doc */
    struct mcpi_caller caller;
    double progress;                    /* last value reported; -inf before the first */
    size_t request_bytes, answer_bytes; /* as counted in the peer */
    size_t size;                        /* of this, with what stands behind it */
    bool is_shared; /* counted as a request in its client's account */
    struct mcpi_result result;
    /* Written by its end, before anybody is told: reason_size bytes. Behind it stands who
     * asked, and what else was said, as caller says. */
    char reason[];
};

/* A request has arrived and was admitted: enter it, route it, begin it (F1); or, if its
 * cancel arrived before it, end it without routing it (D25). Takes rpc->doc.
 * MCP_E_NOMEM, MCP_E_LIMIT (its client's share): nothing happened. */
int mcpi_exchange_open(struct mcpi_peer *peer, const struct mcpi_arrival *arrival,
                       const struct mcpi_rpc *rpc, const struct mcpi_caller *caller,
                       bool canceled);

struct mcpi_exchange *mcpi_exchange_find(const struct mcpi_peer *peer,
                                         const struct mcpi_id *id);

/* From route(): who serves it. */
void mcpi_exchange_serve(struct mcpi_exchange *x, const struct mcpi_served_ops *ops,
                         void *user);

/* From route(): its own run limit, counted from now; MCPI_NEVER: none (F34). */
void mcpi_exchange_limit(struct mcpi_exchange *x, int64_t run_us);

/* The one ending. False: someone was faster, and last was not used. last: what to
 * answer, moved out of, or NULL. reason may be NULL. */
bool mcpi_exchange_end(struct mcpi_exchange *x, enum mcpi_ending how,
                       struct mcpi_result *last, const char *reason);

/* The run is over, with this answer. If the exchange has ended meanwhile the answer
 * is dropped, and a failure in it is logged all the same (F8). Frees the content of
 * result. Once for each begin, or while it rests. */
void mcpi_exchange_finish(struct mcpi_exchange *x, struct mcpi_result *result,
                          int64_t now);

/* It will last, and nobody looks at its params any more, nor at who its client is: give
 * its document back. Of what was borrowed from it only the id and the method stay. For
 * want of memory all stays as it is. */
void mcpi_exchange_forget(struct mcpi_exchange *x);

/* May a run still speak for it? 0, MCP_E_CANCELED, MCP_E_STATE. */
int mcpi_exchange_may_speak(const struct mcpi_exchange *x);

/* Report progress; total NaN: unknown; message NULL: none. 0 also if the peer wants
 * none; MCP_E_CANCELED once the handler was told to stop, MCP_E_STATE after its own
 * finish; MCP_E_INVAL: not a number above the last one (I15). A full outlet drops it
 * quietly. */
int mcpi_exchange_progress(struct mcpi_exchange *x, double progress, double total,
                           const char *message, int64_t now);

/* Send a notification about this request: params is the text of a JSON object, or NULL.
 * Same statuses. */
int mcpi_exchange_notify(struct mcpi_exchange *x, const char *method,
                         const char *params, size_t params_len, int64_t now);

/* Let the client of its own wire object go and come back for the rest (2025-11-25).
 * Same statuses; MCP_E_NO_CHANNEL: it has none that could. */
int mcpi_exchange_detach(struct mcpi_exchange *x, int64_t now);

/* The run is over and the request is not: its handler waits for what the peer was
 * asked. The exchange stays open without a run, and the clock of its limit stands
 * still. If it ends meanwhile it settles at once (L10): what was asked on its behalf
 * ends with it, before its last word, and nobody else is told. So whoever will resume
 * or finish it keeps a reference. If it has ended already, this only ends the run. */
void mcpi_exchange_rest(struct mcpi_exchange *x, int64_t now);

/* Begin the next run of one that rests: served->begin is called, and the limit counts
 * anew. False: it has ended meanwhile, and nothing is begun. */
bool mcpi_exchange_resume(struct mcpi_exchange *x, int64_t now);

/* Open a local exchange on behalf of a peer's answer: routed, begun, canceled and
 * counted like one from the wire, but found by no id, and what its handler says on the
 * way (progress, notifications) goes nowhere. Its handler sees the peer as who asks, in
 * the peer's dialect. *ret_x is the caller's reference, set before anything is begun:
 * fn may run before this returns. A router that refuses, or a limit of what is in
 * flight, gives an error as the answer. MCP_E_NOMEM, MCP_E_CLOSED: nothing happened and
 * fn will not run. */
int mcpi_exchange_open_local(struct mcpi_peer *peer,
                             const struct mcpi_question *question, mcpi_local_fn *fn,
                             void *user, struct mcpi_exchange **ret_x);

/* It has ended: nothing more will be said about it, so the link is told, and what only
 * a response ends gets one (D14), also if its run is alive. Otherwise that waits for
 * the run, or for times.deaf. */
void mcpi_exchange_release(struct mcpi_exchange *x);

struct mcpi_exchange *mcpi_exchange_ref(struct mcpi_exchange *x);
void mcpi_exchange_unref(struct mcpi_exchange *x);

/* The client has left: cancels where the link's traits say so (E18, D12). */
void mcpi_exchange_gone(struct mcpi_exchange *x);

#endif
