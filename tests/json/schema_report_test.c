/* json/schema_report_test.c - proves json/schema_report.c */
#include "json/schema_fixture.h"

static const char *const two = "{'properties':{'a':{'type':'null'},'b':{'minimum':5}}}";

static void
report_keeps_the_first_faults(void **state)
{
    mcp_schema *schema = schema_of("{'items':{'type':'null'}}");
    mcp_schema_report *report = mcp_schema_report_new(NULL, 3);
    mcp_schema_fault fault;

    (void)state;
    assert_int_equal(check_text(schema, "[1,null,2,3]", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 3);
    assert_false(mcp_schema_report_is_cut(report));
    assert_int_equal(check_text(schema, "[1,2,3,4,5]", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 3);
    assert_true(mcp_schema_report_is_cut(report));
    assert_true(mcp_schema_report_get(report, 2, &fault));
    assert_string_equal(fault.instance_path, "/2");
    assert_false(mcp_schema_report_get(report, 3, &fault));
    assert_int_equal(check_text(schema, "[]", report, NULL), 0);
    assert_int_equal(mcp_schema_report_count(report), 0);
    assert_false(mcp_schema_report_is_cut(report));
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

/* A member whose own schema has found a fault was looked at all the same. */
static void
one_mistake_is_one_fault(void **state)
{
    mcp_schema *schema = schema_of("{'allOf':[{'properties':{'a':{'type':'null'}},"
                                   "'unevaluatedProperties':false}],"
                                   "'unevaluatedProperties':false}");
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);

    (void)state;
    assert_int_equal(check_text(schema, "{'a':1}", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 1);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void
no_report_has_nothing(void **state)
{
    mcp_schema_fault fault;

    (void)state;
    assert_int_equal(mcp_schema_report_count(NULL), 0);
    assert_false(mcp_schema_report_is_cut(NULL));
    assert_false(mcp_schema_report_get(NULL, 0, &fault));
    mcp_schema_report_free(NULL);
}

static void
report_is_printed_a_line_a_fault(void **state)
{
    mcp_schema *schema = schema_of(two);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    size_t len = 0;
    char *text;

    (void)state;
    assert_int_equal(check_text(schema, "{'a':1,'b':2}", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_print(report, NULL, &text, &len), 0);
    assert_string_equal(text, "/a must be null, not an integer (#/properties/a/type)\n"
                              "/b must be at least 5 (#/properties/b/minimum)\n");
    assert_int_equal(len, strlen(text));
    mcp_text_free(text, NULL);
    assert_int_equal(mcp_schema_report_print(report, NULL, NULL, NULL), MCP_E_INVAL);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void
strange_keys_stay_on_their_line(void **state)
{
    mcp_schema *schema = schema_of("{'additionalProperties':{'type':'null'}}");
    mcp_schema_report *report = mcp_schema_report_new(NULL, 1);
    char *text;

    (void)state;
    assert_int_equal(check_text(schema, "{'a\\nb':1,'c':2}", report, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_print(report, NULL, &text, NULL), 0);
    assert_string_equal(text, "/a?b must be null, not an integer "
                              "(#/additionalProperties/type)\nand more\n");
    mcp_text_free(text, NULL);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void
report_is_built_as_json(void **state)
{
    mcp_schema *schema = schema_of(two);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    assert_int_equal(check_text(schema, "{'b':2}", report, NULL), MCP_E_INVAL);
    mcp_schema_report_build(report, b, NULL);
    assert_string_equal(mcp_builder_text(b, NULL),
                        "[{\"instancePath\":\"/b\",\"schemaPath\":\"#/properties/b/"
                        "minimum\",\"keyword\":\"minimum\",\"message\":\"must be at "
                        "least 5\"}]");
    mcp_builder_free(b);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void
faults_of_other_documents_have_their_uri(void **state)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = doc_of("{'$defs':{'a':{'type':'null'}}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    mcp_schema_fault fault = {0};
    mcp_schema *schema;

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "urn:x", doc, NULL), 0);
    schema = schema_with("{'$ref':'urn:x#/$defs/a'}", &opt);
    assert_int_equal(check_text(schema, "1", report, NULL), MCP_E_INVAL);
    assert_true(mcp_schema_report_get(report, 0, &fault));
    assert_string_equal(fault.schema_path, "urn:x#/$defs/a/type");
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
    mcp_schema_set_free(set);
    mcp_doc_free(doc);
}

/* A path as long as a stranger makes it ends the report, not the check. */
static void
path_beyond_all_measure_is_left_out(void **state)
{
    mcp_schema *schema = schema_of("{'additionalProperties':{'type':'null'}}");
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    char *text = malloc(2100000);

    (void)state;
    assert_non_null(text);
    strcpy(text, "{'a':1,'");
    memset(text + 8, 'k', 2000000);
    strcpy(text + 2000008, "':1}");
    assert_int_equal(check_text(schema, text, report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 1);
    assert_true(mcp_schema_report_is_cut(report));
    free(text);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void
report_twice(struct test_mem *mem, void *user)
{
    mcp_schema_report *report = mcp_schema_report_new(&mem->allocator, 0);
    char *text = NULL;
    int r;

    if (!report)
        return;
    r = check_text(user, "{'a':1,'b':1}", report, NULL);
    assert_true(r == MCP_E_INVAL || r == MCP_E_NOMEM);
    if (r == MCP_E_INVAL)
        r = mcp_schema_report_print(report, &mem->allocator, &text, NULL);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcp_text_free(text, &mem->allocator);
    mcp_schema_report_free(report);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_schema *schema = schema_of(two);

    (void)state;
    assert_true(test_each_allocation_fails(report_twice, schema) >= 4);
    mcp_schema_free(schema);
}

TEST_MAIN(TEST(report_keeps_the_first_faults), TEST(one_mistake_is_one_fault),
          TEST(no_report_has_nothing), TEST(report_is_printed_a_line_a_fault),
          TEST(strange_keys_stay_on_their_line), TEST(report_is_built_as_json),
          TEST(faults_of_other_documents_have_their_uri),
          TEST(path_beyond_all_measure_is_left_out), TEST(each_allocation_may_fail))
