/* times_test.c - proves cli/times.c: a time is its default, or what a test says */
#include "cli/times.h"

#include <stdlib.h>

#include "support/test.h"

static int64_t
get(const char *times, const char *name)
{
    assert_int_equal(
        times ? setenv("MCPCTL_TIMES", times, 1) : unsetenv("MCPCTL_TIMES"), 0);
    return cli_times_get(name, 7);
}

static void
without_a_word_it_is_the_default(void **state)
{
    (void)state;
    assert_int_equal(get(NULL, "exit"), 7);
    assert_int_equal(get("", "exit"), 7);
    assert_int_equal(get("orphan=3 watch=4", "exit"), 7);
    assert_int_equal(get("exits=3 xexit=4", "exit"), 7);
    assert_int_equal(get("exit exit= exit=x exit=-1", "exit"), 7);
}

static void
the_last_one_of_a_name_counts(void **state)
{
    (void)state;
    assert_int_equal(get("exit=0", "exit"), 0);
    assert_int_equal(get("  orphan=3  exit=60000 watch=4", "exit"), 60000);
    assert_int_equal(get("exit=1 orphan=3 exit=2", "exit"), 2);
}

TEST_MAIN(TEST(without_a_word_it_is_the_default), TEST(the_last_one_of_a_name_counts))
