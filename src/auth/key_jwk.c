/*
 * key_jwk.c - keys as JSON (RFC 7517, 7518, 8037): read
 *
 * A private key passes through an array on the stack, which is wiped. What OpenSSL and the
 * JSON have of it is theirs to wipe, and the owner's of the JSON.
 */
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <string.h>

#include "auth/key_inside.h"
#include "base/base64.h"
#include "json/value.h"

#define CURVE MCPI_KEY_CURVE_BYTES

/* The eight numbers of RSA, the longest at its longest; some write a zero before it. */
#define NUMBERS 8
#define BYTES_MAX (NUMBERS * (MCPI_KEY_SIGNATURE_MAX + 8))

struct parts {
    const mcp_json *jwk;
    bool is_private;
    OSSL_PARAM params[NUMBERS + 1];
    size_t count;
    size_t used; /* of: */
    unsigned char bytes[BYTES_MAX];
};

/* ---- what it is for ---------------------------------------------------------- */

static bool
has_element(const mcp_json *list, const char *text)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(list); mcp_json_next(&it);) {
        if (mcp_json_is_string(it.value, text))
            return true;
    }
    return false;
}

/* A member that is not there says nothing. */
static bool
is_or_absent(const mcp_json *jwk, const char *name, const char *text)
{
    const mcp_json *value = mcp_json_get(jwk, name);

    return !value || mcp_json_is_string(value, text);
}

static bool
jwk_is_for_signatures(const mcp_json *jwk, bool is_private)
{
    const mcp_json *ops = mcp_json_get(jwk, "key_ops");

    return is_or_absent(jwk, "use", "sig") &&
           (!ops || (mcp_json_get_type(ops) == MCP_JSON_ARRAY &&
                     has_element(ops, is_private ? "sign" : "verify")));
}

/* NULL: it is no name. */
static const char *
jwk_id(const mcp_json *jwk)
{
    const mcp_json *kid = mcp_json_get(jwk, "kid");
    const char *text = mcp_json_string(kid, NULL);

    if (!kid)
        return "";
    return text && strlen(text) == mcp_json_string_length(kid) ? text : NULL;
}

/* ---- its parts --------------------------------------------------------------- */

/* Decode a member behind those before it. */
static int
parts_bytes(struct parts *parts, const char *name, unsigned char **ret_at,
            size_t *ret_len)
{
    const mcp_json *value = mcp_json_get(parts->jwk, name);
    const char *text = mcp_json_string(value, NULL);
    unsigned char *at = parts->bytes + parts->used;
    struct mcpi_buf buf = mcpi_buf_over(at, sizeof(parts->bytes) - parts->used);

    if (!text || mcpi_base64url_read(&buf, text, mcp_json_string_length(value)) < 0 ||
        buf.len == 0)
        return MCP_E_INVAL;
    parts->used += buf.len;
    *ret_at = at;
    *ret_len = buf.len;
    return 0;
}

/* RFC 7518, 6.2.1.2: of full length, with its zeros. */
static int
parts_curve_bytes(struct parts *parts, const char *name, unsigned char **ret_at)
{
    size_t len;
    int r = parts_bytes(parts, name, ret_at, &len);

    return r == 0 && len != CURVE ? MCP_E_INVAL : r;
}

/* Numbers go to OpenSSL in the order that the machine has them in. None of a key is longer
 * than its signature, whatever stands there. */
static int
bytes_to_native(unsigned char *bytes, size_t len)
{
    BIGNUM *number = BN_bin2bn(bytes, (int)len, NULL);
    int r = number && BN_bn2nativepad(number, bytes, (int)len) > 0 ? 0 : MCP_E_NOMEM;

    if (number && BN_num_bytes(number) > MCPI_KEY_SIGNATURE_MAX)
        r = MCP_E_INVAL;
    BN_clear_free(number);
    return r;
}

static void
parts_add(struct parts *parts, OSSL_PARAM param)
{
    parts->params[parts->count++] = param;
    parts->params[parts->count] = OSSL_PARAM_construct_end();
}

static int
parts_number(struct parts *parts, const char *name, const char *param)
{
    unsigned char *at;
    size_t len;
    int r = parts_bytes(parts, name, &at, &len);

    if (r == 0)
        r = bytes_to_native(at, len);
    if (r == 0)
        parts_add(parts, OSSL_PARAM_construct_BN(param, at, len));
    return r;
}

static int
parts_make(struct parts *parts, const char *type, EVP_PKEY **ret_pkey)
{
    int what = parts->is_private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    int r = MCP_E_INVAL;

    if (!ctx)
        return MCP_E_NOMEM;
    if (EVP_PKEY_fromdata_init(ctx) == 1 &&
        EVP_PKEY_fromdata(ctx, ret_pkey, what, parts->params) == 1)
        r = 0;
    EVP_PKEY_CTX_free(ctx);
    return r;
}

/* ---- each kind --------------------------------------------------------------- */

/* RFC 7518, 6.3.2: who has one of these has all; and more than two primes are none of
 * ours. */
static int
rsa_read_primes(struct parts *parts)
{
    static const char *const names[][2] = {
        {"p", OSSL_PKEY_PARAM_RSA_FACTOR1},       {"q", OSSL_PKEY_PARAM_RSA_FACTOR2},
        {"dp", OSSL_PKEY_PARAM_RSA_EXPONENT1},    {"dq", OSSL_PKEY_PARAM_RSA_EXPONENT2},
        {"qi", OSSL_PKEY_PARAM_RSA_COEFFICIENT1},
    };
    bool any = false;
    int r = mcp_json_get(parts->jwk, "oth") ? MCP_E_INVAL : 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        any = any || mcp_json_get(parts->jwk, names[i][0]);
    for (size_t i = 0; any && r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
        r = parts_number(parts, names[i][0], names[i][1]);
    return r;
}

static int
rsa_read(struct parts *parts, EVP_PKEY **ret_pkey)
{
    int r = parts_number(parts, "n", OSSL_PKEY_PARAM_RSA_N);

    if (r == 0)
        r = parts_number(parts, "e", OSSL_PKEY_PARAM_RSA_E);
    if (r == 0 && parts->is_private)
        r = parts_number(parts, "d", OSSL_PKEY_PARAM_RSA_D);
    if (r == 0 && parts->is_private)
        r = rsa_read_primes(parts);
    return r < 0 ? r : parts_make(parts, "RSA", ret_pkey);
}

/* The form of a point that is not compressed. */
static int
p256_read_point(struct parts *parts)
{
    unsigned char *point = parts->bytes + parts->used, *at;
    int r;

    parts->bytes[parts->used++] = POINT_CONVERSION_UNCOMPRESSED;
    r = parts_curve_bytes(parts, "x", &at);
    if (r == 0)
        r = parts_curve_bytes(parts, "y", &at);
    if (r == 0)
        parts_add(parts, OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY,
                                                           point, 1 + 2 * CURVE));
    return r;
}

/* Is the point on the curve, and another than infinity? */
static bool
point_is_sound(EVP_PKEY *pkey)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_pkey(NULL, pkey, NULL);
    bool sound = ctx && EVP_PKEY_public_check_quick(ctx) == 1;

    EVP_PKEY_CTX_free(ctx);
    return sound;
}

static int
p256_read(struct parts *parts, EVP_PKEY **ret_pkey)
{
    char curve[] = "P-256";
    unsigned char *at;
    int r = p256_read_point(parts);

    parts_add(parts, OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, curve,
                                                      sizeof(curve) - 1));
    if (r == 0 && parts->is_private) {
        r = parts_curve_bytes(parts, "d", &at);
        if (r == 0)
            r = bytes_to_native(at, CURVE);
        if (r == 0)
            parts_add(parts,
                      OSSL_PARAM_construct_BN(OSSL_PKEY_PARAM_PRIV_KEY, at, CURVE));
    }
    if (r == 0)
        r = parts_make(parts, "EC", ret_pkey);
    return r == 0 && !point_is_sound(*ret_pkey) ? MCP_E_INVAL : r;
}

/* OpenSSL makes the public half of the private one; it must be the one that stands
 * there. */
static int
ed25519_read_private(struct parts *parts, const unsigned char *x, EVP_PKEY **ret_pkey)
{
    unsigned char made[CURVE], *d;
    size_t len = sizeof(made);
    int r = parts_curve_bytes(parts, "d", &d);

    if (r < 0)
        return r;
    *ret_pkey = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, d, CURVE);
    if (!*ret_pkey || EVP_PKEY_get_raw_public_key(*ret_pkey, made, &len) != 1)
        return MCP_E_NOMEM;
    return CRYPTO_memcmp(made, x, CURVE) == 0 ? 0 : MCP_E_INVAL;
}

static int
ed25519_read(struct parts *parts, EVP_PKEY **ret_pkey)
{
    unsigned char *x;
    int r = parts_curve_bytes(parts, "x", &x);

    if (r < 0)
        return r;
    if (parts->is_private)
        return ed25519_read_private(parts, x, ret_pkey);
    *ret_pkey = EVP_PKEY_new_raw_public_key_ex(NULL, "ED25519", NULL, x, CURVE);
    return *ret_pkey ? 0 : MCP_E_NOMEM;
}

/* ---- all of it --------------------------------------------------------------- */

struct kind {
    const char *kty, *crv, *alg;
    int (*read)(struct parts *parts, EVP_PKEY **ret_pkey);
};

static const struct kind kinds[] = {
    {"RSA", NULL, "RS256", rsa_read},
    {"EC", "P-256", "ES256", p256_read},
    {"OKP", "Ed25519", "EdDSA", ed25519_read},
};

static const struct kind *
kind_find(const mcp_json *jwk)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (mcp_json_is_string(mcp_json_get(jwk, "kty"), kinds[i].kty) &&
            (!kinds[i].crv ||
             mcp_json_is_string(mcp_json_get(jwk, "crv"), kinds[i].crv)))
            return &kinds[i];
    }
    return NULL;
}

static int
jwk_read(const mcp_json *jwk, const struct kind *kind, bool is_private,
         EVP_PKEY **ret_pkey)
{
    struct parts parts;
    int r;

    parts.jwk = jwk;
    parts.is_private = is_private;
    parts.count = 0;
    parts.used = 0;
    r = kind->read(&parts, ret_pkey);
    explicit_bzero(parts.bytes, parts.used);
    return r;
}

int
mcpi_key_from_jwk(const mcp_allocator *mem, const mcp_json *jwk,
                  struct mcpi_key **ret_key)
{
    const struct kind *kind = kind_find(jwk);
    bool is_private = mcp_json_get(jwk, "d") != NULL;
    const char *id = jwk_id(jwk);
    EVP_PKEY *pkey = NULL;
    int r;

    if (!kind || !id || mcpi_json_has_duplicates(jwk) ||
        !is_or_absent(jwk, "alg", kind->alg) || !jwk_is_for_signatures(jwk, is_private))
        return MCP_E_INVAL;
    (void)ERR_set_mark();
    r = jwk_read(jwk, kind, is_private, &pkey);
    if (r == 0)
        r = mcpi_key_adopt(mem, pkey, is_private, id, ret_key);
    if (r < 0)
        EVP_PKEY_free(pkey);
    (void)ERR_pop_to_mark();
    return r;
}
