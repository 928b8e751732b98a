/* offers_test.c - what a server offers: added and removed, and said to all */
#include "api/raw_client.h"

#include <sys/wait.h>

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static const mcp_tool tool = {sizeof(tool), .name = "t", .reply = nothing};
static const mcp_resource resource = {sizeof(resource), .uri = "a:r", .name = "r",
                                      .text = "x"};
static const mcp_template template = {sizeof(template), .uri_template = "a:{t}",
                                      .name = "t", .reply = nothing};
static const mcp_prompt prompt = {sizeof(prompt), .name = "p", .reply = nothing};

/* What the server says it can do, to a client of that era that is new. */
static void
says(struct raw *raw, bool modern, const char *capabilities)
{
    char part[1024];

    snprintf(part, sizeof(part), "\"capabilities\":%s,\"%s\"", capabilities,
             modern ? "ttlMs" : "serverInfo");
    if (raw->fd >= 0)
        close(raw->fd);
    raw->len = raw->line = 0;
    raw_connect(raw, modern);
    if (modern)
        raw_ask(raw, "1", "server/discover", "");
    else
        raw_send(raw, INITIALIZE("1", "2025-11-25"));
    raw_expect(raw, part);
}

/* ---- capabilities ------------------------------------------------------- */

static void
a_server_that_offers_nothing_says_so(void **state)
{
    static const char *const methods[] = {"tools/list",     "tools/call",
                                          "resources/list", "prompts/list",
                                          "prompts/get",    "resources/templates/list",
                                          "resources/read", "completion/complete"};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.no_logging = true));
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    says(&raw, RAW_MODERN, "{}");
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        raw_ask(&raw, "2", methods[i], ",\"name\":\"x\",\"uri\":\"a:b\"");
        raw_expect(&raw, "\"code\":-32601");
    }
    raw_done(&raw);
}

static void
what_was_added_is_said_from_then_on(void **state)
{
    bool modern = RAW_MODERN;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.changes_ms = 60000)); /* nobody is told */
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    says(&raw, modern, "{\"logging\":{}}");
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, NULL), 0);
    says(&raw, modern, "{\"logging\":{},\"tools\":{\"listChanged\":true}}");
    assert_int_equal(mcp_server_add_prompt(raw.server, &prompt, NULL), 0);
    says(&raw, modern,
         "{\"logging\":{},\"prompts\":{\"listChanged\":true},"
         "\"tools\":{\"listChanged\":true}}");
    assert_int_equal(mcp_server_add_template(raw.server, &template, NULL), 0);
    says(&raw, modern,
         "{\"logging\":{},\"prompts\":{\"listChanged\":true},"
         "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
         "\"tools\":{\"listChanged\":true}}");
    assert_int_equal(mcp_server_remove_tool(raw.server, "t"), 0);
    raw_ask(&raw, "2", "tools/list", ""); /* an empty list is a list */
    raw_expect(&raw, "\"tools\":[]");
    raw_done(&raw);
}

static void
what_can_be_completed_is_said(void **state)
{
    static const char *const values[] = {"v", NULL};
    const mcp_prompt_argument arguments[] = {{.name = "a", .values = values}, {0}};
    mcp_template completed = template;
    mcp_prompt valued = prompt;
    struct raw raw;

    valued.arguments = arguments;
    completed.complete.reply = nothing;
    for (int i = 0; i < 2; i++) {
        raw_make(&raw, MCP_SERVER_OPTIONS(.no_logging = true));
        assert_int_equal(mcp_server_start(raw.server, NULL), 0);
        if (i == 0)
            assert_int_equal(mcp_server_add_prompt(raw.server, &valued, NULL), 0);
        else
            assert_int_equal(mcp_server_add_template(raw.server, &completed, NULL), 0);
        says(&raw, RAW_MODERN,
             i == 0 ? "{\"completions\":{},\"prompts\":{\"listChanged\":true}}"
                    : "{\"completions\":{},\"resources\":"
                      "{\"subscribe\":true,\"listChanged\":true}}");
        raw_done(&raw);
    }
}

static void
the_options_may_say_more(void **state)
{
    struct raw raw;

    raw_make(&raw,
             MCP_SERVER_OPTIONS(.offers = MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED |
                                          MCP_RESOURCE_UPDATED,
                                .experimental = "{ \"x\": {\"y\":1} }",
                                .extensions = "{\"org.example/z\":{}}"));
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    says(&raw, RAW_MODERN,
         "{\"experimental\":{\"x\":{\"y\":1}},\"logging\":{},"
         "\"prompts\":{\"listChanged\":true},"
         "\"resources\":{\"subscribe\":true,\"listChanged\":true},"
         "\"tools\":{\"listChanged\":true},\"extensions\":{\"org.example/z\":{}}}");
    if (!RAW_MODERN)
        raw_send(&raw, NOTE("notifications/initialized", "{}"));
    raw_ask(&raw, "2", "resources/list", "");
    raw_expect(&raw, "\"resources\":[]");
    raw_ask(&raw, "3", "prompts/get", ",\"name\":\"x\"");
    raw_expect(&raw, "Unknown prompt: x");
    raw_done(&raw);
}

static void
refuse(mcp_server_options opt, const char *why)
{
    mcp_server *server = NULL;
    mcp_error err = {0};

    opt.name = "a";
    opt.version = "1";
    assert_int_equal(mcp_server_new(&opt, &server, &err), MCP_E_INVAL);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
}

static void
what_is_wrong_with_the_options_is_told(void **state)
{
    (void)state;
    refuse(MCP_SERVER_OPTIONS(.offers = 16), "something unknown");
    refuse(MCP_SERVER_OPTIONS(.list_scope = (enum mcp_cache_scope)7), "scope");
    refuse(MCP_SERVER_OPTIONS(.list_ttl_ms = -1), "negative");
    refuse(MCP_SERVER_OPTIONS(.extensions = "[]"), "its extensions is not an object");
    refuse(MCP_SERVER_OPTIONS(.extensions = "{"), "its extensions");
    refuse(MCP_SERVER_OPTIONS(.extensions = "{\"a/b\":1}"), "a/b among the extensions");
    refuse(MCP_SERVER_OPTIONS(.extensions = "{\"plain\":{}}"),
           "prefix/name, not plain");
    refuse(MCP_SERVER_OPTIONS(.experimental = "{\"x\":[]}"),
           "x among the experimental");
    refuse(MCP_SERVER_OPTIONS(.experimental = "1"), "its experimental");
}

/* ---- adding and removing ------------------------------------------------ */

static void
each_is_added_once_and_removed_once(void **state)
{
    mcp_error err = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, NULL), 0);
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "there is a tool t already");
    assert_int_equal(mcp_server_remove_tool(raw.server, "t"), 0);
    assert_int_equal(mcp_server_remove_tool(raw.server, "t"), MCP_E_INVAL);
    assert_int_equal(mcp_server_add_resource(raw.server, &resource, NULL), 0);
    assert_int_equal(mcp_server_add_resource(raw.server, &resource, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "there is a resource a:r already");
    assert_int_equal(mcp_server_add_template(raw.server, &template, NULL), 0);
    assert_int_equal(mcp_server_add_template(raw.server, &template, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "there is a template a:{t} already");
    assert_int_equal(mcp_server_add_prompt(raw.server, &prompt, NULL), 0);
    assert_int_equal(mcp_server_add_prompt(raw.server, &prompt, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "there is a prompt p already");
    assert_int_equal(mcp_server_remove_resource(raw.server, "a:r"), 0);
    assert_int_equal(mcp_server_remove_resource(raw.server, "a:r"), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_template(raw.server, "a:{t}"), 0);
    assert_int_equal(mcp_server_remove_template(raw.server, "a:{t}"), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_prompt(raw.server, "p"), 0);
    assert_int_equal(mcp_server_remove_prompt(raw.server, "p"), MCP_E_INVAL);
    assert_int_equal(mcp_server_add_prompt(raw.server, &prompt, NULL), 0);
    raw_done(&raw);
}

static void
arguments_are_checked(void **state)
{
    mcp_resource small = resource;
    mcp_error err = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_add_resource(NULL, &resource, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_add_resource(raw.server, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "this is no resource");
    assert_int_equal(mcp_server_add_template(raw.server, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "this is no template");
    assert_int_equal(mcp_server_add_prompt(raw.server, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "this is no prompt");
    small.size = 1;
    assert_int_equal(mcp_server_add_resource(raw.server, &small, &err), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_resource(raw.server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_template(NULL, "a:b"), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_prompt(raw.server, NULL), MCP_E_INVAL);
    raw_done(&raw);
}

static void
nothing_works_in_a_process_that_was_forked_off(void **state)
{
    struct raw raw;
    int status;
    pid_t pid;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(mcp_server_add_resource(raw.server, &resource, NULL) == MCP_E_STATE &&
                      mcp_server_add_template(raw.server, &template, NULL) ==
                          MCP_E_STATE &&
                      mcp_server_add_prompt(raw.server, &prompt, NULL) == MCP_E_STATE &&
                      mcp_server_remove_resource(raw.server, "a:r") == MCP_E_STATE &&
                      mcp_server_remove_template(raw.server, "a:r") == MCP_E_STATE &&
                      mcp_server_remove_prompt(raw.server, "p") == MCP_E_STATE
                  ? 0
                  : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    raw_done(&raw);
}

static void
legacy_clients_are_told_of_each_list(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw,
             MCP_SERVER_OPTIONS(.changes_ms = -1, .offers = MCP_TOOLS_CHANGED |
                                                            MCP_PROMPTS_CHANGED |
                                                            MCP_RESOURCES_CHANGED));
    raw_start(&raw, false);
    assert_int_equal(mcp_server_add_prompt(raw.server, &prompt, NULL), 0);
    raw_expect(&raw, "\"notifications/prompts/list_changed\"");
    assert_int_equal(mcp_server_add_template(raw.server, &template, NULL), 0);
    raw_expect(&raw, "\"notifications/resources/list_changed\"");
    assert_int_equal(mcp_server_add_resource(raw.server, &resource, NULL), 0);
    raw_expect(&raw, "\"notifications/resources/list_changed\"");
    assert_int_equal(mcp_server_remove_resource(raw.server, "a:r"), 0);
    raw_expect(&raw, "\"notifications/resources/list_changed\"");
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, NULL), 0);
    raw_expect(&raw, "\"notifications/tools/list_changed\"");
    assert_int_equal(mcp_server_remove_resource(raw.server, "a:r"), MCP_E_INVAL);
    raw_expect_silence(&raw);
    raw_done(&raw);
}

/* ---- memory and threads ------------------------------------------------- */

static void
add_in(struct test_mem *mem, void *user)
{
    const char *line;
    struct raw raw;
    int r;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.extensions = "{\"a/b\":{}}")) < 0)
        return;
    raw.lenient = true;
    r = mcp_server_add_resource(raw.server, &resource, NULL);
    if (r == 0)
        r = mcp_server_add_template(raw.server, &template, NULL);
    if (r == 0)
        r = mcp_server_add_prompt(raw.server, &prompt, NULL);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    if (r == 0 && raw_try_connect(&raw, true) == 0 &&
        mcp_server_start(raw.server, NULL) == 0) {
        raw_ask(&raw, "1", "server/discover", "");
        line = raw_next(&raw);
        if (line && strstr(line, "\"result\"") && !strstr(line, "\"prompts\""))
            fail_msg("%s", line); /* it cannot be forgotten for want of memory */
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(add_in, NULL) > 20);
}

static void *
change(void *user)
{
    struct raw *raw = user;

    for (int i = 0; i < 100; i++) {
        assert_int_equal(mcp_server_add_resource(raw->server, &resource, NULL), 0);
        assert_int_equal(mcp_server_add_prompt(raw->server, &prompt, NULL), 0);
        assert_int_equal(mcp_server_remove_resource(raw->server, "a:r"), 0);
        assert_int_equal(mcp_server_remove_prompt(raw->server, "p"), 0);
    }
    return NULL;
}

static void
any_thread_may_add_while_it_is_asked(void **state)
{
    pthread_t thread;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.offers = MCP_PROMPTS_CHANGED));
    raw_start(&raw, true);
    assert_int_equal(pthread_create(&thread, NULL, change, &raw), 0);
    for (int i = 0; i < 100; i++) {
        raw_ask(&raw, "1", "server/discover", "");
        raw_expect(&raw, "\"prompts\":{");
        raw_ask(&raw, "2", "prompts/list", "");
        raw_expect(&raw, "\"prompts\":[");
    }
    pthread_join(thread, NULL);
    raw_ask(&raw, "3", "server/discover", "");
    raw_expect(&raw, "\"resources\":{");
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(a_server_that_offers_nothing_says_so),
          TEST_ERAS(what_was_added_is_said_from_then_on),
          TEST_ERAS(what_can_be_completed_is_said), TEST_ERAS(the_options_may_say_more),
          TEST(what_is_wrong_with_the_options_is_told),
          TEST(each_is_added_once_and_removed_once), TEST(arguments_are_checked),
          TEST(nothing_works_in_a_process_that_was_forked_off),
          TEST(legacy_clients_are_told_of_each_list), TEST(each_allocation_may_fail),
          TEST(any_thread_may_add_while_it_is_asked))
