/* crew_test.c - the helpers of one tool, and the calls that wait for one */
#include "api/crew.h"

#include "api/helper_fixture.h"
#include "api/request.h"

static void
helpers_are_ready_before_a_call_comes(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, ONE, true);
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    assert_int_equal(raw_counts(&raw).busy_helpers, 0);
    jobs_done(&raw);
}

/* ---- in line ------------------------------------------------------------ */

static void
calls_beyond_the_most_wait_in_order(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, ONE, RAW_MODERN);
    jobs_call(&raw, "1", ONE, "wait");
    pid = jobs_await_running(&raw);
    jobs_call(&raw, "2", ONE, "pid");
    jobs_call(&raw, "3", ONE, "pid");
    jobs_call(&raw, "4", ONE, "pid");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 4);
    assert_int_equal(raw_counts(&raw).busy_helpers, 1);
    assert_int_equal(raw_counts(&raw).helpers, 1);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0, next = 2; i < 4; i++) {
        const char *line = raw_line(&raw);

        if (!strstr(line, "signal 9")) /* which may take a moment */
            assert_int_equal(strtol(strstr(line, "\"id\":") + 5, NULL, 10), next++);
    }
    jobs_done(&raw);
}

static void
F37_one_that_is_canceled_in_line_never_runs(void **state)
{
    struct raw raw;

    jobs_start(&raw, ONE, RAW_MODERN);
    jobs_call(&raw, "1", ONE, "wait");
    (void)jobs_await_running(&raw);
    jobs_call(&raw, "2", ONE, "wait");
    jobs_call(&raw, "3", ONE, "pid");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 3);
    raw_cancel(&raw, "2", "never mind");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 2);
    raw_cancel(&raw, "1", "enough");
    raw_expect(&raw, "\"id\":3"); /* and no progress of the second */
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).killed_helpers, 0);
    jobs_done(&raw);
}

static void
no_more_than_the_most_run_at_once(void **state)
{
    char id[16];
    struct raw raw;

    (void)state;
    jobs_start(&raw, QUICK, true);
    for (int i = 1; i <= 5; i++) {
        snprintf(id, sizeof(id), "%d", i);
        jobs_call(&raw, id, QUICK, "wait");
    }
    (void)jobs_await_running(&raw);
    (void)jobs_await_running(&raw);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 5);
    assert_int_equal(raw_counts(&raw).busy_helpers, 2);
    assert_int_equal(raw_counts(&raw).helpers, 2);
    raw_expect_silence(&raw);
    jobs_done(&raw);
}

static void
many_calls_are_all_answered(void **state)
{
    char id[16];
    struct raw raw;

    (void)state;
    jobs_start(&raw, JOB, true);
    for (int i = 1; i <= 100; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_call(&raw, id, "job", NULL);
    }
    for (int i = 1; i <= 100; i++)
        raw_expect(&raw, "\"text\":\"pid ");
    assert_true(raw_counts(&raw).helpers <= 16);
    jobs_done(&raw);
}

/* ---- those that were told to stop --------------------------------------- */

static void
those_that_were_told_to_stop_do_not_count(void **state)
{
    pid_t pids[3];
    struct raw raw;

    (void)state;
    jobs_start(&raw, ONE, true);
    jobs_call(&raw, "1", ONE, "deaf");
    pids[0] = jobs_await_running(&raw);
    raw_cancel(&raw, "1", "enough");
    jobs_call(&raw, "2", ONE, "deaf"); /* the grace is a minute */
    pids[1] = jobs_await_running(&raw);
    assert_true(pids[1] != pids[0] && !process_is_gone(pids[0]));
    assert_int_equal(raw_counts(&raw).busy_helpers, 2);
    raw_cancel(&raw, "2", "enough"); /* as many again, which is one */
    jobs_call(&raw, "3", ONE, "wait");
    pids[2] = jobs_await_running(&raw);
    RAW_UNTIL(process_is_gone(pids[0]));
    assert_false(process_is_gone(pids[1]) || process_is_gone(pids[2]));
    assert_int_equal(raw_counts(&raw).killed_helpers, 1);
    jobs_done(&raw);
    assert_true(process_is_gone(pids[1]) && process_is_gone(pids[2]));
}

/* ---- too many ----------------------------------------------------------- */

static int64_t
clock_ahead(void *user)
{
    return mcpi_loop_clock() + *(int64_t *)user;
}

struct jump {
    struct mcpi_post post;
    struct mcpi_loop *loop;
    int64_t by;
    atomic_bool done;
};

static void
on_jump(struct mcpi_post *post)
{
    struct jump *jump = MCPI_CONTAINER(post, struct jump, post);

    mcpi_loop_set_clock(jump->loop, clock_ahead, &jump->by);
    atomic_store(&jump->done, true);
}

/* For the helpers of this server that much time has passed. */
static void
jump_ahead(struct raw *raw, struct jump *jump, int64_t us)
{
    *jump = (struct jump){.post.fn = on_jump,
                          .loop = atomic_load(&raw->server->isolation)->loop,
                          .by = us};
    mcpi_loop_post(jump->loop, &jump->post);
    RAW_UNTIL(atomic_load(&jump->done));
}

static void
those_beyond_the_warm_ones_go_after_a_while(void **state)
{
    struct jump jump;
    struct raw raw;

    (void)state;
    jobs_start(&raw, JOB, true);
    jobs_call(&raw, "1", JOB, "wait");
    (void)jobs_await_running(&raw);
    jobs_call(&raw, "2", JOB, "wait");
    (void)jobs_await_running(&raw);
    raw_cancel(&raw, "1", "enough");
    raw_cancel(&raw, "2", "enough");
    RAW_UNTIL(raw_counts(&raw).busy_helpers == 0);
    assert_true(raw_counts(&raw).helpers >= 2);
    (void)jobs_call_pid(&raw, "3", JOB);
    jump_ahead(&raw, &jump, 60 * INT64_C(1000000));
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    (void)jobs_call_pid(&raw, "4", JOB);
    jobs_done(&raw);
}

/* ---- those that do not start -------------------------------------------- */

static void
calls_of_a_tool_that_cannot_be_started_fail_and_say_why(void **state)
{
    const char *line;
    struct raw raw;

    jobs_start(&raw, BROKEN, RAW_MODERN);
    raw_call(&raw, "1", "broken", NULL);
    line = raw_expect(&raw, "no process for the tool can be started: ");
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_true(raw_logged(&raw, "a helper of tool broken has gone"));
    assert_true(raw_logged(&raw, "the next one is started later"));
    raw_call(&raw, "2", "broken", NULL); /* now, or when it was tried once more */
    raw_expect(&raw, "no process for the tool can be started: ");
    jobs_done(&raw);
}

/* Starts are counted by what the log says of each. */
static void
one_that_cannot_be_started_is_not_tried_in_a_hot_loop(void **state)
{
    int lines = 0;
    struct raw raw;

    (void)state;
    jobs_start(&raw, BROKEN, true);
    RAW_UNTIL(raw_logged(&raw, "later"));
    assert_true(raw_logged(&raw, "status 7"));
    for (int i = 0; i < 100; i++)
        raw_pause();
    pthread_mutex_lock(&raw_log_lock);
    for (const char *at = raw.log; (at = strstr(at, "has gone")) != NULL; at++)
        lines++;
    pthread_mutex_unlock(&raw_log_lock);
    assert_in_range(lines, 3, 5); /* with a second between them after the third */
    jobs_done(&raw);
}

static void
one_that_dies_before_it_served_counts_as_not_started(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, ONE, true);
    RAW_UNTIL((jobs_kill_helpers(), raw_logged(&raw, "later")));
    assert_true(raw_logged(&raw, "signal 9 (SIGKILL)"));
    do /* until the pause is over */
        raw_call(&raw, "1", "one", NULL);
    while (strstr(raw_expect(&raw, "\"id\":1"), "can be started"));
    jobs_done(&raw);
}

/* ---- canceled ----------------------------------------------------------- */

static int
flag_it(mcp_request *req, void *user)
{
    (void)user;
    mcpi_request_flag(req);
    return 0;
}

/* Its hook runs while it is handed over. */
static void
B7_one_that_is_canceled_before_it_is_handed_over_ends_once(void **state)
{
    const mcp_middleware flag = MCP_MIDDLEWARE(.before = flag_it);
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, jobs[JOB]);
    assert_int_equal(mcp_server_use(raw.server, &flag), 0);
    raw_start(&raw, RAW_MODERN);
    for (int i = 0; i < 100; i++) {
        raw_call(&raw, "1", "job", NULL);
        raw_expect(&raw, "\"id\":1");
    }
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    jobs_done(&raw);
}

/* ---- its tool goes ------------------------------------------------------ */

static void
calls_of_a_tool_that_was_removed_go_on(void **state)
{
    struct raw raw;
    pid_t pid;

    jobs_start(&raw, ONE, RAW_MODERN);
    jobs_call(&raw, "1", ONE, "wait");
    pid = jobs_await_running(&raw);
    jobs_call(&raw, "2", ONE, "pid");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 2);
    assert_int_equal(mcp_server_remove_tool(raw.server, "one"), 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0; i < 2;) /* a legacy client hears that the list has changed */
        i += strstr(raw_line(&raw), "\"id\":") != NULL;
    RAW_UNTIL(raw_counts(&raw).helpers == 0 && jobs_children() == 0);
    raw_tool(&raw, jobs[ONE]); /* the name is free again */
    raw_call(&raw, "3", "one", NULL);
    while (!strstr(raw_line(&raw), "\"id\":3"))
        continue;
    jobs_done(&raw);
}

static void
a_tool_that_goes_leaves_no_helper(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, JOB, true);
    for (int i = 0; i < 10; i++) {
        if (i > 0)
            raw_tool(&raw, jobs[JOB]);
        if (i % 2)
            RAW_UNTIL(raw_counts(&raw).helpers > 0);
        assert_int_equal(mcp_server_remove_tool(raw.server, "job"), 0);
    }
    RAW_UNTIL(raw_counts(&raw).helpers == 0);
    jobs_done(&raw);
}

/* Its thread has other things to do meanwhile. */
struct hold {
    struct mcpi_post post;
    pthread_barrier_t begun, ended;
    uint64_t helpers; /* that there are then */
    struct mcpi_isolation *isolation;
};

static void
on_hold(struct mcpi_post *post)
{
    struct hold *hold = MCPI_CONTAINER(post, struct hold, post);

    (void)pthread_barrier_wait(&hold->begun);
    (void)pthread_barrier_wait(&hold->ended);
}

static void
on_hold_over(struct mcpi_post *post)
{
    struct hold *hold = MCPI_CONTAINER(post, struct hold, post);

    hold->helpers = atomic_load(&hold->isolation->helpers);
    (void)pthread_barrier_wait(&hold->ended);
}

static void
a_tool_that_is_gone_at_once_starts_no_helper(void **state)
{
    struct hold hold = {.post.fn = on_hold}, then = {.post.fn = on_hold_over};
    struct mcpi_loop *loop;
    struct raw raw;

    (void)state;
    jobs_start(&raw, JOB, true);
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    assert_int_equal(mcp_server_remove_tool(raw.server, "job"), 0);
    RAW_UNTIL(raw_counts(&raw).helpers == 0);
    then.isolation = atomic_load(&raw.server->isolation);
    loop = then.isolation->loop;
    pthread_barrier_init(&hold.begun, NULL, 2);
    pthread_barrier_init(&hold.ended, NULL, 2);
    pthread_barrier_init(&then.ended, NULL, 2);
    mcpi_loop_post(loop, &hold.post);
    (void)pthread_barrier_wait(&hold.begun);
    raw_tool(&raw, jobs[JOB]);
    assert_int_equal(mcp_server_remove_tool(raw.server, "job"), 0);
    mcpi_loop_post(loop, &then.post);
    (void)pthread_barrier_wait(&hold.ended);
    (void)pthread_barrier_wait(&then.ended);
    assert_int_equal(then.helpers, 0);
    jobs_done(&raw); /* nobody is left in a barrier then */
    pthread_barrier_destroy(&hold.begun);
    pthread_barrier_destroy(&hold.ended);
    pthread_barrier_destroy(&then.ended);
}

/* Its exit takes for ever. */
static void
one_that_does_not_go_when_it_is_not_needed_is_killed(void **state)
{
    struct raw raw;
    pid_t pid;

    (void)state;
    jobs_start(&raw, LATE, true);
    pid = jobs_call_pid(&raw, "1", LATE);
    assert_int_equal(mcp_server_remove_tool(raw.server, "late"), 0);
    RAW_UNTIL(process_is_gone(pid));
    RAW_UNTIL(raw_counts(&raw).helpers == 0);
    assert_true(raw_counts(&raw).killed_helpers > 0);
    jobs_done(&raw);
}

static void
F34_a_call_that_takes_too_long_is_ended(void **state)
{
    mcp_tool tool = jobs[NOW];
    struct raw raw;
    pid_t pid;

    tool.limit_ms = 300;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, tool);
    raw_start(&raw, RAW_MODERN);
    raw_hold_time(&raw);
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    jobs_call(&raw, "1", NOW, "deaf");
    pid = jobs_await_running(&raw);
    virtual_clock_pass(&raw.clock, 300);
    raw_expect(&raw, "\"error\":");
    RAW_UNTIL(raw_counts(&raw).busy_helpers == 0);
    RAW_UNTIL(process_is_gone(pid));
    assert_int_equal(raw_counts(&raw).canceled_by_limit, 1);
    jobs_done(&raw);
}

TEST_MAIN_AFTER(jobs_enter, TEST(helpers_are_ready_before_a_call_comes),
                TEST_ERAS(calls_beyond_the_most_wait_in_order),
                TEST_ERAS(F37_one_that_is_canceled_in_line_never_runs),
                TEST(no_more_than_the_most_run_at_once),
                TEST(many_calls_are_all_answered),
                TEST(those_that_were_told_to_stop_do_not_count),
                TEST(those_beyond_the_warm_ones_go_after_a_while),
                TEST_ERAS(calls_of_a_tool_that_cannot_be_started_fail_and_say_why),
                TEST(one_that_cannot_be_started_is_not_tried_in_a_hot_loop),
                TEST(one_that_dies_before_it_served_counts_as_not_started),
                TEST_ERAS(B7_one_that_is_canceled_before_it_is_handed_over_ends_once),
                TEST_ERAS(calls_of_a_tool_that_was_removed_go_on),
                TEST(a_tool_that_goes_leaves_no_helper),
                TEST(a_tool_that_is_gone_at_once_starts_no_helper),
                TEST(one_that_does_not_go_when_it_is_not_needed_is_killed),
                TEST_ERAS(F34_a_call_that_takes_too_long_is_ended))
