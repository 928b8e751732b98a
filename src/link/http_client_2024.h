/*
 * http_client_2024.h - HTTP+SSE of 2024-11-05, the client's side
 *
 *   closed -> OPENING -> OPEN -> closed
 *
 * One stream, opened by a GET, brings everything; its first event is `endpoint` and
 * says where messages are to be posted, on the same origin. When the stream is lost the
 * session is, and all that was asked in it (D23): nothing could be delivered any more.
 */
#ifndef MCPI_LINK_HTTP_CLIENT_2024_H
#define MCPI_LINK_HTTP_CLIENT_2024_H

#include "link/http_permit.h"

struct mcpi_http_old_ops {
    /* It is OPEN: target->post_url is where messages go. */
    void (*found)(void *user);
    /* It ended, and is closed. After that: refusal is NULL. Before: there is no such
     * server, and refusal says why nobody can be spoken to: that of initialize, or that
     * of the GET if that one is for want of credentials. */
    void (*ended)(void *user, const struct mcpi_fault *refusal);
    /* The GET waits for somebody to allow it; or does so no longer. */
    void (*rests)(void *user, bool rest);
};

#define MCPI_HTTP_WHY_MAX 200 /* of a refusal: a sentence */

struct mcpi_http_old {
    struct mcpi_http_target *target;
    struct mcpi_peer *peer;
    const struct mcpi_http_old_ops *ops;
    void *user;
    struct mcpi_fault refusal;
    char why[MCPI_HTTP_WHY_MAX];
    struct mcpi_buf endpoint;       /* terminated; empty: not known */
    struct mcpi_http_permit permit; /* of the GET */
    struct mcpi_http_flow flow;
};

/* Set target, peer, ops and user first. */
void mcpi_http_old_init(struct mcpi_http_old *old);
void mcpi_http_old_done(
    struct mcpi_http_old *old); /* target->post_url is as at first */

/* Look for such a server, because initialize was refused with that. MCP_E_NOMEM,
 * MCP_E_INVAL, MCP_E_AUTH: it is closed. */
int mcpi_http_old_open(struct mcpi_http_old *old, const struct mcpi_fault *refusal);

/* Silent; in any state. post_url stays as it is. */
void mcpi_http_old_close(struct mcpi_http_old *old);

bool mcpi_http_old_is_open(const struct mcpi_http_old *old);

#endif
