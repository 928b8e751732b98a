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
inlet_say_none(const struct mcpi_http_inlet *inlet, enum mcp_log_level level,
               const char *why)
{
    MCPI_LOG(mcpi_http_target_log(inlet->target), level,
             "http: no stream for what belongs to no request: %s", why);
    MCPI_TELL(inlet->target->engine, "there is no stream of the session: %s", why);
}

/* ---- authorization --------------------------------------------------------- */

static void
inlet_refused(struct mcpi_http_inlet *inlet, const char *why)
{
    inlet_settle(inlet);
    mcpi_http_inlet_close(inlet);
    inlet_say_none(inlet, MCP_LOG_WARNING, why);
}

static void
permit_ready(struct mcpi_http_permit *permit, int status, int http, const char *why)
{
    struct mcpi_http_inlet *inlet = MCPI_CONTAINER(permit, struct mcpi_http_inlet,
                                                   permit);

    (void)http;
    mcpi_http_permit_tell(inlet->target, status);
    if (status < 0)
        inlet_refused(inlet, why ? why : mcp_status_text(status));
    else
        mcpi_http_flow_wake(&inlet->flow);
}

static int
flow_fields(void *user, struct mcpi_buf *into)
{
    struct mcpi_http_inlet *inlet = user;

    mcpi_http_target_fields(inlet->target, into, inlet->version, inlet->session);
    return mcpi_http_permit_sign(inlet->target, &inlet->permit, "GET", inlet->flow.url,
                                 into);
}

/* True: it was refused, and this head is of no interest any more. */
static bool
inlet_hears(struct mcpi_http_inlet *inlet, const struct mcpi_fetch_head *head)
{
    char why[MCPI_HTTP_WHY];
    int r;

    r = mcpi_http_permit_hear(inlet->target, &inlet->permit, head, why, sizeof(why));
    if (r == 0)
        return false;
    if (r == MCP_E_AGAIN) {
        mcpi_http_flow_rest(&inlet->flow);
        inlet_settle(inlet);
    } else {
        inlet_refused(inlet, why);
    }
    return true;
}

/* ---- what comes ------------------------------------------------------------ */

static int
flow_head(void *user, const struct mcpi_fetch_head *head)
{
    struct mcpi_http_inlet *inlet = user;

    if (inlet_hears(inlet, head))
        return MCP_E_CLOSED;
    if (inlet->flow.reply.kind == MCPI_REPLY_EVENTS) {
        inlet->streamed = true;
        MCPI_TELL(inlet->target->engine, "the stream of the session is open");
    }
    inlet_settle(inlet);
    return 0;
}

static void
flow_message(void *user, const struct mcpi_rpc *rpc)
{
    const struct mcpi_http_inlet *inlet = user;
    struct mcpi_arrival arrival = {.take_doc = rpc->doc, .rpc = rpc};

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
    inlet_say_none(inlet, http == 405 && !inlet->streamed ? MCP_LOG_DEBUG : level,
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
    inlet->permit = (struct mcpi_http_permit){.ready = permit_ready};
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
    if (r == MCP_E_AGAIN) {
        inlet_settle(inlet);
        return 0;
    }
    if (r < 0)
        mcpi_http_inlet_close(inlet);
    return r;
}

void
mcpi_http_inlet_close(struct mcpi_http_inlet *inlet)
{
    inlet_forget_time(inlet);
    mcpi_http_permit_leave(inlet->target, &inlet->permit);
    if (inlet->flow.state == MCPI_FLOW_STREAM)
        MCPI_TELL(inlet->target->engine, "closed the stream of the session");
    mcpi_http_flow_close(&inlet->flow);
}
