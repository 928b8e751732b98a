/* json/schema_check_test.c - proves json/schema_check.c: verdicts, sentences, limits */
#include <pthread.h>

#include "json/schema.h"
#include "json/schema_fixture.h"

static void
boolean_schemas_allow_all_or_nothing(void **state)
{
    (void)state;
    verdicts("true", "[1,null,{}]", "YYY");
    verdicts("{}", "[1,null,{}]", "YYY");
    verdicts("false", "[1,null,{}]", "NNN");
    first_fault("{'properties':{'a':false}}", "{'a':1}",
                "false /a #/properties/a must not be there");
}

static void
faults_of_types_are_sentences(void **state)
{
    (void)state;
    first_fault("{'type':'string'}", "1",
                "type  #/type must be a string, not an integer");
    first_fault("{'type':['string','null','number']}", "[]",
                "type  #/type must be a string, a number or null, not an array");
    first_fault("{'items':{'type':['object','array']}}", "[{},1.5]",
                "type /1 #/items/type must be an object or an array, not a number");
    first_fault("{'properties':{'a/b':{'type':'boolean'}}}", "{'a/b':null}",
                "type /a~1b #/properties/a~1b/type must be a boolean, not null");
}

static void
faults_of_choices_are_sentences(void **state)
{
    (void)state;
    first_fault("{'enum':['a','b']}", "1", "enum  #/enum must be one of \"a\", \"b\"");
    first_fault("{'enum':[1,'b']}", "2",
                "enum  #/enum must be one of the 2 values the schema lists");
    first_fault("{'const':'a'}", "2", "const  #/const must be \"a\"");
    first_fault("{'const':[]}", "2",
                "const  #/const must be the one value the schema names");
}

static void
error_is_the_first_fault(void **state)
{
    mcp_schema *schema = schema_of("{'properties':{'a':{'type':'null'}}}");
    mcp_error err = {0};

    (void)state;
    assert_int_equal(check_text(schema, "{'a':1}", NULL, &err), MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_string_equal(err.message, "/a must be null, not an integer");
    mcp_schema_free(schema);
    schema = schema_of("{'type':'null'}");
    assert_int_equal(check_text(schema, "1", NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "it must be null, not an integer");
    assert_int_equal(mcp_schema_check(schema, NULL, NULL, &err), MCP_E_INVAL);
    mcp_schema_free(schema);
    assert_int_equal(mcp_schema_check(NULL, NULL, NULL, &err), MCP_E_INVAL);
}

static void
error_of_a_long_path_still_says_why(void **state)
{
    char schema[900], value[400];
    mcp_schema *compiled;
    mcp_error err = {0};

    (void)state;
    snprintf(value, sizeof value, "{'%0300d':1}", 0);
    snprintf(schema, sizeof schema, "{'properties':{'%0300d':{'type':'null'}}}", 0);
    compiled = schema_of(schema);
    assert_int_equal(check_text(compiled, value, NULL, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "000... must be null, not an integer"));
    mcp_schema_free(compiled);
    snprintf(schema, sizeof schema, "{'properties':{'%0300d':{'type':1}}}", 0);
    assert_int_equal(refused(schema, "000... must be one of the seven types"),
                     MCP_E_INVAL);
}

static void
steps_are_limited(void **state)
{
    const mcp_schema_options few = MCP_SCHEMA_OPTIONS(.max_steps = 20);
    mcp_schema *schema = schema_with("{'items':{'minimum':0}}", &few);
    mcp_error err = {0};

    (void)state;
    assert_int_equal(check_text(schema, "[1,2,3]", NULL, &err), 0);
    assert_int_equal(
        check_text(schema, "[1,2,3,4,5,6,7,8,9,10,1,2,3,4,5,6,7,8,9,10]", NULL, &err),
        MCP_E_LIMIT);
    assert_string_equal(err.message, "the schema takes too many steps");
    mcp_schema_free(schema);
}

static void
large_values_have_steps_of_their_own(void **state)
{
    char *text = malloc(3000000), *at = text;
    mcp_schema *schema = schema_of("{'items':{'allOf':[{'minimum':0},{'maximum':9}]}}");

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 1000000; i++) {
        *at++ = i > 0 ? ',' : '[';
        *at++ = '1';
    }
    strcpy(at, "]");
    assert_int_equal(check_text(schema, text, NULL, NULL), 0);
    mcp_schema_free(schema);
    free(text);
}

/* A value and a schema that go down together. */
static void
depth_is_limited(void **state)
{
    mcp_schema *schema = schema_of(
        "{'anyOf':[{'type':'null'},{'items':{'$ref':'#'}}]}");
    mcp_schema *wide = schema_of("{'allOf':[{'items':{'allOf':[{'$ref':'#'}]}}]}");
    char text[600];
    mcp_error err = {0};

    (void)state;
    memset(text, '[', 250);
    memset(text + 250, ']', 250);
    text[500] = '\0';
    assert_int_equal(check_text(schema, text, NULL, &err), 0);
    assert_int_equal(check_text(wide, text, NULL, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "the schema is nested too deep");
    mcp_schema_free(schema);
    mcp_schema_free(wide);
}

static void
conditional_circle_ends_at_the_depth(void **state)
{
    mcp_schema *schema = schema_of("{'anyOf':[{'type':'null'},{'$ref':'#'}]}");
    mcp_schema *negated = schema_of("{'not':{'$ref':'#'}}");
    mcp_error err = {0};

    (void)state;
    assert_int_equal(check_text(schema, "null", NULL, &err), 0);
    assert_int_equal(check_text(schema, "1", NULL, &err), MCP_E_LIMIT);
    assert_int_equal(check_text(negated, "1", NULL, &err), MCP_E_LIMIT);
    mcp_schema_free(schema);
    mcp_schema_free(negated);
}

static void
limit_while_looking_for_faults_keeps_the_verdict(void **state)
{
    const mcp_schema_options few = MCP_SCHEMA_OPTIONS(.max_steps = 12);
    mcp_schema *schema = schema_with("{'items':{'minimum':5}}", &few);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 100);

    (void)state;
    assert_int_equal(
        check_text(schema, "[1,2,3,4,1,2,3,4,1,2,3,4,1,2,3]", report, NULL),
        MCP_E_INVAL);
    assert_true(mcp_schema_report_is_cut(report));
    assert_in_range(mcp_schema_report_count(report), 1, 12);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void *
check_often(void *user)
{
    mcp_doc *good = doc_of("{'a':'abc','b':[1,2]}"),
            *bad = doc_of("{'a':'ABC','b':[1]}");

    for (int i = 0; i < 2000; i++) {
        if (mcp_schema_check(user, mcp_doc_root(good), NULL, NULL) != 0 ||
            mcp_schema_check(user, mcp_doc_root(bad), NULL, NULL) != MCP_E_INVAL)
            return user;
    }
    mcp_doc_free(good);
    mcp_doc_free(bad);
    return NULL;
}

static void
threads_share_a_schema(void **state)
{
    mcp_schema *schema = schema_of("{'properties':{'a':{'pattern':'^[a-z]+$'},"
                                   "'b':{'uniqueItems':true}},"
                                   "'unevaluatedProperties':false}");
    pthread_t threads[4];
    void *failed;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, check_often, schema), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    mcp_schema_free(schema);
}

TEST_MAIN(TEST(boolean_schemas_allow_all_or_nothing),
          TEST(faults_of_types_are_sentences), TEST(faults_of_choices_are_sentences),
          TEST(error_is_the_first_fault), TEST(error_of_a_long_path_still_says_why),
          TEST(steps_are_limited), TEST(large_values_have_steps_of_their_own),
          TEST(depth_is_limited), TEST(conditional_circle_ends_at_the_depth),
          TEST(limit_while_looking_for_faults_keeps_the_verdict),
          TEST(threads_share_a_schema))
