/*
 * postgres_connection.h - one connection of the pool, in whatever state
 *
 * What postgres_pool.c and postgres_connection.c share, and nobody else sees.
 */
#ifndef POSTGRES_CONNECTION_H
#define POSTGRES_CONNECTION_H

#include "postgres_cancel.h"
#include "postgres_pool.h"

enum state { CLOSED = 0, OPENING, IDLE, BUSY, HOMING };

struct connection {
    struct pool *pool;
    enum state state;
    PGconn *pg;
    mcp_watch *watch;
    mcp_timer *timer;       /* OPENING, HOMING: it has had its time */
    mcp_timer *again;       /* HOMING: cancel once more */
    struct pool_call *call; /* BUSY */
    size_t step;            /* of the call */
    bool is_fresh;          /* BUSY: it was opened for this call */
    struct cancel *cancel;  /* HOMING: rule 1; NULL: none is under way */
    bool is_fencing;        /* HOMING: DISCARD ALL was sent ... */
    bool is_fenced;         /* ... and has succeeded: rule 3 */
};

struct pool {
    const char *conninfo;
    mcp_loop *loop;
    struct pool_call *first, *last; /* in line */
    size_t waiting;
    mcp_timer *retry; /* try to open one again; NULL: nothing to wait for */
    struct cancels cancels;
    size_t size;
    struct connection connections[];
};

/* ---- postgres_connection.c ------------------------------------------------------ */

/* CLOSED: begin to open it. IDLE: it has that call now. BUSY: take its call away, which
 * is over, and send it home. Any: close it; its call, if it has one, is not ended. */
void connection_open(struct connection *c);
void connection_begin(struct connection *c, struct pool_call *call);
void connection_leave(struct connection *c);
void connection_close(struct connection *c);

/* HOMING, and the loop does not run any more: does it still run what was canceled? If
 * so, that is canceled once more. */
bool connection_is_stuck(struct connection *c);

/* ---- postgres_pool.c ------------------------------------------------------------ */

/* Give what is idle to who is first in line; open one for each who is not served, until
 * one cannot be opened. */
void pool_serve(struct pool *pool);

/* A connection could not be opened: if there is no other, who is in line has failed;
 * else it is tried again after a while, as long as there is a line. */
void pool_not_opened(struct pool *pool);

/* The call is the first in line again. */
void pool_return(struct pool *pool, struct pool_call *call);

#endif
