/*
 * call.h - what the user started: legs, a total deadline, one outcome
 *
 *   LEG -> GATHER -> LEG ...      LEG -> PAUSE -> LEG ...      any -> ENDED
 *
 * LEG: a request is out. GATHER: it was answered with questions (input_required), which
 * run as local exchanges through our own router; when all are answered the next leg
 * brings the answers. PAUSE: it was answered with nothing but a state to send again.
 * The call has one total deadline; each leg has an idle one besides; a human who is
 * asked has none but the total. Whatever ends the call ends what it is at: the leg with
 * its signal (L1), the questions by canceling them (L2), the pause at once (L3).
 *
 * `done` runs exactly once after a start that succeeded, unless the call is freed
 * first, and never after a start that failed. Cancel asks, the ending tells. Loop
 * thread only.
 */
#ifndef MCPI_CORE_CALL_H
#define MCPI_CORE_CALL_H

#include "core/leg.h"

#define MCPI_TIMEOUT_DEFAULT 0
#define MCPI_TIMEOUT_NOW (-1) /* I1's zero */

enum mcpi_abandon { MCPI_ABANDON_CANCELS = 0, MCPI_ABANDON_DETACHES };

struct mcpi_call;

/* What one more leg asks; borrowed until the function that is given it returns. */
struct mcpi_next_leg {
    const char *method;
    const char *params; /* text of a JSON object without _meta, or NULL */
    size_t params_len;
};

/* A server that keeps asking must come to an end (L6). */
#define MCPI_ROUNDS_DEFAULT 10
#define MCPI_ROUNDS_NONE (-1) /* do not follow: input_required is the answer */

/* A state-only answer is asked again after that long, twice as long each time. */
#define MCPI_PAUSE_FIRST 100000 /* us */
#define MCPI_PAUSE_MOST 5000000

struct mcpi_call_ops {
    /* 0 with a result, MCP_E_PEER with an error, MCP_E_PROTO with an answer that is
     * none, each in answer, which is borrowed for the call; or another status and
     * answer NULL. A question that was refused, or whose handler failed, ends the call
     * as an error of the peer would (L4): MCP_E_PEER with its code and message. That
     * error is our own: its id is NONE, doc and error_data are NULL. */
    void (*done)(void *user, struct mcpi_call *call, int status,
                 const struct mcpi_rpc *answer);
    void (*progress)(void *user, struct mcpi_call *call, const struct mcpi_progress *p);
    /* One more leg is due: choose its id, other than those before and borrowed until
     * the leg is open, or fail; the call ends with that status. NULL: it is minted. */
    int (*claim)(void *user, struct mcpi_call *call, struct mcpi_id *ret_id);
    /* A leg was answered and the call would end with that (status 0 or MCP_E_PEER):
     * true asks for one more leg instead, described in next. That leg has the same
     * clocks and options, but for the resumption token, which names a stream. What came
     * so far is the owner's to keep. NULL: never. */
    bool (*more)(void *user, struct mcpi_call *call, int status,
                 const struct mcpi_rpc *answer, struct mcpi_next_leg *next);
    /* Legacy, on links with streams: the call can be taken up again with this token,
     * which is borrowed; told each time it changes. May be NULL. */
    void (*resumable)(void *user, struct mcpi_call *call, const char *token);
};

struct mcpi_call_options {
    const struct mcpi_id *id; /* NULL: minted. Goes out verbatim (A2) */
    const char *method;
    const char *params; /* text of a JSON object without _meta, or NULL */
    size_t params_len;
    const char
        *meta; /* the caller's own _meta members, text of a JSON object, or NULL */
    size_t meta_len;
    const char *log_level; /* modern: logs of this call; a constant, or NULL */
    /* Legacy HTTP (B27): an earlier call is taken up again, from here; NULL: a new one.
     * Such a call is not canceled by a timeout, when it is freed, or when its stream is
     * lost, but detached; mcpi_call_cancel always cancels, also if it still waits: the
     * peer is at what it takes up, and knows that by its id, so id should be the same.
     * Not with a parent (B28). */
    const char *resume_token;
    bool resumable;         /* likewise, as soon as `resumable` was told a token */
    int64_t timeout_us;     /* idle: DEFAULT, NOW, MCPI_NEVER, or positive */
    int64_t total_us;       /* DEFAULT: none, or the ceiling if progress may prolong */
    bool reset_on_progress; /* brings a token (I4) */
    int rounds;             /* 0: the default; past it the call ends MCP_E_LIMIT */
    enum mcpi_abandon on_abandon;
    struct mcpi_exchange *parent;    /* asked on behalf of this request (legacy, J5) */
    const struct mcpi_call_ops *ops; /* progress NULL: none wanted */
    void *user;
};

/* Start. ret_call NULL: nobody wants the handle, the call frees itself after done. */
int mcpi_call_start(struct mcpi_peer *peer, const struct mcpi_call_options *opt,
                    int64_t now, struct mcpi_call **ret_call);

/* The id of the leg under way, or of the last one (A3); valid until the next one. */
const struct mcpi_id *mcpi_call_id(const struct mcpi_call *call);

/* The params of that leg, as it was sent but for _meta; valid as long. NULL: none. */
const char *mcpi_call_params(const struct mcpi_call *call, size_t *ret_len);

/* The link failed its last leg (MCP_E_HTTP, MCP_E_AUTH, MCP_E_SEND_FAILED, MCP_E_CLOSED,
 * MCP_E_PROTO): how, with the status of HTTP, or 0, and one sentence, which may be "".
 * Valid from `done` on, as long as the handle is. NULL: it did not, and the status of
 * `done` says all. */
const struct mcpi_fault *mcpi_call_fault(const struct mcpi_call *call);

/* Ask for the end. 0, or MCP_E_STATE if it is settled already (B14). reason NULL: a
 * fixed text; cut to MCPI_REASON_MAX bytes (B15). done runs before this returns. */
int mcpi_call_cancel(struct mcpi_call *call, const char *reason, int64_t now);

/* Abandon it if it is live, by its policy, and let go of the handle: no callback runs
 * after this (B32). NULL ok. */
void mcpi_call_free(struct mcpi_call *call, int64_t now);

/* Be told once when the signal of an ended call has left (0), cannot leave any more
 * (MCP_E_CLOSED), or has not left after within_us (MCP_E_TIMEOUT, and a warning in the
 * log): the outcome of the call stays what it was (B10). At once if there is nothing
 * to wait for. MCP_E_STATE: the call is live, or somebody waits already. Freeing the
 * call ends it. */
#define MCPI_FLUSH_DEFAULT 5000000 /* us: a wedged peer must not hold its caller */
typedef void mcpi_flushed_fn(void *user, int status);
int mcpi_call_flush(struct mcpi_call *call, int64_t within_us, mcpi_flushed_fn *fn,
                    void *user, int64_t now);

/* Let go of the handle and still be told. */
void mcpi_call_release(struct mcpi_call *call);

/* For the peer: a cancel written by hand names this id. If it is that of a call between
 * two legs, the call is canceled: true. There is nothing to tell the server (L2). */
bool mcpi_call_cancel_named(struct mcpi_peer *peer, const struct mcpi_id *id,
                            const char *reason);

/* For the peer and the exchange: end the calls that are between two legs, so that there
 * is no leg to end. No answer can come from this peer any more: MCP_E_CLOSED. */
void mcpi_call_close_all(struct mcpi_peer *peer, const char *reason);
/* The request they were made for has ended: MCP_E_CANCELED. */
void mcpi_call_end_nested(struct mcpi_exchange *parent, const char *reason);

#endif
