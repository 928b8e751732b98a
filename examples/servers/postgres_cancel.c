/* postgres_cancel.c - PostgreSQL's cancel request, which blocks, off the loop */
#include "postgres_cancel.h"

#include <stdlib.h>
#include <time.h>

#define WAIT_S 5

struct cancel {
    struct cancels *all;
    PGcancel *request;
    mcp_loop *loop;
    void (*on_return)(void *user); /* loop thread only; NULL: forgotten */
    void *user;
};

static void
cancel_returned(void *user)
{
    struct cancel cancel = *(struct cancel *)user;

    free(user);
    if (cancel.on_return)
        cancel.on_return(cancel.user);
}

static void *
cancel_run(void *user)
{
    struct cancel *cancel = user;
    struct cancels *all = cancel->all;
    char why[256];

    (void)PQcancel(cancel->request, why, sizeof(why)); /* the statement tells */
    PQfreeCancel(cancel->request);
    pthread_mutex_lock(&all->lock);
    if (all->is_closed)
        free(cancel);
    else /* without memory for that the connection's timer ends it */
        (void)mcp_loop_post(cancel->loop, cancel_returned, cancel);
    all->count--;
    pthread_cond_signal(&all->returned);
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static bool
thread_start(struct cancel *cancel)
{
    struct cancels *all = cancel->all;
    pthread_t thread;
    bool is_started;

    pthread_mutex_lock(&all->lock);
    is_started = all->count < all->most &&
                 pthread_create(&thread, NULL, cancel_run, cancel) == 0;
    all->count += is_started;
    pthread_mutex_unlock(&all->lock);
    if (is_started)
        pthread_detach(thread);
    return is_started;
}

int
cancel_start(struct cancels *all, PGconn *pg, mcp_loop *loop,
             void (*on_return)(void *user), void *user, struct cancel **ret_cancel)
{
    struct cancel *cancel = malloc(sizeof(*cancel));

    if (!cancel)
        return MCP_E_NOMEM;
    *cancel = (struct cancel){.all = all,
                              .request = PQgetCancel(pg),
                              .loop = loop,
                              .on_return = on_return,
                              .user = user};
    if (!cancel->request || !thread_start(cancel)) {
        PQfreeCancel(cancel->request);
        free(cancel);
        return MCP_E_LIMIT;
    }
    *ret_cancel = cancel;
    return 0;
}

void
cancel_forget(struct cancel *cancel)
{
    if (cancel)
        cancel->on_return = NULL;
}

void
cancels_init(struct cancels *all, size_t most)
{
    pthread_condattr_t steady;

    *all = (struct cancels){.most = most};
    pthread_mutex_init(&all->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&all->returned, &steady);
    pthread_condattr_destroy(&steady);
}

bool
cancels_wait(struct cancels *all)
{
    struct timespec until;
    bool is_quiet;
    int late = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&all->lock);
    while (all->count > 0 && !late)
        late = pthread_cond_timedwait(&all->returned, &all->lock, &until);
    is_quiet = all->count == 0;
    pthread_mutex_unlock(&all->lock);
    return is_quiet;
}

bool
cancels_close(struct cancels *all)
{
    bool is_quiet;

    pthread_mutex_lock(&all->lock);
    all->is_closed = true;
    is_quiet = all->count == 0;
    pthread_mutex_unlock(&all->lock);
    return is_quiet;
}

void
cancels_done(struct cancels *all)
{
    pthread_cond_destroy(&all->returned);
    pthread_mutex_destroy(&all->lock);
}
