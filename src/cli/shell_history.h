/*
 * shell_history.h - lines that were entered, kept in a file for the next time
 *
 * The file is "history" where state.h says, mode 0600. What cannot be read or written
 * is not there: a shell works without.
 */
#ifndef CLI_SHELL_HISTORY_H
#define CLI_SHELL_HISTORY_H

#include <stdbool.h>

#define CLI_HISTORY_LINES 1000

/* Is this a line to remember: not empty, and no blank at its beginning? */
bool cli_history_wants(const char *line);

/* Is there something in it that looks like a secret, by its name or by its shape? Such
 * a line is not written to a file. */
bool cli_history_is_secret(const char *line);

/* Tells each line, the oldest first. If there are more than CLI_HISTORY_LINES, those
 * before the last are told to nobody, and go from the file. */
void cli_history_read(const char *path, void (*each)(void *user, const char *line),
                      void *user);

/* One more line at the end, if it is one to keep. False: it is not written. */
bool cli_history_add(const char *path, const char *line);

#endif
