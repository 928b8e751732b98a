/*
 * command.h - the table of commands: all that help, man page and completions are made of
 *
 * A command is one file, command_NAME.c, with one `const struct cli_command`; commands.c
 * lists them. Nothing else knows which there are.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/option.h"

struct cli;

/* What a word of a command stands for: completions offer that. */
enum cli_word {
    CLI_WORD_NONE = 0,
    CLI_WORD_TARGET,
    CLI_WORD_TOOL,
    CLI_WORD_RESOURCE,
    CLI_WORD_PROMPT,
    CLI_WORD_ARGUMENT, /* name=value */
    CLI_WORD_COMMAND,  /* a name of this table */
    CLI_WORD_ANY
};

#define CLI_WORDS_MAX 4
#define CLI_ANY_NUMBER (-1)

struct cli_command {
    const char *name;
    const char *arguments; /* "TARGET TOOL [NAME=VALUE...]"; "" if there are none */
    const char *summary;   /* one line, no full stop */
    const char *text; /* paragraphs, separated by an empty line; lines that begin with
                              four spaces are shown as they are. Plain text, 80 columns */
    const char *examples; /* lines "mcpctl ...", each with one; NULL: none */
    const struct cli_option *options; /* its own, beside the common ones; NULL: none */
    int least, most;                  /* how many words; most may be CLI_ANY_NUMBER */
    enum cli_word words[CLI_WORDS_MAX]; /* the last one stands for all behind it too */
    bool
        no_target; /* its words name no server: common options for sessions are of no use */
    bool hidden;  /* not in help: for machines */
    bool reports; /* what it has found until a Ctrl-C is shown all the same */
    bool
        shows_log; /* it runs something: what that logs is shown, unless --log says else */
    /* argv: its words, argc of them. Returns how to exit (enum cli_exit). */
    int (*run)(struct cli *cli, int argc, char **argv);
};

/* All commands, in the order of help; NULL at the end. */
extern const struct cli_command *const cli_commands[];
/* The options of all commands; {0} at the end. */
extern const struct cli_option cli_common_options[];

/* By its whole name; NULL: there is none. */
const struct cli_command *cli_command_find(const char *name);

/* The one whose name is nearest, for "did you mean"; NULL: none is near. */
const struct cli_command *cli_command_guess(const char *name);

#endif
