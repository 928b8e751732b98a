/* binding.c - a token that is bound to a key, and the proof that it comes with */
#include "auth/binding.h"

#include <string.h>

#include "auth/dpop.h"

static const struct mcpi_refusal unbound = {401, "invalid_token",
                                            "the token must be bound to a key", true};
static const struct mcpi_refusal bare = {
    401, "invalid_token", "the token is bound to a key and needs its proof", true};
static const struct mcpi_refusal without_nonce = {401, "use_dpop_nonce",
                                                  "the proof needs a nonce", true};

/* Is it a proof for this request? With one of the nonces that are good now, if they are
 * wanted. As mcpi_dpop_fault. */
static const char *
proof_fault(const mcp_guard *guard, const char *proof, const struct mcpi_dpop *what,
            char *ret_thumbprint, char *ret_jti, bool *ret_wants_nonce)
{
    struct mcpi_dpop with_nonce = *what;
    char nonce[MCPI_NONCE_SIZE];
    const char *fault = NULL;

    *ret_wants_nonce = false;
    if (!guard->settings->opt.dpop_nonce)
        return mcpi_dpop_fault(guard->mem, proof, what, ret_thumbprint, ret_jti,
                               ret_wants_nonce);
    with_nonce.nonce = nonce;
    for (int i = 0; i < 2; i++) {
        *ret_wants_nonce = false;
        if (mcpi_nonces_write(&guard->nonces, what->now, i, nonce) < 0)
            return mcp_status_text(MCP_E_NOMEM);
        fault = mcpi_dpop_fault(guard->mem, proof, &with_nonce, ret_thumbprint, ret_jti,
                                ret_wants_nonce);
        if (!fault || !*ret_wants_nonce)
            break;
    }
    return fault;
}

static struct mcpi_refusal
refusal_of(const char *fault)
{
    if (strcmp(fault, mcp_status_text(MCP_E_NOMEM)) == 0)
        return mcpi_refusal_later; /* no fault of the proof at all */
    return mcpi_refusal_proof(fault);
}

static bool
proof_is_new(const mcp_guard *guard, const char *principal, const char *jti,
             int64_t now, struct mcpi_refusal *ret_refusal)
{
    int64_t good = guard->settings->opt.dpop_nonce ? 2 * MCPI_NONCE_WINDOW
                                                   : 2 * MCPI_DPOP_AGE_MAX;
    int r = mcpi_replay_add(guard->replay, principal, jti, now, now + good);

    if (r < 0)
        *ret_refusal = r == MCP_E_STATE
                           ? mcpi_refusal_proof("the proof was used before")
                           : mcpi_refusal_later;
    return r == 0;
}

static bool
proof_check(const mcp_guard *guard, const struct mcpi_asked *asked, const char *url,
            const char *principal, const char *key, struct mcpi_refusal *ret_refusal)
{
    const struct mcpi_dpop what = {.method = asked->method,
                                   .url = url,
                                   .token = asked->bearer.token,
                                   .now = mcpi_guard_now(guard)};
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    const char *fault;
    bool wants_nonce;

    fault = proof_fault(guard, asked->bearer.proof, &what, thumbprint, jti,
                        &wants_nonce);
    if (!fault && strcmp(thumbprint, key) != 0)
        fault = "the proof is of another key";
    if (!fault)
        return proof_is_new(guard, principal, jti, what.now, ret_refusal);
    *ret_refusal = wants_nonce ? without_nonce : refusal_of(fault);
    return false;
}

/* Where clients think they are: behind a proxy that is another place than we are at. */
static bool
proof_check_here(const mcp_guard *guard, const struct mcpi_asked *asked,
                 const char *principal, const char *key,
                 struct mcpi_refusal *ret_refusal)
{
    struct mcpi_buf url;
    bool good = false;

    mcpi_buf_init(&url, guard->mem, MCPI_BEARER_TOKEN_MAX);
    mcpi_buf_text(&url, guard->settings->origin);
    mcpi_buf_append(&url, asked->path, strcspn(asked->path, "?#"));
    mcpi_buf_append(&url, "", 1);
    if (url.status < 0)
        *ret_refusal = mcpi_refusal_later;
    else
        good = proof_check(guard, asked, url.data, principal, key, ret_refusal);
    mcpi_buf_done(&url);
    return good;
}

bool
mcpi_binding_check(const mcp_guard *guard, const struct mcpi_asked *asked,
                   const char *principal, const char *key,
                   struct mcpi_refusal *ret_refusal)
{
    bool says_bound = asked->bearer.scheme == MCPI_BEARER_DPOP;

    if (!key && (guard->settings->opt.dpop_only || says_bound))
        *ret_refusal = unbound;
    else if (key && !says_bound)
        *ret_refusal = bare;
    else if (key && asked->bearer.proofs != 1)
        *ret_refusal = mcpi_refusal_proof("one proof is needed");
    else
        return !key || proof_check_here(guard, asked, principal, key, ret_refusal);
    return false;
}
