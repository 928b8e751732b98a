/*
 * call.c - a call, from the post that begins it to the moment its loop side lets go
 *
 * mcpi_handle_end is the one ending, on the loop: the id is free, bonds are cut, the
 * outcome is published, the last delivery is added. What can end a call (core, an early
 * cancel, a scope or parent that is over, a start that fails, an answer that was kept,
 * a check) all leads there, and comes from the loop's thread, so it comes once.
 */
#include "api/call.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/fault.h"
#include "api/reply.h"
#include "base/mem.h"
#include "base/text.h"

static int64_t
call_now(const mcp_call *call)
{
    return mcpi_loop_now(call->client->host.inside);
}

/* ---- letting go of the loop side ----------------------------------------- */

/* Under lock: nothing of it is on its way to the loop or on the lane. */
static bool
call_is_quiet(const mcp_call *call)
{
    return !call->begin_out && !call->act_out && !call->final_out && !call->check_out &&
           call->lane_busy == 0 && call->flushing == 0;
}

static void
call_drop_core(mcp_call *call)
{
    mcpi_call_free(call->core, call_now(call));
    call->core = NULL;
}

/* It is gone for everybody else already. */
static void
call_detach(mcp_call *call)
{
    struct mcp_client *client = call->client;

    if (call->core)
        call_drop_core(call);
    mcpi_list_remove(&call->in_client);
    mcpi_handle_unref(call);
    mcpi_client_try_finish(client);
}

void
mcpi_handle_settle(mcp_call *call)
{
    bool wanted, gone;

    if (!call->is_over)
        return;
    pthread_mutex_lock(&call->lock);
    wanted = call->core && !call->is_let_go;
    gone = call->is_gone = call_is_quiet(call) && !wanted;
    pthread_mutex_unlock(&call->lock);
    if (gone)
        call_detach(call);
}

static void
call_note_signaled(void *user, int status)
{
    mcp_call *call = user;

    call->signaled = status;
}

void
mcpi_handle_strand(mcp_call *call)
{
    assert(call->is_over || !call->core);
    if (!call->is_over)
        return; /* answered, and on its way through a check */
    if (call->core) {
        call->signaled = MCP_E_CLOSED; /* what is not told now never will be */
        (void)mcpi_call_flush(call->core, 0, call_note_signaled, call, call_now(call));
        call_drop_core(call);
    }
    mcpi_handle_settle(call);
}

/* ---- the end ------------------------------------------------------------- */

static void
call_unbind(mcp_call *call)
{
    mcpi_scope_unhook(&call->scope_hook);
    if (call->is_bound)
        mcpi_token_unhook(call->parent, &call->parent_hook);
    call->is_bound = false;
}

/* Under lock. */
static void
call_publish(mcp_call *call, int status, const struct mcpi_rpc *answer)
{
    call->is_ended = true;
    call->status = status;
    if (answer)
        call->answer = mcp_doc_ref(answer->doc);
    if (status != MCP_E_PEER || !answer)
        return;
    call->error.status = status;
    call->error.rpc_code = answer->error_code;
    (void)mcpi_text_clean(call->error.message, sizeof(call->error.message),
                          answer->error_message, strlen(answer->error_message));
    call->error_data = answer->error_data;
}

void
mcpi_handle_end(mcp_call *call, int status, const struct mcpi_rpc *answer)
{
    bool gone;

    assert(!call->is_over);
    call->is_over = true;
    mcpi_front_release(&call->client->front, &call->claim, status);
    call_unbind(call);
    mcpi_check_leave(call);
    if (call->core && answer) { /* there is no signal that anybody could ask for */
        mcpi_call_release(call->core);
        call->core = NULL;
    }
    pthread_mutex_lock(&call->lock);
    call_publish(call, status, answer);
    call->final_out = call->on_lane;
    gone = call->is_gone = call_is_quiet(call) && (!call->core || call->is_let_go);
    pthread_mutex_unlock(&call->lock);
    pthread_cond_broadcast(&call->changed);
    if (call->on_lane)
        mcpi_lane_add(&call->lane, &call->final);
    else if (gone)
        call_detach(call);
}

/* ---- what core tells ----------------------------------------------------- */

bool
mcpi_handle_has_headers(const mcp_call *call)
{
    const struct mcp_client *client = call->client;

    return client->mirrors.on && client->peer->dialect->modern;
}

/* Which page of the list of tools it has asked for. */
static uint64_t
call_page(const mcp_call *call)
{
    const struct mcpi_cache_key *key = &call->key;

    if (key->method == MCPI_METHOD_OTHER)
        return MCPI_MIRRORS_ELSEWHERE;
    return key->text ? mcpi_mirrors_page(&call->client->mirrors, key->text, key->len)
                     : MCPI_MIRRORS_FIRST;
}

/* A page of tools is learned from, and nobody sees those that are not to be used: *ret
 * is the answer without them, with a document of its own. Without memory for that there
 * is no answer. */
static int
call_look_through(mcp_call *call, const struct mcpi_rpc *answer, struct mcpi_rpc *ret)
{
    struct mcp_client *client = call->client;

    if (strcmp(call->method, mcpi_method_name(MCPI_METHOD_TOOLS_LIST)) != 0 ||
        !mcpi_handle_has_headers(call)) {
        *ret = *answer;
        mcp_doc_ref(ret->doc);
        return 0;
    }
    return mcpi_mirrors_read(&client->mirrors, answer, call_page(call),
                             &client->host.log, ret);
}

/* What a list or a resource says of itself is remembered, if it was asked for in one
 * round: with answers of ours it would be another question. */
static void
call_remember(mcp_call *call, int status, const struct mcpi_rpc *answer)
{
    struct mcp_client *client = call->client;
    bool is_list = call->key.method != MCPI_METHOD_RESOURCES_READ;

    if (call->key.method == MCPI_METHOD_OTHER || call->rounds_made > 0)
        return;
    if (status == MCP_E_PEER && answer->error_code == MCPI_RPC_INVALID_PARAMS &&
        is_list && call->key.text)
        mcpi_cache_drop(&client->cache, call->key.method);
    if (status < 0 ||
        call->asked != mcpi_cache_changes(&client->cache, call->key.method))
        return;
    if (call->key.method == MCPI_METHOD_TOOLS_LIST && !client->opt.no_output_check)
        mcpi_promises_learn(&client->promises, answer->result, !call->key.text,
                            call->asked, call_now(call));
    if (client->peer->dialect->modern && !client->opt.no_cache &&
        mcpi_typed_check(call->key.method, answer->result, NULL) == 0)
        mcpi_cache_keep(&client->cache, &call->key, call->asked, answer->doc,
                        call_now(call));
}

static void
core_done(void *user, struct mcpi_call *core, int status, const struct mcpi_rpc *answer)
{
    struct mcpi_rpc seen = {.doc = NULL};
    mcp_call *call = user;
    int r;

    if (status == MCP_E_CANCELED && call->stopped < 0)
        status = call->stopped;
    /* nobody looks at it before the call has ended with that status */
    (void)mcpi_fault_describe(mcpi_call_fault(core), status, call->method,
                              &call->error);
    if (status == 0)
        status = mcpi_typed_check(call->typed, answer->result, &call->error);
    if (status == 0) {
        r = call_look_through(call, answer, &seen);
        if (r < 0) {
            mcpi_handle_end(call, r, NULL);
            return;
        }
        answer = &seen;
    }
    call_remember(call, status, answer);
    if (mcpi_retry_is_asking(call))
        mcpi_retry_end(call, status, answer);
    else if (call->tool)
        mcpi_check_end(call, status, answer);
    else
        mcpi_handle_end(call, status, answer);
    mcp_doc_free(seen.doc);
}

static void
core_progress(void *user, struct mcpi_call *core, const struct mcpi_progress *p)
{
    (void)core;
    if (!mcpi_check_is_asking(user) && !mcpi_retry_is_asking(user))
        mcpi_handle_progress(user, p);
}

static void
core_resumable(void *user, struct mcpi_call *core, const char *event)
{
    mcp_call *call = user;

    if (call->on_resume && !mcpi_check_is_asking(call))
        mcpi_handle_token(call, mcpi_call_id(core), event);
}

static int
core_claim(void *user, struct mcpi_call *core, struct mcpi_id *ret_id)
{
    mcp_call *call = user;
    struct mcpi_round_id *id;
    int r;

    (void)core;
    id = mcpi_alloc_zero(call->mem, sizeof(*id));
    if (!id)
        return MCP_E_NOMEM;
    r = mcpi_front_renew(&call->client->front, &call->claim, &call->first);
    if (r < 0) {
        mcpi_free(call->mem, id);
        return r;
    }
    (void)snprintf(id->text, sizeof(id->text), "%" PRId64, call->claim.id.number);
    id->next = call->round_ids;
    call->round_ids = id;
    atomic_store(&call->id_text, id->text);
    if (!call->is_more) {
        call->rounds_made++;
        call->known = call->client->mirrors.changes;
    }
    call->is_more = false;
    *ret_id = call->claim.id;
    return 0;
}

static bool
core_more(void *user, struct mcpi_call *core, int status, const struct mcpi_rpc *answer,
          struct mcpi_next_leg *next)
{
    mcp_call *call = user;

    call->is_more = mcpi_retry_more(call, core, status, answer, next) ||
                    (!mcpi_retry_is_asking(call) &&
                     mcpi_check_more(call, status, answer, next));
    return call->is_more;
}

static const struct mcpi_call_ops quiet_ops = {.done = core_done,
                                               .claim = core_claim,
                                               .more = core_more,
                                               .resumable = core_resumable};
static const struct mcpi_call_ops progress_ops = {.done = core_done,
                                                  .progress = core_progress,
                                                  .claim = core_claim,
                                                  .more = core_more,
                                                  .resumable = core_resumable};

/* ---- the lane ------------------------------------------------------------ */

/* The last one: what comes home after it lets the loop side go. */
static void
call_deliver_final(struct mcpi_post *post)
{
    mcp_call *call = MCPI_CONTAINER(post, mcp_call, final);
    mcp_reply *reply;
    bool wanted;
    int status;

    pthread_mutex_lock(&call->lock);
    wanted = call->done && !call->is_freed;
    status = call->status;
    reply = status == 0 ? mcpi_reply_of(call->answer) : NULL;
    pthread_mutex_unlock(&call->lock);
    if (wanted)
        call->done(call, status, reply, call->done_user);
    pthread_mutex_lock(&call->lock);
    call->final_out = false;
    pthread_mutex_unlock(&call->lock);
}

static void
lane_is_busy(struct mcpi_lane *lane)
{
    mcp_call *call = MCPI_CONTAINER(lane, mcp_call, lane);

    pthread_mutex_lock(&call->lock);
    call->lane_busy++;
    pthread_mutex_unlock(&call->lock);
}

static void
lane_is_idle(struct mcpi_lane *lane)
{
    mcp_call *call = MCPI_CONTAINER(lane, mcp_call, lane);
    struct mcpi_loop *loop = call->client->host.inside;
    bool post;

    pthread_mutex_lock(&call->lock);
    call->lane_busy--;
    post = call->is_ended && call_is_quiet(call);
    call->act_out |= post;
    pthread_mutex_unlock(&call->lock);
    if (post)
        mcpi_loop_post(loop, &call->act);
}

int
mcpi_handle_init_lane(mcp_call *call)
{
    return mcpi_lane_init(&call->lane, call->client->pool, call->client->host.inside,
                          lane_is_busy, lane_is_idle);
}

/* ---- what the loop is asked to do ---------------------------------------- */

/* Before its end: have core end it, for that reason. Without core it is answered, and
 * is being checked. */
static void
call_stop(mcp_call *call, int status, const char *reason)
{
    call->stopped = status;
    if (call->core)
        (void)mcpi_call_cancel(call->core, reason, call_now(call)); /* it is live */
    else
        mcpi_handle_end(call, status, NULL);
}

/* Nobody wants it any more; core tells nobody. */
static void
call_abandon(mcp_call *call)
{
    call_drop_core(call);
    mcpi_handle_end(call, MCP_E_CANCELED, NULL);
}

static void
call_on_act(struct mcpi_post *post)
{
    mcp_call *call = MCPI_CONTAINER(post, mcp_call, act);
    bool canceled, freed;

    pthread_mutex_lock(&call->lock);
    call->act_out = false;
    canceled = call->is_canceled;
    freed = call->is_freed;
    pthread_mutex_unlock(&call->lock);
    if (!call->is_over && canceled) {
        /* constant once is_canceled is set; may let go of the call */
        call_stop(call, MCP_E_CANCELED, call->reason[0] ? call->reason : NULL);
    } else if (!call->is_over && freed) {
        call_abandon(call);
    } else {
        mcpi_handle_settle(call);
    }
}

static void
scope_is_over(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    mcp_call *call = MCPI_CONTAINER(hook, mcp_call, scope_hook);

    if (status == MCP_E_TOTAL_TIMEOUT)
        reason = "the time of its scope is used up";
    pthread_mutex_lock(&call->lock);
    if (!call->is_canceled)
        (void)mcpi_text_clean(call->reason, sizeof(call->reason), reason,
                              strlen(reason));
    call->is_canceled = true;
    pthread_mutex_unlock(&call->lock);
    call_stop(call, status, call->reason[0] ? call->reason : NULL);
}

/* On any thread: the request this was asked for is canceled, or over. */
static void
parent_is_over(void *user)
{
    mcp_call *call = user;
    const char *reason = mcpi_token_reason(call->parent);

    (void)mcpi_handle_cancel(call, reason[0] ? reason : "its request is over");
}

static int
call_start(mcp_call *call)
{
    const struct mcpi_call_options opt = {
        .id = &call->claim.id,
        .method = call->method,
        .params = call->params,
        .params_len = call->params_len,
        .meta = call->meta,
        .meta_len = call->meta_len,
        .log_level = call->log_level,
        .resume_token = call->resume,
        .resumable = call->on_resume != NULL,
        .timeout_us = call->timeout_us,
        .total_us = call->total_us,
        .reset_on_progress = call->reset_on_progress,
        .rounds = call->rounds,
        .on_abandon = call->detaches ? MCPI_ABANDON_DETACHES : MCPI_ABANDON_CANCELS,
        .ops = call->on_progress ? &progress_ops : &quiet_ops,
        .user = call,
    };

    call->known = call->client->mirrors.changes;
    return mcpi_call_start(call->client->peer, &opt, call_now(call), &call->core);
}

/* What is there already is not asked for again. */
static bool
call_answer_kept(mcp_call *call)
{
    struct mcpi_cache *cache = &call->client->cache;
    struct mcpi_rpc kept = {.kind = MCPI_RPC_RESULT};

    if (call->key.method == MCPI_METHOD_OTHER)
        return false;
    call->asked = mcpi_cache_changes(cache, call->key.method);
    if (!call->is_fresh)
        kept.doc = mcpi_cache_find(cache, &call->key, call_now(call));
    if (!kept.doc)
        return false;
    mcpi_handle_end(call, 0, &kept);
    mcp_doc_free(kept.doc);
    return true;
}

/* What is over already is never sent (B5). A scope is watched before anything is sent:
 * what could not be stopped must not start. */
static int
call_check_bonds(mcp_call *call)
{
    int r;

    if (call->parent && mcpi_token_is_set(call->parent))
        return MCP_E_CANCELED;
    if (!call->scope)
        return 0;
    r = mcpi_scope_status(call->scope, call_now(call));
    if (r == 0)
        r = mcpi_scope_hook(call->scope, call->client->host.inside, &call->scope_hook);
    return r;
}

/* It is over before it begins, with that status. But what it would take up again is at
 * work, and the server is to be told, which core does for what has begun (B27). */
static bool
call_takes_back(mcp_call *call, int status, const char *reason)
{
    if ((status != MCP_E_CANCELED && status != MCP_E_TOTAL_TIMEOUT) ||
        !call->client->peer || call_start(call) < 0)
        return false;
    call_stop(call, status, reason);
    return true;
}

static void
call_on_begin(struct mcpi_post *post)
{
    mcp_call *call = MCPI_CONTAINER(post, mcp_call, begin);
    const char *reason = NULL;
    bool canceled, freed;
    int r;

    mcpi_list_append(&call->client->calls, &call->in_client);
    call->begun = call_now(call);
    pthread_mutex_lock(&call->lock);
    call->begin_out = false;
    canceled = call->is_canceled;
    freed = call->is_freed;
    pthread_mutex_unlock(&call->lock);
    r = canceled || freed ? MCP_E_CANCELED : call_check_bonds(call);
    if (canceled && call->reason[0]) /* constant from now on */
        reason = call->reason;
    if (call->resume && (canceled || !freed) && call_takes_back(call, r, reason))
        return;
    if (r == 0 && !call->client->peer)
        r = MCP_E_CLOSED;
    if (r == 0 && call_answer_kept(call))
        return;
    if (r == 0)
        r = call_start(call);
    if (r < 0) {
        mcpi_handle_end(call, r, NULL);
        return;
    }
    if (call->parent) {
        call->is_bound = true;
        mcpi_token_hook(call->parent, &call->parent_hook);
    }
}

/* ---- the beginning, on the caller's thread ------------------------------- */

static int
call_claim(mcp_call *call, mcp_error *err)
{
    char shown[MCPI_ID_SHOWN];
    int r;

    r = mcpi_front_claim(&call->client->front, &call->claim);
    if (r == MCP_E_ID_IN_USE)
        return mcpi_error_set(err, r, "request id %s is in flight",
                              mcpi_id_show(&call->claim.id, shown));
    if (r < 0)
        return mcpi_error_set(err, r, "the connection is closed");
    call->first = call->claim.key;
    if (!atomic_load(&call->id_text)) {
        (void)snprintf(call->number, sizeof(call->number), "%" PRId64,
                       call->claim.id.number);
        atomic_init(&call->id_text, call->number);
    }
    return 0;
}

int
mcpi_handle_begin(struct mcp_client *client, const struct mcpi_ask *ask,
                  const mcp_call_options *opt, mcp_call **ret_call, mcp_error *err)
{
    mcp_call *call;
    int r;

    r = mcpi_handle_make(client, ask, opt, &call, err);
    if (r < 0)
        return r;
    mcpi_list_init(&call->in_client);
    call->scope_hook.fn = scope_is_over;
    call->parent_hook.fn = parent_is_over;
    call->parent_hook.user = call;
    call->begin.fn = call_on_begin;
    call->act.fn = call_on_act;
    call->final.fn = call_deliver_final;
    r = call_claim(call, err);
    if (r < 0) {
        mcpi_handle_unref(call);
        return r;
    }
    call->begin_out = true;
    if (ask->has_handle) {
        atomic_store(&call->refs, 2);
        *ret_call = call;
    }
    mcpi_loop_post(client->host.inside, &call->begin);
    return 0;
}
