/* client_refused.c - what a server's refusal leads to: a retry, a run, or an end */
#include <stdio.h>
#include <string.h>

#include "auth/client_inside.h"
#include "auth/scopes.h"

static void
challenge_read(const struct mcpi_fetch_head *head, struct mcpi_challenge *ret)
{
    const char *value;

    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < MCPI_AUTH_CHALLENGES_MAX; i++) {
        value = head->find_nth(head, "WWW-Authenticate", i);
        if (!value)
            break;
        mcpi_challenge_read(ret, value);
    }
}

/* One that a proof cannot carry is none (RFC 9449, 8.1: visible ASCII). */
static void
nonce_note(struct mcpi_auth_client *c, const struct mcpi_fetch_head *head)
{
    const char *nonce = head->find(head, "DPoP-Nonce");

    if (!nonce || !mcpi_credential_is_text(nonce) ||
        strlen(nonce) >= sizeof(c->nonce) || strcmp(nonce, c->nonce) == 0)
        return;
    memcpy(c->nonce, nonce, strlen(nonce) + 1);
    c->nonces++;
}

/* Was it refused for want of a nonce, and is there another one than it had? */
static bool
lacks_nonce(const struct mcpi_auth_client *c, const struct mcpi_http_permit *permit,
            const struct mcpi_challenge *challenge)
{
    return c->token && c->token->key && permit->nonce != c->nonces &&
           strcmp(challenge->error, "use_dpop_nonce") == 0;
}

static bool
is_about_proof(const struct mcpi_auth_client *c, const struct mcpi_challenge *challenge)
{
    return c->token && c->token->key &&
           strcmp(challenge->error, "invalid_dpop_proof") == 0;
}

static int
refuse(char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s", what);
    return MCP_E_AUTH;
}

static void
client_run(struct mcpi_auth_client *c, enum mcpi_flow_kind kind, int http,
           const struct mcpi_challenge *challenge)
{
    /* one that a refresh has just brought, and that is refused, is not refreshed again */
    bool useless = kind == MCPI_FLOW_REFUSED && c->trial == MCPI_TOKEN_REFRESHED;

    c->http = http;
    mcpi_flow_start(&c->flow, kind, useless ? NULL : c->token, challenge, c->nearest);
}

/* The server refuses what a sign-in has brought: nobody signs in again for a while, for
 * each call would open a page. What a run is about stays until that has ended. */
static void
client_is_spurned(struct mcpi_auth_client *c)
{
    c->spurned_until = c->opt.wall() + MCPI_AUTH_SPURNED_S;
    if (!mcpi_flow_is_running(&c->flow))
        mcpi_auth_token_set(c, NULL);
}

/* The token is none, or none any more. */
static int
heard_401(struct mcpi_auth_client *c, struct mcpi_http_permit *permit,
          const struct mcpi_challenge *challenge, char *why, size_t size)
{
    if (permit->shown && c->trial == MCPI_TOKEN_SIGNED_IN)
        client_is_spurned(c);
    c->refused = true;
    if (mcpi_flow_is_running(&c->flow))
        return mcpi_auth_permit_join(c, permit);
    if (c->opt.wall() < c->spurned_until)
        return refuse(
            why, size,
            "the server refuses the token that its authorization server gave");
    client_run(c, MCPI_FLOW_REFUSED, 401, challenge);
    return mcpi_auth_permit_join(c, permit);
}

/* The token is for less than is wanted. Nothing that was not asked for yet: then nobody
 * will give it. */
static int
heard_403(struct mcpi_auth_client *c, struct mcpi_http_permit *permit,
          const struct mcpi_challenge *challenge, char *why, size_t size)
{
    if (mcpi_flow_is_running(&c->flow))
        return mcpi_auth_permit_join(c, permit);
    if (!*challenge->scope ||
        (c->token && mcpi_scopes_have(c->token->scope, challenge->scope)))
        return refuse(why, size,
                      "the server wants more than it can be given a token for");
    client_run(c, MCPI_FLOW_STEP_UP, 403, challenge);
    return mcpi_auth_permit_join(c, permit);
}

static int
client_refused(struct mcpi_auth_client *c, struct mcpi_http_permit *permit, int http,
               const struct mcpi_challenge *challenge, char *why, size_t size)
{
    if (!c->is_safe)
        return refuse(why, size, "a token goes over https only, or to loopback");
    if (++permit->refusals > MCPI_AUTH_REFUSALS_MAX)
        return refuse(why, size, "the server refuses again and again");
    if (permit->stamp != c->stamp)
        return mcpi_auth_permit_retry(c, permit);
    return http == 401 ? heard_401(c, permit, challenge, why, size)
                       : heard_403(c, permit, challenge, why, size);
}

/* The server has taken it, whatever it answered. */
static int
client_accepted(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    if (!permit)
        return 0;
    permit->refusals = 0;
    if (permit->shown && permit->stamp == c->stamp) {
        c->trial = MCPI_TOKEN_PROVEN;
        c->spurned_until = 0;
    }
    return 0;
}

/* It was not the token that was refused, but its proof. True: for want of a nonce, or it
 * may be the clock; a new proof may do. */
static bool
proof_may_do(const struct mcpi_auth_client *c, const struct mcpi_http_permit *permit,
             const struct mcpi_challenge *challenge)
{
    if (lacks_nonce(c, permit, challenge))
        return permit->refusals < MCPI_AUTH_REFUSALS_MAX;
    return permit->refusals == 0 && is_about_proof(c, challenge);
}

int
mcpi_auth_heard(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
                const struct mcpi_fetch_head *head, char *why, size_t size)
{
    struct mcpi_auth_client *c = mcpi_auth_client_of(auth);
    struct mcpi_challenge challenge;

    nonce_note(c, head);
    if (head->from != MCPI_ADDRESS_ANY)
        c->nearest = head->from;
    if (head->status != 401 && head->status != 403)
        return client_accepted(c, permit);
    if (!permit)
        return 0;
    challenge_read(head, &challenge);
    if (head->status == 403 && strcmp(challenge.error, "insufficient_scope") != 0)
        return 0;
    if (proof_may_do(c, permit, &challenge)) {
        permit->refusals++;
        return mcpi_auth_permit_retry(c, permit);
    }
    if (is_about_proof(c, &challenge))
        return refuse(why, size, "the server does not take our proofs");
    return client_refused(c, permit, head->status, &challenge, why, size);
}
