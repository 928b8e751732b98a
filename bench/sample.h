/* sample.h - the middle of what was measured, on a machine that is never quiet */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include <stddef.h>

/* Sorts them. */
double sample_median(double *values, size_t count);

#endif
