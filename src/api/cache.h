/*
 * cache.h - what a server said may be kept: pages of its lists, and resources
 *
 * A modern server says with such a result for how long it is fresh (ttlMs). It is kept
 * as the message that brought it, and is what a later call of the same method and the
 * same parameters is answered with, until it is stale, the server says that it has
 * changed, or newer ones need its room. Time is an argument. Loop thread only, but for
 * mcpi_cache_key_read.
 */
#ifndef MCPI_API_CACHE_H
#define MCPI_API_CACHE_H

#include <mcp/json.h>

#include "base/list.h"
#include "base/map.h"
#include "wire/method.h"

/* A program looks at a few lists and resources again and again; what is beyond that is
 * asked for again. */
#define MCPI_CACHE_ENTRIES_MAX 256
#define MCPI_CACHE_BYTES_MAX ((size_t)16 << 20)

/* tools/list, prompts/list, resources/list, resources/templates/list, resources/read */
#define MCPI_CACHE_METHODS 5

struct mcpi_cache {
    const mcp_allocator *mem;
    struct mcpi_map entries;
    struct mcpi_list order; /* the oldest first */
    size_t bytes;           /* of all documents */
    /* How often something was forgotten because it had changed, for each method: what
     * was asked for before such a moment is not kept after it. */
    uint64_t changes[MCPI_CACHE_METHODS];
};

/* What is asked: the cursor of a list, the URI of a resource. A request with any other
 * parameter has no key, and is neither kept nor answered from here. */
struct mcpi_cache_key {
    enum mcpi_method method; /* OTHER: no key */
    const char *text;        /* NULL: the first page */
    size_t len;
};

void mcpi_cache_init(struct mcpi_cache *cache, const mcp_allocator *mem,
                     const unsigned char seed[MCPI_SEED_SIZE]);
void mcpi_cache_done(struct mcpi_cache *cache);

/* The key of a request; params is an object or NULL, from which the key borrows its
 * text. [any] */
struct mcpi_cache_key mcpi_cache_key_read(const char *method, const mcp_json *params);

/* What is kept for it and fresh at that moment (microseconds), with a reference for the
 * caller; or NULL. */
mcp_doc *mcpi_cache_find(struct mcpi_cache *cache, const struct mcpi_cache_key *key,
                         int64_t now);

/* How often results of this method were forgotten because of a change. */
uint64_t mcpi_cache_changes(const struct mcpi_cache *cache, enum mcpi_method method);

/* Keep an answer that came at that moment, if its result says that it may be kept.
 * asked: mcpi_cache_changes when it was asked for. One for which there is no memory is
 * not kept. */
void mcpi_cache_keep(struct mcpi_cache *cache, const struct mcpi_cache_key *key,
                     uint64_t asked, mcp_doc *answer, int64_t now);

/* Something has changed; change is one or several. uri: of the resource, for
 * MCP_RESOURCE_UPDATED; NULL: any of them. */
void mcpi_cache_forget(struct mcpi_cache *cache, enum mcp_change change,
                       const char *uri);

/* All pages of a list: one of its cursors is good no more. */
void mcpi_cache_drop(struct mcpi_cache *cache, enum mcpi_method method);

#endif
