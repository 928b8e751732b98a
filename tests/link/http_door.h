/*
 * link/http_door.h - an endpoint whose hook is the test's: it answers now, or later
 */
#ifndef TESTS_LINK_HTTP_DOOR_H
#define TESTS_LINK_HTTP_DOOR_H

#include <mcp/auth.h>

#include "link/http_front.h"

struct door {
    struct front f;
    mcp_http_ticket *ticket; /* that was asked last and is not answered */
    int asked;
    bool now; /* answer from inside the hook */
    const char *principal;
    const mcp_identity *identity; /* instead; NULL: none */
    const char *nonce;            /* NULL: none */
    int deny;                     /* 0: allow */
    const char *challenge, *message;
    mcpi_http_last_fn *last; /* NULL: none */
    int looked;              /* last, so often */
};

static inline void
door_answer(struct door *d)
{
    mcp_http_ticket *ticket = d->ticket;

    d->ticket = NULL;
    if (d->nonce)
        mcpi_http_ticket_set_nonce(ticket, d->nonce);
    if (d->last)
        mcpi_http_ticket_set_last(ticket, d->last, d);
    if (d->identity)
        mcp_http_allow_identity(ticket, d->identity);
    else if (d->deny == 0)
        mcp_http_allow(ticket, d->principal);
    else
        mcp_http_deny(ticket, d->deny, d->challenge, d->message);
}

static inline void
door_on_identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    struct door *d = user;

    d->asked++;
    d->ticket = ticket;
    assert_string_equal(request->method, "POST");
    assert_string_equal(request->target, "/mcp");
    assert_non_null(mcp_http_header(request, "host"));
    assert_true(request->body_length > 0);
    if (d->now)
        door_answer(d);
}

static inline void
door_init(struct door *d)
{
    memset(d, 0, sizeof *d);
    front_init(&d->f);
    d->f.http.identify = door_on_identify;
    d->f.http.identify_user = d;
}

static inline void
door_open(struct door *d)
{
    door_init(d);
    front_open(&d->f);
}

#endif
