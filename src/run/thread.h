/* thread.h - threads and their signals, and waits on the monotonic clock */
#ifndef MCPI_RUN_THREAD_H
#define MCPI_RUN_THREAD_H

#include <mcp/base.h>
#include <pthread.h>

/* Start a thread that blocks every signal a program may handle, so that its handlers
 * run where they always did; what a fault of the thread itself raises is left open.
 * stack in bytes; 0: the system's default. Somebody must join or detach it.
 * MCP_E_LIMIT. [any] */
int mcpi_thread_start(pthread_t *ret_thread, size_t stack, void *(*fn)(void *user),
                      void *user);

/* A write to a pipe that nobody reads raises SIGPIPE for the thread that writes. There
 * is no flag against it, as there is for sockets, and what the program does with
 * signals is its own. So block it on this thread, and before it is open again take what
 * has come meanwhile, but not what waited before (M21). In pairs, on one thread. */
struct mcpi_sigpipe {
    bool blocked, pending; /* before */
};
void mcpi_sigpipe_hold(struct mcpi_sigpipe *before);
void mcpi_sigpipe_release(const struct mcpi_sigpipe *before);

/* A condition whose waits have deadlines in monotonic microseconds. MCP_E_NOMEM. */
int mcpi_cond_init(pthread_cond_t *condition);

/* Wait, at most until the moment `at`; MCPI_NEVER: for ever. False: the time is up.
 * Under lock, as pthread_cond_wait. */
bool mcpi_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t at);

#endif
