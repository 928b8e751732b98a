/*
 * examples_test.c - every example message is consumed by a server or a client
 *
 * The table below says how each kind is: what a client says is fed to a real server,
 * what a server says to a real client that has asked for it, and parts are put into a
 * message that carries them. A kind that is not in the table fails the test.
 */
#include "api/examples_client.h"
#include "api/examples_server.h"

/* ---- parts that go all the way, from a server's handler to the client ---- */

static int
give(mcp_request *req, mcp_result *out, void *user)
{
    const struct example *example = user;

    (void)req;
    return mcp_result_content(out, example->text, strlen(example->text));
}

static void
pair_open(struct test_mem *mem, mcp_server **server, const mcp_tool *tool,
          mcp_client **client)
{
    mcp_error err = {0};

    test_mem_init(mem);
    assert_int_equal(mcp_server_new(&MCP_SERVER_OPTIONS(.name = "test", .version = "1",
                                                        .allocator = &mem->allocator),
                                    server, NULL),
                     0);
    if (mcp_server_add_tool(*server, tool, &err) < 0)
        fail_msg("%s: %s", tool->name, err.message);
    assert_int_equal(mcp_server_start(*server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(
            *server,
            &SCRIPT_OPTIONS(.era = MCP_ERA_MODERN, .allocator = &mem->allocator),
            client, NULL),
        0);
}

static void
pair_close(struct test_mem *mem, mcp_server *server, mcp_client *client)
{
    mcp_client_free(client);
    mcp_server_free(server);
    test_mem_done(mem);
}

/* A block of content. */
static void
content(const struct example *example, const char *arg)
{
    union {
        const struct example *given;
        void *user;
    } cast = {.given = example};
    mcp_reply *reply = NULL;
    struct test_mem mem;
    mcp_server *server;
    mcp_client *client;

    (void)arg;
    pair_open(&mem, &server,
              &MCP_TOOL(.name = "give", .reply = give, .user = cast.user), &client);
    assert_int_equal(mcp_client_call_tool(client, "give", NULL, NULL, &reply, NULL), 0);
    expect_equal(example, mcp_json_at(mcp_reply_content(reply), 0), example->root);
    mcp_reply_free(reply);
    pair_close(&mem, server, client);
}

/* Offered by a server with the example's schemas, and listed as the example has it. */
static void
tool_offered(const struct example *example)
{
    const mcp_json *given = example->root;
    const mcp_json *output = mcp_json_get(given, "outputSchema");
    char *input_schema = text_of(mcp_json_get(given, "inputSchema"));
    char *output_schema = output ? text_of(output) : NULL;
    mcp_reply *reply = NULL;
    struct test_mem mem;
    mcp_server *server;
    mcp_json_iterator it;
    mcp_client *client;

    pair_open(&mem, &server,
              &MCP_TOOL(.name = mcp_json_string(mcp_json_get(given, "name"), ""),
                        .title = mcp_json_string(mcp_json_get(given, "title"), NULL),
                        .description = mcp_json_string(
                            mcp_json_get(given, "description"), NULL),
                        .input_schema = input_schema, .output_schema = output_schema,
                        .reply = say_done),
              &client);
    assert_int_equal(mcp_client_list_tools(client, NULL, NULL, &reply, NULL), 0);
    for (it = mcp_json_each(given); mcp_json_next(&it);)
        expect_equal(example,
                     mcp_json_get(mcp_json_at(mcp_reply_items(reply), 0),
                                  mcp_json_string(it.key, "")),
                     it.value);
    mcp_reply_free(reply);
    pair_close(&mem, server, client);
    mcp_text_free(output_schema, NULL);
    mcp_text_free(input_schema, NULL);
}

/* Consumed by a client, and offered by a server. */
static void
tool(const struct example *example, const char *arg)
{
    part(example, arg);
    tool_offered(example);
}

/* ---- the table ----------------------------------------------------------- */

#define AS_IT_IS "$"
#define NOTE_OF(method) NOTE("notifications/" method, "$")
#define ASKS(members) "{\"resultType\":\"input_required\"," members "}"
#define ASKS_ONE(request) ASKS("\"inputRequests\":{\"q\":" request "}")
#define QUESTION(method, asked) \
    ASKS_ONE("{\"method\":\"" method "\",\"params\":" asked "}")
#define SAMPLE(members) \
    QUESTION("sampling/createMessage", "{\"maxTokens\":1," members "}")
#define USER "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hello\"}}"
#define USES(id) \
    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"get_weather\",\"input\":{}}"
#define FORM                                                                  \
    QUESTION("elicitation/create",                                            \
             "{\"mode\":\"form\",\"message\":\"which?\",\"requestedSchema\":" \
             "{\"type\":\"object\",\"properties\":{\"v\":$}}}")
#define CAPABLE                                                            \
    "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"]," \
    "\"capabilities\":$,\"ttlMs\":0,\"cacheScope\":\"private\"}"
#define LISTS(key) "{\"resultType\":\"complete\",\"" key "\":[$]}"

/* Results of tools stand behind their uses. */
static void
sampling_message(const struct example *example, const char *arg)
{
    static const char plain[] = SAMPLE("\"messages\":[$]");
    static const char behind[] = SAMPLE("\"messages\":[" USER
                                        ",{\"role\":\"assistant\",\"content\":[" USES(
                                            "call_123") "," USES("call_456") "]},$]");
    bool is_result = strstr(example->text, "\"tool_result\"") != NULL;

    (void)arg;
    input_required(example, is_result ? behind : plain);
}

static const struct way ways[] = {
    {"AudioContent", content, NULL},
    {"BlobResourceContents", part, "resources/read " LISTS("contents")},
    {"BooleanSchema", form_member, FORM},
    {"CallToolRequest", request, NULL},
    {"CallToolRequestParams", params, "tools/call"},
    {"CallToolResult", result, "tools/call"},
    {"CallToolResultResponse", answer_as_it_is, "tools/call"},
    {"CancelledNotification", cancel_note, AS_IT_IS},
    {"CancelledNotificationParams", cancel_note, NOTE_OF("cancelled")},
    {"ClientCapabilities", client_capabilities, NULL},
    {"CompleteRequest", request, NULL},
    {"CompleteRequestParams", params, "completion/complete"},
    {"CompleteResult", result, "completion/complete"},
    {"CompleteResultResponse", answer_as_it_is, "completion/complete"},
    {"CreateMessageRequest", input_required, ASKS_ONE("$")},
    {"CreateMessageRequestParams", input_required,
     QUESTION("sampling/createMessage", "$")},
    {"CreateMessageResult", response, "ask_model"},
    {"DiscoverRequest", request, NULL},
    {"DiscoverResult", discovery, AS_IT_IS},
    {"DiscoverResultResponse", answer_as_it_is, "server/discover"},
    {"ElicitRequest", input_required, ASKS_ONE("$")},
    {"ElicitRequestFormParams", input_required, QUESTION("elicitation/create", "$")},
    {"ElicitRequestURLParams", input_required, QUESTION("elicitation/create", "$")},
    {"ElicitResult", response, "ask_form"},
    {"EmbeddedResource", content, NULL},
    {"GetPromptRequest", request, NULL},
    {"GetPromptRequestParams", params, "prompts/get"},
    {"GetPromptResult", result, "prompts/get"},
    {"GetPromptResultResponse", answer_as_it_is, "prompts/get"},
    {"HeaderMismatchError", error_as_it_is, "tools/call"},
    {"ImageContent", content, NULL},
    {"InputRequests", input_required, ASKS("\"inputRequests\":$")},
    {"InputRequiredResult", input_required, AS_IT_IS},
    {"InputResponses", responses_of_both, "ask_both"},
    {"InternalError", error, "tools/call"},
    {"InvalidParamsError", error, "tools/call"},
    {"InvalidRequestError", error, "tools/call"},
    {"LegacyTitledEnumSchema", form_member, FORM},
    {"ListPromptsRequest", request, NULL},
    {"ListPromptsResult", result, "prompts/list"},
    {"ListPromptsResultResponse", answer_as_it_is, "prompts/list"},
    {"ListResourceTemplatesRequest", request, NULL},
    {"ListResourceTemplatesResult", result, "resources/templates/list"},
    {"ListResourceTemplatesResultResponse", answer_as_it_is,
     "resources/templates/list"},
    {"ListResourcesRequest", request, NULL},
    {"ListResourcesResult", result, "resources/list"},
    {"ListResourcesResultResponse", answer_as_it_is, "resources/list"},
    {"ListRootsRequest", roots_request, ASKS_ONE("{\"method\":\"$\"}")},
    {"ListRootsResult", response, "ask_roots"},
    {"ListToolsRequest", request, NULL},
    {"ListToolsResult", result, "tools/list"},
    {"ListToolsResultResponse", answer_as_it_is, "tools/list"},
    {"LoggingMessageNotification", message, AS_IT_IS},
    {"LoggingMessageNotificationParams", message, NOTE_OF("message")},
    {"MethodNotFoundError", error, "prompts/list"},
    {"MissingRequiredClientCapabilityError", error_as_it_is, "tools/call"},
    {"ModelPreferences", input_required,
     SAMPLE("\"messages\":[" USER "],\"modelPreferences\":$")},
    {"NumberSchema", form_member, FORM},
    {"PaginatedRequestParams", foreign_cursor, NULL},
    {"ParseError", error, "tools/call"},
    {"ProgressNotification", progress, AS_IT_IS},
    {"ProgressNotificationParams", progress, NOTE_OF("progress")},
    {"Prompt", part, "prompts/list " LISTS("prompts")},
    {"PromptListChangedNotification", list_changed, "prompts"},
    {"ReadResourceRequest", request, NULL},
    {"ReadResourceRequestParams", params, "resources/read"},
    {"ReadResourceResult", result, "resources/read"},
    {"ReadResourceResultResponse", answer_as_it_is, "resources/read"},
    {"Resource", part, "resources/list " LISTS("resources")},
    {"ResourceLink", content, NULL},
    {"ResourceListChangedNotification", list_changed, "resources"},
    {"ResourceTemplate", part, "resources/templates/list " LISTS("resourceTemplates")},
    {"ResourceUpdatedNotification", updated, NULL},
    {"ResourceUpdatedNotificationParams", updated_params, NULL},
    {"Root", root, "ask_roots"},
    {"SamplingMessage", sampling_message, NULL},
    {"ServerCapabilities", discovery, CAPABLE},
    {"StringSchema", form_member, FORM},
    {"SubscriptionsAcknowledgedNotification", acknowledged,
     NOTE("notifications/tools/list_changed", "{" TAG "}")},
    {"SubscriptionsListenRequest", listen_request, NULL},
    {"SubscriptionsListenResult", listen_ends, RESULT("\"listen-1\"", "$")},
    {"SubscriptionsListenResultResponse", listen_ends, AS_IT_IS},
    {"TextContent", content, NULL},
    {"TextResourceContents", part, "resources/read " LISTS("contents")},
    {"TitledMultiSelectEnumSchema", form_member, FORM},
    {"TitledSingleSelectEnumSchema", form_member, FORM},
    {"Tool", tool, "tools/list " LISTS("tools")},
    {"ToolListChangedNotification", list_changed, "tools"},
    {"ToolResultContent", input_required,
     SAMPLE("\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":[" USES(
         "call_abc123") "]},{\"role\":\"user\",\"content\":[$]}]")},
    {"ToolUseContent", input_required,
     SAMPLE("\"messages\":[" USER ",{\"role\":\"assistant\",\"content\":[$]},"
            "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
            "\"toolUseId\":\"call_abc123\",\"content\":[]}]}]")},
    {"UnsupportedProtocolVersionError", error_as_it_is, "tools/call"},
    {"UntitledMultiSelectEnumSchema", form_member, FORM},
    {"UntitledSingleSelectEnumSchema", form_member, FORM},
};

enum { WAYS = sizeof ways / sizeof ways[0] };

/* ---- the cases ----------------------------------------------------------- */

static void
kind_is_in_the_table(const struct data_message *message, void *user)
{
    size_t i;

    (void)user;
    for (i = 0; i < WAYS && strcmp(ways[i].type, message->type) != 0;)
        i++;
    if (i == WAYS)
        fail_msg("no test consumes the examples of %s", message->type);
}

static void
every_kind_of_example_is_in_the_table(void **state)
{
    (void)state;
    assert_true(data_each_message(DATA_MODERN, NULL, kind_is_in_the_table, NULL) >=
                WAYS);
}

static void
requests_of_the_legacy_era_are_answered(void **state)
{
    static const char *const types[] = {
        "CallToolRequest",      "CompleteRequest",  "GetPromptRequest",
        "ListPromptsRequest",   "ListToolsRequest", "ListResourceTemplatesRequest",
        "ListResourcesRequest", "PingRequest",      "ReadResourceRequest",
        "SetLevelRequest",      "SubscribeRequest", "UnsubscribeRequest"};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        assert_true(data_each_message(DATA_LEGACY, types[i], legacy_request, NULL) > 0);
}

static void
consumed(void **state)
{
    struct way *way = *state;

    if (each_example(way) == 0)
        fail_msg("there is no example of %s", way->type);
}

int
main(void)
{
    static struct test_case cases[WAYS + 2] = {
        TEST(every_kind_of_example_is_in_the_table)};
    static char names[WAYS][80];
    static struct way copies[WAYS];

    memcpy(copies, ways, sizeof ways);
    for (size_t i = 0; i < WAYS; i++) {
        snprintf(names[i], sizeof names[i], "%s_is_consumed", ways[i].type);
        cases[i + 1] = (struct test_case)TEST_AS(names[i], consumed, &copies[i]);
    }
    cases[WAYS + 1] = (struct test_case)TEST(requests_of_the_legacy_era_are_answered);
    return test_main(__FILE__, cases, WAYS + 2);
}
