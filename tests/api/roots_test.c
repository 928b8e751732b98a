/* roots_test.c - the roots that a client has by itself, and changes */
#include "api/desk.h"

static const mcp_root two_roots[] = {
    {"file:///place/me", "Home \"sweet\""}, {"file:///tmp", NULL}, {NULL, NULL}};
static const mcp_root no_roots[] = {{NULL, NULL}};

#define ROOTS_ARE(id, roots) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"roots\":[" roots "]}}"
#define ASK(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"roots/list\"}"
#define CHANGED "notifications/roots/list_changed"

static void
a_list_answers_by_itself(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.root_list = two_roots));
    script_say(&d.f.s, ASK("1"));
    assert_string_equal(script_line(&d.f.s, "\"id\":1", 1),
                        ROOTS_ARE("1", "{\"uri\":\"file:///place/me\",\"name\":\"Home "
                                       "\\\"sweet\\\"\"},{\"uri\":\"file:///tmp\"}"));
    desk_close(&d);
}

static void
a_legacy_server_is_told_of_new_roots(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.root_list = no_roots));
    script_say(&d.f.s, ASK("1"));
    assert_string_equal(script_line(&d.f.s, "\"id\":1", 1), ROOTS_ARE("1", ""));
    assert_int_equal(mcp_client_set_roots(d.f.client, two_roots + 1), 0);
    assert_string_equal(script_line(&d.f.s, CHANGED, 1),
                        "{\"jsonrpc\":\"2.0\",\"method\":\"" CHANGED "\"}");
    script_say(&d.f.s, ASK("2"));
    assert_string_equal(script_line(&d.f.s, "\"id\":2", 1),
                        ROOTS_ARE("2", "{\"uri\":\"file:///tmp\"}"));
    desk_close(&d);
}

static void
a_modern_server_is_not_told(void **state)
{
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_MODERN);
    desk_attach(&d, SCRIPT_OPTIONS(.root_list = no_roots));
    assert_int_equal(mcp_client_set_roots(d.f.client, two_roots), 0);
    assert_int_equal(mcp_client_call_tool(d.f.client, "echo", NULL, NULL, NULL, NULL),
                     0);
    assert_int_equal(script_count(&d.f.s, CHANGED), 0);
    desk_close(&d);
}

static void
roots_that_cannot_be_are_refused(void **state)
{
    static const mcp_root no_file[] = {{"https://example.com/", NULL}, {NULL, NULL}};
    static const mcp_root no_text[] = {{"file:///a", "\xff"}, {NULL, NULL}};
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.root_list = two_roots + 1));
    assert_int_equal(mcp_client_set_roots(d.f.client, no_file), MCP_E_INVAL);
    assert_int_equal(mcp_client_set_roots(d.f.client, no_text), MCP_E_INVAL);
    assert_int_equal(mcp_client_set_roots(d.f.client, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_client_set_roots(NULL, no_roots), MCP_E_INVAL);
    script_say(&d.f.s, ASK("1")); /* they are what they were */
    assert_string_equal(script_line(&d.f.s, "\"id\":1", 1),
                        ROOTS_ARE("1", "{\"uri\":\"file:///tmp\"}"));
    assert_int_equal(script_count(&d.f.s, CHANGED), 0);
    desk_close(&d);
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(0));
    assert_int_equal(mcp_client_set_roots(d.f.client, no_roots), MCP_E_STATE);
    desk_close(&d);
}

/* ---- threads ------------------------------------------------------------------ */

static void *
set_often(void *user)
{
    mcp_client *client = user;

    for (int i = 0; i < 200; i++)
        if (mcp_client_set_roots(client, two_roots + i % 3) < 0)
            return user;
    return NULL;
}

static void
any_thread_may_change_them(void **state)
{
    pthread_t threads[3];
    void *wrong;
    struct desk d;

    (void)state;
    desk_prepare(&d, MCP_ERA_LEGACY);
    desk_attach(&d, SCRIPT_OPTIONS(.root_list = two_roots));
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, set_often, d.f.client), 0);
    for (int i = 0; i < 50; i++)
        script_say(&d.f.s, ASK("1"));
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    (void)script_line(&d.f.s, "\"id\":1", 50);
    assert_int_equal(mcp_client_set_roots(d.f.client, no_roots), 0);
    mcp_client_close(d.f.client);
    assert_int_equal(mcp_client_set_roots(d.f.client, two_roots), 0);
    desk_close(&d);
}

TEST_MAIN(TEST(a_list_answers_by_itself), TEST(a_legacy_server_is_told_of_new_roots),
          TEST(a_modern_server_is_not_told), TEST(roots_that_cannot_be_are_refused),
          TEST(any_thread_may_change_them))
