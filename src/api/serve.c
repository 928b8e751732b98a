/*
 * serve.c - a request has arrived: who serves it
 *
 * Every request of every method becomes a mcp_request, so that middleware sees them
 * all: those the library answers itself (initialize, server/discover, ping), those it
 * has a function for, and those it does not know.
 */
#include "api/request.h"
#include "api/server.h"

/* ---- while it is served ------------------------------------------------- */

static void
on_answered(struct mcpi_exchange *x, int code)
{
    mcp_request *req = x->served_user;
    struct mcpi_tally *tally = &req->server->tally;

    mcpi_tally_add(&tally->in_flight, -1);
    mcpi_tally_add(code == 0 ? &tally->answered : &tally->failed, 1);
    mcpi_middleware_after(req, code);
}

static atomic_uint_fast64_t *
tally_of(struct mcpi_tally *tally, enum mcpi_ending how)
{
    switch (how) {
    case MCPI_CANCELED:
        return &tally->by_peer;
    case MCPI_LIMITED:
        return &tally->by_limit;
    case MCPI_CLOSED:
        return &tally->by_stop;
    default:
        return &tally->by_loss;
    }
}

static void
on_flag(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    mcp_request *req = x->served_user;

    mcpi_tally_add(&req->server->tally.in_flight, -1);
    mcpi_tally_add(tally_of(&req->server->tally, how), 1);
    mcpi_request_flag(req, reason);
}

static void
on_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    (void)how;
    (void)reason;
    mcpi_request_stop(x->served_user);
}

/* ---- its beginning ------------------------------------------------------ */

static void
on_begin(struct mcpi_exchange *x)
{
    mcp_request *req = x->served_user;
    int r;

    mcpi_tally_add(&req->server->tally.requests, 1);
    mcpi_tally_add(&req->server->tally.in_flight, 1);
    r = mcpi_middleware_before(req);
    if (r != 0)
        (void)mcpi_request_end(req, r);
    else
        req->serve(req);
}

static const struct mcpi_served_ops request_ops = {
    .begin = on_begin, .flag = on_flag, .ended = on_ended, .answered = on_answered};

/* The library's own: answered on the spot, by whoever served it before us. */
static void
serve_inner(mcp_request *req)
{
    mcp_server *server = req->server;

    req->inner->begin(req->x);
    atomic_store(&req->over, true);
    mcpi_request_release(req);
    mcpi_request_free(req);
    mcpi_server_check(server);
}

/* As core says it of a method that nobody routes. */
static void
serve_unknown(mcp_request *req)
{
    mcpi_request_refuse(req, MCPI_RPC_METHOD_NOT_FOUND, "Method not found: %.*s",
                        (int)req->x->rpc.method_len, req->x->rpc.method_name);
    (void)mcpi_request_end(req, MCP_E_PEER);
}

static const struct method {
    enum mcpi_method method;
    void (*serve)(mcp_request *req);
} methods[] = {
    {MCPI_METHOD_TOOLS_LIST, mcpi_tools_list},
    {MCPI_METHOD_TOOLS_CALL, mcpi_tools_call},
};

static void
serve_by_method(mcp_request *req)
{
    req->serve = serve_unknown;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (methods[i].method == req->x->rpc.method)
            req->serve = methods[i].serve;
    }
}

/* Known before it begins, because the limit of a run is the tool's. */
static void
serve_tool(mcp_request *req)
{
    const mcp_json *name = mcp_json_get(req->x->rpc.params, "name");

    if (req->x->rpc.method != MCPI_METHOD_TOOLS_CALL ||
        mcp_json_get_type(name) != MCP_JSON_STRING)
        return;
    req->tool = mcpi_catalog_find(&req->server->catalog, mcp_json_string(name, ""),
                                  mcp_json_string_length(name));
    req->out.tool = req->tool;
    if (req->tool && req->tool->limit_us != 0)
        mcpi_exchange_limit(req->x, req->tool->limit_us);
}

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    mcp_request *req = mcpi_request_new(user, x);

    if (!req) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR, "%s", mcp_status_text(MCP_E_NOMEM));
        return MCP_E_NOMEM;
    }
    serve_by_method(req);
    serve_tool(req);
    mcpi_exchange_serve(x, &request_ops, req);
    return 0;
}

/* Nothing passes the middleware by, not for want of memory either. */
static void
begin_without_memory(struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_result_error(&result, MCPI_RPC_INTERNAL_ERROR, "%s",
                      mcp_status_text(MCP_E_NOMEM));
    mcpi_exchange_finish(x, &result, x->engine->now);
}

static const struct mcpi_served_ops memory_ops = {.begin = begin_without_memory};

static void
on_observe(void *user, struct mcpi_exchange *x)
{
    mcp_request *req = mcpi_request_new(user, x);

    if (!req) {
        mcpi_exchange_serve(x, &memory_ops, NULL);
        return;
    }
    req->inner = x->served;
    req->serve = serve_inner;
    mcpi_exchange_serve(x, &request_ops, req);
}

const struct mcpi_router mcpi_server_router = {.route = on_route,
                                               .observe = on_observe};
