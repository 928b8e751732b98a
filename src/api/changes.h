/*
 * changes.h - what has changed, on its way to the clients
 *
 *   a list of ours    waits a little, so that many changes are one; then to the bus
 *   a resource        to the bus at once
 *   from the bus      kept as a set, each event once, until the loop tells them all
 *
 * What a server says comes back to it over its bus, as what others say does, so there is
 * one way to the clients.
 */
#ifndef MCPI_API_CHANGES_H
#define MCPI_API_CHANGES_H

#include <mcp/server.h>

#include "base/list.h"
#include "base/map.h"
#include "base/timers.h"
#include "run/post.h"

struct mcpi_branch;

struct mcpi_news {
    mcp_bus bus;
    mcp_local_bus *own_bus;  /* the same, if it is ours; else NULL */
    void *ticket;            /* of the bus; loop only */
    int64_t wait_us;         /* how long changes of a list wait; < 0: not at all */
    struct mcpi_timer timer; /* until they are published; loop only */
    struct mcpi_post post;   /* something waits for the loop */

    /* under the server's lock: */
    bool posted;
    bool closed;     /* nothing more is taken from the bus */
    unsigned own;    /* lists of ours that have changed: mcp_change; the trunk's */
    unsigned lists;  /* from the bus, likewise */
    bool everything; /* so many resources that not all are in uris */
    struct mcpi_list uris;  /* from the bus, each once */
    struct mcpi_map by_uri; /* the same */
};

/* Subscribe the trunk to the bus of the options, or to one of its own. The last step of
 * making a server, because events come from then on. */
int mcpi_news_open(mcp_server *server, const mcp_server_options *opt, mcp_error *err);

/* Subscribe another branch, likewise as the last step. */
int mcpi_news_join(struct mcpi_branch *branch, mcp_error *err);

/* Tell what waits, and leave the bus. [loop] */
void mcpi_news_close(struct mcpi_branch *branch);

/* Does the loop still have something to do for it? [loop] */
bool mcpi_news_waits(struct mcpi_branch *branch);

/* Closed, or never opened. */
void mcpi_news_done(struct mcpi_branch *branch);

#endif
