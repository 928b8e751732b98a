/*
 * child.c - a child process on a loop
 *
 * The exit of the leader is an event, of its pidfd. For the rest of the group there is
 * none: once the leader is dead, a timer looks after it, more and more seldom. All that
 * ends a ladder goes through child_look, which looks before it signals.
 *
 * Nothing is freed while libuv has a handle of ours: it is told to close them and calls
 * back, and the last one takes the child with it.
 */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define DEFAULT_US 2000000
#define TICK_FIRST_US 20000 /* between two looks at a group without its leader */
#define TICK_LAST_US 100000
#define DRAIN_BYTES 16384 /* at a time */
#define DRAIN_READS 16    /* a turn, so that the others have theirs */

enum rung {
    LIVES, /* nobody wants its end */
    EXIT,  /* it may go by itself */
    TERM,
    KILL,
};

struct mcpi_child {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_process process;
    struct mcpi_child_times times;
    void (*exited)(void *user, int wait_status); /* NULL once called */
    void *user;
    enum rung rung;
    int64_t deadline; /* of the rung */
    int64_t tick;
    struct mcpi_timer timer; /* the next look */
    uv_poll_t watch;         /* on the pidfd */
    uv_poll_t drain;         /* on out */
    int out;                 /* -1: nothing to read */
    bool watches, drains;    /* the handle is open */
    void (*done)(void *user, int wait_status);
    void *done_user;
};

/* ---- its end ------------------------------------------------------------------ */

static void
child_free_unless_open(struct mcpi_child *child)
{
    void (*done)(void *user, int wait_status) = child->done;
    void *user = child->done_user;
    int status = child->process.exited ? child->process.wait_status : MCPI_WAIT_UNKNOWN;

    if (child->watches || child->drains)
        return;
    mcpi_free(child->mem, child);
    if (done)
        done(user, status);
}

static void
on_watch_closed(uv_handle_t *handle)
{
    struct mcpi_child *child = handle->data;

    child->watches = false;
    child_free_unless_open(child);
}

static void
on_drain_closed(uv_handle_t *handle)
{
    struct mcpi_child *child = handle->data;

    child->drains = false;
    child_free_unless_open(child);
}

/* Before the process is done with: a descriptor may be closed once its handle is. */
static void
child_let_go(struct mcpi_child *child)
{
    mcpi_timer_disarm(mcpi_loop_timers(child->loop), &child->timer);
    if (child->watches)
        uv_close((uv_handle_t *)&child->watch, on_watch_closed);
    if (child->drains)
        uv_close((uv_handle_t *)&child->drain, on_drain_closed);
    if (child->out >= 0)
        close(child->out);
}

static void
child_give_up(const struct mcpi_child *child, pid_t pid)
{
    MCPI_LOG(mcpi_loop_log(child->loop), MCP_LOG_WARNING,
             "process %ld or its group does not end: given up", (long)pid);
}

static void
child_end(struct mcpi_child *child)
{
    child_let_go(child);
    (void)mcpi_process_done(&child->process, 0); /* reaped, or given up and told so */
    child_free_unless_open(child);
}

/* ---- the ladder --------------------------------------------------------------- */

/* False: nobody is left to signal. Not being allowed to is no reason to stop (M9). */
static bool
child_climb(struct mcpi_child *child, int64_t now)
{
    bool first = child->rung == EXIT;
    int r;

    r = mcpi_process_signal(&child->process, first ? SIGTERM : SIGKILL);
    child->rung = first ? TERM : KILL;
    child->deadline = mcpi_time_add(now, first ? child->times.term : child->times.reap);
    return r != MCP_E_CLOSED;
}

/* While the leader lives, its exit or the deadline is next; then only time can tell. */
static void
child_arm(struct mcpi_child *child, int64_t now)
{
    int64_t next = child->deadline;

    if (child->process.exited) {
        if (mcpi_time_add(now, child->tick) < next)
            next = mcpi_time_add(now, child->tick);
        child->tick *= 2;
        if (child->tick > TICK_LAST_US)
            child->tick = TICK_LAST_US;
    }
    mcpi_timer_arm(mcpi_loop_timers(child->loop), &child->timer, next);
}

static void
child_look(struct mcpi_child *child, int64_t now)
{
    bool over = !mcpi_process_group_lives(&child->process);

    if (!over && now >= child->deadline) {
        over = child->rung == KILL;
        if (over)
            child_give_up(child, child->process.pid);
        else
            over = !child_climb(child, now);
    }
    if (over)
        child_end(child);
    else
        child_arm(child, now);
}

/* ---- events ------------------------------------------------------------------- */

static void
child_tell_exit(struct mcpi_child *child)
{
    void (*exited)(void *user, int wait_status) = child->exited;

    child->exited = NULL;
    if (exited)
        exited(child->user, child->process.wait_status);
}

static void
on_watch(uv_poll_t *handle, int status, int events)
{
    struct mcpi_child *child = handle->data;

    (void)status;
    (void)events;
    if (!mcpi_process_poll(&child->process))
        return;
    uv_poll_stop(&child->watch);
    if (child->rung == LIVES)
        child_tell_exit(child);
    else
        child_look(child, mcpi_loop_moment(child->loop));
}

static void
on_timer(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_child *child = MCPI_CONTAINER(timer, struct mcpi_child, timer);

    if (child->rung == LIVES)
        child_tell_exit(child);
    else
        child_look(child, now);
}

static void
on_drain(uv_poll_t *handle, int status, int events)
{
    struct mcpi_child *child = handle->data;
    char bytes[DRAIN_BYTES];
    ssize_t n = 1;

    (void)status;
    (void)events;
    for (int i = 0; i < DRAIN_READS && n > 0; i++)
        n = read(child->out, bytes, sizeof(bytes));
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        uv_poll_stop(&child->drain);
}

/* ---- making it ---------------------------------------------------------------- */

struct pipes {
    int in[2], out[2];
};

static void
close_if_open(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void
pipes_close(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_if_open(&pipes->in[i]);
        close_if_open(&pipes->out[i]);
    }
}

/* Only our ends do not block: each end has a flag of its own. */
static int
pipes_open(struct pipes *pipes, mcp_error *err)
{
    *pipes = (struct pipes){.in = {-1, -1}, .out = {-1, -1}};
    if (pipe2(pipes->in, O_CLOEXEC) == 0 && pipe2(pipes->out, O_CLOEXEC) == 0 &&
        fcntl(pipes->in[1], F_SETFL, O_NONBLOCK) == 0 &&
        fcntl(pipes->out[0], F_SETFL, O_NONBLOCK) == 0)
        return 0;
    pipes_close(pipes);
    return mcpi_error_set(err, MCP_E_LIMIT, "no descriptors left for pipes");
}

static int64_t
time_or_default(int64_t us)
{
    return us == 0 ? DEFAULT_US : us;
}

static struct mcpi_child *
child_make(const struct mcpi_child_options *opt)
{
    const mcp_allocator *mem = mcpi_loop_mem(opt->loop);
    struct mcpi_child *child = mcpi_alloc_zero(mem, sizeof(*child));

    if (!child)
        return NULL;
    child->mem = mem;
    child->loop = opt->loop;
    child->times.exit = time_or_default(opt->times.exit);
    child->times.term = time_or_default(opt->times.term);
    child->times.reap = time_or_default(opt->times.reap);
    child->exited = opt->exited;
    child->user = opt->user;
    child->rung = LIVES;
    child->tick = TICK_FIRST_US;
    child->out = -1;
    mcpi_timer_init(&child->timer, on_timer);
    return child;
}

/* One that the program around us has waited for already can only be told of. */
static int
child_watch(struct mcpi_child *child, mcp_error *err)
{
    uv_loop_t *uv = mcpi_loop_uv(child->loop);

    if (child->process.pidfd < 0) {
        mcpi_timer_arm(mcpi_loop_timers(child->loop), &child->timer,
                       mcpi_loop_moment(child->loop));
        return 0;
    }
    if (uv_poll_init(uv, &child->watch, child->process.pidfd) < 0)
        return mcpi_error_set(err, MCP_E_LIMIT, "cannot watch a process");
    child->watches = true;
    child->watch.data = child;
    (void)uv_poll_start(&child->watch, UV_READABLE, on_watch);
    return 0;
}

static int
child_start(struct mcpi_child *child, const struct mcpi_child_options *opt,
            const struct pipes *pipes, mcp_error *err)
{
    struct mcpi_process_options process = opt->process;
    int r;

    process.mem = child->mem;
    process.in = pipes->in[0];
    process.out = pipes->out[1];
    r = mcpi_process_spawn(&child->process, &process, err);
    if (r < 0)
        return r;
    r = child_watch(child, err);
    if (r < 0)
        (void)mcpi_process_done(&child->process, child->times.reap);
    return r;
}

int
mcpi_child_new(const struct mcpi_child_options *opt, struct mcpi_child **ret_child,
               int *ret_in, int *ret_out, mcp_error *err)
{
    struct mcpi_child *child;
    struct pipes pipes;
    int r;

    child = child_make(opt);
    if (!child)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory starting a process");
    r = pipes_open(&pipes, err);
    if (r == 0)
        r = child_start(child, opt, &pipes, err);
    if (r < 0) {
        pipes_close(&pipes);
        mcpi_free(child->mem, child);
        return r;
    }
    close(pipes.in[0]);
    close(pipes.out[1]);
    *ret_child = child;
    *ret_in = pipes.in[1];
    *ret_out = pipes.out[0];
    return 0;
}

pid_t
mcpi_child_pid(const struct mcpi_child *child)
{
    return child->process.pid;
}

/* One that cannot be watched is closed: who writes to it gets an error, at least. */
static void
child_drain(struct mcpi_child *child, int take_out)
{
    uv_loop_t *uv = mcpi_loop_uv(child->loop);

    if (take_out < 0)
        return;
    if (uv_poll_init(uv, &child->drain, take_out) < 0) {
        close(take_out);
        return;
    }
    child->out = take_out;
    child->drains = true;
    child->drain.data = child;
    (void)uv_poll_start(&child->drain, UV_READABLE, on_drain);
}

void
mcpi_child_close(struct mcpi_child *child, int take_out,
                 void (*done)(void *user, int wait_status), void *user)
{
    int64_t now = mcpi_loop_moment(child->loop);

    child->done = done;
    child->done_user = user;
    child->rung = EXIT;
    child->deadline = mcpi_time_add(now, child->times.exit);
    child_drain(child, take_out);
    /* the first look is not from inside, as it may be the last */
    mcpi_timer_arm(mcpi_loop_timers(child->loop), &child->timer, now);
}

void
mcpi_child_kill(struct mcpi_child *child)
{
    pid_t pid;

    if (!child)
        return;
    pid = child->process.pid;
    child_let_go(child);
    if (mcpi_process_done(&child->process, child->times.reap) < 0)
        child_give_up(child, pid);
    child_free_unless_open(child);
}
