/*
 * session.h - a session with the target, and calls in it that Ctrl-C really cancels
 */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "cli/cli.h"
#include "cli/target.h"

struct cli_auth;  /* what HTTP needs to sign in: login.h */
struct cli_relay; /* its stderr: relay.h */

struct cli_session {
    struct cli *cli;
    struct cli_target target;
    mcp_client *client;
    struct cli_auth *auth;   /* NULL: not over HTTP */
    struct cli_relay *relay; /* NULL: not spawned */
    bool tells_end;          /* cli->ended will be raised */
    int64_t began_ns;        /* when the target was known, and all that it asks for */
};

/* What a command wants besides. */
struct cli_session_wish {
    bool sign_in; /* login: a user may be asked to */
    void (*adjust)(mcp_client_options *opt, void *user); /* last word; NULL: none */
    void *user;
};

/* Opens it as the options say. wish may be NULL. CLI_OK, or how to exit: it was said why,
 * and nothing is left. */
int cli_session_open(struct cli *cli, const char *target,
                     const struct cli_session_wish *wish,
                     struct cli_session *ret_session);
void cli_session_close(struct cli_session *session);

/* One call: exactly one of method, tool, uri, prompt. */
struct cli_call {
    const char *method;    /* any; with params */
    const char *params;    /* a JSON object, or NULL */
    const char *tool;      /* tools/call; with arguments */
    const char *uri;       /* resources/read */
    const char *prompt;    /* prompts/get; with arguments */
    const char *arguments; /* a JSON object, or NULL */
};

/* Makes it and waits, with progress shown. CLI_OK: *ret_reply is the caller's. Else how to
 * exit, and it was said why. When Ctrl-C ends it: says what was canceled, waits until the
 * server was told and answers again, and says that; 130, or 6 if it does not. */
int cli_session_call(struct cli_session *session, const struct cli_call *call,
                     mcp_reply **ret_reply);

/* All of a list; Ctrl-C as above. */
int cli_session_list(struct cli_session *session, enum mcp_list list,
                     mcp_reply **ret_reply);

/* The options for a call as the command line has them, under the run's scope. */
mcp_call_options cli_session_call_options(struct cli_session *session);

/* After something was canceled by a signal: is the session usable? Says so, and returns
 * 130 or 6. call: the one that was canceled, ended by now; NULL if there is no handle.
 * what: "tools/call hang". how: what was done to end it; NULL: a cancel, as this link and
 * era spell it. */
int cli_session_confirm(struct cli_session *session, mcp_call *call, const char *what,
                        const char *how);

/* Does it speak 2026-07-28 or later? */
bool cli_session_is_modern(const struct cli_session *session);

#endif
