/* json/schema_read_test.c - proves json/schema_read.c: what single keywords hold */
#include "json/schema_read.h"

#include "json/schema_fixture.h"

/* A compiler and the node of a document's root. */
struct bench {
    mcp_schema schema;
    struct mcpi_schema_doc doc;
    struct mcpi_schema_resource resource;
    struct mcpi_schema_node node;
    struct mcpi_schema_compiler compiler;
    mcp_error err;
};

static void
bench_open(struct bench *b, const char *text)
{
    memset(b, 0, sizeof *b);
    mcpi_arena_init(&b->schema.arena, NULL);
    b->schema.mem = b->schema.arena.mem;
    b->doc.doc = doc_of(text);
    b->doc.root = mcpi_yy(mcp_doc_root(b->doc.doc));
    b->doc.uri = "";
    b->node.value = b->doc.root;
    b->node.doc = &b->doc;
    b->node.resource = &b->resource;
    b->compiler.schema = &b->schema;
    b->compiler.err = &b->err;
}

static void
bench_close(struct bench *b)
{
    mcpi_arena_done(&b->schema.arena);
    mcp_doc_free(b->doc.doc);
}

static void
keywords_are_found(void **state)
{
    static const char *const some[] = {"x", "a", NULL}, *const none[] = {"x", NULL};
    struct bench b;

    (void)state;
    bench_open(&b, "{'a':null}");
    assert_non_null(mcpi_keyword_get(&b.node, "a"));
    assert_null(mcpi_keyword_get(&b.node, "b"));
    assert_true(mcpi_keyword_any(&b.node, some));
    assert_false(mcpi_keyword_any(&b.node, none));
    bench_close(&b);
}

static void
what_is_not_there_changes_nothing(void **state)
{
    struct mcpi_schema_range range = {7, 8};
    struct mcpi_schema_list list = {NULL, 0};
    const struct mcpi_schema_node *node = NULL;
    const yyjson_val *number = NULL;
    struct bench b;

    (void)state;
    bench_open(&b, "{}");
    assert_int_equal(mcpi_read_range(&b.compiler, &b.node, "a", "b", &range), 0);
    assert_int_equal(mcpi_read_list(&b.compiler, &b.node, "a", &list), 0);
    assert_int_equal(mcpi_read_schema(&b.compiler, &b.node, "a", &node), 0);
    assert_int_equal(mcpi_read_number(&b.compiler, &b.node, "a", &number), 0);
    assert_int_equal(mcpi_read_definitions(&b.compiler, &b.node, "a"), 0);
    assert_true(range.min == 7 && range.max == 8 && list.count == 0 && !node &&
                !number);
    bench_close(&b);
}

static void
counts_and_numbers_are_read(void **state)
{
    struct mcpi_schema_range range = {0, 0};
    const yyjson_val *number = NULL;
    struct bench b;

    (void)state;
    bench_open(&b, "{'a':3.0,'b':4,'c':-1,'d':'5'}");
    assert_int_equal(mcpi_read_range(&b.compiler, &b.node, "a", "b", &range), 0);
    assert_true(range.min == 3 && range.max == 4);
    assert_int_equal(mcpi_read_count(&b.compiler, &b.node, "c", &range.min),
                     MCP_E_INVAL);
    assert_string_equal(b.err.message, "#/c must be an integer that is not negative");
    assert_int_equal(mcpi_read_number(&b.compiler, &b.node, "c", &number), 0);
    assert_non_null(number);
    assert_int_equal(mcpi_read_number(&b.compiler, &b.node, "d", &number), MCP_E_INVAL);
    assert_string_equal(b.err.message, "#/d must be a number");
    bench_close(&b);
}

static void
lists_and_definitions_have_their_shape(void **state)
{
    struct mcpi_schema_list list = {NULL, 0};
    struct bench b;

    (void)state;
    bench_open(&b, "{'a':[],'b':{}}");
    assert_int_equal(mcpi_read_list(&b.compiler, &b.node, "a", &list), MCP_E_INVAL);
    assert_string_equal(b.err.message, "#/a must be a list of at least one schema");
    assert_int_equal(mcpi_read_list(&b.compiler, &b.node, "b", &list), MCP_E_INVAL);
    assert_int_equal(mcpi_read_definitions(&b.compiler, &b.node, "a"), MCP_E_INVAL);
    assert_string_equal(b.err.message, "#/a must be an object of schemas");
    assert_int_equal(mcpi_read_definitions(&b.compiler, &b.node, "b"), 0);
    bench_close(&b);
}

TEST_MAIN(TEST(keywords_are_found), TEST(what_is_not_there_changes_nothing),
          TEST(counts_and_numbers_are_read),
          TEST(lists_and_definitions_have_their_shape))
