/* shell_script.c - lines for the shell from a file or a pipe */
#include "cli/shell_script.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

void
cli_script_init(struct cli_script *script, int fd, int stop_fd)
{
    *script = (struct cli_script){.fd = fd, .stop_fd = stop_fd};
}

void
cli_script_done(struct cli_script *script)
{
    cli_text_done(&script->waiting);
}

/* Some more bytes; false: there are none, or it was stopped. */
static bool
read_more(struct cli_script *script)
{
    struct pollfd fds[2] = {{.fd = script->fd, .events = POLLIN},
                            {.fd = script->stop_fd, .events = POLLIN}};
    char block[4096];
    ssize_t n;

    do
        n = poll(fds, 2, -1);
    while (n < 0 && errno == EINTR);
    if (n < 0 || fds[1].revents)
        return false;
    do
        n = read(script->fd, block, sizeof(block));
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    cli_text_add(&script->waiting, block, (size_t)n);
    return !script->waiting.failed;
}

/* What was given goes; the rest moves up. */
static void
drop_given(struct cli_script *script)
{
    struct cli_text rest = {0};

    if (script->given == 0)
        return;
    cli_text_add(&rest, script->waiting.data + script->given,
                 script->waiting.length - script->given);
    cli_text_done(&script->waiting);
    script->waiting = rest;
    script->given = 0;
}

const char *
cli_script_next(struct cli_script *script)
{
    char *end = NULL, *line;

    for (;;) {
        size_t left = script->waiting.length - script->given;

        if (left > 0)
            end = memchr(script->waiting.data + script->given, '\n', left);
        if (end || script->is_over)
            break;
        drop_given(script);
        script->is_over = !read_more(script);
    }
    if (!end && script->waiting.length == script->given)
        return NULL;
    line = script->waiting.data + script->given;
    if (end)
        *end = '\0';
    if (end && end > line && end[-1] == '\r') /* as files of Windows have it */
        end[-1] = '\0';
    script->given = end ? (size_t)(end - script->waiting.data) + 1
                        : script->waiting.length;
    return line;
}
