/* json/schema_check_logic_test.c - proves json/schema_check_logic.c */
#include "json/schema_fixture.h"

static void
alternatives_are_combined(void **state)
{
    (void)state;
    verdicts("{'allOf':[{'minimum':1},{'maximum':3}]}", "[0,1,3,4]", "NYYN");
    verdicts("{'anyOf':[{'type':'null'},{'minimum':5}]}", "[null,5,4,'']", "YYNY");
    verdicts("{'oneOf':[{'multipleOf':2},{'multipleOf':3}]}", "[2,3,6,5]", "YYNN");
    verdicts("{'not':{'type':'null'}}", "[null,1]", "NY");
}

static void
condition_chooses(void **state)
{
    (void)state;
    verdicts("{'if':{'type':'number'},'then':{'minimum':5},'else':{'type':'string'}}",
             "[5,4,'',null]", "YNYN");
    verdicts("{'if':false,'then':false}", "[1]", "Y");
    verdicts("{'then':false,'else':false}", "[1]", "Y");
    verdicts("{'if':true}", "[1]", "Y");
}

static void
dynamic_references_look_outwards(void **state)
{
    static const char *const tree =
        "{'$id':'http://a/strict','$dynamicAnchor':'node','$ref':'tree',"
        "'unevaluatedProperties':false,'$defs':{'tree':{'$id':'tree',"
        "'$dynamicAnchor':'node','properties':{'data':true,'children':{'items':"
        "{'$dynamicRef':'#node'}}}}}}";

    (void)state;
    verdicts(tree, "[{'children':[{'data':1}]},{'children':[{'daat':1}]}]", "YN");
    verdicts("{'$dynamicRef':'#/$defs/a','$defs':{'a':{'type':'null'}}}", "[null,1]",
             "YN");
}

static void
faults_are_sentences(void **state)
{
    (void)state;
    first_fault("{'anyOf':[{'type':'null'},{'type':'string'}]}", "1",
                "anyOf  #/anyOf must match at least one of 2 alternatives");
    first_fault("{'oneOf':[true,true,false]}", "1",
                "oneOf  #/oneOf must match exactly one of 3 alternatives, not several");
    first_fault("{'oneOf':[false]}", "1",
                "oneOf  #/oneOf must match exactly one of 1 alternatives, not none");
    first_fault("{'not':true}", "1", "not  #/not must not be as the schema forbids");
    first_fault("{'if':true,'then':{'type':'null'}}", "1",
                "type  #/then/type must be null, not an integer");
    first_fault("{'$ref':'#/$defs/a','$defs':{'a':{'type':'null'}}}", "1",
                "type  #/$defs/a/type must be null, not an integer");
}

static void
the_likely_alternative_says_what_it_misses(void **state)
{
    mcp_schema *schema = schema_of(
        "{'anyOf':[{'type':'null'},{'type':'object','required':['a']}]}");
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    mcp_schema_fault fault;

    (void)state;
    assert_int_equal(check_text(schema, "{}", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 2);
    assert_true(mcp_schema_report_get(report, 1, &fault));
    assert_string_equal(fault.keyword, "required");
    assert_string_equal(fault.schema_path, "#/anyOf/1/required");
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

static void
failed_alternatives_leave_no_faults(void **state)
{
    mcp_schema *schema = schema_of("{'anyOf':[{'type':'null'},{'type':'integer'}],"
                                   "'not':{'type':'array'},'maximum':0}");
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);

    (void)state;
    assert_int_equal(check_text(schema, "1", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 1);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

TEST_MAIN(TEST(alternatives_are_combined), TEST(condition_chooses),
          TEST(dynamic_references_look_outwards), TEST(faults_are_sentences),
          TEST(the_likely_alternative_says_what_it_misses),
          TEST(failed_alternatives_leave_no_faults))
