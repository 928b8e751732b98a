/*
 * http_inlet.h - the GET stream of a legacy session: what belongs to no request of ours
 *
 * A server need not offer one: 405, and any other refusal, is fine, and said in the
 * log. A stream that ends or is lost is opened again, after the last event that had an
 * id, and given up quietly when that fails too often in a row. A 404 on such a second
 * attempt says that the session is gone. On the first one it says nothing: servers
 * without a route for GET answer so too, and if the session is gone the next POST finds
 * out.
 */
#ifndef MCPI_LINK_HTTP_INLET_H
#define MCPI_LINK_HTTP_INLET_H

#include "link/http_target.h"

struct mcpi_http_inlet {
    const struct mcpi_http_target *target;
    struct mcpi_peer *peer;
    /* The session is unknown to the server; the inlet is closed. */
    void (*lost)(void *user);
    void *user;
    const char *version; /* a constant */
    unsigned session;    /* its number */
    bool streamed;       /* it was a stream once */
    struct mcpi_http_flow flow;
};

/* Set target, peer, lost and user first. */
void mcpi_http_inlet_init(struct mcpi_http_inlet *inlet);

/* Open it, anew if it was open before, in the present session. MCP_E_NOMEM,
 * MCP_E_INVAL: it is closed. */
int mcpi_http_inlet_open(struct mcpi_http_inlet *inlet, const char *version);

/* Silent; in any state. */
void mcpi_http_inlet_close(struct mcpi_http_inlet *inlet);

#endif
