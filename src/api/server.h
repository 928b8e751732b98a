/*
 * server.h - the server, as the rest of the api sees it
 *
 * How it lives (life.c):
 *
 *   open -> stopping -> stopped -> leaving -> gone
 *
 * stopping: listeners are closed, clients are being closed. stopped: no link is left;
 * who ran it returns. leaving: it was freed, and waits for the last handler. All of
 * that is the loop's; other threads only ask for it.
 */
#ifndef MCPI_API_SERVER_H
#define MCPI_API_SERVER_H

#include <mcp/server.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "api/catalog.h"
#include "api/loop.h"
#include "core/engine.h"
#include "link/pair.h"
#include "run/pool.h"

/* What mcp_server_count reads. Those of the first group are written by the loop
 * only. */
struct mcpi_tally {
    atomic_uint_fast64_t clients, in_flight, requests, answered, failed;
    atomic_uint_fast64_t by_peer, by_limit, by_stop, by_loss;
    atomic_uint_fast64_t never_started, stopped, ran_to_end;
    atomic_uint_fast64_t live_handlers; /* written by all */
};

/* What may stop a running server from outside the protocol; see watch.c. */
struct mcpi_watch {
    uv_poll_t signals, parent;
    int signal_fd, parent_fd; /* -1: not watched */
    sigset_t mask;            /* as it was */
    bool is_masked;
};

struct mcp_server {
    const mcp_allocator *mem;
    struct mcpi_log log;
    void *user;
    mcp_loop *loop;
    struct mcpi_loop *inside;
    bool own_loop;
    struct mcpi_engine *engine; /* loop only */
    struct mcpi_pool *pool;
    struct mcpi_catalog catalog;
    bool has_catalog;
    struct mcpi_tally tally;
    size_t page, max_clients;
    int64_t stop_us, overdue_us;
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
    struct mcpi_list links;     /* loop only */
    size_t accepted;            /* clients on listening sockets; loop only */
    size_t live;                /* requests that are not home; loop only */
    bool stopping, leaving;     /* loop only */
    bool impatient;             /* patience was asked for; loop only */
    bool left_behind;           /* and is over; loop only */
    bool dismantled;            /* loop only, or nobody runs it */
    struct mcpi_timer patience; /* with handlers that do not end */
    struct mcpi_post opened, changed, bye;

    pthread_mutex_t lock; /* a leaf, for what follows */
    pthread_cond_t moved;
    unsigned refs;         /* who waits for its end, and the loop's side */
    bool running;          /* run or start is under way */
    bool freed;            /* mcp_server_free was called */
    bool left;             /* on its own thread: who runs it frees it */
    bool gone;             /* nothing but this memory is left */
    bool has_thread;       /* thread is to be joined */
    pthread_t thread;      /* of mcp_server_start */
    struct mcpi_list told; /* requests that were told to stop and are not home */
};

/* One more; by the only thread that writes it. */
static inline void
mcpi_tally_add(atomic_uint_fast64_t *count, int64_t by)
{
    uint_fast64_t now = atomic_load_explicit(count, memory_order_relaxed);

    atomic_store_explicit(count, now + (uint_fast64_t)by, memory_order_relaxed);
}

/* MCP_E_STATE in a process that was forked off, else 0. */
static inline int
mcpi_server_guard(const mcp_server *server)
{
    return mcpi_loop_is_ours(server->inside) ? 0 : MCP_E_STATE;
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

/* ---- its links: links.c ------------------------------------------------- */

/* Close all of them; those that close at once are gone. [loop] */
void mcpi_links_close(mcp_server *server);

/* Open the server's end of a memory pair, whose other end is the caller's. The end is
 * opened on the server's loop, soon, and is the server's after success. MCP_E_CLOSED:
 * the server has stopped. [any] */
int mcpi_server_attach_pair(mcp_server *server, struct mcpi_pair *pair, unsigned index);

/* ---- what it answers: serve.c, tools.c, middleware.c -------------------- */

extern const struct mcpi_router mcpi_server_router;

/* The methods of tools. [loop] */
void mcpi_tools_list(mcp_request *req);
void mcpi_tools_call(mcp_request *req);

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
