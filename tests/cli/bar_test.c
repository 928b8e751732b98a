/* cli/bar_test.c - proves cli/bar.c: what the bar looks like, and when it is due */
#include "cli/bar.h"

#include <math.h>
#include <string.h>

#include "support/test.h"

static void
check(const struct cli_bar *bar, size_t columns, const char *expected)
{
    struct cli_text shown = {0};

    cli_bar_add(&shown, bar, columns);
    assert_string_equal(cli_text_string(&shown), expected);
    assert_true(cli_text_width(cli_text_string(&shown), shown.length) <= columns);
    cli_text_done(&shown);
}

#define BAR(...) (&(struct cli_bar){__VA_ARGS__})

static void
a_bar_shows_share_count_and_text(void **state)
{
    (void)state;
    check(BAR(.progress = 13, .total = 25, .text = "files"), 79,
          "[=========>          ]  52% 13/25  files");
    check(BAR(.progress = 0, .total = 4), 79, "[                    ]   0% 0/4");
    check(BAR(.progress = 4, .total = 4, .text = ""), 79,
          "[====================] 100% 4/4");
    check(BAR(.progress = 0.25, .total = 1), 40, "[=>        ]  25% 0.25/1");
}

static void
a_server_that_counts_beyond_its_total_breaks_nothing(void **state)
{
    (void)state;
    check(BAR(.progress = 9, .total = 3), 40, "[==========] 100% 9/3");
    check(BAR(.progress = -2, .total = 3), 40, "[          ]   0% -2/3");
    check(BAR(.progress = NAN, .total = 3), 40, "[          ]   0% 0/3");
}

static void
a_wheel_turns_where_the_total_is_unknown(void **state)
{
    (void)state;
    check(BAR(.progress = 7, .text = "x"), 40, "| 7  x");
    check(BAR(.progress = 7, .turn = 1), 40, "/ 7");
    check(BAR(.progress = 7, .turn = 4), 40, "| 7");
    check(BAR(.progress = 7, .total = INFINITY), 40, "| 7");
}

static void
a_bar_is_never_wider_than_asked(void **state)
{
    (void)state;
    check(BAR(.progress = 1, .total = 2, .text = "a long text about it"), 30,
          "[====>     ]  50% 1/2  a long\xE2\x80\xA6");
    check(BAR(.progress = 1, .total = 2), 5, "[===\xE2\x80\xA6");
    check(BAR(.progress = 1, .total = 2), 0, "");
}

static void
it_is_due_when_its_time_is_over(void **state)
{
    (void)state;
    assert_false(cli_bar_is_due(1000, 1000, CLI_BAR_EVERY_MS));
    assert_false(cli_bar_is_due(1000, 1099, CLI_BAR_EVERY_MS));
    assert_true(cli_bar_is_due(1000, 1100, CLI_BAR_EVERY_MS));
}

TEST_MAIN(TEST(a_bar_shows_share_count_and_text),
          TEST(a_server_that_counts_beyond_its_total_breaks_nothing),
          TEST(a_wheel_turns_where_the_total_is_unknown),
          TEST(a_bar_is_never_wider_than_asked), TEST(it_is_due_when_its_time_is_over))
