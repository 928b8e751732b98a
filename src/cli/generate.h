/*
 * generate.h - files that are made of the table of commands: man page and completions
 */
#ifndef CLI_GENERATE_H
#define CLI_GENERATE_H

#include "cli/cli.h"
#include "cli/text.h"

/* Each appends the whole file. */
void cli_generate_man(struct cli_text *into); /* mcpctl(1), for scdoc(1) */
void cli_generate_bash(struct cli_text *into);
void cli_generate_zsh(struct cli_text *into);
void cli_generate_fish(struct cli_text *into);

/* Words that a completion offers, one a line on stdout: servers; tools, prompts or
 * resources of a TARGET; tool-arguments TARGET TOOL; prompt-arguments TARGET PROMPT. If
 * it cannot be known within some seconds there are none, and nothing is said. */
int cli_generate_words(struct cli *cli, int argc, char **argv);

/* ---- what the three completions share ------------------------------------------ */

/* Which list of cli_generate_words is offered for a word of a command, or "commands";
 * NULL: nothing is. index: from 0, below cli_generate_count. */
const char *cli_generate_list(const struct cli_command *command, int index);

/* How many words of a command have an entry of their own; the last may be for more. */
int cli_generate_count(const struct cli_command *command);
/* May the last of them be said again? */
bool cli_generate_repeats(const struct cli_command *command);

/* A text up to its first semicolon: what there is room for beside an option. */
size_t cli_generate_short(const char *text);

/* For the inside of single quotes in bash and zsh; those in `escape` get a backslash
 * before them. */
void cli_generate_inside(struct cli_text *into, const char *text, size_t length,
                         const char *escape);

/* "a|b|c" with blanks between. */
void cli_generate_choices(struct cli_text *into, const char *choices);

/* Calls `one` for each option of the table (may be NULL). */
void cli_generate_each(const struct cli_option *table, const char *command,
                       void (*one)(struct cli_text *into,
                                   const struct cli_option *option,
                                   const char *command),
                       struct cli_text *into);

#endif
