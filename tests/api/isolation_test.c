/* isolation_test.c - the thread of all helpers, and how it ends with its server */
#include "api/isolation.h"

#include "api/helper_fixture.h"

static void
a_server_without_isolated_tools_has_none(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_null(atomic_load(&raw.server->isolation));
    assert_int_equal(raw_counts(&raw).helpers, 0);
    jobs_done(&raw);
}

static void
helpers_are_counted(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, SLOW, RAW_MODERN);
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    jobs_call(&raw, "1", SLOW, "deaf");
    pid = jobs_await_running(&raw);
    RAW_UNTIL(raw_counts(&raw).helpers == 2); /* another one is ready */
    assert_int_equal(raw_counts(&raw).busy_helpers, 1);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).busy_helpers, 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    RAW_UNTIL(raw_counts(&raw).busy_helpers == 0);
    assert_int_equal(raw_counts(&raw).killed_helpers, 0);
    jobs_done(&raw);
}

static void
a_tool_that_cannot_be_isolated_is_not_added(void **state)
{
    mcp_tool tool = jobs[JOB];
    mcp_error err = {0};
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    tool.name = "stranger";
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, &err), MCP_E_STATE);
    assert_non_null(strstr(err.message, "tool stranger: it is isolated, and"));
    tool = jobs[JOB];
    tool.reply = tool.run;
    tool.run = NULL;
    assert_int_equal(mcp_server_add_tool(raw.server, &tool, &err), MCP_E_INVAL);
    assert_int_equal(mcp_server_remove_tool(raw.server, "job"), MCP_E_INVAL);
    raw_tool(&raw, jobs[JOB]);
    assert_int_equal(mcp_server_add_tool(raw.server, &jobs[JOB], &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "there is a tool job already"));
    jobs_done(&raw);
}

/* ---- the server goes ---------------------------------------------------- */

/* With a deaf call, and one that was told to stop long ago. */
static void
start_deaf(struct raw *raw, pid_t pids[2], bool modern)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.stop_ms = 200));
    raw_tool(raw, jobs[SLOW]);
    raw_start(raw, modern);
    jobs_call(raw, "1", SLOW, "deaf");
    pids[0] = jobs_await_running(raw);
    raw_cancel(raw, "1", "enough");
    jobs_call(raw, "2", SLOW, "deaf");
    pids[1] = jobs_await_running(raw);
    assert_false(process_is_gone(pids[0]) || process_is_gone(pids[1]));
}

static void
F5_a_freed_server_leaves_no_process(void **state)
{
    struct raw raw;
    pid_t pids[2];

    start_deaf(&raw, pids, RAW_MODERN);
    mcp_server_free(raw.server);
    raw.server = NULL;
    assert_int_equal(jobs_children(), 0);
    assert_true(process_is_gone(pids[0]) && process_is_gone(pids[1]));
    jobs_done(&raw);
}

static void
F29_a_stopped_server_leaves_no_process(void **state)
{
    struct raw raw;
    pid_t pids[2];

    start_deaf(&raw, pids, RAW_MODERN);
    mcp_server_stop(raw.server);
    raw_expect(&raw, "\"error\":"); /* the second one is answered */
    RAW_UNTIL(jobs_children() == 0);
    assert_true(process_is_gone(pids[0]) && process_is_gone(pids[1]));
    RAW_UNTIL(raw_counts(&raw).helpers == 0); /* its socket goes after its processes */
    jobs_done(&raw);
}

static void
handlers_that_listen_have_their_time_when_the_server_goes(void **state)
{
    char path[] = "/tmp/mcp-tidy-XXXXXX", arguments[96];
    struct raw raw;
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    raw_make(&raw, MCP_SERVER_OPTIONS(.stop_ms = 20000));
    raw_tool(&raw, jobs[SLOW]);
    raw_start(&raw, true);
    snprintf(arguments, sizeof(arguments), "{\"do\":\"tidy\",\"path\":\"%s\"}", path);
    raw_call_with(&raw, "1", "slow", arguments, "1");
    (void)jobs_await_running(&raw);
    mcp_server_free(raw.server);
    raw.server = NULL;
    assert_int_equal(access(path, F_OK), -1);
    jobs_done(&raw);
}

static void
one_that_never_ran_leaves_no_process(void **state)
{
    struct raw raw;

    (void)state;
    for (int i = 0; i < 3; i++) {
        raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
        raw_tool(&raw, jobs[JOB]);
        raw_tool(&raw, jobs[ONE]);
        if (i == 1)
            RAW_UNTIL(raw_counts(&raw).helpers == 2);
        jobs_done(&raw);
    }
}

static void
a_tool_may_be_added_to_a_server_that_has_stopped(void **state)
{
    struct raw raw;

    (void)state;
    for (int i = 0; i < 2; i++) {
        raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
        if (i == 0)
            raw_tool(&raw, jobs[ONE]);
        raw_start(&raw, true);
        mcp_server_stop(raw.server);
        RAW_UNTIL(atomic_load(&raw.server->stopped));
        raw_tool(&raw, jobs[JOB]);
        jobs_done(&raw);
    }
}

static int
bye_reply(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    mcp_server_free(mcp_request_server(req));
    return mcp_result_text(out, "bye");
}

static void
freed_in_a_handler_it_ends_soon(void **state)
{
    struct raw raw;
    pid_t pids[2];

    raw_make(&raw, MCP_SERVER_OPTIONS(.stop_ms = 200));
    raw_tool(&raw, MCP_TOOL(.name = "bye", .reply = bye_reply));
    raw_tool(&raw, jobs[SLOW]);
    raw_start(&raw, RAW_MODERN);
    jobs_call(&raw, "1", SLOW, "deaf");
    pids[0] = jobs_await_running(&raw);
    raw_call(&raw, "2", "bye", NULL);
    RAW_UNTIL(jobs_children() == 0);
    assert_true(process_is_gone(pids[0]));
    raw.server = NULL;
    raw_close(&raw);
    test_mem_done(raw.mem);
}

static void
on_over(void *user)
{
    mcp_server_free(user);
}

static int
before_any(mcp_request *req, void *user)
{
    (void)user;
    return mcp_request_defer(req, on_over, mcp_request_server(req));
}

/* What a request has deferred runs where it ends. */
static void
it_may_be_freed_on_the_thread_of_the_helpers(void **state)
{
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_use(raw.server, &MCP_MIDDLEWARE(.before = before_any)),
                     0);
    raw_tool(&raw, jobs[JOB]);
    raw_start(&raw, true);
    raw_call(&raw, "1", "job", NULL);
    raw_expect(&raw, "\"id\":1");
    assert_true(raw_at_eof(&raw));
    RAW_UNTIL(jobs_children() == 0);
    raw.server = NULL;
    raw_close(&raw);
    test_mem_done(raw.mem);
}

/* ---- on a loop of the program's ----------------------------------------- */

static void *
loop_main(void *user)
{
    (void)mcp_loop_run(user);
    return NULL;
}

static void
on_a_loop_of_the_programs_it_ends_too(void **state)
{
    pthread_t thread;
    mcp_loop *loop;
    struct raw raw;
    pid_t pid;

    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    /* the drain, which is not used here, is part of the time that its end may take */
    raw_make(&raw,
             MCP_SERVER_OPTIONS(.loop = loop, .stop_ms = 200, .drain_ms = AWAIT_MS));
    raw_tool(&raw, jobs[SLOW]);
    raw_connect(&raw, RAW_MODERN);
    assert_int_equal(pthread_create(&thread, NULL, loop_main, loop), 0);
    raw_greet(&raw);
    jobs_call(&raw, "1", SLOW, "deaf");
    pid = jobs_await_running(&raw);
    mcp_server_free(raw.server);
    raw.server = NULL;
    assert_true(process_is_gone(pid));
    assert_int_equal(jobs_children(), 0);
    mcp_loop_stop(loop);
    pthread_join(thread, NULL);
    mcp_loop_free(loop);
    jobs_done(&raw);
}

/* ---- the program goes --------------------------------------------------- */

/* A program with a deaf call, which says its pid and waits to be killed. */
static void
middle_run(int out)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, SLOW, true);
    jobs_call(&raw, "1", SLOW, "deaf");
    pid = jobs_await_running(&raw);
    if (write(out, &pid, sizeof(pid)) == sizeof(pid))
        job_be_deaf();
    _exit(1);
}

static void
M22_a_killed_server_leaves_no_process(void **state)
{
    pid_t middle, pid = 0;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    middle = fork(); /* there is one thread */
    assert_true(middle >= 0);
    if (middle == 0)
        middle_run(ends[1]);
    assert_int_equal(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
    assert_false(process_is_gone(pid));
    assert_int_equal(kill(middle, SIGKILL), 0);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    RAW_UNTIL(process_is_gone(pid));
    close(ends[0]);
    close(ends[1]);
}

/* ---- two at once, and no memory ----------------------------------------- */

struct adder {
    mcp_server *server;
    int tool;
    int status;
};

static void *
adder_main(void *user)
{
    struct adder *adder = user;

    adder->status = mcp_server_add_tool(adder->server, &jobs[adder->tool], NULL);
    return NULL;
}

static void
two_may_add_the_first_at_the_same_time(void **state)
{
    struct adder adders[2];
    pthread_t threads[2];
    struct raw raw;

    (void)state;
    for (int i = 0; i < 10; i++) {
        raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
        for (int k = 0; k < 2; k++) {
            adders[k] = (struct adder){.server = raw.server, .tool = k ? JOB : ONE};
            assert_int_equal(pthread_create(&threads[k], NULL, adder_main, &adders[k]),
                             0);
        }
        for (int k = 0; k < 2; k++)
            pthread_join(threads[k], NULL);
        assert_int_equal(adders[0].status | adders[1].status, 0);
        jobs_done(&raw);
    }
}

static void
add_flow(struct test_mem *mem, void *user)
{
    struct raw raw;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    (void)mcp_server_add_tool(raw.server, user, NULL);
    raw_close(&raw);
}

/* The thread may be at a helper or not when the server goes, so what fails first in
 * a run is not always the same. */
static void
each_allocation_may_fail(void **state)
{
    mcp_tool tool = jobs[JOB];

    (void)state;
    test_limit(120);
    tool.input_schema = NULL;
    assert_true(test_each_allocation_fails(add_flow, &tool) > 10);
    assert_int_equal(jobs_children(), 0);
}

static void
call_flow(struct test_mem *mem, void *user)
{
    raw_flow(mem, user, "5");
}

static void
each_allocation_of_a_call_may_fail(void **state)
{
    mcp_tool tool = jobs[JOB];

    (void)state;
    tool.input_schema = NULL;
    assert_true(test_each_allocation_fails(call_flow, &tool) > 10);
    assert_int_equal(jobs_children(), 0);
}

TEST_MAIN_AFTER(jobs_enter, TEST(M22_a_killed_server_leaves_no_process),
                TEST(a_server_without_isolated_tools_has_none),
                TEST(a_tool_that_cannot_be_isolated_is_not_added),
                TEST_ERAS(helpers_are_counted),
                TEST_ERAS(F5_a_freed_server_leaves_no_process),
                TEST_ERAS(F29_a_stopped_server_leaves_no_process),
                TEST(handlers_that_listen_have_their_time_when_the_server_goes),
                TEST(one_that_never_ran_leaves_no_process),
                TEST(a_tool_may_be_added_to_a_server_that_has_stopped),
                TEST_ERAS(freed_in_a_handler_it_ends_soon),
                TEST(it_may_be_freed_on_the_thread_of_the_helpers),
                TEST_ERAS(on_a_loop_of_the_programs_it_ends_too),
                TEST(two_may_add_the_first_at_the_same_time),
                TEST(each_allocation_may_fail),
                TEST(each_allocation_of_a_call_may_fail))
