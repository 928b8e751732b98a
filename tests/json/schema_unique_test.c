/* json/schema_unique_test.c - proves json/schema_unique.c */
#include "json/schema_fixture.h"

static void
few_values_are_compared_by_value(void **state)
{
    (void)state;
    verdicts("{'uniqueItems':true}",
             "[[1,true,'1',null,0,false,''],[0,-0.0],[[1],[1.0]],[{},[]],"
             "[{'a':1},{'a':2}],['a','a'],[null,null]]",
             "YNNYYNN");
}

/* [0,1,...,n-1,<last>], each as `item` has it, where # is the number. */
static char *
numbers(const char *item, int count, const char *last)
{
    char *text = malloc((size_t)count * (strlen(item) + 10) + 200), *at = text;

    assert_non_null(text);
    *at++ = '[';
    for (int i = 0; i < count; i++) {
        for (const char *c = item; *c; c++)
            at += *c == '#' ? sprintf(at, "%d", i) : sprintf(at, "%c", *c);
        *at++ = ',';
    }
    sprintf(at, "%s]", last);
    return text;
}

static void
many(const char *item, const char *last, int expected)
{
    mcp_schema *schema = schema_of("{'uniqueItems':true}");
    char *text = numbers(item, 20000, last);

    assert_int_equal(check_text(schema, text, NULL, NULL), expected);
    free(text);
    mcp_schema_free(schema);
}

static void
many_values_are_compared_by_value(void **state)
{
    (void)state;
    many("#", "'x'", 0);
    many("#", "777.0", MCP_E_INVAL);
    many("#", "7.77e2", MCP_E_INVAL);
    many("-#", "-777.0", MCP_E_INVAL);
    many("#", "777.5", 0);
    many("#.5", "777.5", MCP_E_INVAL);
    many("'#'", "777", 0);
    many("'#'", "'777'", MCP_E_INVAL);
    many("{'a':#,'b':[1]}", "{'b':[1.0],'a':777}", MCP_E_INVAL);
    many("{'a':#,'b':[1]}", "{'b':[2],'a':777}", 0);
    many("[#,null]", "[777,null]", MCP_E_INVAL);
    many("[#,true]", "[777,false]", 0);
    many("#", "18446744073709551615,18446744073709551616.0", 0);
    many("#", "9223372036854775808,9223372036854775808.0", MCP_E_INVAL);
}

static void
check_unique(struct test_mem *mem, void *user)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = &mem->allocator);
    mcp_schema *schema = NULL;
    int r = compile_with("{'uniqueItems':true}", &opt, &schema, NULL);

    if (r == 0)
        r = mcp_schema_check(schema, user, NULL, NULL);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcp_schema_free(schema);
}

static void
each_allocation_may_fail(void **state)
{
    char *text = numbers("#", 100, "'x'");
    mcp_doc *doc = doc_of(text);

    (void)state;
    (void)test_each_allocation_fails(check_unique,
                                     (void *)(uintptr_t)mcp_doc_root(doc));
    mcp_doc_free(doc);
    free(text);
}

TEST_MAIN(TEST(few_values_are_compared_by_value),
          TEST(many_values_are_compared_by_value), TEST(each_allocation_may_fail))
