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
 * lies below: a/b lies below a, and below a/. What is not yet told waits, once. If it
 * cannot be kept, because there is too much of it or no memory, a listener ends as slow,
 * and a session is told that all that it watches has changed. A URI that is not UTF-8 is
 * told to nobody. */
void mcpi_engine_publish(struct mcpi_engine *engine, const struct mcpi_event *event,
                         int64_t now);

/* ---- legacy: sessions ------------------------------------------------------- */

/* Tell this session of changes of the resource. Twice is as once. MCP_E_LIMIT, and why
 * says which: too many, a URI longer than MCPI_WATCHED_URI_MAX, or no share of memory is
 * left; MCP_E_NO_CHANNEL: nobody would be there to be told (stateless); MCP_E_NOMEM. */
int mcpi_peer_subscribe(struct mcpi_peer *peer, const char *uri,
                        struct mcpi_refusal *why);
/* False: it was not subscribed. */
bool mcpi_peer_unsubscribe(struct mcpi_peer *peer, const char *uri);

/* This part of a peer, when it begins, is lost, and is freed. */
void mcpi_session_init(struct mcpi_peer *peer);
void mcpi_session_lost(struct mcpi_peer *peer);
void mcpi_session_done(struct mcpi_peer *peer);

#endif
