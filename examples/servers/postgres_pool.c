/*
 * postgres_pool.c - connections to PostgreSQL, shared by calls that may be canceled
 *
 * Who comes first is served first. How a connection comes back from a call that was
 * canceled is told in postgres_connection.c.
 */
#include <poll.h>
#include <stdlib.h>

#include "postgres_connection.h"

#define RETRY_MS 1000     /* when a connection could not be opened */
#define CLOSE_TRIES 50    /* at the end, to see what was canceled ended ... */
#define CLOSE_PAUSE_MS 20 /* ... with that between two of them */

/* ---- the line ------------------------------------------------------------------- */

static void
line_add(struct pool *pool, struct pool_call *call, bool in_front)
{
    call->previous = in_front ? NULL : pool->last;
    call->next = in_front ? pool->first : NULL;
    *(call->previous ? &call->previous->next : &pool->first) = call;
    *(call->next ? &call->next->previous : &pool->last) = call;
    pool->waiting++;
}

static void
line_remove(struct pool *pool, struct pool_call *call)
{
    *(call->previous ? &call->previous->next : &pool->first) = call->next;
    *(call->next ? &call->next->previous : &pool->last) = call->previous;
    pool->waiting--;
}

/* Ends those that wait now; what their ends bring with them is not meant. */
static void
line_fail(struct pool *pool, int status)
{
    struct pool_call *call;

    for (size_t left = pool->waiting; left > 0 && pool->first; left--) {
        call = pool->first;
        line_remove(pool, call);
        call->end(call, status, NULL);
    }
}

/* ---- the pool ------------------------------------------------------------------- */

static size_t
pool_count(const struct pool *pool, enum state state)
{
    size_t count = 0;

    for (size_t i = 0; i < pool->size; i++)
        count += pool->connections[i].state == state;
    return count;
}

static struct connection *
pool_find(struct pool *pool, enum state state)
{
    for (size_t i = 0; i < pool->size; i++)
        if (pool->connections[i].state == state)
            return &pool->connections[i];
    return NULL;
}

static void
pool_retry(void *user)
{
    struct pool *pool = user;

    mcp_timer_free(pool->retry);
    pool->retry = NULL;
    pool_serve(pool);
}

/* The others may be busy for long, so who waits must not depend on them alone. */
void
pool_not_opened(struct pool *pool)
{
    int r = 0;

    if (pool_count(pool, CLOSED) == pool->size)
        r = MCP_E_SEND_FAILED;
    else if (pool->first && !pool->retry && pool_count(pool, OPENING) == 0)
        r = mcp_timer_new(pool->loop, RETRY_MS, pool_retry, pool, &pool->retry);
    if (r < 0)
        line_fail(pool, r);
}

void
pool_return(struct pool *pool, struct pool_call *call)
{
    call->connection = NULL;
    line_add(pool, call, true);
}

void
pool_serve(struct pool *pool)
{
    struct connection *c = pool_find(pool, IDLE);
    struct pool_call *call;

    for (; c && pool->first; c = pool_find(pool, IDLE)) {
        call = pool->first;
        line_remove(pool, call);
        connection_begin(c, call);
    }
    while (pool_count(pool, OPENING) < pool->waiting) {
        c = pool_find(pool, CLOSED);
        if (!c)
            return;
        connection_open(c);
        if (c->state == CLOSED)
            return;
    }
}

static void
call_canceled(void *user)
{
    struct pool_call *call = user;

    if (call->connection)
        connection_leave(call->connection);
    else
        line_remove(call->pool, call);
    call->end(call, MCP_E_CANCELED, NULL);
}

void
pool_start(struct pool *pool, mcp_loop *loop, struct pool_call *call)
{
    int r = 0;

    pool->loop = loop;
    call->pool = pool;
    call->connection = NULL;
    call->returns = 0;
    line_add(pool, call, false);
    if (call->req)
        r = mcp_request_on_cancel(call->req, call_canceled, call, NULL);
    if (r < 0) {
        line_remove(pool, call);
        call->end(call, r, NULL);
    }
    pool_serve(pool);
}

int
pool_new(const char *conninfo, size_t size, struct pool **ret_pool)
{
    struct pool *pool = calloc(1, sizeof(*pool) + size * sizeof(pool->connections[0]));

    if (!pool)
        return MCP_E_NOMEM;
    pool->conninfo = conninfo;
    pool->size = size;
    for (size_t i = 0; i < size; i++)
        pool->connections[i].pool = pool;
    cancels_init(&pool->cancels, 2 * size); /* half of them for connections given up */
    *ret_pool = pool;
    return 0;
}

/* What was canceled must have ended before its connection is closed: PostgreSQL would
 * not notice that for as long as a query runs. */
static bool
pool_calm(struct pool *pool)
{
    size_t stuck = 1;
    bool is_quiet = true;

    for (int tries = CLOSE_TRIES; is_quiet && stuck > 0 && tries > 0; tries--) {
        is_quiet = cancels_wait(&pool->cancels);
        stuck = 0;
        for (size_t i = 0; is_quiet && i < pool->size; i++)
            stuck += connection_is_stuck(&pool->connections[i]);
        if (stuck > 0)
            (void)poll(NULL, 0, CLOSE_PAUSE_MS);
    }
    return is_quiet;
}

bool
pool_close(struct pool *pool)
{
    bool is_quiet = pool_calm(pool);

    mcp_timer_free(pool->retry);
    pool->retry = NULL;
    for (size_t i = 0; i < pool->size; i++) {
        struct pool_call *call = pool->connections[i].call;

        connection_close(&pool->connections[i]);
        if (call)
            call->end(call, MCP_E_CLOSED, NULL);
    }
    line_fail(pool, MCP_E_CLOSED);
    return cancels_close(&pool->cancels) && is_quiet;
}

void
pool_free(struct pool *pool)
{
    if (pool)
        cancels_done(&pool->cancels);
    free(pool);
}
