/*
 * host.h - a client that can be asked: its answers, and what it heard
 *
 * Its user is called "ada" and does what `user` says; its model says "hello"; it has
 * two roots, file:///home and file:///tmp.
 */
#ifndef TESTS_PEERS_HOST_H
#define TESTS_PEERS_HOST_H

#include <stdatomic.h>

#include <mcp/client.h>

enum user {
    USER_ACCEPTS = 0,
    USER_DECLINES,
    USER_DISMISSES,
    USER_THINKS, /* until the question is taken back */
    USER_FAILS,  /* with an error */
    USER_ERRS    /* an answer that does not fit the form */
};

extern struct host {
    atomic_int user;     /* what the user does */
    atomic_int asked;    /* questions of any kind, ever */
    atomic_int recalled; /* of those: taken back while the user thought */
    atomic_int messages[MCP_SEVERITY_EMERGENCY + 1]; /* heard, by severity */
    atomic_int changes[MCP_RESOURCE_UPDATED + 1];    /* heard, by kind */
    atomic_int elicited;                             /* pages that are done */
} host;

/* Connect to a server of its own. */
bool host_opens(mcp_client **ret_client);

/* Wait until it is so. */
bool becomes(atomic_int *value, int wanted);

/* How many messages were heard. */
int messages_heard(void);

/* ---- replies --------------------------------------------------------------------- */

/* The call has succeeded, and its reply has all these: pairs of a path
 * ("messages/0/role") and a text, a value as JSON text, or "*" for anything; up to
 * NULL. Frees the reply. */
bool shows(int status, const mcp_error *err, mcp_reply *reply, ...);

/* A call of a tool gives exactly this text. */
bool tool_says(mcp_client *client, const char *tool, const char *arguments,
               const char *text);

/* The call was refused with that code. Frees the reply. */
bool refused(int status, const mcp_error *err, mcp_reply *reply, int code);

#endif
