/* bench_stats_test.c - proves cli/bench_stats.c: percentiles, slopes and shares */
#include "cli/bench_stats.h"

#include <stdlib.h>

#include "support/test.h"

static struct cli_times *
times_new(void)
{
    struct cli_times *times = calloc(1, sizeof(*times));

    assert_non_null(times);
    return times;
}

static void
percentiles_are_at_most_one_percent_too_long(void **state)
{
    const double shares[] = {0.01, 0.5, 0.9, 0.99, 0.999};
    struct cli_times *times = times_new();

    (void)state;
    for (uint64_t i = 1; i <= 100000; i++)
        cli_times_add(times, i * 1000);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        double exact = shares[i] * 1e8;
        double got = (double)cli_times_at(times, shares[i]);

        assert_true(got >= exact && got <= exact * 1.01);
    }
    free(times);
}

static void
least_and_most_are_exact(void **state)
{
    struct cli_times *times = times_new();

    (void)state;
    cli_times_add(times, 123456789);
    cli_times_add(times, 7);
    cli_times_add(times, 1234567891);
    assert_int_equal(cli_times_at(times, 0), 7);
    assert_int_equal(cli_times_at(times, 1), 1234567891);
    assert_int_equal(times->count, 3);
    free(times);
}

static void
nothing_takes_no_time_and_the_longest_is_kept(void **state)
{
    struct cli_times *times = times_new();

    (void)state;
    assert_int_equal(cli_times_at(times, 0.5), 0);
    cli_times_add(times, UINT64_MAX);
    assert_int_equal(cli_times_at(times, 1), UINT64_MAX);
    free(times);
}

static void
a_line_has_its_slope(void **state)
{
    struct cli_trend line = {0};
    double slope = 0;

    (void)state;
    for (int i = 0; i < 10; i++)
        cli_trend_add(&line, i, 100 + 3 * i);
    assert_true(cli_trend_slope(&line, &slope));
    assert_true(slope > 2.999 && slope < 3.001);
}

static void
points_above_each_other_have_none(void **state)
{
    struct cli_trend line = {0};
    double slope;

    (void)state;
    assert_false(cli_trend_slope(&line, &slope));
    for (int i = 0; i < 10; i++)
        cli_trend_add(&line, 5, i);
    assert_false(cli_trend_slope(&line, &slope));
}

static uint64_t
taken(double share)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < 1000; i++)
        count += cli_share_has(share, i);
    return count;
}

static void
a_share_is_as_large_as_it_says(void **state)
{
    (void)state;
    assert_int_equal(taken(0), 0);
    assert_int_equal(taken(0.5), 500);
    assert_in_range(taken(0.3), 299, 300);
    assert_int_equal(taken(1), 1000);
}

static void
a_share_is_spread_evenly(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i += 2)
        assert_true(cli_share_has(0.5, i) != cli_share_has(0.5, i + 1));
}

TEST_MAIN(TEST(percentiles_are_at_most_one_percent_too_long),
          TEST(least_and_most_are_exact),
          TEST(nothing_takes_no_time_and_the_longest_is_kept),
          TEST(a_line_has_its_slope), TEST(points_above_each_other_have_none),
          TEST(a_share_is_as_large_as_it_says), TEST(a_share_is_spread_evenly))
