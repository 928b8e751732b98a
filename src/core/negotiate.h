/*
 * negotiate.h - how a client finds out which era its server speaks
 *
 * Both: ask server/discover in the modern way. A result, or an error that only a modern
 * server gives, means modern; any other error means legacy, and so does silence on a
 * pipe, but not on a link where requests have streams of their own (X12). Legacy:
 * initialize, then notifications/initialized. What is started meanwhile waits in the
 * outlet. Neither request is ever canceled on the wire (B16, B17).
 */
#ifndef MCPI_CORE_NEGOTIATE_H
#define MCPI_CORE_NEGOTIATE_H

#include "core/peer.h"

/* Begin. The router's ready() tells how it went. MCP_E_STATE: no fresh client peer. */
int mcpi_peer_connect(struct mcpi_peer *peer, int64_t now);

/* Begin with what a modern server said of itself earlier, a DiscoverResult: nothing is
 * asked, and the peer is ready at once. MCP_E_PROTO: no version we have in common;
 * MCP_E_STATE as above. */
int mcpi_peer_adopt(struct mcpi_peer *peer, const mcp_json *discovery, int64_t now);

/* The peer is going: if negotiation was under way, the router hears that it failed. */
void mcpi_negotiate_abort(struct mcpi_peer *peer, int status);

#endif
