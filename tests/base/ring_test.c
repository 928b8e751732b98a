/* base/ring_test.c - proves base/ring.c */
#include "base/ring.h"

#include "support/test.h"

static void
empty_ring_has_nothing_not_even_zero(void **state)
{
    struct mcpi_ring ring;

    (void)state;
    mcpi_ring_init(&ring);
    assert_false(mcpi_ring_has(&ring, 0));
}

static void
ring_remembers_as_many_as_its_size(void **state)
{
    struct mcpi_ring ring;

    (void)state;
    mcpi_ring_init(&ring);
    for (uint64_t i = 0; i < MCPI_RING_SIZE; i++)
        mcpi_ring_add(&ring, i);
    for (uint64_t i = 0; i < MCPI_RING_SIZE; i++)
        assert_true(mcpi_ring_has(&ring, i));
    assert_false(mcpi_ring_has(&ring, MCPI_RING_SIZE));
}

static void
oldest_is_forgotten_first(void **state)
{
    struct mcpi_ring ring;

    (void)state;
    mcpi_ring_init(&ring);
    for (uint64_t i = 0; i < 3 * MCPI_RING_SIZE + 1; i++)
        mcpi_ring_add(&ring, i);
    assert_false(mcpi_ring_has(&ring, 2 * MCPI_RING_SIZE));
    assert_true(mcpi_ring_has(&ring, 2 * MCPI_RING_SIZE + 1));
    assert_true(mcpi_ring_has(&ring, 3 * MCPI_RING_SIZE));
}

TEST_MAIN(TEST(empty_ring_has_nothing_not_even_zero),
          TEST(ring_remembers_as_many_as_its_size), TEST(oldest_is_forgotten_first))
