/*
 * client.h - a client from the inside: what its callers' threads share with its loop
 *
 *   OPENING -> READY -> CLOSING      OPENING -> CLOSING
 *
 * Everything the protocol knows of belongs to the loop and is reached by posts, in
 * their order. What a caller must know at once is kept apart: ids and counters in
 * `front`, the state and what the server said of itself under `lock`.
 *
 * The block is counted: the user, the loop side, and each call, which may outlive both.
 * The loop side ends in this order: the link is closed, its child reaped, all calls are
 * told, all callbacks and all handlers have returned, what the loop keeps for a turn is
 * gone. Only then is the client `gone`, and whoever freed it may go on.
 */
#ifndef MCPI_API_CLIENT_H
#define MCPI_API_CLIENT_H

#include <mcp/client.h>
#include <pthread.h>
#include <stdatomic.h>

#include "api/answerer.h"
#include "api/cache.h"
#include "api/front.h"
#include "api/host.h"
#include "api/loop.h"
#include "api/mirrors.h"
#include "api/promise.h"
#include "api/reach.h"
#include "api/scope.h"
#include "core/peer.h"
#include "run/lane.h"

enum mcpi_client_state { MCPI_CLIENT_OPENING, MCPI_CLIENT_READY, MCPI_CLIENT_CLOSING };

/* What the server said of itself; written by the loop before the client is ready, and
 * constant from then on, unless it turns out to be of another era. */
struct mcpi_hello {
    mcp_doc *doc;        /* keeps the rest */
    const char *version; /* agreed; NULL: not ready */
    bool is_modern;
    const mcp_json *result; /* what a modern server said of itself, or NULL */
    const mcp_json *info, *capabilities;
    const char *instructions;
};

struct mcp_client {
    struct mcpi_host host; /* memory, loop, engine; and who runs what the server asks */
    atomic_uint refs;
    pid_t pid;              /* of our process, to know a fork by */
    mcp_client_options opt; /* texts in it are the caller's: not to be used later */
    struct mcpi_answerer answerer;
    pthread_t thread;       /* if host.loop is NULL: the loop is ours */
    struct mcpi_pool *pool; /* for callbacks: the host's; NULL: they run on the loop */
    int64_t timeout_us;     /* of a call that names none */
    size_t max_bytes, max_depth; /* of a message */
    bool resumes;                /* legacy: calls can be taken up again */
    atomic_int messages; /* enum mcp_severity: log messages that are asked for */
    struct mcpi_front front;
    atomic_uint listens;                /* subscriptions so far, for their ids */
    bool has_front, has_lane, has_host; /* for the destructor */

    pthread_mutex_t lock; /* a leaf; guards down to the blank line */
    pthread_cond_t changed;
    enum mcpi_client_state state;
    int status;      /* why it could not be opened; 0: it could */
    mcp_error error; /* that, in words */
    struct mcpi_hello hello;
    char *discovery; /* text of hello.result, made when asked for */
    int64_t child_pid;
    bool look_out;      /* look is posted, and has not run yet */
    bool is_closing;    /* somebody asked for the end */
    bool is_freed;      /* the user has let go: no callback of the client begins */
    bool is_orphan;     /* and does not wait: the loop side frees it */
    bool is_gone;       /* nothing of it is on the loop any more */
    bool gone_note_out; /* the last delivery waits or runs */
    bool is_told_gone;  /* it has run */
    unsigned lane_busy;
    size_t notes, note_bytes; /* notifications that wait for their callback */
    bool notes_dropped;       /* and some found no room, which was said */

    /* Loop thread only. */
    struct mcpi_reach reach;
    mcp_doc *adopted; /* discovery from an earlier time, or NULL */
    mcp_doc *former;  /* what the server had said of itself before; or NULL */
    struct mcpi_cache cache;
    struct mcpi_promises promises;
    struct mcpi_mirrors mirrors;
    struct mcpi_peer *peer;   /* NULL: no link, or not any more */
    struct mcpi_scope *scope; /* while it opens; counted */
    struct mcpi_scope_hook scope_hook;
    struct mcpi_list calls;         /* that have a loop side */
    struct mcpi_list subscriptions; /* likewise; subscription.h */
    struct mcpi_map watches;        /* resources; subscription_legacy.c */
    struct mcpi_flush rest;         /* passes turns: handles close after theirs */
    unsigned turns;                 /* still to pass */
    struct mcpi_timer excuse;       /* a child that hung up may still say why */
    bool is_unexplained;            /* the opening failed, and that is awaited */
    bool is_shut;                   /* on its way to the end */
    bool links_gone;
    bool is_finished; /* all is done but what free does */

    struct mcpi_post open, look;           /* to the loop */
    struct mcpi_post told_note, gone_note; /* on the lane */
    struct mcpi_lane lane;                 /* for all callbacks of the client itself */
};

/* A new client that knows nothing of its server, and of which nothing runs. [any] */
int mcpi_client_new(const mcp_client_options *given, struct mcp_client **ret_client,
                    mcp_error *err);

/* Open one by a way that was made elsewhere, which is freed with the client, or after a
 * failure. Statuses of mcp_client_spawn (client_open.c). [any] */
int mcpi_client_open_by(struct mcpi_way *way, const mcp_client_options *opt,
                        mcp_client **ret_client, mcp_error *err);

/* Take it apart and let go of it. Nothing of it runs, or runs any more. */
void mcpi_client_discard(struct mcp_client *client);

void mcpi_client_ref(struct mcp_client *client);
/* One owner less; the last one frees the block. [any] */
void mcpi_client_unref(struct mcp_client *client);

/* Is this not a process that was forked off? [any] */
bool mcpi_client_is_ours(const struct mcp_client *client);

/* May this thread wait for the client's loop? 0, or MCP_E_STATE with err. [any] */
int mcpi_client_may_wait(const struct mcp_client *client, mcp_error *err);

/* Under lock: the loop has something to look at. True: post look, without the lock. */
bool mcpi_client_wants_look(struct mcp_client *client);

/* Leave the loop, or free it; free the pool. After everything else, and before the last
 * unref. Not on the thread of a loop of its own. */
void mcpi_client_dismantle(struct mcp_client *client);

/* ---- the loop side (client_link.c) --------------------------------------- */

extern const struct mcpi_router mcpi_client_router;

/* Posted once, to begin; and whenever there may be something to do: a flag was set, a
 * callback came home. */
void mcpi_client_on_open(struct mcpi_post *post);
void mcpi_client_on_look(struct mcpi_post *post);

/* It is ready: ask a legacy server for the log messages that the options want (typed.c).
 * [loop] */
void mcpi_client_ask_messages(struct mcp_client *client);

/* A call has let go of the loop side, or a handler has come home. [loop] */
void mcpi_client_try_finish(struct mcp_client *client);

/* ---- who watches its wire (client_wire.c) -------------------------------- */

/* The engine that is to be made shows on_wire what it sends and hears, if there is
 * one. */
void mcpi_client_watch_wire(struct mcp_client *client, struct mcpi_engine_options *opt);

/* ---- callbacks of the client itself (client_note.c) ---------------------- */

int mcpi_client_init_lane(struct mcp_client *client);

/* Tell how the opening went; tell that the connection is gone, if it was ready, and
 * that nothing follows. [loop] */
void mcpi_client_tell_opened(struct mcp_client *client);
void mcpi_client_tell_gone(struct mcp_client *client);

/* A notification came that is not core's: to the callback that it has, or to
 * on_notification. [loop] */
void mcpi_client_tell_note(struct mcp_client *client, const struct mcpi_rpc *rpc);

/* A list or a resource has changed, says the server: what is kept of it is forgotten,
 * legacy subscriptions hear of it if it came unasked, and then the program. [loop] */
void mcpi_client_tell_change(struct mcp_client *client, enum mcp_change change,
                             const char *uri, bool unasked);

#endif
