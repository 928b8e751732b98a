/*
 * tree.h - all that this process has started, and all that those have started
 *
 * This process is the subreaper of what is below it: whoever loses its parent becomes its
 * child. So nobody below gets away, and when waiting finds no child, nobody is left.
 * What belongs to another user cannot be signaled, and is waited for.
 *
 * For a process with one thread and nothing but this to do: it waits for every child.
 */
#ifndef MCPI_RUN_TREE_H
#define MCPI_RUN_TREE_H

#include <mcp/base.h>
#include <sys/types.h>

/* Become the subreaper. MCP_E_STATE: this system has none, or no /proc of ours to find
 * everybody in. */
int mcpi_tree_root(void);

/* Signal everybody below. Who is forked off meanwhile is missed: for SIGKILL, reap and
 * signal again until nobody is left. */
void mcpi_tree_signal(int signal);

/* Wait for all that are dead now, without blocking. True: somebody is left. If `of` was
 * among the dead, *ret_status is how it ended, as waitpid has it; else it is left as it
 * was. */
bool mcpi_tree_reap(pid_t of, int *ret_status);

#endif
