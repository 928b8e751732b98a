/* scope_test.c - many calls, one cancel, from anywhere */
#include <mcp/client.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/client_clock.h"
#include "support/script.h"
#include "support/test.h"

#define FRAME "notifications/cancelled"

struct fixture {
    struct test_mem mem;
    struct script s;
    struct told told;
    mcp_client *client;
    mcp_scope *scope;
};

static mcp_scope *
make_scope(struct fixture *f, mcp_scope *parent, int64_t timeout_ms)
{
    mcp_scope *scope;

    assert_int_equal(
        mcp_scope_new(&MCP_SCOPE_OPTIONS(.allocator = &f->mem.allocator,
                                         .parent = parent, .timeout_ms = timeout_ms),
                      &scope),
        0);
    return scope;
}

static void
fixture_open(struct fixture *f)
{
    test_mem_init(&f->mem);
    told_init(&f->told);
    script_open(&f->s, MCP_ERA_MODERN);
    f->client = script_client(&f->s, &SCRIPT_OPTIONS(.allocator = &f->mem.allocator));
    f->scope = make_scope(f, NULL, 0);
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    mcp_scope_free(f->scope);
    script_close(&f->s);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

static void
start_under(struct fixture *f, mcp_scope *scope, size_t nth)
{
    assert_int_equal(mcp_client_start_tool(f->client, "hang", NULL,
                                           &MCP_CALL_OPTIONS(.scope = scope), told_done,
                                           &f->told, NULL),
                     0);
    script_line(&f->s, "\"hang\"", nth);
}

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

static void
B1_a_scope_cancels_all_calls_under_it(void **state)
{
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    start_under(&f, f.scope, 1);
    start_under(&f, f.scope, 2);
    start_under(&f, NULL, 3);
    assert_false(mcp_scope_is_over(f.scope));
    assert_int_equal(mcp_scope_cancel(f.scope, "enough"), 0);
    assert_true(mcp_scope_is_over(f.scope));
    assert_int_equal(mcp_scope_cancel(f.scope, "again"), MCP_E_STATE);
    told_await(&f.told, done, 2);
    assert_int_equal(told_status(&f.told), MCP_E_CANCELED);
    assert_has(script_line(&f.s, FRAME, 1), "\"reason\":\"enough\"");
    assert_has(script_line(&f.s, FRAME, 2), "\"reason\":\"enough\"");
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL,
                                          &MCP_CALL_OPTIONS(.scope = f.scope), NULL,
                                          &err),
                     MCP_E_CANCELED);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(script_count(&f.s, "\"echo\""), 0); /* B5 */
    assert_int_equal(script_count(&f.s, FRAME), 2);
    fixture_close(&f);
}

static void
B9_a_scope_that_is_freed_has_still_canceled(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    start_under(&f, f.scope, 1);
    mcp_scope_cancel(f.scope, NULL);
    mcp_scope_free(f.scope);
    f.scope = NULL;
    assert_has(script_line(&f.s, FRAME, 1), "canceled by the caller");
    told_await(&f.told, done, 1);
    fixture_close(&f);
}

static void
a_scope_that_is_only_freed_cancels_nothing(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    start_under(&f, f.scope, 1);
    mcp_scope_free(f.scope);
    f.scope = NULL;
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    script_say(&f.s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    fixture_close(&f);
}

static void
the_time_of_a_scope_ends_its_calls(void **state)
{
    struct virtual_clock clock;
    struct fixture f;
    mcp_scope *scope;
    mcp_call *call;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    client_clock_hold(&clock, f.client);
    scope = make_scope(&f, NULL, HOUR_MS);
    assert_int_equal(
        mcp_client_start_tool(
            f.client, "hang", NULL,
            &MCP_CALL_OPTIONS(.scope = scope, .timeout_ms = MCP_TIMEOUT_NONE), NULL,
            NULL, &call),
        0);
    script_line(&f.s, "\"hang\"", 1);
    virtual_clock_pass(&clock, HOUR_MS);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, &err),
                     MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(err.message, "the time for tools/call is used up");
    script_line(&f.s, FRAME, 1);
    mcp_call_free(call);
    mcp_scope_free(scope);
    fixture_close(&f);
}

static void
B5_nothing_starts_when_the_time_of_its_scope_is_over(void **state)
{
    struct fixture f;
    mcp_scope *scope;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    scope = make_scope(&f, NULL, 1);
    while (!mcp_scope_is_over(scope))
        sched_yield();
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL,
                                          &MCP_CALL_OPTIONS(.scope = scope), NULL,
                                          &err),
                     MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(err.message, "the time of the scope is used up");
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(script_count(&f.s, "\"echo\""), 0);
    mcp_scope_free(scope);
    fixture_close(&f);
}

static void
the_end_of_a_parent_is_the_childs_too(void **state)
{
    mcp_scope *child, *sibling;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    child = make_scope(&f, f.scope, 0);
    sibling = make_scope(&f, f.scope, 0);
    start_under(&f, child, 1);
    start_under(&f, sibling, 2);
    mcp_scope_cancel(child, "child");
    told_await(&f.told, done, 1);
    assert_false(mcp_scope_is_over(sibling));
    mcp_scope_cancel(f.scope, "parent");
    told_await(&f.told, done, 2);
    assert_true(mcp_scope_is_over(sibling));
    assert_has(script_line(&f.s, FRAME, 2), "parent");
    mcp_scope_free(child);
    mcp_scope_free(sibling);
    fixture_close(&f);
}

static mcp_scope *signaled;

static void
on_signal(int number)
{
    (void)number;
    (void)mcp_scope_cancel(signaled, "interrupted");
}

static void
a_signal_handler_may_cancel_a_scope(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    struct fixture f;

    (void)state;
    fixture_open(&f);
    signaled = f.scope;
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    start_under(&f, f.scope, 1);
    assert_int_equal(raise(SIGUSR1), 0);
    told_await(&f.told, done, 1);
    assert_has(script_line(&f.s, FRAME, 1), "interrupted");
    sigaction(SIGUSR1, &before, NULL);
    fixture_close(&f);
}

static void
a_scope_spans_clients(void **state)
{
    struct fixture f, g;

    (void)state;
    fixture_open(&f);
    fixture_open(&g);
    start_under(&f, f.scope, 1);
    start_under(&g, f.scope, 1);
    mcp_scope_cancel(f.scope, NULL);
    told_await(&f.told, done, 1);
    told_await(&g.told, done, 1);
    fixture_close(&g);
    fixture_close(&f);
}

static void
in_a_forked_process_a_scope_is_not_to_be_used(void **state)
{
    struct fixture f;
    int status;
    pid_t pid;

    (void)state;
    fixture_open(&f);
    start_under(&f, f.scope, 1);
    pid = fork();
    if (pid == 0) {
        mcp_scope *child = NULL;
        bool ok = mcp_scope_cancel(f.scope, "child") == MCP_E_STATE &&
                  mcp_scope_new(&MCP_SCOPE_OPTIONS(.parent = f.scope), &child) ==
                      MCP_E_STATE;

        _exit(ok && !child ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_false(mcp_scope_is_over(f.scope));
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_int_equal(told_count(&f.told, done), 0);
    assert_int_equal(mcp_scope_cancel(f.scope, "parent"), 0);
    told_await(&f.told, done, 1);
    assert_has(script_line(&f.s, FRAME, 1), "parent");
    fixture_close(&f);
}

static void
nonsense_is_refused(void **state)
{
    mcp_scope *scope;

    (void)state;
    assert_int_equal(mcp_scope_new(NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = -1), &scope),
                     MCP_E_INVAL);
    assert_int_equal(mcp_scope_cancel(NULL, NULL), MCP_E_INVAL);
    assert_false(mcp_scope_is_over(NULL));
    mcp_scope_free(NULL);
}

static void
scope_once(struct test_mem *mem, void *user)
{
    mcp_scope *scope = NULL;
    int r;

    (void)user;
    r = mcp_scope_new(&MCP_SCOPE_OPTIONS(.allocator = &mem->allocator), &scope);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcp_scope_free(scope);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(scope_once, NULL), 1);
}

TEST_MAIN(TEST(B1_a_scope_cancels_all_calls_under_it),
          TEST(B9_a_scope_that_is_freed_has_still_canceled),
          TEST(a_scope_that_is_only_freed_cancels_nothing),
          TEST(the_time_of_a_scope_ends_its_calls),
          TEST(B5_nothing_starts_when_the_time_of_its_scope_is_over),
          TEST(the_end_of_a_parent_is_the_childs_too),
          TEST(a_signal_handler_may_cancel_a_scope), TEST(a_scope_spans_clients),
          TEST(in_a_forked_process_a_scope_is_not_to_be_used),
          TEST(nonsense_is_refused), TEST(each_allocation_may_fail))
