/* inquiry_test.c - what a server asks of a client is looked at before it is answered */
#include "api/inquiry.h"

#include <mcp/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* Quotes are written as '. */
static mcp_doc *
parsed(const char *text)
{
    char *copy = strdup(text), *at;
    mcp_doc *doc;

    for (at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    if (mcp_doc_parse(copy, strlen(copy), NULL, &doc, NULL) < 0)
        fail_msg("not JSON: %s", copy);
    free(copy);
    return doc;
}

static void
verdict_is(const char *params, int r, const struct mcpi_refusal *why, const char *part)
{
    if (!part) {
        if (r != 0)
            fail_msg("%s: %s", params, why->message);
        return;
    }
    assert_int_equal(r, MCP_E_PROTO);
    assert_int_equal(why->code, -32602);
    if (!strstr(why->message, part))
        fail_msg("%s: no %s in %s", params, part, why->message);
}

/* Its params are right, or they are refused with these words. */
static void
elicitation_is(const char *params, unsigned able, const char *part)
{
    struct mcpi_refusal why = {0};
    mcp_doc *doc = parsed(params);
    mcp_schema *form = NULL;
    struct test_mem mem;
    int r;

    test_mem_init(&mem);
    r = mcpi_inquiry_elicitation(&mem.allocator, mcp_doc_root(doc), able, &form, &why);
    if (r < 0 && part && strstr(part, "requestedSchema:")) {
        assert_int_equal(why.code, -32602); /* the compiler's own status */
        assert_non_null(strstr(why.message, part));
    } else {
        verdict_is(params, r, &why, part);
    }
    mcp_schema_free(form);
    mcp_doc_free(doc);
    test_mem_done(&mem);
}

static void
sample_is(const char *params, unsigned able, const char *part)
{
    struct mcpi_refusal why = {0};
    mcp_doc *doc = parsed(params);

    verdict_is(params, mcpi_inquiry_sample(mcp_doc_root(doc), able, &why), &why, part);
    mcp_doc_free(doc);
}

/* The messages of a sample that is right otherwise. */
static void
messages_are(const char *messages, const char *part)
{
    size_t room = strlen(messages) + 64;
    char *params = malloc(room);

    snprintf(params, room, "{'maxTokens':9,'messages':[%s]}", messages);
    sample_is(params, 0, part);
    free(params);
}

#define FORM "'requestedSchema':{'type':'object','properties':{}}"

static void
a_form_or_a_url_is_asked_for(void **state)
{
    (void)state;
    elicitation_is("{'message':'m'," FORM "}", 0, NULL);
    elicitation_is("{'mode':'form','message':'m'," FORM "}", MCP_ABLE_URL, NULL);
    elicitation_is("{'mode':'url','message':'m','url':'https://x.example/?a=1',"
                   "'elicitationId':'e'}",
                   MCP_ABLE_URL, NULL);
    elicitation_is("{'mode':'url','message':'m','url':'https://x.example/'}",
                   MCP_ABLE_URL | MCP_ABLE_NO_FORM, NULL);
}

static void
what_is_no_elicitation_is_refused(void **state)
{
    (void)state;
    elicitation_is("{" FORM "}", 0, "message");
    elicitation_is("{'message':7," FORM "}", 0, "message");
    elicitation_is("{'mode':'voice','message':'m'}", 0, "mode");
    elicitation_is("{'mode':7,'message':'m'}", 0, "mode");
    elicitation_is("{'message':'m'}", 0, "requestedSchema");
    elicitation_is("{'message':'m','requestedSchema':true}", 0, "requestedSchema");
    elicitation_is("{'message':'m','requestedSchema':{'type':'thing'}}", 0,
                   "requestedSchema:");
    elicitation_is("{'mode':'url','message':'m'}", MCP_ABLE_URL, "url");
    elicitation_is("{'mode':'url','message':'m','url':'not a url'}", MCP_ABLE_URL,
                   "url");
    elicitation_is("{'mode':'url','message':'m','url':'/there'}", MCP_ABLE_URL, "url");
    elicitation_is("{'mode':'url','message':'m','url':'x:y','elicitationId':7}",
                   MCP_ABLE_URL, "elicitationId");
}

static void
a_mode_that_was_not_declared_is_refused(void **state)
{
    (void)state;
    elicitation_is("{'mode':'url','message':'m','url':'x:y'}", 0, "declared");
    elicitation_is("{'message':'m'," FORM "}", MCP_ABLE_URL | MCP_ABLE_NO_FORM,
                   "declared");
}

static void
a_form_has_a_limit(void **state)
{
    size_t room = 64 + (size_t)(MCPI_FORM_MAX + 10) * 16;
    char *text = malloc(room);
    size_t len;

    (void)state;
    len = (size_t)snprintf(text, room,
                           "{'message':'m','requestedSchema':"
                           "{'properties':{");
    for (int i = 0; i < MCPI_FORM_MAX; i++)
        len += (size_t)snprintf(text + len, room - len, "%s'%d':{}", i ? "," : "", i);
    snprintf(text + len, room - len, "}}}");
    elicitation_is(text, 0, "requestedSchema:");
    free(text);
}

static void
a_sample_has_messages_and_a_limit(void **state)
{
    (void)state;
    sample_is("{'maxTokens':100,'messages':[]}", 0, NULL);
    sample_is("{'maxTokens':1.5,'messages':[{'role':'user','content':"
              "{'type':'text','text':'hi'}}]}",
              0, NULL);
    sample_is("{'messages':[]}", 0, "maxTokens");
    sample_is("{'maxTokens':'7','messages':[]}", 0, "maxTokens");
    sample_is("{'maxTokens':7}", 0, "messages");
    sample_is("{'maxTokens':7,'messages':{}}", 0, "messages");
    messages_are("7", "role");
    messages_are("{'role':'system','content':{'type':'text'}}", "role");
    messages_are("{'role':'user'}", "type");
    messages_are("{'role':'user','content':[{'type':'text'},7]}", "type");
    messages_are("{'role':'user','content':[]}", NULL);
}

static void
tools_must_have_been_declared(void **state)
{
    (void)state;
    sample_is("{'maxTokens':7,'messages':[],'tools':[]}", 0, "declared");
    sample_is("{'maxTokens':7,'messages':[],'toolChoice':{}}", 0, "declared");
    sample_is("{'maxTokens':7,'messages':[],'tools':[],'toolChoice':{}}",
              MCP_ABLE_SAMPLE_TOOLS, NULL);
    sample_is("{'maxTokens':7,'messages':[],'tools':{}}", MCP_ABLE_SAMPLE_TOOLS,
              "tools");
    sample_is("{'maxTokens':7,'messages':[],'toolChoice':[]}", MCP_ABLE_SAMPLE_TOOLS,
              "toolChoice");
}

#define TEXT "{'type':'text','text':'t'}"
#define BYTES(type) "{'type':'" type "','data':'AAAA','mimeType':'a/b'}"
#define USE(id) "{'type':'tool_use','id':'" id "','name':'n','input':{}}"
#define RESULT(id) "{'type':'tool_result','toolUseId':'" id "','content':[]}"
#define SAYS(content) "{'role':'assistant','content':" content "}"
#define GETS(content) "{'role':'user','content':" content "}"

static void
each_tool_use_has_its_result(void **state)
{
    (void)state;
    messages_are(GETS(TEXT) "," SAYS("[" USE("a") "," TEXT "," USE("b") "]") "," GETS(
                     "[" RESULT("b") "," RESULT("a") "]") "," SAYS(TEXT),
                 NULL);
    messages_are(SAYS(USE("a")) "," GETS(RESULT("a")), NULL);
    messages_are(SAYS(USE("a")), "missing");
    messages_are(SAYS(USE("a")) "," GETS(TEXT), "missing");
    messages_are(SAYS("[" USE("a") "," USE("b") "]") "," GETS(RESULT("a")), "missing");
    messages_are(SAYS(USE("a")) "," SAYS(TEXT) "," GETS(RESULT("a")), "missing");
    messages_are(GETS(RESULT("a")), "no tool use");
    messages_are(SAYS(USE("a")) "," GETS("[" RESULT("a") "," RESULT("b") "]"),
                 "no tool use");
}

static void
tool_results_stand_alone(void **state)
{
    (void)state;
    messages_are(SAYS(USE("a")) "," GETS("[" TEXT "," RESULT("a") "]"), "mixed");
    messages_are(SAYS(USE("a")) "," GETS("[" RESULT("a") "," BYTES("image") "]"),
                 "mixed");
    messages_are(SAYS(USE("a")) "," GETS("[" RESULT("a") "," BYTES("audio") "]"),
                 "mixed");
    messages_are(SAYS(USE("a")) "," SAYS(RESULT("a")), "assistant");
    messages_are(GETS(USE("a")), "assistant");
    messages_are(SAYS("{'type':'tool_use','name':'n','input':{}}"), "id");
}

static void
many_tool_uses_do_not_hold_the_loop(void **state)
{
    size_t room = (size_t)(MCPI_TOOL_USES_MAX + 2) * 64;
    char *text = malloc(room);
    size_t len;

    (void)state;
    len = (size_t)snprintf(text, room, "{'role':'assistant','content':[");
    for (int i = 0; i <= MCPI_TOOL_USES_MAX; i++)
        len += (size_t)snprintf(text + len, room - len,
                                "%s{'type':'tool_use',"
                                "'id':'%d'}",
                                i ? "," : "", i);
    snprintf(text + len, room - len, "]}");
    messages_are(text, "too many");
    free(text);
}

static void
a_root_is_a_file(void **state)
{
    (void)state;
    assert_true(mcpi_root_fits("file:///place/me"));
    assert_true(mcpi_root_fits("FILE:///place/my%20own"));
    assert_true(mcpi_root_fits("file://host/share"));
    assert_false(mcpi_root_fits("https://example.com/"));
    assert_false(mcpi_root_fits("file:relative"));
    assert_false(mcpi_root_fits("/place/me"));
    assert_false(mcpi_root_fits("file:///place/my own"));
    assert_false(mcpi_root_fits(""));
}

static void
elicit(struct test_mem *mem, void *user)
{
    struct mcpi_refusal why = {0};
    mcp_doc *doc = parsed("{'message':'m','requestedSchema':{'type':'object',"
                          "'properties':{'a':{'type':'string'}}}}");
    mcp_schema *form = NULL;
    int r;

    (void)user;
    r = mcpi_inquiry_elicitation(&mem->allocator, mcp_doc_root(doc), 0, &form, &why);
    if (r < 0) {
        assert_int_equal(r, MCP_E_NOMEM);
        assert_int_equal(why.code, -32603);
    }
    mcp_schema_free(form);
    mcp_doc_free(doc);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(elicit, NULL) > 0);
}

TEST_MAIN(TEST(a_form_or_a_url_is_asked_for), TEST(what_is_no_elicitation_is_refused),
          TEST(a_mode_that_was_not_declared_is_refused), TEST(a_form_has_a_limit),
          TEST(a_sample_has_messages_and_a_limit), TEST(tools_must_have_been_declared),
          TEST(each_tool_use_has_its_result), TEST(tool_results_stand_alone),
          TEST(many_tool_uses_do_not_hold_the_loop), TEST(a_root_is_a_file),
          TEST(each_allocation_may_fail))
