/* result_client_test.c - what a client answers: elicitations, samples, roots */
#include "api/result_fixture.h"
#include "core/versions.h"

/* Of a form with this schema; quotes are written as '. */
static mcp_result *
written_form(struct written *w, const char *schema)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = &w->mem.allocator);
    mcp_result *out = written_as(w, MCPI_RESULT_ELICITATION);
    char *copy = strdup(schema), *at;
    mcp_doc *doc;

    for (at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    assert_int_equal(mcp_doc_parse(copy, strlen(copy), NULL, &doc, NULL), 0);
    assert_int_equal(mcp_schema_compile(mcp_doc_root(doc), &opt, &out->form, NULL), 0);
    mcp_doc_free(doc);
    free(copy);
    return out;
}

#define WHO                                                                        \
    "{'type':'object','required':['name'],'properties':{'name':{'type':'string'}," \
    "'tea':{'type':'boolean','default':true},'sizes':{'type':'array'}}}"

/* ---- elicitations ------------------------------------------------------- */

static void
structured_output_means_accepted(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_json(written_form(&w, WHO),
                                     "{\"name\":\"Ann\",\n\"tea\":false}", 27),
                     0);
    written_is(&w, "{'action':'accept','content':{'name':'Ann','tea':false}}");
}

static void
an_answer_may_be_built_by_hand(void **state)
{
    struct written w;
    mcp_builder *b = mcp_result_builder(written_form(&w, WHO));

    (void)state;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "name", "Ann");
    mcp_builder_begin_array(b, "sizes");
    mcp_builder_string(b, NULL, "big");
    mcp_builder_end(b);
    mcp_builder_end(b);
    assert_int_equal(mcp_result_accept(&w.out), 0);
    written_is(&w, "{'action':'accept','content':{'name':'Ann','sizes':['big'],"
                   "'tea':true}}");
}

static void
what_is_missing_gets_its_default(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_json(written_form(&w, WHO), "{\"name\":\"Ann\"}", 14),
                     0);
    written_is(&w, "{'action':'accept','content':{'name':'Ann','tea':true}}");
    assert_int_equal(mcp_result_accept(written_form(
                         &w, "{'type':'object','properties':{'n':{'default':7}}}")),
                     0);
    written_is(&w, "{'action':'accept','content':{'n':7}}");
}

static void
what_does_not_fit_the_form_is_the_handlers_mistake(void **state)
{
    struct written w;

    (void)state;
    (void)mcp_result_json(written_form(&w, WHO), "{\"tea\":true}", 12);
    written_fails(&w, MCP_E_PROTO, "name");
    (void)mcp_result_accept(written_form(&w, WHO));
    written_fails(&w, MCP_E_PROTO, "name");
    (void)mcp_result_json(written_form(&w, WHO), "[]", 2);
    written_fails(&w, MCP_E_PROTO, "object");
    (void)mcp_result_json(written_form(&w, "{}"), "{\"a\":null}", 10);
    written_fails(&w, MCP_E_PROTO, "a is not what a form can have");
    (void)mcp_result_json(written_form(&w, "{}"), "{\"a\":[7]}", 9);
    written_fails(&w, MCP_E_PROTO, "a is not what a form can have");
    mcp_builder_begin_object(mcp_result_builder(written_form(&w, WHO)), NULL);
    written_fails(&w, MCP_E_STATE, "not finished");
}

static void
J10_no_and_neither_are_answers_without_content(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_decline(written_form(&w, WHO)), 0);
    written_is(&w, "{'action':'decline'}");
    (void)mcp_result_json(written_form(&w, WHO), "{\"tea\":7}", 9);
    assert_int_equal(mcp_result_dismiss(&w.out), 0);
    written_is(&w, "{'action':'cancel'}");
}

static void
a_url_is_accepted_without_content(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_accept(written_as(&w, MCPI_RESULT_ELICITATION)), 0);
    written_is(&w, "{'action':'accept'}");
    (void)mcp_result_json(written_as(&w, MCPI_RESULT_ELICITATION), "{}", 2);
    written_fails(&w, MCP_E_INVAL, "URL");
}

static void
nothing_is_no_answer(void **state)
{
    struct written w;

    (void)state;
    (void)written_form(&w, WHO);
    written_fails(&w, MCP_E_INVAL, "nothing");
    (void)mcp_result_accept(written_form(&w, "{}"));
    mcp_result_reset(&w.out);
    written_fails(&w, MCP_E_INVAL, "nothing");
}

/* ---- samples ------------------------------------------------------------ */

static void
one_block_stands_alone(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_model(written_as(&w, MCPI_RESULT_SAMPLE), "m-1"), 0);
    assert_int_equal(mcp_result_stop_reason(&w.out, "endTurn"), 0);
    assert_int_equal(mcp_result_text(&w.out, "hi"), 0);
    written_is(&w, "{'content': {'type':'text','text':'hi'},'model':'m-1',"
                   "'stopReason':'endTurn','role':'assistant'}");
}

static void
several_blocks_are_a_list(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_text(written_as(&w, MCPI_RESULT_SAMPLE), "hi"), 0);
    assert_int_equal(mcp_result_tool_use(&w.out, "u1", "look", "{ \"at\": [1] }"), 0);
    assert_int_equal(mcp_result_role(&w.out, MCP_ROLE_USER), 0);
    assert_int_equal(mcp_result_model(&w.out, "m"), 0);
    written_is(&w, "{'content':[{'type':'text','text':'hi'},{'type':'tool_use','id':"
                   "'u1','name':'look','input':{'at':[1]}}],'model':'m',"
                   "'role':'user'}");
}

static void
a_sample_names_its_model_and_says_something(void **state)
{
    struct written w;

    (void)state;
    (void)mcp_result_text(written_as(&w, MCPI_RESULT_SAMPLE), "hi");
    written_fails(&w, MCP_E_INVAL, "model");
    (void)mcp_result_model(written_as(&w, MCPI_RESULT_SAMPLE), "m");
    written_fails(&w, MCP_E_INVAL, "content");
    (void)mcp_result_model(written_as(&w, MCPI_RESULT_SAMPLE), "m");
    assert_int_equal(mcp_result_model(&w.out, "n"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "twice");
    assert_int_equal(
        mcp_result_tool_use(written_as(&w, MCPI_RESULT_SAMPLE), "u", "n", "[]"),
        MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "object");
    assert_int_equal(mcp_result_model(written_as(&w, MCPI_RESULT_SAMPLE), "\xff"),
                     MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "UTF-8");
}

static void
old_versions_have_one_block_and_no_tools(void **state)
{
    struct written w;

    (void)state;
    (void)mcp_result_model(written_as(&w, MCPI_RESULT_SAMPLE), "m");
    w.out.version = MCPI_VERSION_LINKS;
    (void)mcp_result_text(&w.out, "a");
    (void)mcp_result_text(&w.out, "b");
    written_fails(&w, MCP_E_INVAL, "one block");
    (void)written_as(&w, MCPI_RESULT_SAMPLE);
    w.out.version = MCPI_VERSION_LINKS;
    assert_int_equal(mcp_result_tool_use(&w.out, "u", "n", "{}"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "version");
}

/* ---- roots -------------------------------------------------------------- */

static void
roots_are_files(void **state)
{
    struct written w;

    (void)state;
    (void)written_as(&w, MCPI_RESULT_ROOTS);
    written_is(&w, "{'roots':[]}");
    assert_int_equal(
        mcp_result_root(written_as(&w, MCPI_RESULT_ROOTS), "file:///a", "A"), 0);
    assert_int_equal(mcp_result_root(&w.out, "file:///b", NULL), 0);
    written_is(&w, "{'roots':[{'uri':'file:///a','name':'A'},{'uri':'file:///b'}]}");
    assert_int_equal(
        mcp_result_root(written_as(&w, MCPI_RESULT_ROOTS), "http://a/", NULL),
        MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "file:");
}

/* ---- what is asked decides ---------------------------------------------- */

static void
what_was_not_asked_cannot_be_answered(void **state)
{
    struct written w;

    (void)state;
    assert_int_equal(mcp_result_accept(written_as(&w, MCPI_RESULT_ROOTS)), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "roots/list");
    assert_int_equal(
        mcp_result_root(written_as(&w, MCPI_RESULT_SAMPLE), "file:///a", NULL),
        MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "sampling/createMessage");
    assert_int_equal(mcp_result_model(written_as(&w, MCPI_RESULT_ELICITATION), "m"),
                     MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "elicitation/create");
    assert_int_equal(mcp_result_text(written_form(&w, WHO), "t"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "elicitation/create");
    assert_int_equal(mcp_result_accept(NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_model(NULL, "m"), MCP_E_INVAL);
    assert_int_equal(mcp_result_stop_reason(NULL, "m"), MCP_E_INVAL);
    assert_int_equal(mcp_result_tool_use(NULL, "i", "n", "{}"), MCP_E_INVAL);
    assert_int_equal(mcp_result_root(NULL, "file:///", NULL), MCP_E_INVAL);
}

/* ---- memory ------------------------------------------------------------- */

static void
write_all(struct test_mem *mem, void *user)
{
    struct mcpi_engine engine = {.mem = &mem->allocator,
                                 .limits = {.message_bytes = 1 << 20}};
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = &mem->allocator);
    static const char text[] = "{\"properties\":{\"a\":{\"default\":1}}}";
    mcp_doc *schema;

    (void)user;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &schema, NULL), 0);
    for (int kind = MCPI_RESULT_ELICITATION; kind <= MCPI_RESULT_ROOTS; kind++) {
        mcp_result out = {.kind = (enum mcpi_result_kind)kind};
        int r = 0;

        mcpi_tool_result_init(&out, &engine, NULL);
        if (kind == MCPI_RESULT_ELICITATION)
            r = mcp_schema_compile(mcp_doc_root(schema), &opt, &out.form, NULL);
        if (r == 0 && kind == MCPI_RESULT_ELICITATION)
            (void)mcp_result_json(&out, "{\"b\":2}", 7);
        if (kind == MCPI_RESULT_SAMPLE) {
            (void)mcp_result_model(&out, "m");
            (void)mcp_result_tool_use(&out, "i", "n", "{}");
        }
        if (kind == MCPI_RESULT_ROOTS)
            (void)mcp_result_root(&out, "file:///", NULL);
        if (r == 0)
            r = mcpi_tool_result_close(&out, NULL);
        assert_true(r == 0 || r == MCP_E_NOMEM);
        mcpi_tool_result_done(&out);
    }
    mcp_doc_free(schema);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(write_all, NULL) > 0);
}

TEST_MAIN(TEST(structured_output_means_accepted), TEST(an_answer_may_be_built_by_hand),
          TEST(what_is_missing_gets_its_default),
          TEST(what_does_not_fit_the_form_is_the_handlers_mistake),
          TEST(J10_no_and_neither_are_answers_without_content),
          TEST(a_url_is_accepted_without_content), TEST(nothing_is_no_answer),
          TEST(one_block_stands_alone), TEST(several_blocks_are_a_list),
          TEST(a_sample_names_its_model_and_says_something),
          TEST(old_versions_have_one_block_and_no_tools), TEST(roots_are_files),
          TEST(what_was_not_asked_cannot_be_answered), TEST(each_allocation_may_fail))
