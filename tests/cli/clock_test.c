/* clock_test.c - time that only goes forward */
#include "cli/clock.h"

#include "support/test.h"

static void
it_never_goes_back(void **state)
{
    int64_t before = cli_now_ns();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        int64_t now = cli_now_ns();

        assert_true(now >= before);
        before = now;
    }
}

static void
both_units_are_of_one_clock(void **state)
{
    int64_t ms = cli_now_ms(), ns = cli_now_ns();

    (void)state;
    assert_true(ns / 1000000 >= ms);
    assert_true(ns / 1000000 <= cli_now_ms());
}

TEST_MAIN(TEST(it_never_goes_back), TEST(both_units_are_of_one_clock))
