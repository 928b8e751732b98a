/* aim.h - what we want to reach, in a line under a table */
#ifndef BENCH_AIM_H
#define BENCH_AIM_H

void aim_at_least(const char *what, double value, double bound, const char *unit);
void aim_at_most(const char *what, double value, double bound, const char *unit);

#endif
