/* http_client_2024.c - HTTP+SSE of 2024-11-05, the client's side */
#include "link/http_client_2024.h"

#include <stdio.h>
#include <string.h>

#include "link/http_fields.h"
#include "link/http_url.h"

static void old_set_flow(struct mcpi_http_old *old);

/* The version came later than this transport: nobody would read it. */
static int
old_get(struct mcpi_http_old *old)
{
    struct mcpi_buf lines;
    int r;

    mcpi_buf_init(&lines, old->target->mem, MCPI_HTTP_LINES_MAX);
    mcpi_http_fields_get(&lines);
    mcpi_http_target_fields(old->target, &lines, "", 0);
    r = mcpi_http_permit_sign(old->target, &old->permit, "GET", old->flow.url, &lines);
    if (r == 0)
        r = mcpi_http_flow_start(&old->flow, "GET", lines.data, lines.len, NULL, 0);
    mcpi_http_permit_wipe(&lines);
    mcpi_buf_done(&lines);
    if (r == MCP_E_AGAIN) {
        old->ops->rests(old->user, true);
        return 0;
    }
    return r;
}

static void
old_end(struct mcpi_http_old *old)
{
    bool was_open = mcpi_http_old_is_open(old);

    mcpi_http_old_close(old);
    old->ops->ended(old->user, was_open ? NULL : &old->refusal);
}

static void
old_keep_refusal(struct mcpi_http_old *old, const struct mcpi_fault *fault)
{
    old->refusal = *fault;
    (void)snprintf(old->why, sizeof(old->why), "%s", fault->why ? fault->why : "");
    old->refusal.why = old->why;
}

/* ---- authorization --------------------------------------------------------- */

static void
old_refused(struct mcpi_http_old *old, int status, int http, const char *why)
{
    const struct mcpi_fault fault = {
        .status = status, .http = http, .unsent = true, .why = why};

    old_keep_refusal(old, &fault);
    old_end(old);
}

static void
permit_ready(struct mcpi_http_permit *permit, int status, int http, const char *why)
{
    struct mcpi_http_old *old = MCPI_CONTAINER(permit, struct mcpi_http_old, permit);

    old->ops->rests(old->user, false);
    mcpi_http_permit_tell(old->target, status);
    if (status < 0) {
        old_refused(old, status, http, why);
        return;
    }
    old_set_flow(old);
    if (old_get(old) < 0)
        old_end(old); /* as initialize was refused */
}

static int
flow_head(void *user, const struct mcpi_fetch_head *head)
{
    struct mcpi_http_old *old = user;
    char why[MCPI_HTTP_WHY_MAX];
    int r;

    r = mcpi_http_permit_hear(old->target, &old->permit, head, why, sizeof(why));
    if (r == 0)
        return 0;
    mcpi_http_flow_close(&old->flow);
    if (r == MCP_E_AGAIN)
        old->ops->rests(old->user, true);
    else
        old_refused(old, r, head->status, why);
    return MCP_E_CLOSED;
}

/* ---- what comes ------------------------------------------------------------ */

static void
flow_message(void *user, const struct mcpi_rpc *rpc)
{
    struct mcpi_http_old *old = user;
    struct mcpi_arrival arrival = {.take_doc = rpc->doc, .rpc = rpc};

    if (!old->target->deaf && mcpi_http_old_is_open(old)) {
        mcpi_peer_receive(old->peer, &arrival, mcpi_http_target_now(old->target));
        return;
    }
    mcp_doc_free(rpc->doc);
    if (!mcpi_http_old_is_open(old))
        old_end(old); /* the endpoint comes first, or it is no such server */
}

static void
flow_event(void *user, const struct mcpi_sse_event *event)
{
    struct mcpi_http_old *old = user;
    char shown[MCPI_HTTP_WHY_MAX];
    int r;

    if (!event->type || strcmp(event->type, "endpoint") != 0 ||
        mcpi_http_old_is_open(old))
        return;
    r = mcpi_http_url_resolve(&old->endpoint, old->target->url, event->data,
                              event->data_len);
    if (r < 0) {
        mcpi_buf_clear(&old->endpoint);
        MCPI_LOG(mcpi_http_target_log(old->target), MCP_LOG_WARNING,
                 "http: the server names an endpoint that is not its own, or none");
        old_end(old);
        return;
    }
    MCPI_TELL(old->target->engine, "2024-11-05: messages go to %s",
              mcpi_http_url_show(old->endpoint.data, false, shown, sizeof(shown)));
    old->target->post_url = old->endpoint.data;
    old->ops->found(old->user);
}

static void
flow_ended(void *user, const struct mcpi_fault *fault)
{
    struct mcpi_http_old *old = user;

    MCPI_LOG(mcpi_http_target_log(old->target), MCP_LOG_INFO,
             "http: the stream of 2024-11-05 ended: %s",
             fault && fault->why ? fault->why : "the server closed it");
    MCPI_TELL(old->target->engine, "the stream of 2024-11-05 ended");
    if (fault && (fault->http == 401 || fault->http == 403))
        old_keep_refusal(old, fault); /* it is there, for others */
    old_end(old);
}

static const struct mcpi_http_flow_ops flow_ops = {.head = flow_head,
                                                   .message = flow_message,
                                                   .event = flow_event,
                                                   .ended = flow_ended};

static void
old_set_flow(struct mcpi_http_old *old)
{
    mcpi_http_target_flow(old->target, &old->flow, old->target->url, &flow_ops, old);
}

void
mcpi_http_old_init(struct mcpi_http_old *old)
{
    mcpi_buf_init(&old->endpoint, old->target->mem, (size_t)3 * MCPI_HTTP_URL_LIMIT);
    old->permit = (struct mcpi_http_permit){.ready = permit_ready};
    old_set_flow(old);
}

void
mcpi_http_old_done(struct mcpi_http_old *old)
{
    if (!old->target)
        return;
    mcpi_http_old_close(old);
    old->target->post_url = old->target->url;
    mcpi_buf_done(&old->endpoint);
}

int
mcpi_http_old_open(struct mcpi_http_old *old, const struct mcpi_fault *refusal)
{
    int r;

    mcpi_http_old_close(old);
    old_keep_refusal(old, refusal);
    mcpi_buf_clear(&old->endpoint);
    old->permit = (struct mcpi_http_permit){.ready = permit_ready};
    old_set_flow(old);
    r = old_get(old);
    if (r < 0)
        mcpi_http_old_close(old);
    return r;
}

void
mcpi_http_old_close(struct mcpi_http_old *old)
{
    mcpi_http_permit_leave(old->target, &old->permit);
    if (old->flow.state == MCPI_FLOW_STREAM)
        MCPI_TELL(old->target->engine, "closed the stream of 2024-11-05");
    mcpi_http_flow_close(&old->flow);
}

bool
mcpi_http_old_is_open(const struct mcpi_http_old *old)
{
    return old->endpoint.len > 0;
}
