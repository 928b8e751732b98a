/* elicited_test.c - who was asked to do something elsewhere, and hears that it is done */
#include "api/raw_client.h"
#include "api/request.h"

/* Note that the client of this request was asked, as a handler would who asks. */
static int
ask(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *arguments = mcp_request_arguments(req);
    const char *id = mcp_json_string(mcp_json_get(arguments, "id"), "");
    int r = 0;

    (void)user;
    for (int64_t n = mcp_json_int(mcp_json_get(arguments, "times"), 1); n > 0; n--) {
        char numbered[64];

        snprintf(numbered, sizeof(numbered), n == 1 ? "%s" : "%s%d", id, (int)n);
        if (r == 0)
            r = mcpi_server_note_elicitation(req->server, numbered, req->x->peer);
    }
    return r < 0 ? r : mcp_result_text(out, "asked");
}

static void
make(struct raw *raw)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(raw, MCP_TOOL(.name = "ask", .reply = ask));
}

static void
asked(struct raw *raw, const char *arguments)
{
    raw_call(raw, "1", "ask", arguments);
    raw_expect(raw, "asked");
}

#define COMPLETE(id) \
    NOTE("notifications/elicitation/complete", "{\"elicitationId\":\"" id "\"}")

static void
who_was_asked_is_told_once(void **state)
{
    struct raw raw;

    (void)state;
    make(&raw);
    raw_start(&raw, false);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a"), MCP_E_INVAL);
    asked(&raw, "{\"id\":\"a \\\"b\\\"\"}");
    asked(&raw, "{\"id\":\"a \\\"b\\\"\"}"); /* again: as once */
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a"), MCP_E_INVAL);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a \"b\""), 0);
    assert_string_equal(raw_line(&raw), COMPLETE("a \\\"b\\\""));
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a \"b\""),
                     MCP_E_INVAL);
    raw_expect_silence(&raw);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_elicitation_complete(NULL, "a"), MCP_E_INVAL);
    raw_done(&raw);
}

static void
a_client_that_is_gone_is_forgotten(void **state)
{
    struct raw raw;

    (void)state;
    make(&raw);
    raw_start(&raw, false);
    asked(&raw, "{\"id\":\"a\"}");
    close(raw.fd);
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a"), MCP_E_INVAL);
    raw.fd = -1;
    raw_done(&raw);
}

/* Told and lost at the same time: whoever comes first. */
static void
a_client_may_go_while_it_is_told(void **state)
{
    struct raw raw;

    (void)state;
    make(&raw);
    raw_start(&raw, false);
    asked(&raw, "{\"id\":\"a\",\"times\":500}");
    close(raw.fd);
    for (int i = 2; i <= 500; i++) {
        char id[16];

        snprintf(id, sizeof(id), "a%d", i);
        (void)mcp_server_elicitation_complete(raw.server, id);
    }
    raw.fd = -1;
    raw_done(&raw);
}

static void
the_oldest_of_many_is_forgotten(void **state)
{
    struct raw raw;

    (void)state;
    make(&raw);
    raw_start(&raw, false);
    asked(&raw, "{\"id\":\"first\"}");
    asked(&raw, "{\"id\":\"n\",\"times\":1023}");
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "first"), 0);
    assert_string_equal(raw_line(&raw), COMPLETE("first"));
    asked(&raw, "{\"id\":\"first\"}");
    asked(&raw, "{\"id\":\"m\",\"times\":2}");
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "n1023"), MCP_E_INVAL);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "n1022"), MCP_E_INVAL);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "n1021"), 0);
    assert_string_equal(raw_line(&raw), COMPLETE("n1021"));
    raw_done(&raw);
}

static void
other_versions_know_nothing_of_it(void **state)
{
    struct raw raw;

    (void)state;
    make(&raw);
    raw_start(&raw, true);
    asked(&raw, "{\"id\":\"a\"}");
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a"), MCP_E_INVAL);
    raw_done(&raw);
    make(&raw);
    raw_connect(&raw, false);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    raw_send(&raw, INITIALIZE("0", "2025-06-18"));
    raw_expect(&raw, "2025-06-18");
    asked(&raw, "{\"id\":\"a\"}");
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "a"), MCP_E_INVAL);
    raw_done(&raw);
}

static void
flow_in(struct test_mem *mem, void *user)
{
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "ask", .reply = ask), NULL) ==
            0 &&
        raw_try_connect(&raw, false) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        raw_send(&raw, INITIALIZE("0", "2025-11-25"));
        raw_call(&raw, "1", "ask", "{\"id\":\"a\"}");
        (void)raw_next(&raw);
        (void)raw_next(&raw);
        (void)mcp_server_elicitation_complete(raw.server, "a");
        mcp_server_stop(raw.server);
        while (raw_next(&raw))
            continue;
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    test_limit(240);
    assert_true(test_each_allocation_fails(flow_in, NULL) > 10);
}

TEST_MAIN(TEST(who_was_asked_is_told_once), TEST(a_client_that_is_gone_is_forgotten),
          TEST(a_client_may_go_while_it_is_told), TEST(the_oldest_of_many_is_forgotten),
          TEST(other_versions_know_nothing_of_it), TEST(each_allocation_may_fail))
