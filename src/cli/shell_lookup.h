/*
 * shell_lookup.h - what the server knows of what is being typed
 */
#ifndef CLI_SHELL_LOOKUP_H
#define CLI_SHELL_LOOKUP_H

#include "cli/session.h"
#include "cli/shell_complete.h"

/* Longer nobody wants to wait for a completion: a question is canceled then. */
#define CLI_LOOKUP_MS 1500

/* Adds what the server has for a tool, prompt, resource, argument or value. What it
 * does not answer in time, or with an error, is just not there: nothing is said. */
void cli_lookup(struct cli_session *session, const struct cli_want *want,
                struct cli_candidates *list);

#endif
