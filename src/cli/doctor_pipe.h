/*
 * doctor_pipe.h - a server started by hand, so that each byte of its stdout is seen
 *
 * It gets a session of its own (setsid), so that what it leaves behind is known to be
 * its. SIGPIPE must be ignored. Nothing waits without a limit.
 */
#ifndef CLI_DOCTOR_PIPE_H
#define CLI_DOCTOR_PIPE_H

#include <sys/types.h>

#include <mcp/client.h>

#include "cli/text.h"

#define CLI_PIPE_SHOWN 160 /* bytes of a line that is shown to the user */

struct cli_pipe {
    pid_t pid; /* 0: none */
    int in, out, err;
    mcp_scope *scope; /* its end is the end of each wait; or NULL */
    bool is_ended;
    int status;                         /* of waitpid, if it has ended */
    struct cli_text text;               /* of its stdout, not yet cut into lines */
    size_t lines, foreign;              /* messages; and lines that are none */
    char first_foreign[CLI_PIPE_SHOWN]; /* the first of these, harmless */
    size_t error_bytes;                 /* on its stderr */
};

/* Starts it; env are "NAME=value" besides ours, NULL at the end, or NULL. MCP_E_INVAL:
 * it cannot be started, and err says why. */
int cli_pipe_open(struct cli_pipe *pipe, char *const *argv, const char *const *env,
                  const char *cwd, mcp_scope *scope, mcp_error *err);

/* Writes a line and its newline; false: it cannot be written in time. */
bool cli_pipe_say(struct cli_pipe *pipe, const char *line, int64_t ms);

/* Waits for the answer to that id; other messages are passed over. 0; MCP_E_TIMEOUT;
 * MCP_E_CLOSED: its stdout has ended; MCP_E_LIMIT: a line that never ends. */
int cli_pipe_answer(struct cli_pipe *pipe, int id, int64_t ms, mcp_doc **ret_answer);

/* Says it, and waits for the answer. */
int cli_pipe_ask(struct cli_pipe *pipe, const char *line, int id, int64_t ms,
                 mcp_doc **ret_answer);

/* Its stdin ends. */
void cli_pipe_end_input(struct cli_pipe *pipe);

/* Waits until it has ended; what it writes meanwhile is looked at. False: it has
 * not. */
bool cli_pipe_wait(struct cli_pipe *pipe, int64_t ms);

/* Kills it, if it has not ended, but nothing below it; closes all. What was counted of
 * it stays. */
void cli_pipe_close(struct cli_pipe *pipe);

#endif
