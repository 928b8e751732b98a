/* subscription_queue_test.c - changes that wait to be heard of, each once */
#include "api/subscription_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static const unsigned char seed[MCPI_SEED_SIZE] = "0123456789abcde";

struct fixture {
    struct test_mem mem;
    struct mcpi_notices q;
};

static void
fixture_open(struct fixture *f, size_t most)
{
    test_mem_init(&f->mem);
    mcpi_notices_init(&f->q, &f->mem.allocator, seed, most);
}

static void
fixture_close(struct fixture *f)
{
    mcpi_notices_done(&f->q);
    test_mem_done(&f->mem);
}

static int
add(struct fixture *f, enum mcp_change change, const char *uri)
{
    return mcpi_notices_add(&f->q, change, uri);
}

static void
expect(struct fixture *f, enum mcp_change change, const char *uri)
{
    mcp_notice got;

    assert_true(mcpi_notices_take(&f->q, &got));
    assert_int_equal(got.change, change);
    if (uri)
        assert_string_equal(got.uri, uri);
    else
        assert_null(got.uri);
}

static void
expect_none(struct fixture *f)
{
    mcp_notice got;

    assert_false(mcpi_notices_take(&f->q, &got));
    assert_int_equal(f->q.count, 0);
    assert_int_equal(f->q.bytes, 0);
}

static void
each_change_waits_once_where_it_came_first(void **state)
{
    struct fixture f;
    int i;

    (void)state;
    fixture_open(&f, 10);
    for (i = 0; i < 3; i++) {
        assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "b"), 0);
        assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
        assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "a"), 0);
        assert_int_equal(add(&f, MCP_RESOURCES_CHANGED, NULL), 0);
        assert_int_equal(add(&f, MCP_PROMPTS_CHANGED, NULL), 0);
    }
    expect(&f, MCP_RESOURCE_UPDATED, "b");
    expect(&f, MCP_TOOLS_CHANGED, NULL);
    expect(&f, MCP_RESOURCE_UPDATED, "a");
    expect(&f, MCP_RESOURCES_CHANGED, NULL);
    expect(&f, MCP_PROMPTS_CHANGED, NULL);
    expect_none(&f);
    fixture_close(&f);
}

static void
what_was_taken_may_come_again(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 10);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
    expect(&f, MCP_TOOLS_CHANGED, NULL);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "a"), 0);
    expect(&f, MCP_TOOLS_CHANGED, NULL);
    expect(&f, MCP_RESOURCE_UPDATED, "a");
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "a"), 0);
    expect(&f, MCP_RESOURCE_UPDATED, "a");
    expect_none(&f);
    fixture_close(&f);
}

static void
H13_no_more_wait_than_may(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 2);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "a"), 0);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "b"), MCP_E_LIMIT);
    assert_int_equal(add(&f, MCP_PROMPTS_CHANGED, NULL), MCP_E_LIMIT);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0); /* waits already */
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "a"), 0);
    expect(&f, MCP_RESOURCE_UPDATED, "a");
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "b"), 0);
    expect(&f, MCP_TOOLS_CHANGED, NULL);
    expect(&f, MCP_RESOURCE_UPDATED, "b");
    expect_none(&f);
    fixture_close(&f);
}

static void
H13_long_uris_are_bounded_too(void **state)
{
    size_t half = MCPI_NOTICE_BYTES_MAX / 2;
    char *uri = malloc(half + 1);
    struct fixture f;

    (void)state;
    assert_non_null(uri);
    memset(uri, 'a', half);
    uri[half] = '\0';
    fixture_open(&f, 10);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, uri), 0);
    uri[0] = 'b';
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, uri), 0);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "c"), MCP_E_LIMIT);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
    mcpi_notices_clear(&f.q);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "c"), 0);
    free(uri);
    fixture_close(&f);
}

static void
H12_what_waits_can_be_dropped_and_what_was_taken_stays(void **state)
{
    struct fixture f;
    mcp_notice got;

    (void)state;
    fixture_open(&f, 10);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "a"), 0);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "b"), 0);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
    assert_true(mcpi_notices_take(&f.q, &got));
    mcpi_notices_clear(&f.q);
    assert_string_equal(got.uri, "a");
    expect_none(&f);
    assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, "b"), 0);
    assert_int_equal(add(&f, MCP_TOOLS_CHANGED, NULL), 0);
    expect(&f, MCP_RESOURCE_UPDATED, "b");
    fixture_close(&f);
}

static void
many_are_found_and_kept_in_order(void **state)
{
    struct fixture f;
    char uri[32];
    int round, i;

    (void)state;
    fixture_open(&f, 1000);
    for (round = 0; round < 2; round++) {
        for (i = 0; i < 1000; i++) {
            snprintf(uri, sizeof uri, "file:///%d", i);
            assert_int_equal(add(&f, MCP_RESOURCE_UPDATED, uri), 0);
        }
    }
    for (i = 0; i < 1000; i++) {
        snprintf(uri, sizeof uri, "file:///%d", i);
        expect(&f, MCP_RESOURCE_UPDATED, uri);
    }
    expect_none(&f);
    fixture_close(&f);
}

static void
fill_in(struct test_mem *mem, void *user)
{
    struct mcpi_notices q;
    char uri[2] = "a";

    (void)user;
    mcpi_notices_init(&q, &mem->allocator, seed, 100);
    for (; uri[0] < 'z'; uri[0]++) {
        int r = mcpi_notices_add(&q, MCP_RESOURCE_UPDATED, uri);

        assert_true(r == 0 || r == MCP_E_NOMEM);
    }
    mcpi_notices_done(&q);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(fill_in, NULL), 25, 40);
}

TEST_MAIN(TEST(each_change_waits_once_where_it_came_first),
          TEST(what_was_taken_may_come_again), TEST(H13_no_more_wait_than_may),
          TEST(H13_long_uris_are_bounded_too),
          TEST(H12_what_waits_can_be_dropped_and_what_was_taken_stays),
          TEST(many_are_found_and_kept_in_order), TEST(each_allocation_may_fail))
