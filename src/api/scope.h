/* scope.h - the public scope, as the library's own layers see it */
#ifndef MCPI_API_SCOPE_H
#define MCPI_API_SCOPE_H

#include <mcp/client.h>

#include "run/scope.h"

/* A public scope is the scope inside, by another name. NULL for NULL. */
static inline struct mcpi_scope *
mcpi_scope_inside(const mcp_scope *scope)
{
    return (struct mcpi_scope *)(uintptr_t)scope;
}

/* What is wrong with starting something under it now: 0, MCP_E_CANCELED,
 * MCP_E_TOTAL_TIMEOUT. NULL: 0. [any] */
int mcpi_scope_check(const mcp_scope *scope, mcp_error *err);

#endif
