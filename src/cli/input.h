/*
 * input.h - what a configuration leaves to its user: ${input:ID}
 *
 * VS Code's files declare under "inputs" what is to be asked for, keys mostly, so that
 * they stand in no file. Here it is asked at the terminal, once in a run, when a server
 * that needs it is used; what is a password is not shown, and hidden in traces. Who has
 * no terminal says the whole variable, header or folder with --env, --header or --cwd
 * instead; for what is in arguments and addresses there has to be one.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <mcp/json.h>

#include "cli/cli.h"
#include "cli/target.h"

/* Does the text begin with a reference? */
bool cli_input_begins(const char *text);

/* What a file declares of that input. NULL: nothing, or it is of a kind that only its own
 * program can answer. */
const mcp_json *cli_input_find(const mcp_json *inputs, const char *id, size_t length);

/* Asks for all that the target's texts refer to, and puts it there. Otherwise it is said
 * why not, the target is of zeros, and how to exit is returned. */
int cli_input_fill(struct cli *cli, struct cli_target *target);

/* The target of a word as this run uses it: what the command line says wins over its
 * configuration, what that leaves open is asked for, and what goes wrong is said. */
int cli_target_get(struct cli *cli, const char *word, struct cli_target *ret_target);

/* Answers that were given in this run; for cli_done. NULL ok. */
struct cli_answers;
void cli_answers_free(struct cli_answers *answers);

#endif
