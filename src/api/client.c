/*
 * client.c - a client on its callers' threads: made, asked about, freed
 *
 * Who frees it: the thread that calls mcp_client_free, after it has waited until
 * nothing of the client is left on the loop. A thread that must not wait (the loop's
 * own, a worker in a callback of the client, the thread of a loop that nobody else
 * runs) leaves it as an orphan instead, and the loop side does the same in its stead.
 */
#include "api/client.h"

#include <string.h>
#include <unistd.h>

#include "api/call.h"
#include "api/identity.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/random.h"
#include "run/thread.h"
#include "wire/severity.h"

/* Workers of the pool are idle by the time it is freed. */
#define POOL_US (5 * INT64_C(1000000))

/* A loop of the program's that is not stepped for so long is not stepped any more. */
#define STEP_US INT64_C(1000000)

#define DEFAULT_FLUSH_US INT64_C(500000)

void
mcpi_client_ref(struct mcp_client *client)
{
    atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
}

bool
mcpi_client_is_ours(const struct mcp_client *client)
{
    return mcpi_loop_is_ours(client->host.inside);
}

int
mcpi_client_may_wait(const struct mcp_client *client, mcp_error *err)
{
    if (mcpi_loop_any_here() ||
        (client->host.loop && mcpi_loop_is_its_thread(client->host.loop)))
        return mcpi_error_set(err, MCP_E_STATE, "the thread of a loop must not wait");
    return 0;
}

bool
mcpi_client_wants_look(struct mcp_client *client)
{
    bool post = !client->look_out;

    client->look_out = true;
    return post;
}

/* ---- taking it apart ----------------------------------------------------- */

void
mcpi_client_dismantle(struct mcp_client *client)
{
    (void)mcpi_engine_free(
        client->host.engine); /* if it was never opened: without peers */
    client->host.engine = NULL;
    (void)mcpi_pool_free(client->host.pool, POOL_US); /* late: its last worker does */
    client->pool = client->host.pool = NULL;
    if (client->host.loop)
        mcpi_loop_leave(client->host.loop);
    else
        mcpi_loop_free(client->host.inside);
    client->host.inside = NULL;
}

static void
client_destroy(struct mcp_client *client)
{
    if (client->has_lane)
        mcpi_lane_done(&client->lane);
    if (client->has_front) {
        mcpi_front_done(&client->front);
        mcpi_map_done(&client->watches);
        mcpi_cache_done(&client->cache);
        mcpi_promises_done(&client->promises);
        mcpi_mirrors_done(&client->mirrors);
    }
    if (client->has_host)
        mcpi_host_done(&client->host);
    mcpi_answerer_done(client);
    mcpi_reach_done(&client->reach, client->host.mem);
    mcpi_scope_unref(client->scope);
    mcp_doc_free(client->adopted);
    mcp_doc_free(client->former);
    mcp_doc_free(client->hello.doc);
    mcp_text_free(client->discovery, client->host.mem);
    if (client->host.loop)
        mcpi_loop_drop(client->host.loop);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->lock);
    mcpi_free(client->host.mem, client);
}

void
mcpi_client_unref(struct mcp_client *client)
{
    if (atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) == 1)
        client_destroy(client);
}

/* ---- making it ----------------------------------------------------------- */

static int
client_alloc(const mcp_allocator *mem, struct mcp_client **ret)
{
    struct mcp_client *client;

    client = mcpi_alloc_zero(mem, sizeof(*client));
    if (!client)
        return MCP_E_NOMEM;
    client->host.mem = mem;
    client->pid = getpid();
    atomic_init(&client->refs, 1);
    mcpi_list_init(&client->calls);
    mcpi_list_init(&client->subscriptions);
    atomic_init(&client->listens, 0);
    mcpi_reach_init(&client->reach);
    client->open.fn = mcpi_client_on_open;
    client->look.fn = mcpi_client_on_look;
    if (pthread_mutex_init(&client->lock, NULL) != 0)
        goto no_lock;
    if (mcpi_cond_init(&client->changed) < 0)
        goto no_condition;
    *ret = client;
    return 0;

no_condition:
    pthread_mutex_destroy(&client->lock);
no_lock:
    mcpi_free(mem, client);
    return MCP_E_NOMEM;
}

/* From a stored discovery: what is there must be a JSON object; the rest is checked
 * when it is adopted. */
static int
client_adopt(struct mcp_client *client, mcp_error *err)
{
    struct mcpi_text found;

    if (!client->opt.discovery)
        return 0;
    return mcpi_object_text(client, client->opt.discovery, "discovery", &found,
                            &client->adopted, err);
}

static int
times_read(const mcp_client_options *opt, struct mcpi_times *ret, mcp_error *err)
{
    if (!mcpi_time_option(opt->timeout_ms, &ret->request) ||
        !mcpi_time_option(opt->probe_ms, &ret->probe) ||
        !mcpi_time_option(opt->hello_ms, &ret->hello) ||
        !mcpi_time_option(opt->flush_ms, &ret->stop))
        return mcpi_error_set(err, MCP_E_INVAL, "a time must not be negative");
    if (ret->stop == 0)
        ret->stop = DEFAULT_FLUSH_US;
    ret->drain = -1; /* who asked is gone: its questions go with it */
    return 0;
}

static int
era_read(enum mcp_era era, enum mcpi_era *ret, mcp_error *err)
{
    switch (era) {
    case MCP_ERA_BOTH:
        *ret = MCPI_ERA_BOTH;
        return 0;
    case MCP_ERA_MODERN:
        *ret = MCPI_ERA_MODERN;
        return 0;
    case MCP_ERA_LEGACY:
        *ret = MCPI_ERA_LEGACY;
        return 0;
    }
    return mcpi_error_set(err, MCP_E_INVAL, "era: there is none of that number");
}

static int
client_make_engine(struct mcp_client *client, const struct mcpi_identity *identity,
                   mcp_error *err)
{
    struct mcpi_engine_options opt = {
        .mem = client->host.mem,
        .role = MCPI_CLIENT,
        .identity = *identity,
        .timers = mcpi_loop_timers(client->host.inside),
        .router = &mcpi_client_router,
        .router_user = client,
        .log = client->host.log,
        .limits.message_bytes = client->opt.message_bytes,
    };
    int r;

    r = times_read(&client->opt, &opt.times, err);
    if (r == 0)
        r = era_read(client->opt.era, &opt.era, err);
    if (r < 0)
        return r;
    mcpi_client_watch_wire(client, &opt);
    r = mcpi_random(opt.seed, sizeof(opt.seed));
    if (r == 0)
        r = mcpi_engine_new(&opt, &client->host.engine);
    if (r == 0)
        r = mcpi_front_init(&client->front, client->host.mem, opt.seed,
                            !client->opt.discovery);
    if (r < 0)
        return mcpi_error_set(err, r, "no client: %s", mcp_status_text(r));
    client->has_front = true;
    mcpi_map_init(&client->watches, client->host.mem, opt.seed);
    mcpi_cache_init(&client->cache, client->host.mem, opt.seed);
    mcpi_promises_init(&client->promises, client->host.mem, opt.seed);
    mcpi_mirrors_init(&client->mirrors, client->host.mem, opt.seed);
    client->timeout_us = client->host.engine->times.request;
    client->max_bytes = client->host.engine->limits.message_bytes;
    client->max_depth = client->host.engine->limits.depth;
    return 0;
}

static int
client_introduce(struct mcp_client *client, mcp_error *err)
{
    const mcp_client_options *opt = &client->opt;
    const struct mcpi_implementation who = {.name = opt->name,
                                            .version = opt->version,
                                            .title = opt->title,
                                            .description = opt->description,
                                            .website = opt->website,
                                            .icons = opt->icons};
    mcp_builder *info = mcp_builder_new(client->host.mem);
    mcp_builder *now = mcp_builder_new(client->host.mem);
    mcp_builder *then = mcp_builder_new(client->host.mem);
    int r;

    r = mcpi_identity_build(info, &who, err);
    if (r == 0)
        r = mcpi_answerer_declare(client, false, now, err);
    if (r == 0)
        r = mcpi_answerer_declare(client, true, then, err);
    if (r == 0)
        r = client_make_engine(client,
                               &(struct mcpi_identity){
                                   .info = mcp_builder_text(info, NULL),
                                   .capabilities = mcp_builder_text(now, NULL),
                                   .legacy_capabilities = mcp_builder_text(then, NULL)},
                               err);
    mcp_builder_free(info);
    mcp_builder_free(now);
    mcp_builder_free(then);
    return r;
}

static void
handler_is_home(struct mcpi_host *host)
{
    mcpi_client_try_finish(MCPI_CONTAINER(host, struct mcp_client, host));
}

/* Who runs the handlers that the server may ask. */
static int
client_make_host(struct mcp_client *client)
{
    struct mcpi_host *host = &client->host;
    int r;

    host->user = client->opt.user;
    host->went_home = handler_is_home;
    r = mcpi_host_init(host);
    client->has_host = r == 0;
    return r;
}

static int
client_make_threads(struct mcp_client *client)
{
    const struct mcpi_pool_options pool = {.mem = client->host.mem,
                                           .log = client->host.log};
    int r = 0;

    if (client->opt.loop) {
        client->host.loop = mcpi_loop_keep(client->opt.loop);
        client->host.inside = mcpi_loop_inside(client->opt.loop);
        mcpi_loop_join(client->host.loop);
    } else {
        r = mcpi_loop_new(client->host.mem, &client->host.log, &client->host.inside);
    }
    if (r == 0)
        r = client_make_host(client);
    if (r == 0 &&
        (!client->opt.callbacks_on_loop || mcpi_answerer_runs(&client->answerer)))
        r = mcpi_pool_new(&pool, &client->host.pool);
    if (!client->opt.callbacks_on_loop)
        client->pool = client->host.pool;
    if (r == 0)
        r = mcpi_client_init_lane(client);
    client->has_lane = r == 0;
    return r;
}

void
mcpi_client_discard(struct mcp_client *client)
{
    mcpi_client_dismantle(client);
    mcpi_client_unref(client);
}

static int
client_fill(struct mcp_client *client, mcp_error *err)
{
    enum mcp_severity messages = client->opt.messages;
    int r;

    if (messages != MCP_SEVERITY_NONE && !mcpi_severity_is_one(messages))
        return mcpi_error_set(err, MCP_E_INVAL, "messages: of no severity there is");
    if (client->opt.rounds < -1)
        return mcpi_error_set(err, MCP_E_INVAL, "rounds: there cannot be %d",
                              client->opt.rounds);
    r = mcpi_answerer_init(client, err);
    if (r < 0)
        return r;
    r = client_make_threads(client);
    if (r < 0)
        return mcpi_error_set(err, r, "no client: %s", mcp_status_text(r));
    r = client_introduce(client, err);
    if (r == 0)
        r = client_adopt(client, err);
    if (r == 0)
        r = mcpi_scope_check(client->opt.scope, err);
    if (r == 0 && client->opt.scope)
        client->scope = mcpi_scope_ref(mcpi_scope_inside(client->opt.scope));
    return r;
}

int
mcpi_client_new(const mcp_client_options *given, struct mcp_client **ret_client,
                mcp_error *err)
{
    struct mcp_client *client;
    mcp_client_options opt;
    int r;

    if (!ret_client || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of a client");
    if (opt.loop && !mcpi_loop_is_ours(mcpi_loop_inside(opt.loop)))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    if (client_alloc(mcpi_mem_or_malloc(opt.allocator), &client) < 0)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    client->opt = opt;
    atomic_init(&client->messages, (int)opt.messages);
    client->host.log = (struct mcpi_log){
        opt.on_log, opt.log_user, opt.log_level ? opt.log_level : MCP_LOG_WARNING};
    r = client_fill(client, err);
    if (r < 0) {
        mcpi_client_discard(client);
        return r;
    }
    *ret_client = client;
    return 0;
}

/* ---- the end ------------------------------------------------------------- */

/* Would it wait for itself, or for nobody? */
static bool
client_must_not_wait(const struct mcp_client *client)
{
    if (mcpi_loop_any_here())
        return true;
    if (client->host.pool && mcpi_pool_is_here(client->host.pool))
        return true;
    return client->host.loop && !mcpi_loop_is_run_elsewhere(client->host.loop);
}

/* False: nobody runs the loop any more, and the client is an orphan now. */
static bool
client_await_gone(struct mcp_client *client)
{
    bool goes_on = true;
    unsigned turns = 0;
    bool gone;

    if (!client->host.loop) {
        (void)pthread_join(client->thread, NULL);
        return true;
    }
    (void)mcpi_loop_goes_on(client->host.loop, &turns);
    pthread_mutex_lock(&client->lock);
    while (!client->is_gone && goes_on) {
        if (!mcpi_cond_wait(&client->changed, &client->lock,
                            mcpi_time_add(mcpi_loop_clock(), STEP_US)))
            goes_on = mcpi_loop_goes_on(client->host.loop, &turns);
    }
    gone = client->is_gone;
    client->is_orphan = !gone;
    pthread_mutex_unlock(&client->lock);
    return gone;
}

void
mcp_client_free(mcp_client *client)
{
    bool orphan, post, counted, gone;

    if (!client || !mcpi_client_is_ours(client))
        return;
    orphan = client_must_not_wait(client);
    mcpi_front_close(&client->front);
    pthread_mutex_lock(&client->lock);
    client->is_freed = client->is_closing = true;
    client->is_orphan = orphan;
    post = mcpi_client_wants_look(client);
    pthread_mutex_unlock(&client->lock);
    if (post)
        mcpi_loop_post(client->host.inside, &client->look);
    if (orphan)
        return;                            /* it may be gone by now */
    counted = mcpi_pool_wait_begin() == 0; /* it must wait either way */
    gone = client_await_gone(client);
    if (counted)
        mcpi_pool_wait_end();
    if (gone)
        mcpi_client_discard(client);
}

void
mcp_client_close(mcp_client *client)
{
    bool post;

    if (!client || !mcpi_client_is_ours(client))
        return;
    mcpi_front_close(&client->front);
    pthread_mutex_lock(&client->lock);
    client->is_closing = true;
    post = mcpi_client_wants_look(client);
    pthread_mutex_unlock(&client->lock);
    if (post)
        mcpi_loop_post(client->host.inside, &client->look);
}

/* ---- about the server ---------------------------------------------------- */

/* Constant once it is ready; all NULL before. */
static struct mcpi_hello
client_hello(struct mcp_client *client)
{
    struct mcpi_hello hello = {.doc = NULL};

    if (!client || !mcpi_client_is_ours(client))
        return hello;
    pthread_mutex_lock(&client->lock);
    hello = client->hello;
    pthread_mutex_unlock(&client->lock);
    return hello;
}

const char *
mcp_client_version(mcp_client *client)
{
    return client_hello(client).version;
}

const mcp_json *
mcp_client_server_info(mcp_client *client)
{
    return client_hello(client).info;
}

const mcp_json *
mcp_client_server_capabilities(mcp_client *client)
{
    return client_hello(client).capabilities;
}

const char *
mcp_client_instructions(mcp_client *client)
{
    return client_hello(client).instructions;
}

const char *
mcp_client_discovery(mcp_client *client)
{
    const mcp_json *result = client_hello(client).result;
    const char *text;
    char *made = NULL;

    if (!result || mcp_json_print(result, false, client->host.mem, &made, NULL) < 0)
        return NULL;
    pthread_mutex_lock(&client->lock);
    if (!client->discovery) {
        client->discovery = made;
        made = NULL;
    }
    text = client->discovery;
    pthread_mutex_unlock(&client->lock);
    mcp_text_free(made, client->host.mem); /* somebody asked before */
    return text;
}

int64_t
mcp_client_pid(mcp_client *client)
{
    int64_t pid;

    if (!client || !mcpi_client_is_ours(client))
        return 0;
    pthread_mutex_lock(&client->lock);
    pid = client->child_pid;
    pthread_mutex_unlock(&client->lock);
    return pid;
}

int
mcp_client_count(mcp_client *client, mcp_client_counts *ret_counts)
{
    mcp_client_counts counts;
    size_t size;

    if (!client || !ret_counts || ret_counts->size < sizeof(size_t))
        return MCP_E_INVAL;
    if (!mcpi_client_is_ours(client))
        return MCP_E_STATE;
    size = ret_counts->size;
    mcpi_front_count(&client->front, &counts);
    counts.size = size;
    memset(ret_counts, 0, size);
    memcpy(ret_counts, &counts, size < sizeof(counts) ? size : sizeof(counts));
    return 0;
}
