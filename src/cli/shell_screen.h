/*
 * shell_screen.h - the terminal while a prompt stands on it
 *
 * Other threads write to stderr whenever they like: a server's log, its stderr, the
 * trace. While the prompt is there, stderr is a pipe that the shell reads, so that it
 * can put such lines above the line that is being typed. A question of the server's
 * (elicitation, sampling) takes the terminal: the prompt goes, and comes back
 * afterwards.
 */
#ifndef CLI_SHELL_SCREEN_H
#define CLI_SHELL_SCREEN_H

#include <pthread.h>

#include <mcp/client.h>

#include "cli/text.h"

struct cli_screen {
    int lines[2]; /* the pipe that stderr is at the prompt */
    int wake[2];  /* somebody wants to ask */
    int real;     /* stderr proper while it is away; -1: it is not */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_prompt;             /* under lock, as all below */
    int askers;                 /* who want the terminal, or have it */
    mcp_handler elicit, sample; /* those of the session, which ours lead to */
};

/* What there is to do at the prompt. */
enum cli_screen_event {
    CLI_SCREEN_KEY,       /* something was typed, or the terminal is gone */
    CLI_SCREEN_INTERRUPT, /* a signal */
    CLI_SCREEN_LINES,     /* others have written lines, or `fd` is readable */
    CLI_SCREEN_QUESTION   /* the terminal is wanted: leave the prompt */
};

/* MCP_E_LIMIT: no descriptors. */
int cli_screen_init(struct cli_screen *screen);
void cli_screen_done(struct cli_screen *screen);

/* Puts itself before the handlers of opt that ask the user. */
void cli_screen_offer(struct cli_screen *screen, mcp_client_options *opt);

/* The prompt comes; waits until nobody asks any more. */
void cli_screen_enter(struct cli_screen *screen);
/* It goes: stderr is what it was, and lines that waited are shown. */
void cli_screen_leave(struct cli_screen *screen);

/* For lines of the shell's own amid the prompt: the same, but questions wait. */
void cli_screen_lift(struct cli_screen *screen);
void cli_screen_lower(struct cli_screen *screen);

/* Waits at the prompt. fd: one more to look at. */
enum cli_screen_event cli_screen_wait(struct cli_screen *screen, int in, int interrupt,
                                      int fd);

#endif
