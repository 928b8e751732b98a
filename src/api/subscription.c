/*
 * subscription.c - a subscription's loop side: from the post that begins it to the
 * moment it lets go
 *
 * source_end is the one ending, on the loop: the id is free, the server is told if it
 * must be, the outcome is published, the last delivery is added. What can end it (core,
 * the client, its owner, its scope, a full backlog) all leads there, and comes from the
 * loop's thread, so the first reason wins (H6).
 */
#include "api/subscription.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/fault.h"
#include "base/text.h"

static int64_t
source_now(const mcp_subscription *s)
{
    return mcpi_loop_now(s->client->host.inside);
}

/* ---- letting go of the loop side ----------------------------------------- */

/* Under lock: nothing of it is on its way to the loop or on the lane. */
static bool
source_is_quiet(const mcp_subscription *s)
{
    return !s->begin_out && !s->act_out && s->is_told && s->lane_busy == 0;
}

/* It is gone for everybody else already. */
static void
source_detach(mcp_subscription *s)
{
    struct mcp_client *client = s->client;

    mcpi_list_remove(&s->in_client);
    mcpi_source_unref(s);
    mcpi_client_try_finish(client);
}

static void
source_settle(mcp_subscription *s)
{
    bool gone;

    if (!s->is_over)
        return;
    pthread_mutex_lock(&s->lock);
    gone = s->is_gone = source_is_quiet(s);
    pthread_mutex_unlock(&s->lock);
    if (gone)
        source_detach(s);
}

/* ---- the end ------------------------------------------------------------- */

/* What it holds of others. Its core says goodbye if it must (H3, H4). */
static void
source_release(mcp_subscription *s, int status)
{
    mcpi_front_release(&s->client->front, &s->claim, status);
    mcpi_scope_unhook(&s->scope_hook);
    mcpi_timer_disarm(mcpi_loop_timers(s->client->host.inside), &s->timer);
    mcpi_subscription_close(s->core, source_now(s));
    s->core = NULL;
    mcpi_source_leave(s);
}

/* why NULL: graceful. discards: what waits is dropped (H12), else it is delivered first
 * (H7). May let go of it. */
static void
source_end(mcp_subscription *s, const mcp_error *why, bool discards)
{
    bool gone;

    assert(!s->is_over);
    s->is_over = true;
    source_release(s, why ? why->status : 0);
    pthread_mutex_lock(&s->lock);
    s->is_ended = true;
    s->how = why ? MCP_SUBSCRIPTION_LOST : MCP_SUBSCRIPTION_GRACEFUL;
    if (why)
        s->error = *why;
    if (discards)
        mcpi_notices_clear(&s->events);
    s->is_told = !s->on_lane;
    mcpi_source_show(s);
    gone = s->is_gone = source_is_quiet(s);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->on_lane) /* its loop side is kept by that */
        mcpi_lane_add(&s->lane, &s->deliver);
    else if (gone)
        source_detach(s);
}

void
mcpi_source_lose(mcp_subscription *s, const mcp_error *why)
{
    source_end(s, why, false);
}

void
mcpi_source_finish(mcp_subscription *s)
{
    source_end(s, NULL, false);
}

void
mcpi_source_describe(const struct mcpi_rpc *answer, mcp_error *err)
{
    err->status = MCP_E_PEER;
    if (!answer)
        return;
    err->rpc_code = answer->error_code;
    (void)mcpi_text_clean(err->message, sizeof(err->message), answer->error_message,
                          strlen(answer->error_message));
}

void
mcpi_source_fail(mcp_subscription *s, int status, const struct mcpi_rpc *answer)
{
    mcp_error why = {0};

    switch (status) {
    case MCP_E_PEER:
        mcpi_source_describe(answer, &why);
        break;
    case MCP_E_TIMEOUT:
        (void)mcpi_error_set(&why, status,
                             "the server has not agreed to it within %lld ms",
                             (long long)(s->timeout_us / 1000));
        break;
    case MCP_E_CANCELED:
        (void)mcpi_error_set(&why, status, "the server took the subscription back");
        break;
    default:
        (void)mcpi_error_set(&why, status, "the subscription is lost: %s",
                             mcp_status_text(status));
        break;
    }
    source_end(s, &why, false);
}

void
mcpi_source_fail_by(mcp_subscription *s, int status, const struct mcpi_rpc *answer,
                    const struct mcpi_fault *fault)
{
    mcp_error why;

    if (mcpi_fault_describe(fault, status, "the subscription is lost", &why))
        mcpi_source_lose(s, &why);
    else
        mcpi_source_fail(s, status, answer);
}

/* ---- the lane ------------------------------------------------------------ */

/* Under lock: what the next delivery is for. */
static bool
source_has_event(const mcp_subscription *s)
{
    return s->on_event && s->is_opened && !s->is_freed && s->events.count > 0;
}

/* Under lock. Who waits for the opening hears of its failure there, and only there. */
static bool
source_wants_end(const mcp_subscription *s)
{
    return s->on_end && !s->is_freed && (s->is_opened || s->no_wait);
}

static void
source_deliver_end(mcp_subscription *s)
{
    bool wanted;

    pthread_mutex_lock(&s->lock);
    wanted = !s->is_told && source_wants_end(s);
    s->is_told = true;
    pthread_mutex_unlock(&s->lock);
    if (wanted) /* what it tells is constant */
        s->on_end(s, s->how, s->error.status, s->user);
}

/* One event; after the last one, the end. */
static void
source_deliver(struct mcpi_post *post)
{
    mcp_subscription *s = MCPI_CONTAINER(post, mcp_subscription, deliver);
    bool event, ended, more;
    mcp_notice notice;

    pthread_mutex_lock(&s->lock);
    event = source_has_event(s) && mcpi_notices_take(&s->events, &notice);
    ended = s->is_ended;
    pthread_mutex_unlock(&s->lock);
    if (event)
        s->on_event(s, &notice, s->user);
    else if (ended)
        source_deliver_end(s);
    pthread_mutex_lock(&s->lock);
    more = source_has_event(s) || (s->is_ended && !s->is_told);
    pthread_mutex_unlock(&s->lock);
    if (more)
        mcpi_lane_add(&s->lane, &s->deliver);
}

static void
lane_is_busy(struct mcpi_lane *lane)
{
    mcp_subscription *s = MCPI_CONTAINER(lane, mcp_subscription, lane);

    pthread_mutex_lock(&s->lock);
    s->lane_busy++;
    pthread_mutex_unlock(&s->lock);
}

static void
lane_is_idle(struct mcpi_lane *lane)
{
    mcp_subscription *s = MCPI_CONTAINER(lane, mcp_subscription, lane);
    struct mcpi_loop *loop = s->client->host.inside;
    bool post;

    pthread_mutex_lock(&s->lock);
    s->lane_busy--;
    post = s->is_ended && source_is_quiet(s);
    s->act_out |= post;
    pthread_mutex_unlock(&s->lock);
    if (post)
        mcpi_loop_post(loop, &s->act);
}

int
mcpi_source_init_lane(mcp_subscription *s)
{
    return mcpi_lane_init(&s->lane, s->client->pool, s->client->host.inside,
                          lane_is_busy, lane_is_idle);
}

/* ---- what comes ---------------------------------------------------------- */

void
mcpi_source_opened(mcp_subscription *s, unsigned lists)
{
    bool deliver;

    mcpi_timer_disarm(mcpi_loop_timers(s->client->host.inside), &s->timer);
    pthread_mutex_lock(&s->lock);
    s->is_opened = true;
    s->agreed = lists;
    mcpi_source_show(s);
    deliver = source_has_event(s);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (deliver)
        mcpi_lane_add(&s->lane, &s->deliver);
}

/* Nobody takes what comes (H13), or there is no memory for it. */
static void
source_overflow(mcp_subscription *s, int status)
{
    mcp_error why;

    if (status == MCP_E_LIMIT)
        (void)mcpi_error_set(&why, status, "more events wait than may: %zu",
                             s->events.most);
    else
        (void)mcpi_error_set(&why, status, "an event is lost: %s",
                             mcp_status_text(status));
    mcpi_source_lose(s, &why);
}

void
mcpi_source_event(mcp_subscription *s, enum mcp_change change, const char *uri)
{
    bool deliver;
    int r;

    pthread_mutex_lock(&s->lock);
    r = mcpi_notices_add(&s->events, change, uri);
    mcpi_source_show(s);
    deliver = source_has_event(s);
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (deliver)
        mcpi_lane_add(&s->lane, &s->deliver);
    if (r < 0)
        source_overflow(s, r);
}

/* ---- what the loop is asked to do ---------------------------------------- */

/* The client is ready. May let go of it. */
static void
source_start(mcp_subscription *s)
{
    int r;

    if (s->client->state != MCPI_CLIENT_READY || !s->client->peer)
        r = MCP_E_CLOSED; /* meanwhile */
    else if (s->client->hello.is_modern)
        r = mcpi_source_start_modern(s);
    else
        r = mcpi_source_start_legacy(s);
    if (r < 0)
        mcpi_source_fail(s, r, NULL);
}

static void
source_expired(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    mcpi_source_fail(MCPI_CONTAINER(timer, mcp_subscription, timer), MCP_E_TIMEOUT,
                     NULL);
}

static void
scope_is_over(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    mcp_subscription *s = MCPI_CONTAINER(hook, mcp_subscription, scope_hook);
    mcp_error why;

    if (status == MCP_E_TOTAL_TIMEOUT)
        (void)mcpi_error_set(&why, status, "the time of the scope is used up");
    else
        (void)mcpi_error_set(&why, status, "the scope was canceled%s%s",
                             reason[0] ? ": " : "", reason);
    source_end(s, &why, true);
}

/* Nobody wants it any more. */
static void
source_abandon(mcp_subscription *s)
{
    mcp_error why;

    (void)mcpi_error_set(&why, MCP_E_CANCELED, "the subscription was freed");
    source_end(s, &why, true);
}

static void
source_on_act(struct mcpi_post *post)
{
    mcp_subscription *s = MCPI_CONTAINER(post, mcp_subscription, act);
    bool freed;

    pthread_mutex_lock(&s->lock);
    s->act_out = false;
    freed = s->is_freed;
    pthread_mutex_unlock(&s->lock);
    if (!s->is_over && freed)
        source_abandon(s);
    else
        source_settle(s);
}

/* A scope is watched before anything is sent: what could not be stopped must not
 * start. */
static int
source_watch_scope(mcp_subscription *s)
{
    int r;

    if (!s->scope)
        return 0;
    r = mcpi_scope_status(s->scope, source_now(s));
    if (r < 0) {
        scope_is_over(&s->scope_hook, r, mcpi_scope_reason(s->scope));
        return r;
    }
    r = mcpi_scope_hook(s->scope, s->client->host.inside, &s->scope_hook);
    if (r < 0)
        mcpi_source_fail(s, r, NULL);
    return r;
}

static void
source_on_begin(struct mcpi_post *post)
{
    mcp_subscription *s = MCPI_CONTAINER(post, mcp_subscription, begin);
    struct mcp_client *client = s->client;
    bool freed;

    mcpi_list_append(&client->subscriptions, &s->in_client);
    pthread_mutex_lock(&s->lock);
    s->begin_out = false;
    freed = s->is_freed;
    pthread_mutex_unlock(&s->lock);
    if (freed) {
        source_abandon(s);
        return;
    }
    if (source_watch_scope(s) < 0)
        return;
    mcpi_timer_arm(mcpi_loop_timers(client->host.inside), &s->timer,
                   mcpi_time_add(source_now(s), s->timeout_us));
    if (client->state == MCPI_CLIENT_READY) /* written by this thread only */
        source_start(s);
    else if (client->state == MCPI_CLIENT_CLOSING)
        mcpi_source_fail(s, MCP_E_CLOSED, NULL);
}

/* ---- all of a client's --------------------------------------------------- */

void
mcpi_subscriptions_each(struct mcp_client *client,
                        void (*fn)(mcp_subscription *s, void *user), void *user)
{
    struct mcpi_list *all = &client->subscriptions;
    struct mcpi_list round, *node;

    if (mcpi_list_empty(all))
        return;
    mcpi_list_append(all, &round); /* takes the place of the old head */
    mcpi_list_remove(all);
    for (node = mcpi_list_pop(&round); node; node = mcpi_list_pop(&round)) {
        mcp_subscription *s = MCPI_CONTAINER(node, mcp_subscription, in_client);

        mcpi_list_append(all, node);
        if (!s->is_over)
            fn(s, user);
    }
}

static void
source_become_ready(mcp_subscription *s, void *user)
{
    (void)user;
    source_start(s);
}

void
mcpi_subscriptions_ready(struct mcp_client *client)
{
    mcpi_subscriptions_each(client, source_become_ready, NULL);
}

static void
source_close(mcp_subscription *s, void *user)
{
    (void)user;
    if (!s->core)
        mcpi_source_fail(s, MCP_E_CLOSED, NULL);
}

void
mcpi_subscriptions_close(struct mcp_client *client)
{
    mcpi_subscriptions_each(client, source_close, NULL);
}

/* ---- the beginning, on the caller's thread ------------------------------- */

/* Text, so that it meets no minted id of a call; the next one if it is a caller's own
 * (H1, A9). */
static int
source_claim(mcp_subscription *s)
{
    unsigned number;
    int len, r;

    do {
        number = atomic_fetch_add(&s->client->listens, 1) + 1;
        len = snprintf(s->id, sizeof(s->id), "listen-%u", number);
        s->claim.id = mcpi_id_string(s->id, (size_t)len);
        r = mcpi_front_claim(&s->client->front, &s->claim);
    } while (r == MCP_E_ID_IN_USE);
    return r;
}

int
mcpi_source_begin(mcp_subscription *s, mcp_subscription **ret, mcp_error *err)
{
    if (source_claim(s) < 0)
        return mcpi_error_set(err, MCP_E_CLOSED, "the connection is closed");
    s->begin.fn = source_on_begin;
    s->act.fn = source_on_act;
    s->deliver.fn = source_deliver;
    s->scope_hook.fn = scope_is_over;
    mcpi_timer_init(&s->timer, source_expired);
    s->begin_out = true;
    mcpi_source_ref(s); /* the loop side */
    *ret = s;
    mcpi_loop_post(s->client->host.inside, &s->begin);
    return 0;
}
