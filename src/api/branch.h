/*
 * branch.h - what a server has on one loop: an engine, links, and what it tells there
 *
 * The first branch is the trunk, on the loop of the server itself. Others are replicas
 * (replica.c), each on a loop and a thread of its own, so that several loops can serve
 * one port. Catalogs, workers, middleware and options are the server's, one for all. A
 * request knows both: its host is the branch's, its server is the server.
 */
#ifndef MCPI_API_BRANCH_H
#define MCPI_API_BRANCH_H

#include <mcp/server.h>

#include "api/changes.h"
#include "api/host.h"
#include "api/saying.h"
#include "base/buf.h"

struct mcpi_branch {
    struct mcpi_host host;
    mcp_server *server;
    unsigned said;          /* of what is offered, in the capabilities; loop only */
    struct mcpi_buf says;   /* the capabilities, with room for all; loop only */
    struct mcpi_list links; /* loop only */
    bool stopping;          /* likewise */
    struct mcpi_news news;
    struct mcpi_sayings sayings;
};

/* ---- its links: links.c; [loop] ------------------------------------------- */

/* Something through which clients come: from adding to dropping it the branch does not
 * end. */
struct mcpi_server_link {
    struct mcpi_list node;
    /* Close, now or soon, and drop it then; perhaps from inside. Called once. */
    void (*close)(struct mcpi_server_link *self);
};

/* Not if the branch is stopping. */
void mcpi_branch_add_link(struct mcpi_branch *branch, struct mcpi_server_link *link);
/* It is not the branch's any more, which may take its next step. */
void mcpi_branch_drop_link(struct mcpi_branch *branch, struct mcpi_server_link *link);

/* Close all of them; those that close at once are gone. */
void mcpi_links_close(struct mcpi_branch *branch);

/* ---- its life: life.c; [loop] --------------------------------------------- */

/* It stops: no more links and events; what must be told is told. Close its links then. */
void mcpi_branch_stop(struct mcpi_branch *branch);

/* Something that keeps it has gone: the next step, if it was the last. */
void mcpi_branch_check(struct mcpi_branch *branch);

/* Is there neither a request nor an event that has yet to come home? */
bool mcpi_branch_is_quiet(struct mcpi_branch *branch);

/* ---- replicas: replica.c ---------------------------------------------------- */

/* See to it that the server has that many branches, the trunk included. MCP_E_CLOSED:
 * it has stopped; MCP_E_LIMIT: threads, descriptors; MCP_E_NOMEM. [any] */
int mcpi_server_grow(mcp_server *server, unsigned branches, mcp_error *err);

/* Branch 0 is the trunk; NULL: there are not so many. Stays until the server is gone.
 * [any] */
struct mcpi_branch *mcpi_server_branch(mcp_server *server, unsigned index);

/* Does a loop of this server run on this thread, or a worker, or is it its helpers'? Then
 * nobody waits for it here. [any] */
bool mcpi_server_is_here(mcp_server *server);

/* Stop them all; from now on there are no more of them. [the server's loop] */
void mcpi_replicas_stop(mcp_server *server);
/* No link is left on any branch: let them go, each when its last handler is home. [the
 * server's loop] */
void mcpi_replicas_leave(mcp_server *server);
/* All have gone: free them. */
void mcpi_replicas_done(mcp_server *server);

/* The next step of one, if there is one. [loop] */
void mcpi_replica_check(struct mcpi_branch *branch);

/* ---- all branches of a server ----------------------------------------------- */

/* Each of them: for (b = NULL; (b = mcpi_branch_next(server, b)) != NULL;). [any] */
struct mcpi_branch *mcpi_branch_next(mcp_server *server, struct mcpi_branch *branch);

#endif
