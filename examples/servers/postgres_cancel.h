/*
 * postgres_cancel.h - PostgreSQL's cancel request, which blocks, off the loop
 *
 * Each has a thread for the time it takes. Until PQcancel has returned nobody may give
 * the connection another query: see postgres_connection.c.
 */
#ifndef POSTGRES_CANCEL_H
#define POSTGRES_CANCEL_H

#include <libpq-fe.h>
#include <pthread.h>

#include <mcp/loop.h>

/* Those under way. */
struct cancels {
    pthread_mutex_t lock;
    pthread_cond_t returned;
    size_t most;
    size_t count;   /* threads that have not returned; under lock */
    bool is_closed; /* under lock */
};

struct cancel;

/* At most that many at once: threads that PostgreSQL keeps waiting must not add up. */
void cancels_init(struct cancels *all, size_t most);

/* Wait until PostgreSQL was told of all, for at most 5 s. False: it does not listen. */
bool cancels_wait(struct cancels *all);

/* When the loop does not run any more, and still is there: afterwards nobody posts to
 * it. False: a thread is left, and so must `all` be. */
bool cancels_close(struct cancels *all);
void cancels_done(struct cancels *all);

/* Cancel what the connection runs. on_return(user) is called on the loop when PQcancel
 * has returned, also if PostgreSQL could not be reached. MCP_E_LIMIT, MCP_E_NOMEM:
 * nothing was sent. [loop] */
int cancel_start(struct cancels *all, PGconn *pg, mcp_loop *loop,
                 void (*on_return)(void *user), void *user, struct cancel **ret_cancel);

/* on_return will not be called. NULL ok. [loop] */
void cancel_forget(struct cancel *cancel);

#endif
