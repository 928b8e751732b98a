/*
 * offers_live_test.c - a server and its client at work, in both eras: calls side by
 * side, log messages, questions, extensions, and offers that come and go
 */
#include "end/offers.h"

/* ---- calls at the same time --------------------------------------------------- */

/* The first waits until the second is answered. */
static int
wait_or_open(mcp_request *req, mcp_result *out, void *user)
{
    struct both *b = user;
    bool waits = mcp_json_get(mcp_request_arguments(req), "wait") != NULL;

    if (waits)
        gate_pass(&b->gate);
    return mcp_result_text(out, waits ? "waited" : "at once");
}

static void
calls_in_flight_are_answered_each_with_its_own(void **state)
{
    mcp_reply *reply = NULL;
    mcp_call *call = NULL;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .run = wait_or_open, .user = &b));
    both_open(&b, RAW_MODERN, NULL);
    assert_int_equal(
        mcp_client_start_tool(b.client, "t", "{\"wait\":1}", NULL, NULL, NULL, &call),
        0);
    RAW_UNTIL(atomic_load(&b.gate.entered) == 1);
    reply = called(&b, "t", NULL);
    assert_string_equal(mcp_reply_text(reply), "at once");
    mcp_reply_free(reply);
    atomic_store(&b.gate.open, true);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, NULL), 0);
    assert_string_equal(mcp_reply_text(reply), "waited");
    mcp_reply_free(reply);
    mcp_call_free(call);
    both_close(&b);
}

/* ---- log messages -------------------------------------------------------------- */

static const enum mcp_severity said[] = {MCP_SEVERITY_DEBUG, MCP_SEVERITY_INFO,
                                         MCP_SEVERITY_WARNING, MCP_SEVERITY_ERROR};

static int
log_and_wait(mcp_request *req, mcp_result *out, void *user)
{
    struct both *b = user;
    int r = 0;

    for (int i = 0; r == 0 && i < 4; i++)
        r = mcp_request_log(req, said[i], NULL, "step %d", i);
    gate_pass(&b->gate);
    return r < 0 ? r : mcp_result_text(out, "logged");
}

static void
what_a_handler_logs_is_heard_while_it_runs(void **state)
{
    mcp_call *call = NULL;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .run = log_and_wait, .user = &b));
    both_open(&b, RAW_MODERN, NULL);
    assert_int_equal(
        mcp_client_start_tool(b.client, "t", NULL, NULL, NULL, NULL, &call), 0);
    RAW_UNTIL(atomic_load(&b.messages) == 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(atomic_load(&b.severities[i]), said[i]);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    atomic_store(&b.gate.open, true);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    mcp_call_free(call);
    both_close(&b);
}

/* ---- asking the client --------------------------------------------------------- */

static int
ask_model(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *answer = mcp_request_answer(req, "m");

    (void)user;
    if (!answer)
        return mcp_request_sample(req, "m", &MCP_SAMPLE(.text = "hi", .max_tokens = 5));
    return mcp_result_textf(
        out, "%s says %s", mcp_json_string(mcp_json_get(answer, "model"), ""),
        mcp_json_string(mcp_json_get(mcp_json_get(answer, "content"), "text"), ""));
}

static void
what_the_client_s_model_says_becomes_part_of_the_answer(void **state)
{
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .run = ask_model));
    both_open(&b, RAW_MODERN, NULL);
    reply = called(&b, "t", NULL);
    assert_string_equal(mcp_reply_text(reply), "parrot says hello");
    mcp_reply_free(reply);
    both_close(&b);
}

/* ---- extensions ---------------------------------------------------------------- */

#define NEEDED "org.example/units"

/* For clients that have declared an extension, as they have set it. */
static int
say_in_units(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *able = mcp_request_client_capabilities(req);
    const mcp_json *own = mcp_json_get(mcp_json_get(able, "extensions"), NEEDED);

    (void)user;
    if (!own)
        return mcp_request_fail(req, -32021,
                                "{\"requiredCapabilities\":{\"extensions\":{\"" NEEDED
                                "\":{}}}}",
                                "Missing required client capability");
    return mcp_result_textf(out, "21 %s",
                            mcp_json_string(mcp_json_get(own, "degrees"), "?"));
}

static void
a_handler_sees_which_extensions_its_client_has(void **state)
{
    mcp_error err = {0};
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .run = say_in_units));
    both_open(&b, RAW_MODERN, "{\"" NEEDED "\":{\"degrees\":\"C\"}}");
    reply = called(&b, "t", NULL);
    assert_string_equal(mcp_reply_text(reply), "21 C");
    mcp_reply_free(reply);
    both_close(&b);
    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .run = say_in_units));
    both_open(&b, RAW_MODERN, NULL);
    assert_int_equal(mcp_client_call_tool(b.client, "t", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32021);
    both_close(&b);
}

/* ---- what changes --------------------------------------------------------------- */

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    return mcp_result_text(out, user ? user : "said");
}

/* A modern client listens; a legacy one is told. */
static mcp_subscription *
listen_to_lists(struct both *b)
{
    mcp_subscription *s = NULL;
    mcp_error err = {0};

    if (mcp_client_subscribe(b->client,
                             &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED |
                                                     MCP_PROMPTS_CHANGED |
                                                     MCP_RESOURCES_CHANGED),
                             &s, &err) < 0)
        fail_msg("%s", err.message);
    return s;
}

static void
what_comes_and_goes_is_listed_and_told(void **state)
{
    const mcp_prompt prompt = MCP_PROMPT(.name = "p", .run = say);
    const mcp_resource resource = MCP_RESOURCE(.uri = "u:r", .name = "r", .text = "x");
    mcp_error err = {0};
    mcp_subscription *s;
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    both_open(&b, RAW_MODERN, NULL);
    s = listen_to_lists(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .run = say));
    RAW_UNTIL(atomic_load(&b.tools) == 1);
    assert_int_equal(count_of(&b, MCP_LIST_TOOLS), 1);
    reply = called(&b, "t", NULL);
    mcp_reply_free(reply);
    assert_int_equal(mcp_server_add_prompt(b.raw.server, &prompt, NULL), 0);
    RAW_UNTIL(atomic_load(&b.prompts) == 1);
    assert_int_equal(count_of(&b, MCP_LIST_PROMPTS), 1);
    assert_int_equal(mcp_server_add_resource(b.raw.server, &resource, NULL), 0);
    RAW_UNTIL(atomic_load(&b.resources) == 1);
    assert_int_equal(count_of(&b, MCP_LIST_RESOURCES), 1);

    assert_int_equal(mcp_server_remove_tool(b.raw.server, "t"), 0);
    assert_int_equal(mcp_server_remove_prompt(b.raw.server, "p"), 0);
    assert_int_equal(mcp_server_remove_resource(b.raw.server, "u:r"), 0);
    RAW_UNTIL(atomic_load(&b.tools) == 2 && atomic_load(&b.prompts) == 2 &&
              atomic_load(&b.resources) == 2);
    assert_int_equal(count_of(&b, MCP_LIST_TOOLS), 0);
    assert_int_equal(count_of(&b, MCP_LIST_PROMPTS), 0);
    assert_int_equal(count_of(&b, MCP_LIST_RESOURCES), 0);
    assert_int_equal(mcp_client_call_tool(b.client, "t", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(mcp_client_get_prompt(b.client, "p", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(mcp_client_read(b.client, "u:r", NULL, NULL, &err), MCP_E_PEER);
    mcp_subscription_free(s);
    both_close(&b);
}

/* There is no other way to change one: it is withdrawn, and offered anew. */
static void
an_offer_is_changed_by_offering_it_anew(void **state)
{
    static char anew[] = "said anew";
    mcp_subscription *s;
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    raw_tool(&b.raw, MCP_TOOL(.name = "t", .description = "old", .run = say));
    both_open(&b, RAW_MODERN, NULL);
    first_is(&b, MCP_LIST_TOOLS,
             "{'name':'t','description':'old','inputSchema':{'type':'object'}}");
    s = listen_to_lists(&b);
    assert_int_equal(mcp_server_remove_tool(b.raw.server, "t"), 0);
    raw_tool(&b.raw,
             MCP_TOOL(.name = "t", .description = "new", .run = say, .user = anew,
                      .input_schema = "{\"type\":\"object\",\"title\":\"x\"}"));
    RAW_UNTIL(atomic_load(&b.tools) > 0);
    first_is(&b, MCP_LIST_TOOLS,
             "{'name':'t','description':'new','inputSchema':{'type':'object','title':"
             "'x'}}");
    reply = called(&b, "t", NULL);
    assert_string_equal(mcp_reply_text(reply), anew);
    mcp_reply_free(reply);
    mcp_subscription_free(s);
    both_close(&b);
}

static void
a_resource_is_changed_by_offering_it_anew(void **state)
{
    const mcp_resource old = MCP_RESOURCE(.uri = "u:r", .name = "old", .text = "one");
    const mcp_resource anew = MCP_RESOURCE(.uri = "u:r", .name = "new",
                                           .text = "other");
    mcp_subscription *s;
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    assert_int_equal(mcp_server_add_resource(b.raw.server, &old, NULL), 0);
    both_open(&b, RAW_MODERN, NULL);
    first_is(&b, MCP_LIST_RESOURCES, "{'uri':'u:r','name':'old','size':3}");
    s = listen_to_lists(&b);
    assert_int_equal(mcp_server_remove_resource(b.raw.server, "u:r"), 0);
    RAW_UNTIL(atomic_load(&b.resources) == 1);
    assert_int_equal(count_of(&b, MCP_LIST_RESOURCES), 0);
    assert_int_equal(mcp_server_add_resource(b.raw.server, &anew, NULL), 0);
    RAW_UNTIL(atomic_load(&b.resources) == 2);
    first_is(&b, MCP_LIST_RESOURCES, "{'uri':'u:r','name':'new','size':5}");
    assert_int_equal(mcp_client_read(b.client, "u:r", NULL, &reply, NULL), 0);
    assert_string_equal(shown(mcp_json_at(mcp_reply_items(reply), 0)),
                        "{'uri':'u:r','text':'other'}");
    mcp_reply_free(reply);
    mcp_subscription_free(s);
    both_close(&b);
}

static void
a_prompt_is_changed_by_offering_it_anew(void **state)
{
    static char anew[] = "said anew";
    const mcp_prompt before = MCP_PROMPT(.name = "p", .description = "old", .run = say);
    const mcp_prompt behind = MCP_PROMPT(.name = "p", .description = "new", .run = say,
                                         .user = anew);
    mcp_subscription *s;
    mcp_reply *reply;
    struct both b;

    both_make(&b);
    assert_int_equal(mcp_server_add_prompt(b.raw.server, &before, NULL), 0);
    both_open(&b, RAW_MODERN, NULL);
    first_is(&b, MCP_LIST_PROMPTS, "{'name':'p','description':'old'}");
    s = listen_to_lists(&b);
    assert_int_equal(mcp_server_remove_prompt(b.raw.server, "p"), 0);
    assert_int_equal(mcp_server_add_prompt(b.raw.server, &behind, NULL), 0);
    RAW_UNTIL(atomic_load(&b.prompts) > 0);
    first_is(&b, MCP_LIST_PROMPTS, "{'name':'p','description':'new'}");
    assert_int_equal(mcp_client_get_prompt(b.client, "p", NULL, NULL, &reply, NULL), 0);
    assert_non_null(strstr(shown(mcp_reply_result(reply)), anew));
    mcp_reply_free(reply);
    mcp_subscription_free(s);
    both_close(&b);
}

TEST_MAIN(TEST_ERAS(calls_in_flight_are_answered_each_with_its_own),
          TEST_ERAS(what_a_handler_logs_is_heard_while_it_runs),
          TEST_ERAS(what_the_client_s_model_says_becomes_part_of_the_answer),
          TEST_ERAS(a_handler_sees_which_extensions_its_client_has),
          TEST_ERAS(what_comes_and_goes_is_listed_and_told),
          TEST_ERAS(an_offer_is_changed_by_offering_it_anew),
          TEST_ERAS(a_resource_is_changed_by_offering_it_anew),
          TEST_ERAS(a_prompt_is_changed_by_offering_it_anew))
