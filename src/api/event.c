/* event.c - timers, watches and posts on a public loop */
#include <assert.h>

#include "api/loop.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/timers.h"

/* ---- posts ------------------------------------------------------------------ */

struct errand {
    struct mcpi_post post;
    const mcp_allocator *mem;
    void (*fn)(void *user);
    void *user;
};

static void
errand_run(struct mcpi_post *post)
{
    struct errand errand = *MCPI_CONTAINER(post, struct errand, post);

    mcpi_free(errand.mem, MCPI_CONTAINER(post, struct errand, post));
    errand.fn(errand.user);
}

int
mcp_loop_post(mcp_loop *loop, void (*fn)(void *user), void *user)
{
    struct mcpi_loop *inside;
    struct errand *errand;

    if (!loop || !fn)
        return MCP_E_INVAL;
    inside = mcpi_loop_inside(loop);
    if (!mcpi_loop_is_ours(inside))
        return MCP_E_STATE;
    errand = mcpi_alloc_zero(mcpi_loop_mem(inside), sizeof(*errand));
    if (!errand)
        return MCP_E_NOMEM;
    errand->post.fn = errand_run;
    errand->mem = mcpi_loop_mem(inside);
    errand->fn = fn;
    errand->user = user;
    mcpi_loop_post(inside, &errand->post);
    return 0;
}

/* ---- timers ------------------------------------------------------------------ */

/* [loop], or before anybody runs it. */
#define ASSERT_LOOP(loop) assert(!mcpi_loop_is_run_elsewhere(loop))

struct mcp_timer {
    struct mcpi_timer timer;
    mcp_loop *of;
    struct mcpi_loop *loop;
    void (*fn)(void *user);
    void *user;
};

static void
timer_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcp_timer *t = MCPI_CONTAINER(timer, struct mcp_timer, timer);

    (void)now;
    t->fn(t->user); /* may free it */
}

int
mcp_timer_new(mcp_loop *loop, int64_t ms, void (*fn)(void *user), void *user,
              mcp_timer **ret_timer)
{
    struct mcpi_loop *inside;
    mcp_timer *timer;

    if (!loop || !fn || !ret_timer)
        return MCP_E_INVAL;
    inside = mcpi_loop_inside(loop);
    if (!mcpi_loop_is_ours(inside))
        return MCP_E_STATE;
    ASSERT_LOOP(loop);
    timer = mcpi_alloc_zero(mcpi_loop_mem(inside), sizeof(*timer));
    if (!timer)
        return MCP_E_NOMEM;
    timer->of = loop;
    timer->loop = inside;
    timer->fn = fn;
    timer->user = user;
    mcpi_timer_init(&timer->timer, timer_expired);
    ms = ms < 0 ? 0 : ms;
    mcpi_timer_arm(mcpi_loop_timers(inside), &timer->timer,
                   mcpi_time_add(mcpi_loop_moment(inside), mcpi_ms(ms)));
    *ret_timer = timer;
    return 0;
}

void
mcp_timer_free(mcp_timer *timer)
{
    if (!timer || !mcpi_loop_is_ours(timer->loop))
        return;
    ASSERT_LOOP(timer->of);
    mcpi_timer_disarm(mcpi_loop_timers(timer->loop), &timer->timer);
    mcpi_free(mcpi_loop_mem(timer->loop), timer);
}

/* ---- watches ----------------------------------------------------------------- */

struct mcp_watch {
    uv_poll_t poll;
    mcp_loop *of;
    struct mcpi_loop *loop;
    void (*fn)(void *user, unsigned events);
    void *user;
    unsigned events; /* asked for */
};

static void
watch_ready(uv_poll_t *poll, int status, int events)
{
    struct mcp_watch *watch = poll->data;
    unsigned seen = 0;

    if (status < 0) { /* libuv has stopped it: an error may pass */
        seen = watch->events;
        (void)mcp_watch_set(watch, watch->events);
    }
    if (events & (UV_READABLE | UV_DISCONNECT))
        seen |= MCP_READABLE;
    if (events & UV_WRITABLE)
        seen |= MCP_WRITABLE;
    watch->fn(watch->user, seen & watch->events);
}

int
mcp_watch_set(mcp_watch *watch, unsigned events)
{
    int asked = 0;

    if (!watch || events > (MCP_READABLE | MCP_WRITABLE))
        return MCP_E_INVAL;
    if (!mcpi_loop_is_ours(watch->loop))
        return MCP_E_STATE;
    ASSERT_LOOP(watch->of);
    watch->events = events;
    if (events == 0)
        return uv_poll_stop(&watch->poll) < 0 ? MCP_E_INVAL : 0;
    if (events & MCP_READABLE)
        asked |= UV_READABLE;
    if (events & MCP_WRITABLE)
        asked |= UV_WRITABLE;
    return uv_poll_start(&watch->poll, asked, watch_ready) < 0 ? MCP_E_INVAL : 0;
}

static void
watch_closed(uv_handle_t *handle)
{
    struct mcp_watch *watch = handle->data;

    mcpi_free(mcpi_loop_mem(watch->loop), watch);
}

void
mcp_watch_free(mcp_watch *watch)
{
    if (!watch || !mcpi_loop_is_ours(watch->loop))
        return;
    ASSERT_LOOP(watch->of);
    uv_poll_stop(&watch->poll);
    uv_close((uv_handle_t *)&watch->poll, watch_closed);
}

int
mcp_watch_new(mcp_loop *loop, int fd, unsigned events,
              void (*fn)(void *user, unsigned events), void *user,
              mcp_watch **ret_watch)
{
    struct mcpi_loop *inside;
    mcp_watch *watch;
    int r;

    if (!loop || fd < 0 || !fn || !ret_watch)
        return MCP_E_INVAL;
    inside = mcpi_loop_inside(loop);
    if (!mcpi_loop_is_ours(inside))
        return MCP_E_STATE;
    ASSERT_LOOP(loop);
    watch = mcpi_alloc_zero(mcpi_loop_mem(inside), sizeof(*watch));
    if (!watch)
        return MCP_E_NOMEM;
    watch->of = loop;
    watch->loop = inside;
    watch->fn = fn;
    watch->user = user;
    if (uv_poll_init(mcpi_loop_uv(inside), &watch->poll, fd) < 0) {
        mcpi_free(mcpi_loop_mem(inside), watch);
        return MCP_E_INVAL;
    }
    watch->poll.data = watch;
    r = mcp_watch_set(watch, events);
    if (r < 0) {
        mcp_watch_free(watch);
        return r;
    }
    *ret_watch = watch;
    return 0;
}
