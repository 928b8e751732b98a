/*
 * key_sign.c - signatures as JWS has them (RFC 7518, RFC 8037): made and checked
 *
 * OpenSSL writes a signature of ECDSA as DER, JWS as two numbers of fixed length.
 */
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <string.h>

#include "auth/key_inside.h"

#define CURVE MCPI_KEY_CURVE_BYTES
/* Two integers of 33 bytes, each with its head, and the head of both. */
#define DER_MAX (2 + 2 * (2 + CURVE + 1))

/* Ed25519 hashes by itself. */
static const char *
key_digest(const struct mcpi_key *key)
{
    return key->kind == MCPI_KEY_ED25519 ? NULL : "SHA256";
}

/* ---- DER and back ------------------------------------------------------------ */

static bool
numbers_from_der(const unsigned char *der, size_t len,
                 unsigned char ret_bytes[2 * CURVE])
{
    ECDSA_SIG *numbers = d2i_ECDSA_SIG(NULL, &der, (long)len);
    bool made = numbers &&
                BN_bn2binpad(ECDSA_SIG_get0_r(numbers), ret_bytes, CURVE) == CURVE &&
                BN_bn2binpad(ECDSA_SIG_get0_s(numbers), ret_bytes + CURVE, CURVE) ==
                    CURVE;

    ECDSA_SIG_free(numbers);
    return made;
}

static ECDSA_SIG *
numbers_read(const unsigned char bytes[2 * CURVE])
{
    ECDSA_SIG *numbers = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes, CURVE, NULL);
    BIGNUM *s = BN_bin2bn(bytes + CURVE, CURVE, NULL);

    if (numbers && r && s && ECDSA_SIG_set0(numbers, r, s) == 1)
        return numbers;
    ECDSA_SIG_free(numbers);
    BN_free(r);
    BN_free(s);
    return NULL;
}

/* Returns the length; 0: no memory. */
static size_t
numbers_to_der(const unsigned char bytes[2 * CURVE], unsigned char ret_der[DER_MAX])
{
    ECDSA_SIG *numbers = numbers_read(bytes);
    int len = numbers ? i2d_ECDSA_SIG(numbers, &ret_der) : 0;

    ECDSA_SIG_free(numbers);
    return len > 0 ? (size_t)len : 0;
}

/* ---- made -------------------------------------------------------------------- */

/* As OpenSSL has it. len: the room, and what was used of it. */
static bool
sign_raw(const struct mcpi_key *key, const void *data, size_t data_len,
         unsigned char *bytes, size_t *len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool made = ctx &&
                EVP_DigestSignInit_ex(ctx, NULL, key_digest(key), NULL, NULL, key->pkey,
                                      NULL) == 1 &&
                EVP_DigestSign(ctx, bytes, len, data, data_len) == 1;

    EVP_MD_CTX_free(ctx);
    return made;
}

int
mcpi_key_sign(const struct mcpi_key *key, const void *data, size_t len,
              struct mcpi_buf *into)
{
    unsigned char bytes[MCPI_KEY_SIGNATURE_MAX], numbers[2 * CURVE];
    size_t used = sizeof(bytes);
    bool made;

    if (!key->is_private)
        return MCP_E_STATE;
    (void)ERR_set_mark();
    made = sign_raw(key, data, len, bytes, &used);
    if (made && key->kind == MCPI_KEY_P256) {
        made = numbers_from_der(bytes, used, numbers);
        used = sizeof(numbers);
        memcpy(bytes, numbers, sizeof(numbers));
    }
    (void)ERR_pop_to_mark();
    if (!made)
        return MCP_E_NOMEM;
    mcpi_buf_append(into, bytes, used);
    return into->status;
}

/* ---- checked ----------------------------------------------------------------- */

static size_t
signature_bytes(const struct mcpi_key *key)
{
    return key->kind == MCPI_KEY_RSA ? (size_t)EVP_PKEY_get_size(key->pkey)
                                     : (size_t)2 * CURVE;
}

static bool
verify_raw(const struct mcpi_key *key, const void *data, size_t data_len,
           const unsigned char *signature, size_t len)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool good = ctx &&
                EVP_DigestVerifyInit_ex(ctx, NULL, key_digest(key), NULL, NULL,
                                        key->pkey, NULL) == 1 &&
                EVP_DigestVerify(ctx, signature, len, data, data_len) == 1;

    EVP_MD_CTX_free(ctx);
    return good;
}

bool
mcpi_key_verify(const struct mcpi_key *key, const void *data, size_t len,
                const void *signature, size_t signature_len)
{
    const unsigned char *bytes = signature;
    unsigned char der[DER_MAX];
    bool good;

    if (signature_len != signature_bytes(key))
        return false;
    (void)ERR_set_mark();
    if (key->kind == MCPI_KEY_P256) {
        signature_len = numbers_to_der(bytes, der);
        bytes = der;
    }
    good = signature_len > 0 && verify_raw(key, data, len, bytes, signature_len);
    (void)ERR_pop_to_mark();
    return good;
}
