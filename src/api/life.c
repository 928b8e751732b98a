/*
 * life.c - how a server runs, stops and ends
 *
 * Asking for a stop is a flag and a wake of libuv's, which a signal handler may do too;
 * all that follows is the loop's. Who runs the loop returns when no link is left. Who
 * frees the server then waits a little for handlers that still run; if one does not
 * end, a loop of the server's own is run on by a thread that nobody waits for, until
 * the last of them is home, and frees everything there. On a loop of the program's,
 * that loop does. Replicas stop with the server and go before it, so all of this is the
 * same with any number of loops.
 *
 * Who frees what, once `freed`:
 *
 *   own loop, nobody runs it        the thread that called free
 *   own loop, run or started        likewise, after waiting for that to return
 *   the same, called from there     whoever runs the loop, when it returns (`left`)
 *   a loop of the program's         the loop; free waits if another thread runs it
 */
#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/thread.h"

/* Handlers have that part of stop_ms to return after they were told. By default half a
 * second: with the drain after EOF that is over before a host loses its patience, which is
 * after two seconds, and sends SIGTERM (M1). */
#define PATIENCE 2

/* More than the workers need to leave when no job is left. */
#define WORKERS_US (10 * INT64_C(1000000))

/* ---- its memory --------------------------------------------------------- */

/* Under lock, which is given back. Who waits for the end is the last one, and frees. */
static void
server_unref_unlock(mcp_server *server)
{
    unsigned left = --server->refs;

    pthread_mutex_unlock(&server->lock);
    if (left > 0)
        return;
    pthread_cond_destroy(&server->moved);
    pthread_mutex_destroy(&server->lock);
    mcpi_host_done(&server->trunk.host);
    mcpi_free(server->trunk.host.mem, server);
}

/* Nothing of it is on the loop any more. */
static void
server_vanish(mcp_server *server)
{
    mcp_loop *loop = server->trunk.host.loop;
    bool own = server->own_loop;

    (void)mcpi_pool_free(server->trunk.host.pool, WORKERS_US);
    mcpi_server_dismantle(server);
    if (own)
        mcp_loop_free(loop);
    pthread_mutex_lock(&server->lock);
    server->gone = true;
    pthread_cond_broadcast(&server->moved);
    server_unref_unlock(server);
    if (!own)
        mcpi_loop_leave(loop);
}

/* ---- on the loop -------------------------------------------------------- */

static void
on_wake_closed(uv_handle_t *handle)
{
    mcp_server *server = handle->data;

    server->dismantled = true;
    if (server->own_loop)
        mcpi_loop_stop(server->trunk.host.inside);
    else
        server_vanish(server);
}

bool
mcpi_branch_is_quiet(struct mcpi_branch *branch)
{
    return branch->host.live == 0 && !mcpi_news_waits(branch);
}

/* It was freed, no link is left: as soon as no handler is left either, it goes. */
static void
server_try_to_go(mcp_server *server)
{
    struct mcpi_timers *timers = mcpi_loop_timers(server->trunk.host.inside);
    int64_t now = mcpi_loop_now(server->trunk.host.inside);

    if (server->trunk.host.live == 0 && mcpi_news_waits(&server->trunk))
        return; /* asked again when that is done */
    if (server->trunk.host.live == 0 && server->replicas_live == 0) {
        mcpi_timer_disarm(timers, &server->patience);
        if (server->helpers_live)
            return; /* likewise, and that has a bound of its own */
        if (!uv_is_closing((uv_handle_t *)&server->wake))
            uv_close((uv_handle_t *)&server->wake, on_wake_closed);
    } else if (server->own_loop && !server->impatient) {
        server->impatient = true;
        mcpi_timer_arm(timers, &server->patience,
                       mcpi_time_add(now, server->stop_us / PATIENCE));
    }
}

static void
on_patience(struct mcpi_timer *timer, int64_t now)
{
    mcp_server *server = MCPI_CONTAINER(timer, mcp_server, patience);
    mcp_server_counts counts = {.size = sizeof(counts)};

    (void)now;
    server->left_behind = true;
    (void)mcp_server_count(server, &counts); /* it is ours */
    MCPI_LOG(&server->trunk.host.log, MCP_LOG_WARNING,
             "%llu handlers do not end: left behind",
             (unsigned long long)counts.live_handlers);
    mcpi_loop_stop(server->trunk.host.inside);
}

static void
on_helpers_gone(struct mcpi_post *post)
{
    mcp_server *server = MCPI_CONTAINER(post, mcp_server, helpers_gone);

    server->helpers_live = false;
    mcpi_server_check(server);
}

/* All requests have ended: what isolated handlers still do is nobody's any more. */
static void
server_end_helpers(mcp_server *server)
{
    struct mcpi_isolation *isolation = atomic_load(&server->isolation);

    if (!isolation)
        return;
    server->helpers_live = true;
    mcpi_isolation_end(isolation, server->stop_us / PATIENCE, server->trunk.host.inside,
                       &server->helpers_gone);
}

void
mcpi_server_check(mcp_server *server)
{
    if (!server->trunk.stopping || !mcpi_list_empty(&server->trunk.links) ||
        server->replicas_open > 0)
        return;
    if (!atomic_exchange(&server->stopped, true)) {
        mcpi_replicas_leave(server);
        server_end_helpers(server);
        if (server->own_loop)
            mcpi_loop_stop(server->trunk.host.inside);
    }
    if (server->leaving)
        server_try_to_go(server);
}

void
mcpi_branch_stop(struct mcpi_branch *branch)
{
    branch->stopping = true;
    mcpi_news_close(branch);
}

void
mcpi_branch_check(struct mcpi_branch *branch)
{
    if (branch == &branch->server->trunk)
        mcpi_server_check(branch->server);
    else
        mcpi_replica_check(branch);
}

void
mcpi_server_begin_stop(mcp_server *server)
{
    if (server->trunk.stopping)
        return;
    atomic_store(&server->stop_asked, true);
    mcpi_branch_stop(&server->trunk);
    mcpi_replicas_stop(server); /* which hear what was told last */
    mcpi_links_close(&server->trunk);
    mcpi_server_check(server);
}

static void
on_wake(uv_async_t *wake)
{
    mcp_server *server = wake->data;

    if (atomic_load(&server->stop_asked))
        mcpi_server_begin_stop(server);
}

/* A stop that was asked for before there was anything to wake is not lost: one of the
 * two sees what the other has set. */
static void
on_opened(struct mcpi_post *post)
{
    mcp_server *server = MCPI_CONTAINER(post, mcp_server, opened);

    (void)uv_async_init(mcpi_loop_uv(server->trunk.host.inside), &server->wake,
                        on_wake); /* the loop has one: another needs nothing more */
    server->wake.data = server;
    atomic_store(&server->awake, true);
    on_wake(&server->wake);
}

/* Posted when it was freed, so all that was posted before has happened. */
static void
on_bye(struct mcpi_post *post)
{
    mcp_server *server = MCPI_CONTAINER(post, mcp_server, bye);

    server->leaving = true;
    mcpi_server_begin_stop(server);
    mcpi_server_check(server);
}

static void
on_home(struct mcpi_host *host)
{
    mcpi_server_check(MCPI_CONTAINER(host, mcp_server, trunk.host));
}

/* ---- made --------------------------------------------------------------- */

int
mcpi_life_init(mcp_server *server)
{
    server->refs = 1;
    server->opened.fn = on_opened;
    server->bye.fn = on_bye;
    server->helpers_gone.fn = on_helpers_gone;
    server->watch.signal_fd = server->watch.parent_fd = -1;
    mcpi_list_init(&server->trunk.links);
    mcpi_list_init(&server->replicas);
    mcpi_timer_init(&server->patience, on_patience);
    server->trunk.host.went_home = on_home;
    if (mcpi_host_init(&server->trunk.host) < 0)
        return MCP_E_NOMEM;
    if (pthread_mutex_init(&server->lock, NULL) != 0)
        goto no_lock;
    if (mcpi_cond_init(&server->moved) < 0)
        goto no_condition;
    return 0;

no_condition:
    pthread_mutex_destroy(&server->lock);
no_lock:
    mcpi_host_done(&server->trunk.host);
    return MCP_E_NOMEM;
}

void
mcpi_life_begin(mcp_server *server)
{
    if (!server->own_loop)
        mcpi_loop_join(server->trunk.host.loop);
    mcpi_loop_post(server->trunk.host.inside, &server->opened);
}

void
mcpi_life_done(mcp_server *server)
{
    pthread_mutex_lock(&server->lock);
    server_unref_unlock(server);
}

/* ---- stopping ----------------------------------------------------------- */

void
mcp_server_stop(mcp_server *server)
{
    if (!server || mcpi_server_guard(server) < 0)
        return;
    atomic_store(&server->stop_asked, true);
    if (atomic_load(&server->awake))
        (void)uv_async_send(&server->wake);
}

/* ---- freeing, with a loop of its own ------------------------------------ */

static void *
afterlife_main(void *user)
{
    mcp_server *server = user;

    while (!server->dismantled)
        (void)mcp_loop_run(server->trunk.host.loop);
    server_vanish(server);
    return NULL;
}

/* Without a thread to do so nobody would free it: what a handler needs stays there. */
static void
server_leave_behind(mcp_server *server)
{
    pthread_t thread;

    if (mcpi_thread_start(&thread, 0, afterlife_main, server) == 0)
        (void)pthread_detach(thread);
    else
        MCPI_LOG(&server->trunk.host.log, MCP_LOG_ERROR,
                 "no thread to free the server: kept");
}

/* Nobody runs the loop, and nobody will but us. */
static void
server_finish(mcp_server *server)
{
    mcpi_loop_post(server->trunk.host.inside, &server->bye);
    do
        (void)mcp_loop_run(server->trunk.host.loop);
    while (!server->dismantled && !server->left_behind);
    if (server->dismantled)
        server_vanish(server);
    else
        server_leave_behind(server);
}

static void
server_free_own(mcp_server *server)
{
    bool here = mcpi_server_is_here(server);
    bool running, has_thread;

    pthread_mutex_lock(&server->lock);
    server->freed = true;
    running = server->running;
    server->left = here && running;
    pthread_mutex_unlock(&server->lock);
    mcp_server_stop(server);
    if (here && running)
        return;
    if (here) { /* inside a handler that nobody waits for any more */
        mcpi_loop_post(server->trunk.host.inside, &server->bye);
        server_leave_behind(server);
        return;
    }
    pthread_mutex_lock(&server->lock);
    while (server->running)
        (void)mcpi_cond_wait(&server->moved, &server->lock, MCPI_NEVER);
    has_thread = server->has_thread;
    pthread_mutex_unlock(&server->lock);
    if (has_thread)
        pthread_join(server->thread, NULL);
    server_finish(server);
}

/* ---- freeing, on a loop of the program's -------------------------------- */

static void
server_free_borrowed(mcp_server *server)
{
    bool wait = !mcpi_server_is_here(server) &&
                mcpi_loop_is_run_elsewhere(server->trunk.host.loop);
    int64_t until = mcpi_time_add(mcpi_loop_clock(), server->stop_us);
    int64_t drain = server->trunk.host.engine->times.drain;

    until = mcpi_time_add(until, server->stop_us); /* for links, and for handlers */
    until = mcpi_time_add(until, drain > 0 ? drain : 0);
    pthread_mutex_lock(&server->lock);
    server->refs++; /* ours; the loop has the other */
    pthread_mutex_unlock(&server->lock);
    mcpi_loop_post(server->trunk.host.inside, &server->bye);
    pthread_mutex_lock(&server->lock);
    while (wait && !server->gone)
        wait = mcpi_cond_wait(&server->moved, &server->lock, until);
    server_unref_unlock(server);
}

void
mcp_server_free(mcp_server *server)
{
    if (!server || mcpi_server_guard(server) < 0)
        return;
    if (server->own_loop)
        server_free_own(server);
    else
        server_free_borrowed(server);
}

/* ---- running ------------------------------------------------------------ */

static int
run_enter(mcp_server *server, mcp_error *err)
{
    bool free;

    if (mcpi_server_guard(server) < 0)
        return mcpi_error_set(err, MCP_E_STATE, "this is another process");
    if (!server->own_loop)
        return mcpi_error_set(err, MCP_E_STATE, "the server is on a loop that runs it");
    if (atomic_load(&server->stopped))
        return mcpi_error_set(err, MCP_E_STATE, "the server has stopped");
    pthread_mutex_lock(&server->lock);
    free = !server->running && !server->freed;
    server->running = free || server->running;
    pthread_mutex_unlock(&server->lock);
    return free ? 0 : mcpi_error_set(err, MCP_E_STATE, "the server runs already");
}

/* Whoever waits for our return may free the server now, unless that is left to us. */
static void
run_leave(mcp_server *server)
{
    bool left;

    pthread_mutex_lock(&server->lock);
    server->running = false;
    left = server->left;
    if (left && server->has_thread)
        (void)pthread_detach(server->thread); /* ours: nobody joins it */
    pthread_cond_broadcast(&server->moved);
    pthread_mutex_unlock(&server->lock);
    if (left)
        server_finish(server);
}

int
mcp_server_run(mcp_server *server, const mcp_run_options *given, mcp_error *err)
{
    mcp_run_options opt;
    int r;

    if (!server || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "this is no server, or no options");
    r = run_enter(server, err);
    if (r < 0)
        return r;
    r = mcpi_watch_open(server, &opt, err);
    if (r == 0)
        r = mcp_loop_run(server->trunk.host.loop);
    mcpi_watch_close(server);
    run_leave(server);
    return r;
}

static void *
start_main(void *user)
{
    mcp_server *server = user;

    (void)mcp_loop_run(server->trunk.host.loop);
    run_leave(server);
    return NULL;
}

int
mcp_server_start(mcp_server *server, mcp_error *err)
{
    int r;

    if (!server)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no server");
    r = run_enter(server, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&server->lock);
    r = mcpi_thread_start(&server->thread, 0, start_main, server);
    server->has_thread = r == 0;
    server->running = r == 0;
    pthread_mutex_unlock(&server->lock);
    return r < 0 ? mcpi_error_set(err, r, "no thread could be started") : 0;
}

int
mcp_server_run_stdio(mcp_server *server, mcp_error *err)
{
    int r;

    if (!server)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no server");
    if (!server->own_loop)
        return mcpi_error_set(err, MCP_E_STATE, "the server is on a loop that runs it");
    r = mcp_server_attach_stdio(server, err);
    if (r < 0)
        return r;
    return mcp_server_run(server,
                          &MCP_RUN_OPTIONS(.signals = true, .watch_parent = true), err);
}
