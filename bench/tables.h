/* tables.h - the tables of bench-stdio, each in a file of its own */
#ifndef BENCH_TABLES_H
#define BENCH_TABLES_H

#include "aim.h"
#include "target.h"

/* The call of echo that all of them make. */
#define ECHO_TEXT "the quick brown fox jumps over the lazy dog"
#define ECHO_ARGUMENTS "{\"text\":\"" ECHO_TEXT "\"}"

extern const struct recipe raw_pipe; /* one read, one write */

/* echo beside the raw pipe and the TypeScript SDK */
void bench_speed(bool has_two_cores);
void bench_handlers(void);  /* what a blocking handler costs more than an inline one */
void bench_isolated(void);  /* what a process of its own costs, and its end */
void bench_footprint(void); /* start, memory, and memory after many calls */

/* What one call costs, in microseconds. */
struct cost {
    double server, driver; /* processor time */
    double wall;
};

/* Calls for that long in processor time, with 1 or IN_FLIGHT in flight. */
struct cost cost_measure(struct target *target, int depth, double slice_us);

#endif
