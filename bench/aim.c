/* aim.c - what we want to reach, in a line under a table */
#include "aim.h"

#include <stdbool.h>
#include <stdio.h>

static void
aim_print(const char *what, const char *value, const char *aim, bool is_met)
{
    printf("    %-44s %12s %22s  %s\n", what, value, aim, is_met ? "met" : "not met");
}

static void
aim(const char *what, double value, const char *word, double bound, const char *unit,
    bool is_met)
{
    char left[64], right[64];

    (void)snprintf(left, sizeof(left), "%.2f%s", value, unit);
    (void)snprintf(right, sizeof(right), "%s %g%s", word, bound, unit);
    aim_print(what, left, right, is_met);
}

void
aim_at_least(const char *what, double value, double bound, const char *unit)
{
    aim(what, value, "at least", bound, unit, value >= bound);
}

void
aim_at_most(const char *what, double value, double bound, const char *unit)
{
    aim(what, value, "at most", bound, unit, value <= bound);
}
