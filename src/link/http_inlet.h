/*
 * http_inlet.h - the GET stream of a legacy session: what belongs to no request of ours
 *
 * A server need not offer one: 405, and any other refusal, is fine, and said in the
 * log. A stream that ends or is lost is opened again, after the last event that had an
 * id, and given up with a warning when that fails too often in a row: from then on
 * nobody hears what belongs to no request. A 404 on such a second attempt says that the
 * session is gone. On the first one it says nothing: servers without a route for GET
 * answer so too, and if the session is gone the next POST finds out.
 *
 * Calls wait for its first answer, whatever that is: some servers ask on it what belongs
 * to a call, and what they ask is lost if nobody listens yet. But not for somebody to
 * allow it: it is opened when that has happened.
 */
#ifndef MCPI_LINK_HTTP_INLET_H
#define MCPI_LINK_HTTP_INLET_H

#include "link/http_permit.h"

/* So long, and no longer: there are servers that say nothing before the first event. */
#define MCPI_HTTP_INLET_MAX 1000000 /* us */

struct mcpi_http_inlet {
    const struct mcpi_http_target *target;
    struct mcpi_peer *peer;
    /* The session is unknown to the server; the inlet is closed. */
    void (*lost)(void *user);
    /* Nobody has to wait for it any more. */
    void (*settled)(void *user);
    void *user;
    const char *version; /* a constant */
    unsigned session;    /* its number */
    bool streamed;       /* it was a stream once */
    bool is_awaited;     /* it is open, and nothing is known of it yet */
    struct mcpi_timer patience;
    struct mcpi_http_permit permit;
    struct mcpi_http_flow flow;
};

/* Set target, peer, lost, settled and user first. */
void mcpi_http_inlet_init(struct mcpi_http_inlet *inlet);

/* Open it, anew if it was open before, in the present session. MCP_E_NOMEM,
 * MCP_E_INVAL, MCP_E_AUTH: it is closed. */
int mcpi_http_inlet_open(struct mcpi_http_inlet *inlet, const char *version);

/* Silent; in any state. */
void mcpi_http_inlet_close(struct mcpi_http_inlet *inlet);

#endif
