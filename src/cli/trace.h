/*
 * trace.h - the wire on stderr (--trace), with secrets hidden
 *
 *        0.004 --> {"jsonrpc":"2.0",...}      ours, seconds from the start
 *        0.009 <-- {...}                      the server's
 *        1.203 --- closed the response to request 7
 *
 * With --json each is one JSON line: {"trace": "sent", "came" or "event", "at": seconds,
 * and "message" or "text"}. What counts as a secret: secret.h.
 */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli/cli.h"
#include "cli/text.h"

/* Sets opt->on_wire if --trace was said. opt->user must be cli. */
void cli_trace_offer(struct cli *cli, mcp_client_options *opt);

/* A message, as one line for people, secrets hidden, harmless. Appended. */
void cli_trace_message(const char *text, size_t length, struct cli_text *into);

#endif
