/* http_ticket.c - who asks: answered, from any thread, and what follows from it */
#include "link/http_ticket.h"

#include <mcp/auth.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "link/http_copy.h"
#include "wire/rpc.h"
#include "json/value.h"

/* Claims are a few hundred bytes; what is longer is for a database. */
#define CLAIMS_BYTES_MAX 65536
#define CLAIMS_DEPTH_MAX 32
#define NOBODY "Internal error: this is nobody's identity"

mcp_http_ticket *
mcpi_http_ticket_new(struct mcpi_endpoint *endpoint)
{
    mcp_http_ticket *ticket;

    ticket = mcpi_alloc_zero_first(endpoint->mem, sizeof(*ticket),
                                   offsetof(mcp_http_ticket, principal));
    if (!ticket)
        return NULL;
    ticket->principal[0] = ticket->challenge[0] = ticket->message[0] = '\0';
    mcpi_list_init(&ticket->in_endpoint);
    mcpi_expected_init(&ticket->expected);
    ticket->mem = *endpoint->mem;
    ticket->loop = endpoint->loop;
    ticket->endpoint = endpoint;
    return ticket;
}

bool
mcpi_http_ticket_step(mcp_http_ticket *ticket, int from, int to)
{
    return atomic_compare_exchange_strong(&ticket->state, &from, to);
}

void
mcpi_http_ticket_drop_copy(mcp_http_ticket *ticket)
{
    mcpi_expected_done(&ticket->expected);
    mcpi_http_in_free(&ticket->mem, ticket->in);
    ticket->in = NULL;
}

void
mcpi_http_ticket_free(mcp_http_ticket *ticket)
{
    const mcp_allocator mem = ticket->mem;

    mcpi_http_ticket_drop_copy(ticket);
    mcpi_free(&mem, ticket->scope);
    mcpi_free(&mem, ticket->claims_text);
    mcp_doc_free(ticket->claims);
    mcpi_free(&mem, ticket);
}

/* ---- the answer; any thread ------------------------------------------------ */

static void
ticket_answer(mcp_http_ticket *ticket)
{
    if (mcpi_http_ticket_step(ticket, MCPI_TICKET_ASKED, MCPI_TICKET_ANSWERED))
        return;
    if (ticket->pid != 0 && ticket->pid != getpid())
        return; /* forked off meanwhile: it waits in another process */
    if (mcpi_http_ticket_step(ticket, MCPI_TICKET_WAITING, MCPI_TICKET_POSTED))
        mcpi_loop_post(ticket->loop, &ticket->post);
    else
        mcpi_http_ticket_free(ticket);
}

static void
ticket_deny(mcp_http_ticket *ticket, int status, const char *message)
{
    ticket->status = status;
    (void)mcpi_text_clean(ticket->message, sizeof(ticket->message), message,
                          strlen(message));
}

static void
ticket_set_principal(mcp_http_ticket *ticket, const char *principal)
{
    size_t len = principal ? strlen(principal) : 0;

    /* Half a name might be somebody else's. */
    if (len > MCPI_TICKET_PRINCIPAL_MAX)
        ticket_deny(ticket, 500, "Internal error: the principal's name is too long");
    else
        memcpy(ticket->principal, principal ? principal : "", len + 1);
}

void
mcp_http_allow(mcp_http_ticket *ticket, const char *principal)
{
    if (!ticket)
        return;
    ticket_set_principal(ticket, principal);
    ticket_answer(ticket);
}

void
mcpi_http_ticket_set_nonce(mcp_http_ticket *ticket, const char *nonce)
{
    if (strlen(nonce) < sizeof(ticket->nonce))
        memcpy(ticket->nonce, nonce, strlen(nonce) + 1);
}

void
mcpi_http_ticket_set_last(mcp_http_ticket *ticket, mcpi_http_last_fn *fn, void *user)
{
    ticket->last = fn;
    ticket->last_user = user;
}

/* Keep a text that may be NULL; of what cannot be kept the answer is 503. */
static char *
ticket_keep(mcp_http_ticket *ticket, const char *text)
{
    char *kept, *at;

    if (!text)
        return NULL;
    kept = at = mcpi_alloc(&ticket->mem, strlen(text) + 1);
    if (kept)
        (void)mcpi_text_stow(&at, text, strlen(text));
    else
        ticket_deny(ticket, 503, "Out of memory");
    return kept;
}

void
mcpi_http_ticket_allow(mcp_http_ticket *ticket, const char *principal,
                       const char *scope, mcp_doc *claims)
{
    ticket_set_principal(ticket, principal);
    ticket->scope = ticket_keep(ticket, scope);
    ticket->claims = mcp_doc_ref(claims);
    ticket_answer(ticket);
}

void
mcp_http_allow_identity(mcp_http_ticket *ticket, const mcp_identity *identity)
{
    mcp_identity who;

    if (!ticket)
        return;
    if (!identity || mcpi_options_read(&who, sizeof(who), identity) < 0 ||
        !who.principal || !*who.principal || who.key) {
        ticket_deny(ticket, 500, NOBODY);
    } else {
        ticket_set_principal(ticket, who.principal);
        ticket->scope = ticket_keep(ticket, who.scope);
        ticket->claims_text = ticket_keep(ticket, who.claims);
    }
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
mcpi_http_ticket_veto(mcp_http_ticket *ticket, int status, const char *challenge,
                      const char *message)
{
    if (status < 400 || status > 599)
        status = 403;
    if (!message)
        message = status == 401 ? "Unauthorized" : "Forbidden";
    ticket_deny(ticket, status, message);
    if (challenge && strlen(challenge) <= MCPI_TICKET_CHALLENGE_MAX &&
        is_header_value(challenge))
        memcpy(ticket->challenge, challenge, strlen(challenge) + 1);
}

void
mcp_http_deny(mcp_http_ticket *ticket, int status, const char *challenge,
              const char *message)
{
    if (!ticket)
        return;
    mcpi_http_ticket_veto(ticket, status, challenge, message);
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

/* Here, because what is made of it lives as long as the request, and the ticket's own
 * copy of the allocator does not. */
static void
ticket_read_claims(mcp_http_ticket *ticket)
{
    const struct mcpi_json_limits limits = {CLAIMS_BYTES_MAX, CLAIMS_DEPTH_MAX};
    const char *text = ticket->claims_text;
    int r;

    if (!text || ticket->status != 0)
        return;
    r = mcpi_doc_parse(ticket->endpoint->mem, text, strlen(text), &limits,
                       &ticket->claims);
    if (r == MCP_E_NOMEM)
        ticket_deny(ticket, 503, "Out of memory");
    else if (r < 0 ||
             mcp_json_get_type(mcp_doc_root(ticket->claims)) != MCP_JSON_OBJECT)
        ticket_deny(ticket, 500, NOBODY);
}

mcp_http_request
mcpi_http_ticket_request(const struct mcpi_http_in *in)
{
    return MCP_HTTP_REQUEST(.method = in->method_name, .target = in->target,
                            .fields = in->fields, .field_count = in->field_count,
                            .body = in->body, .body_length = in->body_len,
                            .address = in->address, .secure = in->secure);
}

static void
ticket_look_again(mcp_http_ticket *ticket, const struct mcpi_http_in *in)
{
    const mcp_http_request request = mcpi_http_ticket_request(in);

    if (ticket->status == 0 && ticket->last)
        ticket->last(ticket->last_user, &request, ticket->scope ? ticket->scope : "",
                     ticket);
}

/* With a reference. For want of memory a principal is its address, for once. */
static struct mcpi_account *
ticket_account(const mcp_http_ticket *ticket, const struct mcpi_http_in *in)
{
    const struct mcpi_http_clients *clients = &ticket->endpoint->opt.clients;
    struct mcpi_account *account = NULL;

    if (ticket->principal[0] != '\0')
        account = mcpi_http_account_of_principal(clients, ticket->principal);
    return account ? account : mcpi_account_ref(in->account);
}

/* The verdict is here and so is the client. */
void
mcpi_http_ticket_conclude(mcp_http_ticket *ticket, struct mcpi_turn *turn,
                          const struct mcpi_http_in *in)
{
    struct mcpi_http_who who = {.principal = ticket->principal, .scope = ticket->scope};
    struct mcpi_http_known room;

    ticket_read_claims(ticket);
    ticket_look_again(ticket, in);
    who.claims = ticket->claims;
    memcpy(turn->nonce, ticket->nonce, sizeof(turn->nonce));
    if (ticket->status != 0) {
        ticket_refuse(ticket, turn);
        return;
    }
    who.account = ticket_account(ticket, in);
    mcpi_endpoint_dispatch(ticket->endpoint, turn, in, mcpi_http_known_of(in, &room),
                           &who);
    mcpi_account_unref(who.account);
}
