/*
 * desk.h - a user at a desk: a run of mcpctl in this process, with a terminal of its
 * own
 *
 * The terminal is a pseudo terminal. What is typed before somebody asks waits there, so
 * most tests type first and call then, on one thread. Everything asserts.
 */
#ifndef TESTS_CLI_DESK_H
#define TESTS_CLI_DESK_H

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

#include "cli/ask_terminal.h"
#include "cli/cli.h"
#include "support/test.h"

struct desk {
    struct cli cli;
    int master, slave;
    int saved_err, heard_fd;
    char path[64];     /* of the terminal */
    char shown[32768]; /* what was written to the terminal */
    char heard[16384]; /* what was written to stderr */
    size_t shown_length;
};

static inline void
desk_open(struct desk *desk)
{
    memset(desk, 0, sizeof(*desk));
    desk->saved_err = -1;
    cli_say_init(&desk->cli.say, false, false, false);
    assert_int_equal(mcp_scope_new(NULL, &desk->cli.scope), 0);
    desk->cli.may_ask = true;
    desk->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(desk->master >= 0);
    assert_int_equal(grantpt(desk->master), 0);
    assert_int_equal(unlockpt(desk->master), 0);
    assert_int_equal(ptsname_r(desk->master, desk->path, sizeof(desk->path)), 0);
    desk->slave = open(desk->path, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(desk->slave >= 0);
    cli_turn_use(desk->path);
}

static inline void
desk_close(struct desk *desk)
{
    cli_turn_use(NULL);
    close(desk->slave);
    close(desk->master);
    mcp_scope_free(desk->cli.scope);
    cli_say_done(&desk->cli.say);
}

static inline void
desk_type(struct desk *desk, const char *text)
{
    assert_int_equal(write(desk->master, text, strlen(text)), (ssize_t)strlen(text));
}

/* What was written to the terminal so far, echoes included. */
static inline const char *
desk_shown(struct desk *desk)
{
    struct pollfd fd = {.fd = desk->master, .events = POLLIN};
    ssize_t n = 1;

    while (n > 0 && poll(&fd, 1, 0) > 0) {
        size_t room = sizeof(desk->shown) - 1 - desk->shown_length;

        assert_true(room > 0);
        n = read(desk->master, desk->shown + desk->shown_length, room);
        desk->shown_length += n > 0 ? (size_t)n : 0;
    }
    return desk->shown;
}

/* Waits until this was written there. */
static inline void
desk_until(struct desk *desk, const char *text)
{
    struct pollfd fd = {.fd = desk->master, .events = POLLIN};

    while (!strstr(desk_shown(desk), text))
        assert_int_equal(poll(&fd, 1, 50000), 1);
}

/* From now on stderr is heard, until: desk->heard has it. No asserts between, since
 * they would be heard, too. */
static inline void
desk_hear(struct desk *desk)
{
    desk->heard_fd = memfd_create("heard", MFD_CLOEXEC);
    assert_true(desk->heard_fd >= 0);
    desk->saved_err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_true(desk->saved_err >= 0);
    assert_true(dup2(desk->heard_fd, STDERR_FILENO) >= 0);
}

static inline const char *
desk_heard(struct desk *desk)
{
    ssize_t n;

    assert_true(dup2(desk->saved_err, STDERR_FILENO) >= 0);
    n = pread(desk->heard_fd, desk->heard, sizeof(desk->heard) - 1, 0);
    desk->heard[n > 0 ? n : 0] = '\0';
    close(desk->saved_err);
    close(desk->heard_fd);
    return desk->heard;
}

/* JSON with ' instead of ", parsed. */
static inline mcp_doc *
desk_json(const char *text)
{
    char *copy = strdup(text);
    mcp_doc *doc = NULL;

    assert_non_null(copy);
    for (char *at = copy; *at; at++)
        if (*at == '\'')
            *at = '"';
    assert_int_equal(mcp_doc_parse(copy, strlen(copy), NULL, &doc, NULL), 0);
    free(copy);
    return doc;
}

/* Fails unless `text` has this in it, and shows both. */
static inline void
assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

#endif
