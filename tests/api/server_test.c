/* server_test.c - a server is made, has tools, and counts */
#include <sys/wait.h>

#include "api/raw_client.h"

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_text(
        out, mcp_json_string(mcp_json_get(mcp_request_arguments(req), "text"), ""));
}

static void
a_tool_is_called_and_answers(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "echo", .reply = echo));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "7", "echo", "{\"text\":\"hello\"}");
    raw_expect(&raw, "{\"content\":[{\"type\":\"text\",\"text\":\"hello\"}]");
    raw_done(&raw);
}

/* ---- options ------------------------------------------------------------ */

static void
refuse(mcp_server_options opt, const char *why)
{
    mcp_server *server = NULL;
    mcp_error err = {0};

    assert_int_equal(mcp_server_new(&opt, &server, &err), MCP_E_INVAL);
    assert_null(server);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
}

static void
what_is_wrong_with_the_options_is_told(void **state)
{
    mcp_server_options opt = MCP_SERVER_OPTIONS(.name = "a", .version = "1");
    mcp_server *server;

    (void)state;
    assert_int_equal(mcp_server_new(NULL, &server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_new(&opt, NULL, NULL), MCP_E_INVAL);
    refuse(MCP_SERVER_OPTIONS(.version = "1"), "name");
    refuse(MCP_SERVER_OPTIONS(.name = "a"), "version");
    refuse(MCP_SERVER_OPTIONS(.name = "a", .version = "1", .title = "\xff"), "title");
    refuse(MCP_SERVER_OPTIONS(.name = "a", .version = "1", .instructions = "\xff"),
           "instructions");
    refuse(MCP_SERVER_OPTIONS(.name = "a", .version = "1", .stop_ms = -1), "negative");
    refuse(MCP_SERVER_OPTIONS(.name = "a", .version = "1", .limit_ms = -1), "negative");
    refuse(MCP_SERVER_OPTIONS(.name = "a", .version = "1", .drain_ms = -2), "negative");
    opt.size = 3;
    refuse(opt, "no options");
}

static void
times_do_not_overflow(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.limit_ms = INT64_MAX, .overdue_ms = INT64_MAX));
    assert_int_equal(raw.server->trunk.host.engine->times.run, MCPI_NEVER);
    assert_int_equal(raw.server->trunk.host.engine->times.deaf, MCPI_NEVER);
    assert_int_equal(raw.server->trunk.host.engine->times.drain, 1000000);
    raw_done(&raw);
    raw_make(&raw, MCP_SERVER_OPTIONS(.drain_ms = -1, .stop_ms = 5));
    assert_true(raw.server->trunk.host.engine->times.drain < 0);
    assert_int_equal(raw.server->stop_us, 5000);
    raw_done(&raw);
}

/* ---- tools -------------------------------------------------------------- */

static void
a_tool_is_added_once_and_removed_once(void **state)
{
    mcp_tool tool = MCP_TOOL(.name = "t", .reply = echo);
    mcp_error err = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_add_tool(NULL, &tool, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_add_tool(raw.server, NULL, NULL), MCP_E_INVAL);
    raw_tool(&raw, tool);
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "there is a tool t already");
    assert_int_equal(mcp_server_remove_tool(raw.server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_tool(raw.server, "t"), 0);
    assert_int_equal(mcp_server_remove_tool(raw.server, "t"), MCP_E_INVAL);
    tool.name = "a b";
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, &err), MCP_E_INVAL);
    raw_done(&raw);
}

static void
a_call_that_runs_keeps_its_tool(void **state)
{
    struct gate gate = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "gate", .run = gate_run, .user = &gate));
    raw_start(&raw, true);
    raw_call(&raw, "1", "gate", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    assert_int_equal(mcp_server_remove_tool(raw.server, "gate"), 0);
    raw_call(&raw, "2", "gate", NULL);
    raw_expect(&raw, "Unknown tool: gate");
    atomic_store(&gate.open, true);
    raw_expect(&raw, "passed");
    raw_done(&raw);
}

/* ---- counters ----------------------------------------------------------- */

static void
counters_fit_the_caller_s_size(void **state)
{
    struct {
        mcp_server_counts counts;
        uint64_t newer;
    } large = {.counts.size = sizeof(large), .newer = 5};
    mcp_server_counts small = {.size = offsetof(mcp_server_counts, in_flight),
                               .in_flight = 77};
    mcp_server_counts none = {.size = 0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_count(raw.server, &small), 0);
    assert_int_equal(small.size, offsetof(mcp_server_counts, in_flight));
    assert_int_equal(small.in_flight, 77);
    assert_int_equal(mcp_server_count(raw.server, &large.counts), 0);
    assert_int_equal(large.newer, 0);
    assert_int_equal(mcp_server_count(raw.server, &none), MCP_E_INVAL);
    assert_int_equal(mcp_server_count(raw.server, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_count(NULL, &small), MCP_E_INVAL);
    raw_done(&raw);
}

static void
what_is_alive_is_counted(void **state)
{
    struct gate gate = {0};
    mcp_server_counts counts;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.workers = 1));
    raw_tool(&raw, MCP_TOOL(.name = "gate", .run = gate_run, .user = &gate));
    raw_start(&raw, true);
    assert_int_equal(raw_counts(&raw).workers, 0); /* none before there is work */
    raw_call(&raw, "1", "gate", NULL);
    raw_call(&raw, "2", "gate", NULL);
    RAW_UNTIL(atomic_load(&gate.entered) == 1);
    RAW_UNTIL(raw_counts(&raw).queued == 1);
    counts = raw_counts(&raw);
    assert_int_equal(counts.clients, 1);
    assert_int_equal(counts.in_flight, 2);
    assert_int_equal(counts.live_handlers, 1);
    assert_int_equal(counts.workers, 1);
    assert_int_equal(counts.busy_workers, 1);
    assert_int_equal(counts.requests, 2);
    atomic_store(&gate.open, true);
    raw_expect(&raw, "\"id\":1");
    raw_expect(&raw, "\"id\":2");
    assert_int_equal(raw_counts(&raw).answered, 2);
    RAW_UNTIL(raw_counts(&raw).busy_workers == 0);
    raw_done(&raw);
}

/* ---- another process ---------------------------------------------------- */

static bool
refuses_everything(mcp_server *server)
{
    mcp_server_counts counts = {.size = sizeof(counts)};
    mcp_tool tool = MCP_TOOL(.name = "t", .reply = echo);

    mcp_server_stop(server); /* changes nothing, and returns */
    mcp_server_free(server);
    return mcp_server_count(server, &counts) == MCP_E_STATE &&
           mcp_server_add_tool(server, &tool, NULL) == MCP_E_STATE &&
           mcp_server_remove_tool(server, "echo") == MCP_E_STATE &&
           mcp_server_use(server, &MCP_MIDDLEWARE(.user = NULL)) == MCP_E_STATE &&
           mcp_server_attach(server, 0, 1, NULL) == MCP_E_STATE &&
           mcp_server_attach_stdio(server, NULL) == MCP_E_STATE &&
           mcp_server_listen_unix(server, "@x", NULL) == MCP_E_STATE &&
           mcp_server_listen_fd(server, 0, NULL) == MCP_E_STATE &&
           mcp_server_run(server, NULL, NULL) == MCP_E_STATE &&
           mcp_server_run_stdio(server, NULL) == MCP_E_STATE &&
           mcp_server_start(server, NULL) == MCP_E_STATE;
}

static void
nothing_works_in_a_process_that_was_forked_off(void **state)
{
    struct raw raw;
    int status;
    pid_t pid;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "echo", .reply = echo));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(refuses_everything(raw.server) ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    raw_start(&raw, true); /* and here all is well */
    raw_call(&raw, "1", "echo", "{\"text\":\"x\"}");
    raw_expect(&raw, "\"id\":1");
    raw_done(&raw);
}

/* ---- memory ------------------------------------------------------------- */

static void
new_in(struct test_mem *mem, void *user)
{
    const mcp_server_options opt = MCP_SERVER_OPTIONS(.name = "a", .version = "1",
                                                      .instructions = "x",
                                                      .allocator = &mem->allocator);
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r = mcp_server_new(&opt, &server, &err);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_server_free(server);
}

static void
add_in(struct test_mem *mem, void *user)
{
    struct raw raw;
    int r;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    r = mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "t", .reply = echo), NULL);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    raw_close(&raw);
}

static void
call_in(struct test_mem *mem, void *user)
{
    (void)user;
    raw_flow(mem, &MCP_TOOL(.name = "echo", .reply = echo), NULL);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(new_in, NULL) > 5);
    assert_true(test_each_allocation_fails(add_in, NULL) > 8);
    assert_true(test_each_allocation_fails(call_in, NULL) > 15);
}

/* ---- threads ------------------------------------------------------------ */

static void *
change_tools(void *user)
{
    struct raw *raw = user;
    mcp_tool tool = MCP_TOOL(.name = "other", .reply = echo);

    for (int i = 0; i < 200; i++) {
        assert_int_equal(mcp_server_add_tool(raw->server, &tool, NULL), 0);
        (void)raw_counts(raw);
        assert_int_equal(mcp_server_remove_tool(raw->server, "other"), 0);
    }
    return NULL;
}

static void
any_thread_may_change_it_while_it_serves(void **state)
{
    pthread_t thread;
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "echo", .reply = echo));
    raw_start(&raw, true);
    assert_int_equal(pthread_create(&thread, NULL, change_tools, &raw), 0);
    for (int i = 0; i < 200; i++) {
        raw_call(&raw, "1", "echo", "{\"text\":\"still here\"}");
        raw_expect(&raw, "still here");
        raw_ask(&raw, "2", "tools/list", "");
        raw_expect(&raw, "\"name\":\"echo\"");
    }
    pthread_join(thread, NULL);
    raw_done(&raw);
}

TEST_MAIN(TEST_ERAS(a_tool_is_called_and_answers),
          TEST(what_is_wrong_with_the_options_is_told), TEST(times_do_not_overflow),
          TEST(a_tool_is_added_once_and_removed_once),
          TEST(a_call_that_runs_keeps_its_tool), TEST(counters_fit_the_caller_s_size),
          TEST(what_is_alive_is_counted),
          TEST(nothing_works_in_a_process_that_was_forked_off),
          TEST(each_allocation_may_fail),
          TEST(any_thread_may_change_it_while_it_serves))
