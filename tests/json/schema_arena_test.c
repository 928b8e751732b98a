/* json/schema_arena_test.c - proves json/schema_arena.c */
#include "json/schema_arena.h"

#include <string.h>

#include "support/test.h"

static void
memory_is_zeroed_aligned_and_apart(void **state)
{
    struct mcpi_arena arena;
    unsigned char *blocks[200];

    (void)state;
    mcpi_arena_init(&arena, NULL);
    for (size_t i = 0; i < 200; i++) {
        blocks[i] = mcpi_arena_take(&arena, i);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % sizeof(void *), 0);
        for (size_t j = 0; j < i; j++)
            assert_int_equal(blocks[i][j], 0);
        memset(blocks[i], (int)i, i);
    }
    for (size_t i = 1; i < 200; i++)
        assert_int_equal(blocks[i][i - 1], i);
    mcpi_arena_done(&arena);
}

static void
large_pieces_and_texts_fit(void **state)
{
    struct mcpi_arena arena;
    char *text;

    (void)state;
    mcpi_arena_init(&arena, NULL);
    assert_non_null(mcpi_arena_take(&arena, 1 << 20));
    text = mcpi_arena_text(&arena, "abc", 2);
    assert_string_equal(text, "ab");
    assert_string_equal(mcpi_arena_text(&arena, NULL, 0), "");
    assert_null(mcpi_arena_take(&arena, SIZE_MAX - 4));
    assert_null(mcpi_arena_text(&arena, "abc", SIZE_MAX));
    mcpi_arena_done(&arena);
}

static void
take_twice(struct test_mem *mem, void *user)
{
    struct mcpi_arena arena;

    (void)user;
    mcpi_arena_init(&arena, &mem->allocator);
    (void)mcpi_arena_take(&arena, 8);
    (void)mcpi_arena_text(&arena, "x", 1);
    (void)mcpi_arena_take(&arena, 100000);
    mcpi_arena_done(&arena);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(take_twice, NULL), 2);
}

TEST_MAIN(TEST(memory_is_zeroed_aligned_and_apart), TEST(large_pieces_and_texts_fit),
          TEST(each_allocation_may_fail))
