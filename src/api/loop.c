/*
 * loop.c - the public loop: the loop inside, and who is on it
 *
 * Who runs it is noted here and not only inside, because a loop that is stepped has a
 * thread between two steps too: that thread must not wait for what only its own next
 * step would do.
 */
#include "api/loop.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "base/text.h"

/* Longest time that mcp_loop_free gives those who are leaving: all of them have shorter
 * bounds of their own unless a program set longer ones. */
#define LEAVING_US (60 * INT64_C(1000000))

struct mcp_loop {
    const mcp_allocator *mem;
    atomic_uint refs; /* the program's, and of who asks whose thread it is */
    struct mcpi_loop *inside;
    atomic_uint guests;
    pthread_mutex_t lock;
    bool entered;     /* somebody is inside run or step; under lock */
    unsigned turns;   /* how often somebody entered; under lock */
    bool has_thread;  /* it runs, or was stepped last by thread; under lock */
    pthread_t thread; /* under lock */
};

struct mcpi_loop *
mcpi_loop_inside(mcp_loop *loop)
{
    return loop->inside;
}

void
mcpi_loop_join(mcp_loop *loop)
{
    atomic_fetch_add(&loop->guests, 1);
}

void
mcpi_loop_leave(mcp_loop *loop)
{
    atomic_fetch_sub(&loop->guests, 1);
}

mcp_loop *
mcpi_loop_keep(mcp_loop *loop)
{
    atomic_fetch_add_explicit(&loop->refs, 1, memory_order_relaxed);
    return loop;
}

void
mcpi_loop_drop(mcp_loop *loop)
{
    if (atomic_fetch_sub_explicit(&loop->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&loop->lock);
    mcpi_free(loop->mem, loop);
}

bool
mcpi_loop_is_its_thread(mcp_loop *loop)
{
    bool its;

    pthread_mutex_lock(&loop->lock);
    its = loop->has_thread && pthread_equal(loop->thread, pthread_self());
    pthread_mutex_unlock(&loop->lock);
    return its;
}

bool
mcpi_loop_is_run_elsewhere(mcp_loop *loop)
{
    bool elsewhere;

    pthread_mutex_lock(&loop->lock);
    elsewhere = loop->has_thread && !pthread_equal(loop->thread, pthread_self());
    pthread_mutex_unlock(&loop->lock);
    return elsewhere;
}

bool
mcpi_loop_goes_on(mcp_loop *loop, unsigned *turns)
{
    bool goes_on;

    pthread_mutex_lock(&loop->lock);
    goes_on = loop->entered || loop->turns != *turns;
    *turns = loop->turns;
    pthread_mutex_unlock(&loop->lock);
    return goes_on;
}

int
mcp_loop_new(const mcp_loop_options *given, mcp_loop **ret_loop, mcp_error *err)
{
    struct mcpi_log log = {0};
    mcp_loop_options opt;
    mcp_loop *loop;
    int r;

    if (!ret_loop || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of a loop");
    loop = mcpi_alloc_zero(mcpi_mem_or_malloc(opt.allocator), sizeof(*loop));
    if (!loop)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    loop->mem = mcpi_mem_or_malloc(opt.allocator);
    log.fn = opt.on_log;
    log.user = opt.log_user;
    log.level = opt.log_level ? opt.log_level : MCP_LOG_WARNING;
    atomic_init(&loop->refs, 1);
    r = pthread_mutex_init(&loop->lock, NULL) == 0 ? 0 : MCP_E_NOMEM;
    if (r == 0) {
        r = mcpi_loop_new(loop->mem, &log, &loop->inside);
        if (r == 0) {
            *ret_loop = loop;
            return 0;
        }
        pthread_mutex_destroy(&loop->lock);
    }
    mcpi_free(loop->mem, loop);
    return mcpi_error_set(err, r, "no loop could be made: %s", mcp_status_text(r));
}

static bool
loop_enter(mcp_loop *loop)
{
    bool entered;

    pthread_mutex_lock(&loop->lock);
    entered = !loop->entered;
    if (entered) {
        loop->entered = loop->has_thread = true;
        loop->thread = pthread_self();
        loop->turns++;
    }
    pthread_mutex_unlock(&loop->lock);
    return entered;
}

static void
loop_exit(mcp_loop *loop, bool keeps_thread)
{
    pthread_mutex_lock(&loop->lock);
    loop->entered = false;
    loop->has_thread = keeps_thread;
    pthread_mutex_unlock(&loop->lock);
}

int
mcp_loop_run(mcp_loop *loop)
{
    int r;

    if (!loop)
        return MCP_E_INVAL;
    if (!mcpi_loop_is_ours(loop->inside) || !loop_enter(loop))
        return MCP_E_STATE;
    r = mcpi_loop_run(loop->inside);
    loop_exit(loop, false);
    return r;
}

void
mcp_loop_stop(mcp_loop *loop)
{
    if (loop && mcpi_loop_is_ours(loop->inside))
        mcpi_loop_stop(loop->inside);
}

int
mcp_loop_fd(const mcp_loop *loop)
{
    return loop ? mcpi_loop_fd(loop->inside) : MCP_E_INVAL;
}

int
mcp_loop_timeout_ms(mcp_loop *loop)
{
    if (!loop)
        return MCP_E_INVAL;
    if (!mcpi_loop_is_ours(loop->inside))
        return -1;
    return mcpi_loop_timeout_ms(loop->inside);
}

int
mcp_loop_step(mcp_loop *loop)
{
    int r;

    if (!loop)
        return MCP_E_INVAL;
    if (!mcpi_loop_is_ours(loop->inside) || !loop_enter(loop))
        return MCP_E_STATE;
    r = mcpi_loop_step(loop->inside);
    loop_exit(loop, true);
    return r;
}

/* One turn, asleep for at most that time before it. */
static void
loop_turn(mcp_loop *loop, int64_t at_most_us)
{
    struct pollfd fd = {.fd = mcp_loop_fd(loop), .events = POLLIN};
    int64_t ms = mcp_loop_timeout_ms(loop);

    if (ms < 0 || ms > at_most_us / 1000)
        ms = at_most_us / 1000 + 1;
    (void)poll(&fd, 1, (int)ms); /* whatever woke it, a turn is right */
    (void)mcp_loop_step(loop);   /* nobody else runs it: see the header */
}

void
mcp_loop_free(mcp_loop *loop)
{
    int64_t now, end;

    if (!loop || !mcpi_loop_is_ours(loop->inside))
        return;
    now = mcpi_loop_clock();
    end = now + LEAVING_US;
    (void)mcp_loop_step(loop); /* what was posted, and handles that close */
    while (atomic_load(&loop->guests) > 0 && now < end) {
        loop_turn(loop, end - now);
        now = mcpi_loop_clock();
    }
    if (atomic_load(&loop->guests) > 0)
        return; /* somebody still uses it: better kept than torn from under him */
    (void)mcp_loop_step(loop);
    mcpi_loop_free(loop->inside);
    loop_exit(loop, false);
    mcpi_loop_drop(loop);
}
