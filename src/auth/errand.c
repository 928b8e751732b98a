/* errand.c - what may block, done elsewhere, one after the other */
#include "auth/errand.h"

#include <stdatomic.h>

#include "base/mem.h"

struct mcpi_errands {
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_lane lane;
    atomic_uint refs; /* who has it, and the lane while it is busy */
    unsigned out;     /* errands that are not home */
    bool closing;
    struct mcpi_post end;
    void (*closed)(void *user);
    void *user;
};

/* The last one home, and nobody on the lane any more. */
static void
on_end(struct mcpi_post *post)
{
    struct mcpi_errands *errands = MCPI_CONTAINER(post, struct mcpi_errands, end);
    void (*closed)(void *user) = errands->closed;
    void *user = errands->user;

    mcpi_lane_done(&errands->lane);
    mcpi_free(errands->mem, errands);
    closed(user);
}

static void
errands_unref(struct mcpi_errands *errands)
{
    if (atomic_fetch_sub(&errands->refs, 1) == 1)
        mcpi_loop_post(errands->loop, &errands->end);
}

static void
on_busy(struct mcpi_lane *lane)
{
    atomic_fetch_add(&MCPI_CONTAINER(lane, struct mcpi_errands, lane)->refs, 1);
}

static void
on_idle(struct mcpi_lane *lane)
{
    errands_unref(MCPI_CONTAINER(lane, struct mcpi_errands, lane));
}

int
mcpi_errands_new(struct mcpi_loop *loop, struct mcpi_pool *pool,
                 struct mcpi_errands **ret_errands)
{
    const mcp_allocator *mem = mcpi_loop_mem(loop);
    struct mcpi_errands *errands = mcpi_alloc_zero(mem, sizeof(*errands));
    int r;

    if (!errands)
        return MCP_E_NOMEM;
    r = mcpi_lane_init(&errands->lane, pool, loop, on_busy, on_idle);
    if (r < 0) {
        mcpi_free(mem, errands);
        return r;
    }
    errands->mem = mem;
    errands->loop = loop;
    errands->end.fn = on_end;
    atomic_init(&errands->refs, 1);
    *ret_errands = errands;
    return 0;
}

static void
errand_home(struct mcpi_post *post)
{
    struct mcpi_errand *errand = MCPI_CONTAINER(post, struct mcpi_errand, post);
    struct mcpi_errands *errands = errand->by;

    errand->home(errand);
    errands->out--;
    if (errands->closing && errands->out == 0)
        errands_unref(errands);
}

static void
errand_work(struct mcpi_post *post)
{
    struct mcpi_errand *errand = MCPI_CONTAINER(post, struct mcpi_errand, post);
    struct mcpi_loop *loop = errand->by->loop;

    errand->work(errand);
    errand->post.fn = errand_home;
    mcpi_loop_post(loop, &errand->post);
}

void
mcpi_errands_send(struct mcpi_errands *errands, struct mcpi_errand *errand)
{
    errand->by = errands;
    errand->post.fn = errand_work;
    errands->out++;
    mcpi_lane_add(&errands->lane, &errand->post);
}

void
mcpi_errands_close(struct mcpi_errands *errands, void (*closed)(void *user), void *user)
{
    errands->closed = closed;
    errands->user = user;
    errands->closing = true;
    if (errands->out == 0)
        errands_unref(errands);
}

void
mcpi_errands_discard(struct mcpi_errands *errands)
{
    mcpi_lane_done(&errands->lane);
    mcpi_free(errands->mem, errands);
}
