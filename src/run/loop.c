/*
 * loop.c - one thread's event loop
 *
 * Four handles of libuv: an async that wakes for posts, a timer for the earliest
 * deadline of our own heap, a prepare before the poll and a check after it. The timer
 * does nothing but end the poll: libuv before 1.45 runs timers before it polls, and
 * ours must run after. It is left alone while it fires no later than needed; firing
 * early costs a turn and nothing else.
 *
 *   check     own posts, deadlines, flushes
 *   prepare   own posts, flushes, arm the timer
 *   poll      descriptors; posts of others
 *
 * A post from the loop's own thread sends no wake: the loop does not sleep before it
 * has run. The clock is read once a turn, when somebody first asks.
 *
 * Two words say who runs it: `taken` is claimed by whoever runs, steps or starts it,
 * and `runner` names the thread by the address of a variable of its own.
 */
#include "run/loop.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/thread.h"

/* Posts that post again are given so many rounds when the loop is freed: more is one
 * that never stops. */
#define LAST_ROUNDS 1000

struct mcpi_loop {
    const mcp_allocator *mem;
    struct mcpi_log log;
    uv_loop_t uv;
    uv_async_t async;
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_check_t check;
    struct mcpi_posts posts;
    struct mcpi_timers timers;
    struct mcpi_list flushes;
    _Atomic(mcpi_clock_fn *) clock; /* a test's; NULL: mcpi_loop_clock */
    _Atomic(void *) clock_user;     /* stored before it */
    int64_t now;                    /* of this turn; 0: nobody has asked yet */
    int64_t armed; /* what the timer is for; MCPI_NEVER: it is not armed */
    bool turning;  /* somebody runs it, so now may be kept */
    bool own_post; /* posted from here, without a wake */
    bool has_thread;
    pthread_t thread; /* to be joined, if has_thread */
    atomic_bool stopping;
    atomic_bool taken;
    atomic_uintptr_t runner;
    atomic_uint visitors; /* threads inside post or stop */
    char *born;           /* 1 here, 0 after a fork; NULL: ask for the pid */
    size_t page;
    pid_t pid;
};

int64_t
mcpi_loop_clock(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

int64_t
mcpi_loop_moment(const struct mcpi_loop *loop)
{
    mcpi_clock_fn *clock = atomic_load_explicit(&loop->clock, memory_order_acquire);

    return clock ? clock(atomic_load(&loop->clock_user)) : mcpi_loop_clock();
}

static bool
loop_has_clock(const struct mcpi_loop *loop)
{
    return atomic_load_explicit(&loop->clock, memory_order_relaxed) != NULL;
}

/* How many loops this thread is inside of. Its address is the thread's name, for as
 * long as the thread lives. */
static _Thread_local unsigned loops_here;

static uintptr_t
thread_name(void)
{
    return (uintptr_t)&loops_here;
}

/* ---- a turn ----------------------------------------------------------------- */

/* One round: what a flush asks for again waits for the next one, so that reading goes
 * on meanwhile. */
static void
loop_run_flushes(struct mcpi_loop *loop)
{
    struct mcpi_list round;
    struct mcpi_list *node;

    if (mcpi_list_empty(&loop->flushes))
        return;
    mcpi_list_append(&loop->flushes, &round); /* takes the place of the old head */
    mcpi_list_remove(&loop->flushes);
    for (node = mcpi_list_pop(&round); node; node = mcpi_list_pop(&round)) {
        struct mcpi_flush *flush = MCPI_CONTAINER(node, struct mcpi_flush, node);

        flush->fn(flush);
    }
}

static void
loop_run_own_posts(struct mcpi_loop *loop)
{
    if (loop->own_post)
        mcpi_loop_run_posts(loop);
}

static void
on_timer(uv_timer_t *timer)
{
    struct mcpi_loop *loop = timer->data;

    loop->armed = MCPI_NEVER; /* it ended the poll; the check handle expires */
}

/* Round up: waking early would only poll again. */
static uint64_t
ms_until(int64_t deadline, int64_t now)
{
    return deadline <= now ? 0 : ((uint64_t)(deadline - now) + 999) / 1000;
}

static bool
loop_must_hurry(const struct mcpi_loop *loop)
{
    return loop->own_post || !mcpi_list_empty(&loop->flushes);
}

static void
loop_arm(struct mcpi_loop *loop)
{
    int64_t next = loop_must_hurry(loop) ? 0 : mcpi_timers_next(&loop->timers);

    if (next == MCPI_NEVER || (next >= loop->armed && !loop_has_clock(loop)))
        return; /* a test's clock may have jumped since */
    /* libuv's own idea of the time may be old, which makes the timer early, not
     * late. */
    uv_timer_start(&loop->timer, on_timer, ms_until(next, mcpi_loop_moment(loop)), 0);
    loop->armed = next;
}

static void
on_prepare(uv_prepare_t *prepare)
{
    struct mcpi_loop *loop = prepare->data;

    loop_run_own_posts(loop);
    loop_run_flushes(loop);
    loop_arm(loop);
    loop->now = 0;
}

static void
on_check(uv_check_t *check)
{
    struct mcpi_loop *loop = check->data;

    loop_run_own_posts(loop);
    if (mcpi_timers_next(&loop->timers) != MCPI_NEVER)
        (void)mcpi_timers_expire(&loop->timers, mcpi_loop_now(loop));
    loop_run_flushes(loop);
    if (atomic_load(&loop->stopping))
        uv_stop(&loop->uv);
}

static void
on_async(uv_async_t *async)
{
    mcpi_loop_run_posts(async->data);
}

/* ---- from other threads ----------------------------------------------------- */

static void
posts_wake(void *user)
{
    struct mcpi_loop *loop = user;

    if (mcpi_loop_is_here(loop))
        loop->own_post = true;
    else
        uv_async_send(&loop->async);
}

static void
loop_visit(struct mcpi_loop *loop)
{
    atomic_fetch_add_explicit(&loop->visitors, 1, memory_order_relaxed);
}

static void
loop_end_visit(struct mcpi_loop *loop)
{
    atomic_fetch_sub_explicit(&loop->visitors, 1, memory_order_release);
}

void
mcpi_loop_post(struct mcpi_loop *loop, struct mcpi_post *node)
{
    loop_visit(loop);
    (void)mcpi_posts_add(&loop->posts, node);
    loop_end_visit(loop);
}

void
mcpi_loop_run_posts(struct mcpi_loop *loop)
{
    if (loop->posts.running)
        return; /* the flag is for what the posts that run now have posted */
    loop->own_post = false;
    (void)mcpi_posts_run(&loop->posts);
}

void
mcpi_loop_stop(struct mcpi_loop *loop)
{
    loop_visit(loop);
    atomic_store(&loop->stopping, true);
    uv_async_send(&loop->async);
    loop_end_visit(loop);
}

bool
mcpi_loop_is_here(const struct mcpi_loop *loop)
{
    /* Only this thread itself can have stored its name. */
    return atomic_load_explicit(&loop->runner, memory_order_relaxed) == thread_name();
}

bool
mcpi_loop_any_here(void)
{
    return loops_here > 0;
}

bool
mcpi_loop_is_ours(const struct mcpi_loop *loop)
{
    return loop->born ? *loop->born != 0 : loop->pid == getpid();
}

/* ---- on its own ------------------------------------------------------------- */

const mcp_allocator *
mcpi_loop_mem(const struct mcpi_loop *loop)
{
    return loop->mem;
}

const struct mcpi_log *
mcpi_loop_log(const struct mcpi_loop *loop)
{
    return &loop->log;
}

uv_loop_t *
mcpi_loop_uv(struct mcpi_loop *loop)
{
    return &loop->uv;
}

struct mcpi_timers *
mcpi_loop_timers(struct mcpi_loop *loop)
{
    return &loop->timers;
}

int64_t
mcpi_loop_now(const struct mcpi_loop *loop)
{
    struct mcpi_loop *cache = (struct mcpi_loop *)(uintptr_t)loop;

    if (!loop->turning || loop_has_clock(loop))
        return mcpi_loop_moment(loop);
    if (loop->now == 0)
        cache->now = mcpi_loop_clock();
    return loop->now;
}

void
mcpi_loop_set_clock(struct mcpi_loop *loop, mcpi_clock_fn *clock, void *user)
{
    atomic_store(&loop->clock_user, user);
    atomic_store_explicit(&loop->clock, clock, memory_order_release);
    loop->now = 0;
    loop->armed = MCPI_NEVER; /* what the timer is for was a moment of another clock */
}

void
mcpi_flush_init(struct mcpi_flush *flush, void (*fn)(struct mcpi_flush *self))
{
    mcpi_list_init(&flush->node);
    flush->fn = fn;
}

void
mcpi_loop_flush(struct mcpi_loop *loop, struct mcpi_flush *flush)
{
    if (mcpi_list_empty(&flush->node))
        mcpi_list_append(&loop->flushes, &flush->node);
}

void
mcpi_flush_cancel(struct mcpi_flush *flush)
{
    mcpi_list_remove(&flush->node);
}

/* ---- running ---------------------------------------------------------------- */

static bool
loop_take(struct mcpi_loop *loop)
{
    return !atomic_exchange(&loop->taken, true);
}

static void
loop_enter(struct mcpi_loop *loop, struct mcpi_sigpipe *before)
{
    atomic_store_explicit(&loop->runner, thread_name(), memory_order_relaxed);
    loops_here++;
    loop->turning = true;
    loop->now = 0;
    mcpi_sigpipe_hold(before);
}

static void
loop_leave(struct mcpi_loop *loop, const struct mcpi_sigpipe *before)
{
    mcpi_sigpipe_release(before);
    loop->turning = false;
    loops_here--;
    atomic_store_explicit(&loop->runner, 0, memory_order_relaxed);
    atomic_store(&loop->taken, false);
}

/* Taken by the caller. */
static void
loop_run(struct mcpi_loop *loop)
{
    struct mcpi_sigpipe before;

    loop_enter(loop, &before);
    do
        uv_run(&loop->uv, UV_RUN_DEFAULT);
    while (!atomic_load(&loop->stopping));
    atomic_store(&loop->stopping, false);
    loop_leave(loop, &before);
}

static void *
loop_main(void *user)
{
    loop_run(user);
    return NULL;
}

int
mcpi_loop_run(struct mcpi_loop *loop)
{
    if (!loop_take(loop))
        return MCP_E_STATE;
    loop_run(loop);
    return 0;
}

static void
loop_join(struct mcpi_loop *loop)
{
    if (loop->has_thread)
        pthread_join(loop->thread, NULL);
    loop->has_thread = false;
}

int
mcpi_loop_start(struct mcpi_loop *loop)
{
    int r;

    if (!loop_take(loop))
        return MCP_E_STATE;
    loop_join(loop); /* one that was stopped before */
    r = mcpi_thread_start(&loop->thread, 0, loop_main, loop);
    if (r < 0)
        atomic_store(&loop->taken, false);
    else
        loop->has_thread = true;
    return r;
}

int
mcpi_loop_fd(const struct mcpi_loop *loop)
{
    return uv_backend_fd(&loop->uv);
}

int
mcpi_loop_timeout_ms(struct mcpi_loop *loop)
{
    int64_t next = mcpi_timers_next(&loop->timers);
    uint64_t ours;
    int timeout;

    if (loop_must_hurry(loop))
        return 0;
    uv_update_time(&loop->uv);
    timeout = uv_backend_timeout(&loop->uv);
    if (next == MCPI_NEVER)
        return timeout;
    ours = ms_until(next, mcpi_loop_moment(loop));
    if (timeout >= 0 && (uint64_t)timeout < ours)
        return timeout;
    return ours > INT32_MAX ? INT32_MAX : (int)ours;
}

int
mcpi_loop_step(struct mcpi_loop *loop)
{
    struct mcpi_sigpipe before;

    if (!loop_take(loop))
        return MCP_E_STATE;
    loop_enter(loop, &before);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    loop_leave(loop, &before);
    return 0;
}

/* ---- making and freeing ----------------------------------------------------- */

/* A page that a fork empties: how a child knows that nothing here is its own. Kernels
 * before 4.14 cannot; then the number of the process has to do. */
static int
loop_mark_process(struct mcpi_loop *loop)
{
    void *page;

    loop->pid = getpid();
    loop->page = (size_t)sysconf(_SC_PAGESIZE);
    page = mmap(NULL, loop->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    if (page == MAP_FAILED)
        return MCP_E_NOMEM;
    if (madvise(page, loop->page, MADV_WIPEONFORK) != 0) {
        munmap(page, loop->page);
        return 0;
    }
    loop->born = page;
    *loop->born = 1;
    return 0;
}

static void
loop_unmark_process(struct mcpi_loop *loop)
{
    if (loop->born)
        munmap(loop->born, loop->page);
}

/* libuv's functions for these five fail only for want of descriptors or memory. */
static int
loop_open_handles(struct mcpi_loop *loop)
{
    if (uv_loop_init(&loop->uv) < 0) {
        if (loop->uv.backend_fd >= 0)
            close(loop->uv.backend_fd); /* libuv forgets it */
        return MCP_E_LIMIT;
    }
    if (uv_async_init(&loop->uv, &loop->async, on_async) < 0) {
        uv_loop_close(&loop->uv);
        return MCP_E_LIMIT;
    }
    uv_timer_init(&loop->uv, &loop->timer);
    uv_prepare_init(&loop->uv, &loop->prepare);
    uv_check_init(&loop->uv, &loop->check);
    loop->async.data = loop->timer.data = loop;
    loop->prepare.data = loop->check.data = loop;
    uv_prepare_start(&loop->prepare, on_prepare);
    uv_check_start(&loop->check, on_check);
    return 0;
}

/* Handles that others have closed get their last word too. */
static void
loop_close_handles(struct mcpi_loop *loop)
{
    int r;

    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_close((uv_handle_t *)&loop->timer, NULL);
    uv_close((uv_handle_t *)&loop->prepare, NULL);
    uv_close((uv_handle_t *)&loop->check, NULL);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    r = uv_loop_close(&loop->uv);
    assert(r == 0); /* somebody left a handle open */
    (void)r;
}

/* A program may run without stdin, stdout or stderr, but libuv will not close what it got
 * in their place: nothing of a loop's shall stand there. */
static size_t
holes_fill(int fds[3])
{
    size_t count = 0;
    int fd;

    for (;;) {
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0 || fd > STDERR_FILENO)
            break;
        fds[count++] = fd;
    }
    if (fd >= 0)
        close(fd);
    return count;
}

static void
holes_open(const int fds[3], size_t count)
{
    while (count > 0)
        close(fds[--count]);
}

static int
loop_open(struct mcpi_loop *loop)
{
    size_t filled;
    int fds[3];
    int r;

    r = loop_mark_process(loop);
    if (r < 0)
        return r;
    r = mcpi_posts_init(&loop->posts, posts_wake, loop);
    if (r < 0)
        goto no_posts;
    filled = holes_fill(fds);
    r = loop_open_handles(loop);
    holes_open(fds, filled);
    if (r < 0)
        goto no_handles;
    return 0;

no_handles:
    mcpi_posts_done(&loop->posts);
no_posts:
    loop_unmark_process(loop);
    return r;
}

int
mcpi_loop_new(const mcp_allocator *mem, const struct mcpi_log *log,
              struct mcpi_loop **ret_loop)
{
    struct mcpi_loop *loop;
    int r;

    mem = mcpi_mem_or_malloc(mem);
    loop = mcpi_alloc_zero(mem, sizeof(*loop));
    if (!loop)
        return MCP_E_NOMEM;
    loop->mem = mem;
    if (log)
        loop->log = *log;
    loop->armed = MCPI_NEVER;
    mcpi_timers_init(&loop->timers);
    mcpi_list_init(&loop->flushes);
    r = loop_open(loop);
    if (r < 0) {
        mcpi_free(mem, loop);
        return r;
    }
    *ret_loop = loop;
    return 0;
}

/* A post from another thread may have started what frees the loop: let that thread out
 * first. */
static void
loop_await_visitors(struct mcpi_loop *loop)
{
    while (atomic_load_explicit(&loop->visitors, memory_order_acquire) > 0)
        sched_yield();
}

/* Posts that still wait, what they post, and what they close. */
static void
loop_finish(struct mcpi_loop *loop)
{
    struct mcpi_sigpipe before;
    int rounds = LAST_ROUNDS;

    loop_enter(loop, &before);
    loop_await_visitors(loop);
    while (rounds-- > 0 && mcpi_posts_run(&loop->posts) > 0)
        uv_run(&loop->uv, UV_RUN_NOWAIT);
    loop_await_visitors(loop);
    loop_close_handles(loop);
    loop_leave(loop, &before);
}

void
mcpi_loop_free(struct mcpi_loop *loop)
{
    if (!loop)
        return;
    assert(!mcpi_loop_is_here(loop));
    if (loop->has_thread)
        mcpi_loop_stop(loop);
    loop_join(loop);
    loop_finish(loop);
    mcpi_posts_done(&loop->posts);
    loop_unmark_process(loop);
    mcpi_free(loop->mem, loop);
}
