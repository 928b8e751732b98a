/* json/schema_seen_test.c - proves json/schema_seen.c */
#include "json/schema_seen.h"

#include "base/mem.h"
#include "support/test.h"

static void
marks_are_kept(size_t count)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);
    struct mcpi_seen seen, other;

    assert_int_equal(mcpi_seen_init(&seen, mem, count), 0);
    assert_int_equal(mcpi_seen_init(&other, mem, count), 0);
    mcpi_seen_mark(&seen, 0);
    mcpi_seen_mark(&other, count - 1);
    assert_true(mcpi_seen_has(&seen, 0));
    assert_false(mcpi_seen_has(&seen, count - 1));
    mcpi_seen_merge(&seen, &other);
    assert_true(mcpi_seen_has(&seen, count - 1));
    assert_false(mcpi_seen_has(&seen, count / 2));
    mcpi_seen_mark_all(&other);
    assert_true(mcpi_seen_has(&other, count / 2));
    mcpi_seen_merge(&seen, &other);
    assert_true(mcpi_seen_has(&seen, count / 2));
    mcpi_seen_done(&seen);
    mcpi_seen_done(&other);
}

static void
marks_of_small_and_large_values_are_kept(void **state)
{
    (void)state;
    marks_are_kept(3);
    marks_are_kept(64);
    marks_are_kept(65);
    marks_are_kept(1000);
}

static void
use_large(struct test_mem *mem, void *user)
{
    struct mcpi_seen seen;

    (void)user;
    if (mcpi_seen_init(&seen, &mem->allocator, 1000) == 0)
        mcpi_seen_mark(&seen, 999);
    mcpi_seen_done(&seen);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(use_large, NULL), 1);
}

TEST_MAIN(TEST(marks_of_small_and_large_values_are_kept),
          TEST(each_allocation_may_fail))
