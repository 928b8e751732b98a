/*
 * prose.h - texts for people: cut into their pieces, and those that belong to no command
 *
 * Help and the man page show the same texts in two ways; this is what they share.
 */
#ifndef CLI_PROSE_H
#define CLI_PROSE_H

#include "cli/option.h"

/* One paragraph, or some lines that are shown as they are. Borrowed from the text. */
struct cli_block {
    const char *data;
    size_t length; /* without the last newline */
    bool is_as_is; /* its lines begin with four blanks */
    bool is_apart; /* an empty line stands before it */
};

/* The next one from *at on, which moves behind it. False: there is none. at: a text of
 * the table (see command.h). */
bool cli_prose_next(const char **at, struct cli_block *ret_block);

/* The next line from *at on, without its newline; NULL: there is none. */
const char *cli_prose_line(const char **at, size_t *ret_length);

/* What completions offer for the value of an option: its `value` says it, "FILE" or
 * "FOLDER" at its beginning. */
enum cli_value {
    CLI_VALUE_NONE, /* a flag */
    CLI_VALUE_CHOICE,
    CLI_VALUE_FILE,
    CLI_VALUE_FOLDER,
    CLI_VALUE_ANY
};
enum cli_value cli_prose_value(const struct cli_option *option);

struct cli_prose_item {
    const char *name, *text; /* NULL ends a list */
};

extern const char cli_prose_about[]; /* one line */
/* As `text` of a command is. */
extern const char cli_prose_targets[];
extern const char cli_prose_cancel[];
extern const char cli_prose_output[];
extern const char cli_prose_words[]; /* completions in shells */
extern const struct cli_prose_item cli_prose_exits[];
extern const struct cli_prose_item cli_prose_environment[];
extern const struct cli_prose_item cli_prose_files[];
extern const struct cli_prose_item cli_prose_examples[]; /* name: the command */

#endif
