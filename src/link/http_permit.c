/* http_permit.c - leave to send a request, asked of whoever signs it */
#include "link/http_permit.h"

#include <assert.h>
#include <string.h>

#include "link/http_entries.h"

int
mcpi_http_permit_sign(const struct mcpi_http_target *target,
                      struct mcpi_http_permit *permit, const char *method,
                      const char *url, struct mcpi_buf *into)
{
    int r = 0;

    if (into->status == 0 && target->auth)
        r = target->auth->ops->sign(target->auth, permit, method, url, into);
    if (r == MCP_E_AGAIN)
        MCPI_TELL(target->engine, "%s waits until it is known who we are", method);
    return r < 0 ? r : into->status;
}

int
mcpi_http_permit_hear(const struct mcpi_http_target *target,
                      struct mcpi_http_permit *permit,
                      const struct mcpi_fetch_head *head, char *why, size_t size)
{
    int r;

    if (!target->auth)
        return 0;
    why[0] = '\0';
    r = target->auth->ops->heard(target->auth, permit, head, why, size);
    assert(r == 0 || head->status < 200 || head->status > 299);
    if (r == MCP_E_AGAIN)
        MCPI_TELL(target->engine, "the server asks who we are (%d)", head->status);
    else if (r < 0)
        MCPI_TELL(target->engine, "the server refuses who we are (%d)", head->status);
    return r;
}

void
mcpi_http_permit_leave(const struct mcpi_http_target *target,
                       struct mcpi_http_permit *permit)
{
    if (permit->waits)
        target->auth->ops->leave(target->auth, permit);
}

void
mcpi_http_permit_tell(const struct mcpi_http_target *target, int status)
{
    MCPI_TELL(target->engine, "authorization: %s",
              status == 0 ? "it is known who we are" : mcp_status_text(status));
}

void
mcpi_http_permit_wipe(struct mcpi_buf *lines)
{
    if (lines->data)
        explicit_bzero(lines->data, lines->cap);
}

/* ---- of an entry ----------------------------------------------------------- */

static void
entry_ready(struct mcpi_http_permit *permit, int status, int http, const char *why)
{
    struct mcpi_http_entry *e = MCPI_CONTAINER(permit, struct mcpi_http_entry, permit);
    const struct mcpi_fault fault = {
        .status = status, .http = http, .unsent = !e->accepted, .why = why};

    mcpi_http_permit_tell(e->entries->target, status);
    if (status < 0) {
        mcpi_http_entry_fail(e, &fault);
        return;
    }
    if (e->leg)
        mcpi_leg_rest(e->leg, false, mcpi_http_target_now(e->entries->target));
    if (e->state == MCPI_ENTRY_HELD)
        e->entries->ops->changed(e->entries->user);
    else
        mcpi_http_flow_wake(&e->flow);
}

void
mcpi_http_entry_permit_init(struct mcpi_http_entry *e)
{
    memset(&e->permit, 0, sizeof(e->permit));
    e->permit.ready = entry_ready;
}

void
mcpi_http_entry_keep(struct mcpi_http_entry *e, struct mcpi_buf *text,
                     struct mcpi_buf *more)
{
    if (text != &e->body)
        mcpi_buf_move(&e->body, text);
    if (more && more != &e->more)
        mcpi_buf_move(&e->more, more);
}

/* initialize may have to be said elsewhere. */
static void
entry_forget_text(struct mcpi_http_entry *e)
{
    if (!e->initialize)
        mcpi_buf_done(&e->body);
    mcpi_buf_done(&e->more);
}

/* As if nothing of it had ever left. */
static void
entry_take_back(struct mcpi_http_entry *e)
{
    mcpi_http_flow_close(&e->flow);
    e->started = e->sent = e->headed = false;
}

/* A request has a clock of its own, and what waits for notifications/initialized has. */
static void
entry_set_patience(struct mcpi_http_entry *e)
{
    if (e->leg || e->entries->greeting == e)
        mcpi_timer_disarm(mcpi_http_target_timers(e->entries->target), &e->timer);
    else if (!mcpi_timer_is_armed(&e->timer))
        mcpi_http_entry_arm(e, MCPI_HTTP_NOTE_MAX);
}

void
mcpi_http_entry_wait(struct mcpi_http_entry *e)
{
    entry_take_back(e);
    e->state = MCPI_ENTRY_HELD;
    mcpi_list_remove(&e->node);
    mcpi_list_append(&e->entries->held, &e->node);
    entry_set_patience(e);
    if (!e->leg)
        return;
    mcpi_leg_rest(e->leg, true, mcpi_http_target_now(e->entries->target));
    mcpi_http_entry_settle(e, 0);
}

/* Canceled, and refused meanwhile: its frame finds it, unsent. */
static void
entry_refused_unwanted(struct mcpi_http_entry *e)
{
    if (e->state == MCPI_ENTRY_GRACE && !e->accepted) {
        entry_take_back(e);
        mcpi_http_entry_release(e);
    } else {
        mcpi_http_entry_finish(e);
    }
}

static void
entry_refused(struct mcpi_http_entry *e, int status, int http, const char *why)
{
    const struct mcpi_fault fault = {
        .status = status, .http = http, .unsent = !e->accepted, .why = why};

    if (status != MCP_E_AGAIN)
        mcpi_http_entry_fail(e, &fault);
    else if (e->flow.is_get)
        mcpi_http_flow_rest(&e->flow);
    else
        mcpi_http_entry_wait(e);
}

/* Would somebody be glad if it were sent again? */
static bool
entry_is_wanted(const struct mcpi_http_entry *e)
{
    return e->state == MCPI_ENTRY_OPEN &&
           (e->leg ? !mcpi_leg_is_over(e->leg) : e->out != NULL);
}

bool
mcpi_http_entry_hears(struct mcpi_http_entry *e, const struct mcpi_fetch_head *head)
{
    const struct mcpi_http_target *target = e->entries->target;
    bool wanted = entry_is_wanted(e);
    char why[MCPI_HTTP_WHY];
    int r;

    if (!target->auth)
        return false;
    r = mcpi_http_permit_hear(target, wanted ? &e->permit : NULL, head, why,
                              sizeof(why));
    if (r == 0 && (wanted || (head->status != 401 && head->status != 403))) {
        entry_forget_text(e);
        return false;
    }
    if (wanted)
        entry_refused(e, r, head->status, why);
    else
        entry_refused_unwanted(e);
    return true;
}
