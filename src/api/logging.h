/* logging.h - log messages for clients, as the rest of the api sees them */
#ifndef MCPI_API_LOGGING_H
#define MCPI_API_LOGGING_H

#include <mcp/server.h>

#include "core/exchange.h"

/* The least severity that this request's client wants to hear; NONE: nothing. [loop] */
enum mcp_severity mcpi_log_from(const mcp_server *server,
                                const struct mcpi_exchange *x);

/* Likewise of a session, for what belongs to no request. [loop] */
enum mcp_severity mcpi_peer_log_from(const struct mcpi_peer *peer);

#endif
