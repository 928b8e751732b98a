/* reach.c - how a client reaches its server */
#include "api/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"

void
mcpi_reach_init(struct mcpi_reach *reach)
{
    *reach = (struct mcpi_reach){.in = -1, .out = -1, .err = -1};
}

static void
descriptor_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void
mcpi_reach_done(struct mcpi_reach *reach, const mcp_allocator *mem)
{
    if (reach->out != reach->in)
        descriptor_close(&reach->out);
    descriptor_close(&reach->in);
    descriptor_close(&reach->err);
    mcpi_pair_unmake(reach->pair, 0);
    mcpi_free(mem, reach->command);
    if (reach->way)
        reach->way->free(reach->way);
    mcpi_reach_init(reach);
}

/* ---- what the caller gave ------------------------------------------------ */

static int
descriptor_copy(int fd, int *ret_fd, mcp_error *err)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    if (copy < 0)
        return mcpi_error_set(err, MCP_E_LIMIT, "descriptor %d cannot be copied: %s",
                              fd, strerror(errno));
    *ret_fd = copy;
    return 0;
}

static int
descriptor_check(int fd, mcp_error *err)
{
    if (fcntl(fd, F_GETFD) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "descriptor %d is not open", fd);
    return 0;
}

int
mcpi_reach_check(int in, int out, mcp_error *err)
{
    int r;

    r = descriptor_check(in, err);
    return r < 0 ? r : descriptor_check(out, err);
}

int
mcpi_reach_descriptors(struct mcpi_reach *reach, int in, int out, mcp_error *err)
{
    int r;

    r = descriptor_copy(in, &reach->in, err);
    if (r < 0)
        return r;
    if (in == out) {
        reach->out = reach->in;
        return 0;
    }
    return descriptor_copy(out, &reach->out, err);
}

struct measure {
    size_t count; /* of texts, without the NULL at the end */
    size_t bytes; /* of texts, with their terminators */
};

static void
measure_add(struct measure *measure, const char *const *list)
{
    for (; list && *list; list++) {
        measure->count++;
        measure->bytes += strlen(*list) + 1;
    }
}

static char *
text_copy(char **at, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = *at;

    memcpy(copy, text, size);
    *at += size;
    return copy;
}

/* Copy a list and its NULL to where the pointers go; returns where the next ones go. */
static char **
list_copy(char **into, char **at, const char *const *list)
{
    for (; list && *list; list++)
        *into++ = text_copy(at, *list);
    *into++ = NULL;
    return into;
}

static int
command_copy(struct mcpi_reach *reach, const char *const *argv,
             const mcp_client_options *opt, const mcp_allocator *mem)
{
    struct measure measure = {0, opt->cwd ? strlen(opt->cwd) + 1 : 0};
    size_t pointers;
    char *at;

    measure_add(&measure, argv);
    measure_add(&measure, opt->env);
    pointers = (measure.count + 2) * sizeof(char *);
    reach->command = mcpi_alloc(mem, pointers + measure.bytes);
    if (!reach->command)
        return MCP_E_NOMEM;
    at = (char *)reach->command + pointers;
    reach->env = list_copy(reach->command, &at, argv);
    (void)list_copy(reach->env, &at, opt->env);
    reach->cwd = opt->cwd ? text_copy(&at, opt->cwd) : NULL;
    return 0;
}

int
mcpi_reach_command(struct mcpi_reach *reach, const char *const *argv,
                   const mcp_client_options *opt, const mcp_allocator *mem,
                   mcp_error *err)
{
    if (!argv || !argv[0])
        return mcpi_error_set(err, MCP_E_INVAL, "there is no program to start");
    if (opt->exit_ms < 0 || opt->term_ms < 0 || opt->kill_ms < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "a time must not be negative");
    reach->times.exit = mcpi_ms(opt->exit_ms);
    reach->times.term = mcpi_ms(opt->term_ms);
    reach->times.reap = mcpi_ms(opt->kill_ms);
    reach->own_err = opt->quiet || opt->stderr_fd > 0;
    reach->clear_env = opt->clean_env;
    reach->death_signal = opt->die_with_us ? SIGKILL : 0;
    if (command_copy(reach, argv, opt, mem) < 0)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    if (opt->quiet || opt->stderr_fd <= 0)
        return 0;
    return descriptor_copy(opt->stderr_fd, &reach->err, err);
}

/* ---- on the loop --------------------------------------------------------- */

static void
stream_closed(void *user, struct mcpi_stream *stream)
{
    struct mcpi_reach *reach = user;

    if (reach->child)
        reach->in = mcpi_stream_take_input(stream); /* it is read on (M8) */
    reach->stream = NULL;
    mcpi_stream_free(stream);
    reach->closed(reach->user);
}

static void
local_closed(void *user, struct mcpi_local *local)
{
    struct mcpi_reach *reach = user;

    reach->local = NULL;
    mcpi_local_free(local);
    reach->closed(reach->user);
}

/* Whoever else holds its pipes, nobody answers any more (M5, M14). */
static void
child_exited(void *user, int wait_status)
{
    struct mcpi_reach *reach = user;

    if (reach->has_exited)
        return;
    reach->has_exited = true;
    reach->exit_status = wait_status;
    if (reach->stream)
        mcpi_stream_finish(reach->stream);
    reach->exited(reach->user);
}

static void
child_reaped(void *user, int wait_status)
{
    struct mcpi_reach *reach = user;

    child_exited(reach, wait_status); /* unless it did before we asked it to */
    reach->reaped(reach->user);
}

static void
way_closed(void *user)
{
    struct mcpi_reach *reach = user;

    reach->closed(reach->user);
}

static int
open_way(struct mcpi_reach *reach, const struct mcpi_ground *ground,
         struct mcpi_peer **ret_peer, mcp_error *err)
{
    reach->way->closed = way_closed;
    reach->way->user = reach;
    return reach->way->open(reach->way, ground, ret_peer, err);
}

static int
open_child(struct mcpi_reach *reach, const struct mcpi_ground *ground, mcp_error *err)
{
    const struct mcpi_child_options opt = {
        .loop = ground->loop,
        .process = {.mem = ground->mem,
                    .argv = (const char *const *)reach->command,
                    .env = (const char *const *)reach->env,
                    .clear_env = reach->clear_env,
                    .cwd = reach->cwd,
                    .err = reach->err,
                    .own_err = reach->own_err,
                    .death_signal = reach->death_signal},
        .times = reach->times,
        .exited = child_exited,
        .user = reach,
    };
    int r;

    r = mcpi_child_new(&opt, &reach->child, &reach->out, &reach->in, err);
    descriptor_close(&reach->err);
    mcpi_free(ground->mem, reach->command);
    reach->command = NULL;
    return r;
}

static int
open_stream(struct mcpi_reach *reach, const struct mcpi_ground *ground)
{
    const struct mcpi_stream_options opt = {
        .loop = ground->loop,
        .engine = ground->engine,
        .take_in = reach->in,
        .take_out = reach->out,
        .closed = stream_closed,
        .user = reach,
    };
    int r;

    r = mcpi_stream_new(&opt, &reach->stream);
    if (r == 0)
        reach->in = reach->out = -1;
    return r;
}

static int
open_local(struct mcpi_reach *reach, const struct mcpi_ground *ground)
{
    const struct mcpi_local_options opt = {
        .loop = ground->loop,
        .engine = ground->engine,
        .pair = reach->pair,
        .index = 0,
        .closed = local_closed,
        .user = reach,
    };
    int r;

    r = mcpi_local_new(&opt, &reach->local);
    if (r == 0)
        reach->pair = NULL;
    return r;
}

int
mcpi_reach_open(struct mcpi_reach *reach, const struct mcpi_ground *ground,
                struct mcpi_peer **ret_peer, mcp_error *err)
{
    int r = 0;

    if (reach->way)
        return open_way(reach, ground, ret_peer, err);
    if (reach->command) {
        r = open_child(reach, ground, err);
        if (r < 0)
            return r;
    }
    r = reach->pair ? open_local(reach, ground) : open_stream(reach, ground);
    if (r < 0)
        return mcpi_error_set(err, r, "no link could be made: %s", mcp_status_text(r));
    *ret_peer = reach->local ? mcpi_local_peer(reach->local)
                             : mcpi_stream_peer(reach->stream);
    return 0;
}

bool
mcpi_reach_reap(struct mcpi_reach *reach)
{
    struct mcpi_child *child = reach->child;
    int in = reach->in;

    if (!child)
        return false;
    descriptor_close(&reach->out); /* still here if the link could not be made */
    reach->child = NULL;
    reach->in = -1;
    mcpi_child_close(child, in, child_reaped, reach);
    return true;
}
