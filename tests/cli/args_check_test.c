/* cli/args_check_test.c - proves cli/args_check.c: faults with field and schema */
#include "cli/args_parts.h"
#include "cli/desk.h"

struct check {
    struct desk desk;
    mcp_doc *schema;
    struct cli_args args;
};

static void
check_run(struct check *c, const char *schema, const char *json)
{
    memset(c, 0, sizeof(*c));
    desk_open(&c->desk);
    c->schema = desk_json(schema);
    c->args = (struct cli_args){.cli = &c->desk.cli, .schema = mcp_doc_root(c->schema)};
    desk_hear(&c->desk);
    cli_args_compile(&c->args);
    cli_args_check(&c->args, json, strlen(json));
    (void)desk_heard(&c->desk);
}

static void
check_done(struct check *c)
{
    cli_text_done(&c->args.faults);
    mcp_schema_free(c->args.compiled);
    mcp_doc_free(c->schema);
    desk_close(&c->desk);
}

#define CITY \
    "{'properties':{'city':{'type':'string','description':'the city\\u2019s'}}}"

static void
a_fault_names_the_field_and_the_schema(void **state)
{
    struct check c;

    (void)state;
    check_run(&c, CITY, "{\"city\":5}");
    assert_string_equal(cli_text_string(&c.args.faults),
                        "city: must be a string, not an integer; the schema says: "
                        "string, \"the city\u2019s\"");
    check_done(&c);
}

static void
what_fits_has_no_fault(void **state)
{
    struct check c;

    (void)state;
    check_run(&c, CITY, "{\"city\":\"Oslo\"}");
    assert_int_equal(c.args.fault_count, 0);
    check_done(&c);
}

static void
a_path_becomes_a_dotted_name(void **state)
{
    struct check c;

    (void)state;
    check_run(&c,
              "{'properties':{'a':{'type':'array','items':{'properties':"
              "{'x/y':{'type':'integer','maximum':3}}}}}}",
              "{\"a\":[{},{\"x/y\":4}]}");
    assert_string_equal(cli_text_string(&c.args.faults),
                        "a[1].x/y: must be at most 3; the schema says: integer, at "
                        "most 3");
    check_done(&c);
}

static void
the_whole_is_called_arguments(void **state)
{
    struct check c;

    (void)state;
    check_run(&c, "{'minProperties':1}", "{}");
    assert_has(cli_text_string(&c.args.faults), "arguments: must have at least 1");
    check_done(&c);
}

static void
a_schema_that_is_none_is_noted_and_nothing_is_checked(void **state)
{
    struct check c;

    (void)state;
    check_run(&c, "{'type':'nonsense'}", "{}");
    assert_has(c.desk.heard, "the server's schema cannot be used, so the arguments are "
                             "not checked");
    assert_int_equal(c.args.fault_count, 0);
    check_done(&c);
}

static void
one_value_is_checked_without_the_others(void **state)
{
    struct cli_text why = {0};
    struct check c;

    (void)state;
    check_run(&c,
              "{'properties':{'a~b':{'maxLength':2},'c':{}},'required':['c','a~b']}",
              "{\"c\":1,\"a~b\":\"\"}");
    assert_true(cli_args_check_one(c.args.compiled, "a~b", "\"xx\"", &why));
    assert_false(cli_args_check_one(c.args.compiled, "a~b", "\"xxx\"", &why));
    assert_string_equal(cli_text_string(&why), "must have at most 2 characters");
    assert_true(cli_args_check_one(NULL, "a~b", "\"xxx\"", &(struct cli_text){0}));
    cli_text_done(&why);
    check_done(&c);
}

static void
faults_are_lines_or_one_line_of_json(void **state)
{
    struct check c;

    (void)state;
    check_run(&c, "{'properties':{'a':{'type':'string'},'b':{'type':'string'}}}",
              "{\"a\":1,\"b\":2}");
    desk_hear(&c.desk);
    (void)cli_args_say_faults(&c.args, "nothing was sent");
    assert_has(desk_heard(&c.desk), "mcpctl: a: must be a string, not an integer; the "
                                    "schema says: string\nmcpctl: b: ");
    assert_has(c.desk.heard, "mcpctl: nothing was sent\n");
    c.desk.cli.say.is_json = true;
    desk_hear(&c.desk);
    (void)cli_args_say_faults(&c.args, "nothing was sent");
    assert_has(desk_heard(&c.desk), "{\"error\":{\"message\":\"nothing was sent\","
                                    "\"faults\":[\"a: must be");
    assert_has(c.desk.heard, "]},\"exit\":1}\n");
    check_done(&c);
}

TEST_MAIN(TEST(a_fault_names_the_field_and_the_schema), TEST(what_fits_has_no_fault),
          TEST(a_path_becomes_a_dotted_name), TEST(the_whole_is_called_arguments),
          TEST(a_schema_that_is_none_is_noted_and_nothing_is_checked),
          TEST(one_value_is_checked_without_the_others),
          TEST(faults_are_lines_or_one_line_of_json))
