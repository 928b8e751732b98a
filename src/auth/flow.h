/*
 * flow.h - getting a token: one run, from a refusal or an old token to a new one
 *
 *   renew:   metadata of the issuer -> lock -> is there a newer one already? -> refresh ->
 *            save -> unlock
 *   refused: metadata of resource and issuer -> who we are there -> refresh as above, if
 *            the issuer is the old one -> else by the grant:
 *              code        begin -> register -> sign in -> token
 *              client      token
 *              enterprise  assertion -> exchange -> token
 *              assertion   assertion -> token
 *            -> save
 *   step up: the same, with more scopes and without a refresh
 *
 * One run at a time; it ends once: `done` is called, or it was stopped and nothing is. A
 * request that spends what cannot be spent twice (a code, a refresh token) is not stopped
 * any more: it runs to its end, and its token is told. [loop]
 */
#ifndef MCPI_AUTH_FLOW_H
#define MCPI_AUTH_FLOW_H

#include <mcp/auth.h>

#include "auth/challenge.h"
#include "auth/discovery.h"
#include "auth/grant.h"
#include "auth/place.h"
#include "auth/shelf.h"
#include "auth/visitor.h"

/* While somebody else has the lock, how often it is asked for. */
#define MCPI_FLOW_LOCK_PAUSE 100000 /* us */
/* A token endpoint that wants a nonce gets it so often (RFC 9449, 8). */
#define MCPI_FLOW_NONCES_MAX 2
/* Longest nonce that is repeated. */
#define MCPI_FLOW_NONCE_MAX 512
#define MCPI_FLOW_WHY_MAX 240

enum mcpi_flow_kind { MCPI_FLOW_RENEW, MCPI_FLOW_REFUSED, MCPI_FLOW_STEP_UP };

struct mcpi_flow_options {
    const mcp_allocator *mem; /* one that wipes (wipe.h) */
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher;
    const mcp_auth_options *auth; /* read and checked; outlives the flow */
    const char *server_url;       /* likewise */
    const char *name;             /* of the client; likewise */
    struct mcpi_shelf *shelf;     /* likewise */
    const char *token_key;        /* where tokens are kept in it; likewise */
    struct mcpi_key *client_key;  /* of auth->private_key; NULL: none */
    int64_t (*wall)(void);        /* seconds since 1970 */
    /* 0: take_token is the new one. Else MCP_E_AUTH, MCP_E_NOMEM, and why; lost: the old
     * token is of no use any more. Not from inside a function below. */
    void (*done)(void *user, int status, struct mcpi_credential *take_token,
                 const char *why, bool lost);
    void *user;
};

enum mcpi_flow_step {
    MCPI_STEP_IDLE = 0,
    MCPI_STEP_DISCOVER,
    MCPI_STEP_WHO,
    MCPI_STEP_LOCK,
    MCPI_STEP_RELOAD,
    MCPI_STEP_REFRESH,
    MCPI_STEP_REGISTER,
    MCPI_STEP_KEEP_WHO,
    MCPI_STEP_VISIT,
    MCPI_STEP_ASSERT,
    MCPI_STEP_EXCHANGE,
    MCPI_STEP_TOKEN,
    MCPI_STEP_SAVE
};

struct mcpi_flow {
    struct mcpi_flow_options opt;
    const mcp_allocator *mem;
    enum mcpi_flow_kind kind;
    enum mcpi_flow_step step;
    enum mcpi_address_kind nearest; /* as near as the server is */
    struct mcpi_challenge challenge;
    const struct mcpi_credential *old; /* borrowed while it runs; NULL: none */
    struct mcpi_credential *reloaded;  /* instead of it: what the store has */
    struct mcpi_credential *made;      /* the new one */
    bool lost;                         /* the old one is of no use */
    bool refreshed;                    /* the new one came of it */
    bool unwanted; /* nobody waits: it ends when it has nothing to spend any more */

    struct mcpi_discovery discovery;
    struct mcpi_visitor visitor;
    struct mcpi_lookup lookup;
    struct mcpi_timer pause;
    int64_t give_up_at; /* waiting for the lock */
    struct mcpi_shelf_op *op, *lock;
    struct mcpi_flow_errand *errand; /* asking for an assertion; or NULL */
    struct mcpi_flush start;

    struct mcpi_registration *who;  /* stays from run to run: good for its issuer */
    bool registered;                /* by us; else it was agreed on */
    char bound[MCPI_PLACE_MAX + 1]; /* issuer that it was agreed on with, once known */
    struct mcpi_buf scopes;         /* all that was asked for, and given; stays */
    size_t asked_before;            /* so much of it before this run */
    /* The store could not be told that this token, by its hash, was replaced; "" none. */
    char stale[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_key *key; /* for DPoP; stays */
    bool dpop;
    unsigned nonces;
    char nonce[MCPI_FLOW_NONCE_MAX]; /* of the issuer */
    struct mcpi_buf form;            /* what is posted, without who we are */
    const char *post_url;            /* borrowed from the metadata */
    char state[MCPI_PKCE_SIZE], verifier[MCPI_PKCE_SIZE];
    char why[MCPI_FLOW_WHY_MAX];
};

void mcpi_flow_init(struct mcpi_flow *flow, const struct mcpi_flow_options *opt);
void mcpi_flow_done(struct mcpi_flow *flow); /* stops it, whatever it spends */

bool mcpi_flow_is_running(const struct mcpi_flow *flow);

/* Begin a run. old: the token there is, or NULL; borrowed until done or stop. challenge:
 * of the refusal, copied; NULL for RENEW. Cannot fail: what does is told by done. */
void mcpi_flow_start(struct mcpi_flow *flow, enum mcpi_flow_kind kind,
                     const struct mcpi_credential *old,
                     const struct mcpi_challenge *challenge,
                     enum mcpi_address_kind nearest);

/* Was this token asked for without some of what always is, and can another one be had? */
bool mcpi_flow_wants_more(const struct mcpi_flow *flow,
                          const struct mcpi_credential *token);

/* Of who was agreed on: it is known to this issuer, and told to no other. */
void mcpi_flow_bind(struct mcpi_flow *flow, const char *issuer);

/* Nobody waits for it. False: it spends something, and goes on until that is done. */
bool mcpi_flow_stop(struct mcpi_flow *flow);
/* Somebody does, after all. */
void mcpi_flow_want(struct mcpi_flow *flow);

#endif
