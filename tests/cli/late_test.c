/* late_test.c - proves cli/late.c: answers to what was canceled are counted */
#include "cli/late.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define CANCEL(id_)                                                            \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" \
    "\"requestId\":" id_ "}}"

static void
sent(struct cli_late *late, const char *text)
{
    cli_late_look(late, MCP_WIRE_SENT, text, strlen(text));
}

static void
came(struct cli_late *late, const char *text)
{
    cli_late_look(late, MCP_WIRE_CAME, text, strlen(text));
}

static void
an_answer_behind_its_cancel_is_late_once(void **state)
{
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    sent(&late, CANCEL("7"));
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    assert_int_equal(cli_late_count(&late), 1);
    assert_int_equal(late.canceled, 1);
    cli_late_done(&late);
}

static void
an_answer_before_its_cancel_is_not(void **state)
{
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}");
    sent(&late, CANCEL("7"));
    assert_int_equal(cli_late_count(&late), 0);
    cli_late_done(&late);
}

static void
calls_of_tools_are_counted_as_they_go_out(void **state)
{
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    sent(&late, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}");
    sent(&late, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/list\"}");
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\"}");
    assert_int_equal(cli_late_calls(&late), 1);
    cli_late_done(&late);
}

static void
an_error_that_says_canceled_is_no_answer(void **state)
{
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    sent(&late, CANCEL("\"a\""));
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32800}}");
    assert_int_equal(cli_late_count(&late), 0);
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32603}}");
    assert_int_equal(cli_late_count(&late), 1);
    cli_late_done(&late);
}

static void
other_ids_requests_and_garbage_do_not_count(void **state)
{
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    sent(&late, CANCEL("7"));
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}");
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}");
    came(&late, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
    came(&late, "{\"jsonrpc\":");
    cli_late_look(&late, MCP_WIRE_EVENT, "7", 1);
    assert_int_equal(cli_late_count(&late), 0);
    cli_late_done(&late);
}

static void
see(mcp_client *client, enum mcp_wire what, const char *text, size_t length, void *user)
{
    (void)client, (void)what, (void)text, (void)length;
    ++*(int *)user;
}

static void
who_looked_before_still_does(void **state)
{
    int seen = 0;
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.on_wire = see, .user = &seen);
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    cli_late_offer(&late, &opt);
    opt.on_wire(NULL, MCP_WIRE_SENT, CANCEL("7"), strlen(CANCEL("7")), opt.user);
    assert_int_equal(seen, 1);
    assert_int_equal(late.canceled, 1);
    cli_late_done(&late);
}

static void
reports_of_progress_are_counted_apart(void **state)
{
    struct cli_late late;

    (void)state;
    cli_late_init(&late);
    sent(&late, CANCEL("7"));
    came(&late, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                "\"params\":{\"progressToken\":7,\"progress\":1}}");
    came(&late, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}");
    assert_int_equal(cli_late_reports(&late), 1);
    assert_int_equal(cli_late_count(&late), 0);
    cli_late_done(&late);
}

TEST_MAIN(TEST(reports_of_progress_are_counted_apart),
          TEST(an_answer_behind_its_cancel_is_late_once),
          TEST(an_answer_before_its_cancel_is_not),
          TEST(calls_of_tools_are_counted_as_they_go_out),
          TEST(an_error_that_says_canceled_is_no_answer),
          TEST(other_ids_requests_and_garbage_do_not_count),
          TEST(who_looked_before_still_does))
