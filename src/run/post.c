/* post.c - the one door to an owner thread */
#include "run/post.h"

#include <assert.h>

int
mcpi_posts_init(struct mcpi_posts *posts, mcpi_wake_fn *wake, void *user)
{
    *posts = (struct mcpi_posts){.wake = wake, .user = user};
    posts->end = &posts->first;
    return pthread_mutex_init(&posts->lock, NULL) == 0 ? 0 : MCP_E_NOMEM;
}

void
mcpi_posts_done(struct mcpi_posts *posts)
{
    assert(!posts->first && !posts->batch);
    pthread_mutex_destroy(&posts->lock);
}

bool
mcpi_posts_add(struct mcpi_posts *posts, struct mcpi_post *node)
{
    bool added, wake;

    pthread_mutex_lock(&posts->lock);
    added = !node->queued;
    wake = added && !posts->first && posts->wake;
    if (added) {
        node->queued = true;
        node->next = NULL;
        *posts->end = node;
        posts->end = &node->next;
    }
    pthread_mutex_unlock(&posts->lock);
    if (wake)
        posts->wake(posts->user);
    return added;
}

/* The next node of the batch, off the queue from now on; NULL: none left. The lock
 * is for `queued`: a node of the batch still waits for everybody else. */
static struct mcpi_post *
batch_pop(struct mcpi_posts *posts)
{
    struct mcpi_post *node = posts->batch;

    if (!node)
        return NULL;
    posts->batch = node->next;
    pthread_mutex_lock(&posts->lock);
    node->queued = false;
    pthread_mutex_unlock(&posts->lock);
    return node;
}

size_t
mcpi_posts_run(struct mcpi_posts *posts)
{
    struct mcpi_post *node;
    size_t count = 0;

    if (posts->running)
        return 0;
    posts->running = true;
    /* The queue is left empty, so that whoever posts from now on wakes us again. */
    pthread_mutex_lock(&posts->lock);
    posts->batch = posts->first;
    posts->first = NULL;
    posts->end = &posts->first;
    pthread_mutex_unlock(&posts->lock);
    for (node = batch_pop(posts); node; node = batch_pop(posts)) {
        node->fn(node);
        count++;
    }
    posts->running = false;
    return count;
}
