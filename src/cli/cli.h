/*
 * cli.h - one run of mcpctl: what was said, where it shows things, how it is interrupted
 *
 * The main thread runs the command and blocks in calls of the library; each of those is
 * under `scope`, so that one cancel ends what is under way. What asks for it: Ctrl-C and
 * the other signals of that kind, or the reader of our output going away.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdatomic.h>

#include <mcp/client.h>

#include "cli/command.h"
#include "cli/exit.h"
#include "cli/flag.h"
#include "cli/say.h"

struct cli_answers;
struct cli_tail;

struct cli {
    const struct cli_command *command;
    struct cli_options options;
    bool in_is_terminal, out_is_terminal, err_is_terminal;
    bool json;    /* results as JSON: asked for, or stdout is no terminal */
    bool color;   /* on stdout */
    bool may_ask; /* there is somebody at a terminal to be asked (not --no-input) */
    bool output_failed;  /* stdout takes nothing any more */
    bool output_stopped; /* Ctrl-C: the rest is not shown. sh begins anew */
    mcp_scope *scope;    /* for what is under way now; made anew after a cancel (sh) */
    double trace_began;  /* --trace: seconds on the monotonic clock */
    struct cli_flag opened; /* the session is ready, or cannot be */
    struct cli_flag ended;  /* it has, and all that the server said was told */
    atomic_bool says_loss;  /* sh: a session that ends by itself is told of at once */
    struct cli_answers *answers; /* to what configurations ask (input.h), or NULL */
    struct cli_tail *watching;   /* tail: who gets the events */
    struct cli_say say;
};

/* Fills it in for the words of a command line, which are changed; a usage error is said,
 * and its exit code returned. -1: go on, with *ret_argc words in argv. */
int cli_init(struct cli *cli, int argc, char **argv, int *ret_argc);
void cli_done(struct cli *cli);

/* Is the scope of what is under way over? False if there is none. [any] */
bool cli_is_over(const struct cli *cli);
/* A new one, if it is; the main thread's to call. False: out of memory or descriptors. */
bool cli_renew(struct cli *cli);

/* ---- failures ------------------------------------------------------------------ */

/* Says why something failed, on stderr (with --json as one line of JSON), and returns how
 * to exit: what the status means for a session. err must be filled in. */
int cli_fail(struct cli *cli, const mcp_error *err);

/* The same with an exit code of the caller's. */
int cli_fail_as(struct cli *cli, const mcp_error *err, int code);

/* The same with what else the server said of its error (any JSON), or NULL. */
int cli_fail_data(struct cli *cli, const mcp_error *err, const mcp_json *data,
                  int code);

/* The same with words of our own. */
int cli_fail_with(struct cli *cli, int code, const char *format, ...) MCP_PRINTF(3, 4);

/* How to exit for that status: 3, 4, 130, ... or 1. */
int cli_exit_of(const mcp_error *err);

/* ---- results ------------------------------------------------------------------- */

/* A value on stdout, with a newline behind it: indented if stdout is a terminal, else one
 * line. Returns CLI_OK, or CLI_OTHER if stdout is gone, which was said. */
int cli_print_json(struct cli *cli, const mcp_json *value);

/* Write to stdout; false once that fails. A broken pipe is noticed here and ends us
 * quietly (see interrupt.h); other failures are said once. Ctrl-C ends it, however much is
 * left and however slowly it is read. */
bool cli_write(struct cli *cli, const char *text, size_t length);
bool cli_printf(struct cli *cli, const char *format, ...) MCP_PRINTF(2, 3);
/* Everything is out; false: it is not. */
bool cli_flush(struct cli *cli);

#endif
