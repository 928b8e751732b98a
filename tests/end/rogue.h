/*
 * rogue.h - a server that misbehaves, in a process of its own
 *
 * It is this very program, executed again. Its name says how it receives a client:
 *
 *   plain    as it should, in both eras
 *   noisy    the same, after some rubbish on its stdout
 *   nonsense answers server/discover with a result that says nothing
 *   old      answers it with "method not found"
 *   mute     does not answer it
 *   slow     answers it only when initialize has come
 *   future   speaks only a version that does not exist
 *   silent   answers nothing at all
 *   deaf     the same, and goes neither at EOF nor at SIGTERM
 *   leaver   exits when it is asked for the first time
 *
 * All but the last say "here" and their pid on stderr. Afterwards a tool's name says
 * what it does before it answers with "done": see the table in rogue.c. `seen` tells
 * what has come in since the last time, one word for each message: the tool's name, the
 * method's, "cancel:ID", or "answer".
 */
#ifndef TESTS_END_ROGUE_H
#define TESTS_END_ROGUE_H

#include "end/probe.h"

#define ROGUE_ARGUMENT "--rogue"

/* What main does with that argument and a name. Does not return. */
void rogue_main(const char *name);

/* The command that starts it, good until the next call. */
const char *const *rogue_command(const char *name);

/* Open a client to it. opt gets a name and a version. */
int rogue_try(const char *name, mcp_client_options *opt, mcp_client **ret_client);
void rogue_open(struct probe *p, const char *name, mcp_client_options *opt);

/* What has it seen since the last time? */
void rogue_expect_seen(struct probe *p, const char *words);

/* After the tool `stop`: it reads on. */
void rogue_go_on(struct probe *p);

#endif
