/*
 * http_entry.c - one message of ours on its way
 *
 * mcpi_http_entry_finish is the one ending. It is called from anywhere, also from
 * inside core (hangup) and the flow's callbacks, so it tells core nothing and frees
 * nothing; the rest is done when the entry is reaped, from the client's flush.
 */
#include "link/http_entry.h"

#include <stdio.h>
#include <string.h>

#include "link/http_entries.h"
#include "link/http_fields.h"
#include "wire/id.h"

#define WHY_MAX 200 /* of a fault: a sentence */

void
mcpi_http_entry_arm(struct mcpi_http_entry *e, int64_t after_us)
{
    mcpi_timer_arm(mcpi_http_target_timers(e->entries->target), &e->timer,
                   mcpi_time_add(mcpi_http_entry_now(e), after_us));
}

static void
entry_leave_map(struct mcpi_http_entry *e)
{
    if (e->in_map)
        (void)mcpi_map_remove(&e->entries->by_id, &e->by_id);
    e->in_map = false;
}

enum mcpi_fetch_phase
mcpi_http_entry_phase(const struct mcpi_http_entry *e)
{
    if (!e->started)
        return MCPI_FETCH_UNSENT;
    if (e->sent || !e->flow.fetch)
        return MCPI_FETCH_SENT;
    return mcpi_fetch_get_phase(e->flow.fetch);
}

/* That it was sent is not enough, whatever connection it went over: a server that waits
 * for many of them reads those first that it has just read from (epoll), and a frame on
 * one of these before the request that it is about. When we close nothing waits for that:
 * the end of the session, or of the connection, says the same to whoever reads it late. */
bool
mcpi_http_entry_has_arrived(const struct mcpi_http_entry *e)
{
    if (mcpi_http_entry_phase(e) != MCPI_FETCH_SENT)
        return false;
    if (e->headed || e->entries->target->deaf)
        return true;
    return e->sent && mcpi_http_entry_now(e) - e->sent_at >= MCPI_HTTP_OVERTAKEN_MAX;
}

/* ---- waiting for each other ------------------------------------------------ */

void
mcpi_http_entry_release(struct mcpi_http_entry *e)
{
    struct mcpi_http_entry *waiter = e->waiter;

    e->waiter = NULL;
    if (!waiter)
        return;
    waiter->awaits = NULL;
    mcpi_http_entry_arm(waiter, MCPI_NEVER); /* it goes in this turn's end */
    e->entries->ops->changed(e->entries->user);
}

/* ---- the end --------------------------------------------------------------- */

/* The one ending of its out. Whoever hears of it may push more. */
void
mcpi_http_entry_settle(struct mcpi_http_entry *e, int status)
{
    struct mcpi_out *out = e->out;

    if (!out)
        return;
    if (e->frame)
        entry_leave_map(e); /* its id goes with the out */
    e->out = NULL;
    e->entries->unaccepted--;
    mcpi_out_done(out, status, mcpi_http_entry_now(e));
}

void
mcpi_http_entry_greeted(struct mcpi_http_entry *e)
{
    if (e->entries->greeting != e)
        return;
    e->entries->greeting = NULL;
    e->entries->ops->changed(e->entries->user);
}

static void
entry_tell(const struct mcpi_http_entry *e, const char *before, const char *after)
{
    char id[MCPI_ID_SHOWN];

    MCPI_TELL(e->entries->target->engine, "%s%s%s", before,
              mcpi_id_show(mcpi_leg_id(e->leg), id), after);
}

static void
request_tell_end(const struct mcpi_http_entry *e)
{
    if (mcpi_http_entry_phase(e) == MCPI_FETCH_UNSENT)
        entry_tell(e, "request ", " was not sent");
    else if (!e->flow.fetch || e->flow.reply.status >= 300)
        return; /* it has ended by itself, or was refused */
    else if (mcpi_http_entry_phase(e) == MCPI_FETCH_SENDING)
        entry_tell(e, "cut off request ", " while it was being sent");
    else if (e->state == MCPI_ENTRY_LINGER)
        entry_tell(e, "closed the rest of the response to request ", "");
    else
        entry_tell(e, "closed the response to request ", "");
}

/* To who watches the wire: in the modern era this is what a cancel is there. */
static void
entry_tell_end(const struct mcpi_http_entry *e)
{
    const struct mcpi_engine *engine = e->entries->target->engine;

    if (!mcpi_engine_is_watched(engine))
        return;
    if (e->leg)
        request_tell_end(e);
    else if (!e->started)
        mcpi_engine_tell(engine, "%s was not sent",
                         e->frame ? "a cancel" : "a message of ours");
}

void
mcpi_http_entry_finish(struct mcpi_http_entry *e)
{
    if (e->state == MCPI_ENTRY_GONE)
        return;
    entry_tell_end(e);
    e->state = MCPI_ENTRY_GONE;
    mcpi_timer_disarm(mcpi_http_target_timers(e->entries->target), &e->timer);
    mcpi_http_permit_leave(e->entries->target, &e->permit);
    mcpi_http_flow_close(&e->flow);
    entry_leave_map(e);
    if (e->leg && mcpi_leg_link(e->leg) == e)
        mcpi_leg_set_link(e->leg, NULL);
    if (e->awaits)
        e->awaits->waiter = NULL;
    e->awaits = NULL;
    mcpi_http_entry_release(e);
    mcpi_http_entry_greeted(e);
    e->entries->answering -= e->answers;
    e->entries->crowding -= e->crowded;
    mcpi_list_remove(&e->node);
    mcpi_list_append(&e->entries->gone, &e->node);
    e->entries->ops->changed(e->entries->user);
}

/* How loud to say that it was not accepted. A server that asks and refuses the answers
 * must not fill a log. */
static enum mcp_log_level
entry_level(const struct mcpi_http_entry *e, enum mcp_log_level level)
{
    bool again = e->entries->has_complained;

    if (mcpi_out_get_kind(e->out) != MCPI_OUT_ANSWER)
        return level;
    e->entries->has_complained = true;
    return again ? MCP_LOG_DEBUG : level;
}

/* Whoever it belongs to hears of it after the entry is gone: core may ask to hang it
 * up. */
void
mcpi_http_entry_fail(struct mcpi_http_entry *e, const struct mcpi_fault *fault)
{
    struct mcpi_leg *leg = e->leg ? mcpi_leg_ref(e->leg) : NULL;
    struct mcpi_fault own = *fault;
    enum mcp_log_level level;
    char why[WHY_MAX];

    snprintf(why, sizeof(why), "%s", fault->why ? fault->why : "no reason given");
    own.why = why; /* it may have been the flow's */
    mcpi_http_entry_finish(e);
    if (leg) {
        mcpi_leg_fail(leg, &own, mcpi_http_entry_now(e));
        mcpi_leg_unref(leg);
    } else if (e->out) { /* nobody's outcome changes (D5) */
        level = entry_level(e, MCP_LOG_INFO);
        MCPI_LOG(mcpi_http_target_log(e->entries->target), level,
                 "http: %s was not accepted: %s",
                 e->frame ? "a cancel" : "a message of ours", why);
        mcpi_http_entry_settle(e, fault->status);
    }
}

/* Would the server take our leaving for a cancel, in the era in which that is none? */
static bool
entry_leaving_cancels(const struct mcpi_http_entry *e)
{
    return !e->modern && e->session == 0 && !e->greets &&
           e->state != MCPI_ENTRY_PARKED &&
           mcpi_http_entry_phase(e) != MCPI_FETCH_UNSENT;
}

/* Is it canceled where a frame may find nobody, but our leaving is seen? At the endpoint
 * of 2024-11-05 there always is a session. */
static bool
entry_is_to_leave(const struct mcpi_http_entry *e, int64_t after_us)
{
    const struct mcpi_http_target *target = e->entries->target;

    return after_us != 0 && after_us != MCPI_NEVER && target->post_url == target->url &&
           entry_leaving_cancels(e);
}

/* Its frame is posted too, for a server without sessions may know ids all the same. That
 * must not be read before the request (B8): until then there is an entry that it awaits.
 * A request that was cut off is read by nobody. */
static void
entry_leave(struct mcpi_http_entry *e)
{
    if (mcpi_http_entry_phase(e) == MCPI_FETCH_SENDING ||
        mcpi_http_entry_has_arrived(e)) {
        mcpi_http_entry_finish(e);
        return;
    }
    if (!e->sent) { /* the flow will not say so any more */
        e->sent = true;
        e->sent_at = mcpi_http_entry_now(e);
    }
    entry_tell_end(e);
    mcpi_http_flow_close(&e->flow);
    e->state = MCPI_ENTRY_GRACE;
    mcpi_http_entry_arm(e,
                        e->sent_at + MCPI_HTTP_OVERTAKEN_MAX - mcpi_http_entry_now(e));
}

/* Nothing of it has left, and no frame comes for it: that was not wanted, or it was
 * answered elsewhere, by somebody who guesses. */
static bool
entry_leaves_no_trace(const struct mcpi_http_entry *e, int64_t after_us)
{
    return !e->started && (after_us == MCPI_NEVER || !mcpi_leg_is_over(e->leg));
}

void
mcpi_http_entry_hangup(struct mcpi_http_entry *e, int64_t after_us)
{
    if (e->state == MCPI_ENTRY_GONE)
        return;
    mcpi_http_permit_leave(e->entries->target, &e->permit);
    if (after_us == 0 && entry_leaving_cancels(e))
        after_us = MCPI_NEVER;
    if (entry_is_to_leave(e, after_us)) {
        entry_leave(e);
        return;
    }
    if (after_us == 0 || e->state == MCPI_ENTRY_PARKED ||
        entry_leaves_no_trace(e, after_us) ||
        (e->started && mcpi_http_flow_forgo(&e->flow))) {
        mcpi_http_entry_finish(e);
        return;
    }
    if (!e->started) { /* its frame will find it, unsent, whenever it is taken */
        mcpi_list_remove(&e->node);
        mcpi_list_append(&e->entries->open, &e->node);
    }
    e->state = after_us == MCPI_NEVER ? MCPI_ENTRY_ORPHAN : MCPI_ENTRY_GRACE;
    if (e->state == MCPI_ENTRY_ORPHAN)
        entry_tell(e, "the response to request ", " may come to its end");
    mcpi_http_entry_arm(e, e->started ? after_us : MCPI_NEVER);
}

/* It goes now. A frame that it has waited for, and that was not sent so far, would cancel
 * it (E15). */
static void
entry_overtake(struct mcpi_http_entry *e)
{
    struct mcpi_http_entry *other = e->awaits;

    mcpi_http_entry_release(other);
    if (other->state != MCPI_ENTRY_HELD)
        return;
    mcpi_http_entry_settle(other, 0);
    mcpi_http_entry_finish(other);
}

/* Why it was not accepted. */
static int
entry_delay(const struct mcpi_http_entry *e)
{
    return e->started || e->crowded || e->permit.waits ? MCP_E_TIMEOUT : MCP_E_NOMEM;
}

static void
entry_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_http_entry *e = MCPI_CONTAINER(timer, struct mcpi_http_entry, timer);
    enum mcp_log_level level;

    (void)now;
    if (e->state == MCPI_ENTRY_HELD && e->awaits) {
        entry_overtake(e);
        return;
    }
    if (e->state == MCPI_ENTRY_OPEN && e->leg) {
        mcpi_http_flow_curtail(&e->flow);
        return;
    }
    if (e->entries->greeting == e) {
        mcpi_http_entry_greeted(e);
        mcpi_http_entry_arm(e, MCPI_HTTP_NOTE_MAX);
        return;
    }
    if (e->out) {
        level = entry_level(e, MCP_LOG_WARNING);
        MCPI_LOG(mcpi_http_target_log(e->entries->target), level,
                 "http: a message was not accepted in time and is given up");
        mcpi_http_entry_settle(e, entry_delay(e));
    }
    mcpi_http_entry_finish(e);
}

/* ---- sending --------------------------------------------------------------- */

static int
entry_post(struct mcpi_http_entry *e, const struct mcpi_buf *text,
           const struct mcpi_buf *more)
{
    struct mcpi_http_entries *entries = e->entries;
    struct mcpi_buf *lines = &entries->lines;
    int r;

    if (more && more->status < 0)
        return more->status;
    mcpi_buf_clear(lines);
    mcpi_http_fields_post(lines);
    mcpi_http_target_fields(entries->target, lines, e->version, e->session);
    if (more)
        mcpi_buf_append(lines, more->data, more->len);
    r = mcpi_http_permit_sign(entries->target, &e->permit, "POST", e->flow.url, lines);
    if (r == 0)
        r = mcpi_http_flow_start(&e->flow, "POST", lines->data, lines->len, text->data,
                                 text->len);
    if (entries->target->auth)
        mcpi_http_permit_wipe(lines);
    return r;
}

/* It counts as one from now on, whatever it waits for. */
static void
entry_count_answer(struct mcpi_http_entry *e)
{
    if (e->leg || e->answers || mcpi_out_get_kind(e->out) != MCPI_OUT_ANSWER)
        return;
    e->answers = true;
    e->entries->answering++;
}

/* A request has a clock of its own. */
static int64_t
entry_patience(const struct mcpi_http_entry *e)
{
    if (e->leg)
        return MCPI_NEVER;
    return e->entries->greeting == e ? MCPI_HTTP_GREETING_MAX : MCPI_HTTP_NOTE_MAX;
}

int
mcpi_http_entry_start(struct mcpi_http_entry *e, const struct mcpi_buf *text,
                      const struct mcpi_buf *more)
{
    const char *token = e->leg && !e->modern ? mcpi_leg_resume_token(e->leg) : NULL;
    bool streams = e->entries->target->post_url == e->entries->target->url;
    int r;

    if (token && !streams)
        return MCP_E_STATE;
    if (e->flow.state != MCPI_FLOW_IDLE)
        mcpi_http_entry_set_flow(e); /* it was sent before */
    entry_count_answer(e);
    e->flow.resumes = e->leg && !e->modern && streams;
    e->flow.reply.asked = e->leg ? mcpi_leg_id(e->leg) : NULL;
    r = token ? mcpi_http_flow_resume(&e->flow, token) : entry_post(e, text, more);
    if (r < 0 && !(token && r == MCP_E_AGAIN)) /* the flow rests */
        return r;
    e->state = MCPI_ENTRY_OPEN;
    e->started = true;
    e->sent = token != NULL; /* by whoever asked first */
    e->accepted = false;
    mcpi_list_remove(&e->node);
    mcpi_list_append(&e->entries->open, &e->node);
    mcpi_http_entry_arm(e, entry_patience(e));
    if (e->leg)
        mcpi_http_entry_settle(e, 0);
    return 0;
}

/* ---- beginning and done ---------------------------------------------------- */

void
mcpi_http_entry_init(struct mcpi_http_entry *e, struct mcpi_http_entries *entries,
                     struct mcpi_out *out)
{
    struct mcpi_http_target *target = entries->target;

    memset(e, 0, sizeof(*e));
    e->entries = entries;
    e->out = out;
    e->version = mcpi_peer_spoken(entries->peer);
    mcpi_timer_init(&e->timer, entry_expired);
    mcpi_buf_init(&e->body, target->mem, target->max_bytes);
    mcpi_buf_init(&e->more, target->mem, MCPI_HTTP_LINES_MAX);
    mcpi_http_entry_permit_init(e);
    mcpi_http_entry_set_flow(e);
    mcpi_list_init(&e->node);
    mcpi_list_append(&entries->held, &e->node);
    entries->unaccepted++;
}

void
mcpi_http_entry_done(struct mcpi_http_entry *e)
{
    mcpi_http_entry_settle(e, MCP_E_CLOSED);
    if (e->leg)
        mcpi_leg_unref(e->leg);
    mcpi_buf_done(&e->body);
    mcpi_buf_done(&e->more);
}
