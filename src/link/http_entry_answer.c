/*
 * http_entry_answer.c - what comes back for one message of ours
 *
 * The callbacks of its flow. Each may be the last one that it hears: whoever is told of a
 * message may finish the entry.
 */
#include "link/http_entries.h"
#include "wire/rpc.h"

static bool
entry_is_wanted(const struct mcpi_http_entry *e)
{
    return e->leg && e->state == MCPI_ENTRY_OPEN && !mcpi_leg_is_over(e->leg);
}

static void
entry_linger(struct mcpi_http_entry *e)
{
    e->state = MCPI_ENTRY_LINGER;
    if (mcpi_http_flow_forgo(&e->flow))
        mcpi_http_entry_finish(e);
    else
        mcpi_http_entry_arm(e, MCPI_HTTP_LINGER);
}

static int
flow_fields(void *user, struct mcpi_buf *into)
{
    struct mcpi_http_entry *e = user;
    const struct mcpi_http_target *target = e->entries->target;

    mcpi_http_target_fields(target, into, e->version, e->session);
    return mcpi_http_permit_sign(target, &e->permit, "GET", e->flow.url, into);
}

static void
flow_sent(void *user)
{
    struct mcpi_http_entry *e = user;

    e->sent = true;
    e->sent_at = mcpi_http_entry_now(e);
    if (!e->leg)
        return;
    if (mcpi_http_entry_has_arrived(e))
        mcpi_http_entry_release(e); /* its frame */
    else if (e->waiter)
        mcpi_http_entry_arm(e->waiter, MCPI_HTTP_OVERTAKEN_MAX);
}

/* The server has said that it takes it. */
static int
entry_accepted(struct mcpi_http_entry *e, const struct mcpi_fetch_head *head)
{
    struct mcpi_http_target *target = e->entries->target;
    int r;

    e->accepted = true;
    if (e->initialize && entry_is_wanted(e)) {
        r = mcpi_http_target_enter(target, head);
        if (r < 0)
            return r;
        e->session = mcpi_http_target_session(target);
    }
    mcpi_http_entry_settle(e, 0);
    if (!e->leg && e->state == MCPI_ENTRY_OPEN) /* what it streams, nobody asked for */
        mcpi_http_entry_arm(e, MCPI_HTTP_LINGER);
    return 0;
}

/* A success without an answer. 2024-11-05 accepts requests like this: their answers come
 * elsewhere. */
static bool
entry_has_no_answer(const struct mcpi_http_entry *e)
{
    const struct mcpi_http_target *target = e->entries->target;

    return e->leg && target->post_url == target->url &&
           e->flow.reply.kind == MCPI_REPLY_EMPTY;
}

static int
flow_head(void *user, const struct mcpi_fetch_head *head)
{
    struct mcpi_http_entry *e = user;

    if (mcpi_http_entry_hears(e, head))
        return MCP_E_CLOSED;
    e->headed = true;
    mcpi_http_entry_greeted(e);
    mcpi_http_entry_release(e); /* its frame, or who has its id again */
    if (head->status == 404 && e->session != 0 &&
        e->session == mcpi_http_target_session(e->entries->target)) {
        e->out_of_date = true;
        return MCP_E_HTTP;
    }
    if (entry_has_no_answer(e))
        return MCP_E_PROTO;
    if (head->status >= 200 && head->status < 300 && !e->accepted)
        return entry_accepted(e, head);
    if (head->status >= 300 && entry_is_wanted(e))
        mcpi_http_entry_arm(e, MCPI_HTTP_ERROR_MAX);
    return 0;
}

/* The answer to a notification, or to an answer of ours, has no answer for us. */
static void
note_message(struct mcpi_http_entry *e, const struct mcpi_rpc *rpc)
{
    struct mcpi_arrival arrival = {.take_doc = rpc->doc, .rpc = rpc};

    if (rpc->kind == MCPI_RPC_REQUEST || rpc->kind == MCPI_RPC_NOTIFICATION) {
        mcpi_peer_receive(e->entries->peer, &arrival, mcpi_http_entry_now(e));
        return;
    }
    MCPI_LOG(mcpi_http_target_log(e->entries->target), MCP_LOG_DEBUG,
             "http: a message of ours was answered: %s",
             rpc->kind == MCPI_RPC_ERROR ? rpc->error_message : "not with an error");
    mcp_doc_free(rpc->doc);
}

static void
flow_message(void *user, const struct mcpi_rpc *rpc)
{
    struct mcpi_http_entry *e = user;
    struct mcpi_arrival arrival = {.take_doc = rpc->doc, .rpc = rpc, .leg = e->leg};

    if (e->entries->target->deaf) {
        mcp_doc_free(rpc->doc);
        return;
    }
    if (!e->leg) {
        note_message(e, rpc);
        return;
    }
    mcpi_peer_receive(e->entries->peer, &arrival, mcpi_http_entry_now(e));
    if (e->state == MCPI_ENTRY_OPEN && mcpi_leg_is_over(e->leg))
        entry_linger(e);
}

static void
flow_marked(void *user, const char *event_id)
{
    struct mcpi_http_entry *e = user;

    if (entry_is_wanted(e))
        mcpi_leg_resumable_from(e->leg, event_id);
}

/* The server does not know our session. A request that it has taken before that is not
 * sent again: it may have been carried out. Whether there will be another session is
 * core's to say; if there is none, the leg fails. */
static void
entry_lose_session(struct mcpi_http_entry *e)
{
    const struct mcpi_fault fault = {.status = e->accepted ? MCP_E_CLOSED : MCP_E_HTTP,
                                     .http = e->accepted ? 0 : 404,
                                     .why = "the server does not know the session"};
    struct mcpi_http_entries *entries = e->entries;
    struct mcpi_leg *leg = entry_is_wanted(e) ? mcpi_leg_ref(e->leg) : NULL;
    bool again = leg && !e->accepted && !mcpi_leg_resume_token(leg);

    mcpi_http_entry_finish(e);
    mcpi_http_entry_settle(e, MCP_E_HTTP);
    entries->ops->lost(entries->user, again ? leg : NULL);
    if (leg) {
        mcpi_leg_fail(leg, &fault,
                      mcpi_http_entry_now(e)); /* nothing if it waits, or is over */
        mcpi_leg_unref(leg);
    }
}

/* The answer was whole, and the leg still waits. */
static struct mcpi_fault
entry_what_is_wrong(const struct mcpi_http_entry *e)
{
    if (e->flow.reply.kind == MCPI_REPLY_EVENTS)
        return (struct mcpi_fault){.status = MCP_E_CLOSED,
                                   .why = "the stream ended without an answer"};
    if (e->flow.reply.kind == MCPI_REPLY_EMPTY)
        return (struct mcpi_fault){.status = MCP_E_PROTO,
                                   .why = "HTTP says that there is no answer"};
    return (struct mcpi_fault){.status = MCP_E_PROTO,
                               .why = "the answer is not for this request"};
}

static bool
http_may_be_2024(int http)
{
    return http == 400 || http == 404 || http == 405;
}

static void
request_ended(struct mcpi_http_entry *e, const struct mcpi_fault *fault)
{
    struct mcpi_http_entries *entries = e->entries;
    struct mcpi_fault own;

    mcpi_http_entry_arm(e, MCPI_NEVER);
    /* 2024-11-05: the answer comes elsewhere, whatever text it was accepted with. */
    if (entries->target->post_url != entries->target->url &&
        (!fault || (e->accepted && e->flow.reply.kind != MCPI_REPLY_EVENTS))) {
        mcpi_http_entry_finish(e);
        return;
    }
    if (!fault)
        own = entry_what_is_wrong(e);
    else
        own = *fault;
    if (own.http >= 400 && own.http < 500 && !e->accepted)
        own.unsent = true; /* refused: nobody works on it */
    if (e->initialize && own.status == MCP_E_HTTP && http_may_be_2024(own.http)) {
        e->state = MCPI_ENTRY_PARKED;
        if (entries->ops->refused(entries->user, e, &own))
            return;
        e->state = MCPI_ENTRY_OPEN;
    }
    mcpi_http_entry_fail(e, &own);
}

static void
note_ended(struct mcpi_http_entry *e, const struct mcpi_fault *fault)
{
    if (fault) {
        mcpi_http_entry_fail(e, fault);
        return;
    }
    mcpi_http_entry_settle(e, 0);
    mcpi_http_entry_finish(e);
}

static void
flow_ended(void *user, const struct mcpi_fault *fault)
{
    struct mcpi_http_entry *e = user;

    if (e->out_of_date)
        entry_lose_session(e);
    else if (!e->leg)
        note_ended(e, fault);
    else if (entry_is_wanted(e))
        request_ended(e, fault);
    else
        mcpi_http_entry_finish(e);
}

static const struct mcpi_http_flow_ops flow_ops = {.fields = flow_fields,
                                                   .sent = flow_sent,
                                                   .head = flow_head,
                                                   .message = flow_message,
                                                   .marked = flow_marked,
                                                   .ended = flow_ended};

void
mcpi_http_entry_set_flow(struct mcpi_http_entry *e)
{
    const struct mcpi_http_target *target = e->entries->target;

    mcpi_http_target_flow(target, &e->flow, target->post_url, &flow_ops, e);
}
