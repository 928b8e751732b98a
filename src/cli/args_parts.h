/*
 * args_parts.h - the parts that read arguments, and what they share; see args.h
 */
#ifndef CLI_ARGS_PARTS_H
#define CLI_ARGS_PARTS_H

#include <mcp/schema.h>

#include "cli/args_tree.h"
#include "cli/cli.h"

#define CLI_FILE_MAX ((size_t)16 * 1024 * 1024) /* of name=@FILE and --args */

struct cli_args {
    struct cli *cli;
    const mcp_json *schema; /* or NULL */
    mcp_schema *compiled;   /* NULL: nothing is checked */
    struct cli_node root;
    struct cli_text faults; /* a line each, harmless, newlines between */
    size_t fault_count;
    bool failed; /* no memory */
};

/* ---- args_check.c: what is wrong, and saying it --------------------------------- */

/* One fault: "city: must be ...; the schema says: string, \"the city's name\"". field
 * may be NULL, then the schema says nothing. */
void cli_args_fault(struct cli_args *args, const char *name, size_t length,
                    const mcp_json *field, const char *message);

/* Compiles the schema. One that cannot be: a note, and nothing will be checked. */
void cli_args_compile(struct cli_args *args);

/* Checks the whole, JSON text; each fault is kept. */
void cli_args_check(struct cli_args *args, const char *json, size_t length);

/* What is wrong with the value of one argument, alone; appended to why. True:
 * nothing. */
bool cli_args_check_one(const mcp_schema *schema, const char *name, const char *json,
                        struct cli_text *why);

/* Says all faults and a last line. Returns CLI_OTHER. */
int cli_args_say_faults(struct cli_args *args, const char *last);

/* ---- args_file.c: texts from files ---------------------------------------------- */

/* All of a file, or with "-" of stdin. False: why says what is wrong with it. */
bool cli_args_load(struct cli *cli, const char *path, struct cli_text *into,
                   struct cli_text *why);

/* ---- args_word.c: name=value ---------------------------------------------------- */

/* Puts what one word says into the tree; faults are kept. */
void cli_args_word(struct cli_args *args, const char *text);

/* ---- args_ask.c: those that are missing ----------------------------------------- */

/* Asks for what is required and missing, or fails and says what it is. CLI_OK: all that
 * is required is there. */
int cli_args_ask(struct cli_args *args);

#endif
