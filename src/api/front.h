/*
 * front.h - what a client answers on its caller's own thread: is this id free, is the
 * connection open, how many calls are there
 *
 * An id is claimed before anything is handed to the loop, so that the caller knows it
 * from the start (A3) and hears at once that it is taken (A4). It is free again before
 * anybody hears that its call has ended (A8). All functions are [any].
 */
#ifndef MCPI_API_FRONT_H
#define MCPI_API_FRONT_H

#include <mcp/client.h>
#include <pthread.h>

#include "wire/id.h"

struct mcpi_front {
    pthread_mutex_t lock; /* a leaf; guards all below */
    struct mcpi_map claims;
    int64_t last_id;
    bool negotiates; /* the library's own ids are in flight */
    bool is_closed;
    mcp_client_counts counts;
};

/* Embedded by its owner, who sets id: verbatim, NONE to get one. */
struct mcpi_claim {
    struct mcpi_map_node node;
    struct mcpi_id id;
    struct mcpi_id key; /* folded */
    bool is_held;       /* under the front's lock: nobody else can have it */
};

/* negotiates: until mcpi_front_ready the ids of negotiation are taken. MCP_E_NOMEM if
 * the system has no lock left. */
int mcpi_front_init(struct mcpi_front *front, const mcp_allocator *mem,
                    const unsigned char seed[MCPI_SEED_SIZE], bool negotiates);
void mcpi_front_done(struct mcpi_front *front);

/* Negotiation is over: its ids are free. */
void mcpi_front_ready(struct mcpi_front *front);

/* Nothing can be claimed any more. */
void mcpi_front_close(struct mcpi_front *front);

/* Claim an id, and count a call as started. MCP_E_ID_IN_USE, MCP_E_CLOSED. */
int mcpi_front_claim(struct mcpi_front *front, struct mcpi_claim *claim);

/* Its call goes on under another id: the next number, other than the one it had and than
 * `first`, folded. The one it had is free. MCP_E_CLOSED: it keeps what it has;
 * MCP_E_CANCELED: it has none, nobody wants the call. */
int mcpi_front_renew(struct mcpi_front *front, struct mcpi_claim *claim,
                     const struct mcpi_id *first);

/* Its call is given up and will end: the id is free now. What is begun with it comes to
 * the loop after that end, if the loop was told of that before this. */
void mcpi_front_let_go(struct mcpi_front *front, struct mcpi_claim *claim);

/* Its call has ended with that status. */
void mcpi_front_release(struct mcpi_front *front, struct mcpi_claim *claim, int status);

/* All but size. */
void mcpi_front_count(struct mcpi_front *front, mcp_client_counts *ret);

#endif
