/*
 * http_ticket.h - who asks: a hook of the program's is asked, which may take its time
 *
 *   ASKED -> ANSWERED           before the hook has returned: nothing is copied
 *         -> WAITING -> POSTED  later, from any thread: the answer comes home by a post
 *                    -> ORPHAN  the client or the endpoint is gone: the answer goes
 *                               nowhere, and whoever gives it frees the ticket (E20)
 *
 * The step to a state is the last that its maker does with the ticket, unless it is the
 * new owner: ASKED, ANSWERED, WAITING and POSTED are the loop's, ORPHAN is the hook's.
 * So an orphan's answer touches nothing of a server that may be gone.
 *
 * How it is answered: mcp/http.h, http_guard.h. Who waits, and for what: http_waiting.c.
 */
#ifndef MCPI_LINK_HTTP_TICKET_H
#define MCPI_LINK_HTTP_TICKET_H

#include <stdatomic.h>
#include <sys/types.h>

#include "link/http_endpoint.h"

#define MCPI_TICKET_PRINCIPAL_MAX 1024
#define MCPI_TICKET_CHALLENGE_MAX 2048 /* with a URL or two in it, and scopes */
#define MCPI_TICKET_MESSAGE_MAX 200

enum {
    MCPI_TICKET_ASKED,
    MCPI_TICKET_ANSWERED,
    MCPI_TICKET_WAITING,
    MCPI_TICKET_POSTED,
    MCPI_TICKET_ORPHAN
};

struct mcp_http_ticket {
    struct mcpi_list in_endpoint; /* WAITING, POSTED */
    struct mcpi_post post;
    mcp_allocator mem; /* a copy: an orphan outlives all else */
    struct mcpi_loop *loop;
    struct mcpi_endpoint *endpoint;
    struct mcpi_turn *turn;  /* NULL: the client has left */
    struct mcpi_http_in *in; /* a copy, while it waits to be served; or NULL */
    atomic_int state;
    struct mcpi_expected expected; /* announced to the peer of its session; loop only */
    pid_t pid;                     /* who waits; set before it does. 0: nobody has */
    int status;                    /* 0: allowed */
    char *scope;                   /* or NULL */
    char *claims_text;             /* not read yet; or NULL */
    mcp_doc *claims;               /* counted; or NULL */
    mcpi_http_last_fn *last;       /* or NULL */
    void *last_user;
    char nonce[MCPI_HTTP_NONCE];
    char principal[MCPI_TICKET_PRINCIPAL_MAX + 1];
    char challenge[MCPI_TICKET_CHALLENGE_MAX + 1];
    char message[MCPI_TICKET_MESSAGE_MAX + 1];
};

/* ASKED; nobody is asked yet. NULL: no memory. */
mcp_http_ticket *mcpi_http_ticket_new(struct mcpi_endpoint *endpoint);
void mcpi_http_ticket_free(mcp_http_ticket *ticket);

/* False: it is in another state. [any] */
bool mcpi_http_ticket_step(mcp_http_ticket *ticket, int from, int to);

/* Forget the request, with the credential in it; its peer does not expect it any more. */
void mcpi_http_ticket_drop_copy(mcp_http_ticket *ticket);

/* The request as hooks see it. */
mcp_http_request mcpi_http_ticket_request(const struct mcpi_http_in *in);

/* The answer is here: refuse it, or have it served. [loop] */
void mcpi_http_ticket_conclude(mcp_http_ticket *ticket, struct mcpi_turn *turn,
                               const struct mcpi_http_in *in);

#endif
