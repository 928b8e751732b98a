/*
 * request_call.c - a handler asks its client, and waits (legacy era)
 *
 * The question belongs to the loop, where it is a nested call of the exchange: whatever
 * ends the request takes it back (F22). The handler waits for that, or for its own
 * cancel, whichever it hears of first; so the wait is counted and has two owners. It has
 * nothing else to do, so what the client reports meanwhile is told on its thread.
 */
#include <math.h>
#include <mcp/client.h>
#include <string.h>

#include "api/call.h"
#include "api/offer.h"
#include "api/question.h"
#include "api/reply.h"
#include "api/server.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/thread.h"

struct wait {
    const mcp_allocator *mem;
    struct mcpi_exchange *x; /* loop only; alive when the post runs: see call_begin */
    struct mcpi_loop *loop;
    struct mcpi_post begin;
    struct mcpi_hook hook; /* on the token of the request */
    int64_t timeout_us;
    mcp_request_call_options opt;
    pthread_mutex_t lock; /* a leaf, for what follows */
    pthread_cond_t changed;
    unsigned owners; /* the handler, and the loop */
    bool is_over, is_canceled;
    struct mcpi_list steps; /* of progress, not told yet */
    unsigned step_count;
    int status;
    mcp_doc *answer; /* counted */
    int code;
    char message[200];
    size_t params_len;
    const char *params; /* in this block, or NULL */
    char method[];
};

/* A report of the client's. */
struct step {
    struct mcpi_list node;
    double progress, total;
    bool has_message;
    char message[];
};

/* ---- its memory --------------------------------------------------------- */

static struct wait *
wait_new(const mcp_request *req, const char *method, const struct mcpi_buf *params)
{
    size_t method_len = strlen(method) + 1;
    struct wait *wait;

    wait = mcpi_alloc_zero_first(
        req->host->mem, sizeof(*wait) + method_len + params->len, sizeof(*wait));
    if (!wait)
        return NULL;
    if (pthread_mutex_init(&wait->lock, NULL) != 0)
        goto fail;
    if (mcpi_cond_init(&wait->changed) < 0) {
        pthread_mutex_destroy(&wait->lock);
        goto fail;
    }
    wait->mem = req->host->mem;
    wait->x = req->x;
    wait->loop = req->host->inside;
    wait->owners = 1;
    mcpi_list_init(&wait->steps);
    memcpy(wait->method, method, method_len);
    if (params->len > 0) {
        wait->params = memcpy(wait->method + method_len, params->data, params->len);
        wait->params_len = params->len;
    }
    return wait;
fail:
    mcpi_free(req->host->mem, wait);
    return NULL;
}

/* NULL: there is none. */
static struct step *
step_of(struct mcpi_list *node)
{
    return node ? MCPI_CONTAINER(node, struct step, node) : NULL;
}

static void
wait_unref(struct wait *wait)
{
    struct step *step;
    unsigned left;

    pthread_mutex_lock(&wait->lock);
    left = --wait->owners;
    pthread_mutex_unlock(&wait->lock);
    if (left > 0)
        return;
    while ((step = step_of(mcpi_list_pop(&wait->steps))) != NULL)
        mcpi_free(wait->mem, step);
    pthread_cond_destroy(&wait->changed);
    pthread_mutex_destroy(&wait->lock);
    mcp_doc_free(wait->answer);
    mcpi_free(wait->mem, wait);
}

/* ---- on the loop -------------------------------------------------------- */

static void
wait_end(struct wait *wait, int status, const struct mcpi_rpc *answer)
{
    pthread_mutex_lock(&wait->lock);
    wait->is_over = true;
    wait->status = status;
    if (status == 0)
        wait->answer = mcp_doc_ref(answer->doc);
    if (status == MCP_E_PEER && answer) {
        wait->code = answer->error_code;
        (void)mcpi_text_clean(wait->message, sizeof(wait->message),
                              answer->error_message, strlen(answer->error_message));
    }
    pthread_cond_broadcast(&wait->changed);
    pthread_mutex_unlock(&wait->lock);
    wait_unref(wait);
}

static void
on_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    (void)call;
    wait_end(user, status, answer);
}

static struct step *
step_new(const mcp_allocator *mem, const struct mcpi_progress *p)
{
    size_t size = p->message ? strlen(p->message) + 1 : 0;
    struct step *step = mcpi_alloc(mem, sizeof(*step) + size);

    if (!step)
        return NULL;
    *step = (struct step){.progress = p->progress,
                          .total = isnan(p->total) ? 0 : p->total,
                          .has_message = p->message != NULL};
    mcpi_list_init(&step->node);
    if (p->message)
        memcpy(step->message, p->message, size);
    return step;
}

/* If too many wait for a slow handler, the newest replaces the last. */
static void
on_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct wait *wait = user;
    struct step *step = step_new(wait->mem, p);
    struct step *dropped = NULL;

    (void)call;
    if (!step)
        return;
    pthread_mutex_lock(&wait->lock);
    if (wait->step_count == MCPI_PROGRESS_WAITING) {
        dropped = step_of(wait->steps.prev);
        mcpi_list_remove(&dropped->node);
    } else {
        wait->step_count++;
    }
    mcpi_list_append(&wait->steps, &step->node);
    pthread_cond_broadcast(&wait->changed);
    pthread_mutex_unlock(&wait->lock);
    mcpi_free(wait->mem, dropped);
}

/* The request comes home by a post, later than this one: its exchange is there. */
static void
on_begin(struct mcpi_post *post)
{
    static const struct mcpi_call_ops quiet_ops = {.done = on_done};
    static const struct mcpi_call_ops progress_ops = {.done = on_done,
                                                      .progress = on_progress};
    struct wait *wait = MCPI_CONTAINER(post, struct wait, begin);
    struct mcpi_exchange *x = wait->x;
    const struct mcpi_call_options opt = {
        .method = wait->method,
        .params = wait->params,
        .params_len = wait->params_len,
        .timeout_us = wait->timeout_us,
        .parent = x,
        .ops = wait->opt.on_progress ? &progress_ops : &quiet_ops,
        .user = wait,
    };
    int r = MCP_E_CLOSED;

    if (x->ending != MCPI_OPEN)
        r = MCP_E_CANCELED;
    else if (x->peer)
        r = mcpi_call_start(x->peer, &opt, mcpi_loop_now(wait->loop), NULL);
    if (r < 0)
        wait_end(wait, r, NULL);
}

/* ---- the handler waits -------------------------------------------------- */

static void
on_cancel(void *user)
{
    struct wait *wait = user;

    pthread_mutex_lock(&wait->lock);
    wait->is_canceled = true;
    pthread_cond_broadcast(&wait->changed);
    pthread_mutex_unlock(&wait->lock);
}

/* Under lock, which is let go meanwhile: tell of all progress that there is. */
static void
wait_tell(struct wait *wait, mcp_request *req)
{
    struct step *step;

    while (!wait->is_canceled &&
           (step = step_of(mcpi_list_pop(&wait->steps))) != NULL) {
        wait->step_count--;
        pthread_mutex_unlock(&wait->lock);
        wait->opt.on_progress(req, step->progress, step->total,
                              step->has_message ? step->message : NULL, wait->opt.user);
        mcpi_free(wait->mem, step);
        pthread_mutex_lock(&wait->lock);
    }
}

/* What has come of it; the answer is the caller's. */
static int
wait_read(struct wait *wait, mcp_reply **ret_reply, mcp_error *err)
{
    int r = wait->is_over ? wait->status : MCP_E_CANCELED;

    if (r == 0) {
        *ret_reply = mcpi_reply_of(wait->answer);
        wait->answer = NULL;
        return 0;
    }
    if (r != MCP_E_PEER)
        return mcpi_error_set(err, r, "%s: %s", wait->method, mcp_status_text(r));
    (void)mcpi_error_set(err, r, "%s", wait->message);
    if (err)
        err->rpc_code = wait->code;
    return r;
}

static int
wait_for(struct wait *wait, mcp_request *req, mcp_reply **ret_reply, mcp_error *err)
{
    struct mcpi_token *token = atomic_load(&req->token);
    int r;

    wait->begin.fn = on_begin;
    wait->hook.fn = on_cancel;
    wait->hook.user = wait;
    wait->owners++; /* the loop's */
    mcpi_loop_post(wait->loop, &wait->begin);
    mcpi_token_hook(token, &wait->hook);
    pthread_mutex_lock(&wait->lock);
    for (wait_tell(wait, req); !wait->is_over && !wait->is_canceled;
         wait_tell(wait, req))
        (void)mcpi_cond_wait(&wait->changed, &wait->lock, MCPI_NEVER);
    pthread_mutex_unlock(&wait->lock);
    mcpi_token_unhook(token, &wait->hook);
    pthread_mutex_lock(&wait->lock);
    r = wait_read(wait, ret_reply, err);
    pthread_mutex_unlock(&wait->lock);
    return r;
}

/* ---- what may be asked -------------------------------------------------- */

/* What a client must have declared for it. */
static unsigned
wanted_for(enum mcpi_method method, const mcp_json *params)
{
    switch (method) {
    case MCPI_METHOD_ELICIT:
        return mcp_json_is_string(mcp_json_get(params, "mode"), "url") ? MCP_ASK_URL
                                                                       : MCP_ASK_FORM;
    case MCPI_METHOD_SAMPLING:
        return mcpi_sample_needs(params);
    case MCPI_METHOD_ROOTS_LIST:
        return MCP_ASK_ROOTS;
    default:
        return 0;
    }
}

/* The text of its params at the end of an empty buffer. */
static int
params_write(const mcp_request *req, const char *method, const char *text,
             struct mcpi_buf *into, mcp_error *err)
{
    enum mcpi_method known = mcpi_method_find(method, strlen(method));
    mcp_doc *doc = NULL;
    unsigned missing;
    int r;

    if (text) {
        r = mcpi_object_parse(req->host->mem, text, "params", &doc, err);
        if (r < 0)
            return r;
    }
    missing = mcpi_request_cannot_ask(req, wanted_for(known, mcp_doc_root(doc)));
    r = 0;
    if (mcp_json_get(mcp_doc_root(doc), "_meta"))
        r = mcpi_error_set(err, MCP_E_INVAL, "params: _meta is the library's");
    else if (missing != 0)
        r = mcpi_ask_missing_error(missing, err);
    else if (doc)
        mcpi_json_write(into, mcp_doc_root(doc));
    mcp_doc_free(doc);
    if (r == 0 && into->status < 0)
        r = mcpi_error_set(err, into->status, "%s", mcp_status_text(into->status));
    return r;
}

/* May it ask, and may this thread wait? */
static int
call_check(mcp_request *req)
{
    if (!req->server || !req->handler || mcpi_host_guard(req->host) < 0 ||
        atomic_load(&req->over))
        return MCP_E_STATE;
    if (!req->x->caller.dialect->asks_back || !req->x->caller.askable)
        return MCP_E_NO_CHANNEL;
    if (mcpi_loop_any_here() || req->handler->kind != MCPI_RUNS)
        return MCP_E_STATE; /* who ends it elsewhere must not pull it from under us */
    if (!mcpi_request_get_token(req))
        return MCP_E_NOMEM;
    return mcp_request_is_canceled(req) ? MCP_E_CANCELED : 0;
}

static int
call_and_wait(mcp_request *req, struct wait *wait, mcp_reply **ret_reply,
              mcp_error *err)
{
    int r;

    r = mcpi_pool_wait_begin();
    if (r < 0)
        return mcpi_error_set(err, r, "too many workers wait already");
    r = wait_for(wait, req, ret_reply, err);
    mcpi_pool_wait_end();
    return r;
}

int
mcp_request_call(mcp_request *req, const char *method, const char *params,
                 const mcp_request_call_options *given, mcp_reply **ret_reply,
                 mcp_error *err)
{
    mcp_request_call_options opt;
    struct mcpi_buf text;
    struct wait *wait;
    int r;

    if (!req || !method || !method[0] || !mcpi_text_fits(method) || !ret_reply ||
        mcpi_options_read(&opt, sizeof(opt), given) < 0 || opt.timeout_ms < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "%s", mcp_status_text(MCP_E_INVAL));
    r = call_check(req);
    if (r < 0)
        return mcpi_error_set(err, r, "%s: %s", method, mcp_status_text(r));
    mcpi_buf_init(&text, req->host->mem, MCPI_JSON_TEXT_MAX);
    r = params_write(req, method, params, &text, err);
    wait = r == 0 ? wait_new(req, method, &text) : NULL;
    mcpi_buf_done(&text);
    if (r < 0)
        return r;
    if (!wait)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    wait->opt = opt;
    wait->timeout_us = opt.timeout_ms ? mcpi_ms(opt.timeout_ms) : req->server->ask_us;
    r = call_and_wait(req, wait, ret_reply, err);
    wait_unref(wait);
    return r;
}
