/*
 * http_guard.h - what an endpoint and the guard in front of it have to say to each other
 *
 * A guard is a hook that is asked who comes (mcp/http.h); besides it hands on what it has
 * learned of them, and has a document that everybody may read.
 */
#ifndef MCPI_LINK_HTTP_GUARD_H
#define MCPI_LINK_HTTP_GUARD_H

#include <mcp/http.h>

/* Longest nonce, with its terminator. */
#define MCPI_HTTP_NONCE 40

/* A document for everybody, also for pages of other origins; JSON. Outlives the endpoint. */
struct mcpi_http_notice {
    const char *path, *other_path; /* where it is; other_path may be NULL */
    const char *text;
    size_t len;
};

/* Whatever the answer will be, it says this nonce (DPoP-Nonce, RFC 9449, 8); copied. Before
 * the ticket is answered. [any] */
void mcpi_http_ticket_set_nonce(mcp_http_ticket *ticket, const char *nonce);

/* A last look, at the request itself and with what was granted, before it is served: for
 * what it would be a waste, or not possible, to look at sooner. Only if the answer is that
 * it is allowed; on the endpoint's loop, which user outlives. It says no with
 * mcpi_http_ticket_veto, or nothing. */
typedef void mcpi_http_last_fn(void *user, const mcp_http_request *request,
                               const char *scope, mcp_http_ticket *ticket);
/* Before the ticket is answered. [any] */
void mcpi_http_ticket_set_last(mcp_http_ticket *ticket, mcpi_http_last_fn *fn,
                               void *user);
/* As mcp_http_deny; from inside of the last look only. */
void mcpi_http_ticket_veto(mcp_http_ticket *ticket, int status, const char *challenge,
                           const char *message);

/* The answer: as mcp_http_allow_identity, of parts that were checked. scope NULL: none; a
 * reference to claims is taken, which may be NULL. [any] */
void mcpi_http_ticket_allow(mcp_http_ticket *ticket, const char *principal,
                            const char *scope, mcp_doc *claims);

#endif
