/*
 * say.h - what we say to people, on stderr: notes, a server's log, a bar of progress
 *
 * One lock for all of it, since callbacks come on other threads: a line never tears,
 * and the bar is taken away before a line and drawn again below it. All [any].
 */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <mcp/base.h>

#define CLI_BAR_TEXT 160

struct cli_say {
    pthread_mutex_t lock;
    bool is_terminal;
    bool color;
    atomic_bool is_json;     /* --json: lines are JSON objects, and there is no bar; sh
                                changes it while others speak */
    int64_t (*now_ms)(void); /* the clock; tests have one of their own */
    bool has_bar;            /* under lock, as all below */
    bool is_drawn;           /* the bar stands on the screen now */
    int paused;              /* somebody asks the user something: no bar */
    double progress, total;
    char text[CLI_BAR_TEXT]; /* behind the bar, harmless */
    int64_t told_ms;         /* when the bar was drawn, or a line of progress written */
    bool is_told;            /* told_ms is a time */
    unsigned turn;           /* of the wheel, where the total is unknown */
};

void cli_say_init(struct cli_say *say, bool is_terminal, bool color, bool is_json);
void cli_say_done(struct cli_say *say);

/* A line, "mcpctl: " before it; made harmless, and one line whatever is in it. */
void cli_note(struct cli_say *say, const char *format, ...) MCP_PRINTF(2, 3);

/* A line as it is (made harmless by the caller), without prefix; the newline is ours.
 * With --json as well. */
void cli_say_line(struct cli_say *say, const char *line, size_t length);

/* A log message of the server's: its severity, who logs (or NULL) and the text. */
void cli_say_log(struct cli_say *say, enum mcp_severity severity, const char *logger,
                 const char *text);

/* Progress of what runs: draws the bar on a terminal, at most ten times a second; else
 * one line at most each second. With --json one JSON line each. total 0: unknown;
 * message: a server's text, as it came, or NULL. */
void cli_say_progress(struct cli_say *say, double progress, double total,
                      const char *message);
/* It is over: takes the bar away. */
void cli_say_progress_end(struct cli_say *say);

/* Between these the terminal is the caller's, to ask the user something. Nested ok. */
void cli_say_pause(struct cli_say *say);
void cli_say_resume(struct cli_say *say);

#endif
