/* support/test_test.c - proves that the test frame sees what it should */
#include "support/test.h"

#include <string.h>

static void
memory_is_counted(void **state)
{
    struct test_mem mem;
    mcp_allocator *a = &mem.allocator;
    char *p;

    (void)state;
    test_mem_init(&mem);
    p = a->alloc(a->user, 3);
    assert_non_null(p);
    p[2] = 'x';
    p = a->realloc(a->user, p, 300);
    assert_non_null(p);
    assert_int_equal(p[2], 'x');
    assert_int_equal(atomic_load(&mem.live), 1);
    assert_int_equal(atomic_load(&mem.total), 2);
    a->free(a->user, p);
    test_mem_done(&mem);
}

static void
nth_allocation_fails(void **state)
{
    struct test_mem mem;
    mcp_allocator *a = &mem.allocator;
    void *p;

    (void)state;
    test_mem_init(&mem);
    atomic_store(&mem.fail_at, 2);
    p = a->alloc(a->user, 8);
    assert_non_null(p);
    assert_null(a->realloc(a->user, p, 16));
    a->free(a->user, p);
    p = a->alloc(a->user, 8);
    assert_non_null(p);
    a->free(a->user, p);
    assert_int_equal(atomic_load(&mem.failed), 1);
    test_mem_done(&mem);
}

static void
make_two(struct test_mem *mem, void *user)
{
    mcp_allocator *a = &mem->allocator;
    int *runs = user;
    void *p = a->alloc(a->user, 8);
    void *q = a->alloc(a->user, 8);

    ++*runs;
    a->free(a->user, p);
    a->free(a->user, q);
}

static void
each_allocation_fails_in_turn(void **state)
{
    int runs = 0;

    (void)state;
    assert_int_equal(test_each_allocation_fails(make_two, &runs), 2);
    assert_int_equal(runs, 3);
}

static void
a_secret_that_is_freed_is_counted(void **state)
{
    struct test_mem mem;
    mcp_allocator *a = &mem.allocator;
    char *p;

    (void)state;
    test_mem_init(&mem);
    mem.secret = "geheim";
    p = a->alloc(a->user, 10);
    assert_non_null(p);
    memcpy(p + 4, "geheim", 6);
    p = a->realloc(a->user, p, 20); /* moves, and leaves it there */
    assert_non_null(p);
    assert_int_equal(atomic_load(&mem.spilled), 1);
    p[4] = 'x';
    a->free(a->user, p);
    assert_int_equal(atomic_load(&mem.spilled), 1);
    atomic_store(&mem.spilled, 0);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(memory_is_counted), TEST(a_secret_that_is_freed_is_counted),
          TEST(nth_allocation_fails), TEST(each_allocation_fails_in_turn))
