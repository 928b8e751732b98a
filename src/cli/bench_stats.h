/*
 * bench_stats.h - many times in a small room, and what they say
 */
#ifndef CLI_BENCH_STATS_H
#define CLI_BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_TIMES_FINE \
    128 /* steps between a power of two and the next: below 1 % off */
#define CLI_TIMES_STEPS \
    ((size_t)CLI_TIMES_FINE * 41) /* enough for a day in nanoseconds */

/* Times in nanoseconds. The room does not grow with their number. Zero is empty. */
struct cli_times {
    uint64_t count, least, most;
    uint64_t steps[CLI_TIMES_STEPS];
};

void cli_times_add(struct cli_times *times, uint64_t ns);

/* The time that this share of them (0 to 1) does not exceed; the least and the most are
 * exact, those between at most 1 % too long. 0: there are none. */
uint64_t cli_times_at(const struct cli_times *times, double share);

/* A line through points, for what grows with what. Zero is empty. */
struct cli_trend {
    double count, x, y, xx, xy;
};

void cli_trend_add(struct cli_trend *line, double x, double y);

/* How much y grows with one x; false: the points do not say. */
bool cli_trend_slope(const struct cli_trend *line, double *ret_slope);

/* Is the call of that number (from 0) one of the share? Spread evenly, and the same in
 * each run. */
bool cli_share_has(double share, uint64_t number);

#endif
