/* logging.h - log messages for clients, as the rest of the api sees them */
#ifndef MCPI_API_LOGGING_H
#define MCPI_API_LOGGING_H

#include <mcp/server.h>

#include "base/list.h"
#include "core/exchange.h"
#include "run/post.h"

struct mcpi_branch;

/* Messages of a server that wait for the loop of a branch. */
struct mcpi_sayings {
    struct mcpi_post post; /* some wait */

    /* under the server's lock: */
    struct mcpi_list list;
    size_t count, bytes, dropped;
};

void mcpi_sayings_init(struct mcpi_branch *branch);

/* Those that wait are dropped. */
void mcpi_sayings_done(struct mcpi_branch *branch);

/* The least severity that this request's client wants to hear; NONE: nothing. [loop] */
enum mcp_severity mcpi_log_from(const mcp_server *server,
                                const struct mcpi_exchange *x);

#endif
