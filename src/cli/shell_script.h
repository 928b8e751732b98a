/*
 * shell_script.h - lines for the shell from a file or a pipe
 */
#ifndef CLI_SHELL_SCRIPT_H
#define CLI_SHELL_SCRIPT_H

#include "cli/text.h"

struct cli_script {
    int fd;
    int stop_fd;             /* readable: stop; -1: none */
    struct cli_text waiting; /* read, and not given yet */
    size_t given;            /* of these */
    bool is_over;
};

void cli_script_init(struct cli_script *script, int fd, int stop_fd);
void cli_script_done(struct cli_script *script);

/* The next line without its newline, good until the next call; waits for it. NULL: the
 * end, or it was stopped. The last line needs no newline. */
const char *cli_script_next(struct cli_script *script);

#endif
