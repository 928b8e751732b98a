/*
 * http_waiting.c - those who come, are asked who they are, and wait for the answer
 *
 * What is said to a session counts though its client has left: a cancel, an answer, its
 * end. So its ticket stays, and it is served for a turn that takes everything and tells
 * nobody. A request is not: nobody is left who would want it (D22). But for one of the
 * transport of 2024, whose answer goes to the session's stream, and not to who posts it.
 *
 * And a cancel must not be served before its request, or it finds nothing and the request
 * runs on: if it is known sooner who sent the cancel, it waits until the request has been
 * served, or has left.
 */
#include <string.h>
#include <unistd.h>

#include "link/http_2024.h"
#include "link/http_copy.h"
#include "link/http_gist.h"
#include "link/http_session.h"
#include "link/http_ticket.h"
#include "wire/rpc.h"

/* ---- whose client has left -------------------------------------------------- */

static bool
nobody_takes(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    (void)turn, (void)out;
    return true;
}

static bool
nobody_reads(struct mcpi_turn *turn, const char *data, size_t len)
{
    (void)turn, (void)data, (void)len;
    return true;
}

static void
nobody_hears(struct mcpi_turn *turn)
{
    (void)turn;
}

static const struct mcpi_turn_ops nobody = {.reply = nobody_takes,
                                            .open = nobody_takes,
                                            .write = nobody_reads,
                                            .end = nobody_hears,
                                            .abort = nobody_hears};

/* As if they had left behind the first step, not before. */
static void
ticket_conclude_alone(mcp_http_ticket *ticket)
{
    struct mcpi_turn turn = {.ops = &nobody};

    mcpi_http_ticket_conclude(ticket, &turn, ticket->in);
    mcpi_turn_gone(&turn);
}

/* A session that is there: who can name it has been let in before, and strangers who leave
 * are forgotten at once. */
static bool
ticket_names_session(const mcp_http_ticket *ticket)
{
    return mcpi_session_is_named(ticket->endpoint, ticket->in) ||
           mcpi_http_2024_is_named(ticket->endpoint, ticket->in);
}

static bool
ticket_counts_alone(const mcp_http_ticket *ticket)
{
    if (ticket->in->method == MCPI_HTTP_POST &&
        mcpi_http_2024_is_named(ticket->endpoint, ticket->in))
        return true;
    return ticket_names_session(ticket) && ticket->gist.kind != MCPI_GIST_ASKS;
}

/* ---- order ------------------------------------------------------------------ */

/* What tells its session from others, if it names one; NULL: none. A client of the old
 * transport posts to where its session's first event said. */
static const char *
session_key(const struct mcpi_endpoint *endpoint, const struct mcpi_http_in *in)
{
    const char *id = mcpi_http_get(in, "mcp-session-id", NULL);

    if (!id && mcpi_http_2024_wants(endpoint, in))
        return in->target;
    return id;
}

/* At node or behind it: one that is for that session; NULL: none. */
static mcp_http_ticket *
ticket_find_fellow(const struct mcpi_endpoint *endpoint, const struct mcpi_list *node,
                   const char *key)
{
    mcp_http_ticket *ticket;

    for (; node != &endpoint->tickets; node = node->next) {
        ticket = MCPI_CONTAINER(node, mcp_http_ticket, in_endpoint);
        if (ticket->session && strcmp(ticket->session, key) == 0)
            return ticket;
    }
    return NULL;
}

/* What another one of the session means for a cancel. */
enum bearing { NONE, ITS_REQUEST, SAYS_THE_SAME };

static enum bearing
ticket_bearing(const mcp_http_ticket *other, const mcp_http_ticket *cancel)
{
    if (mcpi_http_gist_is_for(&cancel->gist, &other->gist))
        return ITS_REQUEST;
    if (other->held && other->gist.kind == MCPI_GIST_CANCELS &&
        mcpi_id_same(&cancel->gist.id, &other->gist.id) &&
        strcmp(other->principal, cancel->principal) == 0)
        return SAYS_THE_SAME;
    return NONE;
}

/* A cancel whose request came before it, and is still asked who it is: how many such
 * requests there are. One cancel is enough for each: of who says it again nothing is
 * kept. */
static size_t
ticket_count_requests(const mcp_http_ticket *ticket)
{
    const struct mcpi_endpoint *endpoint = ticket->endpoint;
    const mcp_http_ticket *other = NULL;
    enum bearing bearing = NONE;
    size_t count = 0;

    if (ticket->status == 0 && ticket->gist.kind == MCPI_GIST_CANCELS)
        other = ticket_find_fellow(endpoint, endpoint->tickets.next, ticket->session);
    while (bearing != SAYS_THE_SAME && other && other != ticket) {
        bearing = ticket_bearing(other, ticket);
        count += bearing == ITS_REQUEST;
        other = ticket_find_fellow(endpoint, other->in_endpoint.next, ticket->session);
    }
    return bearing == SAYS_THE_SAME ? 0 : count;
}

/* True: it is a cancel that has come too early, and waits. */
static bool
ticket_hold(mcp_http_ticket *ticket)
{
    ticket->requests = ticket_count_requests(ticket);
    if (ticket->requests == 0)
        return false;
    ticket->held = true;
    ticket->endpoint->held_tickets++;
    return true;
}

/* Nobody waits for this one any more. Only cancels behind it have. */
static void
ticket_yield(const mcp_http_ticket *ticket)
{
    const struct mcpi_endpoint *endpoint = ticket->endpoint;
    const struct mcpi_list *node = ticket->in_endpoint.next;
    mcp_http_ticket *other;

    if (endpoint->held_tickets == 0 || ticket->gist.kind != MCPI_GIST_ASKS)
        return;
    for (; node != &endpoint->tickets; node = node->next) {
        other = MCPI_CONTAINER(node, mcp_http_ticket, in_endpoint);
        if (other->held && mcpi_http_gist_is_for(&other->gist, &ticket->gist) &&
            strcmp(other->session, ticket->session) == 0)
            other->requests--;
    }
}

/* ---- its end ----------------------------------------------------------------- */

static void
ticket_leave(mcp_http_ticket *ticket)
{
    ticket_yield(ticket);
    mcpi_list_remove(&ticket->in_endpoint);
    if (ticket->held)
        ticket->endpoint->held_tickets--;
    ticket->held = false;
}

static void
ticket_serve(mcp_http_ticket *ticket)
{
    struct mcpi_turn *turn = ticket->turn;

    ticket_leave(ticket);
    if (turn) {
        turn->served = NULL;
        turn->by = NULL;
        mcpi_http_ticket_conclude(ticket, turn, ticket->in);
    } else if (ticket->in) {
        ticket_conclude_alone(ticket);
    }
    mcpi_http_ticket_free(ticket);
}

/* One that was held, and has nothing to wait for any more; NULL: none. */
static mcp_http_ticket *
ticket_find_due(const struct mcpi_endpoint *endpoint)
{
    const struct mcpi_list *node = endpoint->tickets.next;
    mcp_http_ticket *ticket;

    if (endpoint->held_tickets == 0)
        return NULL;
    for (; node != &endpoint->tickets; node = node->next) {
        ticket = MCPI_CONTAINER(node, mcp_http_ticket, in_endpoint);
        if (ticket->held && ticket->requests == 0)
            return ticket;
    }
    return NULL;
}

/* One has left: others may have waited for that. */
static void
tickets_go_on(struct mcpi_endpoint *endpoint)
{
    mcp_http_ticket *ticket;

    while ((ticket = ticket_find_due(endpoint)) != NULL)
        ticket_serve(ticket);
    mcpi_endpoint_check(endpoint);
}

static void
on_post(struct mcpi_post *post)
{
    mcp_http_ticket *ticket = MCPI_CONTAINER(post, mcp_http_ticket, post);
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    if (ticket_hold(ticket))
        return;
    ticket_serve(ticket);
    tickets_go_on(endpoint);
}

/* Nobody is left who would want the answer. */
static void
ticket_abandon(mcp_http_ticket *ticket)
{
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    ticket->turn = NULL;
    ticket_yield(ticket);
    mcpi_http_ticket_drop_copy(ticket);
    if (ticket->held) {
        ticket_leave(ticket);
        mcpi_http_ticket_free(ticket);
    } else if (atomic_load(&ticket->state) == MCPI_TICKET_WAITING) {
        ticket_leave(ticket);
        if (!mcpi_http_ticket_step(ticket, MCPI_TICKET_WAITING, MCPI_TICKET_ORPHAN))
            mcpi_list_append(&endpoint->tickets, &ticket->in_endpoint); /* posted now */
    } /* else its post frees it */
    mcpi_endpoint_check(endpoint);
}

static void
on_gone(struct mcpi_turn *turn)
{
    mcp_http_ticket *ticket = turn->by;
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    turn->by = NULL;
    ticket->turn = NULL;
    if (ticket_counts_alone(ticket))
        return;
    ticket_abandon(ticket);
    tickets_go_on(endpoint);
}

static const struct mcpi_turn_served ticket_served = {.gone = on_gone};

void
mcpi_endpoint_drop_tickets(struct mcpi_endpoint *endpoint)
{
    struct mcpi_list waiting;
    struct mcpi_list *node;
    struct mcpi_turn *turn;
    mcp_http_ticket *ticket;

    mcpi_list_init(&waiting);
    while ((node = mcpi_list_pop(&endpoint->tickets)) != NULL)
        mcpi_list_append(&waiting, node);
    while ((node = mcpi_list_pop(&waiting)) != NULL) {
        ticket = MCPI_CONTAINER(node, mcp_http_ticket, in_endpoint);
        mcpi_list_append(&endpoint->tickets, node);
        turn = ticket->turn;
        ticket_abandon(ticket);
        if (turn)
            mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                                 "The server is stopping");
    }
}

/* ---- asking ---------------------------------------------------------------- */

/* Keeps the request, and what it says to a session: told now, while who sent it can be
 * refused, and not when something depends on it. False: no memory. */
static bool
ticket_keep(mcp_http_ticket *ticket, const struct mcpi_http_in *in)
{
    const struct mcpi_endpoint *endpoint = ticket->endpoint;
    const struct mcpi_json_limits limits = {mcpi_engine_max_bytes(endpoint->engine),
                                            mcpi_engine_max_depth(endpoint->engine)};

    if (ticket->in)
        return true;
    ticket->in = mcpi_http_in_copy(&ticket->mem, in, SIZE_MAX);
    if (!ticket->in)
        return false;
    if (!ticket_names_session(ticket))
        return true;
    ticket->session = session_key(endpoint, ticket->in);
    if (mcpi_http_gist_read(&ticket->mem, &limits, ticket->in, &ticket->gist) == 0)
        return true;
    mcpi_http_ticket_drop_copy(ticket);
    return false;
}

/* From now on it is one of those who wait; false: no memory. */
static bool
ticket_enter(mcp_http_ticket *ticket, struct mcpi_turn *turn,
             const struct mcpi_http_in *in)
{
    if (!ticket_keep(ticket, in))
        return false;
    ticket->turn = turn;
    turn->served = &ticket_served;
    turn->by = ticket;
    mcpi_list_append(&ticket->endpoint->tickets, &ticket->in_endpoint);
    return true;
}

static void
endpoint_refuse_memory(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn)
{
    mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                         "Out of memory");
}

/* The hook has returned without an answer. False: the answer came meanwhile. */
static bool
ticket_wait(mcp_http_ticket *ticket, struct mcpi_turn *turn,
            const struct mcpi_http_in *in)
{
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    ticket->pid = getpid();
    if (!ticket_enter(ticket, turn, in)) {
        if (!mcpi_http_ticket_step(ticket, MCPI_TICKET_ASKED, MCPI_TICKET_ORPHAN))
            return false;
        endpoint_refuse_memory(endpoint, turn); /* the ticket is not ours any more */
        return true;
    }
    if (mcpi_http_ticket_step(ticket, MCPI_TICKET_ASKED, MCPI_TICKET_WAITING)) {
        mcpi_endpoint_check(endpoint); /* there may be nothing left to wait for */
        return true;
    }
    mcpi_list_remove(&ticket->in_endpoint);
    turn->served = NULL;
    turn->by = NULL;
    return false;
}

/* Does somebody wait who is for the same session? Only they can be its request. */
static bool
has_fellow(const struct mcpi_endpoint *endpoint, const struct mcpi_http_in *in)
{
    const char *key = session_key(endpoint, in);

    return key && ticket_find_fellow(endpoint, endpoint->tickets.next, key);
}

/* The answer is here before the hook has returned. */
static void
ticket_go(mcp_http_ticket *ticket, struct mcpi_turn *turn,
          const struct mcpi_http_in *in)
{
    if (!has_fellow(ticket->endpoint, in)) {
        mcpi_http_ticket_conclude(ticket, turn, in);
        mcpi_http_ticket_free(ticket);
    } else if (!ticket_enter(ticket, turn, in)) {
        endpoint_refuse_memory(ticket->endpoint, turn);
        mcpi_http_ticket_free(ticket);
    } else if (!ticket_hold(ticket)) {
        ticket_serve(ticket);
    }
}

void
mcpi_endpoint_identify(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                       const struct mcpi_http_in *in)
{
    const mcp_http_options *http = endpoint->http;
    const mcp_http_request request = mcpi_http_ticket_request(in);
    mcp_http_ticket *ticket = mcpi_http_ticket_new(endpoint);

    if (!ticket) {
        endpoint_refuse_memory(endpoint, turn);
        return;
    }
    ticket->post.fn = on_post;
    http->identify(http->identify_user, &request, ticket);
    if (atomic_load(&ticket->state) != MCPI_TICKET_ASKED ||
        !ticket_wait(ticket, turn, in))
        ticket_go(ticket, turn, in);
}
