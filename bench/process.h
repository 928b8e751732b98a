/*
 * process.h - server processes that are measured, and the core each runs on
 *
 * All functions end the program if something goes wrong that should not.
 */
#ifndef BENCH_PROCESS_H
#define BENCH_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* Where it runs, beside the driver. */
enum spot { SAME_CORE, OTHER_CORE, ANY_CORE };

struct process {
    pid_t pid;
    int to, from;    /* its stdin and stdout */
    clockid_t clock; /* its processor time, of all its threads */
    int its[2];      /* the other ends, before it runs */
};

void must(bool ok, const char *what);

/* Microseconds: of this process's processor time, and of the clock on the wall. */
double driver_cpu(void);
double clock_now(void);

/* The driver's core; to be called once, before anything is started. False: there is no
 * second one, and OTHER_CORE is the same. */
bool driver_settle(void);

/* As many descriptors as may be, for this process and those it starts. */
void descriptors_raise(void);

/* The pipes, which can be written to before it runs; then the process: a program beside
 * this one, or a peer from PATH whose complaints are dropped. */
void process_open(struct process *process);
void process_run(struct process *process, const char *const *argv, bool is_peer,
                 enum spot spot);

double process_cpu(const struct process *process); /* microseconds, since its start */

/* A line of /proc/PID/status, such as "VmRSS:", in KB. */
long process_memory(const struct process *process, const char *key);

/* Waits until it has ended by itself, well. Its pipes are closed before. */
void process_wait(struct process *process);

/* Ends it, and closes its pipes. */
void process_kill(struct process *process);

#endif
