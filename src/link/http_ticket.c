/*
 * http_ticket.c - who asks: a hook of the program's, which may take its time
 *
 *   ASKED -> ANSWERED           before the hook has returned: nothing is copied
 *         -> WAITING -> POSTED  later, from any thread: the answer comes home by a post
 *                    -> ORPHAN  the client or the endpoint is gone: the answer goes
 *                               nowhere, and whoever gives it frees the ticket (E20)
 *
 * The step to a state is the last that its maker does with the ticket, unless it is the
 * new owner: ASKED, ANSWERED, WAITING and POSTED are the loop's, ORPHAN is the hook's.
 * So an orphan's answer touches nothing of a server that may be gone.
 */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "link/http_copy.h"
#include "link/http_endpoint.h"
#include "wire/rpc.h"

#define PRINCIPAL_MAX 1024
#define CHALLENGE_MAX 1024 /* with a URL or two in it */
#define MESSAGE_MAX 200

enum { ASKED, ANSWERED, WAITING, POSTED, ORPHAN };

struct mcp_http_ticket {
    struct mcpi_list in_endpoint; /* WAITING, POSTED */
    struct mcpi_post post;
    mcp_allocator mem; /* a copy: an orphan outlives all else */
    struct mcpi_loop *loop;
    struct mcpi_endpoint *endpoint;
    struct mcpi_turn *turn;  /* NULL: the client has left */
    struct mcpi_http_in *in; /* a copy, once it waits; or NULL */
    atomic_int state;
    pid_t pid;  /* who waits; set before it does. 0: nobody has */
    int status; /* 0: allowed */
    char principal[PRINCIPAL_MAX + 1];
    char challenge[CHALLENGE_MAX + 1];
    char message[MESSAGE_MAX + 1];
};

static bool
ticket_step(mcp_http_ticket *ticket, int from, int to)
{
    return atomic_compare_exchange_strong(&ticket->state, &from, to);
}

static void
ticket_free(mcp_http_ticket *ticket)
{
    const mcp_allocator mem = ticket->mem;

    mcpi_free(&mem, ticket->in);
    mcpi_free(&mem, ticket);
}

/* ---- the answer; any thread ------------------------------------------------ */

static void
ticket_answer(mcp_http_ticket *ticket)
{
    if (ticket_step(ticket, ASKED, ANSWERED))
        return;
    if (ticket->pid != 0 && ticket->pid != getpid())
        return; /* forked off meanwhile: it waits in another process */
    if (ticket_step(ticket, WAITING, POSTED))
        mcpi_loop_post(ticket->loop, &ticket->post);
    else
        ticket_free(ticket);
}

static void
ticket_deny(mcp_http_ticket *ticket, int status, const char *message)
{
    ticket->status = status;
    (void)mcpi_text_clean(ticket->message, sizeof(ticket->message), message,
                          strlen(message));
}

void
mcp_http_allow(mcp_http_ticket *ticket, const char *principal)
{
    size_t len = principal ? strlen(principal) : 0;

    if (!ticket)
        return;
    /* Half a name might be somebody else's. */
    if (len > PRINCIPAL_MAX)
        ticket_deny(ticket, 500, "Internal error: the principal's name is too long");
    else
        memcpy(ticket->principal, principal ? principal : "", len + 1);
    ticket_answer(ticket);
}

/* A value that no header can have is left out. */
static bool
is_header_value(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            return false;
    return true;
}

void
mcp_http_deny(mcp_http_ticket *ticket, int status, const char *challenge,
              const char *message)
{
    if (!ticket)
        return;
    if (status < 400 || status > 599)
        status = 403;
    if (!message)
        message = status == 401 ? "Unauthorized" : "Forbidden";
    ticket_deny(ticket, status, message);
    if (challenge && strlen(challenge) <= CHALLENGE_MAX && is_header_value(challenge))
        memcpy(ticket->challenge, challenge, strlen(challenge) + 1);
    ticket_answer(ticket);
}

/* ---- the loop -------------------------------------------------------------- */

static void
ticket_refuse(mcp_http_ticket *ticket, struct mcpi_turn *turn)
{
    mcp_http_field fields[2];
    struct mcpi_http_out out;

    mcpi_endpoint_log_refusal(ticket->endpoint, NULL, ticket->status, ticket->message);
    mcpi_http_refusal(&out, &ticket->endpoint->refusal, ticket->status, NULL,
                      ticket->status >= 500 ? MCPI_RPC_INTERNAL_ERROR
                                            : MCPI_RPC_INVALID_REQUEST,
                      ticket->message);
    if (ticket->challenge[0]) {
        if (out.field_count > 0)
            fields[1] = out.fields[0];
        fields[0] = (mcp_http_field){"WWW-Authenticate", ticket->challenge};
        out.fields = fields;
        out.field_count++;
    }
    (void)mcpi_turn_reply(turn, &out); /* the carrier keeps what has not left */
}

/* The verdict is here and so is the client. */
static void
ticket_conclude(mcp_http_ticket *ticket, struct mcpi_turn *turn,
                const struct mcpi_http_in *in)
{
    struct mcpi_http_known room;

    if (ticket->status != 0) {
        ticket_refuse(ticket, turn);
        return;
    }
    mcpi_endpoint_dispatch(ticket->endpoint, turn, in, mcpi_http_known_of(in, &room),
                           ticket->principal);
}

static void
on_post(struct mcpi_post *post)
{
    mcp_http_ticket *ticket = MCPI_CONTAINER(post, mcp_http_ticket, post);
    struct mcpi_endpoint *endpoint = ticket->endpoint;
    struct mcpi_turn *turn = ticket->turn;

    mcpi_list_remove(&ticket->in_endpoint);
    if (turn) {
        turn->served = NULL;
        turn->by = NULL;
        ticket_conclude(ticket, turn, ticket->in);
    }
    ticket_free(ticket);
    mcpi_endpoint_check(endpoint);
}

/* Nobody is left who would want the answer. */
static void
ticket_abandon(mcp_http_ticket *ticket)
{
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    ticket->turn = NULL;
    mcpi_free(&ticket->mem, ticket->in);
    ticket->in = NULL;
    if (atomic_load(&ticket->state) == POSTED)
        return; /* its post frees it */
    mcpi_list_remove(&ticket->in_endpoint);
    if (!ticket_step(ticket, WAITING, ORPHAN))
        mcpi_list_append(&endpoint->tickets, &ticket->in_endpoint); /* posted now */
    mcpi_endpoint_check(endpoint);
}

static void
on_gone(struct mcpi_turn *turn)
{
    mcp_http_ticket *ticket = turn->by;

    turn->by = NULL;
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

/* The hook has returned without an answer. False: the answer came meanwhile. */
static bool
ticket_wait(mcp_http_ticket *ticket, struct mcpi_turn *turn,
            const struct mcpi_http_in *in)
{
    struct mcpi_endpoint *endpoint = ticket->endpoint;

    ticket->in = mcpi_http_in_copy(&ticket->mem, in, SIZE_MAX);
    if (!ticket->in) {
        if (!ticket_step(ticket, ASKED, ORPHAN))
            return false;
        mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                             "Out of memory");
        return true;
    }
    ticket->pid = getpid();
    ticket->turn = turn;
    turn->served = &ticket_served;
    turn->by = ticket;
    mcpi_list_append(&endpoint->tickets, &ticket->in_endpoint);
    if (ticket_step(ticket, ASKED, WAITING)) {
        mcpi_endpoint_check(endpoint); /* there may be nothing left to wait for */
        return true;
    }
    mcpi_list_remove(&ticket->in_endpoint);
    turn->served = NULL;
    turn->by = NULL;
    return false;
}

void
mcpi_endpoint_identify(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                       const struct mcpi_http_in *in)
{
    const mcp_http_options *http = endpoint->http;
    mcp_http_request request;
    mcp_http_ticket *ticket;

    ticket = mcpi_alloc_zero_first(endpoint->mem, sizeof(*ticket),
                                   offsetof(mcp_http_ticket, principal));
    if (!ticket) {
        mcpi_endpoint_refuse(endpoint, turn, 503, NULL, MCPI_RPC_INTERNAL_ERROR,
                             "Out of memory");
        return;
    }
    ticket->principal[0] = ticket->challenge[0] = ticket->message[0] = '\0';
    mcpi_list_init(&ticket->in_endpoint);
    ticket->post.fn = on_post;
    ticket->mem = *endpoint->mem;
    ticket->loop = endpoint->loop;
    ticket->endpoint = endpoint;
    request = MCP_HTTP_REQUEST(.method = in->method_name, .target = in->target,
                               .fields = in->fields, .field_count = in->field_count,
                               .body = in->body, .body_length = in->body_len,
                               .address = in->address, .secure = in->secure);
    http->identify(http->identify_user, &request, ticket);
    if (atomic_load(&ticket->state) == ASKED && ticket_wait(ticket, turn, in))
        return;
    ticket_conclude(ticket, turn, in);
    ticket_free(ticket);
}
