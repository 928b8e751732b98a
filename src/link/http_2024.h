/*
 * http_2024.h - HTTP+SSE of 2024-11-05: one GET stream for all that a server says
 *
 * GET opens the stream, whose first event names where to POST; each POST is 202, and
 * answers come on the stream. Lost stream: the session ends and its handlers are
 * canceled, since nothing can be delivered any more (D23).
 */
#ifndef MCPI_LINK_HTTP_2024_H
#define MCPI_LINK_HTTP_2024_H

#include "link/http_endpoint.h"

/* Is this request for that transport? */
bool mcpi_http_2024_wants(const struct mcpi_endpoint *endpoint,
                          const struct mcpi_http_in *in);

/* Does it belong to a session of another shard? That can be told from the head, so that
 * who asks is found out once, where it is served. */
bool mcpi_http_2024_elsewhere(const struct mcpi_endpoint *endpoint,
                              const struct mcpi_http_in *in, unsigned *ret_shard);

/* The peer of the session that it names, of any principal; NULL: there is no such
 * session. */
struct mcpi_peer *mcpi_http_2024_named(const struct mcpi_endpoint *endpoint,
                                       const struct mcpi_http_in *in);

/* Serve it, for them. */
void mcpi_http_2024_serve(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                          const struct mcpi_http_in *in,
                          const struct mcpi_http_who *who);

/* Our own stop: each session is closed. */
void mcpi_http_2024_close(struct mcpi_endpoint *endpoint);

#endif
