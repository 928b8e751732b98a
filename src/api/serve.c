/*
 * serve.c - a request has arrived: who serves it
 *
 * Every request of every method becomes a mcp_request, so that middleware sees them
 * all: those the library answers itself (initialize, server/discover, ping), those it
 * has a function for, and those it does not know. One that lasts may leave its
 * mcp_request behind (listen.c).
 */
#include "api/asking.h"
#include "api/custom.h"
#include "api/logging.h"
#include "api/methods.h"
#include "api/server.h"
#include "core/peer.h"

/* ---- while it is served ------------------------------------------------- */

static void
on_answered(struct mcpi_exchange *x, int code)
{
    mcp_request *req = x->served_user;

    mcpi_tally_answered(&req->host->tally, code);
    mcpi_middleware_after(req, code);
}

static void
on_flag(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    mcp_request *req = x->served_user;

    mcpi_tally_ended(&req->host->tally, how);
    (void)reason; /* the exchange keeps it */
    mcpi_request_flag(req);
}

static void
on_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    (void)how;
    (void)reason;
    mcpi_request_stop(x->served_user);
}

/* ---- its beginning ------------------------------------------------------ */

/* A retry that brings what it should not is refused before its handler runs. */
static int
begin_round(mcp_request *req)
{
    mcp_error why = {0};
    int r;

    r = mcpi_round_open(req, &why);
    if (r != MCP_E_INVAL)
        return r;
    mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s",
                        why.message);
    return MCP_E_PEER;
}

static void
on_begin(struct mcpi_exchange *x)
{
    mcp_request *req = x->served_user;
    int r;

    if (req->again) { /* it was counted, and has passed them */
        req->serve(req);
        return;
    }
    mcpi_tally_add(&req->host->tally.requests, 1);
    mcpi_tally_add(&req->host->tally.in_flight, 1);
    r = req->server ? mcpi_middleware_before(req) : 0;
    if (r == 0)
        r = begin_round(req);
    if (r != 0)
        (void)mcpi_request_end(req, r);
    else
        req->serve(req);
}

const struct mcpi_served_ops mcpi_request_ops = {
    .begin = on_begin, .flag = on_flag, .ended = on_ended, .answered = on_answered};

/* ---- one that lasts: subscriptions/listen ------------------------------- */

static void
on_listen_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    (void)how;
    (void)reason;
    mcpi_listen_stop(x->served_user);
}

static void
on_listen_closing(struct mcpi_exchange *x, struct mcpi_result *last)
{
    mcpi_listen_close(x->served_user, last);
}

static const struct mcpi_served_ops listen_ops = {.begin = on_begin,
                                                  .flag = on_flag,
                                                  .ended = on_listen_ended,
                                                  .answered = on_answered,
                                                  .closing = on_listen_closing};

mcp_request *
mcpi_request_of(const struct mcpi_exchange *x)
{
    bool ours = x->served == &mcpi_request_ops || x->served == &listen_ops;

    return ours && x->ending == MCPI_OPEN ? x->served_user : NULL;
}

/* ---- what it is --------------------------------------------------------- */

/* The library's own: answered on the spot, by whoever served it before us. */
static void
serve_inner(mcp_request *req)
{
    req->inner->begin(req->x);
    mcpi_request_part(req);
}

/* As core says it of a method that nobody routes. */
void
mcpi_request_unknown(mcp_request *req)
{
    mcpi_request_refuse(req, MCPI_RPC_METHOD_NOT_FOUND, "Method not found: %.*s",
                        (int)req->x->rpc.method_len, req->x->rpc.method_name);
    (void)mcpi_request_end(req, MCP_E_PEER);
}

static const struct method {
    enum mcpi_method method;
    unsigned offered;               /* the server must have some; 0: always served */
    void (*find)(mcp_request *req); /* NULL: nothing is to be found */
    void (*serve)(mcp_request *req);
} methods[] = {
    {MCPI_METHOD_TOOLS_LIST, MCP_TOOLS_CHANGED, NULL, mcpi_tools_list},
    {MCPI_METHOD_TOOLS_CALL, MCP_TOOLS_CHANGED, mcpi_tools_find, mcpi_tools_call},
    {MCPI_METHOD_RESOURCES_LIST, MCP_RESOURCES_CHANGED, NULL, mcpi_resources_list},
    {MCPI_METHOD_RESOURCES_TEMPLATES_LIST, MCP_RESOURCES_CHANGED, NULL,
     mcpi_templates_list},
    {MCPI_METHOD_RESOURCES_READ, MCP_RESOURCES_CHANGED, mcpi_resources_find,
     mcpi_resources_read},
    {MCPI_METHOD_PROMPTS_LIST, MCP_PROMPTS_CHANGED, NULL, mcpi_prompts_list},
    {MCPI_METHOD_PROMPTS_GET, MCP_PROMPTS_CHANGED, mcpi_prompts_find, mcpi_prompts_get},
    {MCPI_METHOD_COMPLETE, MCPI_OFFERS_COMPLETION, mcpi_completion_find,
     mcpi_completion_complete},
    {MCPI_METHOD_RESOURCES_SUBSCRIBE, MCP_RESOURCES_CHANGED, NULL,
     mcpi_resources_subscribe},
    {MCPI_METHOD_RESOURCES_UNSUBSCRIBE, MCP_RESOURCES_CHANGED, NULL,
     mcpi_resources_unsubscribe},
    {MCPI_METHOD_LISTEN, 0, NULL, mcpi_listen},
    {MCPI_METHOD_SET_LEVEL, 0, NULL, mcpi_set_level},
};

/* What was removed or added with an era is not there in the other. */
static bool
method_is_of(enum mcpi_method method, bool modern)
{
    switch (method) {
    case MCPI_METHOD_RESOURCES_SUBSCRIBE:
    case MCPI_METHOD_RESOURCES_UNSUBSCRIBE:
    case MCPI_METHOD_SET_LEVEL:
        return !modern;
    case MCPI_METHOD_LISTEN:
        return modern;
    default:
        return true;
    }
}

void
mcpi_request_take_offer(mcp_request *req, struct mcpi_offer *take_offer,
                        const struct mcpi_handler *handler, enum mcpi_result_kind kind)
{
    req->offer = take_offer;
    req->handler = handler;
    req->out.kind = kind;
    if (handler && handler->limit_us != 0)
        mcpi_exchange_limit(req->x, handler->limit_us);
}

void
mcpi_request_take_custom(mcp_request *req, struct mcpi_custom *take_custom)
{
    req->serve = mcpi_request_handle;
    req->out.custom = take_custom;
    mcpi_request_take_offer(req, &take_custom->offer, &take_custom->offer.handler,
                            MCPI_RESULT_CUSTOM);
}

static void
serve_by_method(mcp_request *req)
{
    bool modern = req->x->caller.dialect->modern;
    struct mcpi_custom *custom;
    const struct method *m;

    req->serve = mcpi_request_unknown;
    custom = mcpi_custom_find(&req->server->catalogs[MCPI_METHODS], &req->x->rpc);
    if (custom)
        mcpi_request_take_custom(req, custom);
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        m = &methods[i];
        if (m->method != req->x->rpc.method || !method_is_of(m->method, modern) ||
            (m->offered && !(req->server->offers & m->offered)))
            continue;
        req->serve = m->serve;
        if (m->find)
            m->find(req);
    }
}

/* A request of the server's, on that branch. */
static mcp_request *
request_of(struct mcpi_branch *branch, struct mcpi_exchange *x)
{
    mcp_request *req = mcpi_request_new(&branch->host, x);

    if (!req)
        return NULL;
    req->server = branch->server;
    atomic_init(&req->log_from, mcpi_log_from(branch->server, x));
    return req;
}

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    mcp_request *req = request_of(user, x);

    if (!req) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR, "%s", mcp_status_text(MCP_E_NOMEM));
        return MCP_E_NOMEM;
    }
    serve_by_method(req);
    mcpi_exchange_serve(x, req->serve == mcpi_listen ? &listen_ops : &mcpi_request_ops,
                        req);
    return 0;
}

/* Nothing passes the middleware by, not for want of memory either. */
static void
begin_without_memory(struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    mcpi_result_fail(&result, MCP_E_NOMEM);
    mcpi_exchange_finish(x, &result, x->engine->now);
}

static const struct mcpi_served_ops memory_ops = {.begin = begin_without_memory};

static void
on_observe(void *user, struct mcpi_exchange *x)
{
    struct mcpi_branch *branch = user;
    mcp_request *req = request_of(branch, x);

    mcpi_offers_say(branch); /* it may be what is asked for */
    if (x->rpc.method == MCPI_METHOD_INITIALIZE)
        x->peer->promised = branch->said;
    if (!req) {
        mcpi_exchange_serve(x, &memory_ops, NULL);
        return;
    }
    req->inner = x->served;
    req->serve = serve_inner;
    mcpi_exchange_serve(x, &mcpi_request_ops, req);
}

/* ---- what is no request ------------------------------------------------- */

static void
on_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
            struct mcpi_exchange *about)
{
    const struct mcpi_branch *branch = user;
    mcp_server *server = branch->server;
    bool theirs = note->method == MCPI_METHOD_OTHER ||
                  note->method == MCPI_METHOD_NOTE_ROOTS_CHANGED;
    struct mcpi_custom *custom;

    (void)peer;
    (void)about;
    custom = mcpi_custom_find(&server->catalogs[MCPI_METHODS], note);
    if (custom) {
        mcpi_custom_tell(custom, &branch->host.log, note->params);
        mcpi_offer_unref(&custom->offer);
    } else if (theirs && server->on_notification) {
        server->on_notification(server, note->method_name, note->params,
                                branch->host.user);
    }
}

static void
on_closed(void *user, struct mcpi_peer *peer, int status)
{
    const struct mcpi_branch *branch = user;

    (void)status;
    mcpi_elicited_lost(branch->server, peer);
}

const struct mcpi_router mcpi_server_router = {.route = on_route,
                                               .notified = on_notified,
                                               .closed = on_closed,
                                               .observe = on_observe};
