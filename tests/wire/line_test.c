/* line_test.c - newline framing, in any chunks, bounded */
#include "wire/line.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_line line;
    char seen[1024]; /* every line as <text>, every line too long as ! */
    size_t seen_len;
};

static void
open_fixture(struct fixture *f, size_t max)
{
    test_mem_init(&f->mem);
    mcpi_line_init(&f->line, &f->mem.allocator, max);
    f->seen_len = 0;
    f->seen[0] = '\0';
}

static void
close_fixture(struct fixture *f)
{
    mcpi_line_done(&f->line);
    test_mem_done(&f->mem);
}

static void
see(struct fixture *f, const char *text, size_t len)
{
    assert_true(f->seen_len + len < sizeof f->seen);
    memcpy(f->seen + f->seen_len, text, len);
    f->seen_len += len;
    f->seen[f->seen_len] = '\0';
}

static void
drain(struct fixture *f)
{
    const char *text;
    size_t len;
    int r;

    for (r = mcpi_line_next(&f->line, &text, &len); r != 0;
         r = mcpi_line_next(&f->line, &text, &len)) {
        if (r == 1) {
            see(f, "<", 1);
            see(f, text, len);
            see(f, ">", 1);
        } else {
            assert_int_equal(r, MCP_E_LIMIT);
            see(f, "!", 1);
        }
    }
}

/* Put bytes in without taking lines out. */
static void
put(struct fixture *f, const char *bytes, size_t len)
{
    size_t room, part;
    char *space;

    while (len > 0) {
        space = mcpi_line_space(&f->line, &room);
        assert_non_null(space);
        assert_true(room > 0);
        part = len < room ? len : room;
        memcpy(space, bytes, part);
        mcpi_line_filled(&f->line, part);
        bytes += part;
        len -= part;
    }
}

static void
feed(struct fixture *f, const char *bytes, size_t len)
{
    put(f, bytes, len);
    drain(f);
}

static void
lines_come_out_whole_however_they_come_in(void **state)
{
    static const char input[] = "one\ntwo\r\n\n\r\nth\rree\n{\"a\":1}\r\nrest";
    size_t len = sizeof input - 1;
    struct fixture f;

    (void)state;
    for (size_t chunk = 1; chunk <= len; chunk++) {
        open_fixture(&f, 100);
        for (size_t at = 0; at < len; at += chunk)
            feed(&f, input + at, at + chunk < len ? chunk : len - at);
        assert_string_equal(f.seen, "<one><two><th\rree><{\"a\":1}>");
        assert_true(mcpi_line_partial(&f.line));
        feed(&f, "\n", 1);
        assert_false(mcpi_line_partial(&f.line));
        close_fixture(&f);
    }
}

static void
many_lines_that_wait_come_out_in_order(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 100);
    put(&f, "a\nb", 3);
    put(&f, "c\nd\n", 4);
    drain(&f);
    assert_string_equal(f.seen, "<a><bc><d>");
    close_fixture(&f);
}

static void
a_line_of_zero_bytes_inside_is_kept(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 100);
    feed(&f, "a\0b\n", 4);
    assert_memory_equal(f.seen, "<a\0b>", 5);
    close_fixture(&f);
}

static void
C11_a_line_too_long_is_reported_once_and_the_next_is_read(void **state)
{
    static const char input[] = "ok\n123456789\nnext\n123456789\r\n\nlast\n"
                                "1234567890123456789012345678901\nend\n";
    size_t len = sizeof input - 1;
    struct fixture f;

    (void)state;
    for (size_t chunk = 1; chunk <= len; chunk++) {
        open_fixture(&f, 8);
        for (size_t at = 0; at < len; at += chunk)
            feed(&f, input + at, at + chunk < len ? chunk : len - at);
        assert_string_equal(f.seen, "<ok>!<next>!<last>!<end>");
        close_fixture(&f);
    }
}

static void
C11_a_line_of_exactly_the_maximum_is_read(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 8);
    feed(&f, "12345678", 8);
    feed(&f, "\r", 1);
    feed(&f, "\n", 1);
    feed(&f, "12345678\n", 9);
    assert_string_equal(f.seen, "<12345678><12345678>");
    close_fixture(&f);
}

/* Who waits for its newline may wait for ever. */
static void
C11_a_line_too_long_is_reported_before_it_ends(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 8);
    feed(&f, "123456789", 9); /* the last one may be the CR */
    assert_string_equal(f.seen, "");
    assert_true(mcpi_line_partial(&f.line));
    feed(&f, "0", 1);
    assert_string_equal(f.seen, "!");
    assert_false(mcpi_line_partial(&f.line));
    feed(&f, "1\nok\n", 5);
    assert_string_equal(f.seen, "!<ok>");
    close_fixture(&f);
}

static void
C11_a_line_too_long_takes_no_more_memory_than_the_maximum(void **state)
{
    static char block[4096];
    size_t max = 100000;
    struct fixture f;

    (void)state;
    memset(block, 'x', sizeof block);
    open_fixture(&f, max);
    for (int i = 0; i < 2000; i++) { /* 8 MB of one line */
        feed(&f, block, sizeof block);
        assert_true(f.line.buf.cap <= 2 * max + 65536);
    }
    assert_string_equal(f.seen, "!");
    assert_false(mcpi_line_partial(&f.line));
    feed(&f, "\nok\n", 4);
    assert_string_equal(f.seen, "!<ok>");
    close_fixture(&f);
}

static void
a_buffer_that_is_never_empty_stays_small(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f, 100);
    feed(&f, "a", 1);
    for (int i = 0; i < 200000; i++) {
        feed(&f, "bcdef\na", 7);
        assert_string_equal(f.seen, "<abcdef>");
        assert_true(mcpi_line_partial(&f.line));
        assert_true(f.line.buf.cap <= 65536);
        f.seen_len = 0;
    }
    close_fixture(&f);
}

static void
the_memory_of_a_long_line_is_given_back(void **state)
{
    static char block[200000];
    const char *text;
    size_t len, room;
    struct fixture f;

    (void)state;
    memset(block, 'x', sizeof block);
    block[sizeof block - 1] = '\n';
    open_fixture(&f, sizeof block);
    put(&f, block, sizeof block);
    assert_int_equal(mcpi_line_next(&f.line, &text, &len), 1);
    assert_int_equal(len, sizeof block - 1);
    assert_non_null(mcpi_line_space(&f.line, &room));
    assert_true(f.line.buf.cap < 100000);
    close_fixture(&f);
}

static void
a_line_is_not_scanned_twice(void **state)
{
    char *block = malloc(1 << 20);
    size_t max = (size_t)1 << 24;
    struct fixture f;

    (void)state;
    assert_non_null(block);
    memset(block, 'x', 1 << 20);
    open_fixture(&f, max);
    for (int i = 0; i < 8; i++)
        put(&f, block, 1 << 20);
    drain(&f);
    /* 2^23 bytes wait: one more look at them for each of these would take minutes */
    for (int i = 0; i < 200000; i++)
        feed(&f, "y", 1);
    assert_int_equal(f.line.scanned, f.line.buf.len);
    close_fixture(&f);
    free(block);
}

static void
short_of_memory_loses_nothing(void **state)
{
    struct fixture f;
    size_t room = 77;

    (void)state;
    open_fixture(&f, 100);
    atomic_store(&f.mem.fail_at, 1);
    assert_null(mcpi_line_space(&f.line, &room));
    assert_int_equal(room, 77);
    feed(&f, "a\nb", 3);
    feed(&f, "c\n", 2);
    assert_string_equal(f.seen, "<a><bc>");
    close_fixture(&f);
}

static void
fill_and_drain(struct test_mem *mem, void *user)
{
    struct mcpi_line line;
    const char *text;
    size_t room, len;
    char *space;

    (void)user;
    mcpi_line_init(&line, &mem->allocator, 100000);
    for (int i = 0; i < 20; i++) {
        space = mcpi_line_space(&line, &room);
        if (!space)
            break;
        memset(space, 'x', room);
        mcpi_line_filled(&line, room);
        while (mcpi_line_next(&line, &text, &len) != 0)
            continue;
    }
    mcpi_line_done(&line);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(fill_and_drain, NULL) >= 2);
}

TEST_MAIN(TEST(lines_come_out_whole_however_they_come_in),
          TEST(many_lines_that_wait_come_out_in_order),
          TEST(a_line_of_zero_bytes_inside_is_kept),
          TEST(C11_a_line_too_long_is_reported_once_and_the_next_is_read),
          TEST(C11_a_line_of_exactly_the_maximum_is_read),
          TEST(C11_a_line_too_long_is_reported_before_it_ends),
          TEST(C11_a_line_too_long_takes_no_more_memory_than_the_maximum),
          TEST(a_buffer_that_is_never_empty_stays_small),
          TEST(the_memory_of_a_long_line_is_given_back),
          TEST(a_line_is_not_scanned_twice), TEST(short_of_memory_loses_nothing),
          TEST(each_allocation_may_fail))
