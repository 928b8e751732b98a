/*
 * process.h - a process of ours: started, watched, signaled with its group, reaped once
 *
 * It leads its own session and group, whose number is its pid (M3), and has its own
 * three descriptors and no others (M13). Its end is seen through a pidfd, so that the
 * program's SIGCHLD is left alone, and nobody else's child is waited for (M11). Signal
 * dispositions and mask are the defaults in the child and untouched in the parent.
 *
 * The dead leader is not waited for until nobody of its group is left: a zombie keeps
 * its number from being given to somebody else, so that the group can be signaled
 * (M10). If the program around us waits for every child, or ignores SIGCHLD, its exit
 * status is not known, and its number is only ours as long as somebody of the group
 * holds it. [any], one thread at a time for each process.
 */
#ifndef MCPI_RUN_PROCESS_H
#define MCPI_RUN_PROCESS_H

#include <mcp/base.h>
#include <sys/types.h>

/* A wait_status of which nothing is known; no macro of <sys/wait.h> is true for it. */
#define MCPI_WAIT_UNKNOWN (-1)

struct mcpi_process_options {
    const mcp_allocator *mem; /* for the time of the call; NULL: malloc */
    const char *const
        *argv;              /* argv[0] is looked up in its PATH unless it has a slash */
    const char *const *env; /* "NAME=value", added to ours or replacing; NULL: none */
    /* Of ours only HOME, LOGNAME, PATH, SHELL, TERM and USER. */
    bool clear_env;
    const char *cwd;  /* NULL: ours */
    int in, out, err; /* become 0, 1, 2; -1: /dev/null; the caller keeps its own */
    bool own_err;     /* err is used; false: the child shares our stderr */
    /* Sent to it when our process dies (M22); 0: none. The kernel means the thread that
     * called spawn: the signal comes also when only that one ends, so it must live as
     * long as the child. A program that changes its user when executed does not get
     * it. */
    int death_signal;
    int extra; /* becomes 3, if has_extra; the caller keeps its own */
    bool has_extra;
    /* A keeper stands above it (keeper.h): see there. MCPI_KEPT_SELF: argv are words for
     * this program, executed anew; they may be none (argv[0] NULL, or argv NULL). */
    enum mcpi_keeping { MCPI_NOT_KEPT = 0, MCPI_KEPT_COMMAND, MCPI_KEPT_SELF } kept;
    /* Kept: how long it may take to begin, at most 30 s; 0: that long; -1: that is not
     * waited for, and if it cannot begin that is how it ends. */
    int64_t start_us;
    int cancel; /* kept, if has_cancel: once it is readable it is not waited for */
    bool has_cancel;
};

struct mcpi_process {
    pid_t pid;       /* and its group; 0: none */
    int pidfd;       /* polls readable when it has exited; -1: none */
    bool exited;     /* seen; the number is still ours until reaped */
    bool reaped;     /* by us, or by the program around us */
    bool group_gone; /* confirmed: its number is never signaled again (M10) */
    int wait_status; /* as waitpid gives it, once exited; or MCPI_WAIT_UNKNOWN */
    pid_t witness;   /* of the group, seen alive last; 0: none */
    /* Kept: to its keeper, whose pid and pidfd those above are; -1: not kept. All that
     * stands here of a group means all that it started, and it has exited when nothing
     * of that is left. Readable when mcpi_process_poll has something to find out. */
    int control;
    bool there; /* kept: seen that the keeper hears us */
    bool
        begun; /* kept: seen that it has; if it ends before, wait_status is the keeper's */
    bool ended;  /* kept: seen that the first one has, and wait_status is known */
    int failure; /* kept: why there is no first one, a status; 0: there is */
};

/* Start it. Returns when the program runs: MCP_E_INVAL with the reason in err if it
 * cannot be executed (not found, not executable, no such folder), MCP_E_LIMIT for want
 * of processes or descriptors, MCP_E_NOMEM, MCP_E_STATE if the system has no pidfd
 * (Linux before 5.4). Kept: MCP_E_TIMEOUT and MCP_E_CANCELED too. Nothing is left behind
 * then. */
int mcpi_process_spawn(struct mcpi_process *process,
                       const struct mcpi_process_options *opt, mcp_error *err);

/* Look whether it has exited, without waiting. */
bool mcpi_process_poll(struct mcpi_process *process);

/* Signal the whole group, also when the leader is dead. 0: sent; MCP_E_CLOSED: nobody
 * is left; MCP_E_STATE: not allowed, so somebody is (M9). */
int mcpi_process_signal(struct mcpi_process *process, int signal);

/* Is anybody of the group alive, the leader aside once it has exited? Then reads /proc,
 * all of it only if the one seen last is gone. */
bool mcpi_process_group_lives(struct mcpi_process *process);

/* Kill what is left of the group, wait for the leader at most within_us, free the
 * descriptor. MCP_E_TIMEOUT: it could not be reaped in time (M1: given up). There is no
 * process afterwards, only its exited, reaped and wait_status. */
int mcpi_process_done(struct mcpi_process *process, int64_t within_us);

#endif
