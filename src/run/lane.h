/*
 * lane.h - deliveries that run one at a time, in order, where they may block
 *
 * What a user's callbacks run on: each call has a lane of its own, so a slow callback
 * delays only itself (I12, I13). Deliveries run on workers of a pool or, without a
 * pool, on the loop's thread. If no worker can be had they run on the loop's thread
 * too: late is better than never.
 *
 *   idle -> (first delivery added) busy -> (last one has returned) idle
 *
 * A lane is a member of something that is counted. While it is busy a thread may be
 * about to touch it, also when no delivery waits or runs any more. So the owner counts
 * that as one owner more: it takes a reference in on_busy, which add calls on its own
 * thread before anything can run, and drops one in on_idle, which is the last thing
 * that is done: it may free the lane. An add at the same time as an ending can make the
 * next on_busy come before the on_idle of this one, so both must only count. No lock is
 * held in either.
 *
 * So a call, whose lane is its member, may be dropped by everybody, at any time: from
 * inside of its own last delivery, or with deliveries that still wait. It lives until
 * they have run, or were taken off, and is freed by the thread that sees the last of
 * it.
 */
#ifndef MCPI_RUN_LANE_H
#define MCPI_RUN_LANE_H

#include <pthread.h>

#include "run/loop.h"
#include "run/pool.h"

struct mcpi_lane {
    struct mcpi_pool *pool; /* NULL: on the loop */
    struct mcpi_loop *loop;
    void (*on_busy)(struct mcpi_lane *self);
    void (*on_idle)(struct mcpi_lane *self);
    pthread_mutex_t lock;           /* a leaf, not held while a delivery runs */
    pthread_cond_t ended;           /* a delivery has returned */
    struct mcpi_post *first, **end; /* waiting; under lock */
    bool busy;                      /* in the pool's or the loop's hands; under lock */
    bool running;                   /* a delivery is being run; under lock */
    unsigned runs;                  /* deliveries that have returned; under lock */
    pthread_t thread;               /* that runs one; under lock */
    struct mcpi_job job;
    struct mcpi_post post;
};

/* on_busy and on_idle may be NULL, for a lane that outlives whatever runs on it.
 * MCP_E_NOMEM if the system has no lock left. */
int mcpi_lane_init(struct mcpi_lane *lane, struct mcpi_pool *pool,
                   struct mcpi_loop *loop, void (*on_busy)(struct mcpi_lane *self),
                   void (*on_idle)(struct mcpi_lane *self));

/* It is idle. On_idle may do this. */
void mcpi_lane_done(struct mcpi_lane *lane);

/* Append a delivery; cannot fail. Zero it and set fn; fn may free it or add it again.
 * One that waits already keeps its place and runs once. The caller has a reference to
 * the lane's owner; the pool and the loop live at least until the lane is idle.
 * [any] */
void mcpi_lane_add(struct mcpi_lane *lane, struct mcpi_post *delivery);

/* Take all deliveries off that have not begun; fn is called with each of them, in
 * order, with no lock held. [any] */
void mcpi_lane_clear(struct mcpi_lane *lane, void (*fn)(struct mcpi_post *delivery));

/* Wait until the delivery that runs at the moment, if any, has returned. From inside
 * it: returns at once. With a clear before, and nobody who adds: afterwards no delivery
 * runs and none will. [any] */
void mcpi_lane_wait(struct mcpi_lane *lane);

/* Is this thread inside a delivery of this lane? [any] */
bool mcpi_lane_is_here(struct mcpi_lane *lane);

#endif
