/* spawn.h - starting a program: it runs with what it was given, or nothing is left */
#ifndef MCPI_RUN_SPAWN_H
#define MCPI_RUN_SPAWN_H

#include "run/process.h"

/* Start it, and wait until the program runs. *ret_pidfd is close-on-exec; -1: it has
 * ended already, and the program around us has waited for it. Statuses and options as
 * mcpi_process_spawn has them. [any] */
int mcpi_spawn(const struct mcpi_process_options *opt, pid_t *ret_pid, int *ret_pidfd,
               mcp_error *err);

/* The same for a keeper: `file` is executed, whatever argv[0] says (NULL: as ever), and
 * `control` becomes its descriptor 4 (-1: none); the caller keeps its own. */
int mcpi_spawn_keeper(const struct mcpi_process_options *opt, const char *file,
                      int control, pid_t *ret_pid, int *ret_pidfd, mcp_error *err);

#endif
