/*
 * http_ticket.c - who asks: a hook of the program's, which may take its time
 *
 *   ASKED -> ANSWERED           before the hook has returned: nothing is copied
 *         -> WAITING -> POSTED  later, from any thread: the answer comes home by a post
 *                    -> ORPHAN  the client or the endpoint is gone: the answer goes
 *                               nowhere, and whoever gives it frees the ticket (E20)
 *
 * What is said to a session counts though its client has left: a cancel, an answer, its
 * end. So its ticket stays, and it is served for a turn that takes everything and tells
 * nobody. A request is not: nobody is left who would want it (D22).
 *
 * The step to a state is the last that its maker does with the ticket, unless it is the
 * new owner: ASKED, ANSWERED, WAITING and POSTED are the loop's, ORPHAN is the hook's.
 * So an orphan's answer touches nothing of a server that may be gone.
 */
#include <mcp/auth.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "link/http_2024.h"
#include "link/http_copy.h"
#include "link/http_session.h"
#include "wire/rpc.h"
#include "json/value.h"

#define PRINCIPAL_MAX 1024
#define CHALLENGE_MAX 2048 /* with a URL or two in it, and scopes */
/* Claims are a few hundred bytes; what is longer is for a database. */
#define CLAIMS_BYTES_MAX 65536
#define CLAIMS_DEPTH_MAX 32
#define MESSAGE_MAX 200
#define NOBODY "Internal error: this is nobody's identity"

enum { ASKED, ANSWERED, WAITING, POSTED, ORPHAN };

struct mcp_http_ticket {
    struct mcpi_list in_endpoint; /* WAITING, POSTED */
    struct mcpi_post post;
    mcp_allocator mem; /* a copy: an orphan outlives all else */
    struct mcpi_loop *loop;
    struct mcpi_endpoint *endpoint;
    struct mcpi_turn *turn;  /* NULL: the client has left */
    struct mcpi_http_in *in; /* a copy, while it waits to be served; or NULL */
    atomic_int state;
    pid_t pid;               /* who waits; set before it does. 0: nobody has */
    int status;              /* 0: allowed */
    char *scope;             /* or NULL */
    char *claims_text;       /* not read yet; or NULL */
    mcp_doc *claims;         /* counted; or NULL */
    mcpi_http_last_fn *last; /* or NULL */
    void *last_user;
    char nonce[MCPI_HTTP_NONCE];
    char principal[PRINCIPAL_MAX + 1];
    char challenge[CHALLENGE_MAX + 1];
    char message[MESSAGE_MAX + 1];
};

static bool
ticket_step(mcp_http_ticket *ticket, int from, int to)
{
    return atomic_compare_exchange_strong(&ticket->state, &from, to);
}

/* With the credential in it gone. */
static void
ticket_drop_copy(mcp_http_ticket *ticket)
{
    const struct mcpi_http_in *in = ticket->in;

    for (size_t i = 0; in && i < in->field_count; i++)
        if (strcasecmp(in->fields[i].name, "Authorization") == 0)
            explicit_bzero((char *)(uintptr_t)in->fields[i].value,
                           strlen(in->fields[i].value));
    mcpi_free(&ticket->mem, ticket->in);
    ticket->in = NULL;
}

static void
ticket_free(mcp_http_ticket *ticket)
{
    const mcp_allocator mem = ticket->mem;

    ticket_drop_copy(ticket);
    mcpi_free(&mem, ticket->scope);
    mcpi_free(&mem, ticket->claims_text);
    mcp_doc_free(ticket->claims);
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

static void
ticket_set_principal(mcp_http_ticket *ticket, const char *principal)
{
    size_t len = principal ? strlen(principal) : 0;

    /* Half a name might be somebody else's. */
    if (len > PRINCIPAL_MAX)
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
    if (challenge && strlen(challenge) <= CHALLENGE_MAX && is_header_value(challenge))
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

static mcp_http_request
request_of(const struct mcpi_http_in *in)
{
    return MCP_HTTP_REQUEST(.method = in->method_name, .target = in->target,
                            .fields = in->fields, .field_count = in->field_count,
                            .body = in->body, .body_length = in->body_len,
                            .address = in->address, .secure = in->secure);
}

static void
ticket_look_again(mcp_http_ticket *ticket, const struct mcpi_http_in *in)
{
    const mcp_http_request request = request_of(in);

    if (ticket->status == 0 && ticket->last)
        ticket->last(ticket->last_user, &request, ticket->scope ? ticket->scope : "",
                     ticket);
}

/* The verdict is here and so is the client. */
static void
ticket_conclude(mcp_http_ticket *ticket, struct mcpi_turn *turn,
                const struct mcpi_http_in *in)
{
    struct mcpi_http_who who = {ticket->principal, ticket->scope, NULL};
    struct mcpi_http_known room;

    ticket_read_claims(ticket);
    ticket_look_again(ticket, in);
    who.claims = ticket->claims;
    memcpy(turn->nonce, ticket->nonce, sizeof(turn->nonce));
    if (ticket->status != 0) {
        ticket_refuse(ticket, turn);
        return;
    }
    mcpi_endpoint_dispatch(ticket->endpoint, turn, in, mcpi_http_known_of(in, &room),
                           &who);
}

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

    ticket_conclude(ticket, &turn, ticket->in);
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

/* What cannot be read, if only for want of memory, asks nothing either. */
static bool
ticket_asks(const mcp_http_ticket *ticket)
{
    const struct mcpi_engine *engine = ticket->endpoint->engine;
    const struct mcpi_json_limits limits = {mcpi_engine_max_bytes(engine),
                                            mcpi_engine_max_depth(engine)};
    const struct mcpi_http_in *in = ticket->in;
    struct mcpi_rpc rpc;
    mcp_doc *doc;

    if (in->method != MCPI_HTTP_POST)
        return in->method != MCPI_HTTP_DELETE;
    if (mcpi_doc_parse(ticket->endpoint->mem, in->body, in->body_len, &limits, &doc) <
        0)
        return false;
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    mcp_doc_free(doc);
    return rpc.kind == MCPI_RPC_REQUEST;
}

/* ---- waiting ---------------------------------------------------------------- */

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
    } else if (ticket->in) {
        ticket_conclude_alone(ticket);
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
    ticket_drop_copy(ticket);
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
    ticket->turn = NULL;
    if (!ticket_names_session(ticket) || ticket_asks(ticket))
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
    request = request_of(in);
    http->identify(http->identify_user, &request, ticket);
    if (atomic_load(&ticket->state) == ASKED && ticket_wait(ticket, turn, in))
        return;
    ticket_conclude(ticket, turn, in);
    ticket_free(ticket);
}
