/*
 * port.h - all that a link may know of core
 *
 * Core owns every queue, links own bytes. A message waits in an outlet; a link takes it
 * at the moment it starts to write it, and taken means issued: from then on the peer
 * may have seen it. Core alone decides what a cancel is on the wire; a link can take,
 * hang up one request's own stream, settle and close, and knows no era.
 *
 * Everything here runs on the loop thread of the engine. Time is monotonic
 * microseconds.
 */
#ifndef MCPI_CORE_PORT_H
#define MCPI_CORE_PORT_H

#include <mcp/json.h>

#include "base/buf.h"
#include "base/list.h"

struct mcpi_account;
struct mcpi_early_cancels;
struct mcpi_engine;
struct mcpi_exchange;
struct mcpi_leg;
struct mcpi_out;
struct mcpi_outlet;
struct mcpi_peer;
struct mcpi_rpc;

enum mcpi_trait {
    MCPI_PRIVATE_IDS = 1, /* no id table: each exchange has its own stream (E24, E28) */
    MCPI_GONE_CANCELS = 2, /* a client that leaves cancels (modern, stateless) */
    MCPI_NO_REQUESTS = 4,  /* no room for nested requests (JSON mode, stateless; J9) */
    MCPI_LAST_WORD = 8,    /* only a response ends the wire object (legacy HTTP; D14) */
    MCPI_STATELESS = 16,   /* no handshake is asked for or remembered (legacy; D16) */
    MCPI_UNORDERED = 32    /* messages come on several connections: a cancel may arrive
                              before its request (legacy HTTP; D25) */
};

enum mcpi_closing {
    MCPI_CLOSE_DRAIN, /* write what waits, then close; core bounds the time */
    MCPI_CLOSE_NOW
};

enum mcpi_out_kind { MCPI_OUT_REQUEST, MCPI_OUT_NOTE, MCPI_OUT_ANSWER };

/* What core asks of a link. From inside, a link may take; nothing else of core. It must
 * not dispatch input from inside: core may be in the middle of an ending. */
struct mcpi_link_ops {
    /* There is something to take. */
    void (*wake)(struct mcpi_outlet *outlet);
    /* Negotiated: a legacy HTTP client opens its GET. May be NULL. */
    void (*ready)(struct mcpi_peer *peer);
    /* End this issued leg's own stream after a delay, or at once where the peer may
     * notice nothing but that; until then what comes goes up as before and core drops
     * what is the leg's own. MCPI_NEVER: let it run out. NULL member: requests share one
     * pipe. */
    void (*hangup)(struct mcpi_peer *peer, struct mcpi_leg *leg, int64_t after_us);
    /* Nothing more will be pushed: end the wire object when it is empty. Told once
     * for an outlet of an exchange's own (F9). May be NULL. */
    void (*settle)(struct mcpi_outlet *outlet);
    /* What must be said on this outlet's own wire object cannot be (no memory for it):
     * give that up, and nothing else. NULL member: the peer is given up. */
    void (*fail)(struct mcpi_outlet *outlet, int status);
    /* A handler lets the client of this wire object go and come back for the rest. May
     * be NULL. */
    void (*detach)(struct mcpi_outlet *outlet);
    /* Close; the link then says mcpi_peer_lost when it has. */
    void (*close)(struct mcpi_peer *peer, enum mcpi_closing how);
};

/* ---- the engine, as far as a link needs it --------------------------------- */

const mcp_allocator *mcpi_engine_mem(const struct mcpi_engine *engine);
size_t mcpi_engine_max_bytes(const struct mcpi_engine *engine); /* of a message */
size_t mcpi_engine_max_depth(const struct mcpi_engine *engine);

/* Our own constant for a version that this engine serves, with its era; NULL: none. */
const char *mcpi_engine_version(const struct mcpi_engine *engine, const char *text,
                                bool *ret_modern);
/* Refuse a version: the error answer to this id, whole, appended. */
struct mcpi_id;
void mcpi_engine_refuse_version(struct mcpi_engine *engine, const struct mcpi_id *id,
                                const char *requested, struct mcpi_buf *into);

/* ---- who watches the wire, if anybody does --------------------------------- */

#define MCPI_TELL_LINE 512    /* longer sentences are cut */
#define MCPI_TELL_EXCERPT 200 /* of what came and is no message: bytes that are shown */

/* Does anybody? engine NULL: nobody. */
bool mcpi_engine_is_watched(const struct mcpi_engine *engine);

/* A message came, as it stood on the wire; before it is handed up. Also JSON that is
 * none, and what nobody will get. */
void mcpi_engine_came(const struct mcpi_engine *engine, const char *text, size_t len);

/* Something happened that is no message: a sentence, without secrets. Ids of sessions
 * are secrets, as what a URL asks for may be. */
void mcpi_engine_tell(const struct mcpi_engine *engine, const char *format, ...)
    MCP_PRINTF(2, 3);

/* Arguments are not evaluated unless somebody watches. */
#define MCPI_TELL(engine, ...)                     \
    do {                                           \
        if (mcpi_engine_is_watched(engine))        \
            mcpi_engine_tell(engine, __VA_ARGS__); \
    } while (0)

/* Something came that is no message, for that reason; its beginning is shown. */
void mcpi_engine_tell_garbled(const struct mcpi_engine *engine, const char *why,
                              const char *text, size_t len);

/* ---- peers: one counterpart, one id space ---------------------------------- */

/* A new peer of an engine, reached through a link; link_user is the link's own. */
int mcpi_peer_new(struct mcpi_engine *engine, const struct mcpi_link_ops *ops,
                  unsigned traits, void *link_user, struct mcpi_peer **ret_peer);

/* Frees it. If it was not lost before, it is now. What was taken must be done with. Not
 * from inside core's callbacks. */
void mcpi_peer_free(struct mcpi_peer *peer);

void *mcpi_peer_link(const struct mcpi_peer *peer); /* link_user */

/* The outlet for what belongs to no exchange: the pipe, or the GET stream. Borrowed
 * from the peer; always there, taken from or not. */
struct mcpi_outlet *mcpi_peer_outlet(const struct mcpi_peer *peer);

/* A message that came in. */
struct mcpi_arrival {
    mcp_doc *take_doc;          /* may be NULL if rpc says what it was */
    const struct mcpi_rpc *rpc; /* what was read of it; NULL: nobody has yet */
    struct mcpi_leg *leg;       /* came on this leg's own stream; NULL: look up by id */
    struct mcpi_outlet *outlet; /* where its answer goes; NULL: the peer's own */
    const char *version;        /* legacy: what the link was told, a constant of
                                   mcpi_engine_version; NULL: as was negotiated */
    const char *principal;      /* who asks; copied. NULL: nobody in particular */
    const char *scope;          /* what they may do; copied. NULL: nothing is known */
    mcp_doc *claims;  /* what was said of them, an object; a reference is taken.
                                   NULL: nothing */
    const char *said; /* what else the link was told, for the handler: pairs of texts,
                         name and value, each with its terminator; copied */
    size_t said_len;
};

/* Hand a message up. Takes the document in every case and never fails the link; if
 * it was a request, its outlet will get an answer or be settled. What is no message is
 * handed up as MCPI_RPC_INVALID (C11): it is logged, refused if an answer is due, and ends
 * the leg that it tried to answer; nothing else is lost. */
void mcpi_peer_receive(struct mcpi_peer *peer, const struct mcpi_arrival *arrival,
                       int64_t now);

/* A message that is not handed up yet, because its sender is still being authenticated.
 * It may be a request whose cancel is handed up first. A member of whatever keeps the
 * message; it may outlive the peer. */
struct mcpi_expected {
    struct mcpi_list in_peer;
    struct mcpi_early_cancels *early; /* NULL: not announced */
    int64_t at;
};

void mcpi_expected_init(struct mcpi_expected *message);

/* Announces it: until it is done with, which follows once it was handed up or refused,
 * the peer holds cancels for it. Does nothing unless the peer is MCPI_UNORDERED.
 * MCP_E_NOMEM: it was not announced. */
int mcpi_peer_expect(struct mcpi_peer *peer, struct mcpi_expected *message,
                     int64_t now);
/* Has a message been announced that is not done with? */
bool mcpi_peer_expects(const struct mcpi_peer *peer);
/* Nothing if it was not announced. */
void mcpi_expected_done(struct mcpi_expected *message);

/* EOF: nothing more will come, writing may still work. Drains, then closes (F28). */
void mcpi_peer_input_ended(struct mcpi_peer *peer, int64_t now);

/* Our own stop, with time for what runs: what lasts (listen) ends with its result now,
 * new requests are refused, and after the drain time, or when the last request has
 * ended, it is as mcpi_peer_close in core/peer.h: answered, flushed, closed. */
void mcpi_peer_drain(struct mcpi_peer *peer, int64_t now);

/* The peer has ended its session, or was away for too long (D17): all it asked is
 * canceled, each with its last word at once where only a response ends the wire object,
 * and the link is asked to close when that is written. */
void mcpi_peer_end(struct mcpi_peer *peer, const char *reason, int64_t now);

/* Is nothing of its asked, open or with a handler that runs (D18)? */
bool mcpi_peer_is_idle(const struct mcpi_peer *peer);
/* May it ask one more thing? */
bool mcpi_peer_has_room(const struct mcpi_peer *peer);
/* Has it introduced itself, with which version? "" before (legacy). */
const char *mcpi_peer_agreed_version(const struct mcpi_peer *peer);

/* The link is gone, or given up: every waiter wakes, once, and every outlet of the
 * peer is killed. */
void mcpi_peer_lost(struct mcpi_peer *peer, int status, int64_t now);

/* The session that this peer and we had is unknown to it now (legacy HTTP: 404):
 * negotiate again. met is the leg whose own POST was refused with that, so that the
 * peer has not begun it; its out is done with. It waits again in front of all others
 * and is sent once more, without the link's mark (mcpi_leg_set_link); a second time, or
 * if it resumes an earlier one, it fails with MCP_E_HTTP, 404. The link is not asked to
 * hang it up. NULL: something else found out. All other issued legs end MCP_E_CLOSED,
 * without a frame: nobody is there to hear it; they are hung up at once. What waits in
 * the outlet goes on waiting, but for answers and cancels. When it has negotiated, the
 * link's `ready` is called again.
 *
 * False, and nothing has happened: it is not READY and legacy; or nothing but met could
 * know, because no request was answered in this session so far; or there were several
 * such in a row, and the last one not long ago. Then it is the link's to fail met, and
 * to go on with the session that it has. */
bool mcpi_peer_session_lost(struct mcpi_peer *peer, struct mcpi_leg *met, int64_t now);

/* Something that cannot be repaired here (no memory for a message, a reader that
 * does not read): the link is given up in the next turn. */
void mcpi_peer_fail(struct mcpi_peer *peer, int status, const char *why);

/* The version last spoken, in wire order; "" for none (E6, E7). */
const char *mcpi_peer_spoken(const struct mcpi_peer *peer);

/* ---- outlets: ordered queues of messages towards a peer -------------------- */

/* An outlet of an exchange's own (an HTTP response). Counted: core keeps it as long
 * as it may push; kill it when the wire object is gone, then unref. */
int mcpi_outlet_new(struct mcpi_peer *peer, void *link_user, struct mcpi_outlet **ret);
struct mcpi_outlet *mcpi_outlet_ref(struct mcpi_outlet *outlet);
void mcpi_outlet_unref(struct mcpi_outlet *outlet);
/* Charge what a client makes us hold to its account (base/budget.h): the requests that are
 * answered here, their answers, what waits. A reference is taken. Of a peer's own outlet,
 * before it is used: those that are made later have the same. */
void mcpi_outlet_set_account(struct mcpi_outlet *outlet, struct mcpi_account *account);
void *mcpi_outlet_link(const struct mcpi_outlet *outlet);             /* link_user */
struct mcpi_peer *mcpi_outlet_peer(const struct mcpi_outlet *outlet); /* NULL: killed */

/* The next message, encoded at the end of buf, and from now on issued; NULL: empty
 * or held. buf has room for MCPI_FRAME_MAX more bytes without allocating, so that
 * frames and the fixed errors always fit. Tell mcpi_out_done when its last byte has
 * left. */
struct mcpi_out *mcpi_outlet_take(struct mcpi_outlet *outlet, struct mcpi_buf *buf,
                                  int64_t now);
bool mcpi_outlet_is_empty(const struct mcpi_outlet *outlet); /* nothing to take now */

/* Drop all that waits and swallow the rest (E21, F35). */
void mcpi_outlet_kill(struct mcpi_outlet *outlet);

/* The client of this exchange's own outlet has left; traits decide what that means. */
void mcpi_outlet_gone(struct mcpi_outlet *outlet, int64_t now);

enum mcpi_out_kind mcpi_out_get_kind(const struct mcpi_out *out);
struct mcpi_leg *mcpi_out_leg(
    const struct mcpi_out *out); /* REQUEST: whose; else NULL */
/* NOTE: the leg whose cancel frame it is; else NULL. Good until mcpi_out_done. */
struct mcpi_leg *mcpi_out_canceled_leg(const struct mcpi_out *out);

/* The code of the error that an answer is; 0: of a result, or no answer. */
int mcpi_out_code(const struct mcpi_out *out);

/* The last byte has left (0), or never will (negative). Ends the out; it is gone. */
void mcpi_out_done(struct mcpi_out *out, int status, int64_t now);

/* ---- legs, as a link with streams of their own sees them ------------------- */

/* Why a request got no answer. */
struct mcpi_fault {
    int status;  /* MCP_E_CLOSED, MCP_E_SEND_FAILED, MCP_E_PROTO, MCP_E_HTTP, ... */
    int http;    /* MCP_E_HTTP: 503; MCP_E_AUTH: 401 or 403, if it came of one; how a
                    stream was not resumed; else 0 */
    bool unsent; /* nothing of it has left, or it was refused unserved: the peer has
                    nothing to take back (B5) */
    const char *why; /* one sentence for people; copied. NULL: nothing to say */
};

/* The stream of this leg ended without an answer and not by us (D9, D10, E14, B24).
 * Unless it is unsent, the peer may still be at work on it, so it is abandoned like any
 * other: a hang-up is asked for, which a link whose stream is gone may take lightly.
 * Nothing if it is over, or waits. */
void mcpi_leg_fail(struct mcpi_leg *leg, const struct mcpi_fault *fault, int64_t now);

/* The link lets it wait for somebody who has to allow it (rest), or does so no longer.
 * Negotiation has clocks of its own, which nobody has chosen with people in mind: they
 * stand still meanwhile, and begin anew. Those of all others run on. */
void mcpi_leg_rest(struct mcpi_leg *leg, bool rest, int64_t now);

/* Whatever the link keeps of this leg (its entry), or NULL; NULL at first, and again
 * when core lets it wait once more: what was its entry before is nobody's then. */
void mcpi_leg_set_link(struct mcpi_leg *leg, void *link_user);
void *mcpi_leg_link(const struct mcpi_leg *leg);

/* Its id, in the form it is found by (wire/id.h); good as long as the leg. */
const struct mcpi_id *mcpi_leg_id(const struct mcpi_leg *leg);

/* It has ended, answered or not: what still comes on its stream is not its own. */
bool mcpi_leg_is_over(const struct mcpi_leg *leg);
/* It was issued in the modern era; else a legacy one. */
bool mcpi_leg_is_modern(const struct mcpi_leg *leg);
/* It is initialize or server/discover, and ours. */
bool mcpi_leg_is_negotiation(const struct mcpi_leg *leg);

/* The stream of this leg can be taken up again after this event (legacy; B27): whoever
 * wants to know is told, and may end the leg from inside. Nothing if it is over. */
void mcpi_leg_resumable_from(struct mcpi_leg *leg, const char *event_id);
struct mcpi_leg *mcpi_leg_ref(struct mcpi_leg *leg);
void mcpi_leg_unref(struct mcpi_leg *leg);

/* The resumption token the caller gave, or NULL; frames have none (B28). */
const char *mcpi_leg_resume_token(const struct mcpi_leg *leg);

#endif
