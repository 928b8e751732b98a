/* cli/args_tree_test.c - proves cli/args_tree.c: an object that grows */
#include "cli/args_tree.h"

#include <string.h>

#include "cli/desk.h"

static void
assert_written(const struct cli_node *node, const char *json)
{
    struct cli_text into = {0};

    cli_node_write(node, &into);
    assert_false(into.failed);
    assert_string_equal(cli_text_string(&into), json);
    cli_text_done(&into);
}

static void
an_empty_tree_is_an_empty_object(void **state)
{
    struct cli_node root = {0};

    (void)state;
    assert_written(&root, "{}");
    cli_node_done(&root);
}

static void
members_are_written_in_their_order(void **state)
{
    struct cli_node root = {0};

    (void)state;
    assert_true(cli_node_set(cli_node_add(&root, "b\"", 2), "1", 1));
    assert_true(cli_node_set(cli_node_add(&root, "a", 1), "true", 4));
    assert_written(&root, "{\"b\\\"\":1,\"a\":true}");
    cli_node_done(&root);
}

static void
members_are_found_by_their_whole_name(void **state)
{
    struct cli_node root = {0}, *node;

    (void)state;
    node = cli_node_add(&root, "city", 4);
    assert_ptr_equal(cli_node_find(&root, "city", 4), node);
    assert_null(cli_node_find(&root, "cit", 3));
    assert_null(cli_node_find(&root, "cityx", 5));
    cli_node_done(&root);
}

static void
a_value_that_is_loaded_can_grow(void **state)
{
    mcp_doc *doc = desk_json("{'a':{'b':[1,{'c':null}]},'d':'x'}");
    struct cli_node root = {0}, *list;

    (void)state;
    assert_true(cli_node_load(&root, mcp_doc_root(doc)));
    list = cli_node_find(cli_node_find(&root, "a", 1), "b", 1);
    assert_true(cli_node_set(cli_node_add(list, NULL, 0), "2", 1));
    assert_written(&root, "{\"a\":{\"b\":[1,{\"c\":null},2]},\"d\":\"x\"}");
    cli_node_done(&root);
    mcp_doc_free(doc);
}

static void
what_is_set_anew_replaces_all_below(void **state)
{
    mcp_doc *doc = desk_json("{'a':{'b':1}}");
    struct cli_node root = {0};

    (void)state;
    assert_true(cli_node_load(&root, mcp_doc_root(doc)));
    assert_true(cli_node_set(cli_node_find(&root, "a", 1), "[]", 2));
    assert_written(&root, "{\"a\":[]}");
    cli_node_clear(cli_node_find(&root, "a", 1), true);
    assert_written(&root, "{\"a\":[]}");
    cli_node_done(&root);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(an_empty_tree_is_an_empty_object),
          TEST(members_are_written_in_their_order),
          TEST(members_are_found_by_their_whole_name),
          TEST(a_value_that_is_loaded_can_grow),
          TEST(what_is_set_anew_replaces_all_below))
