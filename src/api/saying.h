/*
 * saying.h - what a server tells all its sessions, and belongs to no request
 *
 * Only sessions of 2025-11-25 and before are told: later versions have nowhere to hear
 * it. Whoever says something does so on any thread; it waits for the loop of each
 * branch.
 */
#ifndef MCPI_API_SAYING_H
#define MCPI_API_SAYING_H

#include <mcp/server.h>

#include "base/buf.h"
#include "base/list.h"
#include "run/post.h"

struct mcpi_branch;

/* What waits for the loop of a branch. */
struct mcpi_sayings {
    struct mcpi_post post; /* some wait */

    /* under the server's lock: */
    struct mcpi_list list;
    size_t count, bytes, dropped;
};

void mcpi_sayings_init(struct mcpi_branch *branch);

/* Those that wait are dropped. */
void mcpi_sayings_done(struct mcpi_branch *branch);

/* Tell all sessions that want to hear of this severity; NONE: everybody, it is no log
 * message. params is empty if there are none. What is too much is dropped, and counted
 * in the log. MCP_E_NOMEM. [any] */
int mcpi_sayings_add(mcp_server *server, enum mcp_severity severity, const char *method,
                     const struct mcpi_buf *params);

#endif
