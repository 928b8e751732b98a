/*
 * help.h - help on a terminal: of mcpctl, and of one command; from the table
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/cli.h"
#include "cli/text.h"

#define CLI_HELP_COLUMNS 80

/* On stdout. CLI_OK, or how to exit if stdout is gone. */
int cli_help_all(struct cli *cli);
int cli_help_command(struct cli *cli, const struct cli_command *command);

/* The same, appended. */
void cli_help_add_all(struct cli_text *into);
void cli_help_add_command(const struct cli_command *command, struct cli_text *into);

/* What an option looks like: "--era auto|modern|legacy", "--cwd DIR", "--json"; and its
 * text, with the choices if they are too many to stand before it. Appended. */
void cli_help_add_option(const struct cli_option *option, struct cli_text *into);
void cli_help_add_option_text(const struct cli_option *option, struct cli_text *into);

#endif
