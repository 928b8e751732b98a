/*
 * server.h - the server, as the rest of the api sees it
 *
 * How it lives (life.c):
 *
 *   open -> stopping -> stopped -> leaving -> gone
 *
 * stopping: listeners are closed, clients are being closed. stopped: no link is left, on
 * any branch; who ran it returns. leaving: it was freed, and waits for the last handler,
 * on any branch. All of that is the loop's; other threads only ask for it.
 */
#ifndef MCPI_API_SERVER_H
#define MCPI_API_SERVER_H

#include <mcp/server.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "api/branch.h"
#include "api/catalog.h"
#include "api/elicited.h"
#include "api/isolation.h"
#include "api/loop.h"
#include "base/aead.h"
#include "core/engine.h"
#include "link/pair.h"
#include "run/accounts.h"

/* What may stop a running server from outside the protocol; see watch.c. */
struct mcpi_watch {
    uv_poll_t signals, parent;
    int signal_fd, parent_fd; /* -1: not watched */
    sigset_t masked;          /* those of them that we have blocked */
    bool is_masked;
};

enum mcpi_catalog_index {
    MCPI_TOOLS,
    MCPI_RESOURCES,
    MCPI_TEMPLATES,
    MCPI_PROMPTS,
    MCPI_METHODS, /* of the program's own; never listed */
    MCPI_CATALOGS
};

/* Beside mcp_change: something can be completed. */
#define MCPI_OFFERS_COMPLETION 16U

struct mcp_server {
    struct mcpi_branch trunk;
    bool own_loop;
    struct mcpi_catalog catalogs[MCPI_CATALOGS];
    size_t catalog_count; /* that were made */
    atomic_uint offers;   /* what there is, or may be: mcp_change, and that above */
    mcp_doc *extensions, *experimental; /* for there; or NULL */
    bool no_logging;
    int64_t list_ttl_ms; /* how long and for whom lists may be kept */
    enum mcp_cache_scope list_scope;
    size_t page, max_clients;
    struct mcpi_accounts *accounts; /* what is held for each client */
    size_t memory_bytes;            /* what all may hold */
    int64_t stop_us, overdue_us;
    int64_t ask_us;                         /* that long a client may think (legacy) */
    int64_t state_ms;                       /* or take between two rounds */
    unsigned char state_key[MCPI_AEAD_KEY]; /* seals what travels meanwhile */
    pid_t parent; /* who had started us when the server was made */
    mcp_middleware *middleware;
    size_t middleware_count;
    atomic_bool reachable; /* a link was asked for */
    atomic_bool on_stdio;

    /* its life */
    atomic_bool stop_asked;
    atomic_bool awake;   /* wake may be sent */
    atomic_bool stopped; /* no link is left, and none will come */
    uv_async_t wake;     /* loop only, but for sending */
    struct mcpi_watch watch;
    size_t accepted;            /* clients on listening sockets; loop only */
    bool leaving;               /* loop only */
    bool impatient;             /* patience was asked for; loop only */
    bool left_behind;           /* and is over; loop only */
    bool dismantled;            /* loop only, or nobody runs it */
    struct mcpi_timer patience; /* with handlers that do not end */
    struct mcpi_post opened, bye;

    _Atomic(struct mcpi_isolation *) isolation; /* of its isolated tools; NULL: none */
    bool helpers_live;             /* it stops: some of those are left; loop only */
    struct mcpi_post helpers_gone; /* from there */

    size_t replicas_open; /* it stops: those with links; loop only */
    size_t replicas_live; /* it stops: those that have not gone; loop only */

    /* what it is told */
    struct mcpi_elicited elicited;
    void (*on_notification)(mcp_server *server, const char *method,
                            const mcp_json *params, void *user); /* or NULL */

    pthread_mutex_t lock; /* a leaf, for what follows */
    pthread_cond_t moved;
    unsigned refs;             /* who waits for its end, and the loop's side */
    bool running;              /* run or start is under way */
    bool freed;                /* mcp_server_free was called */
    bool left;                 /* on its own thread: who runs it frees it */
    bool gone;                 /* nothing but this memory is left */
    bool has_thread;           /* thread is to be joined */
    pthread_t thread;          /* of mcp_server_start */
    struct mcpi_list replicas; /* none is added once it is full */
    bool full;                 /* it stops */
};

/* MCP_E_STATE in a process that was forked off, else 0. */
static inline int
mcpi_server_guard(const mcp_server *server)
{
    return mcpi_host_guard(&server->trunk.host);
}

/* ---- its life: life.c; [loop] ------------------------------------------- */

int mcpi_life_init(mcp_server *server);
void mcpi_life_begin(mcp_server *server); /* all else is ready */
void mcpi_life_done(mcp_server *server);  /* instead of begin; frees the memory */

/* Begin to stop; idempotent. Not from inside core's callbacks. */
void mcpi_server_begin_stop(mcp_server *server);

/* Something that keeps it has gone: the next step, if it was the last. */
void mcpi_server_check(mcp_server *server);

/* Free what it was made of, all but its life and its memory. */
void mcpi_server_dismantle(mcp_server *server);

/* So many requests, and streams of subscriptions/listen, as this branch may have are there
 * to be shared, too. */
void mcpi_server_share(mcp_server *server, const struct mcpi_branch *branch);

/* ---- its links: links.c ------------------------------------------------- */

/* 0: links can be added. MCP_E_INVAL, MCP_E_STATE, MCP_E_CLOSED, with err. [any] */
int mcpi_links_guard(const mcp_server *server, mcp_error *err);

/* Open the server's end of a memory pair, whose other end is the caller's. The end is
 * opened on the server's loop, soon, and is the server's after success. MCP_E_CLOSED:
 * the server has stopped. [any] */
int mcpi_server_attach_pair(mcp_server *server, struct mcpi_pair *pair, unsigned index);

/* ---- what it offers: offers.c, changes.c -------------------------------- */

/* Read what the options say of it. MCP_E_INVAL: err says why. Done also undoes what was
 * not finished. */
int mcpi_offers_init(mcp_server *server, const mcp_server_options *opt, mcp_error *err);
void mcpi_offers_done(mcp_server *server);

/* The capabilities are in branch->says, all that there could be, so that there is room
 * for them. MCP_E_NOMEM. mcpi_buf_done(&branch->says) undoes it. */
int mcpi_offers_reserve(struct mcpi_branch *branch);

/* Make the capabilities what is offered now; cannot fail. [loop] */
void mcpi_offers_say(struct mcpi_branch *branch);

/* A list of this server has changed: who wants to know is told, once for all changes
 * within options.changes_ms. [any] */
void mcpi_server_changed(mcp_server *server, enum mcp_change change);

/* ---- what it answers: serve.c, middleware.c ----------------------------- */

extern const struct mcpi_router mcpi_server_router;

/* Ask each; what is not 0 ends the request. [loop] */
int mcpi_middleware_before(mcp_request *req);
/* Tell those that were asked, the innermost first. [loop] */
void mcpi_middleware_after(mcp_request *req, int rpc_code);
void mcpi_middleware_canceled(mcp_request *req);

/* ---- what stops it from outside: watch.c -------------------------------- */

/* Nobody runs the loop yet, and this thread will. */
int mcpi_watch_open(mcp_server *server, const mcp_run_options *opt, mcp_error *err);
void mcpi_watch_close(mcp_server *server);

#endif
