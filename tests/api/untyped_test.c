/* untyped_test.c - a client calls any method */
#include <string.h>

#include "api/client_fixture.h"

#define FRAME "notifications/cancelled"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

static void
a_tool_is_called_with_its_arguments(void **state)
{
    struct fixture f;
    mcp_reply *reply;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(
        mcp_client_call_tool(f.client, "echo", " {\"a\":\n1} ", NULL, &reply, &err), 0);
    assert_string_equal(mcp_reply_text(reply), "{\"a\":1}");
    assert_has(script_line(&f.s, "tools/call", 1),
               "\"params\":{\"name\":\"echo\",\"arguments\":{\"a\": 1}");
    mcp_reply_free(reply);
    fixture_close(&f);
}

static void
a_tool_call_that_is_none_is_refused(void **state)
{
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", "[]", NULL, NULL, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message, "arguments: not a JSON object");
    assert_int_equal(mcp_client_call_tool(f.client, NULL, NULL, NULL, NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_call_tool(f.client, "\xff", NULL, NULL, NULL, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message, "a tool's name must be a UTF-8 text");
    assert_int_equal(
        mcp_client_start_tool(f.client, "echo", "{", NULL, NULL, NULL, NULL),
        MCP_E_INVAL);
    assert_int_equal(script_count(&f.s, "tools/call"), 0);
    fixture_close(&f);
}

static void
tools_are_listed_page_by_page(void **state)
{
    struct fixture f;
    mcp_reply *reply;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_list_tools(f.client, NULL, NULL, &reply, &err), 0);
    assert_string_equal(mcp_reply_cursor(reply), "page 2");
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_list_tools(f.client, "page 2", NULL, &reply, &err), 0);
    assert_null(mcp_reply_cursor(reply));
    assert_has(script_line(&f.s, "tools/list", 2), "\"cursor\":\"page 2\"");
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_list_tools(f.client, "\xff", NULL, &reply, &err),
                     MCP_E_INVAL);
    fixture_close(&f);
}

static void
a_ping_is_spelled_as_the_era_has_it(void **state)
{
    bool is_legacy = *(enum mcp_era *)*state == MCP_ERA_LEGACY;
    struct fixture f;
    size_t pings;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    pings = script_count(&f.s, "\"method\":\"ping\"");
    assert_int_equal(pings, is_legacy ? 1 : 0);
    assert_int_equal(script_count(&f.s, "server/discover"), is_legacy ? 1 : 2);
    script_leave(&f.s);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), MCP_E_CLOSED);
    fixture_close(&f);
}

static void
a_notification_goes_out(void **state)
{
    struct fixture f;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_notify(f.client, "x/note", "{\n\"a\":1}"), 0);
    assert_int_equal(mcp_client_notify(f.client, "x/bare", NULL), 0);
    assert_has(script_line(&f.s, "x/note", 1), "\"params\":{ \"a\":1}");
    assert_null(strstr(script_line(&f.s, "x/bare", 1), "\"id\""));
    assert_int_equal(mcp_client_notify(f.client, "", NULL), MCP_E_INVAL);
    assert_int_equal(mcp_client_notify(f.client, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_client_notify(f.client, "x/y", "[]"), MCP_E_INVAL);
    assert_int_equal(mcp_client_notify(NULL, "x/y", NULL), MCP_E_INVAL);
    fixture_close(&f);
}

static void
B34_a_cancel_by_hand_ends_its_call(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    assert_int_equal(
        mcp_client_start_tool(f.client, "hang", NULL, NULL, told_done, &f.told, &call),
        0);
    assert_int_equal(mcp_client_notify(f.client, FRAME, "{\"requestId\":\"1\"}"), 0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), MCP_E_CANCELED);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
G3_a_cancel_by_hand_names_the_request_as_it_was_sent(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, state);
    assert_int_equal(
        mcp_client_start_tool(f.client, "hang", NULL, NULL, told_done, &f.told, &call),
        0);
    script_line(&f.s, "\"hang\"", 1);
    assert_int_equal(mcp_client_notify(f.client, FRAME, "{\"requestId\":\"1\"}"), 0);
    assert_has(script_line(&f.s, FRAME, 1), "\"requestId\":1");
    mcp_call_free(call);
    fixture_close(&f);
}

/* ---- where it may not be asked ------------------------------------------- */

struct attempt {
    struct fixture *f;
    struct told told;
    int ping, wait, flush, open;
};

static void
try_to_block(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct attempt *a = user;
    mcp_client *other = NULL;
    mcp_call *hanging;
    int fd = 0;

    (void)call;
    a->ping = mcp_client_ping(a->f->client, NULL, NULL);
    a->open = mcp_client_attach(fd, fd, &SCRIPT_OPTIONS(), &other, NULL);
    assert_int_equal(
        mcp_client_start_tool(a->f->client, "hang", NULL, NULL, NULL, NULL, &hanging),
        0);
    a->wait = mcp_call_wait(hanging, 1000, NULL, NULL);
    a->flush = mcp_call_flush(hanging, 1000);
    mcp_call_free(hanging);
    told_done(call, status, reply, &a->told);
}

static void
what_blocks_is_refused_on_a_loop(void **state)
{
    struct attempt a = {.ping = 1};
    struct fixture f;
    int fd;

    (void)state;
    a.f = &f;
    told_init(&a.told);
    test_mem_init(&f.mem);
    told_init(&f.told);
    script_open(&f.s, MCP_ERA_MODERN);
    fd = script_give(&f.s);
    assert_int_equal(mcp_client_attach(fd, fd,
                                       &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                                       .callbacks_on_loop = true),
                                       &f.client, NULL),
                     0);
    assert_int_equal(
        mcp_client_start_tool(f.client, "echo", NULL, NULL, try_to_block, &a, NULL), 0);
    told_await(&a.told, done, 1);
    assert_int_equal(a.ping, MCP_E_STATE);
    assert_int_equal(a.wait, MCP_E_STATE);
    assert_int_equal(a.flush, MCP_E_STATE);
    assert_int_equal(a.open, MCP_E_STATE);
    told_clear(&a.told);
    fixture_close(&f);
}

static void
nobody_can_be_asked(void **state)
{
    mcp_client_counts counts = {.size = sizeof counts};

    (void)state;
    assert_int_equal(mcp_client_call(NULL, "x", NULL, NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_client_call_tool(NULL, "x", NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_start_tool(NULL, "x", NULL, NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_list_tools(NULL, NULL, NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_client_ping(NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_client_count(NULL, &counts), MCP_E_INVAL);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(IN_BOTH_ERAS(a_tool_is_called_with_its_arguments),
          TEST(a_tool_call_that_is_none_is_refused),
          IN_BOTH_ERAS(tools_are_listed_page_by_page),
          IN_BOTH_ERAS(a_ping_is_spelled_as_the_era_has_it),
          IN_BOTH_ERAS(a_notification_goes_out),
          IN_BOTH_ERAS(B34_a_cancel_by_hand_ends_its_call),
          IN_BOTH_ERAS(G3_a_cancel_by_hand_names_the_request_as_it_was_sent),
          TEST(what_blocks_is_refused_on_a_loop), TEST(nobody_can_be_asked))
