/*
 * interrupt.h - Ctrl-C, and a reader that goes away
 *
 * The first SIGINT, SIGTERM or SIGHUP cancels the scope of the run; the second kills: the
 * spawned server's group, then us, 130. The same one again within a moment is no second:
 * who passes signals on, such as timeout(1), gives us the terminal's and its own. When the
 * reader of stdout is gone the scope is canceled as well, and we end quietly, by SIGPIPE,
 * as any program in a pipe does.
 *
 * One per process: signal handlers have no other place to look.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include "cli/cli.h"

/* From now on. watch_output: look at stdout too, by a thread of its own. */
void cli_interrupt_begin(struct cli *cli, bool watch_output);
void cli_interrupt_end(struct cli *cli);

/* The scope that a signal cancels, from now on; NULL: none, and then a signal only counts. */
void cli_interrupt_scope(mcp_scope *scope);
/* The process group to kill with the second signal; 0: none. */
void cli_interrupt_group(int64_t pid);

#define CLI_SAME_PRESS_MS 200
/* Is this signal only the first one once more? [any] */
bool cli_interrupt_is_same(int first, int64_t first_ms, int number, int64_t now_ms);

/* The signal that came first, or 0; forget it (sh goes on). */
int cli_interrupt_signal(void);
void cli_interrupt_forget(void);
/* A descriptor that is readable once a signal came. */
int cli_interrupt_fd(void);
/* Is the reader of stdout gone? */
bool cli_interrupt_output_gone(void);
/* It was noticed while writing. */
void cli_interrupt_set_output_gone(void);

/* At the end of main: if stdout's reader is gone, die by SIGPIPE; if a signal other than
 * SIGINT ended us, by that; else return code. */
int cli_interrupt_exit(int code);

#endif
