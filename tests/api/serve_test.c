/* serve_test.c - a request has arrived: who serves it, and what is counted */
#include "api/raw_client.h"

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

static void
a_method_that_nobody_has_is_not_found(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "resources/list", "");
    raw_expect(&raw, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,"
                     "\"message\":\"Method not found: resources/list\"}}");
    raw_ask(&raw, "2", RAW_MODERN ? "ping" : "server/discover", "");
    raw_expect(&raw, RAW_MODERN ? "Method not found: ping"
                                : "Method not found: server/discover");
    raw_done(&raw);
}

static void
the_library_s_own_methods_are_served(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.name = "me", .version = "3", .title = "Me",
                                      .instructions = "be \"kind\""));
    raw_start(&raw, true);
    raw_ask(&raw, "1", "server/discover", "");
    raw_expect(&raw, "\"capabilities\":{\"logging\":{}},"
                     "\"instructions\":\"be \\\"kind\\\"\"");
    raw_ask(&raw, "2", "server/discover", "");
    raw_expect(&raw,
               "serverInfo\":{\"name\":\"me\",\"title\":\"Me\",\"version\":\"3\"}");
    raw.modern = false; /* the same pipe serves both */
    raw_send(&raw, INITIALIZE("3", "2025-06-18"));
    raw_expect(&raw, "\"protocolVersion\":\"2025-06-18\"");
    raw_ask(&raw, "4", "ping", "");
    raw_expect(&raw, "\"result\":{}");
    raw_done(&raw);
}

static void
a_server_of_one_era_refuses_the_other(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.era = MCP_ERA_LEGACY));
    raw_start(&raw, false);
    raw_done(&raw);
    raw_make(&raw,
             MCP_SERVER_OPTIONS(.era = MCP_ERA_MODERN, .offers = MCP_TOOLS_CHANGED));
    raw_start(&raw, true);
    raw_send(&raw, INITIALIZE("1", "2025-11-25"));
    raw_expect(&raw, "-32022");
    raw_ask(&raw, "2", "tools/list", "");
    raw_expect(&raw, "\"tools\":[]");
    raw_done(&raw);
}

static void
requests_are_counted_by_their_end(void **state)
{
    mcp_server_counts counts;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "say", .reply = say));
    raw_start(&raw, false); /* initialize is one */
    raw_call(&raw, "1", "say", NULL);
    raw_expect(&raw, "said");
    raw_call(&raw, "2", "none", NULL);
    raw_expect(&raw, "Unknown tool: none");
    raw_ask(&raw, "3", "ping", "");
    raw_expect(&raw, "\"id\":3");
    raw_ask(&raw, "4", "no/such", "");
    raw_expect(&raw, "\"id\":4");
    counts = raw_counts(&raw);
    assert_int_equal(counts.requests, 5);
    assert_int_equal(counts.answered, 3);
    assert_int_equal(counts.failed, 2);
    assert_int_equal(counts.in_flight, 0);
    assert_int_equal(counts.live_handlers, 0);
    assert_int_equal(counts.clients, 1);
    raw_done(&raw);
}

static void
ping_in(struct test_mem *mem, void *user)
{
    struct raw raw;
    const char *line;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (raw_try_connect(&raw, false) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_ask(&raw, "1", "ping", "");
        line = raw_next(&raw); /* the answer, an error, or the end */
        if (line && !strstr(line, "\"id\":1"))
            fail_msg("%s", line);
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(ping_in, NULL) > 10);
}

TEST_MAIN(TEST_ERAS(a_method_that_nobody_has_is_not_found),
          TEST(the_library_s_own_methods_are_served),
          TEST(a_server_of_one_era_refuses_the_other),
          TEST(requests_are_counted_by_their_end), TEST(each_allocation_may_fail))
