/* access_token.c - a token that is a JWT: of an issuer that is trusted, and for us? */
#include "auth/access_token.h"

#include <string.h>

#include "base/text.h"

/* ---- what it says ------------------------------------------------------------ */

static bool
alg_is_ours(const char *alg)
{
    return strcmp(alg, "RS256") == 0 || strcmp(alg, "ES256") == 0 ||
           strcmp(alg, "EdDSA") == 0;
}

static bool
typ_is_at_jwt(const char *typ)
{
    return mcpi_text_same_letters(typ, "at+jwt") ||
           mcpi_text_same_letters(typ, "application/at+jwt");
}

/* What only ID tokens say (OpenID Connect Core, 2 and 3.3). */
static bool
claims_are_of_id_token(const mcp_json *claims)
{
    return mcp_json_get(claims, "nonce") || mcp_json_get(claims, "at_hash") ||
           mcp_json_get(claims, "c_hash");
}

/* Many issuers still write "JWT", or nothing; what says that it is something else, such as
 * a proof or an assertion, is no access token (RFC 9068, 4). */
static bool
is_access_token(const mcp_guard *guard, const struct mcpi_jwt *jwt)
{
    if (typ_is_at_jwt(jwt->typ))
        return true;
    if (guard->settings->opt.typed_only)
        return false;
    return (!*jwt->typ || mcpi_text_same_letters(jwt->typ, "JWT")) &&
           !claims_are_of_id_token(jwt->claims);
}

/* Which of the issuers; their number: none. */
static size_t
issuer_find(const mcp_guard *guard, const mcp_json *claims)
{
    const mcp_json *said = mcp_json_get(claims, "iss");
    size_t i = 0;

    while (i < guard->settings->issuer_count &&
           !mcp_json_is_string(said, guard->settings->opt.issuers[i]))
        i++;
    return i;
}

/* All but the signature. */
static const char *
claims_fault(const mcp_guard *guard, const struct mcpi_jwt *jwt, size_t issuer)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    struct mcpi_jwt_rules rules = {.audience = opt->audience,
                                   .now = mcpi_guard_now(guard),
                                   .leeway = opt->leeway_ms / 1000,
                                   .needs_expiry = true};

    if (!alg_is_ours(jwt->alg))
        return "the token is signed in a way that is not taken";
    if (!is_access_token(guard, jwt))
        return "this is no access token";
    if (issuer >= guard->settings->issuer_count)
        return "the token is not of an issuer that is trusted";
    rules.issuer = opt->issuers[issuer];
    return mcpi_jwt_fault(jwt, &rules);
}

/* ---- who signed it ----------------------------------------------------------- */

static struct mcpi_keys *
keys_get(const mcp_guard *guard, size_t issuer, struct mcpi_keyring_state *ret_state)
{
    *ret_state = (struct mcpi_keyring_state){.fresh = true};
    if (guard->fixed)
        return mcpi_keys_ref(guard->fixed);
    return mcpi_keyring_get(guard->rings[issuer], mcpi_guard_ticks(guard), ret_state);
}

static enum mcpi_access_verdict
signature_judge(const struct mcpi_keys *keys, const struct mcpi_jwt *jwt, bool may_wait,
                struct mcpi_refusal *ret_refusal)
{
    enum mcpi_keys_verdict verdict = mcpi_keys_check(keys, jwt);

    if (verdict == MCPI_KEYS_SIGNED)
        return MCPI_ACCESS_GOOD;
    if (verdict == MCPI_KEYS_UNKNOWN && may_wait)
        return MCPI_ACCESS_WAIT;
    *ret_refusal = mcpi_refusal_token("the token is not signed by its issuer");
    return MCPI_ACCESS_REFUSED;
}

static enum mcpi_access_verdict
signature_check(const mcp_guard *guard, const struct mcpi_jwt *jwt, size_t issuer,
                bool last, struct mcpi_refusal *ret_refusal)
{
    enum mcpi_access_verdict verdict = MCPI_ACCESS_REFUSED;
    struct mcpi_keyring_state state;
    struct mcpi_keys *keys = keys_get(guard, issuer, &state);
    bool may_wait = state.may_wait && !last;

    if (!state.fresh && may_wait) {
        if (!state.will_do) {
            mcpi_keys_unref(keys);
            return MCPI_ACCESS_WAIT;
        }
        mcpi_guard_renew(guard, issuer);
    }
    if (keys)
        verdict = signature_judge(keys, jwt, may_wait, ret_refusal);
    else
        *ret_refusal = mcpi_refusal_later;
    mcpi_keys_unref(keys);
    return verdict;
}

enum mcpi_access_verdict
mcpi_access_token_judge(const mcp_guard *guard, const struct mcpi_jwt *jwt, bool last,
                        struct mcpi_refusal *ret_refusal, size_t *ret_issuer)
{
    size_t issuer = issuer_find(guard, jwt->claims);
    const char *fault = claims_fault(guard, jwt, issuer);

    if (fault) {
        *ret_refusal = mcpi_refusal_token(fault);
        return MCPI_ACCESS_REFUSED;
    }
    *ret_issuer = issuer;
    return signature_check(guard, jwt, issuer, last, ret_refusal);
}
