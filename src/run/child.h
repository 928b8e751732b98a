/*
 * child.h - a child process on a loop, and the way it is brought to its end
 *
 * The ladder (M1): its stdin is closed by whoever wrote to it; it has `exit` to go by
 * itself; then SIGTERM to the group and `term`; then SIGKILL and `reap`; then it is
 * given up with a warning. Each step ends early when the leader has exited and nobody
 * of its group is left. Meanwhile its output is read and thrown away, so that it does
 * not stick in a write (M8). A child that exits by itself in time is never signaled
 * (M6, M7).
 */
#ifndef MCPI_RUN_CHILD_H
#define MCPI_RUN_CHILD_H

#include "run/loop.h"
#include "run/process.h"

struct mcpi_child;

/* Microseconds; 0: the default, 2 s each. */
struct mcpi_child_times {
    int64_t exit, term, reap;
};

struct mcpi_child_options {
    struct mcpi_loop *loop;
    struct mcpi_process_options
        process; /* in and out are set here; mem is the loop's */
    struct mcpi_child_times times;
    /* The leader has exited, whoever holds its pipes (M5); wait_status as in struct
     * mcpi_process. Once, on the loop, not from inside mcpi_child_new; may close or
     * kill the child. May be NULL. */
    void (*exited)(void *user, int wait_status);
    void *user;
};

/* Start it, with pipes of ours on its stdin and stdout: *ret_in is written to, *ret_out
 * read from; both are the caller's, close-on-exec, not blocking. Statuses of
 * mcpi_process_spawn. With a death signal this thread must live as long as the child.
 * The strings are not kept. [loop] */
int mcpi_child_new(const struct mcpi_child_options *opt, struct mcpi_child **ret_child,
                   int *ret_in, int *ret_out, mcp_error *err);

pid_t mcpi_child_pid(const struct mcpi_child *child);

/* Begin the ladder; *ret_in is closed already. take_out: what is left to read from, or
 * -1; nothing on the loop watches it any more. done runs once, on the loop, not from
 * inside; the child is freed before it, so the caller forgets it now. wait_status is as
 * in struct mcpi_process, also if it was told before, and MCPI_WAIT_UNKNOWN if it was
 * given up. `exited` is not called any more. [loop] */
void mcpi_child_close(struct mcpi_child *child, int take_out,
                      void (*done)(void *user, int wait_status), void *user);

/* No ladder: kill the group, reap, free. May wait for the kernel, up to times.reap. Its
 * memory goes with the next turn of the loop. [loop] NULL ok */
void mcpi_child_kill(struct mcpi_child *child);

#endif
