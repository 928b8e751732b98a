/*
 * http_waiting.c - requests that wait until their sender is authenticated
 *
 * A message to a session counts even if its client leaves meanwhile: a cancel, an answer,
 * DELETE. Its ticket stays, and it is served for a turn without a client (turn->gone).
 * http_post.c drops a JSON-RPC request then: its answer would reach nobody (D22). The
 * transport of 2024 answers on the session's stream, so there the request is served.
 *
 * A message to a session is announced to its peer as long as it waits: it may be a request
 * whose cancel is authenticated first (D25).
 */
#include <unistd.h>

#include "link/http_2024.h"
#include "link/http_copy.h"
#include "link/http_session.h"
#include "link/http_ticket.h"
#include "wire/rpc.h"

/* ---- turns without a client ------------------------------------------------- */

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

static void
ticket_conclude_alone(mcp_http_ticket *ticket)
{
    struct mcpi_turn turn = {.ops = &nobody, .gone = true};

    mcpi_http_ticket_conclude(ticket, &turn, ticket->in);
    mcpi_turn_gone(&turn);
}

/* ---- sessions ---------------------------------------------------------------- */

/* The peer of the session that a request names; NULL: there is no such session. Only a
 * client that was authenticated before can name one. */
static struct mcpi_peer *
ticket_peer(const mcp_http_ticket *ticket)
{
    const struct mcpi_endpoint *endpoint = ticket->endpoint;

    if (mcpi_http_2024_wants(endpoint, ticket->in))
        return mcpi_http_2024_named(endpoint, ticket->in);
    return mcpi_session_named(endpoint, ticket->in);
}

static bool
ticket_counts_alone(const mcp_http_ticket *ticket)
{
    return ticket->in->method != MCPI_HTTP_GET && ticket_peer(ticket);
}

/* False: no memory. */
static bool
ticket_announce(mcp_http_ticket *ticket)
{
    struct mcpi_peer *peer = ticket_peer(ticket);

    if (!peer || ticket->in->method != MCPI_HTTP_POST)
        return true;
    return mcpi_peer_expect(peer, &ticket->expected,
                            mcpi_loop_now(ticket->endpoint->loop)) == 0;
}

/* ---- its end ----------------------------------------------------------------- */

static void
ticket_serve(mcp_http_ticket *ticket)
{
    struct mcpi_turn *turn = ticket->turn;

    mcpi_list_remove(&ticket->in_endpoint);
    if (turn) {
        turn->served = NULL;
        turn->by = NULL;
        mcpi_http_ticket_conclude(ticket, turn, ticket->in);
    } else if (ticket->in) {
        ticket_conclude_alone(ticket);
    }
    mcpi_http_ticket_free(ticket);
}

static void
on_post(struct mcpi_post *post)
{
    mcp_http_ticket *ticket = MCPI_CONTAINER(post, mcp_http_ticket, post);
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    ticket_serve(ticket);
    mcpi_endpoint_check(endpoint);
}

/* Nobody is left who would want the answer. */
static void
ticket_abandon(mcp_http_ticket *ticket)
{
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    ticket->turn = NULL;
    mcpi_http_ticket_drop_copy(ticket);
    if (atomic_load(&ticket->state) == MCPI_TICKET_WAITING) {
        mcpi_list_remove(&ticket->in_endpoint);
        if (!mcpi_http_ticket_step(ticket, MCPI_TICKET_WAITING, MCPI_TICKET_ORPHAN))
            mcpi_list_append(&endpoint->tickets, &ticket->in_endpoint); /* posted now */
    } /* else its post frees it */
    mcpi_endpoint_check(endpoint);
}

static void
on_gone(struct mcpi_turn *turn)
{
    mcp_http_ticket *ticket = turn->by;

    turn->by = NULL;
    ticket->turn = NULL;
    if (!ticket_counts_alone(ticket))
        ticket_abandon(ticket);
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

/* False: no memory. */
static bool
ticket_keep(mcp_http_ticket *ticket, const struct mcpi_http_in *in)
{
    ticket->in = mcpi_http_in_copy(&ticket->mem, in, SIZE_MAX);
    if (!ticket->in)
        return false;
    if (ticket_announce(ticket))
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

/* The hook has answered before it returned, or before the request could wait. */
static void
ticket_go(mcp_http_ticket *ticket, struct mcpi_turn *turn,
          const struct mcpi_http_in *in)
{
    mcpi_http_ticket_conclude(ticket, turn, in);
    mcpi_http_ticket_free(ticket);
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
