/* client_note_test.c - callbacks of the client itself: its state, and notifications */
#include <stdio.h>
#include <string.h>

#include "api/client_fixture.h"

static void
fixture_attach(struct fixture *f, mcp_client_options opt)
{
    opt.allocator = &f->mem.allocator;
    opt.user = &f->told;
    f->client = script_client(&f->s, &opt);
}

static void
a_client_tells_that_it_is_ready_and_that_it_is_gone(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state));
    told_await(&f.told, states, 1);
    assert_int_equal(told_status(&f.told), 0);
    script_leave(&f.s);
    told_await(&f.told, states, 2);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    fixture_close(&f);
}

static void
a_client_tells_that_it_could_not_be_opened(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    script_ignore(&f.s, true);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state, .no_wait = true,
                                      .era = MCP_ERA_LEGACY, .hello_ms = 20));
    told_await(&f.told, states, 1);
    assert_int_equal(told_status(&f.told), MCP_E_TIMEOUT);
    script_await_end(&f.s);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(told_count(&f.told, states), 1); /* it was never ready */
    fixture_close(&f);
}

static void
a_client_that_is_freed_tells_nothing_more(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = told_state));
    told_await(&f.told, states, 1);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(told_count(&f.told, states), 1);
    fixture_close(&f);
}

static void
free_inside(mcp_client *client, int status, void *user)
{
    if (status < 0)
        mcp_client_free(client);
    told_state(NULL, status, user);
}

static bool on_workers = false, on_loop = true;

static void
M26_a_client_may_be_freed_inside_its_callback(void **state)
{
    struct fixture f;

    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_state = free_inside,
                                      .callbacks_on_loop = *(bool *)*state));
    told_await(&f.told, states, 1);
    script_leave(&f.s);
    told_await(&f.told, states, 2);
    f.client = NULL;
    while (atomic_load(&f.mem.live) > 0) /* its own thread frees it, soon */
        sched_yield();
    fixture_close(&f);
}

static void
a_notification_is_told(void **state)
{
    struct fixture f;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note));
    for (i = 0; i < 20; i++)
        assert_int_equal(mcp_client_call_tool(f.client, "ask", NULL, NULL, NULL, NULL),
                         0);
    told_await(&f.told, notes, 20);
    assert_string_equal(f.told.text, "test/note");
    script_line(&f.s, "\"id\":\"s1\",\"result\":{}", 20); /* its pings were answered */
    fixture_close(&f);
}

static void
what_is_the_librarys_own_is_not_told(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note));
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                     "\"params\":{\"requestId\":5}}");
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                     "\"params\":{\"progressToken\":5,\"progress\":1}}");
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    told_await(&f.told, notes, 1);
    assert_string_equal(f.told.text, "notifications/message");
    fixture_close(&f);
}

static void
a_server_is_not_served(void **state)
{
    struct fixture f;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS());
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}");
    assert_non_null(strstr(script_line(&f.s, "\"id\":\"q\"", 1), "-32601"));
    fixture_close(&f);
}

static void
a_flood_does_not_fill_memory(void **state)
{
    struct fixture f;
    size_t notes;
    int i;

    (void)state;
    fixture_prepare(&f, MCP_ERA_LEGACY);
    fixture_attach(&f, SCRIPT_OPTIONS(.on_notification = told_note));
    told_gate(&f.told, true);
    for (i = 0; i < 3000; i++)
        script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"method\":\"test/flood\"}");
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    told_gate(&f.told, false);
    assert_int_equal(mcp_client_call_tool(f.client, "ask", NULL, NULL, NULL, NULL), 0);
    told_await(&f.told, notes, 1024);
    mcp_client_free(f.client);
    f.client = NULL;
    notes = told_count(&f.told, notes);
    assert_in_range(notes, 1024, 1030);
    fixture_close(&f);
}

TEST_MAIN(TEST(a_client_tells_that_it_is_ready_and_that_it_is_gone),
          TEST(a_client_tells_that_it_could_not_be_opened),
          TEST(a_client_that_is_freed_tells_nothing_more),
          TEST_AS("workers.M26_a_client_may_be_freed_inside_its_callback",
                  M26_a_client_may_be_freed_inside_its_callback, &on_workers),
          TEST_AS("loop.M26_a_client_may_be_freed_inside_its_callback",
                  M26_a_client_may_be_freed_inside_its_callback, &on_loop),
          TEST(a_notification_is_told), TEST(what_is_the_librarys_own_is_not_told),
          TEST(a_server_is_not_served), TEST(a_flood_does_not_fill_memory))
