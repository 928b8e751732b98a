/*
 * needs.h - the scopes that a request needs
 *
 * Those of every request, and those that the program says of what stands in this one's
 * body (`needs` of mcp/auth.h). What is no message, or an answer, needs nothing of its own:
 * it is refused, or it was asked for.
 */
#ifndef MCPI_AUTH_NEEDS_H
#define MCPI_AUTH_NEEDS_H

#include "auth/guard.h"
#include "auth/refusal.h"

/* Write them, terminated. with_body: what stands in there counts too. NULL: found; else
 * why nobody is let in. What the program says are no scopes is such a reason: to leave it
 * out would be to let in who lacks it. [any] */
const struct mcpi_refusal *mcpi_needs_find(const mcp_guard *guard,
                                           const mcp_http_request *request,
                                           bool with_body, struct mcpi_buf *into);

#endif
