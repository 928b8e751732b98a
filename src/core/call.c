/* call.c - what the user started: legs, a total deadline, one outcome */
#include "core/call.h"

#include <stdio.h>

#include "base/mem.h"
#include "core/peer.h"

struct mcpi_call {
    unsigned refs; /* the user's, and the live call's own */
    struct mcpi_engine *engine;
    struct mcpi_leg
        *leg; /* the one under way; counted. Kept after the end, for its id */
    struct mcpi_timer timer; /* live: the total. ended: the wait for its signal */
    int64_t total_us;
    const struct mcpi_call_ops *ops; /* NULL: nobody to tell any more */
    void *user;
    mcpi_flushed_fn *flushed; /* somebody waits for the signal */
    void *flushed_user;
    bool ended;
};

static void
call_unref(struct mcpi_call *call)
{
    if (--call->refs > 0)
        return;
    mcpi_leg_unref(call->leg);
    mcpi_free(call->engine->mem, call);
}

/* Who is told of the end of a leg that the call itself ended, or is ending already. */
static void
nobody_ended(void *user, struct mcpi_leg *leg, int status,
             const struct mcpi_rpc *answer)
{
    (void)user;
    (void)leg;
    (void)status;
    (void)answer;
}

static const struct mcpi_leg_owner nobody = {.ended = nobody_ended};

/* The one ending: the leg is over, by itself or by us, and the user is told. */
static bool
call_end(struct mcpi_call *call, int status, const struct mcpi_rpc *answer,
         const char *reason)
{
    if (call->ended)
        return false;
    call->ended = true;
    mcpi_timer_disarm(call->engine->timers, &call->timer);
    call->engine->counts.calls--;
    call->leg->owner = &nobody;
    mcpi_leg_end(call->leg, status, NULL, reason);
    if (call->ops)
        call->ops->done(call->user, call, status, answer);
    call_unref(call);
    return true;
}

static void
call_leg_ended(void *user, struct mcpi_leg *leg, int status,
               const struct mcpi_rpc *answer)
{
    (void)leg;
    call_end(user, status, answer, NULL);
}

static void
call_leg_progress(void *user, struct mcpi_leg *leg, const struct mcpi_progress *p)
{
    struct mcpi_call *call = user;

    (void)leg;
    if (call->ops && call->ops->progress)
        call->ops->progress(call->user, call, p);
}

static const struct mcpi_leg_owner call_owner = {call_leg_ended, call_leg_progress};

static void
call_stop_flush(struct mcpi_call *call)
{
    call->flushed = NULL;
    call->leg->on_signaled = NULL;
    mcpi_timer_disarm(call->engine->timers, &call->timer);
}

static void
call_flushed(void *user, int status)
{
    struct mcpi_call *call = user;
    mcpi_flushed_fn *fn = call->flushed;

    call_stop_flush(call);
    fn(call->flushed_user, status);
    call_unref(call);
}

static void
call_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_call *call = MCPI_CONTAINER(timer, struct mcpi_call, timer);
    char reason[MCPI_REASON_MAX + 1];
    char shown[MCPI_ID_SHOWN];

    mcpi_engine_at(call->engine, now);
    if (call->ended) {
        MCPI_LOG(&call->engine->log, MCP_LOG_WARNING,
                 "the cancel of request %s could not be written in time",
                 mcpi_id_show(&call->leg->id, shown));
        call_flushed(call, MCP_E_TIMEOUT);
        return;
    }
    snprintf(reason, sizeof(reason), "total time of %lld ms used up",
             (long long)(call->total_us / 1000));
    call_end(call, MCP_E_TOTAL_TIMEOUT, NULL, reason);
}

/* ---- starting -------------------------------------------------------------- */

static int64_t
resolve_idle(const struct mcpi_engine *e, int64_t wanted)
{
    if (wanted == MCPI_TIMEOUT_DEFAULT)
        return e->times.request;
    return wanted < 0 ? 0 : wanted;
}

/* Progress that may prolong a call for ever must not (I8). */
static int64_t
resolve_total(const struct mcpi_engine *e, const struct mcpi_call_options *opt)
{
    if (opt->total_us == MCPI_TIMEOUT_DEFAULT)
        return opt->reset_on_progress ? e->times.ceiling : MCPI_NEVER;
    return opt->total_us < 0 ? 0 : opt->total_us;
}

static int
call_open_leg(struct mcpi_call *call, struct mcpi_peer *peer,
              const struct mcpi_call_options *opt)
{
    struct mcpi_leg_options leg = {
        .id = opt->id,
        .method = opt->method,
        .params = opt->params,
        .params_len = opt->params_len,
        .meta = opt->meta,
        .meta_len = opt->meta_len,
        .resume_token = opt->resume_token,
        .timeout_us = resolve_idle(call->engine, opt->timeout_us),
        .reset_on_progress = opt->reset_on_progress,
        .want_progress = opt->reset_on_progress || opt->ops->progress,
        .detach = opt->on_abandon == MCPI_ABANDON_DETACHES,
        .parent = opt->parent,
        .owner = &call_owner,
        .owner_user = call,
    };
    int r;

    r = mcpi_leg_open(peer, &leg, &call->leg);
    if (r == 0)
        mcpi_leg_ref(call->leg);
    return r;
}

int
mcpi_call_start(struct mcpi_peer *peer, const struct mcpi_call_options *opt,
                int64_t now, struct mcpi_call **ret_call)
{
    struct mcpi_engine *e = peer->engine;
    struct mcpi_call *call;
    int r;

    mcpi_engine_at(e, now);
    call = mcpi_alloc_zero(e->mem, sizeof(*call));
    if (!call)
        return MCP_E_NOMEM;
    call->engine = e;
    call->refs = ret_call ? 2 : 1;
    call->ops = opt->ops;
    call->user = opt->user;
    call->total_us = resolve_total(e, opt);
    mcpi_timer_init(&call->timer, call_expired);
    mcpi_timer_arm(e->timers, &call->timer, mcpi_time_add(e->now, call->total_us));
    r = call_open_leg(call, peer, opt); /* it may leave in there: all is armed (A14) */
    if (r < 0) {
        mcpi_timer_disarm(e->timers, &call->timer);
        mcpi_free(e->mem, call);
        return r;
    }
    e->counts.calls++;
    if (ret_call)
        *ret_call = call;
    return 0;
}

/* ---- the handle ------------------------------------------------------------ */

const struct mcpi_id *
mcpi_call_id(const struct mcpi_call *call)
{
    return &call->leg->id;
}

int
mcpi_call_cancel(struct mcpi_call *call, const char *reason, int64_t now)
{
    mcpi_engine_at(call->engine, now);
    if (call->ended)
        return MCP_E_STATE;
    call->leg->resumable = false; /* an explicit cancel always cancels (B27) */
    call_end(call, MCP_E_CANCELED, NULL, reason ? reason : "canceled by the caller");
    return 0;
}

int
mcpi_call_flush(struct mcpi_call *call, int64_t within_us, mcpi_flushed_fn *fn,
                void *user, int64_t now)
{
    mcpi_engine_at(call->engine, now);
    if (!call->ended || call->flushed)
        return MCP_E_STATE;
    if (call->leg->frame.state == MCPI_OUT_IDLE) {
        fn(user, call->leg->signaled);
        return 0;
    }
    call->refs++;
    call->flushed = fn;
    call->flushed_user = user;
    call->leg->on_signaled = call_flushed;
    call->leg->signaled_user = call;
    mcpi_timer_arm(call->engine->timers, &call->timer,
                   mcpi_time_add(call->engine->now, within_us));
    return 0;
}

void
mcpi_call_release(struct mcpi_call *call)
{
    if (call)
        call_unref(call);
}

void
mcpi_call_free(struct mcpi_call *call, int64_t now)
{
    if (!call)
        return;
    mcpi_engine_at(call->engine, now);
    call->ops = NULL;
    if (call->flushed) {
        call_stop_flush(call);
        call_unref(call);
    }
    call_end(call, MCP_E_CANCELED, NULL, "abandoned by the caller");
    call_unref(call);
}
