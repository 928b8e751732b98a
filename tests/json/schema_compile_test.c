/* json/schema_compile_test.c - proves json/schema_compile.c: references, circles, owners */
#include "json/schema_fixture.h"

static void
references_by_pointer_reach_any_place(void **state)
{
    (void)state;
    verdicts("{'$ref':'#/$defs/a~1b%25','$defs':{'a/b%':{'type':'null'}}}", "[null,1]",
             "YN");
    verdicts("{'properties':{'a':{'type':'null'},'b':{'$ref':'#/properties/a'}}}",
             "[{'b':null},{'b':1}]", "YN");
    verdicts("{'x':{'y':[1,{'type':'null','properties':{'z':{'$ref':'#'}}}]},"
             "'items':{'$ref':'#/x/y/1'}}",
             "[[null],[1]]", "YN");
}

static void
references_may_be_recursive(void **state)
{
    (void)state;
    verdicts("{'properties':{'next':{'$ref':'#'}},'additionalProperties':false}",
             "[{'next':{'next':{}}},{'next':{'nxt':{}}}]", "YN");
}

static void
other_documents_come_from_the_set(void **state)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = doc_of("{'$defs':{'n':{'type':'null'}},'type':'array',"
                          "'items':{'$ref':'#/$defs/n'}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set,
                                                      .base_uri = "http://a/b#x");
    mcp_schema *schema;

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "http://a/c", doc, NULL), 0);
    mcp_doc_free(doc);
    verdicts_with("{'$ref':'c#/$defs/n'}", &opt, "[null,1]", "YN");
    schema = schema_with("{'$ref':'c'}", &opt);
    mcp_schema_set_free(set); /* the schema keeps what it needs */
    assert_int_equal(check_text(schema, "[null]", NULL, NULL), 0);
    assert_int_equal(check_text(schema, "[1]", NULL, NULL), MCP_E_INVAL);
    mcp_schema_free(schema);
}

static void
unresolved_references_are_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("{'$ref':'http://a/b'}",
                             "#/$ref refers to http://a/b, which is not registered"),
                     MCP_E_INVAL);
    assert_int_equal(
        refused("{'$defs':{'unused':{'$ref':'#/nowhere'}}}",
                "#/$defs/unused/$ref refers to #/nowhere, where nothing is"),
        MCP_E_INVAL);
    assert_int_equal(refused("{'$ref':'#anchor'}", "where nothing is"), MCP_E_INVAL);
    assert_int_equal(refused("{'$dynamicRef':'#anchor'}", "#/$dynamicRef"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{'$ref':'#%4'}", "hexadecimal"), MCP_E_INVAL);
    assert_int_equal(refused("{'x':5,'$ref':'#/x'}", "#/x must be a schema"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{'$ref':'https://json-schema.org/draft/2020-12/schema'}",
                             "not registered"),
                     MCP_E_INVAL);
}

static void
circles_without_end_are_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("{'$ref':'#'}", "# leads back to itself"), MCP_E_INVAL);
    assert_int_equal(refused("{'allOf':[{'$ref':'#/$defs/a'}],'$defs':{'a':{'allOf':"
                             "[true,{'$ref':'#/$defs/b'}]},'b':{'$ref':'#/$defs/a'}}}",
                             "leads back to itself"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{'$dynamicRef':'#'}", "leads back"), MCP_E_INVAL);
}

static void
long_chains_of_references_work(void **state)
{
    char *text = malloc(600000), *at = text;
    const int links = 12000;

    (void)state;
    assert_non_null(text);
    at += sprintf(at, "{'$ref':'#/$defs/0','$defs':{");
    for (int i = 0; i < links; i++)
        at += sprintf(at, "'%d':{'$ref':'#/$defs/%d'},", i, i + 1);
    sprintf(at, "'%d':{'type':'null'}}}", links);
    verdicts(text, "[null,1]", "YN");
    free(text);
}

static void
schema_is_counted(void **state)
{
    mcp_schema *schema = schema_of("{'type':'null'}");
    mcp_schema *other = mcp_schema_ref(schema);

    (void)state;
    mcp_schema_free(schema);
    assert_int_equal(check_text(other, "null", NULL, NULL), 0);
    mcp_schema_free(other);
    mcp_schema_free(NULL);
    assert_null(mcp_schema_ref(NULL));
}

static void
bad_arguments_are_refused(void **state)
{
    mcp_doc *doc = doc_of("true");
    struct {
        mcp_schema_options known;
        int more;
    } newer = {.known = {.size = sizeof newer}, .more = 1};
    mcp_schema *schema = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_schema_compile(NULL, NULL, &schema, &err), MCP_E_INVAL);
    assert_int_equal(mcp_schema_compile(mcp_doc_root(doc), NULL, NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_schema_compile(mcp_doc_root(doc), &newer.known, &schema, &err),
                     MCP_E_INVAL);
    assert_null(schema);
    mcp_doc_free(doc);
}

static const char *const rich =
    "{'$id':'http://a/','type':'object','properties':{'a':{'$ref':'#x'},"
    "'b':{'pattern':'^[a-z]+$','minLength':1},'c':{'enum':['1','2','3','4','5','6','7',"
    "'8','9']},'d':{'items':{'$dynamicRef':'#t'},'uniqueItems':true},"
    "'e':{'$ref':'urn:other#/$defs/y'}},'required':['a'],"
    "'patternProperties':{'^x':{'multipleOf':0.5}},'dependentRequired':{'a':['b']},"
    "'unevaluatedProperties':false,"
    "'$defs':{'x':{'$anchor':'x','type':'string'},'t':{'$dynamicAnchor':'t'}}}";

struct flow {
    const mcp_json *schema, *value;
    const mcp_schema_set *set;
};

static void
compile_and_check(struct test_mem *mem, void *user)
{
    const struct flow *flow = user;
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = &mem->allocator,
                                                      .set = flow->set);
    mcp_schema *schema = NULL;
    mcp_doc *filled = NULL;
    mcp_error err = {0};
    int r = mcp_schema_compile(flow->schema, &opt, &schema, &err);

    assert_true(r == 0 || (r == MCP_E_NOMEM && err.status == MCP_E_NOMEM && !schema));
    if (r == 0)
        r = mcp_schema_check(schema, flow->value, NULL, &err);
    assert_true(r == 0 || r == MCP_E_NOMEM || r == MCP_E_INVAL);
    if (r == 0)
        r = mcp_schema_apply_defaults(schema, flow->value, &filled, &err);
    assert_true(r == 0 || r == MCP_E_NOMEM || r == MCP_E_INVAL);
    mcp_doc_free(filled);
    mcp_schema_free(schema);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *other = doc_of("{'$defs':{'y':{'default':1}}}");
    mcp_doc *schema = doc_of(rich);
    mcp_doc *good = doc_of(
        "{'a':'','b':'q','c':'9','xyz':1.5,'d':[1,2,3,4,5,6,7,8,9,10,"
        "11,12,13,14,15,16,17,18,19,20]}");
    mcp_doc *bad = doc_of("{'a':1,'b':'','q':1,'c':'x'}");
    struct flow flow = {mcp_doc_root(schema), mcp_doc_root(good), set};

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "urn:other", other, NULL), 0);
    assert_true(test_each_allocation_fails(compile_and_check, &flow) > 20);
    flow.value = mcp_doc_root(bad);
    assert_true(test_each_allocation_fails(compile_and_check, &flow) > 20);
    mcp_doc_free(other);
    mcp_doc_free(schema);
    mcp_doc_free(good);
    mcp_doc_free(bad);
    mcp_schema_set_free(set);
}

TEST_MAIN(TEST(references_by_pointer_reach_any_place),
          TEST(references_may_be_recursive), TEST(other_documents_come_from_the_set),
          TEST(unresolved_references_are_refused),
          TEST(circles_without_end_are_refused), TEST(long_chains_of_references_work),
          TEST(schema_is_counted), TEST(bad_arguments_are_refused),
          TEST(each_allocation_may_fail))
