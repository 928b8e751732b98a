/* bench_server_test.c - proves cli/bench_server.c: what is seen of a server */
#include "cli/bench.h"

#include <string.h>

#include "cli/program.h"

static void
open_probe(mcp_client **ret_client, mcp_reply **ret_tools)
{
    const char *const argv[] = {PROBE, NULL};

    assert_int_equal(
        mcp_client_spawn(argv, &MCP_CLIENT_OPTIONS(.name = "test", .version = "1"),
                         ret_client, NULL),
        0);
    assert_int_equal(
        mcp_client_list_all(*ret_client, MCP_LIST_TOOLS, NULL, ret_tools, NULL), 0);
}

static bool
has_stats(const char *text)
{
    mcp_doc *doc;
    bool has;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    has = cli_bench_has_stats(mcp_doc_root(doc));
    mcp_doc_free(doc);
    return has;
}

static void
only_a_tool_that_promises_handlers_is_asked(void **state)
{
    (void)state;
    assert_true(has_stats("[{\"name\":\"stats\",\"outputSchema\":{\"properties\":{"
                          "\"live_handlers\":{}}}}]"));
    assert_false(has_stats("[{\"name\":\"stats\"}]"));
    assert_false(has_stats("[{\"name\":\"other\",\"outputSchema\":{\"properties\":{"
                           "\"live_handlers\":{}}}}]"));
    assert_false(cli_bench_has_stats(NULL));
}

static void
a_spawned_server_is_looked_at(void **state)
{
    struct cli_bench_server server;
    mcp_client *client;
    mcp_reply *tools;

    (void)state;
    open_probe(&client, &tools);
    cli_bench_server_begin(&server, client, mcp_reply_items(tools));
    cli_bench_server_calm(&server, 1);
    cli_bench_server_look(&server, 10);
    assert_true(server.has_stats);
    assert_int_equal(server.handlers_before, 0);
    assert_true(server.before.memory_bytes > 0 && server.before.descriptors > 3);
    assert_true(server.peak.memory_bytes >= server.before.memory_bytes);
    assert_true(server.memory.count > 0);
    mcp_reply_free(tools);
    mcp_client_free(client);
}

static void
a_server_that_has_more_than_before_is_waited_for(void **state)
{
    struct cli_bench_server server;
    mcp_client *client;
    mcp_reply *tools;
    mcp_call *call;

    (void)state;
    open_probe(&client, &tools);
    cli_bench_server_begin(&server, client, mcp_reply_items(tools));
    assert_int_equal(mcp_client_start_tool(client, "hang", "{\"seconds\":600}", NULL,
                                           NULL, NULL, &call),
                     0);
    while (cli_bench_live_handlers(client) == 0)
        continue;
    server.allowed.descriptors = server.allowed.processes = INT64_MAX;
    cli_bench_server_settle(&server, 0);
    assert_int_equal(server.handlers_after, 1);
    mcp_call_free(call);
    cli_bench_server_settle(&server, AWAIT_MS);
    assert_int_equal(server.handlers_after, 0);
    mcp_reply_free(tools);
    mcp_client_free(client);
}

/* There is no process: what it has is what we say. */
static void
what_it_has_more_once_it_may_keep(void **state)
{
    struct cli_bench_server server = {.handlers_before = -1, .handlers_after = -1};

    (void)state;
    server.allowed.descriptors = 10;
    server.now.descriptors = server.after.descriptors = 14;
    assert_true(cli_bench_server_has_grown(&server));
    cli_bench_server_settle_again(&server, 0);
    assert_true(server.keeps);
    assert_int_equal(server.allowed.descriptors, 14);
    server.now.descriptors = 15;
    assert_true(cli_bench_server_has_grown(&server));
}

TEST_MAIN(TEST(only_a_tool_that_promises_handlers_is_asked),
          TEST(a_spawned_server_is_looked_at),
          TEST(a_server_that_has_more_than_before_is_waited_for),
          TEST(what_it_has_more_once_it_may_keep))
