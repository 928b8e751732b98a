/*
 * ask.h - what a server asks its user, answered at the terminal
 *
 * Elicitation (a form, or a page to open) and sampling (the user plays the model, or
 * declines). Without a terminal, or with --no-input, forms are declined and no sampling
 * is offered. Ctrl-C, a cancel by the server, or the end of the call end the question
 * at once. One is asked at a time; the others wait.
 */
#ifndef CLI_ASK_H
#define CLI_ASK_H

#include "cli/cli.h"

/* Sets the handlers in opt. cli must outlive the client. */
void cli_ask_offer(struct cli *cli, mcp_client_options *opt);

/* One line from the terminal, behind a prompt (on the terminal, wherever stderr goes),
 * without its newline; freed with free(). secret: it is not shown. NULL: the end, or
 * `stop_fd` (-1: none) is readable, or the scope of cli is over. */
char *cli_ask_line(struct cli *cli, const char *prompt, bool secret, int stop_fd);

#endif
