/*
 * subscription_queue.h - changes that wait to be heard of: each once, in the order in
 * which they came first
 *
 * Bounded twice: by the number of changes, and by the bytes of their URIs. Whoever has
 * it keeps others away; nothing here has a lock.
 */
#ifndef MCPI_API_SUBSCRIPTION_QUEUE_H
#define MCPI_API_SUBSCRIPTION_QUEUE_H

#include <mcp/subscription.h>

#include "base/list.h"
#include "base/map.h"

/* URIs that wait, in all: a server may send long ones. */
#define MCPI_NOTICE_BYTES_MAX ((size_t)16 << 20)

#define MCPI_NOTICES_LISTS 3 /* tools, prompts, resources */

struct mcpi_notice {
    struct mcpi_list node; /* in no list: does not wait */
    enum mcp_change change;
};

struct mcpi_notices {
    const mcp_allocator *mem;
    struct mcpi_list waiting;
    struct mcpi_notice lists[MCPI_NOTICES_LISTS];
    struct mcpi_map uris;      /* of those that wait */
    struct mcpi_notice *taken; /* keeps the URI that was given out; NULL: none */
    size_t count, bytes;       /* that wait */
    size_t most;               /* that may */
};

void mcpi_notices_init(struct mcpi_notices *q, const mcp_allocator *mem,
                       const unsigned char seed[MCPI_SEED_SIZE], size_t most);
void mcpi_notices_done(struct mcpi_notices *q);

/* Drop what waits; what was given out last stays valid. */
void mcpi_notices_clear(struct mcpi_notices *q);

/* Add a change; one that waits already keeps its place. uri: of MCP_RESOURCE_UPDATED.
 * MCP_E_LIMIT: it is full; MCP_E_NOMEM. */
int mcpi_notices_add(struct mcpi_notices *q, enum mcp_change change, const char *uri);

/* Take the first; its URI is valid until the next is taken. False: none waits. */
bool mcpi_notices_take(struct mcpi_notices *q, mcp_notice *ret);

#endif
