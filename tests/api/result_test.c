/* result_test.c - what a handler gives: structured output, failure, the whole */
#include "api/result_fixture.h"

static void
nothing_written_is_no_content(void **state)
{
    struct written w;

    (void)state;
    written_plain(&w);
    written_is(&w, "{'content':[]}");
}

static void
reset_forgets_everything(void **state)
{
    struct written w;
    mcp_result *out = written_summing(&w);
    struct sum sum = {5};

    (void)state;
    mcp_result_fail(out, "no");
    mcp_result_struct(out, &sum);
    mcp_result_meta(out, "a", "1");
    mcp_result_text(out, "\xff");
    mcp_result_reset(out);
    sum.sum = 6;
    assert_int_equal(mcp_result_text(out, "six"), 0);
    assert_int_equal(mcp_result_struct(out, &sum), 0);
    assert_int_equal(out->answer.meta.len, 0);
    written_is(
        &w, "{'content':[{'type':'text','text':'six'}],'structuredContent':{'sum':6}}");
}

static void
a_failure_is_a_result_with_a_text(void **state)
{
    struct written w;

    (void)state;
    written_summing(&w); /* it has promised nothing for this case */
    assert_int_equal(mcp_result_fail(&w.out, "no such file: %s", "x"), 0);
    written_is(&w,
               "{'content':[{'type':'text','text':'no such file: x'}],'isError':true}");
}

static void
structured_output_becomes_content_if_there_is_none(void **state)
{
    struct sum sum = {5};
    struct written w;

    (void)state;
    written_summing(&w);
    assert_int_equal(mcp_result_struct(&w.out, &sum), 0);
    written_is(&w, "{'content':[{'type':'text','text':'{\\'sum\\':5}'}],"
                   "'structuredContent':{'sum':5}}");
    written_summing(&w);
    mcp_result_text(&w.out, "five");
    assert_int_equal(mcp_result_json(&w.out, "{\n\"sum\": 5}", 11), 0);
    written_is(
        &w,
        "{'content':[{'type':'text','text':'five'}],'structuredContent':{'sum':5}}");
}

static void
structured_output_may_be_built_by_hand(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);
    mcp_builder *b = mcp_result_builder(out);

    (void)state;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_int(mcp_result_builder(out), "n", 1); /* the same one */
    mcp_builder_end(b);
    written_is(&w, "{'content':[{'type':'text','text':'{\\'n\\':1}'}],'"
                   "structuredContent':{'n':1}}");
    written_plain(&w);
    mcp_builder_begin_object(mcp_result_builder(&w.out), NULL);
    written_fails(&w, MCP_E_STATE, "not finished");
}

static void
output_that_is_no_object_is_for_the_modern_era(void **state)
{
    struct written w;

    (void)state;
    written_plain(&w);
    w.out.modern = true;
    mcp_builder_int(mcp_result_builder(&w.out), NULL, 5);
    written_is(&w, "{'content':[{'type':'text','text':'5'}],'structuredContent':5}");
    written_plain(&w);
    w.out.modern = false;
    mcp_builder_int(mcp_result_builder(&w.out), NULL, 5);
    written_is(&w, "{'content':[{'type':'text','text':'5'}]}");
}

/* Who knows only content must find it there; pictures do not say it. */
static void
output_that_is_no_object_is_a_text_beside_other_blocks(void **state)
{
    struct written w;

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        written_plain(&w);
        w.out.modern = modern;
        mcp_result_image(&w.out, "f", 1, "image/png");
        mcp_result_json(&w.out, "[1]", 3);
        written_is(&w, modern ? "{'content':[{'type':'image','data':'Zg==','mimeType':"
                                "'image/png'},{'type':'text','text':'[1]'}],"
                                "'structuredContent':[1]}"
                              : "{'content':[{'type':'image','data':'Zg==','mimeType':"
                                "'image/png'},{'type':'text','text':'[1]'}]}");
        written_plain(&w);
        w.out.modern = modern;
        mcp_result_content(&w.out, "{\"type\":\"text\",\"text\":\"one\"}", 28);
        mcp_result_json(&w.out, "[1]", 3);
        written_is(&w, modern ? "{'content':[{'type':'text','text':'one'}],"
                                "'structuredContent':[1]}"
                              : "{'content':[{'type':'text','text':'one'}]}");
    }
    written_plain(&w);
    mcp_result_image(&w.out, "f", 1, "image/png");
    mcp_result_json(&w.out, "{}", 2);
    written_is(&w, "{'content':[{'type':'image','data':'Zg==','mimeType':'image/png'}],"
                   "'structuredContent':{}}");
}

static void
the_last_structured_output_counts(void **state)
{
    struct sum sum = {5};
    struct written w;

    (void)state;
    written_summing(&w);
    mcp_result_struct(&w.out, &sum);
    mcp_result_json(&w.out, "{\"sum\":7}", 9);
    mcp_result_text(&w.out, "");
    written_is(&w,
               "{'content':[{'type':'text','text':''}],'structuredContent':{'sum':7}}");
}

static void
output_that_breaks_its_promise_is_not_sent(void **state)
{
    struct sum sum = {101};
    struct written w;

    (void)state;
    written_summing(&w);
    assert_int_equal(mcp_result_struct(&w.out, &sum), 0);
    written_fails(&w, MCP_E_PROTO, "/sum");
    written_summing(&w);
    mcp_result_text(&w.out, "only text");
    written_fails(&w, MCP_E_PROTO, "no structured output");
    written_summing(&w);
    mcp_result_fail(&w.out, "failed");
    mcp_result_struct(&w.out, &sum); /* a failure has promised nothing */
    written_is(&w, "{'content':[{'type':'text','text':'failed'}],"
                   "'structuredContent':{'sum':101},'isError':true}");
}

static void
a_struct_needs_a_table(void **state)
{
    struct sum sum = {1};
    struct written w;

    (void)state;
    written_plain(&w);
    assert_int_equal(mcp_result_struct(&w.out, &sum), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "no table");
    written_plain(&w);
    assert_int_equal(mcp_result_json(&w.out, "[", 1), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "structured output");
}

static void
meta_keeps_its_keys_apart(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    assert_int_equal(mcp_result_meta(out, "a/b", "{ \"x\": 1 }"), 0);
    assert_int_equal(mcp_result_meta(out, "c", "[2]"), 0);
    mcpi_buf_char(&out->answer.meta, '\0');
    assert_string_equal(out->answer.meta.data, "{\"a/b\":{\"x\":1},\"c\":[2]}");
    written_close(&w);
    written_plain(&w);
    mcp_result_meta(&w.out, "a", "1");
    assert_int_equal(mcp_result_meta(&w.out, "a", "2"), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "taken");
    written_plain(&w);
    assert_int_equal(
        mcp_result_meta(&w.out, "io.modelcontextprotocol/serverInfo", "{}"),
        MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "taken");
    written_plain(&w);
    assert_int_equal(mcp_result_meta(&w.out, "progressToken", "1"), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "taken");
    written_plain(&w);
    assert_int_equal(mcp_result_meta(&w.out, "a", "nonsense"), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "_meta");
}

static void
bad_arguments_are_refused_and_change_nothing(void **state)
{
    struct written w;
    mcp_result *out = written_plain(&w);

    (void)state;
    assert_int_equal(mcp_result_text(NULL, "x"), MCP_E_INVAL);
    assert_int_equal(mcp_result_text(out, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_text_n(out, NULL, 1), MCP_E_INVAL);
    assert_int_equal(mcp_result_textf(out, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_fail(out, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_image(out, NULL, 1, "x"), MCP_E_INVAL);
    assert_int_equal(mcp_result_image(out, "x", 1, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_resource_text(out, NULL, NULL, "x"), MCP_E_INVAL);
    assert_int_equal(mcp_result_resource_bytes(out, "u:", NULL, NULL, 1), MCP_E_INVAL);
    assert_int_equal(mcp_result_resource_link(out, "u:", NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_result_content(out, NULL, 0), MCP_E_INVAL);
    assert_int_equal(mcp_result_annotate(NULL, 0, 0, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_struct(out, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_json(out, NULL, 0), MCP_E_INVAL);
    assert_int_equal(mcp_result_meta(out, "", "1"), MCP_E_INVAL);
    assert_null(mcp_result_builder(NULL));
    mcp_result_reset(NULL);
    written_is(&w, "{'content':[]}");
}

static void
write_in(struct test_mem *mem, void *user)
{
    struct mcpi_engine engine = {.mem = &mem->allocator};
    struct mcpi_tool *tool = NULL;
    struct sum sum = {5};
    mcp_result out = {0};
    mcp_error err = {0};
    int r;

    (void)user;
    engine.limits.message_bytes = 1 << 20;
    if (mcpi_tool_new(engine.mem,
                      &MCP_TOOL(.name = "t", .reply = written_nothing,
                                .output_fields = sum_fields),
                      &tool, NULL) < 0)
        return;
    mcpi_tool_result_init(&out, &engine, tool);
    out.kind = MCPI_RESULT_TOOL;
    (void)mcp_result_textf(&out, "%600d", 1);
    (void)mcp_result_image(&out, "abc", 3, "image/png");
    (void)mcp_result_content(&out, "{\"type\":\"x\"}", 12);
    (void)mcp_result_struct(&out, &sum);
    (void)mcp_result_json(&out, "{\"sum\":6}", 9);
    (void)mcp_result_meta(&out, "a", "1");
    (void)mcp_result_meta(&out, "b", "1");
    r = mcpi_tool_result_close(&out, &err);
    assert_int_equal(err.status, r);
    if (r == 0) /* the whole; some failures only cost a retry */
        assert_int_equal(out.answer.body.len + out.answer.meta.len, 749);
    else
        assert_int_equal(r, MCP_E_NOMEM);
    mcpi_tool_result_done(&out);
    mcpi_offer_unref(&tool->offer);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(write_in, NULL) > 10);
}

TEST_MAIN(TEST(nothing_written_is_no_content), TEST(reset_forgets_everything),
          TEST(a_failure_is_a_result_with_a_text),
          TEST(structured_output_becomes_content_if_there_is_none),
          TEST(structured_output_may_be_built_by_hand),
          TEST(output_that_is_no_object_is_for_the_modern_era),
          TEST(output_that_is_no_object_is_a_text_beside_other_blocks),
          TEST(the_last_structured_output_counts),
          TEST(output_that_breaks_its_promise_is_not_sent),
          TEST(a_struct_needs_a_table), TEST(meta_keeps_its_keys_apart),
          TEST(bad_arguments_are_refused_and_change_nothing),
          TEST(each_allocation_may_fail))
