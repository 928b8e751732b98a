/* random_test.c - bytes that nobody can guess */
#include "run/random.h"

#include <string.h>

#include "support/test.h"

int __real_mcpi_random(void *into, size_t len); /* see support/random.c */
#define mcpi_random __real_mcpi_random

static void
two_fills_are_not_alike(void **state)
{
    unsigned char a[32] = {0}, b[32] = {0};

    (void)state;
    assert_int_equal(mcpi_random(a, sizeof(a)), 0);
    assert_int_equal(mcpi_random(b, sizeof(b)), 0);
    assert_memory_not_equal(a, b, sizeof(a));
}

static void
only_what_was_asked_for_is_filled(void **state)
{
    unsigned char a[8];

    (void)state;
    memset(a, 7, sizeof(a));
    assert_int_equal(mcpi_random(a, 0), 0);
    assert_int_equal(a[0], 7);
    assert_int_equal(mcpi_random(a, 4), 0);
    assert_int_equal(a[4], 7);
}

TEST_MAIN(TEST(two_fills_are_not_alike), TEST(only_what_was_asked_for_is_filled))
