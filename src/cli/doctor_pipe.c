/* doctor_pipe.c - a server started by hand, so that each byte of its stdout is seen */
#include "cli/doctor_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/doctor.h"
#include "cli/error.h"

#define SLICE_MS 10             /* between two looks at whether it lives */
#define LINE_BYTES (64ul << 20) /* longer ones are no messages */

static bool
is_late(const struct cli_pipe *pipe, int64_t until)
{
    return cli_now_ms() >= until || (pipe->scope && mcp_scope_is_over(pipe->scope));
}

/* ---- starting it ---------------------------------------------------------------- */

static bool
is_named_in(const char *entry, const char *const *env)
{
    size_t length = strcspn(entry, "=");

    for (; env && *env; env++)
        if (strncmp(entry, *env, length) == 0 && (*env)[length] == '=')
            return true;
    return false;
}

/* Ours, and what is added, which wins; of two that are added the last. The texts are
 * borrowed. */
static char **
env_make(const char *const *env)
{
    size_t count = 0, added = 0, used = 0;
    char **all;

    while (environ[count])
        count++;
    while (env && env[added])
        added++;
    all = calloc(count + added + 1, sizeof(*all));
    for (size_t i = 0; all && i < count; i++)
        if (!is_named_in(environ[i], env))
            all[used++] = environ[i];
    for (size_t i = 0; all && i < added; i++)
        if (!is_named_in(env[i], env + i + 1))
            memcpy(&all[used++], &env[i], sizeof(*all));
    return all;
}

static int
spawn(const int fds[3], char *const *argv, char *const *env, const char *cwd,
      pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int r = 0;

    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    for (int i = 0; r == 0 && i < 3; i++)
        r = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
    if (r == 0 && cwd)
        r = posix_spawn_file_actions_addchdir_np(&actions, cwd);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setsigdefault(&attributes, &all);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                                    POSIX_SPAWN_SETSIGMASK |
                                                    POSIX_SPAWN_SETSIGDEF);
    if (r == 0)
        r = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv, env);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return r;
}

static void
close_all(int *fds, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

static bool
pipes_make(int fds[6])
{
    for (size_t i = 0; i < 6; i++)
        fds[i] = -1;
    for (size_t i = 0; i < 6; i += 2) {
        if (pipe2(&fds[i], O_CLOEXEC) < 0) {
            close_all(fds, 6);
            return false;
        }
    }
    return true;
}

int
cli_pipe_open(struct cli_pipe *pipe, char *const *argv, const char *const *env,
              const char *cwd, mcp_scope *scope, mcp_error *err)
{
    char **all = env_make(env);
    int fds[6], r;

    memset(pipe, 0, sizeof(*pipe));
    pipe->in = pipe->out = pipe->err = -1;
    pipe->scope = scope;
    if (!all)
        return cli_error(err, MCP_E_NOMEM, "%.100s: %s", argv[0], strerror(ENOMEM));
    if (!pipes_make(fds)) {
        free(all);
        return cli_error(err, MCP_E_LIMIT, "%.100s: %s", argv[0], strerror(errno));
    }
    r = spawn((const int[3]){fds[0], fds[3], fds[5]}, argv, all, cwd, &pipe->pid);
    free(all);
    close_all((int[3]){fds[0], fds[3], fds[5]}, 3);
    if (r != 0) {
        close_all((int[3]){fds[1], fds[2], fds[4]}, 3);
        pipe->pid = 0;
        return cli_error(err, MCP_E_INVAL, "%.100s: %s", argv[0], strerror(r));
    }
    pipe->in = fds[1];
    pipe->out = fds[2];
    pipe->err = fds[4];
    for (size_t i = 0; i < 3; i++) {
        int fd = (const int[3]){pipe->in, pipe->out, pipe->err}[i];

        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* ---- reading -------------------------------------------------------------------- */

static void
drop(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void
read_errors(struct cli_pipe *pipe)
{
    char bytes[4096];
    ssize_t got = read(pipe->err, bytes, sizeof(bytes));

    if (got > 0)
        pipe->error_bytes += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        drop(&pipe->err);
}

static void
read_output(struct cli_pipe *pipe)
{
    char bytes[16384];
    ssize_t got = read(pipe->out, bytes, sizeof(bytes));

    if (got > 0)
        cli_text_add(&pipe->text, bytes, (size_t)got);
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        drop(&pipe->out);
}

/* Reads what is there, or comes in a moment. */
static void
look(struct cli_pipe *pipe)
{
    struct pollfd fds[2] = {{.fd = pipe->out, .events = POLLIN},
                            {.fd = pipe->err, .events = POLLIN}};

    if (poll(fds, 2, SLICE_MS) <= 0)
        return;
    if (fds[0].revents)
        read_output(pipe);
    if (fds[1].revents)
        read_errors(pipe);
}

static void
foreign_line(struct cli_pipe *pipe, const char *line, size_t length)
{
    struct cli_text shown = {0};

    if (pipe->foreign++ > 0)
        return;
    cli_text_add_harmless(&shown, line, length < 100 ? length : 100, true);
    (void)snprintf(pipe->first_foreign, sizeof(pipe->first_foreign), "%s",
                   cli_text_string(&shown));
    cli_text_done(&shown);
}

/* A line as a message; NULL: it is none, which is noted. */
static mcp_doc *
line_read(struct cli_pipe *pipe, const char *line, size_t length)
{
    mcp_doc *doc;

    while (length > 0 && strchr(" \t\r", line[length - 1]))
        length--;
    if (length == 0)
        return NULL;
    if (mcp_doc_parse(line, length, NULL, &doc, NULL) < 0) {
        foreign_line(pipe, line, length);
        return NULL;
    }
    if (!cli_message_is(mcp_doc_root(doc))) {
        foreign_line(pipe, line, length);
        mcp_doc_free(doc);
        return NULL;
    }
    pipe->lines++;
    return doc;
}

/* The next whole line that is a message; at_end: also one without newline. NULL:
 * none. */
static mcp_doc *
next_message(struct cli_pipe *pipe, bool at_end)
{
    mcp_doc *doc = NULL;
    char *newline;
    size_t length;

    while (!doc && pipe->text.length > 0) {
        newline = memchr(pipe->text.data, '\n', pipe->text.length);
        if (!newline && !at_end)
            return NULL;
        length = newline ? (size_t)(newline - pipe->text.data) : pipe->text.length;
        doc = line_read(pipe, pipe->text.data, length);
        if (newline)
            length++;
        pipe->text.length -= length;
        memmove(pipe->text.data, pipe->text.data + length, pipe->text.length);
        pipe->text.data[pipe->text.length] = '\0';
    }
    return doc;
}

int
cli_pipe_answer(struct cli_pipe *pipe, int id, int64_t ms, mcp_doc **ret_answer)
{
    int64_t until = cli_now_ms() + ms;
    bool late = false;
    mcp_doc *doc;

    for (;;) {
        doc = next_message(pipe, pipe->out < 0);
        if (doc && cli_message_answers(mcp_doc_root(doc), id)) {
            *ret_answer = doc;
            return 0;
        }
        mcp_doc_free(doc);
        if (doc)
            continue;
        if (pipe->out < 0)
            return MCP_E_CLOSED;
        if (pipe->text.length > LINE_BYTES || pipe->text.failed)
            return MCP_E_LIMIT;
        if (late)
            return MCP_E_TIMEOUT;
        late = is_late(pipe,
                       until); /* what came in time is read, however late we are */
        look(pipe);
    }
}

/* ---- writing and ending --------------------------------------------------------- */

bool
cli_pipe_say(struct cli_pipe *pipe, const char *line, int64_t ms)
{
    int64_t until = cli_now_ms() + ms;
    size_t length = strlen(line), written = 0;
    ssize_t n;

    while (pipe->in >= 0 && written <= length) {
        n = written < length ? write(pipe->in, line + written, length - written)
                             : write(pipe->in, "\n", 1);
        if (n > 0) {
            written += (size_t)n;
            continue;
        }
        if ((errno != EAGAIN && errno != EINTR) || is_late(pipe, until))
            return false;
        look(pipe); /* it may wait for us to read */
    }
    return written > length;
}

int
cli_pipe_ask(struct cli_pipe *pipe, const char *line, int id, int64_t ms,
             mcp_doc **ret_answer)
{
    /* also if it cannot be said: what is read then tells why */
    (void)cli_pipe_say(pipe, line, ms);
    return cli_pipe_answer(pipe, id, ms, ret_answer);
}

void
cli_pipe_end_input(struct cli_pipe *pipe)
{
    drop(&pipe->in);
}

static bool
has_ended(struct cli_pipe *pipe)
{
    if (!pipe->is_ended && waitpid(pipe->pid, &pipe->status, WNOHANG) == pipe->pid)
        pipe->is_ended = true;
    return pipe->is_ended;
}

/* What stands in the pipes although nobody is there any more. */
static void
read_rest(struct cli_pipe *pipe)
{
    mcp_doc *doc;

    for (int i = 0; i < 64 && (pipe->out >= 0 || pipe->err >= 0); i++) {
        if (pipe->out >= 0)
            read_output(pipe);
        if (pipe->err >= 0)
            read_errors(pipe);
    }
    for (doc = next_message(pipe, true); doc; doc = next_message(pipe, true))
        mcp_doc_free(doc);
}

bool
cli_pipe_wait(struct cli_pipe *pipe, int64_t ms)
{
    int64_t until = cli_now_ms() + ms;
    bool late = false;
    mcp_doc *doc;

    while (!has_ended(pipe)) {
        if (late)
            return false;
        late = is_late(pipe, until); /* what ended in time has, however late we are */
        look(pipe);
        if (pipe->out < 0 && pipe->err < 0)
            (void)poll(NULL, 0, 1); /* nothing to read, and still there */
        for (doc = next_message(pipe, false); doc; doc = next_message(pipe, false))
            mcp_doc_free(doc);
    }
    read_rest(pipe);
    return true;
}

/* A line that never ended is no message; but what begins as one may have been cut. */
static void
note_rest(struct cli_pipe *pipe)
{
    const char *text = cli_text_string(&pipe->text);

    if (pipe->text.length > 0 && *text != '{' && *text != '[')
        foreign_line(pipe, text, pipe->text.length);
}

void
cli_pipe_close(struct cli_pipe *pipe)
{
    if (pipe->pid > 0 && !has_ended(pipe)) {
        (void)kill(pipe->pid, SIGKILL);
        while (waitpid(pipe->pid, &pipe->status, 0) < 0 && errno == EINTR)
            continue;
        pipe->is_ended = true;
    }
    if (pipe->pid > 0) {
        drop(&pipe->in);
        drop(&pipe->out);
        drop(&pipe->err);
    }
    note_rest(pipe);
    pipe->pid = 0;
    cli_text_done(&pipe->text);
}
