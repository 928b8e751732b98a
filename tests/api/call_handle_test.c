/* call_handle_test.c - what the holder of a call may do, from any thread, in any order
 * */
#include <mcp/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/script.h"
#include "support/test.h"

#define FRAME "notifications/cancelled"

struct fixture {
    struct test_mem mem;
    struct script s;
    struct told told;
    mcp_client *client;
};

static void
fixture_open(struct fixture *f)
{
    test_mem_init(&f->mem);
    told_init(&f->told);
    script_open(&f->s, MCP_ERA_MODERN);
    f->client = script_client(&f->s, &SCRIPT_OPTIONS(.allocator = &f->mem.allocator));
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    script_close(&f->s);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

static mcp_call *
start(struct fixture *f, const char *tool, mcp_done_fn *done)
{
    mcp_call *call = NULL;

    assert_int_equal(
        mcp_client_start_tool(f->client, tool, NULL, NULL, done, &f->told, &call), 0);
    return call;
}

static mcp_call *
start_hanging(struct fixture *f)
{
    mcp_call *call = start(f, "hang", told_done);

    script_line(&f->s, "\"hang\"", 1);
    return call;
}

/* ---- wait ---------------------------------------------------------------- */

static void
a_wait_gives_the_reply_to_each_who_asks(void **state)
{
    mcp_reply *first, *second;
    struct fixture f;
    mcp_call *call;

    (void)state;
    fixture_open(&f);
    call = start(&f, "echo", NULL);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, &first, NULL), 0);
    assert_int_equal(mcp_call_wait(call, 0, &second, NULL), 0);
    mcp_call_free(call);
    assert_string_equal(mcp_reply_text(first), "{}");
    mcp_reply_free(first);
    assert_string_equal(mcp_reply_text(second), "{}");
    mcp_reply_free(second);
    fixture_close(&f);
}

static void
a_wait_ends_after_its_time(void **state)
{
    struct fixture f;
    mcp_error err;
    mcp_call *call;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    assert_int_equal(mcp_call_wait(call, 5, NULL, &err), MCP_E_AGAIN);
    assert_int_equal(err.status, MCP_E_AGAIN);
    assert_int_equal(mcp_call_wait(call, 0, NULL, &err), MCP_E_AGAIN);
    assert_int_equal(mcp_call_wait(NULL, 0, NULL, &err), MCP_E_INVAL);
    assert_null(mcp_call_error(call));
    mcp_call_free(call);
    fixture_close(&f);
}

/* ---- letting go ---------------------------------------------------------- */

static void
a_released_call_is_told_and_frees_itself(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    mcp_call_release(start(&f, "echo", told_done));
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    fixture_close(&f);
}

static void
a_call_without_a_handle_frees_itself(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_int_equal(
        mcp_client_start_tool(f.client, "echo", NULL, NULL, told_done, &f.told, NULL),
        0);
    assert_int_equal(
        mcp_client_start_tool(f.client, "hang", NULL, NULL, NULL, NULL, NULL), 0);
    told_await(&f.told, done, 1);
    fixture_close(&f);
}

static void
free_inside(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    mcp_call_free(call);
    told_done(NULL, status, reply, user);
}

static void
B33_a_call_may_be_freed_inside_its_callback(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    (void)start(&f, "echo", free_inside);
    told_await(&f.told, done, 1);
    fixture_close(&f);
}

static void
cancel_inside(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    assert_int_equal(mcp_call_cancel(call, NULL), MCP_E_STATE);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), status);
    mcp_call_free(call);
    told_done(NULL, status, reply, user);
}

static void
B33_a_call_may_be_canceled_inside_its_callback(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    (void)start(&f, "echo", cancel_inside);
    told_await(&f.told, done, 1);
    mcp_client_close(f.client);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, FRAME), 0);
    fixture_close(&f);
}

static void *
cancel_it(void *user)
{
    (void)mcp_call_cancel(user, "at once");
    return NULL;
}

static void
B33_two_cancels_at_once_are_one(void **state)
{
    pthread_t threads[4];
    struct fixture f;
    mcp_call *call;
    size_t i;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    for (i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, cancel_it, call), 0);
    for (i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    told_await(&f.told, done, 1);
    mcp_call_free(call);
    mcp_client_close(f.client);
    script_await_end(&f.s);
    assert_int_equal(script_count(&f.s, FRAME), 1);
    assert_int_equal(told_count(&f.told, done), 1);
    fixture_close(&f);
}

struct freeing {
    mcp_call *call;
    atomic_bool returned;
};

static void *
free_it(void *user)
{
    struct freeing *freeing = user;

    mcp_call_free(freeing->call);
    atomic_store(&freeing->returned, true);
    return NULL;
}

static void
B32_freeing_waits_for_a_callback_that_runs(void **state)
{
    struct freeing freeing;
    struct fixture f;
    pthread_t thread;
    int i;

    (void)state;
    fixture_open(&f);
    told_gate(&f.told, true);
    freeing.call = start(&f, "echo", told_done);
    atomic_init(&freeing.returned, false);
    told_await(&f.told, at_gate, 1);
    assert_int_equal(pthread_create(&thread, NULL, free_it, &freeing), 0);
    for (i = 0; i < 20; i++) /* time enough for one that does not wait */
        assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    assert_false(atomic_load(&freeing.returned));
    told_gate(&f.told, false);
    pthread_join(thread, NULL);
    assert_int_equal(told_count(&f.told, done), 1);
    fixture_close(&f);
}

struct again {
    struct fixture f;
    mcp_call *call;
    int status;
};

static void *
run_it(void *user)
{
    return (void *)(intptr_t)mcp_loop_run(user);
}

static void
call_again(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct again *again = user;

    told_done(call, status, reply, &again->f.told); /* waits at the gate */
    again->status = mcp_client_call_tool(again->f.client, "echo", NULL, NULL, NULL,
                                         NULL);
    told_done(NULL, again->status, NULL, &again->f.told);
}

static void
free_on_loop(void *user)
{
    struct again *again = user;

    told_gate(&again->f.told, false);
    mcp_call_free(again->call);
}

static void
B32_freeing_on_the_loop_does_not_wait_for_a_callback_that_needs_it(void **state)
{
    struct again again = {.status = 1};
    pthread_t thread;
    mcp_loop *loop;

    (void)state;
    test_mem_init(&again.f.mem);
    told_init(&again.f.told);
    script_open(&again.f.s, MCP_ERA_MODERN);
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_it, loop), 0);
    again.f.client = script_client(
        &again.f.s, &SCRIPT_OPTIONS(.allocator = &again.f.mem.allocator, .loop = loop));
    told_gate(&again.f.told, true);
    assert_int_equal(mcp_client_start_tool(again.f.client, "echo", NULL, NULL,
                                           call_again, &again, &again.call),
                     0);
    told_await(&again.f.told, at_gate, 1);
    assert_int_equal(mcp_loop_post(loop, free_on_loop, &again), 0);
    told_await(&again.f.told, done, 2);
    assert_int_equal(again.status, 0);
    mcp_client_free(again.f.client);
    again.f.client = NULL;
    mcp_loop_stop(loop);
    pthread_join(thread, NULL);
    mcp_loop_free(loop);
    fixture_close(&again.f);
}

static void
M26_a_call_outlives_its_client(void **state)
{
    mcp_call *hanging, *answered, *canceled;
    struct fixture f;
    mcp_reply *reply;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    answered = start(&f, "echo", told_done);
    canceled = start_hanging(&f);
    mcp_call_cancel(canceled, NULL);
    hanging = start(&f, "hang", NULL);
    told_await(&f.told, done, 2);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(mcp_call_wait(hanging, 0, NULL, &err), MCP_E_CLOSED);
    assert_int_equal(mcp_call_wait(canceled, 0, NULL, &err), MCP_E_CANCELED);
    assert_int_equal(mcp_call_wait(answered, 0, &reply, &err), 0);
    assert_string_equal(mcp_reply_text(reply), "{}");
    mcp_reply_free(reply);
    assert_int_equal(mcp_call_cancel(hanging, NULL), MCP_E_STATE);
    assert_int_equal(mcp_call_flush(canceled, AWAIT_MS), 0);
    assert_int_equal(mcp_call_flush(answered, 0), 0);
    assert_string_equal(mcp_call_id(answered), "1");
    mcp_call_free(hanging);
    mcp_call_free(answered);
    mcp_call_release(canceled);
    fixture_close(&f);
}

static void
nothing_is_a_call(void **state)
{
    (void)state;
    assert_null(mcp_call_id(NULL));
    assert_null(mcp_call_error(NULL));
    assert_null(mcp_call_error_data(NULL));
    assert_int_equal(mcp_call_cancel(NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_call_flush(NULL, 0), MCP_E_INVAL);
    mcp_call_free(NULL);
    mcp_call_release(NULL);
}

static void
in_a_forked_process_every_function_fails(void **state)
{
    struct fixture f;
    mcp_call *call;
    int status;
    pid_t pid;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    pid = fork();
    if (pid == 0) {
        bool ok = mcp_call_cancel(call, NULL) == MCP_E_STATE &&
                  mcp_call_wait(call, 0, NULL, NULL) == MCP_E_STATE &&
                  mcp_call_flush(call, 0) == MCP_E_STATE && !mcp_call_error(call) &&
                  mcp_client_ping(f.client, NULL, NULL) == MCP_E_STATE &&
                  mcp_client_start(f.client, "x", NULL, NULL, NULL, NULL, NULL) ==
                      MCP_E_STATE &&
                  mcp_client_notify(f.client, "x", NULL) == MCP_E_STATE &&
                  mcp_client_pid(f.client) == 0 && !mcp_client_version(f.client);

        mcp_call_free(call);
        mcp_client_close(f.client);
        mcp_client_free(f.client);
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(mcp_client_ping(f.client, NULL, NULL), 0);
    mcp_call_free(call);
    fixture_close(&f);
}

/* ---- flush --------------------------------------------------------------- */

static void
B10_a_flush_waits_until_the_server_is_told(void **state)
{
    struct fixture f;
    mcp_call *call;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    assert_int_equal(mcp_call_flush(call, 0), MCP_E_STATE); /* it is live */
    mcp_call_cancel(call, NULL);
    assert_int_equal(mcp_call_flush(call, 0), 0);
    assert_int_equal(mcp_call_flush(call, 0), 0);
    script_line(&f.s, FRAME, 1);
    mcp_call_free(call);
    call = start(&f, "echo", NULL);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), 0);
    assert_int_equal(mcp_call_flush(call, 0), 0); /* there is nothing to tell */
    assert_int_equal(mcp_call_flush(call, -1), MCP_E_INVAL);
    mcp_call_free(call);
    fixture_close(&f);
}

/* A request that is too long for the wire's own room. */
static void
fill_wire(struct fixture *f)
{
    size_t size = 4 << 20;
    char *text = malloc(size);

    assert_non_null(text);
    snprintf(text, size, "{\"fill\":\"%*d\"}", (int)size - 32, 1);
    assert_int_equal(
        mcp_client_start(f->client, "x/fill", text, NULL, NULL, NULL, NULL), 0);
    free(text);
}

static void
B10_a_wedged_server_does_not_hold_its_caller(void **state)
{
    struct fixture f;
    mcp_error err;
    mcp_call *call;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    script_hold(&f.s, true);
    fill_wire(&f);
    mcp_call_cancel(call, NULL);
    assert_int_equal(mcp_call_flush(call, 50), MCP_E_TIMEOUT);
    assert_int_equal(mcp_call_wait(call, 0, NULL, &err), MCP_E_CANCELED);
    script_hold(&f.s, false);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
    script_line(&f.s, FRAME, 1);
    mcp_call_free(call);
    fixture_close(&f);
}

static void *
flush_it(void *user)
{
    return (void *)(intptr_t)mcp_call_flush(user, AWAIT_MS);
}

static void
B10_a_flush_ends_with_the_connection(void **state)
{
    struct fixture f;
    pthread_t thread;
    mcp_call *call;
    void *result;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    script_hold(&f.s, true);
    fill_wire(&f);
    mcp_call_cancel(call, NULL);
    assert_int_equal(pthread_create(&thread, NULL, flush_it, call), 0);
    assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), MCP_E_CANCELED);
    mcp_client_free(f.client);
    f.client = NULL;
    pthread_join(thread, &result);
    assert_int_equal((int)(intptr_t)result, MCP_E_CLOSED);
    mcp_call_free(call);
    fixture_close(&f);
}

static void
B10_a_flush_after_the_connection_says_it_was_never_told(void **state)
{
    struct fixture f;
    mcp_call *call;

    (void)state;
    fixture_open(&f);
    call = start_hanging(&f);
    script_hold(&f.s, true);
    fill_wire(&f);
    told_gate(&f.told, true);
    mcp_call_cancel(call, NULL);
    told_await(&f.told, at_gate, 1); /* the handle is in use as long as it is there */
    mcp_client_close(f.client);
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), MCP_E_CLOSED); /* as it goes */
    assert_int_equal(mcp_call_flush(call, AWAIT_MS), MCP_E_CLOSED); /* gone */
    told_gate(&f.told, false);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(mcp_call_flush(call, 0), MCP_E_CLOSED);
    mcp_call_free(call);
    fixture_close(&f);
}

TEST_MAIN(TEST(a_wait_gives_the_reply_to_each_who_asks),
          TEST(a_wait_ends_after_its_time),
          TEST(a_released_call_is_told_and_frees_itself),
          TEST(a_call_without_a_handle_frees_itself),
          TEST(B33_a_call_may_be_freed_inside_its_callback),
          TEST(B33_a_call_may_be_canceled_inside_its_callback),
          TEST(B33_two_cancels_at_once_are_one),
          TEST(B32_freeing_waits_for_a_callback_that_runs),
          TEST(B32_freeing_on_the_loop_does_not_wait_for_a_callback_that_needs_it),
          TEST(M26_a_call_outlives_its_client), TEST(nothing_is_a_call),
          TEST(in_a_forked_process_every_function_fails),
          TEST(B10_a_flush_waits_until_the_server_is_told),
          TEST(B10_a_wedged_server_does_not_hold_its_caller),
          TEST(B10_a_flush_ends_with_the_connection),
          TEST(B10_a_flush_after_the_connection_says_it_was_never_told))
