/*
 * subscribe.h - who wants to hear of changes, and is told
 *
 * Server side, both eras. A modern client listens (listener.h). A legacy client is told
 * of changed lists without asking, and of resources that it has subscribed to.
 */
#ifndef MCPI_CORE_SUBSCRIBE_H
#define MCPI_CORE_SUBSCRIBE_H

#include "core/listener.h"

/* Tell everybody who asked for it; for a resource that is who named it, or one that it
 * lies below: a/b lies below a, and below a/. What cannot be told for want of memory
 * ends that listener as if it were slow. A URI that is not UTF-8 is told to nobody. */
void mcpi_engine_publish(struct mcpi_engine *engine, const struct mcpi_event *event,
                         int64_t now);

/* ---- legacy: sessions ------------------------------------------------------- */

/* Tell this session of changes of the resource. Twice is as once. MCP_E_LIMIT: too
 * many; MCP_E_NOMEM. */
int mcpi_peer_subscribe(struct mcpi_peer *peer, const char *uri);
/* False: it was not subscribed. */
bool mcpi_peer_unsubscribe(struct mcpi_peer *peer, const char *uri);

/* The peer is freed. */
void mcpi_peer_unsubscribe_all(struct mcpi_peer *peer);

#endif
