/*
 * dpop.c - proofs that a request was made by who holds a key: written and judged
 *
 * What the proof says is looked at first, which costs little; then who signed it; and last
 * the nonce, so that a new one is given only to who lacks nothing else.
 */
#include "auth/dpop.h"

#include <openssl/crypto.h>
#include <string.h>

#include "auth/htu.h"
#include "base/base64.h"
#include "run/random.h"
#include "json/value.h"

#define TYP "dpop+jwt"

/* Of a jti of ours: more than RFC 9449, 4.2 asks for. */
#define JTI_BYTES 16
/* Longest jti that is taken: it is hashed anyway, but nobody needs a longer one. */
#define JTI_MAX 512
/* Of our claims: a URL, a nonce, and what has a fixed length. */
#define CLAIMS_MAX 16384

/* ---- written ----------------------------------------------------------------- */

static int
member_add(struct mcpi_buf *claims, const char *name, const char *text, size_t len)
{
    mcpi_buf_text(claims, name);
    return mcpi_json_write_string(claims, text, len);
}

static int
claims_write(const struct mcpi_dpop *what, struct mcpi_buf *claims)
{
    unsigned char jti[JTI_BYTES];
    char ath[MCPI_KEY_THUMBPRINT_SIZE];
    int r = mcpi_random(jti, sizeof(jti));

    MCPI_BUF_LITERAL(claims, "{\"jti\":\"");
    mcpi_base64url_write(claims, jti, sizeof(jti));
    MCPI_BUF_LITERAL(claims, "\",\"iat\":");
    mcpi_buf_int(claims, what->now);
    if (r == 0)
        r = member_add(claims, ",\"htm\":", what->method, strlen(what->method));
    if (r == 0)
        r = member_add(claims, ",\"htu\":", what->url,
                       mcpi_htu_length(what->url, strlen(what->url)));
    if (r == 0 && what->token) {
        r = mcpi_sha256_text(what->token, strlen(what->token), ath);
        if (r == 0)
            r = member_add(claims, ",\"ath\":", ath, sizeof(ath) - 1);
    }
    if (r == 0 && what->nonce && what->nonce[0])
        r = member_add(claims, ",\"nonce\":", what->nonce, strlen(what->nonce));
    mcpi_buf_char(claims, '}');
    return r < 0 ? r : claims->status;
}

int
mcpi_dpop_write(const struct mcpi_key *key, const struct mcpi_dpop *what,
                struct mcpi_buf *into)
{
    struct mcpi_jwt_make make = {.key = key, .typ = TYP, .with_key = true};
    struct mcpi_buf claims;
    int r;

    mcpi_buf_init(&claims, into->mem, CLAIMS_MAX);
    r = claims_write(what, &claims);
    make.claims = claims.data;
    make.claims_len = claims.len;
    if (r == 0)
        r = mcpi_jwt_write(&make, into);
    mcpi_buf_done(&claims);
    return r;
}

/* ---- what it says ------------------------------------------------------------ */

static bool
url_is(const mcp_json *htu, const char *url)
{
    const char *text = mcp_json_string(htu, NULL);

    return text && mcpi_htu_same(text, mcp_json_string_length(htu), url, strlen(url));
}

/* iat may be any number; only one that is near enough to our time is looked at further. */
static bool
time_is_near(const mcp_json *iat, int64_t now)
{
    double age = (double)now - mcp_json_number(iat, -1.0);
    enum mcp_json_type type = mcp_json_get_type(iat);

    return (type == MCP_JSON_INTEGER || type == MCP_JSON_REAL) &&
           age <= MCPI_DPOP_AGE_MAX && age >= -MCPI_DPOP_AGE_MAX;
}

static bool
jti_is_sound(const mcp_json *jti)
{
    size_t len = mcp_json_string_length(jti);

    return mcp_json_get_type(jti) == MCP_JSON_STRING && len > 0 && len <= JTI_MAX;
}

/* A string, compared in a time that tells nothing but its length. */
static bool
text_is(const mcp_json *value, const char *text)
{
    size_t len = strlen(text);

    return mcp_json_get_type(value) == MCP_JSON_STRING &&
           mcp_json_string_length(value) == len &&
           CRYPTO_memcmp(mcp_json_string(value, ""), text, len) == 0;
}

static bool
token_is(const mcp_json *ath, const char *token)
{
    char hash[MCPI_KEY_THUMBPRINT_SIZE];

    return mcpi_sha256_text(token, strlen(token), hash) == 0 && text_is(ath, hash);
}

static const char *
claims_fault(const mcp_json *claims, const struct mcpi_dpop *what)
{
    if (!mcp_json_is_string(mcp_json_get(claims, "htm"), what->method))
        return "the DPoP proof is for another method";
    if (!url_is(mcp_json_get(claims, "htu"), what->url))
        return "the DPoP proof is for another URL";
    if (!time_is_near(mcp_json_get(claims, "iat"), what->now))
        return "the DPoP proof is not of now";
    if (!jti_is_sound(mcp_json_get(claims, "jti")))
        return "the DPoP proof has no usable jti";
    if (what->token && !token_is(mcp_json_get(claims, "ath"), what->token))
        return "the DPoP proof is for another token";
    return NULL;
}

/* ---- who signed it ----------------------------------------------------------- */

/* RFC 9449, 4.3: the key in the header must not be a private one. */
static bool
key_is_disclosed(const mcp_json *jwk)
{
    static const char *const secrets[] = {"d", "p", "q", "dp", "dq", "qi", "oth", "k"};

    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
        if (mcp_json_get(jwk, secrets[i]))
            return true;
    }
    return false;
}

static const char *
signature_fault(const mcp_allocator *mem, const struct mcpi_jwt *jwt,
                char *ret_thumbprint)
{
    const mcp_json *jwk = mcp_json_get(jwt->head, "jwk");
    const char *fault = NULL;
    struct mcpi_key *key;
    int r;

    if (key_is_disclosed(jwk))
        return "the DPoP proof discloses a private key";
    r = mcpi_key_from_jwk(mem, jwk, &key);
    if (r < 0)
        return r == MCP_E_NOMEM ? mcp_status_text(r)
                                : "the DPoP proof has no key that can be used";
    if (!mcpi_jwt_is_signed_by(jwt, key))
        fault = "the DPoP proof is not signed by its key";
    else if (mcpi_key_thumbprint(key, ret_thumbprint) < 0)
        fault = mcp_status_text(MCP_E_NOMEM);
    mcpi_key_unref(key);
    return fault;
}

/* ---- all of it --------------------------------------------------------------- */

/* Two keys may well have the same jti. */
static int
jti_name(const mcp_json *jti, const char *thumbprint, char *ret_name)
{
    char text[MCPI_KEY_THUMBPRINT_SIZE + JTI_MAX];
    size_t len = mcp_json_string_length(jti);

    memcpy(text, thumbprint, MCPI_KEY_THUMBPRINT_SIZE);
    memcpy(text + MCPI_KEY_THUMBPRINT_SIZE, mcp_json_string(jti, ""), len);
    return mcpi_sha256_text(text, MCPI_KEY_THUMBPRINT_SIZE + len, ret_name);
}

static const char *
proof_fault(const mcp_allocator *mem, const struct mcpi_jwt *jwt,
            const struct mcpi_dpop *what, char *ret_thumbprint, char *ret_jti,
            bool *ret_wants_nonce)
{
    const char *fault;

    if (strcmp(jwt->typ, TYP) != 0)
        return "the DPoP proof is none by its type";
    fault = claims_fault(jwt->claims, what);
    if (!fault)
        fault = signature_fault(mem, jwt, ret_thumbprint);
    if (fault)
        return fault;
    if (what->nonce && what->nonce[0] &&
        !text_is(mcp_json_get(jwt->claims, "nonce"), what->nonce)) {
        *ret_wants_nonce = true;
        return "the DPoP proof has no nonce of ours";
    }
    if (jti_name(mcp_json_get(jwt->claims, "jti"), ret_thumbprint, ret_jti) < 0)
        return mcp_status_text(MCP_E_NOMEM);
    return NULL;
}

const char *
mcpi_dpop_fault(const mcp_allocator *mem, const char *proof,
                const struct mcpi_dpop *what, char *ret_thumbprint, char *ret_jti,
                bool *ret_wants_nonce)
{
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_jwt jwt;
    const char *fault;
    int r;

    *ret_wants_nonce = false;
    r = mcpi_jwt_read(mem, proof, strlen(proof), &jwt);
    if (r < 0)
        return r == MCP_E_NOMEM ? mcp_status_text(r)
                                : "the DPoP proof is no signed token";
    fault = proof_fault(mem, &jwt, what, thumbprint, jti, ret_wants_nonce);
    mcpi_jwt_done(&jwt);
    if (fault)
        return fault;
    memcpy(ret_thumbprint, thumbprint, sizeof(thumbprint));
    memcpy(ret_jti, jti, sizeof(jti));
    return NULL;
}
