/* call.c - what the user started: legs, a total deadline, one outcome */
#include "core/call.h"

#include <stdio.h>

#include "base/mem.h"
#include "core/gather.h"
#include "core/peer.h"

struct mcpi_call {
    unsigned refs; /* the user's, and the live call's own */
    struct mcpi_engine *engine;
    struct mcpi_peer *peer;       /* NULL once ended */
    struct mcpi_exchange *parent; /* counted, until the end; or NULL */
    struct mcpi_leg *leg;         /* under way, or the last one, for its id; counted */
    struct mcpi_leg *origin;      /* what the rounds repeat; counted, until the end */
    struct mcpi_gather *gather;   /* between two legs: what the last one asked */
    struct mcpi_list in_peer, in_parent; /* linked between two legs only */
    struct mcpi_timer timer; /* live: the total. ended: the wait for its signal */
    struct mcpi_timer pause; /* until the next leg, if nothing is asked */
    int64_t total_us, pause_us;
    int rounds;                      /* that may follow; negative: they are not ours */
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

/* ---- the end --------------------------------------------------------------- */

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

/* Between two legs there is none to be ended when the peer is lost, or the request this
 * was asked for is over: they must know the call itself. */
static void
call_wait(struct mcpi_call *call)
{
    mcpi_list_append(&call->peer->waiting, &call->in_peer);
    if (call->parent)
        mcpi_list_append(&call->parent->calls, &call->in_parent);
}

static void
call_stop_waiting(struct mcpi_call *call, const char *reason)
{
    struct mcpi_gather *gather = call->gather;

    call->gather = NULL;
    mcpi_list_remove(&call->in_peer);
    mcpi_list_remove(&call->in_parent);
    mcpi_timer_disarm(call->engine->timers, &call->pause);
    mcpi_gather_free(gather, reason);
}

/* What a leg of a call that has ended comes to. */
static void
call_end_leg(struct mcpi_leg *leg, int status, const char *reason)
{
    leg->owner = &nobody;
    mcpi_leg_end(leg, status, NULL, reason);
}

/* The one ending: the leg is over, by itself or by us, so is what was asked between two
 * legs, and the user is told. */
static bool
call_end(struct mcpi_call *call, int status, const struct mcpi_rpc *answer,
         const char *reason)
{
    if (call->ended)
        return false;
    call->ended = true;
    mcpi_timer_disarm(call->engine->timers, &call->timer);
    call->engine->counts.calls--;
    call_end_leg(call->leg, status, reason);
    call_stop_waiting(call, reason);
    mcpi_leg_unref(call->origin);
    if (call->parent)
        mcpi_exchange_unref(call->parent);
    call->origin = NULL;
    call->parent = NULL;
    call->peer = NULL;
    if (call->ops)
        call->ops->done(call->user, call, status, answer);
    call_unref(call);
    return true;
}

void
mcpi_call_close_all(struct mcpi_peer *peer, const char *reason)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(&peer->waiting)) != NULL)
        call_end(MCPI_CONTAINER(node, struct mcpi_call, in_peer), MCP_E_CLOSED, NULL,
                 reason);
}

bool
mcpi_call_cancel_named(struct mcpi_peer *peer, const struct mcpi_id *id,
                       const char *reason)
{
    struct mcpi_id key = mcpi_id_fold(*id);
    struct mcpi_list *node = peer->waiting.next;

    for (; node != &peer->waiting; node = node->next) {
        struct mcpi_call *call = MCPI_CONTAINER(node, struct mcpi_call, in_peer);

        if (mcpi_id_same(&call->leg->key, &key))
            return call_end(call, MCP_E_CANCELED, NULL, reason);
    }
    return false;
}

void
mcpi_call_end_nested(struct mcpi_exchange *parent, const char *reason)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(&parent->calls)) != NULL)
        call_end(MCPI_CONTAINER(node, struct mcpi_call, in_parent), MCP_E_CANCELED,
                 NULL, reason);
}

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

/* ---- one more leg ---------------------------------------------------------- */

static void call_leg_ended(void *user, struct mcpi_leg *leg, int status,
                           const struct mcpi_rpc *answer);

static void
call_leg_progress(void *user, struct mcpi_leg *leg, const struct mcpi_progress *p)
{
    struct mcpi_call *call = user;

    (void)leg;
    if (call->ops && call->ops->progress)
        call->ops->progress(call->user, call, p);
}

static void
call_leg_resumable(void *user, struct mcpi_leg *leg, const char *token)
{
    struct mcpi_call *call = user;

    (void)leg;
    if (call->ops && call->ops->resumable)
        call->ops->resumable(call->user, call, token);
}

static const struct mcpi_leg_owner call_owner = {call_leg_ended, call_leg_progress,
                                                 call_leg_resumable};

/* The retry of a request has another id, whoever chose the first one
 * (basic/patterns/mrtr). */
static struct mcpi_id
call_mint(const struct mcpi_call *call)
{
    struct mcpi_id id;

    do
        id = mcpi_id_int(++call->peer->next_id);
    while (mcpi_leg_find_any(call->peer, &id) || mcpi_id_same(&id, &call->origin->key));
    return id;
}

static int
call_open_next(struct mcpi_call *call, const struct mcpi_next_leg *turn,
               struct mcpi_leg **ret_leg)
{
    const struct mcpi_leg *like = call->origin;
    struct mcpi_id id;
    struct mcpi_leg_options opt = {
        .id = &id,
        .method = turn->method,
        .params = turn->params,
        .params_len = turn->params_len,
        .meta = like->meta,
        .meta_len = like->meta_len,
        .log_level = like->log_level,
        .resumable = like->want_resumable,
        .timeout_us = like->timeout_us,
        .reset_on_progress = like->reset_on_progress,
        .want_progress = like->want_progress,
        .detach = like->detach,
        .parent = call->parent,
        .owner = &call_owner,
        .owner_user = call,
    };
    int r = 0;

    if (call->ops->claim)
        r = call->ops->claim(call->user, call, &id);
    else
        id = call_mint(call);
    if (r >= 0 && call->ended)
        r = MCP_E_STATE; /* by whom it was asked for an id */
    return r < 0 ? r : mcpi_leg_open(call->peer, &opt, ret_leg);
}

static void
replace_leg(struct mcpi_leg **slot, struct mcpi_leg *leg)
{
    mcpi_leg_unref(*slot);
    *slot = mcpi_leg_ref(leg);
}

/* Whoever is called on the way may end the call, and then no leg follows (L7). */
static void
call_go_on(struct mcpi_call *call, const struct mcpi_next_leg *turn, bool is_new)
{
    struct mcpi_leg *leg;
    int r;

    call->refs++;
    r = call_open_next(call, turn, &leg);
    if (r < 0) {
        call_end(call, r, NULL, NULL);
    } else if (call->ended) {
        call_end_leg(leg, MCP_E_CANCELED, "abandoned by the caller");
    } else {
        replace_leg(&call->leg, leg);
        if (is_new)
            replace_leg(&call->origin, leg);
    }
    call_unref(call);
}

/* ---- rounds ---------------------------------------------------------------- */

static void
call_next_round(struct mcpi_call *call)
{
    struct mcpi_engine *e = call->engine;
    const struct mcpi_leg *first = call->origin;
    struct mcpi_next_leg turn = {.method = first->method};
    struct mcpi_buf params;
    int r;

    mcpi_buf_init(&params, e->mem, e->limits.message_bytes);
    r = mcpi_gather_write(call->gather, first->params, first->params_len, &params);
    call_stop_waiting(call, NULL);
    turn.params = params.data;
    turn.params_len = params.len;
    if (r < 0)
        call_end(call, r, NULL, NULL);
    else
        call_go_on(call, &turn, false);
    mcpi_buf_done(&params);
}

static void
call_pause_over(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_call *call = MCPI_CONTAINER(timer, struct mcpi_call, pause);

    mcpi_engine_at(call->engine, now);
    call_next_round(call);
}

static void
call_gathered(void *user, int status, const struct mcpi_rpc *error)
{
    if (status < 0)
        call_end(user, status, error, NULL);
    else
        call_next_round(user);
}

/* Nothing to ask: a server that has to be asked again is given time, more each time. */
static void
call_pause(struct mcpi_call *call)
{
    int64_t pause = call->pause_us == 0 ? MCPI_PAUSE_FIRST : 2 * call->pause_us;

    call->pause_us = pause < MCPI_PAUSE_MOST ? pause : MCPI_PAUSE_MOST;
    mcpi_timer_arm(call->engine->timers, &call->pause,
                   mcpi_time_add(call->engine->now, call->pause_us));
}

static void
call_answer_questions(struct mcpi_call *call, const struct mcpi_rpc *answer)
{
    int r;

    if (call->rounds-- == 0)
        r = MCP_E_LIMIT; /* answered, so there is nothing to signal (L6) */
    else
        r = mcpi_gather_new(call->peer, answer, &call->gather);
    if (r < 0) {
        call_end(call, r, r == MCP_E_PROTO ? answer : NULL, NULL);
        return;
    }
    call_wait(call);
    if (mcpi_gather_count(call->gather) == 0) {
        call_pause(call);
    } else {
        call->pause_us = 0;
        mcpi_gather_start(call->gather, call_gathered, call);
    }
}

/* ---- a leg has ended ------------------------------------------------------- */

static bool
call_is_asked(const struct mcpi_call *call, const struct mcpi_leg *leg,
              const struct mcpi_rpc *answer)
{
    return call->rounds >= 0 && leg->dialect->modern && mcpi_gather_is_due(answer);
}

/* Three methods may be answered with questions (basic/patterns/mrtr), and those that
 * are not of the protocol: what an extension allows is not ours to know. */
static bool
leg_may_be_asked(const struct mcpi_leg *leg)
{
    switch (mcpi_method_find(leg->method, leg->method_len)) {
    case MCPI_METHOD_TOOLS_CALL:
    case MCPI_METHOD_PROMPTS_GET:
    case MCPI_METHOD_RESOURCES_READ:
    case MCPI_METHOD_OTHER:
        return true;
    default:
        return false;
    }
}

static void
call_answered(struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct mcpi_next_leg next = {0};

    if (call->ops->more && call->ops->more(call->user, call, status, answer, &next)) {
        if (!call->ended)
            call_go_on(call, &next, true);
    } else {
        call_end(call, status, answer, NULL);
    }
}

static void
call_leg_ended(void *user, struct mcpi_leg *leg, int status,
               const struct mcpi_rpc *answer)
{
    struct mcpi_call *call = user;

    call->refs++;
    if (status == 0 && call_is_asked(call, leg, answer) && !leg_may_be_asked(leg))
        call_end(call, MCP_E_PROTO, answer, NULL);
    else if (status == 0 && call_is_asked(call, leg, answer))
        call_answer_questions(call, answer);
    else if (status == 0 || status == MCP_E_PEER)
        call_answered(call, status, answer);
    else
        call_end(call, status, answer, NULL);
    call_unref(call);
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
call_open_leg(struct mcpi_call *call, const struct mcpi_call_options *opt)
{
    struct mcpi_leg_options leg = {
        .id = opt->id,
        .method = opt->method,
        .params = opt->params,
        .params_len = opt->params_len,
        .meta = opt->meta,
        .meta_len = opt->meta_len,
        .log_level = opt->log_level,
        .resume_token = opt->resume_token,
        .resumable = opt->resumable,
        .timeout_us = resolve_idle(call->engine, opt->timeout_us),
        .reset_on_progress = opt->reset_on_progress,
        .want_progress = opt->reset_on_progress || opt->ops->progress,
        .detach = opt->on_abandon == MCPI_ABANDON_DETACHES,
        .parent = opt->parent,
        .owner = &call_owner,
        .owner_user = call,
    };
    int r;

    r = mcpi_leg_open(call->peer, &leg, &call->leg);
    if (r < 0)
        return r;
    mcpi_leg_ref(call->leg);
    call->origin = mcpi_leg_ref(call->leg);
    if (opt->parent)
        call->parent = mcpi_exchange_ref(opt->parent);
    return 0;
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
    call->peer = peer;
    call->refs = ret_call ? 2 : 1;
    call->ops = opt->ops;
    call->user = opt->user;
    call->total_us = resolve_total(e, opt);
    call->rounds = opt->rounds == 0 ? MCPI_ROUNDS_DEFAULT : opt->rounds;
    mcpi_list_init(&call->in_peer);
    mcpi_list_init(&call->in_parent);
    mcpi_timer_init(&call->pause, call_pause_over);
    mcpi_timer_init(&call->timer, call_expired);
    mcpi_timer_arm(e->timers, &call->timer, mcpi_time_add(e->now, call->total_us));
    r = call_open_leg(call, opt); /* it may leave in there: all is armed (A14) */
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

const char *
mcpi_call_params(const struct mcpi_call *call, size_t *ret_len)
{
    *ret_len = call->leg->params_len;
    return call->leg->params;
}

const struct mcpi_fault *
mcpi_call_fault(const struct mcpi_call *call)
{
    return mcpi_leg_fault(call->leg);
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
