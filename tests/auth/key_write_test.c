/* key_write_test.c - keys as JSON: written; and their thumbprints */
#include <openssl/evp.h>

#include "auth/key_fixture.h"

/* RFC 7638, 3.1. */
#define THUMB_N                                                                   \
    "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFx" \
    "uhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_" \
    "RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQv" \
    "RL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_" \
    "xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"

static void
assert_thumbprint(const char *jwk, const char *wanted)
{
    struct mcpi_key *key = key_of(jwk);
    char text[MCPI_KEY_THUMBPRINT_SIZE];

    assert_int_equal(mcpi_key_thumbprint(key, text), 0);
    assert_string_equal(text, wanted);
    mcpi_key_unref(key);
}

/* RFC 7638, 3.1; RFC 8037, A.3; RFC 9449, 6.1. */
static void
thumbprints_are_those_of_the_standards(void **state)
{
    (void)state;
    assert_thumbprint("{'kty':'RSA','n':'" THUMB_N
                      "','e':'AQAB','alg':'RS256','kid':'2011-04-29'}",
                      "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    assert_thumbprint(ED_PRIVATE, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    assert_thumbprint(
        "{'kty':'EC','x':'l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs',"
        "'y':'9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA','crv':'P-256'}",
        "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
}

static void
assert_written(const char *jwk, bool secret, const char *wanted)
{
    struct mcpi_key *key = key_of(jwk);
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_key_write(key, secret, &buf), 0);
    assert_text(&buf, wanted);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

static void
public_halves_are_written_in_order_and_alone(void **state)
{
    (void)state;
    assert_written(RSA_PRIVATE, false, RSA_PUBLIC);
    assert_written(EC_PRIVATE, false, EC_PUBLIC);
    assert_written(ED_PRIVATE, false, ED_PUBLIC);
    assert_written("{" EC_MEMBERS ",'kid':'x','use':'sig'}", false, EC_PUBLIC);
}

static void
private_keys_come_back_as_they_were(void **state)
{
    (void)state;
    assert_written(RSA_PRIVATE, true, RSA_PRIVATE);
    assert_written(EC_PRIVATE, true, EC_PRIVATE);
    assert_written(ED_PRIVATE, true, ED_PRIVATE);
}

static void
rsa_without_primes_is_written_without(void **state)
{
#define RSA_BARE "{'e':'AQAB','kty':'RSA','n':'" RSA_N "','d':'" RSA_D "'}"
    (void)state;
    assert_written(RSA_BARE, true, RSA_BARE);
}

static void
a_public_key_has_no_secret(void **state)
{
    struct mcpi_key *key = key_of(EC_PUBLIC);
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_key_write(key, true, &buf), MCP_E_STATE);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

/* One scalar in 256 begins with a zero, which must be written. */
static void
coordinates_are_written_in_full(void **state)
{
    struct mcpi_key *key;
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1 << 16);
    for (int i = 0; i < 600; i++) {
        mcpi_buf_clear(&buf);
        assert_int_equal(mcpi_key_generate(NULL, &key), 0);
        assert_int_equal(mcpi_key_write(key, true, &buf), 0);
        assert_int_equal(buf.len, sizeof(EC_PRIVATE) - 1);
        mcpi_key_unref(key);
    }
    mcpi_buf_done(&buf);
}

/* A buffer that would have to grow for it would leave what it has had in the heap. */
static void
a_secret_is_written_in_one_place(void **state)
{
    static const char *const keys[] = {RSA_PRIVATE, EC_PRIVATE, ED_PRIVATE};
    struct test_mem mem;
    struct mcpi_buf buf;
    struct mcpi_key *key;

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        key = key_of(keys[i]);
        test_mem_init(&mem);
        mcpi_buf_init(&buf, &mem.allocator, 1 << 16);
        assert_int_equal(mcpi_key_write(key, true, &buf), 0);
        assert_int_equal(atomic_load(&mem.total), 1);
        mcpi_buf_done(&buf);
        test_mem_done(&mem);
        mcpi_key_unref(key);
    }
}

static void
a_full_buffer_is_a_limit_and_keeps_what_it_had(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    mcpi_buf_text(&buf, "before");
    assert_int_equal(mcpi_key_write(key, false, &buf), MCP_E_LIMIT);
    assert_int_equal(buf.len, 6);
    mcpi_buf_rewind(&buf, 6);
    assert_int_equal(mcpi_key_write(key, true, &buf), MCP_E_LIMIT);
    assert_int_equal(buf.len, 6);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

/* The longest that there is. Its numbers are made up: nobody signs with it. */
static void
the_longest_key_has_a_thumbprint(void **state)
{
    static unsigned char n[1024];
    char text[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_key *key;
    struct mcpi_buf jwk;

    (void)state;
    memset(n, 0xff, sizeof(n));
    mcpi_buf_init(&jwk, NULL, 1 << 16);
    mcpi_buf_text(&jwk, "{'kty':'RSA','e':'_________w','n':'");
    mcpi_base64url_write(&jwk, n, sizeof(n));
    mcpi_buf_append(&jwk, "'}", 3);
    key = key_of(jwk.data);
    assert_int_equal(mcpi_key_thumbprint(key, text), 0);
    assert_int_equal(strlen(text), MCPI_KEY_THUMBPRINT_SIZE - 1);
    mcpi_key_unref(key);
    mcpi_buf_done(&jwk);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, &mem->allocator, 1 << 16);
    r = mcpi_key_write(user, false, &buf);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    struct mcpi_key *key = key_of(EC_PRIVATE);

    (void)state;
    assert_true(test_each_allocation_fails(flow, key) > 0);
    mcpi_key_unref(key);
}

TEST_MAIN(TEST(thumbprints_are_those_of_the_standards),
          TEST(public_halves_are_written_in_order_and_alone),
          TEST(private_keys_come_back_as_they_were),
          TEST(rsa_without_primes_is_written_without), TEST(a_public_key_has_no_secret),
          TEST(coordinates_are_written_in_full), TEST(a_secret_is_written_in_one_place),
          TEST(a_full_buffer_is_a_limit_and_keeps_what_it_had),
          TEST(the_longest_key_has_a_thumbprint), TEST(each_allocation_may_fail))
