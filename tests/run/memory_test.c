/* memory_test.c - how much a process may use, and giving back what it does not need */
#include "run/memory.h"

#include "base/mem.h"
#include "support/test.h"
#include "support/trims.h"

static void
a_share_of_the_memory_has_a_least_size(void **state)
{
    (void)state;
    assert_true(mcpi_memory_share() >= (size_t)64 * 1024 * 1024);
}

static void
only_what_malloc_keeps_is_given_back(void **state)
{
    struct test_mem mem;

    (void)state;
    trims = 0;
    test_mem_init(&mem);
    mcpi_memory_trim(&mem.allocator);
    assert_int_equal(trims, 0);
    mcpi_memory_trim(mcpi_mem_or_malloc(NULL));
    assert_int_equal(trims, 1);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(a_share_of_the_memory_has_a_least_size),
          TEST(only_what_malloc_keeps_is_given_back))
