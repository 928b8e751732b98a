/* call_handle.c - what the holder of a call may do with it, on any thread */
#include <string.h>
#include <unistd.h>

#include "api/call.h"
#include "api/reply.h"
#include "api/time.h"
#include "base/text.h"
#include "run/thread.h"

/* The loop may be gone by now: what tells a fork must not be the loop's. */
static bool
call_is_ours(const mcp_call *call)
{
    return getpid() == call->client->pid;
}

const char *
mcp_call_id(const mcp_call *call)
{
    return call ? atomic_load(&((mcp_call *)(uintptr_t)call)->id_text) : NULL;
}

/* Under lock: the loop has something to look at. True: post act, without the lock. */
static bool
call_wants_act(mcp_call *call)
{
    if (call->is_gone || call->act_out)
        return false;
    call->act_out = true;
    return true;
}

/* ---- cancel -------------------------------------------------------------- */

bool
mcpi_handle_cancel(mcp_call *call, const char *reason)
{
    bool live, post = false;

    pthread_mutex_lock(&call->lock);
    live = !call->is_ended;
    if (live && !call->is_canceled) {
        call->is_canceled = true;
        (void)mcpi_text_clean(call->reason, sizeof(call->reason), reason,
                              reason ? strlen(reason) : 0);
        post = call_wants_act(call);
    }
    pthread_mutex_unlock(&call->lock);
    if (post)
        mcpi_loop_post(call->client->host.inside, &call->act);
    return live;
}

int
mcp_call_cancel(mcp_call *call, const char *reason)
{
    if (!call)
        return MCP_E_INVAL;
    if (!call_is_ours(call))
        return MCP_E_STATE;
    return mcpi_handle_cancel(call, reason) ? 0 : MCP_E_STATE;
}

/* ---- wait ---------------------------------------------------------------- */

/* Under lock: what a person would want to read. */
static int
call_describe(const mcp_call *call, mcp_error *err)
{
    int64_t idle = call->timeout_us ? call->timeout_us : call->client->timeout_us;
    int status = call->status;

    if (call->error.status ==
        status) { /* the server, the link or a check has said it */
        if (err)
            *err = call->error;
        return status;
    }
    switch (status) {
    case MCP_E_TIMEOUT:
        return mcpi_error_set(err, status, "%s timed out after %lld ms", call->method,
                              (long long)(idle < 0 ? 0 : idle / 1000));
    case MCP_E_TOTAL_TIMEOUT:
        if (call->stopped < 0 || call->total_us <= 0)
            return mcpi_error_set(err, status, "the time for %s is used up",
                                  call->method);
        return mcpi_error_set(err, status, "%s used up its total time of %lld ms",
                              call->method, (long long)(call->total_us / 1000));
    case MCP_E_CANCELED:
        return mcpi_error_set(err, status, "%s was canceled%s%s", call->method,
                              call->reason[0] ? ": " : "", call->reason);
    case MCP_E_CLOSED:
        return mcpi_error_set(
            err, status, "the connection closed before %s was answered", call->method);
    case MCP_E_LIMIT:
        if (call->rounds < 0 || call->rounds_made < call->rounds)
            return mcpi_error_set(err, status, "%s: %s", call->method,
                                  mcp_status_text(status));
        return mcpi_error_set(err, status,
                              "%s: the server has asked more than %d times",
                              call->method, call->rounds);
    case MCP_E_PROTO:
        return mcpi_error_set(err, status, "the answer to %s is none of the protocol's",
                              call->method);
    default:
        return mcpi_error_set(err, status, "%s: %s", call->method,
                              mcp_status_text(status));
    }
}

/* Under lock. Progress that came before the end is told before it (I12), unless the one
 * who asks is in the middle of telling it. */
static bool
call_is_told(const mcp_call *call, bool inside)
{
    return call->is_ended && (inside || call->progress_left == 0);
}

int
mcpi_handle_wait(mcp_call *call, int64_t until, mcp_reply **ret_reply, mcp_error *err)
{
    bool inside = call->on_lane && mcpi_lane_is_here(&call->lane);
    bool in_time = true;
    int r;

    pthread_mutex_lock(&call->lock);
    while (!call_is_told(call, inside) && until > 0 && in_time)
        in_time = mcpi_cond_wait(&call->changed, &call->lock, until);
    if (!call_is_told(call, inside)) {
        r = mcpi_error_set(err, MCP_E_AGAIN, "%s has not ended yet", call->method);
    } else if (call->status < 0) {
        r = call_describe(call, err);
    } else {
        r = 0;
        if (ret_reply)
            *ret_reply = mcpi_reply_of(mcp_doc_ref(call->answer));
    }
    pthread_mutex_unlock(&call->lock);
    return r;
}

int
mcp_call_wait(mcp_call *call, int64_t timeout_ms, mcp_reply **ret_reply, mcp_error *err)
{
    bool blocks = timeout_ms > 0 || timeout_ms == MCP_TIMEOUT_NONE;
    int64_t until = MCPI_NEVER;
    int r;

    if (!call)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no call to wait for");
    if (!call_is_ours(call))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    r = mcpi_handle_wait(call, 0, ret_reply, err);
    if (r != MCP_E_AGAIN || !blocks)
        return r;
    r = mcpi_client_may_wait(call->client, err);
    if (r < 0)
        return r;
    if (timeout_ms > 0)
        until = mcpi_time_add(mcpi_loop_clock(), mcpi_ms(timeout_ms));
    r = mcpi_pool_wait_begin();
    if (r < 0)
        return mcpi_error_set(err, r, "too many workers wait already");
    r = mcpi_handle_wait(call, until, ret_reply, err);
    mcpi_pool_wait_end();
    return r;
}

/* ---- flush --------------------------------------------------------------- */

/* On the stack of the one who waits. */
struct flush {
    struct mcpi_post post;
    mcp_call *call;
    int64_t within_us;
    bool done; /* under the call's lock, as status */
    int status;
};

static void
flush_end(void *user, int status)
{
    struct flush *flush = user;
    mcp_call *call = flush->call;

    pthread_mutex_lock(&call->lock);
    flush->done = true;
    flush->status = status;
    call->flushing--;
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    mcpi_handle_settle(call);
}

static void
flush_begin(struct mcpi_post *post)
{
    struct flush *flush = MCPI_CONTAINER(post, struct flush, post);
    mcp_call *call = flush->call;
    int r;

    if (!call->core) { /* answered, never sent, or the link is gone */
        flush_end(flush, call->signaled);
        return;
    }
    r = mcpi_call_flush(call->core, flush->within_us, flush_end, flush,
                        mcpi_loop_now(call->client->host.inside));
    if (r < 0)
        flush_end(flush, r);
}

/* Under lock, until it is done. */
static void
flush_wait(struct flush *flush)
{
    mcp_call *call = flush->call;

    while (!flush->done)
        (void)mcpi_cond_wait(&call->changed, &call->lock, MCPI_NEVER);
}

static int
call_flush(mcp_call *call, int64_t within_us)
{
    struct flush flush = {.post.fn = flush_begin, .call = call, .within_us = within_us};
    bool gone;

    pthread_mutex_lock(&call->lock);
    gone = call->is_gone;
    if (gone)
        flush.status = call->signaled; /* before, it is the loop's */
    else
        call->flushing++;
    pthread_mutex_unlock(&call->lock);
    if (gone)
        return flush.status;
    mcpi_loop_post(call->client->host.inside, &flush.post);
    pthread_mutex_lock(&call->lock);
    flush_wait(&flush);
    pthread_mutex_unlock(&call->lock);
    return flush.status;
}

int
mcp_call_flush(mcp_call *call, int64_t timeout_ms)
{
    int r;

    if (!call || timeout_ms < 0)
        return MCP_E_INVAL;
    if (!call_is_ours(call))
        return MCP_E_STATE;
    r = mcpi_client_may_wait(call->client, NULL);
    if (r < 0)
        return r;
    r = mcpi_pool_wait_begin();
    if (r < 0)
        return r;
    r = call_flush(call, timeout_ms ? mcpi_ms(timeout_ms) : MCPI_FLUSH_DEFAULT);
    mcpi_pool_wait_end();
    return r;
}

/* ---- how it ended -------------------------------------------------------- */

/* Constant once it has ended: the lock is for the flag. */
static bool
call_has_error(const mcp_call *call)
{
    pthread_mutex_t *lock = &((mcp_call *)(uintptr_t)call)->lock;
    bool has;

    pthread_mutex_lock(lock);
    has = call->is_ended && (call->status == MCP_E_PEER || call->status == MCP_E_HTTP ||
                             call->status == MCP_E_AUTH);
    pthread_mutex_unlock(lock);
    return has;
}

const mcp_error *
mcp_call_error(const mcp_call *call)
{
    if (!call || !call_is_ours(call))
        return NULL;
    return call_has_error(call) ? &call->error : NULL;
}

const mcp_json *
mcp_call_error_data(const mcp_call *call)
{
    return mcp_call_error(call) ? call->error_data : NULL;
}

/* ---- letting go ---------------------------------------------------------- */

static void
call_let_go(mcp_call *call, bool frees)
{
    bool post;

    pthread_mutex_lock(&call->lock);
    call->is_let_go = true;
    call->is_freed |= frees;
    post = call_wants_act(call);
    pthread_mutex_unlock(&call->lock);
    if (post)
        mcpi_loop_post(call->client->host.inside, &call->act);
    if (frees) /* it may be taken up again at once */
        mcpi_front_let_go(&call->client->front, &call->claim);
    /* a callback that runs may wait for this very thread, if it is a loop's */
    if (frees && call->on_lane && mcpi_client_may_wait(call->client, NULL) == 0)
        mcpi_lane_wait(&call->lane);
    mcpi_handle_unref(call);
}

void
mcpi_handle_free(mcp_call *call)
{
    call_let_go(call, true);
}

void
mcp_call_free(mcp_call *call)
{
    if (call && call_is_ours(call))
        call_let_go(call, true);
}

void
mcp_call_release(mcp_call *call)
{
    if (call && call_is_ours(call))
        call_let_go(call, false);
}
