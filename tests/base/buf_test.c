/* base/buf_test.c - proves base/buf.c: growth, the maximum, the sticky failure */
#include "base/buf.h"

#include <string.h>

#include "support/test.h"

static void
assert_holds(const struct mcpi_buf *buf, const char *text)
{
    assert_int_equal(buf->len, strlen(text));
    assert_memory_equal(buf->data, text, buf->len);
}

static void
appends_stand_in_order(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_buf_append(&buf, "ab", 2);
    mcpi_buf_text(&buf, "cd");
    mcpi_buf_char(&buf, 'e');
    MCPI_BUF_LITERAL(&buf, "fg");
    mcpi_buf_append(&buf, NULL, 0);
    assert_holds(&buf, "abcdefg");
    assert_int_equal(buf.status, 0);
    mcpi_buf_done(&buf);
}

static void
numbers_are_written_to_their_edges(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_buf_int(&buf, 0);
    mcpi_buf_char(&buf, ' ');
    mcpi_buf_int(&buf, -10);
    mcpi_buf_char(&buf, ' ');
    mcpi_buf_int(&buf, INT64_MIN);
    mcpi_buf_char(&buf, ' ');
    mcpi_buf_int(&buf, INT64_MAX);
    mcpi_buf_char(&buf, ' ');
    mcpi_buf_uint(&buf, UINT64_MAX);
    assert_holds(&buf, "0 -10 -9223372036854775808 9223372036854775807 "
                       "18446744073709551615");
    mcpi_buf_done(&buf);
}

static void
unused_buffer_needs_no_memory(void **state)
{
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 10);
    mcpi_buf_clear(&buf);
    mcpi_buf_truncate(&buf, 0);
    mcpi_buf_consume(&buf, 0);
    mcpi_buf_append(&buf, "", 0);
    mcpi_buf_done(&buf);
    assert_int_equal(atomic_load(&mem.total), 0);
    test_mem_done(&mem);
}

static void
million_bytes_need_few_allocations(void **state)
{
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 1000000);
    for (int i = 0; i < 1000000; i++)
        mcpi_buf_char(&buf, (char)('a' + i % 26));
    assert_int_equal(buf.status, 0);
    assert_int_equal(buf.len, 1000000);
    assert_int_equal(buf.data[999999], 'a' + 999999 % 26);
    assert_in_range(atomic_load(&mem.total), 1, 20);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

static void
maximum_is_reached_and_not_passed(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 5);
    mcpi_buf_text(&buf, "abcde");
    assert_int_equal(buf.status, 0);
    assert_in_range(buf.cap, 5, 5);
    mcpi_buf_char(&buf, 'f');
    assert_int_equal(buf.status, MCP_E_LIMIT);
    assert_holds(&buf, "abcde");
    mcpi_buf_done(&buf);
}

static void
failed_buffer_ignores_what_would_fit(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 5);
    mcpi_buf_text(&buf, "ab");
    mcpi_buf_text(&buf, "too long");
    mcpi_buf_char(&buf, 'c');
    assert_null(mcpi_buf_reserve(&buf, 1));
    assert_int_equal(buf.status, MCP_E_LIMIT);
    assert_holds(&buf, "ab");
    mcpi_buf_clear(&buf);
    mcpi_buf_char(&buf, 'c');
    assert_int_equal(buf.status, 0);
    assert_holds(&buf, "c");
    mcpi_buf_done(&buf);
}

static void
size_that_would_wrap_around_is_over_the_limit(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 100);
    mcpi_buf_char(&buf, 'a');
    assert_null(mcpi_buf_reserve(&buf, SIZE_MAX));
    assert_int_equal(buf.status, MCP_E_LIMIT);
    mcpi_buf_done(&buf);
}

static void
reserved_bytes_count_once_committed(void **state)
{
    struct mcpi_buf buf;
    char *at;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_buf_text(&buf, "ab");
    at = mcpi_buf_reserve(&buf, 500);
    assert_non_null(at);
    memset(at, 'x', 500);
    assert_int_equal(buf.len, 2);
    mcpi_buf_commit(&buf, 3);
    assert_holds(&buf, "abxxx");
    mcpi_buf_done(&buf);
}

static void
consume_drops_the_front_and_truncate_the_end(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_buf_text(&buf, "abcdef");
    mcpi_buf_consume(&buf, 2);
    assert_holds(&buf, "cdef");
    mcpi_buf_truncate(&buf, 3);
    assert_holds(&buf, "cde");
    mcpi_buf_consume(&buf, 3);
    assert_int_equal(buf.len, 0);
    mcpi_buf_done(&buf);
}

static void
move_leaves_an_empty_usable_buffer(void **state)
{
    struct test_mem mem;
    struct mcpi_buf buf, into;

    (void)state;
    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 10);
    mcpi_buf_text(&buf, "abc");
    mcpi_buf_move(&into, &buf);
    assert_holds(&into, "abc");
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    mcpi_buf_text(&buf, "d");
    assert_holds(&buf, "d");
    mcpi_buf_done(&buf);
    mcpi_buf_done(&into);
    test_mem_done(&mem);
}

static void
append_blocks(struct test_mem *mem, void *user)
{
    struct mcpi_buf buf;
    int *most = user;
    int done = 0;

    mcpi_buf_init(&buf, &mem->allocator, 10000);
    for (int i = 0; i < 100; i++) {
        mcpi_buf_text(&buf, "0123456789");
        done += buf.status == 0;
    }
    if (atomic_load(&mem->failed) > 0)
        assert_int_equal(buf.status, MCP_E_NOMEM);
    assert_int_equal(buf.len, 10 * done);
    for (int i = 0; i < done; i++)
        assert_memory_equal(buf.data + 10 * i, "0123456789", 10);
    *most = done;
    mcpi_buf_done(&buf);
}

static void
any_failed_growth_keeps_what_was_there(void **state)
{
    int most = 0;

    (void)state;
    assert_in_range(test_each_allocation_fails(append_blocks, &most), 2, 10);
    assert_int_equal(most, 100);
}

TEST_MAIN(TEST(appends_stand_in_order), TEST(numbers_are_written_to_their_edges),
          TEST(unused_buffer_needs_no_memory), TEST(million_bytes_need_few_allocations),
          TEST(maximum_is_reached_and_not_passed),
          TEST(failed_buffer_ignores_what_would_fit),
          TEST(size_that_would_wrap_around_is_over_the_limit),
          TEST(reserved_bytes_count_once_committed),
          TEST(consume_drops_the_front_and_truncate_the_end),
          TEST(move_leaves_an_empty_usable_buffer),
          TEST(any_failed_growth_keeps_what_was_there))
