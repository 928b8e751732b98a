/*
 * http_service.h - an endpoint on each of some branches of a server, as links of theirs
 *
 * A shard is the part on one branch: endpoint, mount, and a listener unless somebody
 * else has the sockets. It closes with its branch: no more connections, then what is
 * served ends, then the connections go.
 */
#ifndef MCPI_API_HTTP_SERVICE_H
#define MCPI_API_HTTP_SERVICE_H

#include "api/http_settings.h"
#include "api/server.h"
#include "link/http_mount.h"
#include "link/tls.h"

struct mcpi_http_service_options {
    mcp_server *server;
    struct mcpi_http_settings *settings; /* a reference is taken */
    struct mcpi_tls_context *tls;        /* likewise; or NULL */
    const int *take_fds; /* a listening socket for each shard, taken on success; NULL:
                            none listens */
    unsigned shards;
    bool loopback;
    int port;
};

/* Open it, soon: each loop opens its shard. *ret_mount, unless NULL: the first shard's,
 * with a reference for the caller. MCP_E_NOMEM, MCP_E_LIMIT, MCP_E_CLOSED. [any] */
int mcpi_http_service_open(const struct mcpi_http_service_options *opt,
                           struct mcpi_mount **ret_mount, mcp_error *err);

#endif
