/*
 * lane.c - deliveries that run one at a time, in order
 *
 * `busy` is a right that one thread has at a time: to run the lane, or to hand it on to
 * the pool or the loop. Whoever adds the first delivery gets it and hands it on;
 * whoever runs the lane gives it up when nothing waits, under the same lock under which
 * others add. So a delivery is never left behind and no two run at the same time.
 */
#include "run/lane.h"

#include <assert.h>

#include "base/list.h"

/* After so many deliveries a lane lets others in: a call with much to tell must not
 * keep a worker, or the loop, for itself. */
#define LANE_TURN 32

/* Whoever calls this has the right to run it, and gives it to a worker or the loop. */
static void
lane_hand_on(struct mcpi_lane *lane)
{
    if (!lane->pool || mcpi_pool_submit(lane->pool, &lane->job) < 0)
        mcpi_loop_post(lane->loop, &lane->post);
}

/* Under lock. NULL: none waits. */
static struct mcpi_post *
lane_pop(struct mcpi_lane *lane)
{
    struct mcpi_post *delivery = lane->first;

    if (!delivery)
        return NULL;
    lane->first = delivery->next;
    if (!lane->first)
        lane->end = &lane->first;
    delivery->queued = false;
    return delivery;
}

/* Under lock, which is open while the delivery runs. */
static void
lane_deliver(struct mcpi_lane *lane, struct mcpi_post *delivery)
{
    lane->running = true;
    lane->thread = pthread_self();
    pthread_mutex_unlock(&lane->lock);
    delivery->fn(delivery);
    pthread_mutex_lock(&lane->lock);
    lane->running = false;
    lane->runs++;
    pthread_cond_broadcast(&lane->ended);
}

/* Has the right to run it, and gives it away. */
static void
lane_run(struct mcpi_lane *lane)
{
    void (*on_idle)(struct mcpi_lane * self) = lane->on_idle;
    struct mcpi_post *delivery;
    int count = 0;
    bool more;

    pthread_mutex_lock(&lane->lock);
    for (delivery = lane_pop(lane); delivery; delivery = lane_pop(lane)) {
        lane_deliver(lane, delivery);
        if (++count == LANE_TURN)
            break;
    }
    more = lane->first != NULL;
    lane->busy = more;
    pthread_mutex_unlock(&lane->lock);
    if (more)
        lane_hand_on(lane);
    else if (on_idle)
        on_idle(lane);
}

static void
on_job(struct mcpi_job *job)
{
    lane_run(MCPI_CONTAINER(job, struct mcpi_lane, job));
}

static void
on_post(struct mcpi_post *post)
{
    lane_run(MCPI_CONTAINER(post, struct mcpi_lane, post));
}

int
mcpi_lane_init(struct mcpi_lane *lane, struct mcpi_pool *pool, struct mcpi_loop *loop,
               void (*on_busy)(struct mcpi_lane *self),
               void (*on_idle)(struct mcpi_lane *self))
{
    *lane = (struct mcpi_lane){.pool = pool, .loop = loop};
    lane->on_busy = on_busy;
    lane->on_idle = on_idle;
    lane->end = &lane->first;
    lane->job.work = on_job;
    lane->post.fn = on_post;
    if (pthread_mutex_init(&lane->lock, NULL) != 0)
        return MCP_E_NOMEM;
    if (pthread_cond_init(&lane->ended, NULL) != 0) {
        pthread_mutex_destroy(&lane->lock);
        return MCP_E_NOMEM;
    }
    return 0;
}

void
mcpi_lane_done(struct mcpi_lane *lane)
{
    assert(!lane->first && !lane->busy && !lane->running);
    pthread_cond_destroy(&lane->ended);
    pthread_mutex_destroy(&lane->lock);
}

void
mcpi_lane_add(struct mcpi_lane *lane, struct mcpi_post *delivery)
{
    bool first = false;

    pthread_mutex_lock(&lane->lock);
    if (!delivery->queued) {
        delivery->queued = true;
        delivery->next = NULL;
        *lane->end = delivery;
        lane->end = &delivery->next;
        first = !lane->busy;
        lane->busy = true;
    }
    pthread_mutex_unlock(&lane->lock);
    if (!first)
        return;
    if (lane->on_busy)
        lane->on_busy(lane);
    lane_hand_on(lane);
}

void
mcpi_lane_clear(struct mcpi_lane *lane, void (*fn)(struct mcpi_post *delivery))
{
    struct mcpi_post *delivery, *next;

    pthread_mutex_lock(&lane->lock);
    delivery = lane->first;
    lane->first = NULL;
    lane->end = &lane->first;
    pthread_mutex_unlock(&lane->lock);
    for (; delivery; delivery = next) {
        next = delivery->next;
        pthread_mutex_lock(&lane->lock); /* until now it waits for everybody else */
        delivery->queued = false;
        pthread_mutex_unlock(&lane->lock);
        fn(delivery);
    }
}

/* Under lock. */
static bool
lane_runs_here(const struct mcpi_lane *lane)
{
    return lane->running && pthread_equal(lane->thread, pthread_self());
}

void
mcpi_lane_wait(struct mcpi_lane *lane)
{
    bool elsewhere, marked;
    unsigned runs;

    pthread_mutex_lock(&lane->lock);
    elsewhere = lane->running && !lane_runs_here(lane);
    runs = lane->runs;
    pthread_mutex_unlock(&lane->lock);
    if (!elsewhere)
        return;
    marked = mcpi_pool_wait_begin() == 0; /* else this worker counts meanwhile */
    pthread_mutex_lock(&lane->lock);
    while (lane->running && lane->runs == runs)
        pthread_cond_wait(&lane->ended, &lane->lock);
    pthread_mutex_unlock(&lane->lock);
    if (marked)
        mcpi_pool_wait_end();
}

bool
mcpi_lane_is_here(struct mcpi_lane *lane)
{
    bool here;

    pthread_mutex_lock(&lane->lock);
    here = lane_runs_here(lane);
    pthread_mutex_unlock(&lane->lock);
    return here;
}
