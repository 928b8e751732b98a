/* prompts_test.c - prompts/get: which prompt, and are its arguments there */
#include "api/conforms.h"
#include "api/raw_client.h"

static const mcp_prompt_argument arguments[] = {
    {.name = "code", .required = true},
    {.name = "style"},
    {0},
};

static atomic_int reviews; /* runs of the handler below */

static int
review(mcp_request *req, mcp_result *out, void *user)
{
    const char *style = mcp_request_argument(req, "style");

    (void)user;
    atomic_fetch_add(&reviews, 1);
    if (mcp_request_variables(req) || *mcp_request_complete_name(req) ||
        *mcp_request_complete_value(req) || mcp_request_complete_known(req, "code"))
        return MCP_E_PROTO;
    mcp_result_textf(out, "%s %s: %s", mcp_request_name(req), style ? style : "-",
                     mcp_request_argument(req, "code"));
    mcp_result_role(out, MCP_ROLE_ASSISTANT);
    return mcp_result_text(out, "Sure");
}

static int
describe(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    mcp_result_description(out, "of this time");
    return mcp_result_resource_text(out, "a:b", "x/y", "z");
}

static void
add(struct raw *raw, mcp_prompt prompt)
{
    mcp_error err = {0};

    if (mcp_server_add_prompt(raw->server, &prompt, &err) < 0)
        fail_msg("%s", err.message);
}

static void
open_with(struct raw *raw, bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    add(raw, MCP_PROMPT(.name = "review", .description = "Review \"it\"",
                        .arguments = arguments, .run = review));
    add(raw,
        MCP_PROMPT(.name = "describe", .description = "always", .reply = describe));
    raw_start(raw, modern);
}

static void
a_prompt_is_messages(void **state)
{
    struct raw raw;
    const char *line;

    open_with(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "prompts/get",
            ",\"name\":\"review\",\"arguments\":{\"code\":\"x=1\"}");
    line = raw_expect(
        &raw, "\"result\":{\"messages\":[{\"role\":\"user\",\"content\":"
              "{\"type\":\"text\",\"text\":\"review -: x=1\"}},{\"role\":\"assistant\","
              "\"content\":{\"type\":\"text\",\"text\":\"Sure\"}}],"
              "\"description\":\"Review \\\"it\\\"\"");
    assert_non_null(strstr(line, RAW_MODERN ? ",\"resultType\":\"complete\"" : "}}"));
    assert_null(strstr(line, "ttlMs"));
    raw_ask(&raw, "2", "prompts/get",
            ",\"name\":\"review\",\"arguments\":{\"code\":\"\",\"style\":\"K&R\","
            "\"other\":\"ignored\"}");
    raw_expect(&raw, "review K&R: ");
    raw_ask(&raw, "3", "prompts/get", ",\"name\":\"describe\"");
    raw_expect(&raw, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
                     "\"resource\",\"resource\":{\"uri\":\"a:b\",\"mimeType\":\"x/y\","
                     "\"text\":\"z\"}}}],\"description\":\"of this time\"");
    raw_done(&raw);
}

static void
who_asks_wrongly_is_told_why(void **state)
{
    static const struct {
        const char *more, *why;
    } wrong[] = {
        {"", "Invalid params: name must be a string"},
        {",\"name\":{}", "Invalid params: name must be a string"},
        {",\"name\":\"none\"", "Unknown prompt: none"},
        {",\"name\":\"review\\u0000\"", "Unknown prompt: review"},
        {",\"name\":\"review\"", "Invalid params: the argument code is missing"},
        {",\"name\":\"review\",\"arguments\":{\"style\":\"x\"}",
         "Invalid params: the argument code is missing"},
        {",\"name\":\"review\",\"arguments\":[]",
         "Invalid params: arguments must be an object"},
        {",\"name\":\"review\",\"arguments\":null",
         "Invalid params: arguments must be an object"},
        {",\"name\":\"review\",\"arguments\":{\"code\":5}",
         "Invalid params: each of arguments must be a string"},
        {",\"name\":\"review\",\"arguments\":{\"code\":\"a\",\"code\":\"b\"}",
         "Invalid params: a key stands twice in arguments"},
    };
    char part[200];
    struct raw raw;

    atomic_store(&reviews, 0);
    open_with(&raw, RAW_MODERN);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        raw_ask(&raw, "1", "prompts/get", wrong[i].more);
        snprintf(part, sizeof(part), "\"error\":{\"code\":-32602,\"message\":\"%s\"}}",
                 wrong[i].why);
        raw_expect(&raw, part);
    }
    assert_int_equal(atomic_load(&reviews), 0);
    raw_done(&raw);
}

static int
structure(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    mcp_result_text(out, "x");
    return mcp_result_json(out, "{}", 2);
}

static void
a_mistake_of_the_handler_is_logged(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_PROMPT(.name = "p", .reply = structure));
    raw_start(&raw, true);
    raw_ask(&raw, "1", "prompts/get", ",\"name\":\"p\"");
    raw_expect(&raw, "\"code\":-32603");
    assert_true(raw_logged(&raw, "the answer to prompts/get has no structured output"));
    raw_done(&raw);
}

static int
wait_for_cancel(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    atomic_store((atomic_bool *)user, true);
    return mcp_request_sleep(req, AWAIT_MS);
}

static void
a_prompt_can_be_canceled(void **state)
{
    atomic_bool entered = false;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_PROMPT(.name = "p", .run = wait_for_cancel, .user = &entered));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "prompts/get", ",\"name\":\"p\"");
    RAW_UNTIL(atomic_load(&entered));
    raw_cancel(&raw, "1", "enough");
    raw_expect_silence(&raw);
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    raw_done(&raw);
}

static int
say_all(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    mcp_result_text(out, "a");
    mcp_result_annotate(out, MCP_FOR_ASSISTANT, 1, NULL);
    mcp_result_image(out, "x", 1, "image/png");
    mcp_result_role(out, MCP_ROLE_ASSISTANT);
    mcp_result_audio(out, "x", 1, "audio/wav");
    mcp_result_resource_bytes(out, "a:b", NULL, "x", 1);
    mcp_result_resource_link(out, "a:c", "c", NULL, NULL, NULL);
    return mcp_result_meta(out, "example.org/own", "1");
}

static void
what_is_answered_conforms_to_the_schema(void **state)
{
    static const char *const values[] = {"v", NULL};
    const mcp_prompt_argument shown[] = {
        {"a", "A", "the first", true, values}, {.name = "b"}, {0}};
    const mcp_icon icons[] = {{.src = "https://example.org/i.png"}, {0}};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1));
    add(&raw,
        MCP_PROMPT(.name = "p", .title = "P", .description = "d", .arguments = shown,
                   .icons = icons, .meta = "{\"a\":1}", .run = say_all));
    add(&raw, MCP_PROMPT(.name = "q", .run = say_all));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "prompts/list", "");
    conforms(raw_expect(&raw, "nextCursor"), RAW_MODERN, "ListPromptsResult");
    raw_ask(&raw, "2", "prompts/get", ",\"name\":\"p\",\"arguments\":{\"a\":\"\"}");
    conforms(raw_expect(&raw, "resource_link"), RAW_MODERN, "GetPromptResult");
    raw_done(&raw);
}

static void
get_in(struct test_mem *mem, void *user)
{
    const char *line;
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_prompt(raw.server, &MCP_PROMPT(.name = "p", .run = describe),
                              NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_ask(&raw, "1", "prompts/get", ",\"name\":\"p\"");
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
    assert_true(test_each_allocation_fails(get_in, NULL) > 20);
}

TEST_MAIN(TEST_ERAS(a_prompt_is_messages), TEST_ERAS(who_asks_wrongly_is_told_why),
          TEST(a_mistake_of_the_handler_is_logged), TEST_ERAS(a_prompt_can_be_canceled),
          TEST_ERAS(what_is_answered_conforms_to_the_schema),
          TEST(each_allocation_may_fail))
