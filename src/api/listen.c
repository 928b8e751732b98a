/*
 * listen.c - subscriptions/listen, resources/subscribe, resources/unsubscribe
 *
 * A listen request has no handler: from its beginning to its end it is a listener of
 * core's. It ends by a cancel or the loss of its client, silently; by our own stop, with
 * a result; or because its client does not keep up, with an error.
 *
 * There may be very many, and quiet. Where no middleware was asked nobody will look at
 * the request again: only the exchange and its listener stay.
 *
 * Whoever subscribes may name any resource, also one that is not there: it may come, and
 * what is told of a resource need not be listed.
 */
#include <string.h>

#include "api/branch.h"
#include "api/changes.h"
#include "api/methods.h"
#include "api/resource.h"
#include "api/server.h"
#include "core/names.h"
#include "core/peer.h"
#include "core/subscribe.h"

/* ---- subscriptions/listen ----------------------------------------------- */

static const char too_slow[] =
    "The subscription has ended: not all of it could be told";

/* ---- one without its request: the listener is served_user ---------------- */

static struct mcpi_tally *
tally_of(const struct mcpi_exchange *x)
{
    struct mcpi_branch *branch = x->engine->router_user;

    return &branch->host.tally;
}

static void
alone_close(struct mcpi_exchange *x, struct mcpi_result *last)
{
    struct mcpi_listener *listener = x->served_user;

    x->served_user = NULL;
    mcpi_listener_close(listener, last);
}

static void
alone_flag(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    (void)reason;
    mcpi_tally_ended(tally_of(x), how);
}

static void
alone_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct mcpi_result none;

    (void)how;
    (void)reason;
    alone_close(x, NULL);
    mcpi_tally_add(&tally_of(x)->stopped, 1);
    mcpi_result_init(&none, x->engine);
    mcpi_exchange_finish(x, &none, x->engine->now);
}

static void
alone_answered(struct mcpi_exchange *x, int code)
{
    mcpi_tally_answered(tally_of(x), code);
}

static const struct mcpi_served_ops alone_ops = {.flag = alone_flag,
                                                 .ended = alone_ended,
                                                 .answered = alone_answered,
                                                 .closing = alone_close};

static void
alone_fail(struct mcpi_exchange *x)
{
    struct mcpi_result error;

    alone_close(x, NULL);
    mcpi_result_init(&error, x->engine);
    mcpi_result_error(&error, MCPI_RPC_INTERNAL_ERROR, "%s", too_slow);
    mcpi_exchange_finish(x, &error, x->engine->now);
}

static void
listen_alone(mcp_request *req)
{
    mcpi_exchange_forget(req->x);
    mcpi_exchange_serve(req->x, &alone_ops, req->listener);
    mcpi_request_part(req);
}

/* ---- one with its request ------------------------------------------------ */

static void
on_slow(void *user)
{
    struct mcpi_exchange *x = user;
    mcp_request *req = mcpi_request_of(x);

    if (!req) {
        alone_fail(x);
        return;
    }
    mcpi_listen_close(req, NULL);
    mcpi_request_refuse(req, MCPI_RPC_INTERNAL_ERROR, "%s", too_slow);
    (void)mcpi_request_end(req, MCP_E_PEER);
}

static unsigned
topics_of(const mcp_server *server)
{
    unsigned offers = server->offers;

    return offers & MCP_RESOURCES_CHANGED ? offers | MCP_RESOURCE_UPDATED : offers;
}

void
mcpi_listen(mcp_request *req)
{
    struct mcpi_exchange *x = req->x;
    const struct mcpi_listener_options opt = {
        .offered = topics_of(req->server), .slow = on_slow, .user = x};
    bool alone = req->passed == 0; /* no middleware will ask what it was */
    struct mcpi_refusal why = {.code = 0};
    int r;

    r = mcpi_listener_open(x, &opt, &req->listener, &why);
    if (r == 0 && x->ending == MCPI_OPEN && alone) /* else it may have gone */
        listen_alone(req);
    if (r == 0)
        return;
    if (why.code == 0) {
        (void)mcpi_request_end(req, r);
        return;
    }
    mcpi_request_refuse(req, why.code, "%s", why.message);
    (void)mcpi_request_end(req, MCP_E_PEER);
}

void
mcpi_listen_close(mcp_request *req, struct mcpi_result *last)
{
    struct mcpi_listener *listener = req->listener;

    req->listener = NULL;
    if (listener)
        mcpi_listener_close(listener, last);
    else if (last)
        mcpi_result_error(last, req->x->caller.dialect->closed_code,
                          "Connection closed");
}

void
mcpi_listen_stop(mcp_request *req)
{
    mcpi_listen_close(req, NULL);
    mcpi_request_stop(req);
    (void)mcpi_request_end(req, MCP_E_CANCELED);
}

/* ---- resources/subscribe, resources/unsubscribe -------------------------- */

void
mcpi_request_agree(mcp_request *req)
{
    struct mcpi_buf *body = &req->out.answer.body;

    MCPI_BUF_LITERAL(body, "{}");
    (void)mcpi_request_end(req, body->status);
}

/* NULL: it was rejected. */
static const char *
uri_of(mcp_request *req)
{
    const mcp_json *uri = mcp_json_get(req->x->rpc.params, "uri");
    const char *text = mcp_json_string(uri, NULL);

    if (text && mcp_json_string_length(uri) <= MCPI_WATCHED_URI_MAX &&
        mcpi_uri_fits(text, mcp_json_string_length(uri)))
        return text;
    mcpi_request_reject(req, "uri must be the URI of a resource");
    return NULL;
}

void
mcpi_resources_subscribe(mcp_request *req)
{
    const char *uri = uri_of(req);
    struct mcpi_refusal why;
    int r;

    if (!uri)
        return;
    r = mcpi_peer_subscribe(req->x->peer, uri, &why);
    if (r == 0) {
        mcpi_request_agree(req);
        return;
    }
    if (r == MCP_E_LIMIT) {
        mcpi_request_refuse(req, why.code, "%s", why.message);
        r = MCP_E_PEER;
    } else if (r == MCP_E_NO_CHANNEL) {
        mcpi_request_refuse(req, MCPI_RPC_INVALID_REQUEST,
                            "Invalid request: there is no session to subscribe for");
        r = MCP_E_PEER;
    }
    (void)mcpi_request_end(req, r);
}

void
mcpi_resources_unsubscribe(mcp_request *req)
{
    const char *uri = uri_of(req);

    if (!uri)
        return;
    (void)mcpi_peer_unsubscribe(req->x->peer, uri); /* it is not there now */
    mcpi_request_agree(req);
}
