/*
 * host.h - who runs handlers: a server, or a client that is asked something
 *
 * A request knows its host and nothing else of where it came from, so that handlers of
 * both sides are run, canceled and counted by the same code.
 */
#ifndef MCPI_API_HOST_H
#define MCPI_API_HOST_H

#include <mcp/loop.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "core/engine.h"
#include "core/exchange.h"
#include "run/loop.h"
#include "run/pool.h"

/* What is counted. Those of the first group are written by the loop only. */
struct mcpi_tally {
    atomic_uint_fast64_t clients, in_flight, requests, answered, failed;
    atomic_uint_fast64_t by_peer, by_limit, by_stop, by_loss;
    atomic_uint_fast64_t never_started, stopped, ran_to_end;
    atomic_uint_fast64_t connections, sessions, streams; /* over HTTP */
    atomic_uint_fast64_t live_handlers;                  /* written by all */
};

/* More than threads that have something to say about their requests at the same moment. */
#define MCPI_REQUEST_LOCKS 16

struct mcpi_host {
    const mcp_allocator *mem;
    struct mcpi_log log;
    void *user;                 /* for handlers */
    mcp_loop *loop;             /* as handlers see it; NULL: they do not */
    struct mcpi_loop *inside;   /* the same, or the client's own */
    struct mcpi_engine *engine; /* loop only */
    struct mcpi_pool *pool;     /* NULL: no handler wants a worker */
    struct mcpi_tally tally;
    size_t live;                 /* requests that are not home; loop only */
    int64_t starved_quiet_until; /* handler.c, of its log; loop only */
    /* A request is home: there is one less. [loop] */
    void (*went_home)(struct mcpi_host *host);
    pthread_mutex_t request_locks[MCPI_REQUEST_LOCKS]; /* see mcpi_request_lock */
    pthread_mutex_t lock;                              /* a leaf */
    struct mcpi_list
        told; /* requests that were told to stop and are not home; under lock */
};

/* Make its locks; all else is the owner's to fill. MCP_E_NOMEM if the system has none. */
int mcpi_host_init(struct mcpi_host *host);
void mcpi_host_done(struct mcpi_host *host);

/* Handlers that were told to stop longer ago than that, and have not. [any] */
uint64_t mcpi_host_overdue(struct mcpi_host *host, int64_t overdue_us);

/* One more; by the only thread that writes it. */
static inline void
mcpi_tally_add(atomic_uint_fast64_t *count, int64_t by)
{
    uint_fast64_t now = atomic_load_explicit(count, memory_order_relaxed);

    atomic_store_explicit(count, now + (uint_fast64_t)by, memory_order_relaxed);
}

/* One that was in flight is answered, with a result (0) or an error; or has ended
 * otherwise. [loop] */
void mcpi_tally_answered(struct mcpi_tally *tally, int code);
void mcpi_tally_ended(struct mcpi_tally *tally, enum mcpi_ending how);

/* MCP_E_STATE in a process that was forked off, else 0. */
static inline int
mcpi_host_guard(const struct mcpi_host *host)
{
    return mcpi_loop_is_ours(host->inside) ? 0 : MCP_E_STATE;
}

#endif
