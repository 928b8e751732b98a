/*
 * http_flow.c - one HTTP request of ours and what comes back, resumed if it may be
 *
 * Ended in one place, flow_end, and closed in another, which is silent. Whatever its
 * owner is told, the flow may be gone when that returns: nothing is touched behind a
 * callback unless `gone` of that call says that it is still there.
 *
 * The flow has no clock. When a stream breaks, the timer is armed for a moment that has
 * passed, only to be told what time it is; then for when the retry is due. So a retry
 * without a delay still comes a turn later.
 */
#include "link/http_flow.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "link/http_url.h"

/* Longest header lines of a GET: more than any server reads. */
#define FIELDS_MAX ((size_t)1 << 20)

#define ACCEPT "Accept: text/event-stream"

/* Of a URL, as it is shown to who watches. */
#define URL_SHOWN 256

static const struct mcpi_fetch_ops fetch_ops;

/* ---- who watches ----------------------------------------------------------- */

/* Say of this request, "POST /mcp (request 7)", what became of it. */
MCP_PRINTF(2, 3)
static void
flow_tell(const struct mcpi_http_flow *flow, const char *format, ...)
{
    char path[URL_SHOWN], shown[MCPI_ID_SHOWN] = "", what[MCPI_TELL_LINE];
    const struct mcpi_id *id = flow->reply.asked;
    va_list args;

    if (!mcpi_engine_is_watched(flow->engine))
        return;
    va_start(args, format);
    (void)vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    if (id)
        (void)mcpi_id_show(id, shown);
    mcpi_engine_tell(flow->engine, "%s %s%s%s%s%s", flow->method,
                     mcpi_http_url_show(flow->url, false, path, sizeof(path)),
                     id ? " (request " : "", shown, id ? ")" : "", what);
}

/* ---- its ends -------------------------------------------------------------- */

/* Silently, also from inside of what it calls. */
static void
flow_abort(struct mcpi_http_flow *flow)
{
    if (flow->gone)
        *flow->gone = true;
    flow->gone = NULL;
    if (flow->fetch)
        mcpi_fetch_abort(flow->fetch);
    flow->fetch = NULL;
    mcpi_timer_disarm(flow->timers, &flow->retry);
}

/* Free all it holds; what it was can still be read. */
static void
flow_stop(struct mcpi_http_flow *flow)
{
    flow_abort(flow);
    mcpi_http_reply_done(&flow->reply);
    flow->state = MCPI_FLOW_OVER;
}

static void
flow_end(struct mcpi_http_flow *flow, const struct mcpi_fault *fault)
{
    if (flow->reply.garbled > 0)
        MCPI_LOG(flow->log, MCP_LOG_WARNING,
                 "events of a stream that were no messages, and passed over: %zu",
                 flow->reply.garbled);
    if (fault && fault->status != MCP_E_HTTP) /* which its head has told */
        flow_tell(flow, " failed: %s",
                  fault->why ? fault->why : mcp_status_text(fault->status));
    flow_stop(flow);
    flow->ops->ended(flow->user, fault);
}

void
mcpi_http_flow_close(struct mcpi_http_flow *flow)
{
    if (flow->state != MCPI_FLOW_OVER)
        flow_stop(flow);
}

/* It is being taken up again, and nothing has come of that yet. */
static bool
flow_is_resuming(const struct mcpi_http_flow *flow)
{
    return flow->state == MCPI_FLOW_BROKEN ||
           (flow->state == MCPI_FLOW_OPENING && flow->is_resuming);
}

bool
mcpi_http_flow_forgo(struct mcpi_http_flow *flow)
{
    flow->resumes = false;
    flow->reopens = false;
    if (flow->state == MCPI_FLOW_OVER || !(flow->was_broken || flow->is_resuming))
        return false;
    mcpi_http_flow_close(flow);
    return true;
}

/* ---- requests -------------------------------------------------------------- */

static int
flow_request(struct mcpi_http_flow *flow, struct mcpi_fetch_options *opt)
{
    int r;

    opt->url = flow->url;
    opt->idle_us = flow->idle_us;
    opt->ops = &fetch_ops;
    opt->user = flow;
    r = mcpi_fetch_start(flow->fetcher, opt, &flow->fetch);
    if (r < 0)
        return r;
    flow->stopped = 0; /* what we thought of the one before says nothing of this one */
    flow->state = MCPI_FLOW_OPENING;
    return 0;
}

/* What the owner adds comes last: there may be a secret in it, which no growing of the
 * buffer should leave behind. */
static int
flow_write_fields(const struct mcpi_http_flow *flow, struct mcpi_buf *into)
{
    const char *id = mcpi_http_reply_id(&flow->reply);
    int r;

    mcpi_buf_append(into, ACCEPT, sizeof(ACCEPT));
    if (*id) {
        mcpi_buf_text(into, "Last-Event-ID: ");
        mcpi_buf_append(into, id, strlen(id) + 1);
    }
    r = flow->ops->fields(flow->user, into);
    return r < 0 ? r : into->status;
}

static int
flow_get(struct mcpi_http_flow *flow)
{
    struct mcpi_fetch_options opt = {.method = "GET"};
    struct mcpi_buf fields;
    int r;

    mcpi_buf_init(&fields, flow->reply.mem, FIELDS_MAX);
    flow->method = opt.method;
    flow->is_get = flow->is_resuming = true;
    r = flow_write_fields(flow, &fields);
    if (r == 0) {
        flow->brought = false;
        opt.fields = fields.data;
        opt.fields_len = fields.len;
        r = flow_request(flow, &opt);
    }
    if (fields.data)
        explicit_bzero(fields.data, fields.cap);
    mcpi_buf_done(&fields);
    return r;
}

/* ---- taking it up again ---------------------------------------------------- */

static bool
flow_may_resume(const struct mcpi_http_flow *flow)
{
    if (!flow->ops->fields)
        return false;
    return flow->reopens || (flow->resumes && *mcpi_http_reply_id(&flow->reply));
}

/* What the server asked for, or ours; behind a failure ever longer. */
static int64_t
flow_delay(const struct mcpi_http_flow *flow)
{
    int64_t asked = flow->reply.retry_us, delay, most = MCPI_HTTP_RETRY_MOST;

    if (flow->failures == 0 && asked < 0)
        return MCPI_HTTP_RETRY_FIRST;
    if (flow->failures == 0)
        return asked < MCPI_HTTP_RETRY_LEAST && !flow->brought ? MCPI_HTTP_RETRY_LEAST
                                                               : asked;
    if (asked > most)
        return asked;
    delay = asked > MCPI_HTTP_RETRY_FIRST ? asked : MCPI_HTTP_RETRY_FIRST;
    for (unsigned i = 0; i < flow->failures && delay < most; i++)
        delay *= 2;
    return delay < most ? delay : most;
}

static void
flow_break(struct mcpi_http_flow *flow)
{
    mcpi_http_reply_again(&flow->reply);
    flow->was_broken = true;
    flow->state = MCPI_FLOW_BROKEN;
    flow->is_timed = false;
    mcpi_timer_arm(flow->timers, &flow->retry, 0);
}

/* http: how it was refused, or 0. */
static void
flow_give_up(struct mcpi_http_flow *flow, const char *why, int http)
{
    char text[MCPI_HTTP_WHY + 40];

    (void)snprintf(text, sizeof(text), "the stream was lost and not resumed: %s", why);
    flow_end(flow,
             &(struct mcpi_fault){.status = MCP_E_CLOSED, .http = http, .why = text});
}

/* An attempt failed, and no head came. */
static void
flow_failed(struct mcpi_http_flow *flow, const char *why)
{
    flow->failures++;
    if (flow->failures < MCPI_HTTP_RESUMES_MAX && flow_may_resume(flow)) {
        MCPI_LOG(flow->log, MCP_LOG_DEBUG, "a stream was not resumed yet: %s", why);
        flow_tell(flow, ": the stream was not resumed yet: %s", why);
        flow_break(flow);
    } else {
        flow_give_up(flow, why, 0);
    }
}

static void
retry_fire(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_http_flow *flow = MCPI_CONTAINER(timer, struct mcpi_http_flow, retry);
    int r;

    if (!flow_may_resume(flow)) {
        flow_give_up(flow, "nobody waits for it", 0);
        return;
    }
    if (!flow->is_timed) {
        flow->is_timed = true;
        mcpi_timer_arm(flow->timers, timer, mcpi_time_add(now, flow_delay(flow)));
        return;
    }
    r = flow_get(flow);
    if (r == MCP_E_AUTH)
        flow_end(flow, &(struct mcpi_fault){.status = r, .why = mcp_status_text(r)});
    else if (r < 0 && r != MCP_E_AGAIN)
        flow_failed(flow, mcp_status_text(r));
}

void
mcpi_http_flow_rest(struct mcpi_http_flow *flow)
{
    flow_abort(flow);
    mcpi_http_reply_again(&flow->reply);
    flow->state = MCPI_FLOW_BROKEN;
}

void
mcpi_http_flow_wake(struct mcpi_http_flow *flow)
{
    if (flow->state != MCPI_FLOW_BROKEN || mcpi_timer_is_armed(&flow->retry))
        return;
    flow->is_timed = true;
    mcpi_timer_arm(flow->timers, &flow->retry, 0);
}

/* ---- what the fetch tells -------------------------------------------------- */

static void
op_sent(void *user)
{
    const struct mcpi_http_flow *flow = user;

    if (flow->ops->sent && !flow->is_resuming)
        flow->ops->sent(flow->user);
}

static void
op_redirected(void *user, int status, const char *url)
{
    const struct mcpi_http_flow *flow = user;
    char shown[URL_SHOWN];

    if (!mcpi_engine_is_watched(flow->engine))
        return;
    flow_tell(flow, " -> %d, followed to %s", status,
              mcpi_http_url_show(url, true, shown, sizeof(shown)));
}

/* The owner's say; it may be gone afterwards. */
static int
flow_ask_owner(struct mcpi_http_flow *flow, const struct mcpi_fetch_head *head,
               bool *ret_gone)
{
    int r;

    if (!flow->ops->head)
        return 0;
    flow->gone = ret_gone;
    r = flow->ops->head(flow->user, head);
    if (!*ret_gone)
        flow->gone = NULL;
    return r;
}

static int
flow_check(const struct mcpi_http_flow *flow)
{
    if (!flow->is_get || flow->reply.kind == MCPI_REPLY_EVENTS)
        return 0;
    return mcpi_http_reply_is_error(&flow->reply) ? MCP_E_HTTP : MCP_E_PROTO;
}

static int
op_head(void *user, const struct mcpi_fetch_head *head)
{
    struct mcpi_http_flow *flow = user;
    bool gone = false;
    int r, asked;

    r = mcpi_http_reply_head(&flow->reply, head);
    flow_tell(flow, " -> %d%s%s", head->status, flow->reply.type[0] ? " " : "",
              flow->reply.type);
    asked = flow_ask_owner(flow, head, &gone);
    if (gone)
        return MCP_E_CLOSED;
    if (asked < 0)
        r = asked;
    else if (r == 0)
        r = flow_check(flow);
    flow->stopped = r;
    if (r < 0)
        return r;
    flow->state = MCPI_FLOW_BODY;
    if (flow->reply.kind == MCPI_REPLY_EVENTS) {
        flow->state = MCPI_FLOW_STREAM;
        flow->failures = 0;
    }
    return 0;
}

static int
op_body(void *user, const char *data, size_t len)
{
    struct mcpi_http_flow *flow = user;
    bool gone = false;
    int r;

    flow->gone = &gone;
    r = mcpi_http_reply_body(&flow->reply, data, len);
    if (gone)
        return MCP_E_CLOSED;
    flow->gone = NULL;
    flow->stopped = r;
    return r;
}

/* The answer was whole: its message may be handed up only now. */
static void
flow_whole(struct mcpi_http_flow *flow)
{
    struct mcpi_fault fault = {.status = 0};
    char why[MCPI_HTTP_WHY];
    bool gone = false;

    flow->gone = &gone;
    fault.status = mcpi_http_reply_end(&flow->reply, why, sizeof(why));
    if (gone)
        return;
    flow->gone = NULL;
    fault.http = fault.status == MCP_E_HTTP ? flow->reply.status : 0;
    fault.why = why;
    flow_end(flow, fault.status < 0 ? &fault : NULL);
}

void
mcpi_http_flow_curtail(struct mcpi_http_flow *flow)
{
    if (flow->state != MCPI_FLOW_BODY)
        return;
    flow_abort(flow);
    flow_whole(flow);
}

/* Somebody in between, or the server itself, is not there at the moment. */
static bool
is_busy(int http)
{
    return http == 429 || http == 502 || http == 503 || http == 504;
}

/* We did not want more of it. */
static void
flow_stopped(struct mcpi_http_flow *flow)
{
    struct mcpi_fault fault = {.status = flow->stopped};
    char why[MCPI_HTTP_WHY];

    mcpi_http_reply_explain(&flow->reply, flow->stopped, why, sizeof(why));
    fault.http = fault.status == MCP_E_HTTP ? flow->reply.status : 0;
    fault.why = why;
    if (flow_is_resuming(flow) && is_busy(fault.http))
        flow_failed(flow, why);
    else if (flow_is_resuming(flow) && flow->was_broken && fault.http)
        flow_give_up(flow, why, fault.http); /* that was refused, not what was asked */
    else
        flow_end(flow, &fault);
}

static void
flow_lose(struct mcpi_http_flow *flow)
{
    flow_tell(flow, ": the stream ended, and is taken up again");
    flow_break(flow);
}

static bool
is_passing(int status)
{
    return status == MCP_E_CLOSED || status == MCP_E_SEND_FAILED ||
           status == MCP_E_NOMEM;
}

static void
op_ended(void *user, const struct mcpi_fetch_fault *fault)
{
    struct mcpi_http_flow *flow = user;
    bool was_lost = !fault || fault->status == MCP_E_CLOSED;

    flow->fetch = NULL;
    if (flow->stopped < 0)
        flow_stopped(flow);
    else if (flow->state == MCPI_FLOW_STREAM && was_lost && flow_may_resume(flow))
        flow_lose(flow);
    else if (!fault)
        flow_whole(flow);
    else if (flow_is_resuming(flow) && is_passing(fault->status))
        flow_failed(flow, fault->why ? fault->why : mcp_status_text(fault->status));
    else
        flow_end(flow, &(struct mcpi_fault){.status = fault->status,
                                            .unsent = fault->unsent,
                                            .why = fault->why});
}

static const struct mcpi_fetch_ops fetch_ops = {.sent = op_sent,
                                                .redirected = op_redirected,
                                                .head = op_head,
                                                .body = op_body,
                                                .ended = op_ended};

/* ---- what the reply tells -------------------------------------------------- */

static void
reply_came(void *user, const char *text, size_t len, const char *fault)
{
    const struct mcpi_http_flow *flow = user;

    if (fault)
        mcpi_engine_tell_garbled(flow->engine, fault, text, len);
    else
        mcpi_engine_came(flow->engine, text, len);
}

static int
reply_message(void *user, const struct mcpi_rpc *rpc)
{
    struct mcpi_http_flow *flow = user;

    flow->brought = true;
    flow->ops->message(flow->user, rpc);
    return 0;
}

static void
reply_marked(void *user, const char *event_id)
{
    const struct mcpi_http_flow *flow = user;

    if (flow->ops->marked)
        flow->ops->marked(flow->user, event_id);
}

static int
reply_event(void *user, const struct mcpi_sse_event *event)
{
    const struct mcpi_http_flow *flow = user;

    if (flow->ops->event)
        flow->ops->event(flow->user, event);
    return 0;
}

/* ---- beginning ------------------------------------------------------------- */

void
mcpi_http_flow_init(struct mcpi_http_flow *flow, const mcp_allocator *mem,
                    size_t max_bytes, size_t max_depth)
{
    flow->state = MCPI_FLOW_IDLE;
    flow->fetch = NULL;
    flow->failures = 0;
    flow->is_get = flow->is_resuming = flow->is_timed = flow->was_broken = false;
    flow->brought = true; /* what was posted is worth coming back for at once */
    flow->stopped = 0;
    flow->gone = NULL;
    mcpi_timer_init(&flow->retry, retry_fire);
    mcpi_http_reply_init(&flow->reply, mem, max_bytes, max_depth);
    flow->reply.came = mcpi_engine_is_watched(flow->engine) ? reply_came : NULL;
    flow->reply.message = reply_message;
    flow->reply.marked = reply_marked;
    flow->reply.event = reply_event;
    flow->reply.user = flow;
}

int
mcpi_http_flow_start(struct mcpi_http_flow *flow, const char *method,
                     const char *fields, size_t fields_len, const char *body,
                     size_t body_len)
{
    struct mcpi_fetch_options opt = {
        .method = method,
        .fields = fields,
        .fields_len = fields_len,
        .body = body,
        .body_len = body_len,
    };

    flow->method = method;
    flow->is_get = strcmp(method, "GET") == 0;
    flow->is_resuming = false;
    return flow_request(flow, &opt);
}

int
mcpi_http_flow_resume(struct mcpi_http_flow *flow, const char *event_id)
{
    int r;

    if (!flow->ops->fields)
        return MCP_E_INVAL;
    r = mcpi_http_reply_set_id(&flow->reply, event_id);
    if (r == 0)
        r = flow_get(flow);
    if (r == MCP_E_AGAIN)
        flow->state = MCPI_FLOW_BROKEN;
    return r;
}
