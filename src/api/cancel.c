/*
 * cancel.c - how a request is told to stop, and how its handler hears of it
 *
 * Two steps, as the exchange ends in two: the flag, before nested requests end, so that
 * whoever wakes by their end sees why; the hooks, when all is said. A signal-only
 * request gets the first one alone (F4).
 */
#include "api/request.h"
#include "api/server.h"
#include "base/mem.h"

bool
mcp_request_is_canceled(const mcp_request *req)
{
    return req && atomic_load_explicit(&req->canceled, memory_order_acquire);
}

const char *
mcp_request_cancel_reason(const mcp_request *req)
{
    return mcp_request_is_canceled(req) ? req->x->reason : "";
}

static bool
request_is_signal_only(const mcp_request *req)
{
    return req->handler && req->handler->signal_only;
}

/* ---- its token ---------------------------------------------------------- */

/* A cancel that came while the token was being made may have missed it. */
static void
token_catch_up(mcp_request *req, struct mcpi_token *token)
{
    if (!atomic_load(&req->canceled))
        return;
    (void)mcpi_token_set(token, req->x->reason, !request_is_signal_only(req));
}

struct mcpi_token *
mcpi_request_get_token(mcp_request *req)
{
    struct mcpi_token *token = atomic_load(&req->token), *none = NULL;

    if (token)
        return token;
    token = mcpi_token_new(req->host->mem);
    if (!token)
        return NULL;
    if (!atomic_compare_exchange_strong(&req->token, &none, token)) {
        mcpi_token_unref(token);
        return none; /* somebody else's */
    }
    token_catch_up(req, token);
    return token;
}

struct mcpi_token *
mcpi_request_token(mcp_request *req)
{
    struct mcpi_token *token = mcpi_request_get_token(req);

    return token ? mcpi_token_ref(token) : NULL;
}

int
mcp_request_cancel_fd(mcp_request *req, int *ret_fd)
{
    struct mcpi_token *token;
    int fd;

    if (!req || !ret_fd)
        return MCP_E_INVAL;
    if (mcpi_host_guard(req->host) < 0)
        return MCP_E_STATE;
    token = mcpi_request_get_token(req);
    if (!token)
        return MCP_E_NOMEM;
    fd = mcpi_token_fd(token);
    if (fd < 0)
        return fd;
    *ret_fd = fd;
    return 0;
}

/* ---- hooks -------------------------------------------------------------- */

struct mcp_cancel_hook {
    struct mcpi_list in_request; /* under the request's lock */
    struct mcpi_hook hook;
};

int
mcp_request_on_cancel(mcp_request *req, void (*fn)(void *user), void *user,
                      mcp_cancel_hook **ret_hook)
{
    struct mcpi_token *token;
    mcp_cancel_hook *hook;

    if (!req || !fn)
        return MCP_E_INVAL;
    if (mcpi_host_guard(req->host) < 0 || atomic_load(&req->over))
        return MCP_E_STATE;
    token = mcpi_request_get_token(req);
    hook = token ? mcpi_alloc_zero(req->host->mem, sizeof(*hook)) : NULL;
    if (!hook)
        return MCP_E_NOMEM;
    hook->hook.fn = fn;
    hook->hook.user = user;
    pthread_mutex_lock(mcpi_request_lock(req));
    mcpi_list_append(&req->hooks, &hook->in_request);
    pthread_mutex_unlock(mcpi_request_lock(req));
    if (ret_hook)
        *ret_hook = hook;
    mcpi_token_hook(token, &hook->hook); /* it may run now, and end the request */
    return 0;
}

void
mcp_request_off_cancel(mcp_request *req, mcp_cancel_hook *hook)
{
    if (!req || !hook || mcpi_host_guard(req->host) < 0)
        return;
    pthread_mutex_lock(mcpi_request_lock(req));
    mcpi_list_remove(&hook->in_request);
    pthread_mutex_unlock(mcpi_request_lock(req));
    mcpi_token_unhook(atomic_load(&req->token), &hook->hook);
    mcpi_free(req->host->mem, hook);
}

static mcp_cancel_hook *
hook_pop(mcp_request *req)
{
    struct mcpi_list *node;

    pthread_mutex_lock(mcpi_request_lock(req));
    node = mcpi_list_pop(&req->hooks);
    pthread_mutex_unlock(mcpi_request_lock(req));
    return node ? MCPI_CONTAINER(node, mcp_cancel_hook, in_request) : NULL;
}

void
mcpi_request_unhook_all(mcp_request *req)
{
    struct mcpi_token *token = atomic_load(&req->token);
    mcp_cancel_hook *hook;

    if (!token)
        return; /* nor hooks */
    for (hook = hook_pop(req); hook; hook = hook_pop(req)) {
        mcpi_token_unhook(token, &hook->hook);
        mcpi_free(req->host->mem, hook);
    }
}

/* ---- being told --------------------------------------------------------- */

void
mcpi_request_flag(mcp_request *req)
{
    struct mcpi_token *token;

    atomic_store(&req->canceled, true);
    token = atomic_load(&req->token);
    if (token)
        (void)mcpi_token_set(token, req->x->reason, false);
}

static void
request_note_told(mcp_request *req)
{
    struct mcpi_host *host = req->host;

    pthread_mutex_lock(&host->lock);
    req->told_at = mcpi_loop_now(host->inside);
    mcpi_list_append(&host->told, &req->told);
    pthread_mutex_unlock(&host->lock);
}

void
mcpi_request_stop(mcp_request *req)
{
    bool runs = req->handler && req->handler->kind == MCPI_RUNS;
    bool withdrawn = runs && mcpi_pool_withdraw(req->host->pool, &req->job);
    struct mcpi_token *token;

    mcpi_middleware_canceled(req);
    request_note_told(req);
    if (runs && !withdrawn)
        mcpi_pool_lose(req->host->pool, &req->job);
    token = atomic_load(&req->token);
    if (token && !request_is_signal_only(req))
        mcpi_token_run_hooks(token); /* may end one that was begun: it may be gone */
    if (withdrawn)
        (void)mcpi_request_end(req, MCP_E_CANCELED); /* it never ran (F37) */
}
