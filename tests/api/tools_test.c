/* tools_test.c - tools/list and tools/call */
#include "api/conforms.h"
#include "api/raw_client.h"

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

/* ---- tools/list --------------------------------------------------------- */

static void
a_list_has_what_its_era_wants(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "b", .reply = say));
    raw_tool(&raw, MCP_TOOL(.name = "a", .reply = say, .hints = MCP_READ_ONLY));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    raw_expect(
        &raw, RAW_MODERN
                  ? "\"result\":{\"tools\":[{\"name\":\"a\",\"inputSchema\":"
                    "{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}},"
                    "{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}],"
                    "\"ttlMs\":0,\"cacheScope\":\"private\",\"resultType\":\"complete\""
                  : "\"result\":{\"tools\":[{\"name\":\"a\",\"inputSchema\":"
                    "{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}},"
                    "{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}]}}");
    raw_done(&raw);
}

static int
say_two(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_json(out, "[1,2]", 5);
}

/* 2026-07-28 allows any type, the versions before it only objects; and what is none is
 * not wrapped in one. */
static void
output_of_any_type_is_promised_to_the_modern_era(void **state)
{
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw,
             MCP_TOOL(.name = "two", .reply = say_two,
                      .output_schema =
                          "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/n\"},"
                          "\"$defs\":{\"n\":{\"type\":\"integer\"}}}"));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    line = raw_expect(&raw, "\"name\":\"two\",\"inputSchema\":{\"type\":\"object\"}");
    assert_int_equal(strstr(line, "\"outputSchema\":{\"type\":\"array\"") != NULL,
                     RAW_MODERN);
    assert_int_equal(strstr(line, "outputSchema") != NULL, RAW_MODERN);
    raw_call(&raw, "2", "two", NULL);
    line = raw_expect(&raw, "\"text\":\"[1,2]\"");
    assert_int_equal(strstr(line, "\"structuredContent\":[1,2]") != NULL, RAW_MODERN);
    assert_int_equal(strstr(line, "structuredContent") != NULL, RAW_MODERN);
    raw_done(&raw);
}

static int
say_one_or_other(mcp_request *req, mcp_result *out, void *user)
{
    bool plain = mcp_json_get(mcp_request_arguments(req), "plain") != NULL;

    (void)user;
    return plain ? mcp_result_json(out, "\"one\"", 5)
                 : mcp_result_json(out, "{\"n\":1}", 7);
}

/* An object fits every version, whatever else was allowed to come. */
static void
output_that_may_be_an_object_is_one_to_the_legacy_era(void **state)
{
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "mixed", .reply = say_one_or_other,
                            .output_schema = "{\"anyOf\":[{\"type\":\"object\"},"
                                             "{\"type\":\"string\"}]}"));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    line = raw_expect(&raw, "\"name\":\"mixed\"");
    assert_int_equal(strstr(line, "outputSchema") != NULL, RAW_MODERN);
    if (RAW_MODERN)
        assert_non_null(strstr(line, "\"outputSchema\":{\"anyOf\":[{\"type\":"
                                     "\"object\"},{\"type\":\"string\"}]}"));
    raw_call(&raw, "2", "mixed", NULL);
    raw_expect(&raw, "\"structuredContent\":{\"n\":1}");
    raw_call(&raw, "3", "mixed", "{\"plain\":1}");
    line = raw_expect(&raw, "\"text\":\"\\\"one\\\"\"");
    assert_int_equal(strstr(line, "structuredContent") != NULL, RAW_MODERN);
    if (RAW_MODERN)
        assert_non_null(strstr(line, "\"structuredContent\":\"one\""));
    raw_done(&raw);
}

static void
next_cursor(const char *line, char cursor[256])
{
    const char *at = strstr(line, "\"nextCursor\":\"");

    assert_non_null(at);
    at += strlen("\"nextCursor\":\"");
    snprintf(cursor, 256, "%.*s", (int)strcspn(at, "\""), at);
}

static void
a_long_list_comes_in_pages(void **state)
{
    char cursor[256], more[300];
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 2));
    raw_tool(&raw, MCP_TOOL(.name = "a", .reply = say));
    raw_tool(&raw, MCP_TOOL(.name = "b", .reply = say));
    raw_tool(&raw, MCP_TOOL(.name = "c", .reply = say));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    line = raw_expect(&raw, "\"name\":\"b\"");
    assert_null(strstr(line, "\"name\":\"c\""));
    next_cursor(line, cursor);
    snprintf(more, sizeof(more), ",\"cursor\":\"%s\"", cursor);
    raw_ask(&raw, "2", "tools/list", more);
    line = raw_expect(&raw, "\"tools\":[{\"name\":\"c\"");
    assert_null(strstr(line, "nextCursor"));
    raw_done(&raw);
}

static void
a_bad_cursor_is_refused(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", ",\"cursor\":\"mine\"");
    raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: cursor is not");
    raw_ask(&raw, "2", "tools/list", ",\"cursor\":\"\"");
    raw_expect(&raw, "\"code\":-32602");
    raw_ask(&raw, "3", "tools/list", ",\"cursor\":5");
    raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: cursor must be");
    raw_done(&raw);
}

static void
legacy_clients_are_told_of_changes_once_a_turn(void **state)
{
    char name[16];
    const char *line;
    int notes = 0;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED));
    raw_start(&raw, false);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        raw_tool(&raw, MCP_TOOL(.name = name, .reply = say));
    }
    assert_int_equal(mcp_server_remove_tool(raw.server, "t5"), 0);
    raw_expect(&raw, "{\"jsonrpc\":\"2.0\","
                     "\"method\":\"notifications/tools/list_changed\"}");
    raw_ask(&raw, "1", "ping", "");
    for (line = raw_line(&raw); strstr(line, "list_changed"); line = raw_line(&raw))
        notes++;
    assert_true(notes < 100);
    assert_int_equal(mcp_server_remove_tool(raw.server, "t5"), MCP_E_INVAL);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

static void
clients_that_cannot_be_told_are_not(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_start(&raw, true);
    raw_expect_silence(&raw);
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = say));
    raw_call(&raw, "1", "t", NULL);
    raw_expect(&raw, "said");
    raw_done(&raw);
}

/* ---- tools/call --------------------------------------------------------- */

static void
a_tool_that_is_not_there_is_unknown(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = say));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "3", "invalid_tool_name", NULL);
    raw_expect(&raw, "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32602,"
                     "\"message\":\"Unknown tool: invalid_tool_name\"}}");
    raw_call(&raw, "4", "t\\u0000", NULL);
    raw_expect(&raw, "Unknown tool");
    assert_int_equal(mcp_server_remove_tool(raw.server, "t"), 0);
    if (!RAW_MODERN)
        raw_expect(&raw, "list_changed");
    raw_call(&raw, "5", "t", NULL);
    raw_expect(&raw, "Unknown tool: t");
    raw_done(&raw);
}

static void
a_malformed_call_is_an_error_of_the_protocol(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "t", .reply = say));
    raw_start(&raw, true);
    raw_ask(&raw, "1", "tools/call", "");
    raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: name must be");
    raw_ask(&raw, "2", "tools/call", ",\"name\":5");
    raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: name must be");
    raw_call(&raw, "3", "t", "[]");
    raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: arguments must be");
    raw_call(&raw, "4", "t", "null");
    raw_expect(&raw, "\"code\":-32602,\"message\":\"Invalid params: arguments must be");
    raw_call(&raw, "5", "t", "{\"a\":1,\"a\":2}");
    raw_expect(&raw,
               "\"code\":-32602,\"message\":\"Invalid params: a key stands twice");
    raw_call(&raw, "6", "t", "{\"a\":1}");
    raw_expect(&raw, "said");
    raw_done(&raw);
}

static int
say_new(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    mcp_result_audio(out, "x", 1, "audio/wav");
    return mcp_result_resource_link(out, "a:b", "b", NULL, NULL, NULL);
}

static void
an_old_client_gets_words_for_what_it_does_not_know(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "new", .reply = say_new));
    raw_connect(&raw, false);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    raw_send(&raw, INITIALIZE("0", "2024-11-05"));
    raw_expect(&raw, "\"protocolVersion\":\"2024-11-05\"");
    raw_send(&raw, NOTE("notifications/initialized", "{}"));
    raw_call(&raw, "1", "new", NULL);
    raw_expect(&raw, "\"content\":[{\"type\":\"text\",\"text\":\"(audio/wav audio, "
                     "which protocol version 2024-11-05 has no room for)\"},"
                     "{\"type\":\"text\",\"text\":\"(link to the resource b: a:b)\"}]");
    raw_done(&raw);
}

/* ---- the protocol's own schemas ----------------------------------------- */

struct everything {
    int64_t n;
};

static const mcp_field everything_fields[] = {
    MCP_FIELD(struct everything, n, MCP_INT, MCP_REQUIRED, "a number"),
    {0},
};

static int
say_everything(mcp_request *req, mcp_result *out, void *user)
{
    struct everything e = {5};

    (void)req;
    (void)user;
    mcp_result_text(out, "text");
    mcp_result_annotate(out, MCP_FOR_USER, 0.5, "2025-01-12T15:00:58Z");
    mcp_result_image(out, "x", 1, "image/png");
    mcp_result_audio(out, "x", 1, "audio/wav");
    mcp_result_resource_text(out, "file:///a", "text/plain", "a");
    mcp_result_resource_bytes(out, "file:///b", NULL, "b", 1);
    mcp_result_resource_link(out, "file:///c", "c", "C", "the third", "text/html");
    mcp_result_meta(out, "example.org/own", "{\"a\":1}");
    return mcp_result_struct(out, &e);
}

static void
what_is_answered_conforms_to_the_schema(void **state)
{
    const mcp_icon icons[] = {{.src = "https://example.org/i.png", .sizes = "any"},
                              {0}};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1));
    raw_tool(&raw,
             MCP_TOOL(.name = "all", .title = "All", .description = "says all",
                      .fields = everything_fields, .output_fields = everything_fields,
                      .icons = icons, .meta = "{\"a\":1}", .hints = MCP_READ_ONLY,
                      .reply = say_everything));
    raw_tool(&raw, MCP_TOOL(.name = "b", .reply = say));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    conforms(raw_line(&raw), RAW_MODERN, "ListToolsResult");
    raw_call(&raw, "2", "all", "{\"n\":1}");
    conforms(raw_expect(&raw, "structuredContent"), RAW_MODERN, "CallToolResult");
    raw_call(&raw, "3", "all", NULL);
    conforms(raw_expect(&raw, "isError"), RAW_MODERN, "CallToolResult");
    raw_done(&raw);
}

static void
list_in(struct test_mem *mem, void *user)
{
    struct raw raw;
    const char *line;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "t", .reply = say), NULL) ==
            0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_ask(&raw, "1", "tools/list", "");
        line = raw_next(&raw);
        if (line && !strstr(line, "\"id\":1"))
            fail_msg("%s", line);
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(list_in, NULL) > 10);
}

TEST_MAIN(TEST_ERAS(a_list_has_what_its_era_wants),
          TEST_ERAS(output_of_any_type_is_promised_to_the_modern_era),
          TEST_ERAS(output_that_may_be_an_object_is_one_to_the_legacy_era),
          TEST_ERAS(a_long_list_comes_in_pages), TEST_ERAS(a_bad_cursor_is_refused),
          TEST(legacy_clients_are_told_of_changes_once_a_turn),
          TEST(clients_that_cannot_be_told_are_not),
          TEST_ERAS(a_tool_that_is_not_there_is_unknown),
          TEST(a_malformed_call_is_an_error_of_the_protocol),
          TEST(an_old_client_gets_words_for_what_it_does_not_know),
          TEST_ERAS(what_is_answered_conforms_to_the_schema),
          TEST(each_allocation_may_fail))
