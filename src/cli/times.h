/*
 * times.h - how long mcpctl waits for things
 *
 * Each time has a name and a default. Tests replace them through the environment, so that
 * no verdict of theirs depends on how fast the machine is: MCPCTL_TIMES is a list such as
 * "exit=60000 run=50", in milliseconds. It is not for users: they have options.
 */
#ifndef CLI_TIMES_H
#define CLI_TIMES_H

#include <stdint.h>

/* The time of that name, in milliseconds; `ms` unless MCPCTL_TIMES has another one. If it
 * stands there more than once, the last one counts. */
int64_t cli_times_get(const char *name, int64_t ms);

#endif
