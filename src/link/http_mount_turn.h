/*
 * http_mount_turn.h - one turn of a mount, and what it shares with that
 *
 * A turn has two owners: who carries it, until mcpi_mount_turn_free, and the loop, until
 * the answer was delivered or given up. Each post that waits counts as one more.
 *
 *   handed in -> begun -> over      the loop's part; over once
 *   freed                           the carrier's part, at any moment
 *
 * The one lock of the mount guards what several threads look at. It is never held while
 * anybody is called.
 */
#ifndef MCPI_LINK_HTTP_MOUNT_TURN_H
#define MCPI_LINK_HTTP_MOUNT_TURN_H

#include <pthread.h>
#include <sys/types.h>

#include "link/http_mount.h"

struct mcpi_mount {
    const mcp_allocator *mem;
    pid_t pid;                      /* whose it is */
    struct mcpi_loop *loop;         /* not touched any more once it is closed */
    struct mcpi_endpoint *endpoint; /* or NULL; loop only */
    struct mcpi_list turns;         /* begun and not over; loop only */
    void (*idle)(void *user);       /* there are none any more, or NULL; loop only */
    void *idle_user;
    pthread_mutex_t lock;    /* a leaf, for what follows, and for turns */
    pthread_cond_t moved;    /* an op has returned, or a post was made */
    unsigned refs;           /* its owners, and each turn */
    unsigned posting;        /* threads that are about to post */
    size_t count, max_count; /* of turns */
    size_t max_body;
    struct mcpi_http_clients clients; /* the accounts are counted */
    bool draining, closed;
};

static inline void
mcpi_mount_lock(struct mcpi_mount *mount)
{
    pthread_mutex_lock(&mount->lock);
}

static inline void
mcpi_mount_unlock(struct mcpi_mount *mount)
{
    pthread_mutex_unlock(&mount->lock);
}

/* Under lock, which is given back. */
void mcpi_mount_unref_unlock(struct mcpi_mount *mount);

/* A turn that is handed in by who holds it from now on, with a copy of the request; not
 * counted by the mount yet, and not posted. NULL: no memory. [any] */
mcp_http_turn *mcpi_mount_turn_new(struct mcpi_mount *mount,
                                   const struct mcpi_http_in *in, size_t max_body,
                                   const mcp_http_turn_ops *ops, void *user);

/* It is not handed in after all. */
void mcpi_mount_turn_discard(mcp_http_turn *turn);

/* Have the loop look at it, unless that has nothing to do with it any more. Under lock,
 * which is given back. [any] */
void mcpi_mount_turn_post_unlock(mcp_http_turn *turn);

/* Of the mount's list. Tell the endpoint that its client is gone, and the carrier that
 * no answer comes. It may be freed by that. [loop] */
void mcpi_mount_turn_give_up(struct mcpi_list *in_mount);

#endif
