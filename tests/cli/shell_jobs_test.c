/* cli/shell_jobs_test.c - proves cli/shell_jobs.c: calls in the background */
#include "cli/shell_jobs.h"

#include <poll.h>
#include <sched.h>

#include "cli/shell_room.h"

static struct room room;
static struct cli_jobs jobs;

static void
begin(void)
{
    room_open(&room);
    assert_int_equal(cli_jobs_init(&jobs, &room.session), 0);
}

static void
end(void)
{
    cli_jobs_done(&jobs);
    room_close(&room);
}

static void
await_end(void)
{
    struct pollfd fd = {.fd = cli_jobs_fd(&jobs), .events = POLLIN};

    while (poll(&fd, 1, -1) != 1)
        continue;
}

static void
a_job_that_ended_is_reported_with_its_result(void **state)
{
    bool first, second;
    const char *heard;

    (void)state;
    begin();
    room_hear(&room);
    (void)cli_jobs_start(&jobs, "echo", "{\"text\":\"hello\"}", "call echo");
    await_end();
    first = cli_jobs_report(&jobs);
    second = cli_jobs_report(&jobs);
    heard = room_heard(&room);
    assert_true(first);
    assert_false(second);
    assert_has(heard, "[1] call echo\n");
    assert_has(heard, "[1] done: call echo\nhello\n");
    assert_int_equal(cli_jobs_count(&jobs), 0);
    end();
}

static void
a_job_runs_until_it_is_killed(void **state)
{
    const char *heard;
    size_t running;
    int code;

    (void)state;
    begin();
    room_hear(&room);
    (void)cli_jobs_start(&jobs, "hang", NULL, "call hang");
    running = cli_jobs_running(&jobs);
    code = cli_jobs_kill(&jobs, "%1");
    heard = room_heard(&room);
    assert_int_equal(running, 1);
    assert_int_equal(code, CLI_CANCELED);
    assert_has(heard, "canceled call hang: ");
    assert_has(heard, "and the server answers");
    assert_has(heard, "[1] canceled: call hang");
    assert_int_equal(cli_jobs_count(&jobs), 0);
    end();
}

static void
numbers_are_the_lowest_that_are_free(void **state)
{
    int numbers[3];

    (void)state;
    begin();
    room_hear(&room);
    for (int i = 0; i < 3; i++)
        (void)cli_jobs_start(&jobs, "hang", NULL, "call hang");
    (void)cli_jobs_kill(&jobs, "2");
    numbers[0] = cli_jobs_number(&jobs, 1);
    (void)cli_jobs_start(&jobs, "hang", NULL, "call hang");
    numbers[1] = cli_jobs_number(&jobs, 1);
    numbers[2] = cli_jobs_number(&jobs, 3);
    (void)cli_jobs_kill_all(&jobs);
    (void)room_heard(&room);
    assert_int_equal(numbers[0], 3);
    assert_int_equal(numbers[1], 2);
    assert_int_equal(numbers[2], 0);
    assert_int_equal(cli_jobs_count(&jobs), 0);
    end();
}

static void
the_list_has_progress(void **state)
{
    const char *heard;

    (void)state;
    begin();
    room_hear(&room);
    (void)cli_jobs_start(&jobs, "hang", NULL, "call hang");
    heard = room_heard(&room);
    while (!strstr(heard, " 25%  call hang\n")) { /* which comes on another thread */
        sched_yield();
        room_hear(&room);
        (void)cli_jobs_list(&jobs);
        heard = room_heard(&room);
    }
    assert_has(heard, "[1] running ");
    room.cli.json = true;
    room_hear(&room);
    (void)cli_jobs_list(&jobs);
    heard = room_heard(&room);
    assert_has(heard, "[{\"job\":1,\"state\":\"running\",\"seconds\":");
    assert_has(heard, "\"progress\":1.0,\"total\":4.0,\"call\":\"call hang\"}]\n");
    end();
}

static void
the_foreground_gives_the_result_and_its_code(void **state)
{
    const char *heard;
    int codes[2];

    (void)state;
    begin();
    room_hear(&room);
    (void)cli_jobs_start(&jobs, "echo", "{\"text\":\"one\"}", "call echo");
    (void)cli_jobs_start(&jobs, "fail", NULL, "call fail");
    codes[0] = cli_jobs_foreground(&jobs, NULL);
    codes[1] = cli_jobs_foreground(&jobs, "%1");
    heard = room_heard(&room);
    assert_int_equal(codes[0], CLI_TOOL_ERROR);
    assert_int_equal(codes[1], CLI_OK);
    assert_has(heard, "[2] failed: call fail\n");
    assert_has(heard, "[1] done: call echo\none\n");
    end();
}

static void
waiting_for_all_tells_what_failed(void **state)
{
    int code;

    (void)state;
    begin();
    room_hear(&room);
    (void)cli_jobs_start(&jobs, "fail", NULL, "call fail");
    (void)cli_jobs_start(&jobs, "echo", "{\"text\":\"one\"}", "call echo");
    code = cli_jobs_wait(&jobs);
    (void)room_heard(&room);
    assert_int_equal(code, CLI_TOOL_ERROR);
    assert_int_equal(cli_jobs_count(&jobs), 0);
    end();
}

static void
a_job_that_is_not_there_is_said(void **state)
{
    const char *heard;
    int codes[3];

    (void)state;
    begin();
    room_hear(&room);
    codes[0] = cli_jobs_kill(&jobs, "%7");
    codes[1] = cli_jobs_kill(&jobs, "x");
    codes[2] = cli_jobs_foreground(&jobs, NULL);
    heard = room_heard(&room);
    for (int i = 0; i < 3; i++)
        assert_int_equal(codes[i], CLI_OTHER);
    assert_has(heard, "there is no job %7");
    assert_has(heard, "there are no jobs");
    end();
}

static void
jobs_that_run_at_the_end_are_abandoned(void **state)
{
    mcp_server_counts counts = {.size = sizeof counts};

    (void)state;
    begin();
    room_hear(&room);
    (void)cli_jobs_start(&jobs, "hang", NULL, "call hang");
    cli_jobs_done(&jobs);
    (void)room_heard(&room);
    do {
        sched_yield();
        assert_int_equal(mcp_server_count(room.server, &counts), 0);
    } while (counts.in_flight > 0);
    room_close(&room);
}

TEST_MAIN(TEST(a_job_that_ended_is_reported_with_its_result),
          TEST(a_job_runs_until_it_is_killed),
          TEST(numbers_are_the_lowest_that_are_free), TEST(the_list_has_progress),
          TEST(the_foreground_gives_the_result_and_its_code),
          TEST(waiting_for_all_tells_what_failed),
          TEST(a_job_that_is_not_there_is_said),
          TEST(jobs_that_run_at_the_end_are_abandoned))
