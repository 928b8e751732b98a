/* middleware.c - what stands around every request of a server */
#include <string.h>

#include "api/request.h"
#include "api/server.h"
#include "base/mem.h"

int
mcp_server_use(mcp_server *server, const mcp_middleware *given)
{
    mcp_middleware middleware;
    mcp_middleware *all;

    if (!server || !given ||
        mcpi_options_read(&middleware, sizeof(middleware), given) < 0)
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0 || atomic_load(&server->reachable))
        return MCP_E_STATE;
    all = mcpi_realloc(server->trunk.host.mem, server->middleware,
                       (server->middleware_count + 1) * sizeof(all[0]));
    if (!all)
        return MCP_E_NOMEM;
    all[server->middleware_count] = middleware;
    server->middleware = all;
    server->middleware_count++;
    return 0;
}

int
mcpi_middleware_before(mcp_request *req)
{
    const mcp_server *server = req->server;
    const mcp_middleware *one;
    int r = 0;

    while (r == 0 && req->passed < server->middleware_count) {
        one = &server->middleware[req->passed];
        req->passed++;
        if (one->before)
            r = one->before(req, one->user);
    }
    return r;
}

void
mcpi_middleware_after(mcp_request *req, int rpc_code)
{
    const mcp_middleware *one;

    while (req->passed > 0) {
        req->passed--;
        one = &req->server->middleware[req->passed];
        if (one->after)
            one->after(req, rpc_code, one->user);
    }
}

void
mcpi_middleware_canceled(mcp_request *req)
{
    const mcp_middleware *one;

    while (req->passed > 0) {
        req->passed--;
        one = &req->server->middleware[req->passed];
        if (one->on_cancel)
            one->on_cancel(req, req->x->reason, one->user);
    }
}
