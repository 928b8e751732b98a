/*
 * client_inside.h - the authorization of one HTTP client, as its own files see it
 *
 *   client.c           the token, who waits for it, and how a message is signed with it
 *   client_refused.c   what a server's refusal leads to
 */
#ifndef MCPI_AUTH_CLIENT_INSIDE_H
#define MCPI_AUTH_CLIENT_INSIDE_H

#include "auth/client.h"
#include "auth/flow.h"
#include "auth/place.h"
#include "auth/wipe.h"

/* Where tokens are kept: grant, who we are, and the server. */
#define MCPI_AUTH_KEY_MAX (3 * MCPI_PLACE_MAX)

/* How the present token came, until the server has accepted it. */
enum mcpi_auth_trial { MCPI_TOKEN_PROVEN, MCPI_TOKEN_REFRESHED, MCPI_TOKEN_SIGNED_IN };

struct mcpi_auth_client {
    struct mcpi_http_auth base;
    struct mcpi_wipe wipe;    /* for all below */
    const mcp_allocator *mem; /* it */
    struct mcpi_auth_client_options opt;
    struct mcpi_shelf shelf;
    struct mcpi_flow flow;
    struct mcpi_key *key;          /* options.private_key; or NULL */
    struct mcpi_credential *token; /* or NULL */
    unsigned stamp;                /* of the token, or of there being none */
    int64_t made_at;               /* when it became ours, seconds since 1970 */
    int64_t renew_at;              /* not before */
    unsigned failures;             /* runs for another one that failed */
    bool renewable;                /* its refresh token was not refused */
    bool refused;                  /* the server has, under the present stamp */
    enum mcpi_auth_trial trial;
    int64_t spurned_until; /* what a sign-in brings is refused: no other one before */
    bool is_safe;          /* tokens may go to the server */
    bool loaded;           /* the store was looked into */
    struct mcpi_shelf_op *load;
    struct mcpi_list waiting; /* permits */
    struct mcpi_list due;     /* those that are told in the turn's end */
    struct mcpi_flush tell;
    int http;                        /* the refusal that the run is about */
    enum mcpi_address_kind nearest;  /* as near as the server is */
    char nonce[MCPI_FLOW_NONCE_MAX]; /* of the server; "" none */
    unsigned nonces;                 /* so many there were */
    char token_key[MCPI_AUTH_KEY_MAX];
    struct mcpi_timer patience; /* with a renewal */
    struct mcpi_timer last;     /* closing */
    void (*closed)(void *user);
    void *user;
};

static inline struct mcpi_auth_client *
mcpi_auth_client_of(struct mcpi_http_auth *auth)
{
    return MCPI_CONTAINER(auth, struct mcpi_auth_client, base);
}

/* client.c: it waits from now on, MCP_E_AGAIN: for what runs; or only to be sent at once,
 * signed anew. */
int mcpi_auth_permit_join(struct mcpi_auth_client *client,
                          struct mcpi_http_permit *permit);
int mcpi_auth_permit_retry(struct mcpi_auth_client *client,
                           struct mcpi_http_permit *permit);
/* NULL: there is none any more. Not while a run is about the one that there is. */
void mcpi_auth_token_set(struct mcpi_auth_client *client,
                         struct mcpi_credential *take_token);

/* client_refused.c: as heard of link/http_auth.h. */
int mcpi_auth_heard(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
                    const struct mcpi_fetch_head *head, char *why, size_t size);

#endif
