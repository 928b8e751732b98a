/* cli/field_describe_test.c - proves cli/field_describe.c: a schema for a person */
#include <string.h>

#include "cli/args.h"
#include "cli/desk.h"
#include "cli/field.h"

static void
assert_described(const char *schema, const char *text)
{
    mcp_doc *doc = desk_json(schema);
    struct cli_text into = {0};

    cli_field_describe(mcp_doc_root(doc), mcp_doc_root(doc), &into);
    assert_string_equal(cli_text_string(&into), text);
    cli_text_done(&into);
    mcp_doc_free(doc);
}

static void
numbers_have_limits_and_a_default(void **state)
{
    (void)state;
    assert_described("{'type':'integer','minimum':1,'maximum':10,'default':5}",
                     "integer, 1 to 10, default 5");
    assert_described("{'type':'number','exclusiveMinimum':0,'multipleOf':0.5}",
                     "number, more than 0, a multiple of 0.5");
    assert_described("{'type':'integer','maximum':3}", "integer, at most 3");
    assert_described("{'type':['integer','null'],'minimum':3}",
                     "integer or null, at least 3");
}

static void
strings_have_lengths_formats_and_patterns(void **state)
{
    (void)state;
    assert_described("{'type':'string','minLength':1,'maxLength':9,'format':'email'}",
                     "string, 1 to 9 characters, format email");
    assert_described("{'type':'string','pattern':'^a+$'}", "string, pattern ^a+$");
}

static void
choices_stand_for_the_type(void **state)
{
    (void)state;
    assert_described("{'type':'string','enum':['a','b'],'default':'a'}",
                     "one of \"a\", \"b\", default \"a\"");
    assert_described("{'const':3}", "always 3");
    assert_described("{'enum':[1,2,3,4,5,6,7,8,9,10,11,12,13]}",
                     "one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, ...");
}

static void
arrays_name_their_elements(void **state)
{
    (void)state;
    assert_described("{'type':'array','items':{'type':'integer'},'minItems':2}",
                     "array of integer, at least 2 elements");
    assert_described("{'type':'array','items':{'enum':['x','y']}}",
                     "array of elements, one of \"x\", \"y\"");
    assert_described("{'type':'array'}", "array");
}

static void
nothing_said_is_nothing_shown(void **state)
{
    (void)state;
    assert_described("{}", "");
    assert_described("{'description':'free'}", "");
}

static void
references_are_followed_or_named(void **state)
{
    mcp_doc *doc = desk_json("{'p':{'$ref':'#/$defs/Color'},"
                             "'$defs':{'Color':{'enum':['red','blue']}}}");
    const mcp_json *field = mcp_json_get(mcp_doc_root(doc), "p");
    struct cli_text alone = {0}, within = {0};

    (void)state;
    cli_args_describe(field, &alone);
    cli_args_describe_in(mcp_doc_root(doc), field, &within);
    assert_string_equal(cli_text_string(&alone), "Color");
    assert_string_equal(cli_text_string(&within), "one of \"red\", \"blue\"");
    cli_text_done(&alone);
    cli_text_done(&within);
    mcp_doc_free(doc);
}

static void
texts_of_a_server_are_harmless_and_short(void **state)
{
    mcp_doc *doc = desk_json("['a\\u001b[31mb']");
    struct cli_text into = {0};

    (void)state;
    cli_field_show(mcp_json_at(mcp_doc_root(doc), 0), &into);
    assert_string_equal(cli_text_string(&into), "ab");
    cli_text_done(&into);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(numbers_have_limits_and_a_default),
          TEST(strings_have_lengths_formats_and_patterns),
          TEST(choices_stand_for_the_type), TEST(arrays_name_their_elements),
          TEST(nothing_said_is_nothing_shown), TEST(references_are_followed_or_named),
          TEST(texts_of_a_server_are_harmless_and_short))
