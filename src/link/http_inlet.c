/* http_inlet.c - the GET stream of a legacy session */
#include "link/http_inlet.h"

static void
inlet_forget_time(struct mcpi_http_inlet *inlet)
{
    inlet->is_awaited = false;
    mcpi_timer_disarm(mcpi_http_target_timers(inlet->target), &inlet->patience);
}

static void
inlet_settle(struct mcpi_http_inlet *inlet)
{
    if (!inlet->is_awaited)
        return;
    inlet_forget_time(inlet);
    inlet->settled(inlet->user);
}

static void
on_patience(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    inlet_settle(MCPI_CONTAINER(timer, struct mcpi_http_inlet, patience));
}

static void
flow_fields(void *user, struct mcpi_buf *into)
{
    const struct mcpi_http_inlet *inlet = user;

    mcpi_http_target_fields(inlet->target, into, inlet->version, inlet->session);
}

static int
flow_head(void *user, const struct mcpi_fetch_head *head)
{
    struct mcpi_http_inlet *inlet = user;

    (void)head;
    if (inlet->flow.reply.kind == MCPI_REPLY_EVENTS)
        inlet->streamed = true;
    inlet_settle(inlet);
    return 0;
}

static void
flow_message(void *user, mcp_doc *take_doc)
{
    const struct mcpi_http_inlet *inlet = user;
    struct mcpi_arrival arrival = {.take_doc = take_doc};

    mcpi_peer_receive(inlet->peer, &arrival, mcpi_http_target_now(inlet->target));
}

static void
flow_ended(void *user, const struct mcpi_fault *fault)
{
    struct mcpi_http_inlet *inlet = user;
    enum mcp_log_level level = inlet->streamed ? MCP_LOG_WARNING : MCP_LOG_INFO;
    int http = fault ? fault->http : 0;

    inlet_settle(inlet);
    if (http == 404 && inlet->streamed && inlet->session != 0) {
        inlet->lost(inlet->user);
        return;
    }
    MCPI_LOG(mcpi_http_target_log(inlet->target),
             http == 405 && !inlet->streamed ? MCP_LOG_DEBUG : level,
             "http: no stream for what belongs to no request: %s",
             fault && fault->why ? fault->why : "it ended");
}

static const struct mcpi_http_flow_ops flow_ops = {.fields = flow_fields,
                                                   .head = flow_head,
                                                   .message = flow_message,
                                                   .ended = flow_ended};

void
mcpi_http_inlet_init(struct mcpi_http_inlet *inlet)
{
    mcpi_http_target_flow(inlet->target, &inlet->flow, inlet->target->url, &flow_ops,
                          inlet);
    mcpi_timer_init(&inlet->patience, on_patience);
}

int
mcpi_http_inlet_open(struct mcpi_http_inlet *inlet, const char *version)
{
    int r;

    mcpi_http_inlet_close(inlet);
    mcpi_http_inlet_init(inlet);
    inlet->flow.resumes = inlet->flow.reopens = true;
    inlet->version = version;
    inlet->session = mcpi_http_target_session(inlet->target);
    inlet->streamed = false;
    inlet->is_awaited = true;
    mcpi_timer_arm(
        mcpi_http_target_timers(inlet->target), &inlet->patience,
        mcpi_time_add(mcpi_http_target_now(inlet->target), MCPI_HTTP_INLET_MAX));
    r = mcpi_http_flow_resume(&inlet->flow, "");
    if (r < 0)
        mcpi_http_inlet_close(inlet);
    return r;
}

void
mcpi_http_inlet_close(struct mcpi_http_inlet *inlet)
{
    inlet_forget_time(inlet);
    mcpi_http_flow_close(&inlet->flow);
}
