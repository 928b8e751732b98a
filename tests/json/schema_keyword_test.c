/* json/schema_keyword_test.c - proves json/schema_keyword.c: what keywords may hold */
#include "json/schema.h"
#include "json/schema_fixture.h"

static void
keywords_of_a_wrong_type_are_refused(void **state)
{
    static const char *const bad[] = {
        "'type':1",
        "'type':'text'",
        "'type':[]",
        "'type':['null',1]",
        "'enum':1",
        "'minimum':'1'",
        "'maximum':null",
        "'exclusiveMinimum':true",
        "'exclusiveMaximum':[]",
        "'multipleOf':0",
        "'multipleOf':-1",
        "'multipleOf':-0.5",
        "'multipleOf':'1'",
        "'minLength':-1",
        "'maxLength':1.5",
        "'pattern':1",
        "'pattern':'('",
        "'format':1",
        "'prefixItems':[]",
        "'prefixItems':{}",
        "'items':[true]",
        "'contains':1",
        "'minItems':'1'",
        "'maxItems':-1",
        "'uniqueItems':1",
        "'contains':true,'minContains':-1",
        "'contains':true,'minContains':1,'maxContains':'x'",
        "'allOf':[]",
        "'anyOf':{}",
        "'oneOf':[1]",
        "'not':1",
        "'if':1",
        "'then':[]",
        "'else':null",
        "'$ref':1",
        "'$dynamicRef':{}",
        "'$defs':[]",
        "'$defs':{'a':1}",
        "'definitions':1",
        "'contentSchema':5",
        "'unevaluatedItems':1",
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof text, "{'properties':{'x':{%s}}}", bad[i]);
        assert_int_equal(refused(text, "#/properties/x/"), MCP_E_INVAL);
    }
}

static void
unknown_keywords_and_remarks_are_let_pass(void **state)
{
    (void)state;
    verdicts("{'x-mcp-header':[],'title':5,'$comment':1,'examples':1,'deprecated':2,"
             "'contentEncoding':'base64','contentMediaType':'application/json',"
             "'contentSchema':{'type':'null'},'format':'ipv4','default':1}",
             "[1,'{',null]", "YYY");
}

static void
types_are_single_or_listed(void **state)
{
    verdicts("{'type':'null'}", "[null,0,'']", "YNN");
    verdicts("{'type':['integer','string']}", "[1,1.0,1.5,'a',null]", "YYNYN");
    verdicts("{'type':['number','null']}", "[1,1.5,null,'']", "YYYN");
    verdicts("{'type':['array','object','boolean']}", "[[],{},false,1]", "YYYN");
    (void)state;
}

static void
choices_are_found_in_short_and_long_lists(void **state)
{
    (void)state;
    verdicts("{'enum':[1,'a',null,[1],{'b':2}]}", "[1.0,'a',null,[1],{'b':2},2,'b']",
             "YYYYYNN");
    verdicts("{'enum':['a','b','c','d','e','f','g','h','i']}", "['a','i','j','',1]",
             "YYNNN");
    verdicts("{'const':{'a':[1,2.0]}}", "[{'a':[1.0,2]},{'a':[2,1]}]", "YN");
    verdicts("{'enum':[]}", "[1]", "N");
    verdicts("{'const':'x'}", "['x','y']", "YN");
}

static void
counts_may_be_written_as_reals(void **state)
{
    (void)state;
    verdicts("{'minLength':2.0}", "['a','ab']", "NY");
    verdicts("{'maxItems':1.0}", "[[1],[1,2]]", "YN");
}

static void
patterns_are_counted(void **state)
{
    char *text = malloc((MCPI_SCHEMA_PATTERNS_MAX + 1) * 20 + 20), *at = text;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i <= MCPI_SCHEMA_PATTERNS_MAX; i++)
        at += sprintf(at, "%s{'pattern':'a'}", i > 0 ? "," : "{'allOf':[");
    strcpy(at, "]}");
    assert_int_equal(refused(text, "patterns"), MCP_E_LIMIT);
    free(text);
}

static void
long_pattern_is_refused(void **state)
{
    char *text = malloc(MCPI_PATTERN_LENGTH_MAX + 100);
    size_t len = (size_t)sprintf(text, "{'pattern':'");

    (void)state;
    memset(text + len, 'a', MCPI_PATTERN_LENGTH_MAX + 1);
    strcpy(text + len + MCPI_PATTERN_LENGTH_MAX + 1, "'}");
    assert_int_equal(refused(text, "#/pattern"), MCP_E_LIMIT);
    free(text);
}

TEST_MAIN(TEST(keywords_of_a_wrong_type_are_refused),
          TEST(unknown_keywords_and_remarks_are_let_pass),
          TEST(types_are_single_or_listed),
          TEST(choices_are_found_in_short_and_long_lists),
          TEST(counts_may_be_written_as_reals), TEST(patterns_are_counted),
          TEST(long_pattern_is_refused))
