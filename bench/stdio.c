/*
 * stdio.c - servers over stdin and stdout, as a host starts them: how fast, how big
 *
 * All servers of a table run at once and wait; they are driven in turns, in short
 * slices, and a number is the median of its slices.
 *
 * Driver and server share one core if a table does not say otherwise: across cores a
 * wake-up costs more than all the rest. On one core the two take turns, so that their
 * processor time is the time of a call, and that is what is counted: other programs do
 * not disturb it.
 */
#include "tables.h"

#include <unistd.h>

enum { LONGEST_S = 600, BURST = 256, BURST_IN_FLIGHT = 1024 };

/* A slice ends at the latest after so many times its length, on a busy machine. */
enum { PATIENCE = 3 };

const struct recipe raw_pipe = {.argv = {"bench-echo"},
                                .tool = "echo",
                                .arguments = ECHO_ARGUMENTS,
                                .expected = ECHO_TEXT,
                                .greeting = ONE_LINE};

struct cost
cost_measure(struct target *target, int depth, double slice_us)
{
    double server = target_cpu(target), driver = driver_cpu(), wall = clock_now();
    long burst = depth == 1 ? BURST : BURST_IN_FLIGHT;
    double used = 0;
    double calls = 0;

    while (used < slice_us && clock_now() - wall < slice_us * PATIENCE) {
        if (depth == 1)
            target_call(target, burst);
        else
            target_flood(target, burst);
        calls += (double)burst;
        used = target_cpu(target) - server + driver_cpu() - driver;
    }
    return (struct cost){.server = (target_cpu(target) - server) / calls,
                         .driver = (driver_cpu() - driver) / calls,
                         .wall = (clock_now() - wall) / calls};
}

int
main(void)
{
    alarm(LONGEST_S); /* whoever does not answer is not waited for without end */
    bench_speed(driver_settle());
    bench_handlers();
    bench_isolated();
    bench_footprint();
    return 0;
}
