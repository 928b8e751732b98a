/* server.c - a server is made, and what it counts */
#include "api/server.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "api/asking.h"
#include "api/identity.h"
#include "api/request.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/peer.h"
#include "run/memory.h"
#include "run/random.h"

#define DEFAULT_CLIENTS 1024
#define DEFAULT_PAGE 250
#define DEFAULT_ARRIVING_PART 4
#define DEFAULT_NOTES_PART 8

/* ---- times -------------------------------------------------------------- */

static int
times_take(const mcp_server_options *opt, struct mcpi_times *times, mcp_error *err)
{
    if (opt->limit_ms < 0 || opt->stop_ms < 0 || opt->overdue_ms < 0 ||
        opt->drain_ms < -1 || opt->list_ttl_ms < 0)
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
    struct mcpi_host *host = &server->trunk.host;
    int r = 0;

    host->loop = opt->loop;
    server->own_loop = !opt->loop;
    if (server->own_loop)
        r = mcp_loop_new(
            &MCP_LOOP_OPTIONS(.allocator = opt->allocator, .on_log = opt->on_log,
                              .log_user = opt->log_user, .log_level = opt->log_level),
            &host->loop, err);
    if (r < 0)
        return r;
    host->inside = mcpi_loop_inside(host->loop);
    if (mcpi_server_guard(server) < 0)
        return mcpi_error_set(err, MCP_E_STATE, "the loop is another process's");
    return 0;
}

static int
engine_make(mcp_server *server, const mcp_server_options *opt, const char *info,
            mcp_error *err)
{
    struct mcpi_engine_options engine = {
        .mem = server->trunk.host.mem,
        .role = MCPI_SERVER,
        .identity = {.info = info,
                     .capabilities = server->trunk.says.data,
                     .instructions = opt->instructions},
        .timers = mcpi_loop_timers(server->trunk.host.inside),
        .router = &mcpi_server_router,
        .router_user = &server->trunk,
        .log = server->trunk.host.log,
        .limits = {.in_flight = opt->in_flight,
                   .held_bytes = opt->held_bytes,
                   .message_bytes = opt->message_bytes,
                   .listeners = opt->listeners,
                   .subscribed = opt->subscribed},
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
        r = mcpi_engine_new(&engine, &server->trunk.host.engine);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    server->stop_us = server->trunk.host.engine->times.stop;
    server->overdue_us = server->trunk.host.engine->times.deaf;
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
    mcp_builder *b = mcp_builder_new(server->trunk.host.mem);
    int r;

    r = mcpi_identity_build(b, &who, err);
    if (r == 0)
        r = mcpi_offers_init(server, opt, err);
    if (r == 0)
        r = engine_make(server, opt, mcp_builder_text(b, NULL), err);
    mcp_builder_free(b);
    if (r == 0)
        mcpi_offers_say(&server->trunk);
    return r;
}

static int
server_make_catalogs(mcp_server *server)
{
    static const char *const members[MCPI_CATALOGS] = {
        "tools", "resources", "resourceTemplates", "prompts", "methods"};
    unsigned char key[MCPI_SEED_SIZE];
    int r;

    r = mcpi_random(key, sizeof(key));
    while (r == 0 && server->catalog_count < MCPI_CATALOGS) {
        r = mcpi_catalog_init(&server->catalogs[server->catalog_count],
                              server->trunk.host.mem, members[server->catalog_count],
                              key);
        server->catalog_count += r == 0;
    }
    return r;
}

static int
server_take_pool(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    const struct mcpi_pool_options pool = {.mem = server->trunk.host.mem,
                                           .log = server->trunk.host.log,
                                           .workers = opt->workers,
                                           .surplus = opt->overdue};
    int r;

    r = server_make_catalogs(server);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    r = mcpi_pool_new(&pool, &server->trunk.host.pool);
    return r < 0 ? mcpi_error_set(err, r, "no workers: %s", mcp_status_text(r)) : 0;
}

void
mcpi_server_dismantle(mcp_server *server)
{
    int r;

    mcpi_replicas_done(server);
    r = mcpi_engine_free(server->trunk.host.engine);
    assert(r == 0); /* no peer is left, and no request */
    (void)r;
    mcpi_news_done(&server->trunk);
    mcpi_sayings_done(&server->trunk);
    mcpi_elicited_done(server);
    while (server->catalog_count > 0)
        mcpi_catalog_done(&server->catalogs[--server->catalog_count]);
    mcpi_isolation_free(atomic_load(&server->isolation)); /* its tools have gone */
    mcpi_offers_done(server);
    mcpi_free(server->trunk.host.mem, server->middleware);
    mcpi_wipe(server->state_key, sizeof(server->state_key));
    mcpi_accounts_unref(server->accounts);
}

/* One that could not be made. */
static void
server_undo(mcp_server *server)
{
    mcpi_server_dismantle(server);
    (void)mcpi_pool_free(server->trunk.host.pool, 0);
    if (server->own_loop)
        mcp_loop_free(server->trunk.host.loop);
    mcpi_life_done(server);
}

/* Bytes that arrive have a limit of their own: their sender is not known yet. */
static int
server_open_accounts(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    size_t bytes = opt->memory_bytes ? opt->memory_bytes : mcpi_memory_share();
    struct mcpi_budget *budget;
    int r;

    r = mcpi_accounts_new(server->trunk.host.mem, &server->accounts);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    server->memory_bytes = bytes;
    budget = mcpi_accounts_budget(server->accounts);
    mcpi_budget_raise(budget, MCPI_HELD_ARRIVING, bytes / DEFAULT_ARRIVING_PART);
    mcpi_budget_raise(budget, MCPI_HELD_BYTES, bytes - bytes / DEFAULT_ARRIVING_PART);
    mcpi_budget_raise(budget, MCPI_HELD_NOTES, bytes / DEFAULT_NOTES_PART);
    return 0;
}

void
mcpi_server_share(mcp_server *server, const struct mcpi_branch *branch)
{
    struct mcpi_budget *budget = mcpi_accounts_budget(server->accounts);
    const struct mcpi_limits *limits = &branch->host.engine->limits;

    mcpi_budget_raise(budget, MCPI_HELD_LISTENERS, limits->listeners);
    mcpi_budget_raise(budget, MCPI_HELD_REQUESTS, limits->in_flight);
}

static int
server_fill(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    int r;

    server->trunk.server = server;
    server->trunk.host.user = opt->user;
    server->trunk.host.log.fn = opt->on_log;
    server->trunk.host.log.user = opt->log_user;
    server->trunk.host.log.level = opt->log_level ? opt->log_level : MCP_LOG_WARNING;
    server->page = opt->page ? opt->page : DEFAULT_PAGE;
    server->max_clients = opt->clients ? opt->clients : DEFAULT_CLIENTS;
    server->parent = getppid();
    server->on_notification = opt->on_notification;
    r = server_open_accounts(server, opt, err);
    if (r == 0)
        r = server_take_loop(server, opt, err);
    if (r == 0)
        r = server_introduce(server, opt, err);
    if (r == 0) {
        mcpi_server_share(server, &server->trunk);
        r = server_take_pool(server, opt, err);
    }
    if (r == 0)
        r = mcpi_asking_take_options(server, opt, err);
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
    server->trunk.host.mem = mcpi_mem_or_malloc(opt.allocator);
    r = mcpi_life_init(server);
    if (r < 0) {
        mcpi_free(server->trunk.host.mem, server);
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    }
    mcpi_sayings_init(&server->trunk);
    mcpi_elicited_init(server);
    r = server_fill(server, &opt, err);
    if (r == 0)
        r = mcpi_news_open(server, &opt, err);
    if (r < 0) {
        server_undo(server);
        return r;
    }
    mcpi_life_begin(server);
    *ret_server = server;
    return 0;
}

/* ---- what it counts ----------------------------------------------------- */

static uint64_t
tally_read(const atomic_uint_fast64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

/* What one branch counts, added to the sum. */
static void
counts_add(mcp_server_counts *sum, mcp_server *server, struct mcpi_branch *branch)
{
    const struct mcpi_tally *tally = &branch->host.tally;

    sum->clients += tally_read(&tally->clients);
    sum->in_flight += tally_read(&tally->in_flight);
    sum->live_handlers += tally_read(&tally->live_handlers);
    sum->overdue_handlers += mcpi_host_overdue(&branch->host, server->overdue_us);
    sum->requests += tally_read(&tally->requests);
    sum->answered += tally_read(&tally->answered);
    sum->failed += tally_read(&tally->failed);
    sum->canceled_by_peer += tally_read(&tally->by_peer);
    sum->canceled_by_limit += tally_read(&tally->by_limit);
    sum->canceled_by_stop += tally_read(&tally->by_stop);
    sum->canceled_by_loss += tally_read(&tally->by_loss);
    sum->never_started += tally_read(&tally->never_started);
    sum->stopped += tally_read(&tally->stopped);
    sum->ran_to_end += tally_read(&tally->ran_to_end);
    sum->connections += tally_read(&tally->connections);
    sum->sessions += tally_read(&tally->sessions);
    sum->streams += tally_read(&tally->streams);
}

int
mcp_server_count(mcp_server *server, mcp_server_counts *ret_counts)
{
    mcp_server_counts counts = {.size = sizeof(counts)};
    struct mcpi_branch *branch = NULL;
    struct mcpi_pool_counts pool;
    size_t size;

    if (!server || !ret_counts || ret_counts->size < sizeof(size))
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    mcpi_pool_count(server->trunk.host.pool, &pool);
    counts.queued = pool.queued;
    counts.workers = pool.threads;
    counts.busy_workers = pool.busy;
    counts.held_bytes = mcpi_budget_bytes(mcpi_accounts_budget(server->accounts));
    mcpi_isolation_count(atomic_load(&server->isolation), &counts);
    while ((branch = mcpi_branch_next(server, branch)) != NULL)
        counts_add(&counts, server, branch);
    size = counts.size = ret_counts->size;
    memset(ret_counts, 0, size);
    memcpy(ret_counts, &counts, size < sizeof(counts) ? size : sizeof(counts));
    return 0;
}
