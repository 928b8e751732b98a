/*
 * config_value.h - variables in the values of configuration files
 *
 *     ${NAME}  ${env:NAME}      of our environment
 *     ${NAME:-text}             the same, or the text if it is not set or empty
 *     ${workspaceFolder}        the project's folder
 *     ${workspaceFolderBasename}  its name
 *     ${userHome}               $HOME
 *     ${pathSeparator}  ${/}    a slash
 *     $NAME                     in Gemini's files only
 *
 * What is set nowhere is a fault, never an empty text: a server that starts without its
 * key fails later and says less. ${input:ID} stays as it is if the file declares it: who
 * uses the server is asked for it (input.h). ${command:...} and the like can only be
 * answered by the program that the file is for. All else with a dollar stays as it is.
 */
#ifndef CLI_CONFIG_VALUE_H
#define CLI_CONFIG_VALUE_H

#include <mcp/json.h>

#include "cli/text.h"

/* The longest word that Linux passes to a program: longer ones are of no use. */
#define CLI_CONFIG_VALUE_MAX ((size_t)128 << 10)

enum cli_config_variables {
    CLI_VARIABLES_NONE, /* a dollar is a dollar (Claude Desktop) */
    CLI_VARIABLES_BRACES,
    CLI_VARIABLES_ALL /* $NAME too */
};

/* Where a value stands. */
struct cli_config_place {
    const char
        *folder;     /* the project's; for a user's file the one we are in. Absolute */
    bool is_project; /* its servers run in that folder if they say nothing else */
    enum cli_config_variables variables;
    const mcp_json *inputs; /* what the file declares to be asked for, or NULL */
};

/* Appends the value to into. False: fault says why, a part of a sentence ("needs the
 * variable X, which is not set"). */
bool cli_config_value(const char *text, const struct cli_config_place *place,
                      struct cli_text *into, struct cli_text *fault);

#endif
