/*
 * helper_start.c - starting a helper: its socket, its process, and what watches both
 *
 * Its process is not waited for: it has begun when it has answered that it rests.
 */
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/crew.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/negotiate.h"

/* Until main has called mcp_isolated_enter: more than any program takes that calls it
 * first, on a machine that is very busy. */
#define START_US INT64_C(30000000)
/* After SIGKILL only the kernel is slow. */
#define REAP_US INT64_C(2000000)

/* Its stdout is our stderr too: whatever our stdout is, a pipe to a client perhaps, is
 * nothing that a tool may write to. */
static int
helper_spawn(struct mcpi_helper *helper, int theirs, mcp_error *err)
{
    bool has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    const struct mcpi_process_options opt = {
        .mem = helper->crew->isolation->mem,
        .argv = helper->crew->words,
        .env = helper->crew->env,
        .clear_env = true,
        .in = -1,
        .out = has_stderr ? STDERR_FILENO : -1,
        .err = -1,
        .own_err = !has_stderr,
        .extra = theirs,
        .has_extra = true,
        .kept = MCPI_KEPT_SELF,
        .start_us = -1, /* our timer sees to that */
    };

    return mcpi_process_spawn(&helper->process, &opt, err);
}

static int
helper_watch(struct mcpi_helper *helper, mcp_error *err)
{
    uv_loop_t *uv = mcpi_loop_uv(helper->crew->isolation->loop);

    if (helper->process.pidfd < 0)
        return mcpi_error_set(err, MCP_E_CLOSED, "it is gone at once");
    if (uv_poll_init(uv, &helper->watch, helper->process.pidfd) < 0)
        return mcpi_error_set(err, MCP_E_LIMIT, "cannot watch a process");
    helper->watch.data = helper;
    (void)uv_poll_start(&helper->watch, UV_READABLE, mcpi_helper_on_exit);
    return 0;
}

/* If there is a stream then, it has taken ours. */
static int
helper_connect(struct mcpi_helper *helper, int ours)
{
    const struct mcpi_isolation *isolation = helper->crew->isolation;
    const struct mcpi_stream_options opt = {.loop = isolation->loop,
                                            .engine = isolation->engine,
                                            .take_in = ours,
                                            .take_out = ours,
                                            .closed = mcpi_helper_hung_up,
                                            .user = helper};
    int r;

    r = mcpi_stream_new(&opt, &helper->stream);
    if (r < 0)
        return r;
    helper->wire = ours;
    r = mcpi_peer_adopt(mcpi_stream_peer(helper->stream),
                        mcp_doc_root(isolation->discovery),
                        mcpi_loop_now(isolation->loop));
    return r < 0 ? r : mcpi_helper_ask_rest(helper);
}

/* Nothing of it is known to anybody but us. */
static void
helper_undo(struct mcpi_helper *helper)
{
    mcpi_call_free(helper->call, mcpi_loop_now(helper->crew->isolation->loop));
    mcpi_stream_free(helper->stream);
    mcpi_free(helper->crew->isolation->mem, helper);
}

static struct mcpi_helper *
helper_new(struct mcpi_crew *crew)
{
    struct mcpi_helper *helper;

    helper = mcpi_alloc_zero(crew->isolation->mem, sizeof(*helper));
    if (!helper)
        return NULL;
    helper->crew = crew;
    helper->state = MCPI_HELPER_STARTING;
    helper->process = (struct mcpi_process){.pidfd = -1, .control = -1};
    mcpi_list_init(&helper->node);
    mcpi_timer_init(&helper->timer, mcpi_helper_on_timer);
    return helper;
}

static int
helper_open(struct mcpi_helper *helper, mcp_error *err)
{
    int pair[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return mcpi_error_set(err, MCP_E_LIMIT, "no descriptors left for a process");
    r = helper_connect(helper, pair[0]);
    if (r < 0)
        (void)mcpi_error_set(err, r, "%s", mcp_status_text(r));
    else
        r = helper_spawn(helper, pair[1], err);
    if (!helper->stream)
        close(pair[0]);
    close(pair[1]);
    if (r < 0)
        return r;
    r = helper_watch(helper, err);
    if (r < 0)
        (void)mcpi_process_done(&helper->process, REAP_US);
    return r;
}

int
mcpi_helper_start(struct mcpi_crew *crew, mcp_error *err)
{
    struct mcpi_loop *loop = crew->isolation->loop;
    struct mcpi_helper *helper = helper_new(crew);
    int r;

    if (!helper)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    r = helper_open(helper, err);
    if (r < 0) {
        helper_undo(helper);
        return r;
    }
    mcpi_list_append(&crew->helpers[helper->state], &helper->node);
    crew->count[helper->state]++;
    crew->isolation->live++;
    atomic_fetch_add_explicit(&crew->isolation->helpers, 1, memory_order_relaxed);
    mcpi_timer_arm(mcpi_loop_timers(loop), &helper->timer,
                   mcpi_time_add(mcpi_loop_now(loop), START_US));
    return 0;
}
