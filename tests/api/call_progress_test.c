/* call_progress_test.c - progress: in order, before the end, whatever its callback does
 * */
#include <mcp/client.h>
#include <stdio.h>

#include "api/call.h"
#include "support/script.h"
#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct script s;
    struct told told;
    mcp_client *client;
};

static void
fixture_open(struct fixture *f, bool on_loop)
{
    test_mem_init(&f->mem);
    told_init(&f->told);
    script_open(&f->s, MCP_ERA_MODERN);
    f->client = script_client(&f->s, &SCRIPT_OPTIONS(.allocator = &f->mem.allocator,
                                                     .callbacks_on_loop = on_loop));
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    script_close(&f->s);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

static mcp_call_options
with_progress(struct fixture *f)
{
    return MCP_CALL_OPTIONS(.on_progress = told_progress, .user = &f->told);
}

static bool on_workers = false, on_loop = true;

static void
I12_progress_comes_in_order_and_before_the_end(void **state)
{
    mcp_call_options opt;
    struct fixture f;

    fixture_open(&f, *(bool *)*state);
    opt = with_progress(&f);
    assert_int_equal(mcp_client_start_tool(f.client, "steps", "{\"count\":50}", &opt,
                                           told_done, &f.told, NULL),
                     0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_count(&f.told, steps), 50);
    assert_false(f.told.out_of_order);
    fixture_close(&f);
}

static void
I12_a_blocking_call_returns_after_its_progress(void **state)
{
    mcp_call_options opt;
    struct fixture f;
    int i;

    fixture_open(&f, *(bool *)*state);
    opt = with_progress(&f);
    for (i = 1; i <= 20; i++) {
        f.told.last_step = 0;
        assert_int_equal(
            mcp_client_call_tool(f.client, "steps", "{\"count\":9}", &opt, NULL, NULL),
            0);
        assert_int_equal(told_count(&f.told, steps), (size_t)i * 9);
    }
    assert_false(f.told.out_of_order);
    fixture_close(&f);
}

static void
I13_a_slow_callback_delays_only_itself(void **state)
{
    mcp_call_options opt;
    struct fixture f;
    mcp_call *call;
    size_t steps;

    (void)state;
    fixture_open(&f, false);
    opt = with_progress(&f);
    told_gate(&f.told, true);
    assert_int_equal(mcp_client_start_tool(f.client, "steps", "{\"count\":1000}", &opt,
                                           told_done, &f.told, &call),
                     0);
    told_await(&f.told, at_gate, 1);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_call_wait(call, 1, NULL, NULL), MCP_E_AGAIN);
    told_gate(&f.told, false);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    steps = told_count(&f.told, steps);
    assert_in_range(steps, MCPI_PROGRESS_WAITING, MCPI_PROGRESS_WAITING + 1);
    assert_true(f.told.last_step > 999.5); /* the newest is among them */
    told_await(&f.told, done, 1);
    assert_false(f.told.out_of_order);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
free_inside(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    assert_string_equal(message, "step 1");
    assert_true(total > 8.5 && total < 9.5);
    mcp_call_free(call);
    told_progress(NULL, progress, total, message, user);
}

static void
I11_freed_inside_its_progress_it_tells_no_more(void **state)
{
    struct fixture f;
    mcp_call *call;

    fixture_open(&f, *(bool *)*state);
    assert_int_equal(mcp_client_start_tool(
                         f.client, "steps", "{\"count\":9}",
                         &MCP_CALL_OPTIONS(.on_progress = free_inside, .user = &f.told),
                         told_done, &f.told, &call),
                     0);
    told_await(&f.told, steps, 1);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(told_count(&f.told, steps), 1);
    assert_int_equal(told_count(&f.told, done), 0);
    fixture_close(&f);
}

static void
wait_inside(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    int r = mcp_call_wait(call, AWAIT_MS, NULL, NULL);

    if (r == 0)
        told_progress(NULL, progress, total, message, user);
}

static void
a_callback_of_progress_may_wait_for_the_end(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, false);
    assert_int_equal(mcp_client_call_tool(
                         f.client, "steps", "{\"count\":3}",
                         &MCP_CALL_OPTIONS(.on_progress = wait_inside, .user = &f.told),
                         NULL, NULL),
                     0);
    assert_int_equal(told_count(&f.told, steps), 3);
    fixture_close(&f);
}

TEST_MAIN(TEST_AS("workers.I12_progress_comes_in_order_and_before_the_end",
                  I12_progress_comes_in_order_and_before_the_end, &on_workers),
          TEST_AS("loop.I12_progress_comes_in_order_and_before_the_end",
                  I12_progress_comes_in_order_and_before_the_end, &on_loop),
          TEST_AS("workers.I12_a_blocking_call_returns_after_its_progress",
                  I12_a_blocking_call_returns_after_its_progress, &on_workers),
          TEST_AS("loop.I12_a_blocking_call_returns_after_its_progress",
                  I12_a_blocking_call_returns_after_its_progress, &on_loop),
          TEST(I13_a_slow_callback_delays_only_itself),
          TEST_AS("workers.I11_freed_inside_its_progress_it_tells_no_more",
                  I11_freed_inside_its_progress_it_tells_no_more, &on_workers),
          TEST_AS("loop.I11_freed_inside_its_progress_it_tells_no_more",
                  I11_freed_inside_its_progress_it_tells_no_more, &on_loop),
          TEST(a_callback_of_progress_may_wait_for_the_end))
