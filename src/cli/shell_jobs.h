/*
 * shell_jobs.h - calls that run in the background of the shell
 *
 * One thread, the shell's, has the list and says everything; callbacks of the calls
 * only note progress and end, and wake it. Each call has a scope of its own, so that
 * Ctrl-C while one of them is in the foreground ends that one and no other.
 */
#ifndef CLI_SHELL_JOBS_H
#define CLI_SHELL_JOBS_H

#include <pthread.h>

#include "cli/session.h"

struct cli_job;

struct cli_jobs {
    struct cli_session *session;
    struct cli_job *first; /* by number */
    pthread_mutex_t lock;  /* for what callbacks note of a job */
    int wake[2];           /* a pipe: readable when one has ended */
};

/* MCP_E_LIMIT: no descriptors. */
int cli_jobs_init(struct cli_jobs *jobs, struct cli_session *session);
/* Those that run are abandoned, which tells the server. */
void cli_jobs_done(struct cli_jobs *jobs);

/* Starts a call of a tool; arguments: a JSON object. title: how it is shown, "call
 * add". Says "[1] call add". Returns how to exit, as all below that return int do. */
int cli_jobs_start(struct cli_jobs *jobs, const char *tool, const char *arguments,
                   const char *title);

/* Those that run now; and all that are listed. */
size_t cli_jobs_running(struct cli_jobs *jobs);
size_t cli_jobs_count(const struct cli_jobs *jobs);

/* The number of the index-th, or 0: for completion. */
int cli_jobs_number(const struct cli_jobs *jobs, size_t index);

/* Readable when one has ended that was not reported yet. */
int cli_jobs_fd(const struct cli_jobs *jobs);

/* Says how those ended that have, with their results, and takes them off the list.
 * True: there was one. */
bool cli_jobs_report(struct cli_jobs *jobs);

/* A line each: number, state, seconds, progress. */
int cli_jobs_list(struct cli_jobs *jobs);

/* Waits for one and gives its result; Ctrl-C cancels it. word: "%1", "1", or NULL: the
 * latest. */
int cli_jobs_foreground(struct cli_jobs *jobs, const char *word);

/* Cancels one, and says what the server was told. */
int cli_jobs_kill(struct cli_jobs *jobs, const char *word);

/* Waits for all, each reported as it ends; Ctrl-C ends the waiting alone. Returns how
 * the last one ended that did not end well, or CLI_OK. */
int cli_jobs_wait(struct cli_jobs *jobs);

/* Cancels all, and says what the server was told. */
int cli_jobs_kill_all(struct cli_jobs *jobs);

#endif
