/*
 * local.c - one end of a memory pair, driven by the loop of its engine
 *
 * A wake comes from either thread. On our own it is a flush, so that all that waits
 * goes into the ring at once; from the other it goes through libuv's async, whose
 * handle lives as long as we do: mcpi_pair_free returns when no wake can come any more,
 * and only then is the handle closed and, when libuv gives it back, the memory freed.
 */
#include "link/local.h"

#include "base/mem.h"

/* Steps a turn: each moves a ringful at most, and others want to be served too. */
#define STEPS 8

struct mcpi_local {
    const mcp_allocator *mem; /* the loop's: we may outlive the engine by a turn */
    struct mcpi_loop *loop;
    struct mcpi_pair_end *end;
    uv_async_t async;
    struct mcpi_flush flush;
    void (*closed)(void *user, struct mcpi_local *local);
    void *user;
    bool told;
    bool freed;
};

static void
local_tell(struct mcpi_local *local)
{
    if (local->told)
        return;
    local->told = true;
    if (local->closed)
        local->closed(local->user, local); /* it may be freed now */
}

/* What comes home meanwhile may free us; the memory stays for this turn. */
static void
local_step(struct mcpi_local *local)
{
    int r = 1;

    for (int i = 0; r > 0 && i < STEPS; i++)
        r = mcpi_pair_step(local->end, mcpi_loop_now(local->loop));
    if (local->freed)
        return;
    if (r > 0)
        mcpi_loop_flush(local->loop, &local->flush);
    else if (r < 0)
        local_tell(local);
}

static void
on_flush(struct mcpi_flush *flush)
{
    local_step(MCPI_CONTAINER(flush, struct mcpi_local, flush));
}

static void
on_async(uv_async_t *async)
{
    struct mcpi_local *local = async->data;

    mcpi_loop_flush(local->loop, &local->flush);
}

static void
on_wake(void *user)
{
    struct mcpi_local *local = user;

    if (mcpi_loop_is_here(local->loop))
        mcpi_loop_flush(local->loop, &local->flush);
    else
        (void)uv_async_send(&local->async); /* fails only on a closed handle */
}

/* As in a stream: what came home before it was read wins (F10). */
static void
on_arriving(void *user)
{
    struct mcpi_local *local = user;

    mcpi_loop_run_posts(local->loop);
}

static void
on_handle_closed(uv_handle_t *handle)
{
    struct mcpi_local *local = handle->data;

    mcpi_free(local->mem, local);
}

static void
local_bury(struct mcpi_local *local)
{
    local->freed = true;
    mcpi_flush_cancel(&local->flush);
    uv_close((uv_handle_t *)&local->async, on_handle_closed);
}

int
mcpi_local_new(const struct mcpi_local_options *opt, struct mcpi_local **ret_local)
{
    struct mcpi_pair_side side = {
        .engine = opt->engine, .wake = on_wake, .arriving = on_arriving};
    const mcp_allocator *mem = mcpi_loop_mem(opt->loop);
    struct mcpi_local *local;
    int r;

    local = mcpi_alloc_zero(mem, sizeof(*local));
    if (!local)
        return MCP_E_NOMEM;
    local->mem = mem;
    local->loop = opt->loop;
    local->closed = opt->closed;
    local->user = opt->user;
    mcpi_flush_init(&local->flush, on_flush);
    if (uv_async_init(mcpi_loop_uv(opt->loop), &local->async, on_async) < 0) {
        mcpi_free(mem, local);
        return MCP_E_LIMIT;
    }
    local->async.data = local;
    side.wake_user = local;
    r = mcpi_pair_open(opt->pair, opt->index, &side, &local->end);
    if (r < 0) {
        local_bury(local);
        return r;
    }
    mcpi_loop_flush(local->loop, &local->flush); /* the other end may have written */
    *ret_local = local;
    return 0;
}

void
mcpi_local_free(struct mcpi_local *local)
{
    if (!local)
        return;
    mcpi_pair_free(local->end, mcpi_loop_now(local->loop));
    local_bury(local);
}

struct mcpi_peer *
mcpi_local_peer(const struct mcpi_local *local)
{
    return mcpi_pair_peer(local->end);
}

struct mcpi_pair_end *
mcpi_local_end(const struct mcpi_local *local)
{
    return local->end;
}
