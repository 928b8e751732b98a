/* bench_load_test.c - proves cli/bench_load.c: calls counted, canceled, ended */
#include <stdlib.h>
#include <string.h>

#include "cli/bench_room.h"

static struct cli_bench_plan
plan_of(const struct bench_room *room, const char *tool, uint64_t count, size_t at_once)
{
    return (struct cli_bench_plan){.client = room->client,
                                   .tool = tool,
                                   .call = MCP_CALL_OPTIONS(),
                                   .count = count,
                                   .at_once = at_once};
}

static void
all_calls_are_made_and_measured(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;

    (void)state;
    bench_room_open(&room);
    plan = plan_of(&room, "quick", 500, 8);
    assert_int_equal(cli_bench_run(&plan, AWAIT_MS, NULL, NULL, room.load), 0);
    assert_int_equal(room.load->started, 500);
    assert_int_equal(room.load->answered, 500);
    assert_int_equal(room.load->times.count, 500);
    assert_int_equal(room.load->failed + room.load->lost, 0);
    assert_true(room.load->seconds > 0);
    bench_room_close(&room);
}

static void
without_a_tool_the_server_is_pinged(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;

    (void)state;
    bench_room_open(&room);
    plan = plan_of(&room, NULL, 20, 1);
    assert_int_equal(cli_bench_run(&plan, AWAIT_MS, NULL, NULL, room.load), 0);
    assert_int_equal(room.load->answered, 20);
    bench_room_close(&room);
}

static void
errors_are_counted_by_their_kind(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;

    (void)state;
    bench_room_open(&room);
    plan = plan_of(&room, "broken", 10, 2);
    assert_int_equal(cli_bench_run(&plan, AWAIT_MS, NULL, NULL, room.load), 0);
    assert_int_equal(room.load->failed, 10);
    assert_int_equal(room.load->kind_count, 1);
    assert_string_equal(room.load->kinds[0].text, "the tool failed: broken");
    assert_int_equal(room.load->kinds[0].count, 10);
    bench_room_close(&room);
}

static void
a_time_to_cancel_may_be_none_at_all(void **state)
{
    struct cli_bench_plan plan = {.cancel_rate = 0.5, .cancel_after_ms = 0};

    (void)state;
    assert_int_equal(cli_bench_cancel_ms(&plan, 0), -1);
    assert_int_equal(cli_bench_cancel_ms(&plan, 1), 0);
    assert_int_equal(cli_bench_cancel_ms(&plan, 3), 0);
    plan.cancel_after_ms = -1;
    assert_int_equal(cli_bench_cancel_ms(&plan, 1), 13);
    assert_int_equal(cli_bench_cancel_ms(&plan, 3), 39 % 21);
}

static void
a_share_is_canceled_and_all_end(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;

    (void)state;
    bench_room_open(&room);
    plan = plan_of(&room, "hang", 40, 4);
    plan.cancel_rate = 1;
    plan.cancel_after_ms = 1;
    assert_int_equal(cli_bench_run(&plan, AWAIT_MS, NULL, NULL, room.load), 0);
    assert_int_equal(room.load->canceled, 40);
    assert_int_equal(room.load->asked, 40);
    assert_int_equal(room.load->times.count + room.load->lost, 0);
    bench_room_close(&room);
}

static void
what_does_not_end_in_time_is_canceled(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;

    (void)state;
    bench_room_open(&room);
    plan = plan_of(&room, "hang", 3, 3);
    assert_int_equal(cli_bench_run(&plan, 1, NULL, NULL, room.load), 0);
    assert_int_equal(room.load->canceled, 3);
    bench_room_close(&room);
}

static void
the_end_of_the_scope_ends_it_early(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;
    mcp_scope *scope;

    (void)state;
    bench_room_open(&room);
    assert_int_equal(mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = 20), &scope), 0);
    plan = plan_of(&room, "hang", 0, 2);
    plan.call.scope = scope;
    plan.duration_ms = 3600000;
    assert_int_equal(cli_bench_run(&plan, AWAIT_MS, NULL, NULL, room.load), 0);
    assert_true(room.load->interrupted);
    assert_int_equal(room.load->lost, 0);
    bench_room_close(&room);
    mcp_scope_free(scope);
}

static void
look(void *user, uint64_t canceled)
{
    (void)canceled;
    (void)sem_post(user);
}

/* The first call does not end before somebody has looked. */
static void
a_duration_ends_it_and_somebody_looks_on(void **state)
{
    struct bench_room room;
    struct cli_bench_plan plan;

    (void)state;
    bench_room_open(&room);
    plan = plan_of(&room, "held", 0, 1);
    plan.duration_ms = 1;
    assert_int_equal(cli_bench_run(&plan, AWAIT_MS, look, &room.looked, room.load), 0);
    assert_true(room.load->answered > 0);
    assert_false(room.load->interrupted);
    bench_room_close(&room);
}

static void
too_many_kinds_become_others(void **state)
{
    struct cli_bench_load *load = calloc(1, sizeof(*load));
    char text[2 * CLI_BENCH_KIND];

    (void)state;
    assert_non_null(load);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < 2 * CLI_BENCH_KINDS; i++) {
        text[0] = (char)('A' + i);
        cli_bench_count_kind(load, text);
    }
    cli_bench_count_kind(load, text);
    assert_int_equal(load->kind_count, CLI_BENCH_KINDS);
    assert_string_equal(load->kinds[CLI_BENCH_KINDS - 1].text, "others");
    assert_int_equal(load->kinds[CLI_BENCH_KINDS - 1].count, CLI_BENCH_KINDS + 2);
    free(load);
}

static void
none_at_once_is_refused(void **state)
{
    struct cli_bench_plan plan = {0};
    struct cli_bench_load *load = calloc(1, sizeof(*load));

    (void)state;
    assert_int_equal(cli_bench_run(&plan, 0, NULL, NULL, load), MCP_E_INVAL);
    free(load);
}

TEST_MAIN(TEST(all_calls_are_made_and_measured),
          TEST(without_a_tool_the_server_is_pinged),
          TEST(errors_are_counted_by_their_kind),
          TEST(a_time_to_cancel_may_be_none_at_all),
          TEST(a_share_is_canceled_and_all_end),
          TEST(what_does_not_end_in_time_is_canceled),
          TEST(the_end_of_the_scope_ends_it_early),
          TEST(a_duration_ends_it_and_somebody_looks_on),
          TEST(too_many_kinds_become_others), TEST(none_at_once_is_refused))
