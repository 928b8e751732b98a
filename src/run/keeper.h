/*
 * keeper.h - a process of ours between us and what must not get away
 *
 *     we -- keeper -- command, or this program again
 *                       \-- whatever those start
 *
 * The keeper is this program, executed anew (/proc/self/exe), so that nothing is forked
 * from a process with threads. It has one thread, starts what it keeps, and is its
 * subreaper (tree.h). When what it keeps has ended, or we say so, or we are gone, it ends
 * all that is left below it, tells us how the first one ended, and exits. Nothing is left
 * behind then. Only what was signaled has its time: it is ended when we say so.
 * What is below it cannot trace it (PR_SET_DUMPABLE): whoever could, could stop it for good
 * or take it over.
 *
 * We speak to it over `control` (process.h), a SOCK_SEQPACKET pair that is its descriptor
 * 4 and close-on-exec; a signal number is sent to everybody below; what it says is in
 * keeper.c. Closing our end means SIGKILL for all; our death closes it. The death signal
 * comes besides: somebody forked off from us may hold it open, or the keeper be stopped.
 * It is SIGCONT, and means our death only if we are dead: who else sends it does no harm,
 * and the thread that started the keeper may end before it. A program that has not come to
 * be a keeper yet has nobody below it, and is killed.
 *
 * Process options with `kept` go through this file; mcpi_process_* then mean the whole
 * tree. [any] unless it says otherwise
 */
#ifndef MCPI_RUN_KEEPER_H
#define MCPI_RUN_KEEPER_H

#include "run/process.h"

/* First in main. In a program that was started as one: 0, and from then on it can be
 * started as a keeper. In a keeper: does not return. In this program under a keeper
 * (MCPI_KEPT_SELF): 1, *ret_words are its words, terminated, inside argv; the descriptor
 * `extra` is 3 there, close-on-exec; it dies with its keeper. */
int mcpi_keeper_enter(int argc, char **argv, char ***ret_words);

/* Was it called in this process? */
bool mcpi_keeper_is_ready(void);

/* Start a keeper and what it keeps; what mcpi_process_spawn does for `kept`, and its
 * statuses. Returns when the command runs, or cannot, unless that is not to be waited
 * for; MCP_E_STATE: not ready. */
int mcpi_keeper_spawn(struct mcpi_process *process,
                      const struct mcpi_process_options *opt, mcp_error *err);

/* For process.c: signal everybody. 0: passed on; MCP_E_CLOSED: nobody is left. */
int mcpi_keeper_signal(struct mcpi_process *process, int signal);

/* For process.c: it is not needed any more, and ends all. */
void mcpi_keeper_end(struct mcpi_process *process);

/* For process.c, after that: somebody below it may have stopped it since then. */
void mcpi_keeper_wake(struct mcpi_process *process);

/* For process.c: has the first one ended? Then wait_status is how. */
bool mcpi_keeper_poll(struct mcpi_process *process);

#endif
