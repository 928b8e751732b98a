/*
 * shell.h - the shell: lines in, commands on one open session
 *
 * Knows no terminal: lines come from the editor (command_sh.c) or from a script.
 */
#ifndef CLI_SHELL_H
#define CLI_SHELL_H

#include "cli/shell_complete.h"
#include "cli/shell_jobs.h"

struct cli_shell {
    struct cli_session *session;
    struct cli_jobs jobs;
    bool is_over;    /* no more lines */
    bool was_warned; /* that jobs run: the next quit ends them */
    int code;        /* how the last command ended */
};

/* MCP_E_LIMIT: no descriptors. */
int cli_shell_init(struct cli_shell *shell, struct cli_session *session);
void cli_shell_done(struct cli_shell *shell);

/* Runs one line, and notes its code. Ctrl-C cancels what it does, also if it was
 * pressed just before; the caller forgets it then. A signal to end ends the shell. */
void cli_shell_do(struct cli_shell *shell, const char *text);

/* Between these Ctrl-C cancels what is done under the scope of cli; outside it only
 * counts. False: nothing can be done any more. */
bool cli_shell_begin(struct cli_shell *shell);
void cli_shell_pause(struct cli_shell *shell);

/* As the line "quit" does: with jobs that run it warns first. */
void cli_shell_quit(struct cli_shell *shell);

/* The end: jobs are waited for if they may be, and those that still run are canceled.
 * Returns how to exit. */
int cli_shell_end(struct cli_shell *shell, bool may_wait);

/* What the word that is typed could be; asks the server where that is needed. */
void cli_shell_complete(struct cli_shell *shell, const struct cli_want *want,
                        struct cli_candidates *list);

/* "probe-server> ": the server's name, short and harmless. Appended. */
void cli_shell_prompt(struct cli_shell *shell, struct cli_text *into);

#endif
