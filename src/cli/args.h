/*
 * args.h - arguments of a call from words: typed by a schema, asked for, explained
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "cli/cli.h"

/*
 * An object of arguments as JSON text, freed with free(). schema: the tool's inputSchema,
 * or NULL if it is not known. words: count of
 *
 *     name=value    typed by the schema: integer, number, boolean, null, array (JSON, or
 *                   values with commas between), object (JSON), else a string; without a
 *                   schema for it a string. name=@FILE: the file's text (-: stdin);
 *                   name=@@x: "@x"
 *     name:=json    JSON as it is; name:=@FILE
 *     a.b=value     a member of an object; name[]=value: one more element
 *
 * and before them, if options.args is there, an object from that file or stdin (-).
 * Arguments that are required and missing are asked for on the terminal if cli->may_ask.
 * Then all is checked against the schema: each fault is said with the field, what is
 * wrong and what the schema says of it. Returns CLI_OK, or how to exit: it was said why.
 */
int cli_args_read(struct cli *cli, const mcp_json *schema, int count, char **words,
                  char **ret_json);

/* The same for a prompt: all values are strings; arguments: the prompt's own list
 * [{name, description, required}], or NULL. */
int cli_args_read_prompt(struct cli *cli, const mcp_json *arguments, int count,
                         char **words, char **ret_json);

/* How a schema describes one field, for a person: "integer, 1 to 10, default 5". */
struct cli_text;
void cli_args_describe(const mcp_json *field, struct cli_text *into);
/* The same for a field that may refer to other places of its schema (#/$defs/x). */
void cli_args_describe_in(const mcp_json *schema, const mcp_json *field,
                          struct cli_text *into);

#endif
