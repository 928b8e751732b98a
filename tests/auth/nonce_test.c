/* nonce_test.c - nonces for proofs that nobody has to remember */
#include "auth/nonce.h"

#include <string.h>

#include "link/http_guard.h"
#include "support/test.h"

#define NOW ((int64_t)1800000000) /* a multiple of the window */

_Static_assert(MCPI_NONCE_SIZE <= MCPI_HTTP_NONCE, "what is written can be said");

/* What OpenSSL keeps for ever comes before the baseline. */
static void __attribute__((constructor)) openssl_warm(void)
{
    const struct mcpi_nonces nonces = {{0}};
    char text[MCPI_NONCE_SIZE];

    (void)mcpi_nonces_write(&nonces, NOW, 0, text);
}

static void
write_one(const struct mcpi_nonces *nonces, int64_t now, int earlier,
          char text[MCPI_NONCE_SIZE])
{
    assert_int_equal(mcpi_nonces_write(nonces, now, earlier, text), 0);
}

static void
a_nonce_is_the_same_for_a_window(void **state)
{
    char a[MCPI_NONCE_SIZE], b[MCPI_NONCE_SIZE];
    struct mcpi_nonces nonces;

    (void)state;
    assert_int_equal(mcpi_nonces_init(&nonces), 0);
    write_one(&nonces, NOW, 0, a);
    write_one(&nonces, NOW + MCPI_NONCE_WINDOW - 1, 0, b);
    assert_string_equal(a, b);
    write_one(&nonces, NOW + MCPI_NONCE_WINDOW, 0, b);
    assert_string_not_equal(a, b);
    write_one(&nonces, NOW + MCPI_NONCE_WINDOW, 1, b);
    assert_string_equal(a, b);
    write_one(&nonces, NOW + 2 * MCPI_NONCE_WINDOW, 1, b);
    assert_string_not_equal(a, b);
    mcpi_nonces_done(&nonces);
}

static void
nobody_else_can_write_one(void **state)
{
    char a[MCPI_NONCE_SIZE], b[MCPI_NONCE_SIZE];
    struct mcpi_nonces one, other;

    (void)state;
    assert_int_equal(mcpi_nonces_init(&one), 0);
    assert_int_equal(mcpi_nonces_init(&other), 0);
    write_one(&one, NOW, 0, a);
    write_one(&other, NOW, 0, b);
    assert_string_not_equal(a, b);
    assert_memory_equal(a, b, strcspn(a, ".")); /* the time is no secret */
    assert_int_equal(strspn(a, "0123456789abcdef."), strlen(a));
    mcpi_nonces_done(&one);
    assert_int_equal(one.secret[0] | one.secret[31], 0);
    mcpi_nonces_done(&other);
}

static void
any_time_has_one(void **state)
{
    static const int64_t times[] = {0, -1, INT64_MAX, INT64_MIN / 2};
    char text[MCPI_NONCE_SIZE];
    struct mcpi_nonces nonces;

    (void)state;
    assert_int_equal(mcpi_nonces_init(&nonces), 0);
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        write_one(&nonces, times[i], 0, text);
        assert_true(strlen(text) > 24);
    }
    mcpi_nonces_done(&nonces);
}

TEST_MAIN(TEST(a_nonce_is_the_same_for_a_window), TEST(nobody_else_can_write_one),
          TEST(any_time_has_one))
