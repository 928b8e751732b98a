/*
 * call.h - a call from the inside: a handle that any thread may hold, over a call of
 * core
 *
 *   rounds -> [the list of tools is asked for] -> [the output is checked] -> over
 *   rounds -> the list of tools is asked for -> rounds ...     (once, call_retry.c)
 *
 * Three parties. The user's thread claims the id, makes the block and posts `begin`;
 * after that it posts `act` when it wants something (a cancel, its freedom). The loop
 * starts the call of core, hears of its end, publishes the outcome under `lock`, and
 * adds callbacks to the lane. The lane runs them where they may block.
 *
 * The block is counted: the user's handle, and the loop side. The loop side lets go
 * when the call has ended, nothing of it is on its way (begin, act, a delivery, a
 * check, a wait for its signal), and either nobody can ask whether its signal has left,
 * or the client is going. From then on it is `gone`: only memory is left, whatever
 * becomes of loop and pool.
 *
 * Each round has an id of its own, claimed on the loop; the text of every id that the
 * call has had lives as long as the call.
 *
 * `lock` is a leaf and is not held during callbacks.
 */
#ifndef MCPI_API_CALL_H
#define MCPI_API_CALL_H

#include "api/cache.h"
#include "api/client.h"
#include "core/call.h"
#include "run/token.h"

/* Progress and tokens that wait for a slow callback; beyond it the newest replaces the
 * last of its kind. */
#define MCPI_PROGRESS_WAITING 64

/* Pages of the list of tools that are asked for to check one output, or to make one call
 * again: beyond that, the call is more than that is worth. */
#define MCPI_CHECK_PAGES_MAX 100

struct mcpi_call_note;

/* The id of a later round, as text. */
struct mcpi_round_id {
    struct mcpi_round_id *next;
    char text[24];
};

struct mcp_call {
    atomic_uint refs;
    const mcp_allocator *mem;
    struct mcp_client *client; /* counted */

    /* What was asked; constant. Texts are in this block. */
    char number[24]; /* the first id as text, if it is a number */
    const char *method, *params, *meta;
    size_t params_len, meta_len;
    int64_t timeout_us, total_us; /* as core has them */
    const char *log_level;        /* of messages about it; a constant, or NULL */
    int rounds;                   /* that may follow, as core has it */
    bool reset_on_progress, detaches;
    struct mcpi_cache_key key; /* its answer may be kept, and be there; or OTHER */
    bool is_fresh;             /* but the server is to be asked */
    const char *tool;          /* whose output is checked; NULL: nobody's */
    enum mcpi_method typed;    /* its answer is to be one of this; OTHER: any */
    bool on_lane;              /* has callbacks */
    bool has_lane;             /* or may need one for a check */
    mcp_done_fn *done;
    void *done_user;
    void (*on_progress)(mcp_call *call, double progress, double total,
                        const char *message, void *user);
    void (*on_resume)(mcp_call *call, const char *token, void *user);
    void *progress_user; /* for both */
    const char *resume; /* the event after which it takes an earlier call up; or NULL */
    struct mcpi_scope *scope;  /* counted; NULL: none */
    struct mcpi_token *parent; /* counted; NULL: none */

    /* Loop thread only, once it is begun. */
    struct mcpi_claim claim;
    struct mcpi_id first; /* the first id, folded */
    struct mcpi_round_id *round_ids;
    int rounds_made;
    uint64_t asked; /* changes of what it asks for, when it did */
    struct mcpi_list in_client;
    struct mcpi_call *core; /* until nobody can ask for its signal */
    struct mcpi_scope_hook scope_hook;
    struct mcpi_hook parent_hook;
    bool is_bound; /* parent_hook hangs on parent */
    int stopped;   /* what ended it, if core only knows "canceled" */
    bool is_over;

    /* The check of a tool's output (call_check.c): the loop's, or the lane's while it
     * checks. */
    mcp_doc *output;              /* the answer, while it waits for its check */
    struct mcpi_promise *promise; /* counted; what it is checked against */
    char *page;                   /* params of the page that is asked for, or NULL */
    uint64_t page_at;             /* which one that is, for mirrors.h */
    unsigned pages;               /* that were asked for */
    int verdict;
    int64_t begun;              /* when the call did */
    struct mcpi_timer patience; /* core's clocks end with the answer: for the check */
    int impatience;             /* what the call ends with when that is over */

    /* The call is made once more (call_retry.c). Loop thread only. */
    struct mcpi_retry *retry; /* NULL: its headers were not refused */
    uint64_t known; /* client->mirrors.changes when its leg, or round, was opened */
    bool is_more;   /* the leg that follows is no round */

    struct mcpi_post begin, act;     /* to the loop */
    struct mcpi_post final;          /* the last delivery on the lane */
    struct mcpi_post check, checked; /* on the lane; back to the loop */
    struct mcpi_lane lane;           /* if has_lane */

    _Atomic(const char *) id_text; /* of the round under way */
    pthread_mutex_t lock;          /* guards all below */
    pthread_cond_t changed;
    bool begin_out, act_out, final_out, check_out; /* posted, not yet run */
    unsigned lane_busy;
    unsigned flushing;
    bool is_canceled; /* a cancel was asked for */
    char reason[MCPI_REASON_MAX + 1];
    bool is_freed;  /* no callback begins any more */
    bool is_let_go; /* freed or released */
    bool is_gone;
    bool is_ended; /* what follows is constant */
    int status;
    mcp_doc *answer;
    mcp_error error;
    const mcp_json *error_data;
    int signaled;            /* how its signal ended, once it is gone */
    size_t progress_left;    /* deliveries that have not returned */
    size_t progress_waiting; /* of these: not begun */
    struct mcpi_call_note *progress_last, *token_last; /* that may still change */
};

/* What is asked. All is borrowed. */
struct mcpi_ask {
    const char *method;
    const char *params; /* one JSON object without space around it, checked; or NULL */
    size_t params_len;
    struct mcpi_cache_key key; /* if the answer may be kept */
    const char *tool;          /* whose output is checked, or NULL */
    enum mcpi_method typed;    /* the answer is to be one of this; OTHER: any */
    mcp_done_fn *done;
    void *user;
    bool has_handle; /* somebody will let go of it */
};

/* ---- calling (untyped.c); all [any] ------------------------------------------- */

/* Is there a client, and is it ours? */
int mcpi_client_check(const struct mcp_client *client, mcp_error *err);

/* May that method be asked of the server, as the options want it? MCP_E_NO_CHANNEL,
 * MCP_E_STATE (declared.c). */
int mcpi_declared_check(struct mcp_client *client, const char *method, mcp_error *err);

/* Start what is asked, with the caller's options; ret_call NULL: nobody holds it. */
int mcpi_ask_start(struct mcp_client *client, struct mcpi_ask *ask,
                   const mcp_call_options *given, mcp_call **ret_call, mcp_error *err);

/* And wait for its end. The thread is asked for leave before anything is sent. */
int mcpi_ask_wait(struct mcp_client *client, struct mcpi_ask *ask,
                  const mcp_call_options *given, mcp_reply **ret_reply, mcp_error *err);

/* Has a result of that method the list that it is about? 0: it has, or needs none, or is
 * a question first. MCP_E_PROTO: not, err (NULL ok) says which (typed.c). */
int mcpi_typed_check(enum mcpi_method method, const mcp_json *result, mcp_error *err);

/* ---- the handle ---------------------------------------------------------- */

/* Functions on the user's handle are mcpi_handle_*: struct mcpi_call is core's. */

/* Find the JSON object in a text: *ret is inside of it, without space around.
 * MCP_E_INVAL with err, which calls the text `what`: not an object, or a key stands
 * twice in it. doc: its document, for further checks, or NULL. [any] */
struct mcpi_text {
    const char *text;
    size_t len;
};
int mcpi_object_text(const struct mcp_client *client, const char *text,
                     const char *what, struct mcpi_text *ret, mcp_doc **ret_doc,
                     mcp_error *err);

/* Copy it, not terminated, as one line. */
void mcpi_copy_line(char *into, const struct mcpi_text *text);

/* A new call with what its options say, known to nobody yet (call_make.c). [any] */
int mcpi_handle_make(struct mcp_client *client, const struct mcpi_ask *ask,
                     const mcp_call_options *opt, mcp_call **ret_call, mcp_error *err);
void mcpi_handle_unref(mcp_call *call);

/* Its lane, if it has callbacks (call.c). */
int mcpi_handle_init_lane(mcp_call *call);

/* Make it, claim its id, post its beginning. Statuses of mcp_client_start. [any] */
int mcpi_handle_begin(struct mcp_client *client, const struct mcpi_ask *ask,
                      const mcp_call_options *opt, mcp_call **ret_call, mcp_error *err);

/* mcp_call_wait without its checks: this thread may wait. until: a moment. [any] */
int mcpi_handle_wait(mcp_call *call, int64_t until, mcp_reply **ret_reply,
                     mcp_error *err);

/* Ask for its end; reason NULL: a fixed text. False: it has ended already. [any] */
bool mcpi_handle_cancel(mcp_call *call, const char *reason);

/* mcp_call_free without its checks. [any] */
void mcpi_handle_free(mcp_call *call);

/* The link is gone, and with it all that could still be asked of core. [loop] */
void mcpi_handle_strand(mcp_call *call);

/* Let go of the loop side, if nothing holds it any more. [loop] */
void mcpi_handle_settle(mcp_call *call);

/* The one ending. answer: what the server said, or NULL. [loop] */
void mcpi_handle_end(mcp_call *call, int status, const struct mcpi_rpc *answer);

/* It was answered by a modern server over HTTP: arguments of its tools stand in headers.
 * [loop] */
bool mcpi_handle_has_headers(const mcp_call *call);

/* ---- the check of a tool's output (call_check.c); all [loop] ------------- */

/* A leg was answered: is the list of tools to be asked for next, or more of it? */
bool mcpi_check_more(mcp_call *call, int status, const struct mcpi_rpc *answer,
                     struct mcpi_next_leg *next);

/* Pages of the list of tools are to be asked for: here is the first. */
void mcpi_check_first_page(mcp_call *call, struct mcpi_next_leg *next);

/* That page came: the client learns from it. MCP_E_NOMEM: not all. */
int mcpi_check_learn(mcp_call *call, const mcp_json *result);

/* And the one after it; false: it is the last, there are too many, or no memory. */
bool mcpi_check_next_page(mcp_call *call, const mcp_json *result,
                          struct mcpi_next_leg *next);

/* Is what core tells about the list of tools, and not about the call itself? */
bool mcpi_check_is_asking(const mcp_call *call);

/* Core has ended a call of a tool: end the handle, now or after a check. */
void mcpi_check_end(mcp_call *call, int status, const struct mcpi_rpc *answer);

/* The call ends, or has ended: nobody waits for a verdict. [loop] */
void mcpi_check_leave(mcp_call *call);

/* What is left of it. */
void mcpi_check_done(mcp_call *call);

/* ---- made once more (call_retry.c); all [loop] --------------------------- */

/* A leg was answered: are the headers of a tool call refused, so that the list of tools
 * is to be asked for next, or more of it, or the call is made again? */
bool mcpi_retry_more(mcp_call *call, const struct mcpi_call *core, int status,
                     const struct mcpi_rpc *answer, struct mcpi_next_leg *next);

/* Is what core tells about the list of tools, and not about the call itself? */
bool mcpi_retry_is_asking(const mcp_call *call);

/* Core has ended a call that is asking: end the handle, in most cases with what it was
 * refused by. */
void mcpi_retry_end(mcp_call *call, int status, const struct mcpi_rpc *answer);

/* What is left of it. */
void mcpi_retry_done(mcp_call *call);

/* Tell the user of progress, or from where the call can be resumed, on the lane
 * (call_progress.c). [loop] */
void mcpi_handle_progress(mcp_call *call, const struct mcpi_progress *p);
void mcpi_handle_token(mcp_call *call, const struct mcpi_id *id, const char *event);

#endif
