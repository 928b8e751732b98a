/* http_head_test.c - the memory of a request: it grows, moves, and is spared */
#include "link/http_head.h"

#include <string.h>

#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_http_parsers parsers;
    struct mcpi_http_head *head;
};

static void
fixture_open(struct fixture *f)
{
    test_mem_init(&f->mem);
    mcpi_http_parsers_init(&f->parsers, &f->mem.allocator, 1 << 20, 1 << 20);
    f->head = mcpi_http_head_take(&f->parsers);
    assert_non_null(f->head);
}

static void
fixture_close(struct fixture *f)
{
    mcpi_http_head_give(&f->parsers, f->head);
    mcpi_http_parsers_done(&f->parsers);
    test_mem_done(&f->mem);
}

static const char *
append(struct fixture *f, const char *text)
{
    size_t at = f->head->text_len;

    assert_int_equal(
        mcpi_http_head_append(&f->parsers, f->head, text, strlen(text) + 1), 0);
    return f->head->text + at;
}

static void
fields_move_with_their_text(void **state)
{
    struct fixture f;
    mcp_http_field *fields;
    char text[5000];

    (void)state;
    fixture_open(&f);
    fields = f.head->fields;
    fields[0] = (mcp_http_field){append(&f, "name"), append(&f, "value")};
    f.head->in.field_count = 1;
    fields[1].name = append(&f, "half"); /* its value is to come */
    memset(text, 'x', sizeof(text));
    assert_int_equal(mcpi_http_head_append(&f.parsers, f.head, text, sizeof(text)), 0);
    assert_ptr_equal(fields[0].name, f.head->text);
    assert_string_equal(fields[0].name, "name");
    assert_string_equal(fields[0].value, "value");
    assert_string_equal(fields[1].name, "half");
    fixture_close(&f);
}

static void
one_is_spared_and_comes_back_empty(void **state)
{
    struct mcpi_http_head *first, *second;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    first = f.head;
    (void)append(&f, "text");
    first->in.field_count = 1;
    first->in.known = &first->known;
    mcpi_buf_append(&first->body, "body", 4);
    second = mcpi_http_head_take(&f.parsers);
    mcpi_http_head_give(&f.parsers, first);
    mcpi_http_head_give(&f.parsers, second); /* one is enough */
    f.head = mcpi_http_head_take(&f.parsers);
    assert_ptr_equal(f.head, first);
    assert_int_equal(first->in.field_count, 0);
    assert_int_equal(first->text_len, 0);
    assert_int_equal(first->body.len, 0);
    assert_null(first->in.known);
    assert_null(first->fields[0].name);
    fixture_close(&f);
}

static void
one_that_grew_is_not(void **state)
{
    static const char text[100000];
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcpi_http_head_append(&f.parsers, f.head, text, 20000), 0);
    mcpi_http_head_give(&f.parsers, f.head);
    assert_null(f.parsers.spare);
    f.head = mcpi_http_head_take(&f.parsers);
    mcpi_buf_append(&f.head->body, text, sizeof(text));
    mcpi_http_head_give(&f.parsers, f.head);
    assert_null(f.parsers.spare);
    f.head = NULL;
    fixture_close(&f);
}

static void
flow(struct test_mem *mem, void *user)
{
    static const char text[5000];
    struct mcpi_http_parsers parsers;
    struct mcpi_http_head *head;
    int r = MCP_E_NOMEM;

    (void)user;
    mcpi_http_parsers_init(&parsers, &mem->allocator, 1 << 20, 1 << 20);
    head = mcpi_http_head_take(&parsers);
    if (head)
        r = mcpi_http_head_append(&parsers, head, text, sizeof(text));
    assert_int_equal(r, mem->failed ? MCP_E_NOMEM : 0);
    mcpi_http_head_give(&parsers, head);
    mcpi_http_parsers_done(&parsers);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, NULL), 3);
}

TEST_MAIN(TEST(fields_move_with_their_text), TEST(one_is_spared_and_comes_back_empty),
          TEST(one_that_grew_is_not), TEST(each_allocation_may_fail))
