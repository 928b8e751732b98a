/* wipe_test.c - memory for secrets: wiped before it is freed */
#include "auth/wipe.h"

#include "auth/keep_fixture.h"
#include "base/buf.h"
#include "base/mem.h"

static void
what_is_freed_is_wiped(void **state)
{
    struct watched watched;
    struct mcpi_wipe wipe;
    char *text;

    (void)state;
    watched_init(&watched);
    mcpi_wipe_init(&wipe, &watched.allocator);
    text = mcpi_alloc(&wipe.allocator, sizeof SECRET);
    memcpy(text, SECRET, sizeof SECRET);
    mcpi_free(&wipe.allocator, text);
    wipe.allocator.free(wipe.allocator.user, NULL);
    watched_done(&watched);
}

static void
what_moves_is_wiped_where_it_was(void **state)
{
    struct watched watched;
    struct mcpi_wipe wipe;
    struct mcpi_buf buf;

    (void)state;
    watched_init(&watched);
    mcpi_wipe_init(&wipe, &watched.allocator);
    mcpi_buf_init(&buf, &wipe.allocator, 1 << 20);
    for (int i = 0; i < 1000; i++)
        mcpi_buf_text(&buf, SECRET);
    assert_int_equal(buf.status, 0);
    assert_memory_equal(buf.data + buf.len - strlen(SECRET), SECRET, strlen(SECRET));
    mcpi_buf_done(&buf);
    assert_true(watched.seen > 1);
    watched_done(&watched);
}

static void
a_block_may_shrink(void **state)
{
    struct watched watched;
    struct mcpi_wipe wipe;
    char *text;

    (void)state;
    watched_init(&watched);
    mcpi_wipe_init(&wipe, &watched.allocator);
    text = mcpi_alloc(&wipe.allocator, 100);
    memcpy(text, "abcdef", 7);
    text = mcpi_realloc(&wipe.allocator, text, 3);
    assert_memory_equal(text, "abc", 3);
    mcpi_free(&wipe.allocator, text);
    watched_done(&watched);
}

static void
what_cannot_be_had_is_not(void **state)
{
    struct test_mem mem;
    struct mcpi_wipe wipe;
    char *text;

    (void)state;
    test_mem_init(&mem);
    mcpi_wipe_init(&wipe, &mem.allocator);
    assert_null(mcpi_alloc(&wipe.allocator, SIZE_MAX - 1));
    text = mcpi_alloc(&wipe.allocator, 4);
    assert_non_null(text);
    memcpy(text, "abc", 4);
    atomic_store(&mem.fail_at, atomic_load(&mem.total) + 1);
    assert_null(mcpi_realloc(&wipe.allocator, text, 8));
    assert_string_equal(text, "abc");
    mcpi_free(&wipe.allocator, text);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(what_is_freed_is_wiped), TEST(what_moves_is_wiped_where_it_was),
          TEST(a_block_may_shrink), TEST(what_cannot_be_had_is_not))
