/* server.c - a server is made; its tools, and what it counts */
#include "api/server.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "api/identity.h"
#include "api/request.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/peer.h"
#include "run/random.h"

#define DEFAULT_CLIENTS 1024
#define DEFAULT_PAGE 250

/* What a list that can change is worth to who asks (2026-07-28, server/tools). */
static const char capabilities[] = "{\"tools\":{\"listChanged\":true}}";

/* ---- its list has changed ----------------------------------------------- */

/* Once for all changes of a turn. Modern clients are told where they have asked to be:
 * on a stream of their own. */
static void
on_changed(struct mcpi_post *post)
{
    mcp_server *server = MCPI_CONTAINER(post, mcp_server, changed);
    const char *method = mcpi_method_name(MCPI_METHOD_NOTE_TOOLS_CHANGED);
    int64_t now = mcpi_loop_now(server->inside);
    struct mcpi_list *node;
    struct mcpi_peer *peer;

    for (node = server->engine->peers.next; node != &server->engine->peers;
         node = node->next) {
        peer = MCPI_CONTAINER(node, struct mcpi_peer, in_engine);
        if (peer->initialized && mcpi_peer_notify(peer, method, NULL, 0, now) < 0)
            MCPI_LOG(&server->log, MCP_LOG_WARNING,
                     "a client was not told that the tools have changed");
    }
}

/* ---- times -------------------------------------------------------------- */

static int
times_take(const mcp_server_options *opt, struct mcpi_times *times, mcp_error *err)
{
    if (opt->limit_ms < 0 || opt->stop_ms < 0 || opt->overdue_ms < 0 ||
        opt->drain_ms < -1)
        return mcpi_error_set(err, MCP_E_INVAL, "a time of the server is negative");
    times->drain = opt->drain_ms < 0 ? -1 : mcpi_ms(opt->drain_ms);
    times->stop = mcpi_ms(opt->stop_ms);
    times->deaf = mcpi_ms(opt->overdue_ms);
    times->run = mcpi_ms(opt->limit_ms);
    return 0;
}

/* ---- making it ---------------------------------------------------------- */

static int
server_take_loop(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    int r = 0;

    server->loop = opt->loop;
    server->own_loop = !opt->loop;
    if (server->own_loop)
        r = mcp_loop_new(
            &MCP_LOOP_OPTIONS(.allocator = opt->allocator, .on_log = opt->on_log,
                              .log_user = opt->log_user, .log_level = opt->log_level),
            &server->loop, err);
    if (r < 0)
        return r;
    server->inside = mcpi_loop_inside(server->loop);
    if (mcpi_server_guard(server) < 0)
        return mcpi_error_set(err, MCP_E_STATE, "the loop is another process's");
    return 0;
}

static int
engine_make(mcp_server *server, const mcp_server_options *opt, const char *info,
            mcp_error *err)
{
    struct mcpi_engine_options engine = {
        .mem = server->mem,
        .role = MCPI_SERVER,
        .identity = {.info = info,
                     .capabilities = capabilities,
                     .instructions = opt->instructions},
        .timers = mcpi_loop_timers(server->inside),
        .router = &mcpi_server_router,
        .router_user = server,
        .log = server->log,
        .limits = {.in_flight = opt->in_flight,
                   .held_bytes = opt->held_bytes,
                   .message_bytes = opt->message_bytes},
    };
    int r;

    if (opt->era == MCP_ERA_MODERN)
        engine.era = MCPI_ERA_MODERN;
    else if (opt->era == MCP_ERA_LEGACY)
        engine.era = MCPI_ERA_LEGACY;
    r = times_take(opt, &engine.times, err);
    if (r == 0)
        r = mcpi_text_check(opt->instructions, "instructions", err);
    if (r < 0)
        return r;
    r = mcpi_random(engine.seed, sizeof(engine.seed));
    if (r == 0)
        r = mcpi_engine_new(&engine, &server->engine);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    server->stop_us = server->engine->times.stop;
    server->overdue_us = server->engine->times.deaf;
    return 0;
}

static int
server_introduce(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    const struct mcpi_implementation who = {.name = opt->name,
                                            .version = opt->version,
                                            .title = opt->title,
                                            .description = opt->description,
                                            .website = opt->website,
                                            .icons = opt->icons};
    mcp_builder *b = mcp_builder_new(server->mem);
    int r;

    r = mcpi_identity_build(b, &who, err);
    if (r == 0)
        r = engine_make(server, opt, mcp_builder_text(b, NULL), err);
    mcp_builder_free(b);
    return r;
}

static int
server_take_pool(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    const struct mcpi_pool_options pool = {.mem = server->mem,
                                           .log = server->log,
                                           .workers = opt->workers,
                                           .surplus = opt->overdue};
    unsigned char key[MCPI_SEED_SIZE];
    int r;

    r = mcpi_random(key, sizeof(key));
    if (r == 0)
        r = mcpi_catalog_init(&server->catalog, server->mem, key);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    server->has_catalog = true;
    r = mcpi_pool_new(&pool, &server->pool);
    return r < 0 ? mcpi_error_set(err, r, "no workers: %s", mcp_status_text(r)) : 0;
}

void
mcpi_server_dismantle(mcp_server *server)
{
    int r;

    r = mcpi_engine_free(server->engine);
    assert(r == 0); /* no peer is left, and no request */
    (void)r;
    if (server->has_catalog)
        mcpi_catalog_done(&server->catalog);
    mcpi_free(server->mem, server->middleware);
}

/* One that could not be made. */
static void
server_undo(mcp_server *server)
{
    mcpi_server_dismantle(server);
    (void)mcpi_pool_free(server->pool, 0);
    if (server->own_loop)
        mcp_loop_free(server->loop);
    mcpi_life_done(server);
}

static int
server_fill(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    int r;

    server->user = opt->user;
    server->log.fn = opt->on_log;
    server->log.user = opt->log_user;
    server->log.level = opt->log_level ? opt->log_level : MCP_LOG_WARNING;
    server->page = opt->page ? opt->page : DEFAULT_PAGE;
    server->max_clients = opt->clients ? opt->clients : DEFAULT_CLIENTS;
    server->parent = getppid();
    server->changed.fn = on_changed;
    r = server_take_loop(server, opt, err);
    if (r == 0)
        r = server_introduce(server, opt, err);
    if (r == 0)
        r = server_take_pool(server, opt, err);
    return r;
}

int
mcp_server_new(const mcp_server_options *given, mcp_server **ret_server, mcp_error *err)
{
    mcp_server_options opt;
    mcp_server *server;
    int r;

    if (!ret_server || !given || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of a server");
    server = mcpi_alloc_zero(mcpi_mem_or_malloc(opt.allocator), sizeof(*server));
    if (!server)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    server->mem = mcpi_mem_or_malloc(opt.allocator);
    r = mcpi_life_init(server);
    if (r < 0) {
        mcpi_free(server->mem, server);
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    }
    r = server_fill(server, &opt, err);
    if (r < 0) {
        server_undo(server);
        return r;
    }
    mcpi_life_begin(server);
    *ret_server = server;
    return 0;
}

/* ---- its tools ---------------------------------------------------------- */

static void
server_changed(mcp_server *server)
{
    mcpi_loop_post(server->inside, &server->changed);
}

int
mcp_server_add_tool(mcp_server *server, const mcp_tool *given, mcp_error *err)
{
    struct mcpi_tool *tool;
    mcp_tool definition;
    int r;

    if (!server || !given ||
        mcpi_options_read(&definition, sizeof(definition), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "this is no tool");
    if (mcpi_server_guard(server) < 0)
        return mcpi_error_set(err, MCP_E_STATE, "this is another process");
    r = mcpi_tool_new(server->mem, &definition, &tool, err);
    if (r < 0)
        return r;
    r = mcpi_catalog_add(&server->catalog, tool);
    if (r == MCP_E_INVAL)
        (void)mcpi_error_set(err, r, "there is a tool %s already", tool->name);
    else if (r < 0)
        (void)mcpi_error_set(err, r, "tool %s: %s", tool->name, mcp_status_text(r));
    if (r < 0) {
        mcpi_tool_unref(tool);
        return r;
    }
    server_changed(server);
    return 0;
}

int
mcp_server_remove_tool(mcp_server *server, const char *name)
{
    int r;

    if (!server || !name)
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    r = mcpi_catalog_remove(&server->catalog, name);
    if (r == 0)
        server_changed(server);
    return r;
}

/* ---- what it counts ----------------------------------------------------- */

static uint64_t
tally_read(const atomic_uint_fast64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

static uint64_t
server_overdue(mcp_server *server)
{
    int64_t now = mcpi_loop_clock();
    const struct mcpi_list *node;
    uint64_t count = 0;
    const mcp_request *req;

    pthread_mutex_lock(&server->lock);
    for (node = server->told.next; node != &server->told; node = node->next) {
        req = MCPI_CONTAINER(node, mcp_request, told);
        count += mcpi_time_add(req->told_at, server->overdue_us) <= now;
    }
    pthread_mutex_unlock(&server->lock);
    return count;
}

int
mcp_server_count(mcp_server *server, mcp_server_counts *ret_counts)
{
    struct mcpi_pool_counts pool;
    const struct mcpi_tally *tally;
    mcp_server_counts counts;
    size_t size;

    if (!server || !ret_counts || ret_counts->size < sizeof(size))
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    tally = &server->tally;
    mcpi_pool_count(server->pool, &pool);
    size = ret_counts->size;
    counts = (mcp_server_counts){
        .size = size,
        .clients = tally_read(&tally->clients),
        .in_flight = tally_read(&tally->in_flight),
        .live_handlers = tally_read(&tally->live_handlers),
        .overdue_handlers = server_overdue(server),
        .queued = pool.queued,
        .workers = pool.threads,
        .busy_workers = pool.busy,
        .requests = tally_read(&tally->requests),
        .answered = tally_read(&tally->answered),
        .failed = tally_read(&tally->failed),
        .canceled_by_peer = tally_read(&tally->by_peer),
        .canceled_by_limit = tally_read(&tally->by_limit),
        .canceled_by_stop = tally_read(&tally->by_stop),
        .canceled_by_loss = tally_read(&tally->by_loss),
        .never_started = tally_read(&tally->never_started),
        .stopped = tally_read(&tally->stopped),
        .ran_to_end = tally_read(&tally->ran_to_end),
    };
    memset(ret_counts, 0, size);
    memcpy(ret_counts, &counts, size < sizeof(counts) ? size : sizeof(counts));
    return 0;
}
