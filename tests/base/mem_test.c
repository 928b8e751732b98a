/* base/mem_test.c - proves base/mem.c: the allocator, and option structs of any age */
#include "base/mem.h"

#include <string.h>

#include "support/test.h"

struct options {
    size_t size;
    int first;
    int second;
};

struct newer_options {
    size_t size;
    int first;
    int second;
    long third;
};

static void
null_means_malloc(void **state)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);
    char *p;

    (void)state;
    assert_non_null(mem);
    p = mcpi_alloc(mem, 4);
    assert_non_null(p);
    memcpy(p, "abc", 4);
    p = mcpi_realloc(mem, p, 4000);
    assert_non_null(p);
    assert_string_equal(p, "abc");
    mcpi_free(mem, p);
}

static void
given_allocator_is_used(void **state)
{
    struct test_mem mem;
    void *p;

    (void)state;
    test_mem_init(&mem);
    assert_ptr_equal(mcpi_mem_or_malloc(&mem.allocator), &mem.allocator);
    p = mcpi_realloc(&mem.allocator, NULL, 8);
    assert_int_equal(atomic_load(&mem.live), 1);
    mcpi_free(&mem.allocator, p);
    mcpi_free(&mem.allocator, NULL);
    test_mem_done(&mem);
}

static void
zeroed_memory_is_zero(void **state)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);
    unsigned char *p = mcpi_alloc_zero(mem, 1000);

    (void)state;
    assert_non_null(p);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(p[i], 0);
    mcpi_free(mem, p);
}

static void
failure_of_the_allocator_is_null(void **state)
{
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    atomic_store(&mem.fail_at, 1);
    mem.fail_after = true;
    assert_null(mcpi_alloc(&mem.allocator, 8));
    assert_null(mcpi_alloc_zero(&mem.allocator, 8));
    assert_null(mcpi_realloc(&mem.allocator, NULL, 8));
    test_mem_done(&mem);
}

static void
no_options_are_all_zero(void **state)
{
    struct options into = {.size = 7, .first = 7, .second = 7};

    (void)state;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), NULL), 0);
    assert_int_equal(into.size, 0);
    assert_int_equal(into.first, 0);
    assert_int_equal(into.second, 0);
}

static void
options_of_an_older_caller_are_filled_up_with_zero(void **state)
{
    struct options from = {offsetof(struct options, second), 1, 2};
    struct options into = {.second = 7};

    (void)state;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), &from), 0);
    assert_int_equal(into.first, 1);
    assert_int_equal(into.second, 0);
}

static void
options_of_a_newer_caller_count_if_it_set_nothing_new(void **state)
{
    struct newer_options from = {.size = sizeof(from), .first = 1, .second = 2};
    struct options into;

    (void)state;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), &from), 0);
    assert_int_equal(into.first, 1);
    assert_int_equal(into.second, 2);
}

static void
unknown_option_is_refused_and_writes_nothing(void **state)
{
    struct newer_options from = {.size = sizeof(from), .first = 1, .third = 1};
    struct options into = {.first = 7};

    (void)state;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), &from), MCP_E_INVAL);
    assert_int_equal(into.first, 7);
}

static void
impossible_size_of_options_is_refused(void **state)
{
    struct options from = {.size = 0};
    struct options into;

    (void)state;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), &from), MCP_E_INVAL);
    from.size = sizeof(size_t) - 1;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), &from), MCP_E_INVAL);
    from.size = SIZE_MAX;
    assert_int_equal(mcpi_options_read(&into, sizeof(into), &from), MCP_E_INVAL);
}

static void
alloc_zero_first_clears_the_first_bytes(void **state)
{
    struct test_mem mem;
    unsigned char *bytes;

    (void)state;
    test_mem_init(&mem);
    bytes = mcpi_alloc_zero_first(&mem.allocator, 64, 40);
    assert_non_null(bytes);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(bytes[i], 0);
    memset(bytes + 40, 1, 24); /* it is there */
    mcpi_free(&mem.allocator, bytes);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(alloc_zero_first_clears_the_first_bytes), TEST(null_means_malloc),
          TEST(given_allocator_is_used), TEST(zeroed_memory_is_zero),
          TEST(failure_of_the_allocator_is_null), TEST(no_options_are_all_zero),
          TEST(options_of_an_older_caller_are_filled_up_with_zero),
          TEST(options_of_a_newer_caller_count_if_it_set_nothing_new),
          TEST(unknown_option_is_refused_and_writes_nothing),
          TEST(impossible_size_of_options_is_refused))
