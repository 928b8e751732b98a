/* peak_test.c - when freed memory should go back to the system */
#include "base/peak.h"

#include "support/test.h"

#define LEAST MCPI_PEAK_LEAST

static void
calm_comes_once_after_much_was_held(void **state)
{
    struct mcpi_peak peak;

    (void)state;
    mcpi_peak_init(&peak);
    mcpi_peak_note(&peak, LEAST - 1);
    assert_false(mcpi_peak_settle(&peak, 0)); /* that is not much */
    mcpi_peak_note(&peak, 4 * LEAST);
    mcpi_peak_note(&peak, 2 * LEAST);
    assert_false(mcpi_peak_is_calm(&peak, LEAST + 1));
    assert_false(mcpi_peak_settle(&peak, LEAST + 1));
    assert_true(mcpi_peak_is_calm(&peak, LEAST));
    assert_true(mcpi_peak_settle(&peak, LEAST));
    assert_false(mcpi_peak_settle(&peak, LEAST));
    assert_true(mcpi_peak_settle(&peak, LEAST / 4));
    assert_false(mcpi_peak_settle(&peak, 0));
}

TEST_MAIN(TEST(calm_comes_once_after_much_was_held))
