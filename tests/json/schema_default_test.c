/* json/schema_default_test.c - proves json/schema_default.c */
#include "json/schema_fixture.h"

static void
filled(const char *schema_text, const char *value, const char *expected)
{
    mcp_schema *schema = schema_of(schema_text);
    mcp_doc *from = value ? doc_of(value) : NULL, *wanted = doc_of(expected),
            *to = NULL;
    mcp_error err;
    char *text;

    if (mcp_schema_apply_defaults(schema, mcp_doc_root(from), &to, &err) < 0)
        fail_msg("%s: %s", schema_text, err.message);
    if (!mcp_json_equal(mcp_doc_root(to), mcp_doc_root(wanted))) {
        (void)mcp_json_print(mcp_doc_root(to), false, NULL, &text, NULL);
        fail_msg("%s: %s", schema_text, text);
    }
    mcp_doc_free(from);
    mcp_doc_free(wanted);
    mcp_doc_free(to);
    mcp_schema_free(schema);
}

static int
status(const char *schema_text, const char *value)
{
    mcp_schema *schema = schema_of(schema_text);
    mcp_doc *from = value ? doc_of(value) : NULL, *to = NULL;
    mcp_error err = {0};
    int r = mcp_schema_apply_defaults(schema, mcp_doc_root(from), &to, &err);

    assert_int_equal(err.status, r);
    mcp_doc_free(from);
    mcp_doc_free(to);
    mcp_schema_free(schema);
    return r;
}

static void
missing_members_are_added(void **state)
{
    (void)state;
    filled("{'properties':{'a':{'default':1},'b':{'default':[2]},'c':{}}}", "{}",
           "{'a':1,'b':[2]}");
    filled("{'properties':{'a':{'default':1},'b':{'default':2}}}", "{'b':null,'x':3}",
           "{'b':null,'x':3,'a':1}");
    filled("{'properties':{'a':{'default':null}}}", "{}", "{'a':null}");
    filled("{'properties':{'a':{'default':1}}}", "[{}]", "[{}]");
    filled("{'properties':{'a\\u0000/':{'default':1}}}", "{}", "{'a\\u0000/':1}");
}

static void
deeper_places_are_filled(void **state)
{
    (void)state;
    filled("{'properties':{'o':{'properties':{'a':{'default':1}}}}}", "{'o':{}}",
           "{'o':{'a':1}}");
    filled("{'properties':{'o':{'default':{},'properties':{'a':{'default':1}}}}}", "{}",
           "{'o':{'a':1}}");
    filled("{'prefixItems':[{'properties':{'a':{'default':1}}}],"
           "'items':{'properties':{'b':{'default':2}}}}",
           "[{},{},{'b':3},4]", "[{'a':1},{'b':2},{'b':3},4]");
    filled("{'patternProperties':{'^x':{'properties':{'a':{'default':1}}}},"
           "'additionalProperties':{'properties':{'b':{'default':2}}}}",
           "{'x':{},'y':{}}", "{'x':{'a':1},'y':{'b':2}}");
}

static void
references_and_all_of_count_but_alternatives_do_not(void **state)
{
    (void)state;
    filled("{'$ref':'#/$defs/p','allOf':[{'properties':{'b':{'$ref':'#/$defs/d'}}}],"
           "'anyOf':[{'properties':{'c':{'default':3}}}],"
           "'$defs':{'p':{'properties':{'a':{'default':1}}},'d':{'default':2}}}",
           "{}", "{'a':1,'b':2}");
    filled("{'properties':{'a':{'default':1}},'allOf':[{'properties':{'a':{'default':2}"
           "}}]}",
           "{}", "{'a':1}");
    filled("{'properties':{'a':{'default':{}}},"
           "'allOf':[{'properties':{'a':{'properties':{'b':{'default':2}}}}}]}",
           "{}", "{'a':{'b':2}}");
}

static void
whole_value_may_be_the_default(void **state)
{
    (void)state;
    filled("{'default':{'x':1},'properties':{'a':{'default':1}}}", NULL,
           "{'x':1,'a':1}");
    assert_int_equal(status("{}", NULL), MCP_E_INVAL);
}

static void
defaults_without_end_are_given_up(void **state)
{
    (void)state;
    assert_int_equal(status("{'properties':{'a':{'$ref':'#','default':{}}}}", "{}"),
                     MCP_E_LIMIT);
    assert_int_equal(status("{'properties':{'a':{'$ref':'#','default':{}},"
                            "'b':{'$ref':'#','default':{}}}}",
                            "{}"),
                     MCP_E_LIMIT);
}

static void
too_many_schemas_for_a_place_are_given_up(void **state)
{
    char text[2000] = "{'allOf':[";

    (void)state;
    for (int i = 0; i < 40; i++)
        strcat(text, "{'title':'x'},");
    strcat(text, "true]}");
    assert_int_equal(status(text, "{}"), MCP_E_LIMIT);
}

static void
fill(struct test_mem *mem, void *user)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = &mem->allocator);
    mcp_schema *schema = NULL;
    mcp_doc *doc = NULL;
    int r = compile_with("{'properties':{'a':{'default':[1]}}}", &opt, &schema, NULL);

    if (r == 0)
        r = mcp_schema_apply_defaults(schema, user, &doc, NULL);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcp_doc_free(doc);
    mcp_schema_free(schema);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = doc_of("{}");

    (void)state;
    (void)test_each_allocation_fails(fill, (void *)(uintptr_t)mcp_doc_root(doc));
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(missing_members_are_added), TEST(deeper_places_are_filled),
          TEST(references_and_all_of_count_but_alternatives_do_not),
          TEST(whole_value_may_be_the_default), TEST(defaults_without_end_are_given_up),
          TEST(too_many_schemas_for_a_place_are_given_up),
          TEST(each_allocation_may_fail))
