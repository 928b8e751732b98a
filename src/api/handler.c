/*
 * handler.c - a handler is run: at once, on a worker, or begun
 *
 * What arguments must be is checked before the handler sees them, on the loop where
 * that is quick. Arguments that do not fit are the model's mistake and not the
 * client's, so the answer is a result that the model can read ("Input validation
 * errors" are tool execution errors: 2026-07-28 and 2025-11-25, server/tools, Error
 * Handling).
 */
#include "api/custom.h"
#include "api/request.h"

/* The log names one request without a worker in that time: clients can make others. */
#define MCPI_STARVED_QUIET_MAX INT64_C(60000000)

/* ---- arguments ---------------------------------------------------------- */

/* Of a method of the program's own, whose callers are programs: an error. */
static int
params_check(mcp_request *req)
{
    mcp_error why = {0};
    int r;

    r = mcpi_custom_check(req->out.custom, mcp_request_params(req), &why);
    if (r == 0 || r == MCP_E_NOMEM)
        return r;
    mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s",
                        why.message);
    return MCP_E_PEER;
}

/* 0: they fit. 1: they do not, and the result says so. Negative: so does an error, or
 * it is not known. */
static int
arguments_check(mcp_request *req)
{
    mcp_error why = {0};
    int r;

    if (req->out.custom)
        return params_check(req);
    if (!req->out.tool)
        return 0;
    r = mcpi_tool_check_input(req->out.tool, mcp_request_arguments(req), &why);
    if (r == 0 || r == MCP_E_NOMEM)
        return r;
    r = mcp_result_fail(&req->out, "Invalid arguments: %s", why.message);
    return r < 0 ? r : 1;
}

/* A check that may take its time is made on a worker, if there is one. */
static bool
checks_late(const mcp_request *req)
{
    const struct mcpi_custom *custom = req->out.custom;
    const struct mcpi_tool *tool = req->out.tool;

    return req->handler->kind == MCPI_RUNS &&
           ((tool && tool->input_schema) || (custom && custom->schema));
}

/* ---- the handler -------------------------------------------------------- */

static int
handler_run(mcp_request *req)
{
    atomic_uint_fast64_t *live = &req->host->tally.live_handlers;
    int r;

    req->entered = true;
    atomic_fetch_add_explicit(live, 1, memory_order_relaxed);
    r = req->handler->fn(req, &req->out, req->handler->user);
    atomic_fetch_sub_explicit(live, 1, memory_order_relaxed);
    return r;
}

/* On a worker. */
static void
on_work(struct mcpi_job *job)
{
    mcp_request *req = MCPI_CONTAINER(job, mcp_request, job);
    int misfit = checks_late(req) ? arguments_check(req) : 0;
    int r = misfit < 0 ? misfit : 0;

    if (mcp_request_is_canceled(req))
        r = MCP_E_CANCELED; /* before it began */
    else if (misfit == 0)
        r = handler_run(req);
    (void)mcpi_request_end(req, r);
}

static void
starved_log(const mcp_request *req, int status)
{
    struct mcpi_host *host = req->host;
    int64_t now = mcpi_loop_now(host->inside);
    bool quiet = now < host->starved_quiet_until;

    MCPI_LOG(&host->log, quiet ? MCP_LOG_DEBUG : MCP_LOG_ERROR,
             "no worker for %s %s: %s", mcp_request_method(req), mcp_request_name(req),
             mcp_status_text(status));
    if (!quiet)
        host->starved_quiet_until = mcpi_time_add(now, MCPI_STARVED_QUIET_MAX);
}

static void
handler_submit(mcp_request *req)
{
    int r;

    req->job.work = on_work;
    r = mcpi_pool_submit(req->host->pool, &req->job);
    if (r == 0)
        return;
    starved_log(req, r);
    mcpi_request_refuse(req, MCPI_RPC_INTERNAL_ERROR, "No worker is free");
    (void)mcpi_request_end(req, MCP_E_PEER);
}

/* It may be finished from inside: then it goes home when the handler has returned. */
static void
handler_start(mcp_request *req)
{
    int r;

    req->entered = true;
    req->starting = true;
    atomic_fetch_add_explicit(&req->host->tally.live_handlers, 1, memory_order_relaxed);
    r = req->handler->fn(req, &req->out, req->handler->user);
    if (r != 0)
        mcp_request_finish(req, r);
    req->starting = false;
    if (req->home_due)
        mcpi_request_go_home(req);
}

void
mcp_request_finish(mcp_request *req, int status)
{
    if (!req || !req->handler || req->handler->kind != MCPI_STARTS || !req->entered ||
        mcpi_host_guard(req->host) < 0)
        return;
    (void)mcpi_request_end(req, status);
}

/* Made now, so that nothing that waits for its cancel can fail for want of memory. */
static bool
handler_has_token(mcp_request *req)
{
    return req->handler->kind == MCPI_REPLIES || mcpi_request_get_token(req);
}

void
mcpi_request_handle(mcp_request *req)
{
    int r = checks_late(req) ? 0 : arguments_check(req);

    if (r == 0 && !handler_has_token(req))
        r = MCP_E_NOMEM;
    if (r != 0)
        (void)mcpi_request_end(req, r > 0 ? 0 : r);
    else if (req->handler->kind == MCPI_REPLIES)
        (void)mcpi_request_end(req, handler_run(req));
    else if (req->handler->kind == MCPI_STARTS)
        handler_start(req);
    else
        handler_submit(req);
}
