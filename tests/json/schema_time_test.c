/* json/schema_time_test.c - proves json/schema_time.c: RFC 3339 */
#include <string.h>

#include "support/test.h"
#include "json/schema_format.h"

static void
all(mcpi_schema_format_fn *fn, bool expected, const char *const *texts)
{
    for (; *texts; texts++) {
        if (fn(*texts, strlen(*texts)) != expected)
            fail_msg("%s", *texts);
    }
}

#define IS(fn, ...) all(fn, true, (const char *const[]){__VA_ARGS__, NULL})
#define NOT(fn, ...) all(fn, false, (const char *const[]){__VA_ARGS__, NULL})

static void
dates(void **state)
{
    (void)state;
    IS(mcpi_time_is_date, "2026-07-28", "2000-02-29", "2024-02-29", "0000-01-01");
    NOT(mcpi_time_is_date, "", "2026-7-28", "2026-02-29", "1900-02-29", "2026-13-01",
        "2026-00-01", "2026-01-00", "2026-04-31", "20260728", "2026-07-28Z",
        "2026-07-2", "2026/07/28", "-026-07-28");
}

static void
times(void **state)
{
    (void)state;
    IS(mcpi_time_is_time, "00:00:00Z", "23:59:59.123456789+23:59", "08:30:06z",
       "23:59:60Z", "15:59:60-08:00", "01:29:60+01:30");
    NOT(mcpi_time_is_time, "", "24:00:00Z", "00:60:00Z", "00:00:61Z", "00:00:00",
        "00:00:00.Z", "00:00:00+24:00", "00:00:00+00:60", "12:00:00 Z", "8:30:06Z",
        "22:59:60Z", "00:00:00+0100", "00:00:00Zx", "23:59:60+01:00");
}

static void
dates_with_times(void **state)
{
    (void)state;
    IS(mcpi_time_is_date_time, "2026-07-28T12:00:00Z", "2026-07-28t12:00:00.5+02:00",
       "1998-12-31T23:59:60Z");
    NOT(mcpi_time_is_date_time, "2026-07-28 12:00:00Z", "2026-07-28T12:00:00",
        "2026-02-30T12:00:00Z", "2026-07-28", "2026-07-28T", "2026-07-28T12:00:00Z ");
}

static void
durations(void **state)
{
    (void)state;
    IS(mcpi_time_is_duration, "P4DT12H30M5S", "P1Y2M3D", "PT1H", "P1W", "P1D",
       "PT1M30S", "P1M", "PT36H", "P1Y");
    NOT(mcpi_time_is_duration, "", "P", "PT", "P1", "1D", "P1DT", "PT1D", "P1H",
        "P1Y1D", "P1D2M", "P1W1D", "PT1H1S", "P1.5D", "P-1D", "P1S", "P1YT", "P1Y1W",
        "p1d");
}

TEST_MAIN(TEST(dates), TEST(times), TEST(dates_with_times), TEST(durations))
