/*
 * catalog.h - the tools of a server, by name
 *
 * In the order of their names, which is the same whoever added them when. A cursor says
 * the name of the last tool of its page, so that pages survive changes of the list, and
 * is signed, so that nobody but us makes one. All functions are [any].
 */
#ifndef MCPI_API_CATALOG_H
#define MCPI_API_CATALOG_H

#include <pthread.h>

#include "api/tool.h"
#include "base/buf.h"
#include "base/map.h"

struct mcpi_catalog {
    const mcp_allocator *mem;
    pthread_mutex_t lock;     /* a leaf */
    struct mcpi_tool **tools; /* by name, each with a reference; under lock */
    size_t count, room;       /* likewise */
    uint64_t key[2];          /* of cursors; secret, constant */
};

/* MCP_E_NOMEM if the system has no lock left. */
int mcpi_catalog_init(struct mcpi_catalog *catalog, const mcp_allocator *mem,
                      const unsigned char key[MCPI_SEED_SIZE]);
void mcpi_catalog_done(struct mcpi_catalog *catalog);

/* Add a tool, taking the caller's reference. MCP_E_INVAL: its name is taken;
 * MCP_E_NOMEM. */
int mcpi_catalog_add(struct mcpi_catalog *catalog, struct mcpi_tool *take_tool);

/* MCP_E_INVAL: there is none of that name. */
int mcpi_catalog_remove(struct mcpi_catalog *catalog, const char *name);

/* The tool of that name, with a reference for the caller, or NULL. */
struct mcpi_tool *mcpi_catalog_find(struct mcpi_catalog *catalog, const char *name,
                                    size_t len);

/* Append a page of at most `most` tools, as `"tools":[...]` and, if it is not the last,
 * `,"nextCursor":"..."`. cursor NULL: the first page. MCP_E_INVAL: not a cursor of
 * ours; MCP_E_NOMEM; a failure of the buffer is the buffer's. */
int mcpi_catalog_page(struct mcpi_catalog *catalog, const char *cursor, size_t most,
                      struct mcpi_buf *into);

#endif
