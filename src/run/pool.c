/*
 * pool.c - worker threads for what may block
 *
 * A worker is idle or busy. One that is busy and lost, or waiting, or both, is away: it
 * does not count. Of those that count, idle ones included, there are at most `workers`,
 * but for a moment when one comes back; who is then too many goes when it is idle.
 * Those that are away are at most `surplus`; one that was lost when there was no room
 * gets the next place that becomes free, or a pool full of deaf jobs would never
 * recover.
 *
 * What the pool knows of a worker lies on that worker's own stack, so starting one
 * needs no memory of ours. It is started with the lock held: nobody can rely on a
 * worker that then fails to start. A job and its worker are brought together by the
 * number of the run, as the job may be gone before its worker is back.
 *
 * Every worker that goes joins the one that went before it, and free joins the last
 * one.
 */
#include "run/pool.h"

#include <assert.h>
#include <pthread.h>

#include "base/mem.h"
#include "base/timers.h"
#include "run/loop.h"
#include "run/thread.h"

#define DEFAULT_WORKERS 16
#define DEFAULT_SURPLUS 64
#define DEFAULT_IDLE_US INT64_C(10000000)

struct worker {
    struct mcpi_list node; /* under lock */
    struct mcpi_pool *pool;
    uint64_t run;    /* what it works on; 0: idle; under lock */
    bool lost;       /* under lock */
    bool waiting;    /* under lock */
    bool away;       /* does not count; under lock */
    unsigned nested; /* waits; its own thread only */
};

struct mcpi_pool {
    const mcp_allocator *mem;
    struct mcpi_log log;
    size_t max_counted, max_away, stack;
    int64_t idle_us;
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t work;  /* a job came, or it is over */
    pthread_cond_t gone;  /* the last worker went */
    struct mcpi_list jobs;
    struct mcpi_list workers;
    struct mcpi_pool_counts counts;
    size_t idle, away;
    uint64_t runs;
    bool closing;
    bool abandoned;  /* free has given up: the last worker frees it */
    bool warned;     /* the surplus was used up */
    bool has_leaver; /* one has gone and was not joined */
    pthread_t leaver;
};

static _Thread_local struct worker *worker_here;

static size_t
pool_counted(const struct mcpi_pool *pool)
{
    return pool->counts.threads - pool->away;
}

static void
pool_destroy(struct mcpi_pool *pool)
{
    pthread_cond_destroy(&pool->gone);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    mcpi_free(pool->mem, pool);
}

/* ---- a worker --------------------------------------------------------------- */

/* Under lock. Jobs come before everything else, unless others are there to do them. */
static bool
worker_await_job(struct mcpi_pool *pool)
{
    int64_t until = mcpi_time_add(mcpi_loop_clock(), pool->idle_us);
    bool in_time = true;

    for (;;) {
        if (pool_counted(pool) > pool->max_counted)
            return false;
        if (!mcpi_list_empty(&pool->jobs))
            return true;
        if (pool->closing || !in_time)
            return false;
        in_time = mcpi_cond_wait(&pool->work, &pool->lock, until);
    }
}

/* Under lock. */
static struct mcpi_job *
worker_begin(struct worker *worker)
{
    struct mcpi_pool *pool = worker->pool;
    struct mcpi_job *job = MCPI_CONTAINER(mcpi_list_pop(&pool->jobs), struct mcpi_job,
                                          node);

    job->queued = false;
    job->run = worker->run = ++pool->runs;
    pool->counts.queued--;
    pool->counts.busy++;
    pool->idle--;
    return job;
}

static int pool_start_worker(struct mcpi_pool *pool);

/* Under lock. Does not count from now on, so that another can be there instead. */
static void
worker_go_away(struct worker *worker)
{
    worker->away = true;
    worker->pool->away++;
    (void)pool_start_worker(worker->pool); /* else the jobs wait for who comes back */
}

/* Under lock. Counts again, and leaves its place to one that is lost and found none. */
static void
worker_come_back(struct worker *worker)
{
    struct mcpi_pool *pool = worker->pool;
    struct mcpi_list *node;

    worker->away = false;
    pool->away--;
    for (node = pool->workers.next; node != &pool->workers; node = node->next) {
        struct worker *other = MCPI_CONTAINER(node, struct worker, node);

        if (other->lost && !other->away) {
            worker_go_away(other);
            return;
        }
    }
}

/* Under lock. */
static void
worker_end(struct worker *worker)
{
    struct mcpi_pool *pool = worker->pool;

    assert(worker->nested == 0); /* a wait_begin without its end */
    worker->run = 0;
    pool->counts.busy--;
    pool->idle++;
    if (worker->lost) {
        worker->lost = false;
        pool->counts.lost--;
    }
    if (worker->away)
        worker_come_back(worker);
}

/* Under lock, which it opens. The pool may be gone afterwards. */
static void
worker_leave(struct worker *worker)
{
    struct mcpi_pool *pool = worker->pool;
    bool join = pool->has_leaver;
    pthread_t leaver = pool->leaver;
    bool last;

    mcpi_list_remove(&worker->node);
    pool->idle--;
    pool->counts.threads--;
    last = pool->counts.threads == 0;
    pool->has_leaver = !pool->abandoned;
    pool->leaver = pthread_self();
    if (pool->abandoned)
        pthread_detach(pthread_self());
    if (last)
        pthread_cond_broadcast(&pool->gone);
    else if (pool->idle > 0 && !mcpi_list_empty(&pool->jobs))
        pthread_cond_signal(&pool->work); /* the wake was for a job, and we took it */
    last = last && pool->abandoned;
    pthread_mutex_unlock(&pool->lock);
    if (join)
        pthread_join(leaver, NULL);
    if (last)
        pool_destroy(pool);
}

static void *
worker_main(void *user)
{
    struct worker worker = {.pool = user};
    struct mcpi_pool *pool = worker.pool;
    struct mcpi_job *job;

    worker_here = &worker;
    pthread_mutex_lock(&pool->lock);
    mcpi_list_append(&pool->workers, &worker.node);
    while (worker_await_job(pool)) {
        job = worker_begin(&worker);
        pthread_mutex_unlock(&pool->lock);
        job->work(job);
        pthread_mutex_lock(&pool->lock);
        worker_end(&worker);
    }
    worker_leave(&worker);
    worker_here = NULL;
    return NULL;
}

/* Under lock. Starts one if there is work for it and room. MCP_E_LIMIT: none could be
 * started and none is there. */
static int
pool_start_worker(struct mcpi_pool *pool)
{
    pthread_t thread; /* it tells its own name when it leaves */
    int r;

    if (pool->counts.queued <= pool->idle || pool_counted(pool) >= pool->max_counted)
        return 0;
    r = mcpi_thread_start(&thread, pool->stack, worker_main, pool);
    if (r < 0)
        return pool_counted(pool) > 0 ? 0 : r;
    pool->counts.threads++;
    pool->idle++;
    return 0;
}

/* ---- jobs ------------------------------------------------------------------- */

/* Under lock. */
static void
pool_take_back(struct mcpi_pool *pool, struct mcpi_job *job)
{
    mcpi_list_remove(&job->node);
    job->queued = false;
    pool->counts.queued--;
}

int
mcpi_pool_submit(struct mcpi_pool *pool, struct mcpi_job *job)
{
    int r;

    pthread_mutex_lock(&pool->lock);
    assert(!job->queued);
    mcpi_list_append(&pool->jobs, &job->node);
    job->queued = true;
    pool->counts.queued++;
    r = pool_start_worker(pool);
    if (r < 0)
        pool_take_back(pool, job);
    else if (pool->idle > 0)
        pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    return r;
}

bool
mcpi_pool_withdraw(struct mcpi_pool *pool, struct mcpi_job *job)
{
    bool queued;

    pthread_mutex_lock(&pool->lock);
    queued = job->queued;
    if (queued)
        pool_take_back(pool, job);
    pthread_mutex_unlock(&pool->lock);
    return queued;
}

/* Under lock. NULL: it waits, or is over. */
static struct worker *
pool_find_worker(const struct mcpi_pool *pool, const struct mcpi_job *job)
{
    struct mcpi_list *node;

    if (job->queued || job->run == 0)
        return NULL;
    for (node = pool->workers.next; node != &pool->workers; node = node->next) {
        struct worker *worker = MCPI_CONTAINER(node, struct worker, node);

        if (worker->run == job->run)
            return worker;
    }
    return NULL;
}

/* Under lock. True: there was no room, for the first time. */
static bool
worker_lose(struct worker *worker)
{
    struct mcpi_pool *pool = worker->pool;
    bool warn = false;

    if (worker->lost)
        return false;
    worker->lost = true;
    pool->counts.lost++;
    if (worker->away)
        return false;
    if (pool->away < pool->max_away) {
        worker_go_away(worker);
    } else {
        warn = !pool->warned;
        pool->warned = true;
    }
    return warn;
}

void
mcpi_pool_lose(struct mcpi_pool *pool, struct mcpi_job *job)
{
    struct worker *worker;
    bool warn;

    pthread_mutex_lock(&pool->lock);
    worker = pool_find_worker(pool, job);
    warn = worker && worker_lose(worker);
    pthread_mutex_unlock(&pool->lock);
    if (warn)
        MCPI_LOG(&pool->log, MCP_LOG_WARNING,
                 "%zu jobs do not end though they were told to; more of them now hold "
                 "workers that others need",
                 pool->max_away);
}

/* ---- waiting ---------------------------------------------------------------- */

/* Under lock. */
static int
worker_wait_begin(struct worker *worker)
{
    struct mcpi_pool *pool = worker->pool;

    if (!worker->away) {
        if (pool->away >= pool->max_away)
            return MCP_E_LIMIT;
        worker_go_away(worker);
        if (pool_counted(pool) == 0 && !mcpi_list_empty(&pool->jobs)) {
            worker->away = false;
            pool->away--;
            return MCP_E_LIMIT;
        }
    }
    worker->waiting = true;
    pool->counts.waiting++;
    return 0;
}

int
mcpi_pool_wait_begin(void)
{
    struct worker *worker = worker_here;
    int r = 0;

    if (!worker)
        return 0;
    if (worker->nested == 0) {
        pthread_mutex_lock(&worker->pool->lock);
        r = worker_wait_begin(worker);
        pthread_mutex_unlock(&worker->pool->lock);
    }
    if (r == 0)
        worker->nested++;
    return r;
}

void
mcpi_pool_wait_end(void)
{
    struct worker *worker = worker_here;

    if (!worker)
        return;
    assert(worker->nested > 0);
    if (--worker->nested > 0)
        return;
    pthread_mutex_lock(&worker->pool->lock);
    worker->waiting = false;
    worker->pool->counts.waiting--;
    if (!worker->lost)
        worker_come_back(worker);
    pthread_mutex_unlock(&worker->pool->lock);
}

bool
mcpi_pool_is_here(const struct mcpi_pool *pool)
{
    return worker_here && worker_here->pool == pool;
}

void
mcpi_pool_count(struct mcpi_pool *pool, struct mcpi_pool_counts *ret)
{
    pthread_mutex_lock(&pool->lock);
    *ret = pool->counts;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- making and freeing ----------------------------------------------------- */

static int
pool_open(struct mcpi_pool *pool)
{
    if (pthread_mutex_init(&pool->lock, NULL) != 0)
        return MCP_E_NOMEM;
    if (mcpi_cond_init(&pool->work) < 0)
        goto no_work;
    if (mcpi_cond_init(&pool->gone) < 0)
        goto no_gone;
    return 0;

no_gone:
    pthread_cond_destroy(&pool->work);
no_work:
    pthread_mutex_destroy(&pool->lock);
    return MCP_E_NOMEM;
}

int
mcpi_pool_new(const struct mcpi_pool_options *opt, struct mcpi_pool **ret_pool)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(opt->mem);
    struct mcpi_pool *pool;
    int r;

    pool = mcpi_alloc_zero(mem, sizeof(*pool));
    if (!pool)
        return MCP_E_NOMEM;
    pool->mem = mem;
    pool->log = opt->log;
    pool->max_counted = opt->workers ? opt->workers : DEFAULT_WORKERS;
    pool->max_away = opt->surplus ? opt->surplus : DEFAULT_SURPLUS;
    pool->stack = opt->stack;
    pool->idle_us = opt->idle_us ? opt->idle_us : DEFAULT_IDLE_US;
    mcpi_list_init(&pool->jobs);
    mcpi_list_init(&pool->workers);
    r = pool_open(pool);
    if (r < 0) {
        mcpi_free(mem, pool);
        return r;
    }
    *ret_pool = pool;
    return 0;
}

int
mcpi_pool_free(struct mcpi_pool *pool, int64_t within_us)
{
    int64_t until = mcpi_time_add(mcpi_loop_clock(), within_us);
    bool in_time = true;
    bool ended;

    if (!pool)
        return 0;
    assert(!mcpi_pool_is_here(pool));
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->work);
    while (pool->counts.threads > 0 && in_time)
        in_time = mcpi_cond_wait(&pool->gone, &pool->lock, until);
    ended = pool->counts.threads == 0;
    pool->abandoned = !ended;
    pthread_mutex_unlock(&pool->lock); /* from now on it is the last worker's */
    if (!ended)
        return MCP_E_TIMEOUT;
    if (pool->has_leaver)
        pthread_join(pool->leaver, NULL);
    pool_destroy(pool);
    return 0;
}
