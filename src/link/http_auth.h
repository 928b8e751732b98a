/*
 * http_auth.h - who signs the requests of an HTTP client, and what a refusal leads to
 *
 * All that the link knows of authorization; implemented by auth/client.c. A message that
 * is refused, or cannot be signed yet, waits: it keeps its text, nothing of it is with the
 * server, its leg's clocks run, and a cancel ends it without a word on the wire. When
 * nobody waits any more, what was begun for them is given up. [loop]
 */
#ifndef MCPI_LINK_HTTP_AUTH_H
#define MCPI_LINK_HTTP_AUTH_H

#include "base/buf.h"
#include "base/list.h"

struct mcpi_fetch_head;
struct mcpi_http_auth;

/* One message, as authorization sees it; embedded in its entry, and zeroed at first. */
struct mcpi_http_permit {
    struct mcpi_list node; /* auth's, while it waits */
    bool waits;            /* likewise */
    unsigned stamp;        /* auth's: which token there was when it was signed, */
    bool shown;            /* and was that shown? */
    unsigned nonce;        /* auth's: and which nonce of the server's */
    unsigned refusals;     /* auth's: so often */
    /* The link's: it may be sent, if it is signed anew (status 0); or it never will
     * (MCP_E_AUTH, MCP_E_NOMEM), with the HTTP status that led to it, or 0, and why
     * (borrowed). It does not wait any more. Called on the loop, not from inside of a
     * function below; anything may be done in it. */
    void (*ready)(struct mcpi_http_permit *permit, int status, int http,
                  const char *why);
};

struct mcpi_http_auth_ops {
    /* Append the header lines that say who we are, each with a terminator (run/fetch.h).
     * MCP_E_AGAIN: that cannot be told yet; the permit waits now. Another status: it cannot
     * be made. permit NULL, for what cannot wait (DELETE, a stream that is taken up again):
     * what there is, and never MCP_E_AGAIN. */
    int (*sign)(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
                const char *method, const char *url, struct mcpi_buf *into);
    /* The head of an answer came. 0: it is the link's. MCP_E_AGAIN: it was refused, and may
     * be sent again later: the permit waits now, and the request is of no use any more.
     * MCP_E_AUTH: it was refused for good; why then says why (cut to size). permit NULL:
     * never MCP_E_AGAIN. */
    int (*heard)(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
                 const struct mcpi_fetch_head *head, char *why, size_t size);
    /* It waits no longer: its message is canceled, or the link closes. */
    void (*leave)(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit);
};

/* Embedded first in what it is. */
struct mcpi_http_auth {
    const struct mcpi_http_auth_ops *ops;
};

#endif
