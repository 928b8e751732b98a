/* result_more_test.c - what a handler writes for prompts, resources, completions */
#include "api/prompt.h"
#include "api/resource.h"
#include "api/result_fixture.h"

/* ---- prompts ------------------------------------------------------------ */

static void
a_prompt_without_words_has_no_messages(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_PROMPT);
    written_is(&w, "{'messages':[]}");
}

static void
a_description_is_the_prompt_s_unless_one_was_written(void **state)
{
    struct mcpi_prompt prompt = {.description = "its \"own\""};
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_PROMPT);
    w.out.prompt = &prompt;
    written_is(&w, "{'messages':[],'description':'its \\'own\\''}");
    written_as(&w, MCPI_RESULT_PROMPT);
    w.out.prompt = &prompt;
    assert_int_equal(mcp_result_description(&w.out, "another"), 0);
    mcp_result_text(&w.out, "x");
    written_is(&w, "{'messages':[{'role':'user','content':{'type':'text','text':'x'}}],"
                   "'description':'another'}");
}

static void
a_description_is_said_once_and_is_text(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_PROMPT);
    assert_int_equal(mcp_result_description(&w.out, ",\"description\":"), 0);
    assert_int_equal(mcp_result_description(&w.out, "b"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "the description was said twice");
    written_as(&w, MCPI_RESULT_PROMPT);
    assert_int_equal(mcp_result_description(&w.out, "\xff"), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "the description is not UTF-8");
}

/* ---- resources ---------------------------------------------------------- */

static void
an_empty_resource_contains_nothing(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_RESOURCE);
    written_is(&w, "{'contents':[],'ttlMs':0,'cacheScope':'private'}");
    written_as(&w, MCPI_RESULT_RESOURCE);
    w.out.modern = false;
    assert_int_equal(mcp_result_cache(&w.out, 9, MCP_CACHE_PUBLIC), 0);
    written_is(&w, "{'contents':[]}"); /* the legacy era knows nothing of it */
}

static void
a_reading_is_kept_as_the_resource_says_or_the_handler(void **state)
{
    struct mcpi_resource resource = {.ttl_ms = 7, .scope = MCP_CACHE_PUBLIC};
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_RESOURCE);
    w.out.resource = &resource;
    assert_int_equal(mcp_result_cache(&w.out, 0, MCP_CACHE_PRIVATE), 0);
    written_is(&w, "{'contents':[],'ttlMs':0,'cacheScope':'private'}");
    written_as(&w, MCPI_RESULT_RESOURCE);
    w.out.resource = &resource;
    assert_int_equal(mcp_result_cache(&w.out, 1, MCP_CACHE_PRIVATE), 0);
    mcp_result_reset(&w.out);
    written_is(&w, "{'contents':[],'ttlMs':7,'cacheScope':'public'}");
}

static void
what_is_no_time_or_scope_is_refused(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_RESOURCE);
    assert_int_equal(mcp_result_cache(&w.out, -1, MCP_CACHE_PRIVATE), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "negative");
    written_as(&w, MCPI_RESULT_RESOURCE);
    assert_int_equal(mcp_result_cache(&w.out, 1, (enum mcp_cache_scope)7), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "scope");
}

/* ---- completions -------------------------------------------------------- */

static void
values_are_counted_and_said(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_COMPLETION);
    written_is(&w, "{'completion':{'values':[],'total':0,'hasMore':false}}");
    written_as(&w, MCPI_RESULT_COMPLETION);
    assert_int_equal(mcp_result_value(&w.out, "py\"x"), 0);
    assert_int_equal(mcp_result_value(&w.out, ""), 0);
    written_is(&w, "{'completion':{'values':['py\\'x',''],'total':2,'hasMore':false}}");
}

static void
a_total_tells_of_more(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_COMPLETION);
    assert_int_equal(mcp_result_total(&w.out, 10), 0);
    assert_int_equal(mcp_result_value(&w.out, "a"), 0);
    written_is(&w, "{'completion':{'values':['a'],'total':10,'hasMore':true}}");
    written_as(&w, MCPI_RESULT_COMPLETION);
    assert_int_equal(mcp_result_value(&w.out, "a"), 0);
    assert_int_equal(mcp_result_total(&w.out, 0), 0); /* less than there are */
    written_is(&w, "{'completion':{'values':['a'],'total':1,'hasMore':false}}");
    written_as(&w, MCPI_RESULT_COMPLETION);
    assert_int_equal(mcp_result_total(&w.out, -1), MCP_E_INVAL);
    written_fails(&w, MCP_E_INVAL, "total");
}

static void
what_is_beyond_a_hundred_is_counted_only(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_COMPLETION);
    for (int i = 0; i < 103; i++)
        assert_int_equal(mcp_result_value(&w.out, i < 100 ? "v" : "late"), 0);
    assert_int_equal(mcpi_tool_result_close(&w.out, NULL), 0);
    mcpi_buf_char(&w.out.answer.body, '\0');
    assert_null(strstr(w.out.answer.body.data, "late"));
    assert_non_null(
        strstr(w.out.answer.body.data, "\"v\"],\"total\":103,\"hasMore\":true}}"));
    written_close(&w);
}

static void
a_reset_forgets_all_of_it(void **state)
{
    struct written w;

    (void)state;
    written_as(&w, MCPI_RESULT_COMPLETION);
    mcp_result_value(&w.out, "a");
    mcp_result_total(&w.out, 5);
    mcp_result_reset(&w.out);
    written_is(&w, "{'completion':{'values':[],'total':0,'hasMore':false}}");
    written_as(&w, MCPI_RESULT_PROMPT);
    mcp_result_role(&w.out, MCP_ROLE_ASSISTANT);
    mcp_result_description(&w.out, "d");
    mcp_result_reset(&w.out);
    mcp_result_text(&w.out, "x");
    written_is(&w,
               "{'messages':[{'role':'user','content':{'type':'text','text':'x'}}]}");
}

/* ---- the wrong place ---------------------------------------------------- */

static void
each_belongs_to_its_kind(void **state)
{
    struct written w;

    (void)state;
    written_plain(&w);
    assert_int_equal(mcp_result_value(&w.out, "x"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "the answer to tools/call has no values");
    written_plain(&w);
    assert_int_equal(mcp_result_total(&w.out, 1), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "no total");
    written_plain(&w);
    assert_int_equal(mcp_result_description(&w.out, "x"), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "no description");
    written_plain(&w);
    assert_int_equal(mcp_result_role(&w.out, MCP_ROLE_USER), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "no role");
    written_as(&w, MCPI_RESULT_COMPLETION);
    assert_int_equal(mcp_result_cache(&w.out, 1, MCP_CACHE_PUBLIC), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE, "no time to be kept");
    written_as(&w, MCPI_RESULT_PROMPT);
    assert_int_equal(mcp_result_json(&w.out, "{}", 2), MCP_E_STATE);
    written_fails(&w, MCP_E_STATE,
                  "the answer to prompts/get has no structured output");
    written_as(&w, MCPI_RESULT_RESOURCE);
    assert_null(mcp_result_builder(&w.out));
    written_fails(&w, MCP_E_STATE, "no structured output");
}

static void
arguments_are_checked(void **state)
{
    struct written w;
    mcp_result *out = written_as(&w, MCPI_RESULT_PROMPT);

    (void)state;
    assert_int_equal(mcp_result_role(NULL, MCP_ROLE_USER), MCP_E_INVAL);
    assert_int_equal(mcp_result_role(out, (enum mcp_role)5), MCP_E_INVAL);
    assert_int_equal(mcp_result_description(NULL, ""), MCP_E_INVAL);
    assert_int_equal(mcp_result_description(out, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_cache(NULL, 0, MCP_CACHE_PUBLIC), MCP_E_INVAL);
    assert_int_equal(mcp_result_value(NULL, ""), MCP_E_INVAL);
    assert_int_equal(mcp_result_value(out, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_result_total(NULL, 0), MCP_E_INVAL);
    assert_int_equal(mcp_result_bytes(NULL, "", 0), MCP_E_INVAL);
    assert_int_equal(mcp_result_bytes(out, NULL, 1), MCP_E_INVAL);
    written_is(&w, "{'messages':[]}"); /* nothing of it has failed the result */
}

static void
write_in(struct test_mem *mem, void *user)
{
    struct mcpi_engine engine = {.mem = &mem->allocator};
    mcp_error err = {0};
    int r;

    (void)user;
    engine.limits.message_bytes = 1 << 20;
    for (enum mcpi_result_kind kind = MCPI_RESULT_PROMPT;
         kind <= MCPI_RESULT_COMPLETION; kind++) {
        mcp_result out = {.kind = kind, .modern = true};

        mcpi_tool_result_init(&out, &engine, NULL);
        if (kind == MCPI_RESULT_PROMPT)
            (void)mcp_result_description(&out, "d");
        if (kind == MCPI_RESULT_COMPLETION)
            (void)mcp_result_value(&out, "v");
        else
            (void)mcp_result_text(&out, "t");
        r = mcpi_tool_result_close(&out, &err);
        assert_true(r == 0 || (r == MCP_E_NOMEM && atomic_load(&mem->failed)));
        mcpi_tool_result_done(&out);
    }
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(write_in, NULL) >= 4);
}

TEST_MAIN(TEST(a_prompt_without_words_has_no_messages),
          TEST(a_description_is_the_prompt_s_unless_one_was_written),
          TEST(a_description_is_said_once_and_is_text),
          TEST(an_empty_resource_contains_nothing),
          TEST(a_reading_is_kept_as_the_resource_says_or_the_handler),
          TEST(what_is_no_time_or_scope_is_refused), TEST(values_are_counted_and_said),
          TEST(a_total_tells_of_more), TEST(what_is_beyond_a_hundred_is_counted_only),
          TEST(a_reset_forgets_all_of_it), TEST(each_belongs_to_its_kind),
          TEST(arguments_are_checked), TEST(each_allocation_may_fail))
