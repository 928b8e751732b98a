/*
 * command.c - a command, run for a request and ended with it
 *
 * One poll loop on the thread of the caller: output, input, the process, the request's
 * cancel. Whatever ends the command ends its whole process group, and the end is the
 * process's own: what a grandchild holds open is not waited for (M5). Of a contained
 * one all that it started is its group; a keeper sees to that (run/keeper.h).
 *
 *   RUNNING -> (exited) -> over
 *           -> TERM, grace -> KILL -> over      cancel, time limit, a callback's wish
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/request.h"
#include "api/time.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/loop.h"
#include "run/pool.h"
#include "run/process.h"
#include "run/thread.h"

#define DEFAULT_OUTPUT ((size_t)1 << 20) /* of each stream: what a model can read */
#define DEFAULT_GRACE_US 2000000         /* as for a child that is closed (M1) */
#define REAP_US 2000000                  /* after SIGKILL only the kernel is slow */
#define GROUP_MS 20 /* a group has no descriptor to wait on: look that often */
#define CHUNK 16384

enum { IN, OUT, ERR, STREAMS };
enum { PROCESS = STREAMS, CANCEL, CONTROL, FDS }; /* what is polled besides those */

struct command {
    mcp_command opt;
    const struct mcpi_loop *loop; /* whose clock it goes by */
    struct mcpi_process process;
    int pipe[STREAMS]; /* our ends; -1: closed */
    size_t fed;        /* of the input */
    struct mcpi_buf kept[STREAMS];
    bool cut;
    int cancel_fd;
    int64_t deadline; /* of the command */
    int64_t kill_at;  /* SIGKILL is due then; MCPI_NEVER: not told to end */
    int status;       /* why it was told to end; 0: it was not */
};

/* ---- pipes ------------------------------------------------------------------ */

static void
close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* A pipe of which our end does not block and the other does. */
static int
open_pipe(int *ours, int *theirs, bool we_read)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return MCP_E_LIMIT;
    *ours = ends[we_read ? 0 : 1];
    *theirs = ends[we_read ? 1 : 0];
    (void)fcntl(*ours, F_SETFL, O_NONBLOCK); /* cannot fail on a new pipe */
    return 0;
}

/* It has no longer to begin than it has in all. */
static int64_t
start_us(const struct command *c)
{
    int64_t left = c->deadline - mcpi_loop_moment(c->loop);

    return left > 1 ? left : 1;
}

static int
command_spawn(struct command *c, mcp_error *err)
{
    int theirs[STREAMS] = {-1, -1, -1};
    struct mcpi_process_options opt = {0};
    int r = 0;

    if (c->opt.input)
        r = open_pipe(&c->pipe[IN], &theirs[IN], false);
    if (r == 0)
        r = open_pipe(&c->pipe[OUT], &theirs[OUT], true);
    if (r == 0)
        r = open_pipe(&c->pipe[ERR], &theirs[ERR], true);
    if (r == 0) {
        opt.argv = c->opt.argv;
        opt.env = c->opt.env;
        opt.cwd = c->opt.cwd;
        opt.in = theirs[IN];
        opt.out = theirs[OUT];
        opt.err = theirs[ERR];
        opt.own_err = true;
        opt.kept = c->opt.contained ? MCPI_KEPT_COMMAND : MCPI_NOT_KEPT;
        opt.start_us = start_us(c);
        opt.cancel = c->cancel_fd;
        opt.has_cancel = c->cancel_fd >= 0;
        r = mcpi_process_spawn(&c->process, &opt, err);
    } else {
        mcpi_error_set(err, r, "no descriptors left for a command");
    }
    for (int i = 0; i < STREAMS; i++)
        close_fd(&theirs[i]);
    return r;
}

/* ---- what comes and goes ------------------------------------------------------ */

static void
command_keep(struct command *c, int which, const char *bytes, size_t len)
{
    struct mcpi_buf *kept = &c->kept[which];
    size_t room = c->opt.max_output - kept->len;

    if (len > room) {
        c->cut = true;
        len = room;
    }
    mcpi_buf_append(kept, bytes, len);
}

/* Tell the group to end; the first reason counts. */
static void
command_end(struct command *c, int status)
{
    int64_t grace = DEFAULT_GRACE_US;

    if (c->opt.grace_ms > 0)
        grace = mcpi_ms(c->opt.grace_ms);
    if (c->status != 0)
        return;
    c->status = status;
    c->kill_at = mcpi_time_add(mcpi_loop_moment(c->loop), grace);
    (void)mcpi_process_signal(&c->process, SIGTERM); /* gone: poll will see it */
    close_fd(&c->pipe[IN]);
}

/* Read what is there. False: nothing was. */
static bool
command_read(struct command *c, int which)
{
    char bytes[CHUNK];
    ssize_t n = read(c->pipe[which], bytes, sizeof(bytes));
    int r = 0;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        close_fd(&c->pipe[which]);
        return false;
    }
    command_keep(c, which, bytes, (size_t)n);
    if (c->opt.on_output && c->status == 0)
        r = c->opt.on_output(c->opt.user, which == ERR, bytes, (size_t)n);
    if (r < 0)
        command_end(c, r);
    return true;
}

/* A worker blocks all signals, but this may be any thread of the program's: a command
 * that closes its stdin must not kill us (M21). */
static ssize_t
write_without_signal(int fd, const char *bytes, size_t len)
{
    struct mcpi_sigpipe before;
    ssize_t n;
    int number;

    mcpi_sigpipe_hold(&before);
    n = write(fd, bytes, len);
    number = errno;
    mcpi_sigpipe_release(&before);
    errno = number;
    return n;
}

static void
command_feed(struct command *c)
{
    size_t left = c->opt.input_length - c->fed;
    ssize_t n = 0;

    if (left > 0)
        n = write_without_signal(c->pipe[IN], c->opt.input + c->fed, left);
    if (n > 0)
        c->fed += (size_t)n;
    if (c->fed == c->opt.input_length || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_fd(&c->pipe[IN]); /* all is said, or nobody listens */
}

/* ---- its life ------------------------------------------------------------------ */

static int
poll_timeout(const struct command *c, int64_t now)
{
    int64_t until = c->status != 0 ? c->kill_at : c->deadline;
    int64_t ms;

    ms = until <= now ? 0 : (until - now) / 1000 + 1;
    if (c->process.exited && ms > GROUP_MS)
        return GROUP_MS;
    return ms > 60000 ? 60000 : (int)ms;
}

/* If it was told to end, all of it has to; else what is left is ended when it is. */
static bool
command_is_over(struct command *c)
{
    bool exited = mcpi_process_poll(&c->process);

    if (c->status == 0)
        return exited || c->process.ended;
    return exited && !mcpi_process_group_lives(&c->process);
}

/* One wait; true: it is over. */
static bool
command_turn(struct command *c)
{
    struct pollfd fds[FDS] = {
        {.fd = c->pipe[IN], .events = POLLOUT},
        {.fd = c->pipe[OUT], .events = POLLIN},
        {.fd = c->pipe[ERR], .events = POLLIN},
        {.fd = c->process.exited ? -1 : c->process.pidfd, .events = POLLIN},
        {.fd = c->status != 0 ? -1 : c->cancel_fd, .events = POLLIN},
        {.fd = c->process.ended ? -1 : c->process.control, .events = POLLIN},
    };
    int64_t now = mcpi_loop_moment(c->loop);

    (void)poll(fds, FDS, poll_timeout(c, now));
    now = mcpi_loop_moment(c->loop);
    if (fds[IN].revents && c->pipe[IN] >= 0)
        command_feed(c);
    if (fds[OUT].revents)
        (void)command_read(c, OUT);
    if (fds[ERR].revents)
        (void)command_read(c, ERR);
    if (fds[CANCEL].revents)
        command_end(c, MCP_E_CANCELED);
    else if (now >= c->deadline)
        command_end(c, MCP_E_TIMEOUT);
    if (c->status != 0 && now >= c->kill_at)
        return true;
    return command_is_over(c);
}

/* What was written before the exit is in the pipes, all of it, whether it is kept or only
 * shown; nothing more is waited for, so that who holds one and writes on does not hold
 * us. */
static void
command_drain(struct command *c)
{
    for (int which = OUT; which <= ERR; which++) {
        int left = c->pipe[which] >= 0 ? fcntl(c->pipe[which], F_GETPIPE_SZ) : 0;

        for (; c->pipe[which] >= 0 && left > 0; left -= CHUNK) {
            if (!command_read(c, which))
                break;
        }
    }
}

static int
command_run(struct command *c, mcp_error *err)
{
    int r;

    r = command_spawn(c, err);
    if (r < 0)
        return r;
    while (!command_turn(c))
        continue;
    if (c->status == 0)
        command_drain(c);
    if (mcpi_process_done(&c->process, REAP_US) < 0 && c->status == 0)
        c->status = MCP_E_TIMEOUT;
    if (c->status < 0)
        return mcpi_error_set(err, c->status, "%s: %s", c->opt.argv[0],
                              mcp_status_text(c->status));
    return 0;
}

/* ---- for the handler ------------------------------------------------------------ */

/* Terminated text in memory from malloc: the result has no allocator. */
static int
give_text(struct mcpi_buf *kept, char **ret_text, size_t *ret_len)
{
    size_t len = kept->len;

    mcpi_buf_char(kept, '\0');
    if (kept->status < 0)
        return kept->status;
    *ret_text = kept->data;
    *ret_len = len;
    kept->data = NULL;
    kept->len = kept->cap = 0;
    return 0;
}

static int
command_give(struct command *c, mcp_command_result *ret, mcp_error *err)
{
    int wait_status = c->process.wait_status;
    int r;

    ret->exit_code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
    ret->signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    ret->is_cut = c->cut;
    r = give_text(&c->kept[OUT], &ret->output, &ret->output_length);
    if (r == 0)
        r = give_text(&c->kept[ERR], &ret->errors, &ret->errors_length);
    if (r < 0)
        mcpi_error_set(err, r, "no memory for the output of a command");
    return r;
}

static void
command_init(struct command *c)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);

    c->process = (struct mcpi_process){.pidfd = -1, .control = -1};
    for (int i = 0; i < STREAMS; i++)
        c->pipe[i] = -1;
    if (c->opt.max_output == 0)
        c->opt.max_output = DEFAULT_OUTPUT;
    if (c->opt.max_output == SIZE_MAX)
        c->opt.max_output--; /* one more for the zero at its end */
    for (int i = OUT; i <= ERR; i++)
        mcpi_buf_init(&c->kept[i], mem, c->opt.max_output + 1);
    c->kill_at = MCPI_NEVER;
    c->deadline = MCPI_NEVER;
    if (c->opt.timeout_ms > 0)
        c->deadline = mcpi_time_add(mcpi_loop_moment(c->loop),
                                    mcpi_ms(c->opt.timeout_ms));
}

static void
command_done(struct command *c)
{
    for (int i = 0; i < STREAMS; i++)
        close_fd(&c->pipe[i]);
    for (int i = OUT; i <= ERR; i++)
        mcpi_buf_done(&c->kept[i]);
}

int
mcp_request_command(mcp_request *req, const mcp_command *command,
                    mcp_command_result *ret_result, mcp_error *err)
{
    mcp_command_result result = {0};
    struct command c = {0};
    bool uncounted;
    int r = 0;

    if (!ret_result)
        return mcpi_error_set(err, MCP_E_INVAL, "no place for the result");
    *ret_result = result;
    if (!req || mcpi_options_read(&c.opt, sizeof(c.opt), command) < 0 || !c.opt.argv ||
        !c.opt.argv[0])
        return mcpi_error_set(err, MCP_E_INVAL, "no command");
    if (mcpi_loop_any_here())
        return mcpi_error_set(err, MCP_E_STATE, "a command would block this loop");
    c.loop = req->host->inside;
    c.cancel_fd = -1;
    if (!req->handler || !req->handler->signal_only) {
        r = mcp_request_cancel_fd(req, &c.cancel_fd);
        if (r == 0 && mcp_request_is_canceled(req))
            r = MCP_E_CANCELED;
    }
    if (r < 0)
        return mcpi_error_set(err, r, "%s: %s", c.opt.argv[0], mcp_status_text(r));
    uncounted = mcpi_pool_wait_begin() == 0; /* else it counts, as in wait.c */
    command_init(&c);
    r = command_run(&c, err);
    if (uncounted)
        mcpi_pool_wait_end();
    if (r == 0)
        r = command_give(&c, &result, err);
    if (r == 0)
        *ret_result = result;
    else
        mcp_command_result_done(&result);
    command_done(&c);
    return r;
}

void
mcp_command_result_done(mcp_command_result *result)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(NULL);

    if (!result)
        return;
    mcpi_free(mem, result->output);
    mcpi_free(mem, result->errors);
    *result = (mcp_command_result){0};
}
