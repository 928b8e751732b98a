/* helper_start_test.c - starting a helper, and what comes of one that cannot */
#include <sys/resource.h>

#include "api/helper_fixture.h"

/* Main does not come to it. */
static void
one_that_does_not_start_holds_nobody_up(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, STUCK, true);
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    jobs_call(&raw, "1", STUCK, "pid");
    raw_tool(&raw, jobs[JOB]);
    (void)jobs_call_pid(&raw, "2", JOB);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    mcp_server_free(raw.server);
    raw.server = NULL;
    assert_int_equal(jobs_children(), 0);
    jobs_done(&raw);
}

static void
one_that_is_stuck_at_its_start_is_ended_with_its_tool(void **state)
{
    struct raw raw;

    (void)state;
    jobs_start(&raw, STUCK, true);
    RAW_UNTIL(raw_counts(&raw).helpers == 1);
    assert_int_equal(mcp_server_remove_tool(raw.server, "stuck"), 0);
    RAW_UNTIL(raw_counts(&raw).helpers == 0 && jobs_children() == 0);
    assert_int_equal(raw_counts(&raw).killed_helpers, 1);
    jobs_done(&raw);
}

/* The lowest that is free is the limit: none is to be had. */
static struct rlimit
files_use_up(void)
{
    struct rlimit was, none;
    int fd = dup(STDERR_FILENO);

    assert_true(fd >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    none = was;
    none.rlim_cur = (rlim_t)fd;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    close(fd);
    return was;
}

static void
without_descriptors_a_call_fails_and_a_later_one_does_not(void **state)
{
    struct rlimit was;
    struct raw raw;

    (void)state;
    jobs_start(&raw, ONE, true);
    raw_call(&raw, "1", "one", NULL);
    raw_expect(&raw, "\"id\":1");
    was = files_use_up();
    raw_call(&raw, "2", "one", "{\"do\":\"exit\"}");
    raw_expect(&raw, "with status 3");
    do /* until all that it had free is used up */
        raw_call(&raw, "3", "one", "{\"do\":\"exit\"}");
    while (!strstr(raw_expect(&raw, "\"id\":3"), "no process for the tool"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    do /* until the pause is over */
        raw_call(&raw, "4", "one", NULL);
    while (strstr(raw_expect(&raw, "\"id\":4"), "can be started"));
    jobs_done(&raw);
}

TEST_MAIN_AFTER(jobs_enter, TEST(one_that_does_not_start_holds_nobody_up),
                TEST(one_that_is_stuck_at_its_start_is_ended_with_its_tool),
                TEST(without_descriptors_a_call_fails_and_a_later_one_does_not))
