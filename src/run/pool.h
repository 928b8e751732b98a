/*
 * pool.h - worker threads for what may block, bounded twice
 *
 * A job waits in order until a worker is free. Workers start when there is work and go
 * when there has been none for a while. At most `workers` of them count at a time. One
 * that waits inside the library (mcpi_pool_wait_begin), or whose job was told to stop
 * and does not (mcpi_pool_lose), does not count, so it holds only itself and never
 * starves the others (F5); up to `surplus` such workers.
 *
 *   job:  QUEUED -> RUNNING -> over      QUEUED -> withdrawn
 *
 * One lock, a leaf, never held while a job runs. All functions are [any].
 */
#ifndef MCPI_RUN_POOL_H
#define MCPI_RUN_POOL_H

#include "base/list.h"
#include "base/log.h"

struct mcpi_pool;

struct mcpi_pool_options {
    const mcp_allocator *mem; /* NULL: malloc */
    struct mcpi_log log;
    size_t workers;  /* that count; 0: 16 */
    size_t surplus;  /* that do not, at most; 0: 64 */
    size_t stack;    /* bytes of a worker's stack; 0: the system's default */
    int64_t idle_us; /* an idle worker goes after that; 0: 10 s */
};

/* Embedded by its owner, who zeroes it and sets work. work is the last to know it: the
 * pool does not touch a job once work has been called, so that work may hand it to
 * another thread that frees it, or submit it again. */
struct mcpi_job {
    struct mcpi_list node; /* under the pool's lock */
    bool queued;           /* likewise */
    uint64_t run;          /* likewise: which run of the pool this is; 0: none yet */
    void (*work)(struct mcpi_job *self);
};

struct mcpi_pool_counts {
    size_t threads; /* alive, idle ones included */
    size_t busy;    /* in a job */
    size_t lost;    /* of the busy ones: told to stop, still there; counted or not */
    size_t waiting; /* of the busy ones: inside a wait of ours; may be lost, too */
    size_t queued;  /* jobs */
};

int mcpi_pool_new(const struct mcpi_pool_options *opt, struct mcpi_pool **ret_pool);

/* Let the queued jobs run, let the workers go, and wait for them, at most within_us.
 * 0: all are gone and joined. MCP_E_TIMEOUT: some job does not end; the pool is then
 * freed by the last of its workers, whenever that is, with the allocator it was made
 * with. Either way it must not be used any more, by other than the jobs that still run.
 * Nobody submits any more. Not from a worker of its own. NULL ok. */
int mcpi_pool_free(struct mcpi_pool *pool, int64_t within_us);

/* Append a job. MCP_E_LIMIT: there is no worker that counts and none can be started;
 * the job is not queued then. */
int mcpi_pool_submit(struct mcpi_pool *pool, struct mcpi_job *job);

/* Take it back. True: work did not run and will not. */
bool mcpi_pool_withdraw(struct mcpi_pool *pool, struct mcpi_job *job);

/* This job was told to stop. If it runs, its worker does not count from now on until it
 * returns; if the surplus is used up, from when there is room again. Nothing otherwise.
 * The job must not be freed yet. */
void mcpi_pool_lose(struct mcpi_pool *pool, struct mcpi_job *job);

/* This thread is about to block inside the library: if it is a worker (of any pool) it
 * does not count until wait_end. MCP_E_LIMIT: the surplus is used up, or jobs wait and
 * nobody would be left to run them: do not block, and call no wait_end. 0 and nothing
 * to do on other threads; pairs may nest. wait_end never blocks: the bound is exceeded
 * for a moment instead. */
int mcpi_pool_wait_begin(void);
void mcpi_pool_wait_end(void);

/* Is this thread a worker of this pool? */
bool mcpi_pool_is_here(const struct mcpi_pool *pool);

void mcpi_pool_count(struct mcpi_pool *pool, struct mcpi_pool_counts *ret);

#endif
