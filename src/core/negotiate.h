/*
 * negotiate.h - how a client finds out which era its server speaks
 *
 * Both: ask server/discover in the modern way. A result, or an error that only a modern
 * server gives, means modern; any other error means legacy, and so does an answer that
 * is none, or a status of HTTP, but for those that say nothing of the era: who may come
 * in, and who is down; MCP_E_AUTH is the end. Silence means legacy on a pipe, but not on
 * a link where requests have streams of their own (X12). Legacy: initialize, then
 * notifications/initialized. What is started meanwhile waits in the outlet. Neither
 * request is ever canceled on the wire (B16, B17).
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

/* Begin again, with initialize and that version: the peer is NEGOTIATING, and was READY
 * before. If it cannot even begin, it is closed; if it closes already, nothing. */
void mcpi_negotiate_again(struct mcpi_peer *peer, const char *version);

/* The peer is going: if negotiation was under way, the router hears that it failed. */
void mcpi_negotiate_abort(struct mcpi_peer *peer, int status);

#endif
