/* cli/args_ask_test.c - proves cli/args_ask.c: those that are missing */
#include "cli/args_parts.h"
#include "cli/desk.h"

#define TRIP                                                            \
    "{'properties':{'city':{'type':'string','description':'Where to'}," \
    "'days':{'type':'integer','minimum':1}},'required':['city','days']}"

struct asked {
    struct desk desk;
    mcp_doc *schema;
    struct cli_args args;
    struct cli_text json;
    int code;
};

static void
asked_begin(struct asked *a, const char *schema)
{
    memset(a, 0, sizeof(*a));
    desk_open(&a->desk);
    a->schema = desk_json(schema);
    a->args = (struct cli_args){.cli = &a->desk.cli, .schema = mcp_doc_root(a->schema)};
    cli_args_compile(&a->args);
}

static void
asked_run(struct asked *a)
{
    desk_hear(&a->desk);
    a->code = cli_args_ask(&a->args);
    (void)desk_heard(&a->desk);
    cli_node_write(&a->args.root, &a->json);
}

static void
asked_done(struct asked *a)
{
    cli_text_done(&a->json);
    cli_text_done(&a->args.faults);
    cli_node_done(&a->args.root);
    mcp_schema_free(a->args.compiled);
    mcp_doc_free(a->schema);
    desk_close(&a->desk);
}

static void
what_is_missing_is_asked_for(void **state)
{
    struct asked a;

    (void)state;
    asked_begin(&a, TRIP);
    desk_type(&a.desk, "Oslo\n0\n3\n");
    asked_run(&a);
    assert_int_equal(a.code, CLI_OK);
    assert_string_equal(cli_text_string(&a.json), "{\"city\":\"Oslo\",\"days\":3}");
    assert_has(desk_shown(&a.desk), "city: Where to");
    assert_has(desk_shown(&a.desk), "must be at least 1");
    asked_done(&a);
}

static void
what_is_there_is_not_asked_for(void **state)
{
    struct asked a;

    (void)state;
    asked_begin(&a, "{'properties':{'x':{}},'required':['x']}");
    assert_true(cli_node_set(cli_node_add(&a.args.root, "x", 1), "1", 1));
    asked_run(&a);
    assert_int_equal(a.code, CLI_OK);
    assert_string_equal(desk_shown(&a.desk), "");
    asked_done(&a);
}

static void
without_a_terminal_all_are_named(void **state)
{
    struct asked a;

    (void)state;
    asked_begin(&a, TRIP);
    a.desk.cli.may_ask = false;
    asked_run(&a);
    assert_int_equal(a.code, CLI_OTHER);
    assert_has(a.desk.heard, "city: is required and missing; the schema says: string, "
                             "\"Where to\"\n");
    assert_has(a.desk.heard, "days: is required and missing");
    assert_has(a.desk.heard, "nothing was sent; give city=VALUE days=VALUE\n");
    asked_done(&a);
}

static void
the_end_of_the_input_is_as_no_terminal(void **state)
{
    struct asked a;

    (void)state;
    asked_begin(&a, TRIP);
    desk_type(&a.desk, "Oslo\n\004");
    asked_run(&a);
    assert_int_equal(a.code, CLI_OTHER);
    assert_has(a.desk.heard, "days: is required and missing");
    assert_null(strstr(a.desk.heard, "city: is required"));
    asked_done(&a);
}

static void
a_cancel_ends_the_questions(void **state)
{
    struct asked a;

    (void)state;
    asked_begin(&a, TRIP);
    assert_int_equal(mcp_scope_cancel(a.desk.cli.scope, NULL), 0);
    asked_run(&a);
    assert_int_equal(a.code, CLI_CANCELED);
    assert_has(a.desk.heard, "canceled; nothing was sent");
    asked_done(&a);
}

TEST_MAIN(TEST(what_is_missing_is_asked_for), TEST(what_is_there_is_not_asked_for),
          TEST(without_a_terminal_all_are_named),
          TEST(the_end_of_the_input_is_as_no_terminal),
          TEST(a_cancel_ends_the_questions))
