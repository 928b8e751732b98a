/* key_test.c - keys: made, from PEM, counted; and what is none of ours */
#include "auth/key.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <pthread.h>

#include "auth/key_fixture.h"

/* ---- PEM of keys of all kinds -------------------------------------------------- */

struct pem {
    char text[16384];
};

/* Old: as before PKCS#8. */
static void
pem_write(EVP_PKEY *pkey, bool old, const EVP_CIPHER *cipher, struct pem *ret)
{
    BIO *bio = BIO_new(BIO_s_mem());
    int len;

    assert_non_null(pkey);
    if (old)
        assert_int_equal(
            PEM_write_bio_PrivateKey_traditional(bio, pkey, NULL, NULL, 0, NULL, NULL),
            1);
    else
        assert_int_equal(PEM_write_bio_PrivateKey(bio, pkey, cipher,
                                                  (const unsigned char *)"password",
                                                  cipher ? 8 : 0, NULL, NULL),
                         1);
    len = BIO_read(bio, ret->text, sizeof(ret->text) - 1);
    assert_true(len > 0);
    ret->text[len] = '\0';
    BIO_free(bio);
}

/* The key is freed. */
static int
pem_read(const mcp_allocator *mem, EVP_PKEY *pkey, bool old, struct mcpi_key **ret_key)
{
    struct pem pem;

    pem_write(pkey, old, NULL, &pem);
    EVP_PKEY_free(pkey);
    return mcpi_key_from_pem(mem, pem.text, ret_key);
}

static void
assert_pem(EVP_PKEY *pkey, bool old, const char *alg)
{
    struct mcpi_key *key = NULL;
    struct test_mem mem;

    test_mem_init(&mem);
    assert_int_equal(pem_read(&mem.allocator, pkey, old, &key), 0);
    assert_string_equal(mcpi_key_alg(key), alg);
    assert_true(mcpi_key_is_private(key));
    assert_string_equal(mcpi_key_id(key), "");
    mcpi_key_unref(key);
    test_mem_done(&mem);
}

static void
private_keys_of_three_kinds_are_read_from_pem(void **state)
{
    (void)state;
    assert_pem(EVP_RSA_gen(2048), false, "RS256");
    assert_pem(EVP_RSA_gen(2048), true, "RS256");
    assert_pem(EVP_EC_gen("P-256"), false, "ES256");
    assert_pem(EVP_EC_gen("P-256"), true, "ES256");
    assert_pem(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), false, "EdDSA");
}

static void
parameters_before_the_key_are_passed_over(void **state)
{
    static const char parameters[] = "-----BEGIN EC PARAMETERS-----\n"
                                     "BggqhkjOPQMBBw==\n"
                                     "-----END EC PARAMETERS-----\n";
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    struct mcpi_key *key = NULL;
    char both[2048];
    struct pem pem;

    (void)state;
    pem_write(pkey, true, NULL, &pem);
    EVP_PKEY_free(pkey);
    (void)snprintf(both, sizeof(both), "%s%.1024s", parameters, pem.text);
    assert_int_equal(mcpi_key_from_pem(NULL, both, &key), 0);
    mcpi_key_unref(key);
}

static void
assert_no_pem(EVP_PKEY *pkey)
{
    struct mcpi_key *key = NULL;

    assert_int_equal(pem_read(NULL, pkey, false, &key), MCP_E_INVAL);
    assert_null(key);
}

static EVP_PKEY *
rsa_with(const char *type, unsigned bits, BN_ULONG exponent, unsigned primes)
{
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    BIGNUM *e = BN_new();
    EVP_PKEY *pkey = NULL;

    assert_true(BN_set_word(e, exponent));
    assert_int_equal(EVP_PKEY_keygen_init(ctx), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, (int)bits), 1);
    assert_int_equal(EVP_PKEY_CTX_set1_rsa_keygen_pubexp(ctx, e), 1);
    assert_int_equal(EVP_PKEY_CTX_set_rsa_keygen_primes(ctx, (int)primes), 1);
    assert_int_equal(EVP_PKEY_generate(ctx, &pkey), 1);
    BN_free(e);
    EVP_PKEY_CTX_free(ctx);
    return pkey;
}

static void
keys_of_other_kinds_are_refused(void **state)
{
    (void)state;
    assert_no_pem(EVP_EC_gen("P-384"));
    assert_no_pem(EVP_EC_gen("secp256k1"));
    assert_no_pem(EVP_PKEY_Q_keygen(NULL, NULL, "ED448"));
    assert_no_pem(EVP_PKEY_Q_keygen(NULL, NULL, "X25519"));
    assert_no_pem(rsa_with("RSA-PSS", 2048, 65537, 2));
}

static void
rsa_too_small_or_of_three_primes_is_refused(void **state)
{
    (void)state;
    assert_no_pem(EVP_RSA_gen(1024));
    assert_no_pem(EVP_RSA_gen(2040));
    assert_no_pem(rsa_with("RSA", 2048, 65537, 3));
    assert_pem(rsa_with("RSA", 2048, 3, 2), false, "RS256");
}

/* ---- what is no key at all ----------------------------------------------------- */

static void
what_is_no_pem_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\n"
        "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
        "-----END PUBLIC KEY-----\n",
    };
    struct mcpi_key *key = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(mcpi_key_from_pem(NULL, bad[i], &key), MCP_E_INVAL);
    assert_null(key);
}

/* It would wait for the terminal, and the test for its time limit. */
static void
nobody_is_asked_for_a_password(void **state)
{
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    struct mcpi_key *key = NULL;
    struct pem pem;

    (void)state;
    pem_write(pkey, false, EVP_aes_128_cbc(), &pem);
    EVP_PKEY_free(pkey);
    assert_int_equal(mcpi_key_from_pem(NULL, pem.text, &key), MCP_E_INVAL);
}

static void
the_programs_errors_of_openssl_are_left_alone(void **state)
{
    struct mcpi_key *key = NULL;

    (void)state;
    ERR_raise(ERR_LIB_USER, 42);
    assert_int_equal(mcpi_key_from_pem(NULL, "x", &key), MCP_E_INVAL);
    assert_int_equal(key_read(NULL, "{'kty':'EC','crv':'P-256'}", &key), MCP_E_INVAL);
    assert_int_equal(ERR_GET_REASON(ERR_get_error()), 42);
    assert_int_equal(ERR_get_error(), 0);
}

/* ---- made ---------------------------------------------------------------------- */

static void
made_keys_are_private_ones_of_p256_and_differ(void **state)
{
    char prints[2][MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_key *key = NULL;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcpi_key_generate(NULL, &key), 0);
        assert_string_equal(mcpi_key_alg(key), "ES256");
        assert_true(mcpi_key_is_private(key));
        assert_int_equal(mcpi_key_thumbprint(key, prints[i]), 0);
        mcpi_key_unref(key);
    }
    assert_string_not_equal(prints[0], prints[1]);
}

static void *
use_often(void *user)
{
    struct mcpi_key *key = user;
    struct mcpi_buf buf;

    for (int i = 0; i < 20; i++) {
        mcpi_buf_init(&buf, NULL, 1024);
        (void)mcpi_key_sign(key, "text", 4, &buf);
        if (!mcpi_key_verify(key, "text", 4, buf.data, buf.len))
            abort();
        mcpi_buf_done(&buf);
    }
    mcpi_key_unref(key);
    return NULL;
}

static void
threads_share_a_key(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    pthread_t threads[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, use_often, mcpi_key_ref(key)), 0);
    mcpi_key_unref(key);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    mcpi_key_unref(NULL);
}

/* FIPS 180-4's example, and that of nothing. */
static void
sha256_is_written_as_base64url(void **state)
{
    char text[MCPI_KEY_THUMBPRINT_SIZE];

    (void)state;
    assert_int_equal(mcpi_sha256_text("abc", 3, text), 0);
    assert_string_equal(text, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
    assert_int_equal(mcpi_sha256_text("", 0, text), 0);
    assert_string_equal(text, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_key *key = NULL;
    int r = mcpi_key_generate(&mem->allocator, &key);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_key_unref(key);
    key = NULL;
    r = mcpi_key_from_pem(&mem->allocator, user, &key);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcpi_key_unref(key);
}

static void
each_allocation_may_fail(void **state)
{
    EVP_PKEY *pkey = EVP_EC_gen("P-256");
    struct pem pem;

    (void)state;
    pem_write(pkey, false, NULL, &pem);
    EVP_PKEY_free(pkey);
    assert_int_equal(test_each_allocation_fails(flow, pem.text), 2);
}

/* These make OpenSSL load more than the fixture does; it keeps that. */
static void
warm(int argc, char **argv)
{
    void *state = NULL;

    (void)argc, (void)argv;
    private_keys_of_three_kinds_are_read_from_pem(&state);
    keys_of_other_kinds_are_refused(&state);
    nobody_is_asked_for_a_password(&state);
    threads_share_a_key(&state);
}

TEST_MAIN_AFTER(warm, TEST(private_keys_of_three_kinds_are_read_from_pem),
                TEST(parameters_before_the_key_are_passed_over),
                TEST(keys_of_other_kinds_are_refused),
                TEST(rsa_too_small_or_of_three_primes_is_refused),
                TEST(what_is_no_pem_is_refused), TEST(nobody_is_asked_for_a_password),
                TEST(the_programs_errors_of_openssl_are_left_alone),
                TEST(made_keys_are_private_ones_of_p256_and_differ),
                TEST(threads_share_a_key), TEST(sha256_is_written_as_base64url),
                TEST(each_allocation_may_fail))
