/* sample.c - the middle of what was measured, on a machine that is never quiet */
#include "sample.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double
sample_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}
