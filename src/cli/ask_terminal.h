/*
 * ask_terminal.h - the terminal while somebody is asked something there
 *
 * A turn is one conversation: a form, say, with all its fields. There is one terminal,
 * so there is one turn at a time in a process; who comes later waits. It writes to the
 * terminal itself and reads from it, whatever stdin and stderr are.
 */
#ifndef CLI_ASK_TERMINAL_H
#define CLI_ASK_TERMINAL_H

#include <termios.h>

#include "cli/cli.h"
#include "cli/text.h"

struct cli_turn {
    struct cli *cli;
    int stop_fd; /* readable: it is over; -1: none */
    int fd;      /* the terminal */
    size_t columns;
    bool has_mode;
    struct termios mode; /* as it was */
    const char *secret;  /* the prompt of a line that is not shown; NULL: none */
};

/* Waits for the turn, and then the terminal is ours: the bar is gone. False: it is over
 * before it began, or there is no terminal. */
bool cli_turn_begin(struct cli_turn *turn, struct cli *cli, int stop_fd);
void cli_turn_end(struct cli_turn *turn);

/* Is it over: is stop_fd readable, or the scope of the run over? */
bool cli_turn_is_over(const struct cli_turn *turn);

/* Shows a paragraph: our own words, then those of a server (NULL: none), which are made
 * harmless and wrapped. */
void cli_turn_show(struct cli_turn *turn, const char *ours, const char *theirs,
                   size_t length);
/* The same for a text that ends with '\0'. */
void cli_turn_say(struct cli_turn *turn, const char *ours, const char *theirs);

/* One line, as cli_ask_line. */
char *cli_turn_line(struct cli_turn *turn, const char *prompt, bool secret);

/* Asks until one of these letters, or a word that begins with it, is typed. 0: the end
 * of the input, or it is over. */
char cli_turn_choose(struct cli_turn *turn, const char *prompt, const char *letters);

/* For tests: this terminal instead of /dev/tty; NULL: that again. Not while a turn is
 * on. */
void cli_turn_use(const char *path);

#endif
