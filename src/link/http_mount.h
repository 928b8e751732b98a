/*
 * http_mount.h - an endpoint, from any thread
 *
 * A turn that somebody else carries: another HTTP server, or a connection on another
 * loop whose request belongs to a session of this one. The request is copied and posted
 * to the endpoint's loop; the answer comes there.
 */
#ifndef MCPI_LINK_HTTP_MOUNT_H
#define MCPI_LINK_HTTP_MOUNT_H

#include "link/http_endpoint.h"

/* Turns of a mount that was not opened yet; an open one takes as many as its endpoint
 * may have connections, for the same reason: each has a request in memory. */
#define MCPI_MOUNT_TURNS 16384

/* Where an endpoint can be found as long as it is there; counted, [any]. Made and ended
 * by whoever owns the endpoint, on its loop. */
struct mcpi_mount;
int mcpi_mount_new(struct mcpi_loop *loop, const struct mcpi_http_clients *clients,
                   struct mcpi_mount **ret_mount); /* [any] */
void mcpi_mount_open(struct mcpi_mount *mount,
                     struct mcpi_endpoint *endpoint); /* [loop] */
/* The endpoint has closed: what is handed in from now on is refused, but carriers may
 * still take what waits for them. True: nothing does; else idle(user) is called when all
 * is taken or given up, unless it is closed before. [loop] */
bool mcpi_mount_drain(struct mcpi_mount *mount, void (*idle)(void *user), void *user);
/* Its turns are aborted, and the endpoint hears that they are gone; what is handed in
 * from now on is refused. To be done before the endpoint is freed. Idempotent. [loop] */
void mcpi_mount_close(struct mcpi_mount *mount);
struct mcpi_mount *mcpi_mount_ref(struct mcpi_mount *mount);
void mcpi_mount_unref(struct mcpi_mount *mount); /* NULL ok */

/* Was it made in this process? After a fork none of this may be called in the child, but
 * for these two. */
bool mcpi_mount_is_ours(const struct mcpi_mount *mount);
bool mcpi_mount_turn_is_ours(const mcp_http_turn *turn);

/* The functions behind mcp_http_serve and its kin; see mcp/http.h. *ret_turn is written
 * before the first op can run. MCP_E_CLOSED; MCP_E_LIMIT: too many turns; MCP_E_NOMEM. */
int mcpi_mount_serve(struct mcpi_mount *mount, const struct mcpi_http_in *in,
                     const mcp_http_turn_ops *ops, void *user,
                     mcp_http_turn **ret_turn);
void mcpi_mount_turn_pause(mcp_http_turn *turn, bool pause);
void mcpi_mount_turn_free(mcp_http_turn *turn);

/* Serve a turn of this loop's on the endpoint of another loop, as if it were here. The
 * carrier sees no difference. If that cannot be, it is answered with 503. [here] */
void mcpi_relay_serve(struct mcpi_loop *here, struct mcpi_mount *there,
                      struct mcpi_turn *turn, const struct mcpi_http_in *in);

/* What is on its way to the other loop and has not left there, in bytes, before the
 * endpoint has to wait. As much as a socket takes by default, which is what would stand
 * between them otherwise. One event more may be under way, whatever its size. */
#define MCPI_RELAY_BYTES 65536

#endif
