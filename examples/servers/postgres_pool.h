/*
 * postgres_pool.h - connections to PostgreSQL, shared by calls that may be canceled
 *
 * A call is a few statements that run one after the other on one connection. Calls that
 * find no connection free wait in line, in order. Nothing here blocks, and all of it is
 * on the one loop that serves the requests.
 */
#ifndef POSTGRES_POOL_H
#define POSTGRES_POOL_H

#include <libpq-fe.h>

#include <mcp/request.h>

struct pool;

enum { POOL_STEPS = 5 };

struct pool_call {
    mcp_request *req; /* whose cancel is this one's; NULL: nobody's */
    /* Statements, each a message of its own, so that none can smuggle in a second; ends
     * with NULL. The first is a BEGIN, which is sent again if it finds an idle
     * connection broken. A transaction that the last one leaves open is rolled back. */
    const char *steps[POOL_STEPS + 1];
    size_t bound; /* the step that has the parameters */
    int parameter_count;
    const char *const *parameters; /* texts; NULL: null */

    /* A result of a step: one row, or the step's end. False: that is enough. */
    bool (*take)(struct pool_call *call, PGresult *result);

    /* Its one end; the call is its owner's again. 0: all steps are done, or it was
     * enough; MCP_E_CANCELED; MCP_E_PEER: PostgreSQL said no, as in error, else NULL;
     * MCP_E_SEND_FAILED: no connection could be made; MCP_E_CLOSED: it broke;
     * MCP_E_INVAL: it was a COPY; MCP_E_NOMEM. */
    void (*end)(struct pool_call *call, int status, const PGresult *error);

    /* The pool's own. */
    struct pool *pool;
    struct pool_call *previous, *next;
    struct connection *connection;
    size_t returns; /* how often its connection was found broken */
};

/* Opens nothing yet. conninfo is borrowed as long as the pool lives. */
int pool_new(const char *conninfo, size_t size, struct pool **ret_pool);

/* Begin a call, or put it in line. It may have ended when this returns. [loop] */
void pool_start(struct pool *pool, mcp_loop *loop, struct pool_call *call);

/* When the loop does not run any more, and still is there: close all connections. Waits
 * until PostgreSQL was told of all cancels; false: it did not listen, and the pool must
 * be left alone. */
bool pool_close(struct pool *pool);

/* After the loop, too, is gone. NULL ok. */
void pool_free(struct pool *pool);

/* A connection of the caller's own, as libpq makes it: it blocks, so before the loop
 * runs. PQstatus tells; ended with PQfinish. */
PGconn *pool_connect(const struct pool *pool);

#endif
