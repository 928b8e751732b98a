/* bench_report_test.c - proves cli/bench_report.c: verdict, table and JSON */
#include <stdlib.h>
#include <string.h>

#include "cli/bench.h"
#include "support/test.h"

/* A run of a spawned server that left nothing. */
static struct cli_bench *
bench_new(void)
{
    struct cli_bench *bench = calloc(1, sizeof(*bench));
    const struct cli_usage usage = {1048576, 12, 1, 500};

    assert_non_null(bench);
    bench->plan.at_once = 4;
    bench->still_answers = true;
    bench->server.pid = 1;
    bench->server.before = bench->server.after = bench->server.peak = usage;
    bench->server.allowed = usage;
    bench->server.handlers_before = bench->server.handlers_after = 0;
    return bench;
}

static void
assert_verdict(struct cli_bench *bench, enum cli_bench_verdict verdict,
               const char *sentence)
{
    struct cli_text text = {0};

    bench->server.now = bench->server.after;
    assert_int_equal(cli_bench_judge(bench, &text), verdict);
    assert_string_equal(cli_text_string(&text), sentence);
    cli_text_done(&text);
}

static void
what_is_as_before_leaves_nothing(void **state)
{
    struct cli_bench *bench = bench_new();

    (void)state;
    assert_verdict(bench, CLI_BENCH_CLEAN, "nothing left behind");
    bench->server.after.descriptors = 11;
    assert_verdict(bench, CLI_BENCH_CLEAN, "nothing left behind");
    free(bench);
}

static void
handlers_that_cannot_be_counted_are_not_claimed_to_be_gone(void **state)
{
    struct cli_bench *bench = bench_new();

    (void)state;
    bench->server.handlers_before = bench->server.handlers_after = -1;
    assert_verdict(bench, CLI_BENCH_CLEAN,
                   "nothing left behind that can be seen; handlers cannot be counted");
    free(bench);
}

static void
all_that_is_left_is_named(void **state)
{
    struct cli_bench *bench = bench_new();

    (void)state;
    bench->server.after.descriptors = 24;
    bench->server.handlers_before = 0;
    bench->server.handlers_after = 3;
    assert_verdict(bench, CLI_BENCH_LEFT, "left behind: 12 descriptors, 3 handlers");
    bench->server.after = bench->server.before;
    bench->server.after.processes = 2;
    bench->server.handlers_after = 0;
    bench->load.lost = 1;
    assert_verdict(bench, CLI_BENCH_LEFT,
                   "left behind: 1 process, 1 call that never ended");
    free(bench);
}

static void
what_is_kept_for_the_next_calls_is_not_left_behind(void **state)
{
    struct cli_bench *bench = bench_new();

    (void)state;
    bench->server.after.descriptors = 15;
    bench->server.allowed.descriptors = 15;
    assert_verdict(bench, CLI_BENCH_CLEAN, "nothing left behind");
    free(bench);
}

static void
a_session_that_is_silent_is_left_behind(void **state)
{
    struct cli_bench *bench = bench_new();

    (void)state;
    bench->still_answers = false;
    assert_verdict(bench, CLI_BENCH_LEFT,
                   "left behind: a session that does not answer");
    free(bench);
}

static void
what_is_elsewhere_and_counts_nothing_cannot_be_seen(void **state)
{
    struct cli_bench *bench = bench_new();

    (void)state;
    bench->server.pid = 0;
    bench->server.before.descriptors = bench->server.after.descriptors = -1;
    bench->server.handlers_before = bench->server.handlers_after = -1;
    assert_verdict(bench, CLI_BENCH_UNSEEN, "cannot be seen from here");
    bench->server.handlers_before = bench->server.handlers_after = 0;
    assert_verdict(bench, CLI_BENCH_CLEAN, "nothing left behind");
    free(bench);
}

static void
the_table_shows_times_and_errors_harmlessly(void **state)
{
    struct cli_bench *bench = bench_new();
    struct cli_text text = {0};

    (void)state;
    cli_times_add(&bench->load.times, 1500000);
    bench->load.started = bench->load.failed = 1;
    bench->load.seconds = 2;
    cli_bench_count_kind(&bench->load, "bad\033[31m thing");
    cli_bench_table(bench, &text);
    assert_non_null(
        strstr(cli_text_string(&text), "calls        1 in 2.00 s, 4 at once\n"));
    assert_non_null(strstr(cli_text_string(&text), "1.50 ms"));
    assert_non_null(strstr(cli_text_string(&text), "    1        bad thing\n"));
    assert_non_null(strstr(cli_text_string(&text), "  memory     1.0 MiB "));
    assert_non_null(
        strstr(cli_text_string(&text), "verdict      nothing left behind\n"));
    cli_text_done(&text);
    free(bench);
}

static void
the_json_has_all_of_it(void **state)
{
    struct cli_bench *bench = bench_new();
    mcp_builder *b = mcp_builder_new(NULL);
    const mcp_json *root;
    mcp_doc *doc;

    (void)state;
    cli_times_add(&bench->load.times, 1500000);
    cli_bench_count_kind(&bench->load, "\xff");
    for (int i = 0; i < 200; i++)
        cli_trend_add(&bench->server.memory, i, 64 * i);
    bench->load.canceled = 200;
    cli_bench_json(bench, b);
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    root = mcp_doc_root(doc);
    assert_true(mcp_json_is_string(mcp_json_get(root, "verdict"), "clean"));
    assert_true(mcp_json_is_string(mcp_json_get(root, "tool"), "ping"));
    assert_int_equal(mcp_json_int(mcp_json_get(root, "canceled"), 0), 200);
    assert_true(mcp_json_number(mcp_json_get(mcp_json_get(root, "latency_ms"), "p50"),
                                0) == 1.5);
    root = mcp_json_get(root, "server");
    assert_true(mcp_json_number(mcp_json_get(root, "bytes_per_cancel"), 0) > 63);
    mcp_doc_free(doc);
    mcp_builder_free(b);
    free(bench);
}

TEST_MAIN(TEST(what_is_as_before_leaves_nothing),
          TEST(handlers_that_cannot_be_counted_are_not_claimed_to_be_gone),
          TEST(all_that_is_left_is_named),
          TEST(what_is_kept_for_the_next_calls_is_not_left_behind),
          TEST(a_session_that_is_silent_is_left_behind),
          TEST(what_is_elsewhere_and_counts_nothing_cannot_be_seen),
          TEST(the_table_shows_times_and_errors_harmlessly),
          TEST(the_json_has_all_of_it))
