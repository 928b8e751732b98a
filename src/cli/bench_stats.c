/* bench_stats.c - many times in a small room, and what they say */
#include "cli/bench_stats.h"

/* Below CLI_TIMES_FINE each time has a step of its own; above, each power of two has
 * CLI_TIMES_FINE steps. */
static size_t
step_of(uint64_t ns)
{
    unsigned shift = 0;
    size_t step;

    while (ns >> shift >= (uint64_t)2 * CLI_TIMES_FINE)
        shift++;
    step = (size_t)shift * CLI_TIMES_FINE + (size_t)(ns >> shift);
    return step < CLI_TIMES_STEPS ? step : CLI_TIMES_STEPS - 1;
}

/* The longest time of a step. */
static uint64_t
step_end(size_t step)
{
    size_t shift;

    if (step < (size_t)2 * CLI_TIMES_FINE)
        return step;
    shift = step / CLI_TIMES_FINE - 1;
    return (((uint64_t)(step - shift * CLI_TIMES_FINE) + 1) << shift) - 1;
}

void
cli_times_add(struct cli_times *times, uint64_t ns)
{
    if (times->count == 0 || ns < times->least)
        times->least = ns;
    if (ns > times->most)
        times->most = ns;
    times->count++;
    times->steps[step_of(ns)]++;
}

uint64_t
cli_times_at(const struct cli_times *times, double share)
{
    double wanted = share * (double)times->count;
    uint64_t seen = 0, ns;

    if (times->count == 0 || share <= 0)
        return times->least;
    if (share >= 1)
        return times->most;
    for (size_t i = 0; i < CLI_TIMES_STEPS; i++) {
        seen += times->steps[i];
        if (times->steps[i] == 0 || (double)seen < wanted)
            continue;
        ns = step_end(i);
        return ns < times->most ? ns : times->most;
    }
    return times->most;
}

void
cli_trend_add(struct cli_trend *line, double x, double y)
{
    line->count += 1;
    line->x += x;
    line->y += y;
    line->xx += x * x;
    line->xy += x * y;
}

bool
cli_trend_slope(const struct cli_trend *line, double *ret_slope)
{
    double spread = line->count * line->xx - line->x * line->x;

    if (line->count < 3 || spread <= 0)
        return false;
    *ret_slope = (line->count * line->xy - line->x * line->y) / spread;
    return true;
}

bool
cli_share_has(double share, uint64_t number)
{
    if (share >= 1)
        return true;
    if (!(share > 0))
        return false;
    return (uint64_t)(share * (double)(number + 1)) >
           (uint64_t)(share * (double)number);
}
