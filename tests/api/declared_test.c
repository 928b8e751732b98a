/* declared_test.c - what either side has declared, and what is not asked without it */
#include <mcp/server.h>
#include <stdio.h>

#include "api/client_fixture.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

#define HELLO(version, capabilities)                                                  \
    "\"result\":{\"protocolVersion\":\"" version "\",\"capabilities\":{" capabilities \
    "},\"serverInfo\":"                                                               \
    "{\"name\":\"script\",\"version\":\"9\"}}"

/* Every method that needs something, and what that is called. */
static const struct needed {
    const char *method, *capability;
} needed[] = {
    {"tools/list", "tools"},
    {"tools/call", "tools"},
    {"resources/list", "resources"},
    {"resources/templates/list", "resources"},
    {"resources/read", "resources"},
    {"resources/subscribe", "resources.subscribe"},
    {"resources/unsubscribe", "resources.subscribe"},
    {"prompts/list", "prompts"},
    {"prompts/get", "prompts"},
    {"completion/complete", "completions"},
    {"logging/setLevel", "logging"},
};

enum { NEEDED = sizeof(needed) / sizeof(needed[0]) };

static void
open_strict(struct fixture *f, enum mcp_era era, bool strict)
{
    f->client = script_client(&f->s, &SCRIPT_OPTIONS(.allocator = &f->mem.allocator,
                                                     .era = era, .strict = strict));
}

/* A strict client of a legacy server that says this of itself. */
static void
open_hello(struct fixture *f, const char *hello)
{
    fixture_prepare(f, MCP_ERA_LEGACY);
    script_plan(&f->s, "\"initialize\"", hello);
    open_strict(f, MCP_ERA_LEGACY, true);
}

static void
what_was_not_declared_is_not_asked(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    struct fixture f;
    mcp_error err;

    fixture_prepare(&f, era);
    open_strict(&f, era, true);
    assert_int_equal(mcp_client_list_tools(f.client, NULL, NULL, NULL, &err), 0);
    assert_int_equal(mcp_client_list_prompts(f.client, NULL, NULL, NULL, &err),
                     MCP_E_NO_CHANNEL);
    assert_int_equal(err.status, MCP_E_NO_CHANNEL);
    assert_int_equal(err.rpc_code, 0); /* not the server's word */
    assert_string_equal(err.message,
                        "prompts/list: the server has not declared prompts");
    assert_int_equal(
        mcp_client_list_all(f.client, MCP_LIST_RESOURCES, NULL, NULL, &err),
        MCP_E_NO_CHANNEL);
    assert_int_equal(mcp_client_start_read(f.client, "a:b", NULL, NULL, NULL, NULL),
                     MCP_E_NO_CHANNEL);
    assert_int_equal(mcp_client_call(f.client, "x/own", NULL, NULL, NULL, &err),
                     MCP_E_PEER); /* of that nobody declares anything */
    assert_int_equal(script_count(&f.s, "\"prompts/"), 0);
    assert_int_equal(script_count(&f.s, "\"resources/"), 0);
    fixture_close(&f);
}

static void
who_is_not_strict_hears_it_from_the_server(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    struct fixture f;
    mcp_error err;

    fixture_prepare(&f, era);
    open_strict(&f, era, false);
    assert_int_equal(mcp_client_list_prompts(f.client, NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32601);
    assert_int_equal(script_count(&f.s, "prompts/list"), 1);
    fixture_close(&f);
}

static void
each_method_needs_what_it_belongs_to(void **state)
{
    struct fixture f;
    char words[160];
    mcp_error err;

    (void)state;
    open_hello(&f, HELLO("2025-11-25", ""));
    for (size_t i = 0; i < NEEDED; i++) {
        assert_int_equal(
            mcp_client_call(f.client, needed[i].method, NULL, NULL, NULL, &err),
            MCP_E_NO_CHANNEL);
        snprintf(words, sizeof words, "%s: the server has not declared %s",
                 needed[i].method, needed[i].capability);
        assert_string_equal(err.message, words);
        assert_int_equal(script_count(&f.s, needed[i].method), 0);
    }
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    fixture_close(&f);
}

static void
what_was_declared_is_asked(void **state)
{
    struct fixture f;

    (void)state;
    open_hello(&f, HELLO("2025-11-25",
                         "\"tools\":{},\"prompts\":{},\"completions\":{},\"logging\":"
                         "{},\"resources\":{\"subscribe\":true}"));
    for (size_t i = 0; i < NEEDED; i++) {
        script_plan(&f.s, needed[i].method, "\"result\":{}");
        assert_int_equal(
            mcp_client_call(f.client, needed[i].method, NULL, NULL, NULL, NULL), 0);
    }
    fixture_close(&f);
}

static void
servers_of_2024_complete_without_a_word_about_it(void **state)
{
    struct fixture f;

    (void)state;
    open_hello(&f, HELLO("2024-11-05", ""));
    script_plan(&f.s, "completion/complete", "\"result\":{}");
    assert_int_equal(
        mcp_client_call(f.client, "completion/complete", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_call(f.client, "tools/list", NULL, NULL, NULL, NULL),
                     MCP_E_NO_CHANNEL);
    fixture_close(&f);
}

static void
before_it_is_ready_nobody_knows_what_is_declared(void **state)
{
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    script_ignore(&f.s, true);
    f.client = script_client(&f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                                   .no_wait = true, .strict = true));
    assert_int_equal(mcp_client_list_tools(f.client, NULL, NULL, NULL, &err),
                     MCP_E_STATE);
    assert_string_equal(err.message, "the connection is not ready yet");
    fixture_close(&f);
}

static void
who_declared_no_roots_tells_of_none(void **state)
{
    static const char changed[] = "notifications/roots/list_changed";
    static const mcp_root none[] = {{NULL, NULL}};
    struct fixture f;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_notify(f.client, changed, NULL), MCP_E_STATE);
    assert_int_equal(mcp_client_notify(f.client, "x/other", NULL), 0);
    (void)script_line(&f.s, "x/other", 1);
    assert_int_equal(script_count(&f.s, changed), 0);
    fixture_close(&f);
    fixture_prepare(&f, MCP_ERA_LEGACY);
    f.client = script_client(
        &f.s, &SCRIPT_OPTIONS(.allocator = &f.mem.allocator, .root_list = none));
    assert_int_equal(mcp_client_notify(f.client, changed, NULL), 0);
    (void)script_line(&f.s, changed, 1);
    fixture_close(&f);
}

/* ---- what the two sides see of each other -------------------------------- */

static int
say_capabilities(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *can = mcp_request_client_capabilities(req);
    char *text = NULL;
    int r;

    (void)user;
    r = mcp_json_print(mcp_json_get(can, "experimental"), false, NULL, &text, NULL);
    if (r == 0)
        r = mcp_result_text(out, text);
    mcp_text_free(text, NULL);
    return r;
}

static void
is_json(const mcp_json *value, const char *text)
{
    char *shown = NULL;

    assert_int_equal(mcp_json_print(value, false, NULL, &shown, NULL), 0);
    assert_string_equal(shown, text);
    mcp_text_free(shown, NULL);
}

static void
experimental_capabilities_pass_as_they_are(void **state)
{
    mcp_server *server = NULL;
    mcp_client *client = NULL;
    mcp_reply *reply = NULL;
    const mcp_json *can;

    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(
                               .name = "s", .version = "1",
                               .experimental = "{\"org.example/a\":{\"deep\":[1,{}]}}"),
                       &server, NULL),
        0);
    assert_int_equal(
        mcp_server_add_tool(server, &MCP_TOOL(.name = "say", .reply = say_capabilities),
                            NULL),
        0);
    assert_int_equal(mcp_server_start(server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(
            server,
            &SCRIPT_OPTIONS(.era = *(enum mcp_era *)*state,
                            .experimental = "{\"org.example/b\":{\"level\":2}}"),
            &client, NULL),
        0);
    can = mcp_json_get(mcp_client_server_capabilities(client), "experimental");
    is_json(mcp_json_get(can, "org.example/a"), "{\"deep\":[1,{}]}");
    assert_null(mcp_json_get(can, "org.example/b"));
    assert_int_equal(mcp_client_call_tool(client, "say", NULL, NULL, &reply, NULL), 0);
    assert_string_equal(mcp_reply_text(reply), "{\"org.example/b\":{\"level\":2}}");
    mcp_reply_free(reply);
    mcp_client_free(client);
    mcp_server_free(server);
}

/* clang-format off */
#define IN_BOTH_ERAS(function) \
    TEST_AS("modern." #function, function, &modern), \
    TEST_AS("legacy." #function, function, &legacy)

TEST_MAIN(IN_BOTH_ERAS(what_was_not_declared_is_not_asked),
          IN_BOTH_ERAS(who_is_not_strict_hears_it_from_the_server),
          TEST(each_method_needs_what_it_belongs_to),
          TEST(what_was_declared_is_asked),
          TEST(servers_of_2024_complete_without_a_word_about_it),
          TEST(before_it_is_ready_nobody_knows_what_is_declared),
          IN_BOTH_ERAS(who_declared_no_roots_tells_of_none),
          IN_BOTH_ERAS(experimental_capabilities_pass_as_they_are))
/* clang-format on */
