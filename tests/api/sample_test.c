/* sample_test.c - a handler asks the client's model: the exact questions */
#include "ask_fixture.h"

#define HELLO "[{'role':'user','content':{'type':'text','text':'Hello?'}}]"
#define TOOLS "[{\"name\": \"w\", \"inputSchema\": {\"type\": \"object\"}}]"

#define ANSWER                                                            \
    "{'role':'assistant','model':'m-1','stopReason':'endTurn','content':" \
    "{'type':'text','text':'Hi.'}}"

/* What the test asks with. */
static const mcp_sample *asked;

static int
sample_run(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *answer = mcp_request_answer(req, "model");

    (void)user;
    if (!answer)
        return mcp_request_sample(req, "model", asked);
    if (mcp_request_action(req, "model") != MCP_UNANSWERED)
        return mcp_result_text(out, "a model does not accept");
    return mcp_result_textf(
        out, "%s: %s", mcp_json_string(mcp_json_get(answer, "model"), ""),
        mcp_json_string(mcp_json_get(mcp_json_get(answer, "content"), "text"), ""));
}

static void
assert_asked(bool modern, const mcp_sample *sample, const char *params)
{
    struct raw raw;
    char *state;

    asked = sample;
    ask_start(&raw, modern, sample_run, NULL);
    ask_call(&raw, "1", "");
    state = ask_expect_question(&raw, 1, "model", "sampling/createMessage", params);
    ask_answer(&raw, 1, "model", ANSWER, "2", state);
    ask_expect_text(&raw, ask_id(&raw, "2"), "m-1: Hi.");
    ask_done(&raw);
}

static void
text_is_a_message_of_the_user(void **state)
{
    assert_asked(RAW_MODERN, &MCP_SAMPLE(.text = "Hello?", .max_tokens = 100),
                 "{'messages':" HELLO ",'maxTokens':100}");
}

static void
everything_else_goes_with_it(void **state)
{
    assert_asked(
        RAW_MODERN,
        &MCP_SAMPLE(.messages = "[{\"role\":\"user\", \"content\":[{\"type\":\"text\","
                                "\"text\":\"a\"}]}]",
                    .system_prompt = "Be brief.", .max_tokens = INT64_C(5000000000),
                    .tools = TOOLS,
                    .more = "{\"temperature\":0.5,\"toolChoice\":{\"mode\":\"auto\"}}"),
        "{'messages':[{'role':'user','content':[{'type':'text','text':'a'}]}],"
        "'systemPrompt':'Be brief.','maxTokens':5000000000,'tools':[{'name':'w',"
        "'inputSchema':{'type':'object'}}],'temperature':0.5,'toolChoice':{'mode':"
        "'auto'}}");
}

/* The next line has this in it, and it is the last. */
static void
assert_says(const char *version, const char *able, const mcp_sample *sample,
            const char *part)
{
    struct raw raw;

    asked = sample;
    ask_version = version ? version : "";
    ask_able = able;
    ask_start(&raw, version == NULL, sample_run, NULL);
    ask_call(&raw, "1", "");
    raw_expect(&raw, part);
    raw_expect_silence(&raw);
    ask_done(&raw);
}

#define NO_SAMPLING                                                      \
    "\"code\":-32021,\"message\":\"Missing required client capability: " \
    "sampling\",\"data\":{\"requiredCapabilities\":{\"sampling\":{}}}"
#define NO_CONTEXT                                                          \
    "\"code\":-32021,\"message\":\"Missing required client capability: "    \
    "sampling.context\",\"data\":{\"requiredCapabilities\":{\"sampling\":{" \
    "\"context\":{}}}}"
#define NO_TOOLS                                                          \
    "\"code\":-32021,\"message\":\"Missing required client capability: "  \
    "sampling.tools\",\"data\":{\"requiredCapabilities\":{\"sampling\":{" \
    "\"tools\":{}}}}"

static void
client_that_cannot_is_not_asked(void **state)
{
    const mcp_sample plain = MCP_SAMPLE(.text = "a", .max_tokens = 1);
    const mcp_sample tools = MCP_SAMPLE(.text = "a", .max_tokens = 1, .tools = TOOLS);
    const mcp_sample choice = MCP_SAMPLE(.text = "a", .max_tokens = 1,
                                         .more = "{\"toolChoice\":{}}");

    (void)state;
    assert_says("2025-11-25", "{}", &plain, NO_SAMPLING);
    assert_says(NULL, "{'roots':{}}", &plain, NO_SAMPLING);
    assert_says(NULL, "{}", &tools, NO_SAMPLING);
    assert_says("2025-11-25", "{'sampling':{}}", &tools, NO_TOOLS);
    assert_says(NULL, "{'sampling':{}}", &choice, NO_TOOLS);
    assert_says("2025-06-18", "{'sampling':{'tools':{}}}", &tools, NO_TOOLS);
}

#define CONTEXT(which)                       \
    MCP_SAMPLE(.text = "a", .max_tokens = 1, \
               .more = "{\"includeContext\":\"" which "\"}")

static void
context_is_asked_for_where_it_was_declared(void **state)
{
    const mcp_sample own = CONTEXT("thisServer"), all = CONTEXT("allServers");
    const mcp_sample none = CONTEXT("none");

    (void)state;
    assert_says("2025-11-25", "{'sampling':{}}", &own, NO_CONTEXT);
    assert_says("2025-11-25", "{'sampling':{'tools':{}}}", &all, NO_CONTEXT);
    assert_says(NULL, "{'sampling':{}}", &all, NO_CONTEXT);
    assert_says("2025-06-18", "{}", &own, NO_SAMPLING);
    /* what asks for nothing, who has said so, and who could not say so */
    assert_says("2025-11-25", "{'sampling':{}}", &none, "\"includeContext\":\"none\"");
    assert_says("2025-11-25", "{'sampling':{'context':{}}}", &all,
                "\"includeContext\":\"allServers\"");
    assert_says(NULL, "{'sampling':{'context':{}}}", &own,
                "\"includeContext\":\"thisServer\"");
    assert_says("2025-06-18", "{'sampling':{}}", &own,
                "\"includeContext\":\"thisServer\"");
}

/* user: the question, or NULL. */
static int
wrong_run(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_sample(req, "k", user);

    return r == MCP_E_INVAL ? mcp_result_text(out, "not asked") : r;
}

static void
assert_not_asked(bool modern, const mcp_sample *question)
{
    mcp_sample own = question ? *question : (mcp_sample){0};
    struct raw raw;

    ask_start(&raw, modern, wrong_run, question ? &own : NULL);
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", "not asked");
    ask_done(&raw);
}

static void
what_is_no_question_is_not_asked(void **state)
{
    const mcp_sample wrong[] = {
        MCP_SAMPLE(.max_tokens = 1),
        MCP_SAMPLE(.text = "a", .messages = "[]", .max_tokens = 1),
        MCP_SAMPLE(.text = "a"),
        MCP_SAMPLE(.text = "a", .max_tokens = -1),
        MCP_SAMPLE(.text = "\xff", .max_tokens = 1),
        MCP_SAMPLE(.text = "a", .system_prompt = "\xff", .max_tokens = 1),
        MCP_SAMPLE(.messages = "{", .max_tokens = 1),
        MCP_SAMPLE(.messages = "{}", .max_tokens = 1),
        MCP_SAMPLE(.messages = "[{\"role\":\"robot\",\"content\":{}}]",
                   .max_tokens = 1),
        MCP_SAMPLE(.messages = "[{\"role\":\"assistant\",\"content\":{\"type\":"
                               "\"tool_use\",\"id\":\"u\",\"name\":\"w\",\"input\":{}"
                               "}}]",
                   .max_tokens = 1, .tools = TOOLS), /* not answered */
        MCP_SAMPLE(.text = "a", .max_tokens = 1, .tools = "{}"),
        MCP_SAMPLE(.text = "a", .max_tokens = 1, .tools = "["),
        MCP_SAMPLE(.text = "a", .max_tokens = 1, .more = "[]"),
        MCP_SAMPLE(.text = "a", .max_tokens = 1, .more = "{\"maxTokens\":2}"),
        MCP_SAMPLE(.text = "a", .max_tokens = 1, .more = "{\"a\":1,\"a\":1}"),
        {.size = 1, .text = "a"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_not_asked(RAW_MODERN, &wrong[i]);
    assert_not_asked(RAW_MODERN, NULL);
    assert_int_equal(mcp_request_sample(NULL, "k", &wrong[0]), MCP_E_INVAL);
}

TEST_MAIN(TEST_ERAS(text_is_a_message_of_the_user),
          TEST_ERAS(everything_else_goes_with_it),
          TEST(client_that_cannot_is_not_asked),
          TEST(context_is_asked_for_where_it_was_declared),
          TEST_ERAS(what_is_no_question_is_not_asked))
