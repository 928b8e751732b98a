/*
 * shelf.h - a token store, asked from the loop without waiting
 *
 * Each question is an errand; its answer comes on the loop, unless it was dropped. A lock
 * that nobody wants any more when it comes is given back. [loop]
 */
#ifndef MCPI_AUTH_SHELF_H
#define MCPI_AUTH_SHELF_H

#include <mcp/auth.h>

#include "auth/errand.h"
#include "base/buf.h"

struct mcpi_shelf {
    const mcp_allocator *mem; /* one that wipes */
    struct mcpi_errands *errands;
    const mcp_token_store *store; /* NULL: nothing is kept */
};

struct mcpi_shelf_op;

/* text: what was loaded, or NULL; borrowed for the call. Of a lock: op is the caller's to
 * unlock if status is 0; of all else it is gone when this returns. */
typedef void mcpi_shelf_fn(void *user, struct mcpi_shelf_op *op, int status,
                           const char *text);

/* MCP_E_NOMEM: nothing was begun. key is copied; text is copied, NULL: forget it. */
int mcpi_shelf_load(struct mcpi_shelf *shelf, const char *key, mcpi_shelf_fn *done,
                    void *user, struct mcpi_shelf_op **ret_op);
int mcpi_shelf_save(struct mcpi_shelf *shelf, const char *key, const char *text,
                    mcpi_shelf_fn *done, void *user, struct mcpi_shelf_op **ret_op);
/* MCP_E_AGAIN comes as its status if somebody else has it. */
int mcpi_shelf_lock(struct mcpi_shelf *shelf, const char *key, mcpi_shelf_fn *done,
                    void *user, struct mcpi_shelf_op **ret_op);
void mcpi_shelf_unlock(struct mcpi_shelf_op *op);

/* Nobody waits for it. NULL ok. */
void mcpi_shelf_drop(struct mcpi_shelf_op *op);

#endif
