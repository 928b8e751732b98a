/*
 * post.h - the one door to an owner thread: work that others hand in, run there in
 * order
 *
 * Nodes are embedded in what they belong to, so posting allocates nothing and cannot
 * fail.
 */
#ifndef MCPI_RUN_POST_H
#define MCPI_RUN_POST_H

#include <mcp/base.h>
#include <pthread.h>

/* Zero it and set fn; the rest is the queue's. It must live until fn is called, and
 * may be freed or posted again in there. */
struct mcpi_post {
    struct mcpi_post *next;
    void (*fn)(struct mcpi_post *self);
    bool queued; /* waits to be run; under the queue's lock */
};

/* Called on the posting thread, with no lock held, when the queue was empty: makes the
 * owner call mcpi_posts_run soon. */
typedef void mcpi_wake_fn(void *user);

struct mcpi_posts {
    pthread_mutex_t lock;
    struct mcpi_post *first; /* under lock */
    struct mcpi_post **end;  /* where the next one goes; under lock */
    struct mcpi_post *batch; /* being run; owner thread only */
    bool running;            /* owner thread only */
    mcpi_wake_fn *wake;
    void *user;
};

/* wake may be NULL. MCP_E_NOMEM if the system has no lock left. */
int mcpi_posts_init(struct mcpi_posts *posts, mcpi_wake_fn *wake, void *user);

/* Nothing waits any more and nobody posts any more, nor is still inside wake. */
void mcpi_posts_done(struct mcpi_posts *posts);

/* Append a node. False: it waits already and keeps its place; it will run once.
 * [any] */
bool mcpi_posts_add(struct mcpi_posts *posts, struct mcpi_post *node);

/* Run what waits at the moment of the call, in the order it came, and return how
 * many that were. What is posted meanwhile waits for the next call, so this one
 * ends. From inside a node: does nothing, returns 0. [owner thread] */
size_t mcpi_posts_run(struct mcpi_posts *posts);

#endif
