/* key_sign_test.c - signatures: those of the standards, and those that must not pass */
#include <openssl/crypto.h>

#include "auth/key_fixture.h"

#define SIGNATURE_MAX 1024

struct vector {
    const char *public, *private, *text, *signature;
    bool same_each_time;
};

static const struct vector vectors[] = {
    {RSA_PUBLIC, RSA_PRIVATE, JWS_RSA_TEXT, JWS_RSA_SIGNATURE, true},
    {EC_PUBLIC, EC_PRIVATE, JWS_EC_TEXT, JWS_EC_SIGNATURE, false},
    {ED_PUBLIC, ED_PRIVATE, JWS_ED_TEXT, JWS_ED_SIGNATURE, true},
};

#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

static void
signatures_of_the_standards_are_good(void **state)
{
    unsigned char bytes[SIGNATURE_MAX];
    struct mcpi_key *key;
    size_t len;

    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        const char *text = vectors[i].text;

        key = key_of(vectors[i].public);
        len = unbase64(vectors[i].signature, bytes, sizeof(bytes));
        assert_true(mcpi_key_verify(key, text, strlen(text), bytes, len));
        assert_false(mcpi_key_verify(key, text, strlen(text) - 1, bytes, len));
        assert_false(mcpi_key_verify(key, "", 0, bytes, len));
        mcpi_key_unref(key);
    }
}

static void
what_is_signed_is_good(void **state)
{
    unsigned char bytes[SIGNATURE_MAX];
    struct mcpi_key *public, *private;
    struct mcpi_buf buf;
    size_t len;

    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        const char *text = vectors[i].text;

        public = key_of(vectors[i].public);
        private = key_of(vectors[i].private);
        mcpi_buf_init(&buf, NULL, SIGNATURE_MAX);
        assert_int_equal(mcpi_key_sign(private, text, strlen(text), &buf), 0);
        assert_true(mcpi_key_verify(public, text, strlen(text), buf.data, buf.len));
        len = unbase64(vectors[i].signature, bytes, sizeof(bytes));
        assert_int_equal(buf.len, len);
        assert_int_equal(CRYPTO_memcmp(buf.data, bytes, len) == 0,
                         vectors[i].same_each_time);
        mcpi_buf_done(&buf);
        mcpi_key_unref(public);
        mcpi_key_unref(private);
    }
}

/* r and s are 32 bytes whatever their value: of some hundred, some begin with zeros. */
static void
signatures_of_ecdsa_have_64_bytes(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, SIGNATURE_MAX);
    for (int i = 0; i < 600; i++) {
        mcpi_buf_clear(&buf);
        assert_int_equal(mcpi_key_sign(key, &i, sizeof(i), &buf), 0);
        assert_int_equal(buf.len, 64);
        assert_true(mcpi_key_verify(key, &i, sizeof(i), buf.data, buf.len));
    }
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

static void
a_public_key_signs_nothing(void **state)
{
    struct mcpi_key *key;
    struct mcpi_buf buf;

    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        key = key_of(vectors[i].public);
        mcpi_buf_init(&buf, NULL, SIGNATURE_MAX);
        assert_int_equal(mcpi_key_sign(key, "x", 1, &buf), MCP_E_STATE);
        assert_int_equal(buf.len, 0);
        mcpi_buf_done(&buf);
        mcpi_key_unref(key);
    }
}

/* ---- what must not pass -------------------------------------------------------- */

static void
one_bit_anywhere_and_it_is_bad(void **state)
{
    unsigned char bytes[SIGNATURE_MAX];
    struct mcpi_key *key;
    size_t len;

    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        const char *text = vectors[i].text;

        key = key_of(vectors[i].public);
        len = unbase64(vectors[i].signature, bytes, sizeof(bytes));
        for (size_t at = 0; at < len; at++) {
            bytes[at] ^= (unsigned char)(1 << at % 8);
            assert_false(mcpi_key_verify(key, text, strlen(text), bytes, len));
            bytes[at] ^= (unsigned char)(1 << at % 8);
        }
        mcpi_key_unref(key);
    }
}

static void
signatures_of_other_lengths_are_bad(void **state)
{
    unsigned char bytes[SIGNATURE_MAX + 2] = {0};
    struct mcpi_key *key;
    size_t len;

    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        const char *text = vectors[i].text;

        key = key_of(vectors[i].public);
        len = unbase64(vectors[i].signature, bytes + 1, SIGNATURE_MAX);
        assert_true(mcpi_key_verify(key, text, strlen(text), bytes + 1, len));
        assert_false(mcpi_key_verify(key, text, strlen(text), bytes, len + 1));
        assert_false(mcpi_key_verify(key, text, strlen(text), bytes + 1, len + 1));
        assert_false(mcpi_key_verify(key, text, strlen(text), bytes + 1, len - 1));
        assert_false(mcpi_key_verify(key, text, strlen(text), bytes + 1, 0));
        assert_false(mcpi_key_verify(key, text, strlen(text), NULL, 0));
        mcpi_key_unref(key);
    }
}

static void
keys_of_one_kind_do_not_pass_for_another(void **state)
{
    unsigned char bytes[SIGNATURE_MAX];
    struct mcpi_key *key;
    size_t len;

    (void)state;
    for (size_t i = 0; i < VECTORS; i++) {
        key = key_of(vectors[i].public);
        for (size_t j = 0; j < VECTORS; j++) {
            const char *text = vectors[j].text;

            len = unbase64(vectors[j].signature, bytes, sizeof(bytes));
            assert_int_equal(mcpi_key_verify(key, text, strlen(text), bytes, len),
                             i == j);
        }
        mcpi_key_unref(key);
    }
}

/* The order of P-256, which r and s must be below. */
static const unsigned char order[32] = {0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00,
                                        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                        0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84,
                                        0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};

static void
ecdsa_of_zeros_or_beyond_the_order_is_bad(void **state)
{
    struct mcpi_key *key = key_of(EC_PUBLIC);
    unsigned char bytes[64];

    (void)state;
    for (int what = 0; what < 8; what++) {
        (void)unbase64(JWS_EC_SIGNATURE, bytes, sizeof(bytes));
        if (what & 1)
            memset(bytes, 0, 32);
        if (what & 2)
            memset(bytes + 32, 0, 32);
        if (what & 4)
            memcpy(bytes + (what & 1 ? 32 : 0), order, 32);
        assert_int_equal(mcpi_key_verify(key, JWS_EC_TEXT, strlen(JWS_EC_TEXT), bytes,
                                         sizeof(bytes)),
                         what == 0);
    }
    memset(bytes, 0xff, sizeof(bytes));
    assert_false(mcpi_key_verify(key, "x", 1, bytes, sizeof(bytes)));
    mcpi_key_unref(key);
}

/* The same numbers, as everybody but JWS writes them. */
static void
ecdsa_as_der_is_bad(void **state)
{
    struct mcpi_key *key = key_of(EC_PUBLIC);
    unsigned char der[72], raw[64];
    size_t len = 0;

    (void)state;
    (void)unbase64(JWS_EC_SIGNATURE, raw, sizeof(raw));
    der[len++] = 0x30;
    der[len++] = 69; /* s begins with a set bit, r does not */
    der[len++] = 0x02;
    der[len++] = 32;
    memcpy(der + len, raw, 32);
    len += 32;
    der[len++] = 0x02;
    der[len++] = 33;
    der[len++] = 0;
    memcpy(der + len, raw + 32, 32);
    len += 32;
    assert_int_equal(len, 71);
    assert_true(raw[0] < 0x80 && raw[32] >= 0x80);
    assert_false(mcpi_key_verify(key, JWS_EC_TEXT, strlen(JWS_EC_TEXT), der, len));
    assert_false(mcpi_key_verify(key, JWS_EC_TEXT, strlen(JWS_EC_TEXT), der, 64));
    mcpi_key_unref(key);
}

static void
a_full_buffer_is_a_limit(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 63);
    assert_int_equal(mcpi_key_sign(key, "x", 1, &buf), MCP_E_LIMIT);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, &mem->allocator, SIGNATURE_MAX);
    r = mcpi_key_sign(user, "x", 1, &buf);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, key), 1);
    mcpi_key_unref(key);
}

TEST_MAIN(TEST(signatures_of_the_standards_are_good), TEST(what_is_signed_is_good),
          TEST(signatures_of_ecdsa_have_64_bytes), TEST(a_public_key_signs_nothing),
          TEST(one_bit_anywhere_and_it_is_bad),
          TEST(signatures_of_other_lengths_are_bad),
          TEST(keys_of_one_kind_do_not_pass_for_another),
          TEST(ecdsa_of_zeros_or_beyond_the_order_is_bad), TEST(ecdsa_as_der_is_bad),
          TEST(a_full_buffer_is_a_limit), TEST(each_allocation_may_fail))
