/*
 * elicited.h - who was asked to do something elsewhere, by a URL, and waits to hear that
 * it is done (2025-11-25, client/elicitation)
 *
 * Known by the id of the elicitation until it is done, the client is gone, or so many
 * have been asked since that it is forgotten.
 */
#ifndef MCPI_API_ELICITED_H
#define MCPI_API_ELICITED_H

#include <mcp/server.h>

#include "base/list.h"
#include "core/engine.h"

/* All under the server's lock. */
struct mcpi_elicited {
    struct mcpi_list asked; /* the oldest first */
    size_t count;           /* of them */
    struct mcpi_list done;  /* on their way to be told */
};

void mcpi_elicited_init(mcp_server *server);
void mcpi_elicited_done(mcp_server *server);

/* This client was asked under that id, which is UTF-8. One of the same id is forgotten.
 * A client of a version that knows no such message is not noted. MCP_E_NOMEM. [loop of
 * the peer] */
int mcpi_server_note_elicitation(mcp_server *server, const char *id,
                                 struct mcpi_peer *peer);

/* The peer is lost. [its loop] */
void mcpi_elicited_lost(mcp_server *server, const struct mcpi_peer *peer);

#endif
