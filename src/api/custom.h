/*
 * custom.h - a method of the program's own: who serves it, and what its params must be
 *
 * A server has them in a catalog beside its tools, a client in one of its answerer.
 */
#ifndef MCPI_API_CUSTOM_H
#define MCPI_API_CUSTOM_H

#include <mcp/method.h>
#include <mcp/schema.h>

#include "api/catalog.h"
#include "base/list.h"
#include "base/log.h"
#include "wire/rpc.h"

struct mcpi_custom {
    struct mcpi_offer offer; /* its handler may be of no kind */
    mcp_fields *fields;      /* one of the two, or neither: any params */
    mcp_schema *schema;
    mcp_fields *result; /* NULL: none */
    mcp_told_fn *told;  /* NULL: no notifications */
    void *user;         /* for that */
};

static inline struct mcpi_custom *
mcpi_custom_of(struct mcpi_offer *offer)
{
    return MCPI_CONTAINER(offer, struct mcpi_custom, offer);
}

/* May a method of the program's own have this name? A sentence says why not; NULL: it
 * may. */
const char *mcpi_custom_name_fault(const char *name);

/* A method with one reference. MCP_E_INVAL: err names it and what is wrong with it. */
int mcpi_custom_new(const mcp_allocator *mem, const mcp_method *definition,
                    struct mcpi_custom **ret_custom, mcp_error *err);

/* Who serves the requests of that method, or is told its notifications, with a
 * reference for the caller; NULL: nobody. [any] */
struct mcpi_custom *mcpi_custom_find(struct mcpi_catalog *catalog,
                                     const struct mcpi_rpc *rpc);

/* Do these params fit? NULL: there are none. MCP_E_INVAL, MCP_E_LIMIT: err says in a
 * sentence why not; MCP_E_NOMEM. [any] */
int mcpi_custom_check(const struct mcpi_custom *custom, const mcp_json *params,
                      mcp_error *err);

/* Tell it, if the params fit. */
void mcpi_custom_tell(const struct mcpi_custom *custom, const struct mcpi_log *log,
                      const mcp_json *params);

/* A notification of the program's own that is to be sent: is this a name for one, and
 * are the params an object? They are appended as one line; NULL: none. MCP_E_INVAL,
 * MCP_E_NOMEM. */
int mcpi_custom_write_note(const mcp_allocator *mem, const char *method,
                           const char *params, struct mcpi_buf *into);

#endif
