/* key.c - keys that sign and check: made, counted, and what they are */
#include "auth/key.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

#include "auth/key_inside.h"
#include "base/base64.h"
#include "base/mem.h"

/* Longest public exponent of RSA. All the world has 65537; a long one only makes every
 * check of a signature as slow as a signature. */
#define EXPONENT_BITS_MAX 64

#define SHA256_BYTES 32

/* ---- which are ours ---------------------------------------------------------- */

static bool
number_is(const EVP_PKEY *pkey, const char *name, bool (*check)(const BIGNUM *number))
{
    BIGNUM *number = NULL;
    bool is = EVP_PKEY_get_bn_param(pkey, name, &number) == 1 && check(number);

    BN_free(number);
    return is;
}

static bool
modulus_is_sound(const BIGNUM *n)
{
    return BN_is_odd(n) && BN_num_bits(n) >= MCPI_KEY_RSA_BITS_MIN &&
           BN_num_bits(n) <= MCPI_KEY_RSA_BITS_MAX;
}

/* With 1 everybody can sign, and an even one belongs to no key. */
static bool
exponent_is_sound(const BIGNUM *e)
{
    return BN_is_odd(e) && !BN_is_one(e) && BN_num_bits(e) <= EXPONENT_BITS_MAX;
}

static bool
number_is_there(const BIGNUM *number)
{
    return number != NULL;
}

/* Of three primes or more is none that we could write. */
static bool
rsa_is_sound(const EVP_PKEY *pkey)
{
    return number_is(pkey, OSSL_PKEY_PARAM_RSA_N, modulus_is_sound) &&
           number_is(pkey, OSSL_PKEY_PARAM_RSA_E, exponent_is_sound) &&
           !number_is(pkey, OSSL_PKEY_PARAM_RSA_FACTOR3, number_is_there);
}

static bool
curve_is_p256(const EVP_PKEY *pkey)
{
    char name[32];
    size_t len;

    return EVP_PKEY_get_group_name(pkey, name, sizeof(name), &len) == 1 &&
           (strcmp(name, "prime256v1") == 0 || strcmp(name, "P-256") == 0);
}

static bool
key_find_kind(struct mcpi_key *key)
{
    if (EVP_PKEY_is_a(key->pkey, "RSA")) {
        key->kind = MCPI_KEY_RSA;
        return rsa_is_sound(key->pkey);
    }
    if (EVP_PKEY_is_a(key->pkey, "EC")) {
        key->kind = MCPI_KEY_P256;
        return curve_is_p256(key->pkey);
    }
    key->kind = MCPI_KEY_ED25519;
    return EVP_PKEY_is_a(key->pkey, "ED25519");
}

/* Does it check what it signs? Else its halves are of two keys. */
static bool
key_is_whole(const struct mcpi_key *key)
{
    static const char text[] = "libmcp";
    char bytes[MCPI_KEY_SIGNATURE_MAX];
    struct mcpi_buf signature = mcpi_buf_over(bytes, sizeof(bytes));

    return !key->is_private ||
           (mcpi_key_sign(key, text, sizeof(text), &signature) == 0 &&
            mcpi_key_verify(key, text, sizeof(text), signature.data, signature.len));
}

int
mcpi_key_adopt(const mcp_allocator *mem, EVP_PKEY *take_pkey, bool is_private,
               const char *id, struct mcpi_key **ret_key)
{
    size_t id_size = strlen(id) + 1;
    struct mcpi_key *key;

    mem = mcpi_mem_or_malloc(mem);
    key = mcpi_alloc_zero(mem, sizeof(*key) + id_size);
    if (!key)
        return MCP_E_NOMEM;
    key->mem = mem;
    key->pkey = take_pkey;
    key->is_private = is_private;
    atomic_init(&key->refs, 1);
    memcpy(key->id, id, id_size);
    if (!key_find_kind(key) || !key_is_whole(key)) {
        mcpi_free(mem, key);
        return MCP_E_INVAL;
    }
    *ret_key = key;
    return 0;
}

/* ---- made and counted -------------------------------------------------------- */

int
mcpi_key_generate(const mcp_allocator *mem, struct mcpi_key **ret_key)
{
    EVP_PKEY *pkey;
    int r = MCP_E_NOMEM;

    (void)ERR_set_mark();
    pkey = EVP_EC_gen("P-256");
    if (pkey)
        r = mcpi_key_adopt(mem, pkey, true, "", ret_key);
    if (r < 0)
        EVP_PKEY_free(pkey);
    (void)ERR_pop_to_mark();
    return r;
}

/* A key with a password would be asked for on the terminal. */
static int
on_password(char *into, int size, int writing, void *user)
{
    (void)into, (void)size, (void)writing, (void)user;
    return -1;
}

static int
pem_read(const char *pem, EVP_PKEY **ret_pkey)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);

    if (!bio)
        return MCP_E_NOMEM;
    *ret_pkey = PEM_read_bio_PrivateKey(bio, NULL, on_password, NULL);
    BIO_free(bio);
    return *ret_pkey ? 0 : MCP_E_INVAL;
}

int
mcpi_key_from_pem(const mcp_allocator *mem, const char *pem, struct mcpi_key **ret_key)
{
    EVP_PKEY *pkey = NULL;
    int r;

    (void)ERR_set_mark();
    r = pem_read(pem, &pkey);
    if (r == 0)
        r = mcpi_key_adopt(mem, pkey, true, "", ret_key);
    if (r < 0)
        EVP_PKEY_free(pkey);
    (void)ERR_pop_to_mark();
    return r;
}

struct mcpi_key *
mcpi_key_ref(struct mcpi_key *key)
{
    atomic_fetch_add_explicit(&key->refs, 1, memory_order_relaxed);
    return key;
}

void
mcpi_key_unref(struct mcpi_key *key)
{
    if (!key || atomic_fetch_sub_explicit(&key->refs, 1, memory_order_acq_rel) > 1)
        return;
    EVP_PKEY_free(key->pkey);
    mcpi_free(key->mem, key);
}

/* ---- what it is -------------------------------------------------------------- */

const char *
mcpi_key_alg(const struct mcpi_key *key)
{
    static const char *const names[] = {
        [MCPI_KEY_RSA] = "RS256",
        [MCPI_KEY_P256] = "ES256",
        [MCPI_KEY_ED25519] = "EdDSA",
    };

    return names[key->kind];
}

const char *
mcpi_key_id(const struct mcpi_key *key)
{
    return key->id;
}

bool
mcpi_key_is_private(const struct mcpi_key *key)
{
    return key->is_private;
}

int
mcpi_sha256_text(const void *data, size_t len, char *ret_text)
{
    char text[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_buf buf = mcpi_buf_over(text, sizeof(text));
    unsigned char hash[SHA256_BYTES];
    size_t hash_len;
    int made;

    (void)ERR_set_mark();
    made = EVP_Q_digest(NULL, "SHA256", NULL, data, len, hash, &hash_len);
    (void)ERR_pop_to_mark();
    if (made != 1)
        return MCP_E_NOMEM;
    mcpi_base64url_write(&buf, hash, sizeof(hash));
    text[buf.len] = '\0';
    memcpy(ret_text, text, sizeof(text));
    return 0;
}
