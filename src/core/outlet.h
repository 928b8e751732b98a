/*
 * outlet.h - messages that wait to be written, and the moment they are
 *
 * An out ends once: written, withdrawn or failed. Outs of legs and exchanges are
 * members of them, so pushing a cancel or an answer allocates nothing and is never
 * refused (B11).
 */
#ifndef MCPI_CORE_OUTLET_H
#define MCPI_CORE_OUTLET_H

#include "base/budget.h"
#include "base/list.h"
#include "core/port.h"

struct mcpi_out_ops {
    enum mcpi_out_kind kind;
    bool first;      /* negotiation: passes a peer that is negotiating */
    bool answers;    /* belongs to a request of the peer's: passes it too */
    bool takes_back; /* cancels a request of ours */
    bool droppable;  /* may be refused when the outlet is full */
    /* It leaves now. Encode at the end of into: 0; 1: there is nothing to say any more;
     * negative: cannot be encoded. */
    int (*take)(struct mcpi_out *out, struct mcpi_buf *into);
    /* It ended: 0 written, negative withdrawn or failed. Called once for each push. */
    void (*done)(struct mcpi_out *out, int status);
};

enum mcpi_out_state { MCPI_OUT_IDLE, MCPI_OUT_QUEUED, MCPI_OUT_TAKEN };

struct mcpi_out {
    struct mcpi_list node;
    const struct mcpi_out_ops *ops;
    struct mcpi_outlet *outlet; /* while queued or taken; counted */
    enum mcpi_out_state state;
    union {
        int code;        /* an answer: of the error that it is; 0: none */
        uint32_t weight; /* droppable: bytes it holds */
    };
};

struct mcpi_outlet {
    unsigned refs;
    bool failed;              /* the link was asked to give it up */
    struct mcpi_peer *peer;   /* NULL once killed */
    struct mcpi_list in_peer; /* until then */
    struct mcpi_engine *engine;
    void *link_user;
    struct mcpi_account *account;   /* who pays; counted. NULL: nobody counts */
    struct mcpi_list first;         /* negotiation */
    struct mcpi_list queue;         /* all else, in order */
    size_t answers;                 /* ANSWER outs waiting */
    size_t weight;                  /* bytes of droppable outs waiting */
    struct mcpi_exchange *exchange; /* whose own outlet this is, or NULL */
};

void mcpi_out_init(struct mcpi_out *out, const struct mcpi_out_ops *ops);

/* Append. False: refused because the outlet is full (droppable only) or killed; then
 * done was not called and will not be. */
bool mcpi_outlet_push(struct mcpi_outlet *outlet, struct mcpi_out *out);

/* Let one that was taken wait again, in front of all that waits. It is not killed. */
void mcpi_outlet_give_back(struct mcpi_outlet *outlet, struct mcpi_out *out);

/* All that waits was pushed in a session that is over now: drop what means nothing in
 * the next one, that is answers and cancels. */
void mcpi_outlet_forget(struct mcpi_outlet *outlet);

/* What must be said here cannot be. An exchange's own wire object goes, and nothing
 * else: its peer may be all the clients there are. Otherwise the peer goes. */
void mcpi_outlet_fail(struct mcpi_outlet *outlet, int status, const char *why);

/* Take it back if it still waits: true, and done was called with MCP_E_CANCELED. */
bool mcpi_out_withdraw(struct mcpi_out *out);

#endif
