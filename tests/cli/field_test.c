/* cli/field_test.c - proves cli/field.c: what a schema says of one value */
#include "cli/field.h"

#include <string.h>

#include "cli/desk.h"

static unsigned
types_of(const char *schema)
{
    mcp_doc *doc = desk_json(schema);
    unsigned types = cli_field_types(mcp_doc_root(doc), mcp_doc_root(doc));

    mcp_doc_free(doc);
    return types;
}

static void
types_are_one_or_a_list(void **state)
{
    (void)state;
    assert_int_equal(types_of("{'type':'integer'}"), CLI_TYPE_INTEGER);
    assert_int_equal(types_of("{'type':'number'}"), CLI_TYPE_INTEGER | CLI_TYPE_NUMBER);
    assert_int_equal(types_of("{'type':['string','null']}"),
                     CLI_TYPE_STRING | CLI_TYPE_NULL);
    assert_int_equal(types_of("{}"), CLI_TYPE_ANY);
    assert_int_equal(types_of("true"), CLI_TYPE_ANY);
}

static void
types_come_from_alternatives_values_and_references(void **state)
{
    (void)state;
    assert_int_equal(types_of("{'anyOf':[{'type':'integer'},{'type':'null'}]}"),
                     CLI_TYPE_INTEGER | CLI_TYPE_NULL);
    assert_int_equal(types_of("{'oneOf':[{'const':'a'},{'const':'b'}]}"),
                     CLI_TYPE_STRING);
    assert_int_equal(types_of("{'enum':[1,true]}"), CLI_TYPE_INTEGER | CLI_TYPE_BOOL);
    assert_int_equal(
        types_of("{'$ref':'#/$defs/a~1b','$defs':{'a/b':{'type':'array'}}}"),
        CLI_TYPE_ARRAY);
    assert_int_equal(types_of("{'$ref':'#/%24defs/x','$defs':{'x':{'type':'null'}}}"),
                     CLI_TYPE_NULL);
    assert_int_equal(types_of("{'allOf':[{'type':['string','null']},{'type':'null'}]}"),
                     CLI_TYPE_NULL);
}

static void
schemas_that_lead_to_themselves_end(void **state)
{
    (void)state;
    assert_int_equal(types_of("{'$ref':'#'}"), CLI_TYPE_ANY);
    assert_int_equal(types_of("{'anyOf':[{'$ref':'#'},{'$ref':'#'},{'$ref':'#'},"
                              "{'$ref':'#'},{'$ref':'#'},{'$ref':'#'}]}"),
                     CLI_TYPE_ANY);
    assert_int_equal(types_of("{'$ref':'https://example.com/x'}"), CLI_TYPE_ANY);
}

static void
members_are_found_behind_references(void **state)
{
    mcp_doc *doc = desk_json(
        "{'allOf':[{'$ref':'#/$defs/p'}],'$defs':{'p':{'properties':"
        "{'city':{'type':'string'}},'required':['city']}}}");
    const mcp_json *root = mcp_doc_root(doc);

    (void)state;
    assert_non_null(cli_field_member(root, root, "city", 4));
    assert_null(cli_field_member(root, root, "cit", 3));
    assert_null(cli_field_member(NULL, NULL, "city", 4));
    assert_true(cli_field_is_required(root, root, "city"));
    assert_false(cli_field_is_required(root, root, "town"));
    mcp_doc_free(doc);
}

static void
what_an_alternative_requires_is_not_required(void **state)
{
    mcp_doc *doc = desk_json("{'anyOf':[{'required':['a']},{'required':['b']}]}");

    (void)state;
    assert_false(cli_field_is_required(mcp_doc_root(doc), mcp_doc_root(doc), "a"));
    mcp_doc_free(doc);
}

static void
choices_have_titles_if_the_schema_has(void **state)
{
    struct cli_choice choices[CLI_CHOICES_MAX];
    mcp_doc *doc = desk_json("[{'enum':['a','b'],'enumNames':['First']},"
                             "{'oneOf':[{'const':'x','title':'Ex'}]},"
                             "{'type':'array','items':{'enum':[1,2,3]}}]");
    const mcp_json *list = mcp_doc_root(doc);

    (void)state;
    assert_int_equal(cli_field_choices(NULL, mcp_json_at(list, 0), choices), 2);
    assert_string_equal(choices[0].title, "First");
    assert_null(choices[1].title);
    assert_int_equal(cli_field_choices(NULL, mcp_json_at(list, 1), choices), 1);
    assert_string_equal(choices[0].title, "Ex");
    assert_int_equal(cli_field_choices(NULL, mcp_json_at(list, 2), choices), 3);
    mcp_doc_free(doc);
}

static void
passwords_are_secrets(void **state)
{
    mcp_doc *doc = desk_json("[{'format':'password'},{'writeOnly':true},{}]");

    (void)state;
    assert_true(cli_field_is_secret(NULL, mcp_json_at(mcp_doc_root(doc), 0)));
    assert_true(cli_field_is_secret(NULL, mcp_json_at(mcp_doc_root(doc), 1)));
    assert_false(cli_field_is_secret(NULL, mcp_json_at(mcp_doc_root(doc), 2)));
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(types_are_one_or_a_list),
          TEST(types_come_from_alternatives_values_and_references),
          TEST(schemas_that_lead_to_themselves_end),
          TEST(members_are_found_behind_references),
          TEST(what_an_alternative_requires_is_not_required),
          TEST(choices_have_titles_if_the_schema_has), TEST(passwords_are_secrets))
