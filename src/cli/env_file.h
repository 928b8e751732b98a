/*
 * env_file.h - a file of variables beside a server's entry (.env), as editors read it
 *
 *     # a comment, also behind a value
 *     NAME=value                blanks around it are none of it
 *     export NAME='as it is'    or in `...`
 *     NAME="two\nlines"         \n and \r are meant, other backslashes stay
 *
 * A value ends with its line. Variables in it stay as they are.
 */
#ifndef CLI_ENV_FILE_H
#define CLI_ENV_FILE_H

#include "cli/text.h"

#define CLI_ENV_FILE_MAX ((size_t)1 << 20)

/* The next one from *at on, a text with an end, as "NAME=value" into an empty `into`; *at
 * moves behind its line. 1; 0: there is no more; -1: the line at *at is none. Pure. */
int cli_env_next(const char **at, struct cli_text *into);

#endif
