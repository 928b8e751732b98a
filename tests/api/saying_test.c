/* saying_test.c - what a server tells all its sessions, and belongs to no request */
#include "api/saying.h"

#include "api/raw_client.h"

static void
what_a_server_tells_everybody_reaches_legacy_sessions(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.no_logging = true));
    raw_start(&raw, RAW_MODERN);
    raw_expect_silence(&raw);
    assert_int_equal(mcp_server_notify(raw.server, "t/news", "{ \"n\":1}"), 0);
    assert_int_equal(mcp_server_notify(raw.server, "t/bare", NULL), 0);
    if (!RAW_MODERN) {
        raw_expect(&raw,
                   "{\"jsonrpc\":\"2.0\",\"method\":\"t/news\",\"params\":{\"n\":1}}");
        raw_expect(&raw, "{\"jsonrpc\":\"2.0\",\"method\":\"t/bare\"}");
    }
    raw_expect_silence(&raw);
    assert_int_equal(mcp_server_notify(raw.server, "t/x", "1"), MCP_E_INVAL);
    assert_int_equal(mcp_server_notify(raw.server, "", NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_notify(NULL, "t/x", NULL), MCP_E_INVAL);
    raw_done(&raw);
}

/* Holds the loop, so that what is said has to wait. */
static int
hold(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    gate_pass(user);
    return mcp_result_text(out, "held");
}

static void
what_waits_is_bounded_by_its_bytes(void **state)
{
    static char params[400 * 1024];
    struct gate gate = {0};
    struct raw raw;

    (void)state;
    memset(params, 'a', sizeof params);
    memcpy(params, "{\"t\":\"", 6);
    memcpy(params + sizeof params - 3, "\"}", 3);
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "hold", .reply = hold, .user = &gate));
    raw_start(&raw, false);
    raw_call(&raw, "1", "hold", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    for (int i = 0; i < 3; i++) /* the third is beyond 1 MiB */
        assert_int_equal(mcp_server_notify(raw.server, "t/long", params), 0);
    atomic_store(&gate.open, true);
    raw_expect(&raw, "held");
    raw_expect(&raw, "t/long");
    raw_expect(&raw, "t/long");
    raw_expect_silence(&raw);
    assert_true(raw_logged(&raw, "1 messages for clients were dropped"));
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(what_a_server_tells_everybody_reaches_legacy_sessions),
          TEST(what_waits_is_bounded_by_its_bytes))
