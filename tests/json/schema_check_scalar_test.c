/* json/schema_check_scalar_test.c - proves json/schema_check_scalar.c */
#include "json/schema_fixture.h"

static void
bounds_are_exact(void **state)
{
    (void)state;
    verdicts("{'minimum':1.5}", "[1,1.5,2,'x']", "NYYY");
    verdicts("{'maximum':9007199254740992}",
             "[9007199254740992,9007199254740993,-1,9007199254740992.0]", "YNYY");
    verdicts("{'exclusiveMinimum':0}", "[0,-0.0,1e-300,1]", "NNYY");
    verdicts("{'exclusiveMaximum':18446744073709551615}",
             "[18446744073709551615,18446744073709551614,1e20]", "NYN");
    verdicts("{'minimum':-9223372036854775808}", "[-9223372036854775808,-1e19]", "YN");
}

static void
multiples_are_those_of_decimals(void **state)
{
    (void)state;
    verdicts("{'multipleOf':0.01}", "[19.99,0.075,4,-3.5]", "YNYY");
    verdicts("{'multipleOf':3}", "[9,10,9.0,-9,1e300,3e300,'x']", "YNYYNYY");
    /* reals that are written without an exponent */
    verdicts("{'multipleOf':7}", "[7e20,1e20,70000000000000000000,7.70]", "YNYN");
}

static void
lengths_count_characters(void **state)
{
    (void)state;
    verdicts("{'minLength':2,'maxLength':3}",
             "['a','ab','abc','abcd','\xC3\xA4','\xC3\xA4\xC3\xB6',"
             "'\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80',1]",
             "NYYNNYYY");
    verdicts("{'maxLength':0}", "['','a']", "YN");
}

static void
patterns_are_searched(void **state)
{
    (void)state;
    verdicts("{'pattern':'b+'}", "['abc','ac',1]", "YNY");
    verdicts("{'pattern':'^\\\\p{Letter}+$'}", "['\xC3\xA4z','1']", "YN");
}

static void
formats_are_asserted_on_request(void **state)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.assert_formats = true);

    (void)state;
    verdicts("{'format':'date'}", "['x']", "Y");
    verdicts_with("{'format':'date'}", &opt, "['x','2026-07-28',5]", "NYY");
    verdicts_with("{'format':'unheard-of'}", &opt, "['x']", "Y");
}

static void
format_regex_is_what_patterns_are(void **state)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.assert_formats = true);
    mcp_schema *schema = schema_with("{'format':'regex'}", &opt);
    char text[5000];

    (void)state;
    verdicts("{'format':'regex'}", "['^(abc]']", "Y");
    verdicts_with("{'format':'regex'}", &opt,
                  "['^[a-z]+$','','(?<y>a)\\\\k<y>','^(abc]','a**','(?i)a','\\\\Z',5]",
                  "YYYNNNNY");
    /* what PCRE2 cannot do, or is too long for us, may be one nevertheless */
    assert_int_equal(check_text(schema, "'(?<=a*)b'", NULL, NULL), 0);
    memset(text, 'a', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '\'';
    text[sizeof text - 1] = '\0';
    assert_int_equal(check_text(schema, text, NULL, NULL), 0);
    mcp_schema_free(schema);
}

static void
many_regexes_are_paid_for(void **state)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.assert_formats = true,
                                                      .max_steps = 1000);
    mcp_schema *schema = schema_with("{'items':{'format':'regex'}}", &opt);
    mcp_error err;

    (void)state;
    assert_int_equal(check_text(schema, "['a','b','c','d']", NULL, NULL), 0);
    assert_int_equal(
        check_text(schema, "['a','a','a','a','a','a','a','a','a','a']", NULL, &err),
        MCP_E_LIMIT);
    assert_string_equal(err.message, "the schema takes too many steps");
    mcp_schema_free(schema);
}

static void
faults_are_sentences(void **state)
{
    (void)state;
    first_fault("{'minimum':1.5}", "1", "minimum  #/minimum must be at least 1.5");
    first_fault("{'maximum':1}", "2", "maximum  #/maximum must be at most 1");
    first_fault("{'exclusiveMinimum':1}", "1",
                "exclusiveMinimum  #/exclusiveMinimum must be above 1");
    first_fault("{'exclusiveMaximum':1}", "1",
                "exclusiveMaximum  #/exclusiveMaximum must be below 1");
    first_fault("{'multipleOf':2}", "1",
                "multipleOf  #/multipleOf must be a multiple of 2");
    first_fault("{'minLength':2}", "''",
                "minLength  #/minLength must have at least 2 characters");
    first_fault("{'maxLength':0}", "'a'",
                "maxLength  #/maxLength must have at most 0 characters");
    first_fault("{'pattern':'^a'}", "'b'",
                "pattern  #/pattern must match the pattern ^a");
}

static void
several_faults_of_one_value_are_told(void **state)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.assert_formats = true);
    mcp_schema *schema = schema_with("{'minLength':5,'pattern':'b','format':'uuid'}",
                                     &opt);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);

    (void)state;
    assert_int_equal(check_text(schema, "'a'", report, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_schema_report_count(report), 3);
    mcp_schema_report_free(report);
    mcp_schema_free(schema);
}

TEST_MAIN(TEST(bounds_are_exact), TEST(multiples_are_those_of_decimals),
          TEST(lengths_count_characters), TEST(patterns_are_searched),
          TEST(formats_are_asserted_on_request),
          TEST(format_regex_is_what_patterns_are), TEST(many_regexes_are_paid_for),
          TEST(faults_are_sentences), TEST(several_faults_of_one_value_are_told))
