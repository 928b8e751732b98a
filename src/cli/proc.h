/*
 * proc.h - what the system says of a process, and of those below it
 */
#ifndef CLI_PROC_H
#define CLI_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_PROC_NAME 16 /* bytes of a name, its end included */

/* One line of /proc/PID/stat, as far as we care. */
struct cli_proc {
    int64_t pid, parent, group, session;
    char state; /* 'Z': it has ended, and nobody has asked how */
    char name[CLI_PROC_NAME];
    int64_t cpu_ticks; /* used by it, in ticks of the system's clock */
    int64_t pages;     /* of memory that are resident */
};

/* Read such a line, terminated. The name in it may hold anything, blanks and
 * parentheses too. False: it is none. */
bool cli_proc_parse(const char *line, struct cli_proc *ret_proc);

/* The process itself; false: there is none. */
bool cli_proc_look(int64_t pid, struct cli_proc *ret_proc);

/* What a process has now. Members are -1 where the system does not tell. */
struct cli_usage {
    int64_t memory_bytes;
    int64_t descriptors;
    int64_t processes; /* it, and all below it */
    int64_t cpu_ms;
};
void cli_proc_usage(int64_t pid, struct cli_usage *ret_usage);

#define CLI_PROC_MAX 8192 /* that we look through; a usual machine has some hundreds */

/* All processes there are, at most `room` into list; returns how many were written. */
size_t cli_proc_all(struct cli_proc *list, size_t room);

/* How many of that list are below pid; those come first in the list afterwards. */
size_t cli_proc_below(int64_t pid, struct cli_proc *list, size_t count);

#endif
