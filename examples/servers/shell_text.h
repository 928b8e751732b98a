/*
 * shell_text.h - what a command writes, made fit to be read by a model
 *
 * Bytes go in as they come. Out come lines, and the beginning of the whole: UTF-8,
 * without what a terminal would take for an order (control characters, escape
 * sequences), and never more than the limits say. What is not UTF-8 becomes U+FFFD.
 */
#ifndef EXAMPLES_SHELL_TEXT_H
#define EXAMPLES_SHELL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 1000 /* of a line that is shown; the rest of it is dropped */

struct shell_text {
    /* For each line that is not empty; a negative status is kept, and ends it. */
    int (*on_line)(void *user, const char *line);
    void *user;
    int status;

    char *kept; /* terminated; NULL: nothing yet */
    size_t length, room, most;
    bool is_cut;

    char line[LINE_BYTES + sizeof("...")];
    size_t line_length;
    bool line_is_cut;

    uint32_t point;     /* of a character that is not complete, */
    int bytes, missing; /* which has that many bytes */
    enum { PLAIN, ESCAPE, SEQUENCE, STRING } escape;
    bool after_return;
};

/* most: bytes that are kept. */
void shell_text_init(struct shell_text *text, size_t most,
                     int (*on_line)(void *user, const char *line), void *user);
void shell_text_done(struct shell_text *text);

/* 0, or what on_line has returned. */
int shell_text_add(struct shell_text *text, const char *bytes, size_t length);

/* There is no more: the last line ends here, with a newline or not. */
int shell_text_end(struct shell_text *text);

#endif
