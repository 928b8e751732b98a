/*
 * client.h - the authorization of one HTTP client: who it is, and who waits for that
 *
 * Implements link/http_auth.h. There is one token, or none, and a stamp that changes with
 * it: a request that was refused under another stamp is sent again with the present token.
 * All that wait share one run (flow.h); when the last of them has left it is given up,
 * unless it spends what cannot be spent twice. [loop]
 */
#ifndef MCPI_AUTH_CLIENT_H
#define MCPI_AUTH_CLIENT_H

#include <mcp/auth.h>

#include "link/http_auth.h"
#include "run/fetch.h"
#include "run/loop.h"
#include "run/pool.h"

/* A token is renewed so long before it ends; one that lives less than twice that, at half
 * of its life. */
#define MCPI_AUTH_MARGIN_S 30
/* A renewal that failed is tried again after that, while the token still lives. */
#define MCPI_AUTH_RENEW_PAUSE_S 10
/* A message waits so long for a renewal, and then goes with the token there is, if that still
 * lives: an issuer that does not answer must not keep us from a server that does. */
#define MCPI_AUTH_RENEW_WAIT_US 2000000
/* So often a run may fail before a refresh token that was not refused is given up too: then
 * the user is asked again. */
#define MCPI_AUTH_FAILURES_MAX 3
/* A message that was refused so often is refused for good. */
#define MCPI_AUTH_REFUSALS_MAX 3
/* At the end, for a request that spends a code or a refresh token: what it brings is kept,
 * or would be lost. */
#define MCPI_AUTH_LAST_US 2000000
/* A server that refuses what a sign-in has just brought causes no other one before that. */
#define MCPI_AUTH_SPURNED_S 60
/* Headers of one answer that are read as challenges. */
#define MCPI_AUTH_CHALLENGES_MAX 8

struct mcpi_auth_client;

struct mcpi_auth_client_options {
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher; /* outlives it */
    struct mcpi_pool *pool;       /* for the program's functions; NULL: on the loop */
    const char *server_url;       /* these outlive it */
    const char *name;             /* of the client */
    const mcp_auth_options *auth; /* complete: mcpi_auth_options_take */
    int64_t (*wall)(void);        /* seconds since 1970; NULL: the system's clock */
};

/* Check options, and fill in defaults: opt was read by mcpi_options_read. MCP_E_INVAL with
 * err. [any] */
int mcpi_auth_options_take(mcp_auth_options *opt, mcp_error *err);

/* One block with copies of all texts, wiped when it is freed. NULL: no memory. [any] */
mcp_auth_options *mcpi_auth_options_copy(const mcp_allocator *mem,
                                         const mcp_auth_options *opt);
void mcpi_auth_options_free(const mcp_allocator *mem,
                            mcp_auth_options *opt); /* NULL ok */

int mcpi_auth_client_new(const struct mcpi_auth_client_options *opt,
                         struct mcpi_auth_client **ret_client, mcp_error *err);

/* Nobody waits or will. Freed when the program's functions have returned, and what was
 * being spent is spent, or was for too long; closed is then called, later. */
void mcpi_auth_client_close(struct mcpi_auth_client *client, void (*closed)(void *user),
                            void *user);

/* The same of one that was never used, at once. */
void mcpi_auth_client_discard(struct mcpi_auth_client *client);

struct mcpi_http_auth *mcpi_auth_client_interface(struct mcpi_auth_client *client);

#endif
