/* cli/field_value_test.c - proves cli/field_value.c: what was typed, as JSON */
#include <string.h>

#include "cli/desk.h"
#include "cli/field.h"

/* json NULL: it is refused, and `why` says so. */
static void
assert_read(const char *schema, const char *typed, const char *json, const char *why)
{
    mcp_doc *doc = desk_json(schema);
    struct cli_text into = {0}, said = {0};
    bool ok = cli_field_read(mcp_doc_root(doc), mcp_doc_root(doc), typed, strlen(typed),
                             &into, &said);

    assert_int_equal(ok, json != NULL);
    if (json)
        assert_string_equal(cli_text_string(&into), json);
    else
        assert_string_equal(cli_text_string(&said), why);
    cli_text_done(&into);
    cli_text_done(&said);
    mcp_doc_free(doc);
}

static void
without_a_type_it_is_a_string(void **state)
{
    (void)state;
    assert_read("{}", "5", "\"5\"", NULL);
    assert_read("{'type':'string'}", "tr\"ue", "\"tr\\\"ue\"", NULL);
    assert_read("{'type':'string'}", "", "\"\"", NULL);
}

static void
integers_keep_their_digits(void **state)
{
    (void)state;
    assert_read("{'type':'integer'}", "-7", "-7", NULL);
    assert_read("{'type':'integer'}", "9007199254740993", "9007199254740993", NULL);
    assert_read("{'type':'integer'}", "123456789012345678901234567890",
                "123456789012345678901234567890", NULL);
    assert_read("{'type':'integer'}", "5.0", "5.0", NULL);
    assert_read("{'type':'number'}", "2.50", "2.50", NULL);
}

static void
what_is_no_number_is_explained(void **state)
{
    (void)state;
    assert_read("{'type':'integer'}", "abc", NULL, "must be an integer, not \"abc\"");
    assert_read("{'type':'integer'}", "1.5", NULL, "must be an integer, not \"1.5\"");
    assert_read("{'type':'integer'}", " 1", NULL, "must be an integer, not \" 1\"");
    assert_read("{'type':'integer'}", "", NULL, "must be an integer, not \"\"");
    assert_read("{'type':['number','null']}", "x", NULL,
                "must be a number or null, not \"x\"");
}

static void
booleans_are_strict(void **state)
{
    (void)state;
    assert_read("{'type':'boolean'}", "true", "true", NULL);
    assert_read("{'type':'boolean'}", "false", "false", NULL);
    assert_read("{'type':'boolean'}", "yes", NULL,
                "must be true or false, not \"yes\"");
    assert_read("{'type':'boolean'}", "1", NULL, "must be true or false, not \"1\"");
}

static void
null_is_for_those_who_allow_it(void **state)
{
    (void)state;
    assert_read("{'type':['string','null']}", "null", "null", NULL);
    assert_read("{'type':'string'}", "null", "\"null\"", NULL);
    assert_read("{'anyOf':[{'type':'integer'},{'type':'null'}]}", "null", "null", NULL);
}

static void
a_string_is_what_fits_nothing_else(void **state)
{
    (void)state;
    assert_read("{'type':['string','integer']}", "5", "5", NULL);
    assert_read("{'type':['string','integer']}", "5.5", "\"5.5\"", NULL);
    assert_read("{'type':['string','array']}", "a,b", "\"a,b\"", NULL);
    assert_read("{'type':['string','array']}", "[1]", "[1]", NULL);
    assert_read("{'type':['string','object']}", "{x", "\"{x\"", NULL);
}

static void
arrays_are_json_or_have_commas(void **state)
{
    (void)state;
    assert_read("{'type':'array','items':{'type':'string'}}", "a,b", "[\"a\",\"b\"]",
                NULL);
    assert_read("{'type':'array','items':{'type':'integer'}}", "1,2", "[1,2]", NULL);
    assert_read("{'type':'array','items':{'type':'integer'}}", "[1, 2]", "[1, 2]",
                NULL);
    assert_read("{'type':'array'}", "", "[]", NULL);
    assert_read("{'type':'array','items':{'type':'integer'}}", "1,x", NULL,
                "its element 2 must be an integer, not \"x\"");
}

static void
objects_are_json(void **state)
{
    (void)state;
    assert_read("{'type':'object'}", "{\"a\":1}", "{\"a\":1}", NULL);
    assert_read("{'type':'object'}", "a", NULL,
                "must be an object in JSON, such as {\"name\":1}, not \"a\"");
}

static void
broken_json_says_what_is_broken(void **state)
{
    struct cli_text into = {0}, why = {0};
    mcp_doc *doc = desk_json("{'type':'array'}");

    (void)state;
    assert_false(cli_field_read(NULL, mcp_doc_root(doc), "[a,b]", 5, &into, &why));
    assert_has(cli_text_string(&why), "begins with [ but is not JSON: ");
    cli_text_done(&into);
    cli_text_done(&why);
    mcp_doc_free(doc);
}

static void
choices_are_taken_by_text_or_value(void **state)
{
    (void)state;
    assert_read("{'enum':['1',1,2]}", "1", "\"1\"", NULL);
    assert_read("{'enum':['1',1,2]}", "2", "2", NULL);
    assert_read("{'enum':['a',true]}", "true", "true", NULL);
    assert_read("{'enum':['a','b']}", "c", "\"c\"", NULL); /* for the check to refuse */
}

static void
what_is_not_utf8_is_refused(void **state)
{
    (void)state;
    assert_read("{}", "\xff", NULL, "is not a text in UTF-8");
}

TEST_MAIN(TEST(without_a_type_it_is_a_string), TEST(integers_keep_their_digits),
          TEST(what_is_no_number_is_explained), TEST(booleans_are_strict),
          TEST(null_is_for_those_who_allow_it),
          TEST(a_string_is_what_fits_nothing_else),
          TEST(arrays_are_json_or_have_commas), TEST(objects_are_json),
          TEST(broken_json_says_what_is_broken),
          TEST(choices_are_taken_by_text_or_value), TEST(what_is_not_utf8_is_refused))
