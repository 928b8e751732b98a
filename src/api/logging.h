/* logging.h - log messages for clients, as the rest of the api sees them */
#ifndef MCPI_API_LOGGING_H
#define MCPI_API_LOGGING_H

#include <mcp/server.h>

#include "base/list.h"
#include "core/exchange.h"
#include "run/post.h"

/* Messages of a server that wait for its loop. */
struct mcpi_sayings {
    struct mcpi_post post; /* some wait */

    /* under the server's lock: */
    struct mcpi_list list;
    size_t count, bytes, dropped;
};

void mcpi_sayings_init(mcp_server *server);

/* Those that wait are dropped. */
void mcpi_sayings_done(mcp_server *server);

/* The least severity that this request's client wants to hear; NONE: nothing. [loop] */
enum mcp_severity mcpi_log_from(const mcp_server *server,
                                const struct mcpi_exchange *x);

#endif
