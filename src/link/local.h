/*
 * local.h - one end of a memory pair, driven by the loop of its engine
 *
 * A pair is made by one thread and its two ends are opened each on the thread of its
 * engine. The same contract as a stream, without descriptors.
 */
#ifndef MCPI_LINK_LOCAL_H
#define MCPI_LINK_LOCAL_H

#include "link/pair.h"
#include "run/loop.h"

struct mcpi_local;

struct mcpi_local_options {
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_pair *pair;
    unsigned index; /* 0 or 1 */
    /* As in stream.h. */
    void (*closed)(void *user, struct mcpi_local *local);
    void *user;
};

/* Open that end of the pair. After a failure it is still not opened, and the caller's:
 * see mcpi_pair_unmake. [loop] */
int mcpi_local_new(const struct mcpi_local_options *opt, struct mcpi_local **ret_local);

/* Frees it, its end and its peer; the other end sees the close. Not from inside core's
 * callbacks. The loop keeps a little memory for one more turn, or until it is freed.
 * [loop] NULL ok */
void mcpi_local_free(struct mcpi_local *local);

struct mcpi_peer *mcpi_local_peer(const struct mcpi_local *local);
struct mcpi_pair_end *mcpi_local_end(const struct mcpi_local *local);

#endif
