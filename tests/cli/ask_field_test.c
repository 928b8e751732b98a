/* cli/ask_field_test.c - proves cli/ask_field.c: one value, asked for until it fits */
#include "cli/ask_parts.h"
#include "cli/desk.h"

struct asked {
    struct desk desk;
    enum cli_answer answer;
    struct cli_text json;
};

/* Asks for "x" of this schema while that is typed. */
static void
ask(struct asked *asked, const char *field, bool is_required, const char *typed)
{
    struct cli_text schema = {0};
    struct cli_question question = {.name = "x", .is_required = is_required};
    mcp_schema *compiled = NULL;
    struct cli_turn turn;
    mcp_doc *doc;

    memset(asked, 0, sizeof(*asked));
    desk_open(&asked->desk);
    cli_text_printf(&schema, "{'properties':{'x':%s}}", field);
    doc = desk_json(cli_text_string(&schema));
    assert_int_equal(mcp_schema_compile(mcp_doc_root(doc), NULL, &compiled, NULL), 0);
    question.root = mcp_doc_root(doc);
    question.compiled = compiled;
    question.field = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "properties"), "x");
    desk_type(&asked->desk, typed);
    assert_true(cli_turn_begin(&turn, &asked->desk.cli, -1));
    asked->answer = cli_ask_field(&turn, &question, &asked->json);
    cli_turn_end(&turn);
    (void)desk_shown(&asked->desk);
    mcp_schema_free(compiled);
    mcp_doc_free(doc);
    cli_text_done(&schema);
}

static void
asked_done(struct asked *asked)
{
    cli_text_done(&asked->json);
    desk_close(&asked->desk);
}

static void
assert_answer(const char *field, bool is_required, const char *typed, const char *json)
{
    struct asked asked;

    ask(&asked, field, is_required, typed);
    assert_int_equal(asked.answer, json ? CLI_ANSWER_GIVEN : CLI_ANSWER_NONE);
    assert_string_equal(cli_text_string(&asked.json), json ? json : "");
    asked_done(&asked);
}

static void
an_answer_has_the_type_of_the_schema(void **state)
{
    (void)state;
    assert_answer("{'type':'integer'}", true, "5\n", "5");
    assert_answer("{'type':'string'}", true, "5\n", "\"5\"");
    assert_answer("{'type':'boolean'}", true, "Yes\n", "true");
    assert_answer("{'type':'boolean'}", true, "n\n", "false");
    assert_answer("{'type':'array','items':{'type':'integer'}}", true, "1,2\n",
                  "[1,2]");
}

static void
an_empty_line_takes_the_default_or_leaves_it_out(void **state)
{
    (void)state;
    assert_answer("{'type':'integer','default':7}", true, "\n", "7");
    assert_answer("{'type':'integer','default':7}", false, "\n", "7");
    assert_answer("{'type':'integer'}", false, "\n", NULL);
    assert_answer("{'type':'integer'}", true, "\n4\n", "4");
}

static void
choices_are_numbered(void **state)
{
    struct asked asked;

    (void)state;
    ask(&asked, "{'oneOf':[{'const':'r','title':'Red'},{'const':'b','title':'Blue'}]}",
        true, "9\n2\n");
    assert_string_equal(cli_text_string(&asked.json), "\"b\"");
    assert_has(asked.desk.shown, "1) Red");
    assert_has(asked.desk.shown, "2) Blue");
    asked_done(&asked);
    assert_answer("{'enum':['r','b']}", true, "r\n", "\"r\"");
    assert_answer("{'oneOf':[{'const':'r','title':'Red'}]}", true, "red\n", "\"r\"");
    assert_answer("{'enum':[2,1]}", true, "1\n", "1");
}

static void
several_may_be_chosen(void **state)
{
    (void)state;
    assert_answer("{'type':'array','items':{'enum':['a','b','c']}}", true, "1, c\n",
                  "[\"a\",\"c\"]");
    assert_answer("{'type':'array','items':{'enum':['a','b']}}", true, "z\n2\n",
                  "[\"b\"]");
}

static void
what_does_not_fit_is_explained_and_asked_again(void **state)
{
    struct asked asked;

    (void)state;
    ask(&asked, "{'type':'integer','maximum':5,'description':'How many'}", true,
        "x\n6\n5\n");
    assert_string_equal(cli_text_string(&asked.json), "5");
    assert_has(asked.desk.shown, "x: How many\r\n");
    assert_has(asked.desk.shown, "  integer, at most 5\r\n");
    assert_has(asked.desk.shown, "It must be an integer, not \"x\"");
    assert_has(asked.desk.shown, "It must be at most 5");
    asked_done(&asked);
}

static void
the_end_of_the_input_is_no_answer(void **state)
{
    struct asked asked;

    (void)state;
    ask(&asked, "{'type':'string'}", true, "\004");
    assert_int_equal(asked.answer, CLI_ANSWER_END);
    asked_done(&asked);
}

TEST_MAIN(TEST(an_answer_has_the_type_of_the_schema),
          TEST(an_empty_line_takes_the_default_or_leaves_it_out),
          TEST(choices_are_numbered), TEST(several_may_be_chosen),
          TEST(what_does_not_fit_is_explained_and_asked_again),
          TEST(the_end_of_the_input_is_no_answer))
