/* key_write.c - keys as JSON (RFC 7517): written; and their thumbprints (RFC 7638) */
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <string.h>

#include "auth/key_inside.h"
#include "base/base64.h"

#define CURVE MCPI_KEY_CURVE_BYTES

/* What is around the numbers: names, quotes, braces. */
#define FRAME_MAX 160
/* A public key as text: a modulus, an exponent, or two coordinates. */
#define PUBLIC_MAX (MCPI_KEY_SIGNATURE_MAX / 3 * 4 + FRAME_MAX)

/* ---- members ----------------------------------------------------------------- */

static void
member_write(struct mcpi_buf *into, const char *name, const void *bytes, size_t len)
{
    mcpi_buf_text(into, name);
    mcpi_base64url_write(into, bytes, len);
    MCPI_BUF_LITERAL(into, "\"");
}

/* A number of fixed width; 0: of as many bytes as it needs. False: there is none. */
static bool
number_write(const struct mcpi_key *key, const char *param, size_t width,
             const char *name, struct mcpi_buf *into)
{
    unsigned char bytes[MCPI_KEY_SIGNATURE_MAX];
    BIGNUM *number = NULL;
    int len;

    if (EVP_PKEY_get_bn_param(key->pkey, param, &number) != 1)
        return false;
    len = width ? (int)width : BN_num_bytes(number);
    len = len <= (int)sizeof(bytes) ? BN_bn2binpad(number, bytes, len) : -1;
    BN_clear_free(number);
    if (len < 0)
        return false;
    member_write(into, name, bytes, (size_t)len);
    explicit_bzero(bytes, (size_t)len);
    return true;
}

typedef int raw_fn(const EVP_PKEY *pkey, unsigned char *bytes, size_t *len);

static bool
raw_write(const struct mcpi_key *key, raw_fn *get, const char *name,
          struct mcpi_buf *into)
{
    unsigned char bytes[CURVE];
    size_t len = sizeof(bytes);

    if (get(key->pkey, bytes, &len) != 1)
        return false;
    member_write(into, name, bytes, len);
    explicit_bzero(bytes, sizeof(bytes));
    return true;
}

/* ---- both halves; braces are the caller's ------------------------------------ */

static bool
public_write(const struct mcpi_key *key, struct mcpi_buf *into)
{
    switch (key->kind) {
    case MCPI_KEY_RSA:
        return number_write(key, OSSL_PKEY_PARAM_RSA_E, 0, "\"e\":\"", into) &&
               number_write(key, OSSL_PKEY_PARAM_RSA_N, 0, ",\"kty\":\"RSA\",\"n\":\"",
                            into);
    case MCPI_KEY_P256:
        return number_write(key, OSSL_PKEY_PARAM_EC_PUB_X, CURVE,
                            "\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"", into) &&
               number_write(key, OSSL_PKEY_PARAM_EC_PUB_Y, CURVE, ",\"y\":\"", into);
    case MCPI_KEY_ED25519:
        break;
    }
    return raw_write(key, EVP_PKEY_get_raw_public_key,
                     "\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"", into);
}

/* One that came without its primes is written without. */
static bool
rsa_write_private(const struct mcpi_key *key, struct mcpi_buf *into)
{
    if (!number_write(key, OSSL_PKEY_PARAM_RSA_D, 0, ",\"d\":\"", into))
        return false;
    if (!number_write(key, OSSL_PKEY_PARAM_RSA_FACTOR1, 0, ",\"p\":\"", into))
        return true;
    return number_write(key, OSSL_PKEY_PARAM_RSA_FACTOR2, 0, ",\"q\":\"", into) &&
           number_write(key, OSSL_PKEY_PARAM_RSA_EXPONENT1, 0, ",\"dp\":\"", into) &&
           number_write(key, OSSL_PKEY_PARAM_RSA_EXPONENT2, 0, ",\"dq\":\"", into) &&
           number_write(key, OSSL_PKEY_PARAM_RSA_COEFFICIENT1, 0, ",\"qi\":\"", into);
}

static bool
private_write(const struct mcpi_key *key, struct mcpi_buf *into)
{
    switch (key->kind) {
    case MCPI_KEY_RSA:
        return rsa_write_private(key, into);
    case MCPI_KEY_P256:
        return number_write(key, OSSL_PKEY_PARAM_PRIV_KEY, CURVE, ",\"d\":\"", into);
    case MCPI_KEY_ED25519:
        break;
    }
    return raw_write(key, EVP_PKEY_get_raw_private_key, ",\"d\":\"", into);
}

/* Room for all of it at once: a buffer that grew would leave copies of the secret in the
 * heap. RSA has two numbers as long as a signature, and five of half that. */
static void
room_make(const struct mcpi_key *key, struct mcpi_buf *into)
{
    size_t bytes = key->kind == MCPI_KEY_RSA ? 5 * (size_t)EVP_PKEY_get_size(key->pkey)
                                             : (size_t)3 * CURVE;

    (void)mcpi_buf_reserve(into, bytes * 4 / 3 + FRAME_MAX); /* fails by its status */
}

int
mcpi_key_write(const struct mcpi_key *key, bool secret, struct mcpi_buf *into)
{
    size_t before = into->len;
    bool made;

    if (secret && !key->is_private)
        return MCP_E_STATE;
    if (secret)
        room_make(key, into);
    (void)ERR_set_mark();
    mcpi_buf_char(into, '{');
    made = public_write(key, into) && (!secret || private_write(key, into));
    mcpi_buf_char(into, '}');
    (void)ERR_pop_to_mark();
    if (made && into->status == 0)
        return 0;
    if (into->len > before)
        explicit_bzero(into->data + before, into->len - before);
    mcpi_buf_truncate(into, before);
    return into->status < 0 ? into->status : MCP_E_NOMEM;
}

int
mcpi_key_thumbprint(const struct mcpi_key *key, char *ret_text)
{
    char text[PUBLIC_MAX];
    struct mcpi_buf buf = mcpi_buf_over(text, sizeof(text));
    int r = mcpi_key_write(key, false, &buf);

    return r < 0 ? r : mcpi_sha256_text(text, buf.len, ret_text);
}
