/* catalog_test.c - what a server offers: found, listed in pages, changed by anybody */
#include "api/catalog.h"

#include <stdio.h>
#include <string.h>

#include "api/tool.h"
#include "base/mem.h"
#include "support/test.h"

static const unsigned char key[MCPI_SEED_SIZE] = {1, 2, 3};

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static int
add(struct mcpi_catalog *catalog, const char *name)
{
    struct mcpi_tool *tool = NULL;
    int r;

    r = mcpi_tool_new(catalog->mem, &MCP_TOOL(.name = name, .reply = nothing), &tool,
                      NULL);
    if (r < 0)
        return r;
    r = mcpi_catalog_add(catalog, &tool->offer);
    if (r < 0)
        mcpi_offer_unref(&tool->offer);
    return r;
}

static void
open_with(struct mcpi_catalog *catalog, struct test_mem *mem, const char *names)
{
    char name[2] = "";

    test_mem_init(mem);
    assert_int_equal(mcpi_catalog_init(catalog, &mem->allocator, "tools", key), 0);
    for (; *names; names++) {
        name[0] = *names;
        assert_int_equal(add(catalog, name), 0);
    }
}

static void
close_it(struct mcpi_catalog *catalog, struct test_mem *mem)
{
    mcpi_catalog_done(catalog);
    test_mem_done(mem);
}

/* The names of a page in `names`, and its cursor in `cursor`, "" if there is none. */
static int
page(struct mcpi_catalog *catalog, const char *from, size_t most, char names[32],
     char cursor[256])
{
    struct mcpi_buf buf;
    const mcp_json *root;
    mcp_json_iterator it;
    mcp_doc *doc;
    size_t n = 0;
    int r;

    mcpi_buf_init(&buf, catalog->mem, 65536);
    mcpi_buf_char(&buf, '{');
    r = mcpi_catalog_page(catalog, from, most, true, &buf);
    mcpi_buf_char(&buf, '}');
    if (r == 0) {
        assert_int_equal(mcp_doc_parse(buf.data, buf.len, NULL, &doc, NULL), 0);
        root = mcp_doc_root(doc);
        for (it = mcp_json_each(mcp_json_get(root, "tools")); mcp_json_next(&it);)
            names[n++] = *mcp_json_string(mcp_json_get(it.value, "name"), "");
        names[n] = '\0';
        snprintf(cursor, 256, "%s",
                 mcp_json_string(mcp_json_get(root, "nextCursor"), ""));
        mcp_doc_free(doc);
    }
    mcpi_buf_done(&buf);
    return r;
}

static void
the_list_is_in_the_order_of_names(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;
    char names[32], cursor[256];

    (void)state;
    open_with(&catalog, &mem, "cabED");
    assert_int_equal(page(&catalog, NULL, 10, names, cursor), 0);
    assert_string_equal(names, "DEabc");
    assert_string_equal(cursor, "");
    close_it(&catalog, &mem);
}

static void
a_tool_is_found_by_its_whole_name(void **state)
{
    struct mcpi_catalog catalog;
    struct mcpi_offer *tool;
    struct test_mem mem;

    (void)state;
    open_with(&catalog, &mem, "abc");
    tool = mcpi_catalog_find(&catalog, "b", 1);
    assert_non_null(tool);
    assert_string_equal(tool->key, "b");
    mcpi_offer_unref(tool);
    assert_null(mcpi_catalog_find(&catalog, "bb", 2));
    assert_null(mcpi_catalog_find(&catalog, "", 0));
    assert_null(mcpi_catalog_find(&catalog, "b\0", 2));
    close_it(&catalog, &mem);
}

static void
a_name_is_taken_once(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;

    (void)state;
    open_with(&catalog, &mem, "ab");
    assert_int_equal(add(&catalog, "a"), MCP_E_INVAL);
    assert_int_equal(mcpi_catalog_remove(&catalog, "a"), 0);
    assert_int_equal(mcpi_catalog_remove(&catalog, "a"), MCP_E_INVAL);
    assert_int_equal(add(&catalog, "a"), 0);
    close_it(&catalog, &mem);
}

static void
a_call_keeps_a_tool_that_was_withdrawn(void **state)
{
    struct mcpi_catalog catalog;
    struct mcpi_offer *tool;
    struct test_mem mem;

    (void)state;
    open_with(&catalog, &mem, "a");
    tool = mcpi_catalog_find(&catalog, "a", 1);
    assert_int_equal(mcpi_catalog_remove(&catalog, "a"), 0);
    assert_string_equal(tool->key, "a");
    mcpi_offer_unref(tool);
    close_it(&catalog, &mem);
}

static void
pages_are_joined_by_cursors(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;
    char names[32], cursor[256];

    (void)state;
    open_with(&catalog, &mem, "abcde");
    assert_int_equal(page(&catalog, NULL, 2, names, cursor), 0);
    assert_string_equal(names, "ab");
    assert_int_equal(page(&catalog, cursor, 2, names, cursor), 0);
    assert_string_equal(names, "cd");
    assert_int_equal(page(&catalog, cursor, 2, names, cursor), 0);
    assert_string_equal(names, "e");
    assert_string_equal(cursor, "");
    assert_int_equal(page(&catalog, NULL, 5, names, cursor), 0);
    assert_string_equal(cursor, ""); /* exactly full */
    close_it(&catalog, &mem);
}

static void
pages_survive_changes(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;
    char names[32], cursor[256];

    (void)state;
    open_with(&catalog, &mem, "acegi");
    assert_int_equal(page(&catalog, NULL, 2, names, cursor), 0);
    assert_string_equal(names, "ac");
    assert_int_equal(mcpi_catalog_remove(&catalog, "c"), 0);
    assert_int_equal(mcpi_catalog_remove(&catalog, "e"), 0);
    assert_int_equal(add(&catalog, "d"), 0);
    assert_int_equal(add(&catalog, "b"), 0);
    assert_int_equal(page(&catalog, cursor, 9, names, cursor), 0);
    assert_string_equal(names, "dgi");
    close_it(&catalog, &mem);
}

static void
after_the_last_one_there_is_nothing(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;
    char names[32], cursor[256];

    (void)state;
    open_with(&catalog, &mem, "abc");
    assert_int_equal(page(&catalog, NULL, 2, names, cursor), 0);
    assert_int_equal(mcpi_catalog_remove(&catalog, "c"), 0);
    assert_int_equal(page(&catalog, cursor, 2, names, cursor), 0);
    assert_string_equal(names, "");
    assert_string_equal(cursor, "");
    assert_int_equal(mcpi_catalog_remove(&catalog, "b"), 0);
    assert_int_equal(mcpi_catalog_remove(&catalog, "a"), 0);
    assert_int_equal(page(&catalog, NULL, 2, names, cursor), 0);
    assert_string_equal(names, "");
    close_it(&catalog, &mem);
}

/* Any other digit in its place. */
static void
spoil(char *digit)
{
    *digit = *digit == 'A' ? 'B' : 'A';
}

static void
a_cursor_that_is_not_ours_is_refused(void **state)
{
    static const char *const bad[] = {"",  "b", "AAAAAAAAAAA", "AAAAAAAAAAAA",
                                      "!", "A="};
    struct mcpi_catalog catalog;
    struct test_mem mem;
    char names[32], cursor[256], ours[256];

    (void)state;
    open_with(&catalog, &mem, "abcd");
    assert_int_equal(page(&catalog, NULL, 2, names, ours), 0);
    for (size_t i = 0; i < strlen(ours); i++) { /* the signature, and the key */
        memcpy(cursor, ours, sizeof(cursor));
        spoil(&cursor[i]);
        assert_int_equal(page(&catalog, cursor, 2, names, cursor), MCP_E_INVAL);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(page(&catalog, bad[i], 2, names, cursor), MCP_E_INVAL);
    close_it(&catalog, &mem);
}

static void
a_cursor_of_another_list_is_refused(void **state)
{
    struct mcpi_catalog catalog, other, elsewhere;
    struct test_mem mem, other_mem;
    char names[32], cursor[256];

    (void)state;
    open_with(&catalog, &mem, "abcd");
    assert_int_equal(page(&catalog, NULL, 2, names, cursor), 0);
    test_mem_init(&other_mem);
    assert_int_equal(mcpi_catalog_init(&other, &other_mem.allocator, "prompts", key),
                     0);
    assert_int_equal(page(&other, cursor, 2, names, cursor), MCP_E_INVAL);
    assert_int_equal(mcpi_catalog_init(&elsewhere, &other_mem.allocator, "tools",
                                       (const unsigned char *)"another key......"),
                     0);
    assert_int_equal(page(&elsewhere, cursor, 2, names, cursor), MCP_E_INVAL);
    mcpi_catalog_done(&elsewhere);
    close_it(&other, &other_mem);
    close_it(&catalog, &mem);
}

static void
drop(struct mcpi_offer *offer)
{
    mcpi_offer_done(offer);
}

/* An offer of any key. */
static void
add_any(struct mcpi_catalog *catalog, const char *any)
{
    struct mcpi_offer *offer = mcpi_offer_new(catalog->mem, sizeof(*offer), any, drop);

    mcp_builder_begin_object(offer->shown, NULL);
    mcp_builder_string(offer->shown, "name", any);
    mcp_builder_end(offer->shown);
    assert_int_equal(mcpi_catalog_add(catalog, offer), 0);
}

static void
a_key_may_be_any_text(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;
    char names[32], cursor[256];

    (void)state;
    open_with(&catalog, &mem, "");
    add_any(&catalog, "1 \"\\\n");
    add_any(&catalog, "2\xc3\xa4://{x}?y=%20");
    add_any(&catalog, "3");
    assert_int_equal(page(&catalog, NULL, 1, names, cursor), 0);
    assert_string_equal(names, "1");
    assert_int_equal(strspn(cursor,
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                            "0123456789-_"),
                     strlen(cursor));
    assert_int_equal(page(&catalog, cursor, 1, names, cursor), 0);
    assert_string_equal(names, "2");
    assert_int_equal(page(&catalog, cursor, 1, names, cursor), 0);
    assert_string_equal(names, "3");
    close_it(&catalog, &mem);
}

static void
it_can_be_walked_while_it_changes(void **state)
{
    struct mcpi_catalog catalog;
    struct mcpi_offer *a, *c;
    struct test_mem mem;

    (void)state;
    open_with(&catalog, &mem, "abc");
    a = mcpi_catalog_after(&catalog, NULL);
    assert_string_equal(a->key, "a");
    assert_int_equal(mcpi_catalog_remove(&catalog, "a"), 0);
    assert_int_equal(mcpi_catalog_remove(&catalog, "b"), 0);
    c = mcpi_catalog_after(&catalog, a->key);
    assert_string_equal(c->key, "c");
    assert_null(mcpi_catalog_after(&catalog, c->key));
    mcpi_offer_unref(a);
    mcpi_offer_unref(c);
    close_it(&catalog, &mem);
}

static void
many_tools_are_added_and_found(void **state)
{
    struct mcpi_catalog catalog;
    struct mcpi_offer *tool;
    struct test_mem mem;
    char name[32];

    (void)state;
    open_with(&catalog, &mem, "");
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "t%d", i * 7919 % 500);
        assert_int_equal(add(&catalog, name), 0);
    }
    for (int i = 0; i < 500; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        tool = mcpi_catalog_find(&catalog, name, strlen(name));
        assert_non_null(tool);
        mcpi_offer_unref(tool);
    }
    close_it(&catalog, &mem);
}

struct busy {
    struct mcpi_catalog *catalog;
    int number;
};

static void *
busy_change(void *user)
{
    struct busy *busy = user;
    char name[32], names[32], cursor[256];

    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "%c%d", 'a' + busy->number, i % 8);
        (void)add(busy->catalog, name);
        (void)page(busy->catalog, NULL, 8, names, cursor);
        mcpi_offer_unref(mcpi_catalog_find(busy->catalog, "a1", 2));
        (void)mcpi_catalog_remove(busy->catalog, name);
    }
    return NULL;
}

static void
any_thread_may_change_and_read_it(void **state)
{
    struct mcpi_catalog catalog;
    struct test_mem mem;
    struct busy busy[3];
    pthread_t threads[3];

    (void)state;
    open_with(&catalog, &mem, "");
    for (int i = 0; i < 3; i++) {
        busy[i] = (struct busy){&catalog, i};
        assert_int_equal(pthread_create(&threads[i], NULL, busy_change, &busy[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(catalog.count, 0);
    close_it(&catalog, &mem);
}

static void
flow_in(struct test_mem *mem, void *user)
{
    struct mcpi_catalog catalog;
    struct mcpi_buf buf;
    int cursor;

    (void)user;
    assert_int_equal(mcpi_catalog_init(&catalog, &mem->allocator, "tools", key), 0);
    (void)add(&catalog, "a");
    (void)add(&catalog, "b");
    mcpi_buf_init(&buf, &mem->allocator, 65536);
    if (mcpi_catalog_page(&catalog, NULL, 1, true, &buf) == 0 &&
        !atomic_load(&mem->failed))
        assert_int_equal(buf.status, 0);
    mcpi_buf_clear(&buf);
    cursor = mcpi_catalog_page(&catalog, "AAAAAAAAAAAAAAAA", 1, true, &buf);
    assert_true(cursor == MCP_E_INVAL || atomic_load(&mem->failed));
    mcpi_buf_done(&buf);
    mcpi_catalog_done(&catalog);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow_in, NULL) > 5);
}

TEST_MAIN(TEST(the_list_is_in_the_order_of_names),
          TEST(a_tool_is_found_by_its_whole_name), TEST(a_name_is_taken_once),
          TEST(a_call_keeps_a_tool_that_was_withdrawn),
          TEST(pages_are_joined_by_cursors), TEST(pages_survive_changes),
          TEST(after_the_last_one_there_is_nothing),
          TEST(a_cursor_that_is_not_ours_is_refused),
          TEST(a_cursor_of_another_list_is_refused), TEST(a_key_may_be_any_text),
          TEST(it_can_be_walked_while_it_changes), TEST(many_tools_are_added_and_found),
          TEST(any_thread_may_change_and_read_it), TEST(each_allocation_may_fail))
