/* cli/ask_sample_test.c - proves cli/ask_sample.c: the user plays the model */
#include "cli/asking.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

static void
sample_open(struct asking *asking, const enum mcp_era *era)
{
    *asking = (struct asking){
        .sample = MCP_SAMPLE(
                .messages =
                    "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
                    "\"Say\\u001b[1m hi\"}},{\"role\":\"user\",\"content\":{"
                    "\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":"
                    "\"image/png\"}}]",
                .system_prompt = "Be brief", .max_tokens = 77)};
    asking_open(asking, *era, true);
}

static void
an_answer_ends_with_an_empty_line_or_a_dot(void **state)
{
    struct asking asking;

    sample_open(&asking, *state);
    asking_gives(&asking, "Hi\nthere\n\n",
                 "{'role':'assistant','model':'human at mcpctl','stopReason':'endTurn',"
                 "'content':{'type':'text','text':'Hi\\nthere'}}");
    asking_gives(&asking, "Hi\n.\n",
                 "{'role':'assistant','model':'human at mcpctl','stopReason':'endTurn',"
                 "'content':{'type':'text','text':'Hi'}}");
    asking_close(&asking);
}

static void
what_is_asked_is_shown_harmless(void **state)
{
    struct asking asking;
    const char *shown;

    sample_open(&asking, *state);
    asking_start(&asking);
    desk_until(&asking.desk, "declines.");
    shown = desk_shown(&asking.desk);
    assert_has(shown, "at most 77 tokens");
    assert_has(shown, "  system: Be brief\r\n");
    assert_has(shown, "  user: Say hi\r\n");
    assert_has(shown, "  user: (image) image/png\r\n");
    assert_null(strstr(shown, "\033[1m"));
    asking_close(&asking);
}

static void
an_empty_answer_rejects_it(void **state)
{
    struct asking asking;
    mcp_error err;

    sample_open(&asking, *state);
    desk_type(&asking.desk, "\n");
    asking_start(&asking);
    assert_int_equal(mcp_call_wait(asking.call, 50000, NULL, &err), MCP_E_PEER);
    if (*(enum mcp_era *)*state == MCP_ERA_MODERN)
        assert_int_equal(err.rpc_code, -1);
    assert_has(err.message, "User rejected sampling request");
    asking_close(&asking);
}

static void
a_cancel_of_the_call_ends_the_question(void **state)
{
    struct asking asking;

    sample_open(&asking, *state);
    asking_start(&asking);
    desk_until(&asking.desk, "> ");
    assert_int_equal(mcp_call_cancel(asking.call, NULL), 0);
    asking_ends(&asking, MCP_E_CANCELED, NULL);
    asking_close(&asking);
}

#define BOTH(name) \
    TEST_AS("modern." #name, name, &modern), TEST_AS("legacy." #name, name, &legacy)

TEST_MAIN(BOTH(an_answer_ends_with_an_empty_line_or_a_dot),
          BOTH(what_is_asked_is_shown_harmless), BOTH(an_empty_answer_rejects_it),
          BOTH(a_cancel_of_the_call_ends_the_question))
