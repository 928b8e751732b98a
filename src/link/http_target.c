/* http_target.c - where all requests of one HTTP client go */
#include "link/http_target.h"

#include <string.h>

#include "base/mem.h"
#include "link/http_fields.h"
#include "link/http_url.h"

#define SESSION "Mcp-Session-Id"

int64_t
mcpi_http_target_now(const struct mcpi_http_target *target)
{
    return mcpi_loop_now(target->loop);
}

struct mcpi_timers *
mcpi_http_target_timers(const struct mcpi_http_target *target)
{
    return mcpi_loop_timers(target->loop);
}

const struct mcpi_log *
mcpi_http_target_log(const struct mcpi_http_target *target)
{
    return mcpi_loop_log(target->loop);
}

void
mcpi_http_target_flow(const struct mcpi_http_target *target,
                      struct mcpi_http_flow *flow, const char *url,
                      const struct mcpi_http_flow_ops *ops, void *user)
{
    memset(flow, 0, sizeof(*flow));
    flow->fetcher = target->fetcher;
    flow->timers = mcpi_http_target_timers(target);
    flow->log = mcpi_http_target_log(target);
    flow->engine = target->engine;
    flow->url = url;
    flow->idle_us = target->idle_us;
    flow->ops = ops;
    flow->user = user;
    mcpi_http_flow_init(flow, target->mem, target->max_bytes, target->max_depth);
}

void
mcpi_http_target_fields(const struct mcpi_http_target *target, struct mcpi_buf *into,
                        const char *version, unsigned session)
{
    mcpi_buf_append(into, target->fields.data, target->fields.len);
    if (*version)
        (void)mcpi_http_fields_add(into, "MCP-Protocol-Version", version);
    if (session != 0 && session == mcpi_http_target_session(target))
        (void)mcpi_http_fields_add(into, SESSION, target->session.data);
}

/* ---- the session ----------------------------------------------------------- */

unsigned
mcpi_http_target_session(const struct mcpi_http_target *target)
{
    return target->session.len > 0 ? target->sessions : 0;
}

/* Visible ASCII only (2025-11-25, basic/transports, Session Management). */
static bool
session_is_valid(const char *id)
{
    size_t len = strlen(id);

    for (size_t i = 0; i < len; i++)
        if (id[i] < 0x21 || id[i] > 0x7E)
            return false;
    return len > 0 && len < MCPI_HTTP_SESSION_MAX;
}

int
mcpi_http_target_enter(struct mcpi_http_target *target,
                       const struct mcpi_fetch_head *head)
{
    const char *id = head->find(head, SESSION);
    int r;

    mcpi_http_target_leave(target);
    if (!id)
        return 0;
    if (!session_is_valid(id)) {
        MCPI_LOG(mcpi_http_target_log(target), MCP_LOG_WARNING,
                 "http: a session id that is none was ignored");
        return 0;
    }
    mcpi_buf_append(&target->session, id, strlen(id) + 1);
    r = target->session.status;
    if (r < 0)
        mcpi_http_target_leave(target);
    else
        target->sessions++;
    if (r == 0)
        MCPI_TELL(target->engine, "a session has begun"); /* its id is a secret */
    return r;
}

void
mcpi_http_target_leave(struct mcpi_http_target *target)
{
    mcpi_buf_clear(&target->session);
}

/* ---- making and freeing ---------------------------------------------------- */

int
mcpi_http_target_init(struct mcpi_http_target *target,
                      const struct mcpi_http_target_options *opt)
{
    size_t len = strlen(opt->url);
    int r;

    memset(target, 0, sizeof(*target));
    if (!mcpi_http_url_valid(opt->url, len))
        return MCP_E_INVAL;
    target->mem = mcpi_loop_mem(opt->loop);
    target->loop = opt->loop;
    target->engine = opt->engine;
    target->fetcher = opt->fetcher;
    target->auth = opt->auth;
    target->max_bytes = mcpi_engine_max_bytes(opt->engine);
    target->max_depth = mcpi_engine_max_depth(opt->engine);
    target->idle_us = opt->idle_us;
    mcpi_buf_init(&target->fields, target->mem, MCPI_HTTP_LINES_MAX);
    mcpi_buf_init(&target->session, target->mem, MCPI_HTTP_SESSION_MAX);
    target->url = mcpi_alloc(target->mem, len + 1);
    if (!target->url)
        return MCP_E_NOMEM;
    memcpy(target->url, opt->url, len + 1);
    target->post_url = target->url;
    mcpi_buf_append(&target->fields, opt->fields, opt->fields_len);
    r = target->fields.status;
    if (r < 0)
        mcpi_http_target_done(target);
    return r;
}

void
mcpi_http_target_done(struct mcpi_http_target *target)
{
    if (!target->mem)
        return;
    mcpi_free(target->mem, target->url);
    mcpi_buf_done(&target->fields);
    mcpi_buf_done(&target->session);
    memset(target, 0, sizeof(*target));
}
