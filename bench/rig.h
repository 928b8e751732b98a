/*
 * rig.h - what is measured: a client and a server on one thread, over the memory link
 *
 * A rig keeps a number of requests in flight: whenever one is done, the next is
 * started. Only rig_exchange and rig_cancel move it, each by exactly one request.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include "core/call.h"
#include "core/exchange.h"
#include "core/negotiate.h"
#include "link/pair.h"

/* An allocator that counts. */
struct tally {
    mcp_allocator allocator;
    size_t allocations; /* ever; a realloc counts as one */
    size_t blocks;      /* now */
};

enum { CLIENT, SERVER };

struct rig {
    struct tally tally;
    struct mcpi_timers timers;
    int64_t now; /* microseconds, of its own */
    struct mcpi_engine *engine[2];
    struct mcpi_pair_end *end[2];
    bool due[2];                    /* ends that have something to do */
    struct mcpi_exchange **waiting; /* requests to answer: a ring, oldest first */
    size_t first, count, room;
    size_t done;    /* calls that ended with a result */
    size_t stopped; /* handlers that were told to stop */
    uint64_t random;
    char request[1024], response[1024]; /* the last ones on the wire */
};

/* A rig with `depth` requests in flight. counted: memory comes through the tally, which
 * costs time. Ends the program if something goes wrong, as all functions here do. */
struct rig *rig_new(enum mcpi_era era, size_t depth, bool counted);
void rig_free(struct rig *rig); /* and sees to it that nothing is left */

enum rig_order { RIG_FIFO, RIG_RANDOM };

/* One request is answered, its call is done, the next call is started and arrives. */
void rig_exchange(struct rig *rig, enum rig_order order);

/* One call is started and arrives, is canceled, and its handler is told and stops. */
void rig_cancel(struct rig *rig);

#endif
