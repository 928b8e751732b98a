/*
 * catalog.h - what a server offers of one kind, by its key
 *
 * In the order of the keys, byte by byte, which is the same whoever added them when. A
 * cursor says the key of the last offer of its page, so that pages survive changes of
 * the list, and is signed for its list, so that nobody but us makes one. All functions
 * are [any].
 */
#ifndef MCPI_API_CATALOG_H
#define MCPI_API_CATALOG_H

#include <pthread.h>

#include "api/offer.h"
#include "base/buf.h"
#include "base/map.h"

struct mcpi_catalog {
    const mcp_allocator *mem;
    pthread_mutex_t lock;       /* a leaf */
    const char *member;         /* of a result: "tools"; constant */
    struct mcpi_offer **offers; /* by key, each with a reference; under lock */
    size_t count, room;         /* likewise */
    uint64_t key[2];            /* of the cursors of this list; secret, constant */
};

/* member: of a result, and the name of the list; key: secret, may be that of other
 * lists too. MCP_E_NOMEM if the system has no lock left. */
int mcpi_catalog_init(struct mcpi_catalog *catalog, const mcp_allocator *mem,
                      const char *member, const unsigned char key[MCPI_SEED_SIZE]);
void mcpi_catalog_done(struct mcpi_catalog *catalog);

/* Add an offer, taking the caller's reference. MCP_E_INVAL: its key is taken;
 * MCP_E_NOMEM. */
int mcpi_catalog_add(struct mcpi_catalog *catalog, struct mcpi_offer *take_offer);

/* MCP_E_INVAL: there is none of that key. */
int mcpi_catalog_remove(struct mcpi_catalog *catalog, const char *key);

/* The offer of that key, with a reference for the caller, or NULL. */
struct mcpi_offer *mcpi_catalog_find(struct mcpi_catalog *catalog, const char *key,
                                     size_t len);

/* The offer after that key, which may be gone meanwhile, with a reference for the
 * caller, or NULL. key NULL: the first one. */
struct mcpi_offer *mcpi_catalog_after(struct mcpi_catalog *catalog, const char *key);

/* Append a page of at most `most` offers, as `"tools":[...]` and, if it is not the
 * last, `,"nextCursor":"..."`, as that era has them. cursor NULL: the first page.
 * MCP_E_INVAL: not a cursor of this list; MCP_E_NOMEM; a failure of the buffer is the
 * buffer's. */
int mcpi_catalog_page(struct mcpi_catalog *catalog, const char *cursor, size_t most,
                      bool modern, struct mcpi_buf *into);

#endif
