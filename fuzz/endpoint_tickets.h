/*
 * endpoint_tickets.h - the hook that is asked who comes, and who waits for its answer
 *
 * For endpoint_fuzz.c alone.
 */
#ifndef FUZZ_ENDPOINT_TICKETS_H
#define FUZZ_ENDPOINT_TICKETS_H

#include "endpoint_model.h"

/* ---- the hook -------------------------------------------------------------- */

static void
ticket_decide(mcp_http_ticket *ticket, const char *verdict)
{
    if (strcmp(verdict, "n") == 0)
        mcp_http_deny(ticket, 401, "Bearer", NULL);
    else if (strcmp(verdict, "x") == 0)
        mcp_http_deny(ticket, 403, NULL, "not \"you\"\n");
    else
        mcp_http_allow(ticket, *verdict ? verdict : NULL);
}

/* The credential says what becomes of it: "w..": later; "n", "x": no; else: of whom. */
static void
on_identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    struct fuzz *f = user;
    const char *said = mcp_http_header(request, "authorization");
    bool later = said && *said == 'w' && f->ticket_count < TICKETS;
    struct pending *pending;
    char verdict[8];

    (void)snprintf(verdict, sizeof(verdict), "%s", said ? said + (*said == 'w') : "");
    CHECK(f->at_door && request->method && request->target);
    memcpy(f->at_door->principal, verdict, sizeof(verdict));
    if (!later) {
        ticket_decide(ticket, verdict);
        return;
    }
    pending = &f->tickets[f->ticket_count++];
    pending->ticket = ticket;
    pending->serial = f->at_door->serial;
    memcpy(pending->verdict, verdict, sizeof(verdict));
}

static void
ticket_answer(struct fuzz *f, unsigned a)
{
    struct pending pending;
    size_t at;

    if (f->ticket_count == 0)
        return;
    at = a % f->ticket_count;
    pending = f->tickets[at];
    f->tickets[at] = f->tickets[--f->ticket_count];
    ticket_decide(pending.ticket, pending.verdict);
}

/* ---- who waits ------------------------------------------------------------- */

/* Has the hook not said yet who asks? */
static bool
is_asked_who(const struct fuzz *f, const struct client *c)
{
    for (size_t i = 0; i < f->ticket_count; i++)
        if (f->tickets[i].serial == c->serial)
            return true;
    return false;
}

#endif
