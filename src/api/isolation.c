/*
 * isolation.c - the thread of all helpers of a server
 *
 *   runs -> ending -> (no helper is left) -> quiet
 *
 * Ending has three steps, each with its time: helpers may go by themselves, then they
 * are killed, then they are given up. It is begun when the server has stopped, so that
 * whoever frees it waits for both at the same time, and no loop is held meanwhile; what
 * is left when the server is taken apart is killed then.
 */
#include "api/isolation.h"

#include <assert.h>

#include "api/crew.h"
#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/random.h"
#include "run/thread.h"

/* After SIGKILL only the kernel is slow. */
#define GIVE_UP_US INT64_C(2000000)

/* More than a principal of a kilobyte, escaped, and what we say of ourselves. */
#define ENVELOPE 16384

static const char discovery[] = "{\"supportedVersions\":[\"2026-07-28\"]}";

static struct mcpi_crew *
crew_of(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct mcpi_crew, node);
}

/* ---- what core tells ---------------------------------------------------- */

static struct mcpi_helper *
helper_of(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct mcpi_helper, node);
}

/* The one of that peer, if it is busy: nobody else has something to say. */
static struct mcpi_helper *
isolation_find(struct mcpi_isolation *isolation, const struct mcpi_peer *peer)
{
    struct mcpi_list *busy, *crew, *node;

    for (crew = isolation->crews.next; crew != &isolation->crews; crew = crew->next) {
        busy = &crew_of(crew)->helpers[MCPI_HELPER_BUSY];
        for (node = busy->next; node != busy; node = node->next) {
            if (helper_of(node)->stream &&
                mcpi_stream_peer(helper_of(node)->stream) == peer)
                return helper_of(node);
        }
    }
    return NULL;
}

static void
on_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
            struct mcpi_exchange *about)
{
    struct mcpi_helper *helper = isolation_find(user, peer);

    (void)about;
    if (helper)
        mcpi_helper_note(helper, note);
}

static void
on_garbled(void *user, struct mcpi_peer *peer)
{
    struct mcpi_helper *helper = isolation_find(user, peer);

    if (helper)
        mcpi_helper_garbled(helper);
}

/* A helper asks nothing. */
static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    (void)user;
    (void)x;
    (void)why;
    return MCP_E_STATE;
}

static const struct mcpi_router router = {
    .route = on_route, .notified = on_notified, .garbled = on_garbled};

/* ---- its end, on its thread --------------------------------------------- */

static void
isolation_disarm(struct mcpi_isolation *isolation)
{
    struct mcpi_timers *timers = mcpi_loop_timers(isolation->loop);

    mcpi_timer_disarm(timers, &isolation->patience);
    mcpi_timer_disarm(timers, &isolation->give_up);
}

/* Nothing of it is used on this thread any more. */
static void
isolation_be_quiet(struct mcpi_isolation *isolation)
{
    int r;

    r = mcpi_engine_free(isolation->engine);
    assert(r == 0); /* every stream was freed */
    (void)r;
    isolation->engine = NULL;
    pthread_mutex_lock(&isolation->lock);
    isolation->is_quiet = true;
    pthread_cond_broadcast(&isolation->changed);
    pthread_mutex_unlock(&isolation->lock);
}

void
mcpi_isolation_check(struct mcpi_isolation *isolation)
{
    if (!isolation->ending || isolation->live > 0)
        return;
    isolation_disarm(isolation);
    if (isolation->gone)
        mcpi_loop_post(isolation->gone_loop, isolation->gone);
    isolation->gone = NULL;
    if (isolation->quitting && mcpi_list_empty(&isolation->crews) && isolation->engine)
        isolation_be_quiet(isolation);
}

static void
on_give_up(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_isolation *isolation = MCPI_CONTAINER(timer, struct mcpi_isolation,
                                                      give_up);
    struct mcpi_list *node;

    (void)now;
    for (node = isolation->crews.next; node != &isolation->crews; node = node->next)
        mcpi_crew_abandon(crew_of(node));
}

static void
isolation_kill(struct mcpi_isolation *isolation, int64_t now)
{
    struct mcpi_list *node;

    for (node = isolation->crews.next; node != &isolation->crews; node = node->next)
        mcpi_crew_kill(crew_of(node));
    mcpi_timer_arm(mcpi_loop_timers(isolation->loop), &isolation->give_up,
                   mcpi_time_add(now, GIVE_UP_US));
}

static void
on_patience(struct mcpi_timer *timer, int64_t now)
{
    isolation_kill(MCPI_CONTAINER(timer, struct mcpi_isolation, patience), now);
}

static void
on_end(struct mcpi_post *post)
{
    struct mcpi_isolation *isolation = MCPI_CONTAINER(post, struct mcpi_isolation, end);
    int64_t until;
    struct mcpi_list *node;

    until = mcpi_time_add(mcpi_loop_now(isolation->loop), isolation->patience_us);
    isolation->ending = true;
    for (node = isolation->crews.next; node != &isolation->crews; node = node->next) {
        mcpi_crew_dismiss(crew_of(node), until);
        mcpi_crew_stir(crew_of(node));
    }
    mcpi_timer_arm(mcpi_loop_timers(isolation->loop), &isolation->patience, until);
    mcpi_isolation_check(isolation);
}

static void
on_quit(struct mcpi_post *post)
{
    struct mcpi_isolation *isolation = MCPI_CONTAINER(post, struct mcpi_isolation,
                                                      quit);

    isolation->ending = isolation->quitting = true;
    mcpi_timer_disarm(mcpi_loop_timers(isolation->loop), &isolation->patience);
    isolation_kill(isolation, mcpi_loop_now(isolation->loop));
    mcpi_isolation_check(isolation);
}

/* ---- making it ---------------------------------------------------------- */

static int
isolation_make_engine(struct mcpi_isolation *isolation, size_t message_bytes)
{
    struct mcpi_engine_options opt = {
        .mem = isolation->mem,
        .role = MCPI_CLIENT,
        .era = MCPI_ERA_MODERN,
        .identity = {.info = "{\"name\":\"libmcp\",\"version\":\"0\"}"},
        .timers = mcpi_loop_timers(isolation->loop),
        .router = &router,
        .router_user = isolation,
        .log = isolation->log,
        .limits = {.message_bytes = message_bytes, .depth = SIZE_MAX},
        .times.drain = -1,
    };
    int r;

    r = mcpi_random(opt.seed, sizeof(opt.seed));
    return r < 0 ? r : mcpi_engine_new(&opt, &isolation->engine);
}

static int
isolation_fill(struct mcpi_isolation *isolation, size_t message_bytes)
{
    const mcp_json_options json = MCP_JSON_OPTIONS(.allocator = isolation->mem);
    int r;

    r = mcp_doc_parse(discovery, sizeof(discovery) - 1, &json, &isolation->discovery,
                      NULL);
    if (r == 0)
        r = mcpi_loop_new(isolation->mem, &isolation->log, &isolation->loop);
    if (r == 0)
        r = isolation_make_engine(isolation, message_bytes);
    if (r == 0)
        r = mcpi_loop_start(isolation->loop);
    return r;
}

/* Its thread has ended, or never ran. */
static void
isolation_discard(struct mcpi_isolation *isolation)
{
    (void)mcpi_engine_free(isolation->engine); /* if it was never used */
    mcpi_loop_free(isolation->loop);
    mcp_doc_free(isolation->discovery);
    pthread_cond_destroy(&isolation->changed);
    pthread_mutex_destroy(&isolation->lock);
    mcpi_free(isolation->mem, isolation);
}

static struct mcpi_isolation *
isolation_alloc(const struct mcpi_host *host)
{
    struct mcpi_isolation *isolation = mcpi_alloc_zero(host->mem, sizeof(*isolation));

    if (!isolation)
        return NULL;
    isolation->mem = host->mem;
    isolation->log = host->log;
    isolation->end.fn = on_end;
    isolation->quit.fn = on_quit;
    mcpi_list_init(&isolation->crews);
    mcpi_timer_init(&isolation->patience, on_patience);
    mcpi_timer_init(&isolation->give_up, on_give_up);
    if (pthread_mutex_init(&isolation->lock, NULL) == 0) {
        if (mcpi_cond_init(&isolation->changed) == 0)
            return isolation;
        pthread_mutex_destroy(&isolation->lock);
    }
    mcpi_free(host->mem, isolation);
    return NULL;
}

/* What fits into a message of the server's fits into one to a helper, with our own
 * members of _meta; what a helper says is written by the server once more. */
static size_t
message_bytes(const struct mcpi_host *host)
{
    size_t most = host->engine->limits.message_bytes;

    return most > SIZE_MAX - ENVELOPE ? most : most + ENVELOPE;
}

static int
isolation_new(const struct mcpi_host *host, struct mcpi_isolation **ret, mcp_error *err)
{
    struct mcpi_isolation *isolation = isolation_alloc(host);
    int r = MCP_E_NOMEM;

    if (isolation) {
        r = isolation_fill(isolation, message_bytes(host));
        if (r == 0) {
            *ret = isolation;
            return 0;
        }
        isolation_discard(isolation);
    }
    return mcpi_error_set(err, r, "no thread for isolated tools: %s",
                          mcp_status_text(r));
}

/* Two who add the first one at the same time make one each, and one is kept. */
static int
server_isolation(mcp_server *server, struct mcpi_isolation **ret, mcp_error *err)
{
    struct mcpi_isolation *kept = atomic_load(&server->isolation), *made = NULL;
    int r;

    if (!kept) {
        r = isolation_new(&server->trunk.host, &made, err);
        if (r < 0)
            return r;
        if (atomic_compare_exchange_strong(&server->isolation, &kept, made))
            kept = made;
        else
            mcpi_isolation_free(made);
    }
    *ret = kept;
    return 0;
}

/* ---- for the server ----------------------------------------------------- */

int
mcpi_isolation_add(mcp_server *server, const mcp_tool *definition,
                   struct mcpi_crew **ret_crew, mcp_error *err)
{
    struct mcpi_isolation *isolation;
    struct mcpi_crew *crew;
    int r;

    r = mcpi_crew_new(server->trunk.host.mem, definition, &crew, err);
    if (r < 0)
        return r;
    r = server_isolation(server, &isolation, err);
    if (r < 0) {
        mcpi_crew_discard(crew);
        return r;
    }
    mcpi_crew_open(crew, isolation);
    *ret_crew = crew;
    return 0;
}

void
mcpi_isolation_end(struct mcpi_isolation *isolation, int64_t patience_us,
                   struct mcpi_loop *loop, struct mcpi_post *gone)
{
    isolation->patience_us = patience_us;
    isolation->gone_loop = loop;
    isolation->gone = gone;
    mcpi_loop_post(isolation->loop, &isolation->end);
}

void
mcpi_isolation_free(struct mcpi_isolation *isolation)
{
    if (!isolation)
        return;
    mcpi_loop_post(isolation->loop, &isolation->quit);
    pthread_mutex_lock(&isolation->lock);
    while (!isolation->is_quiet)
        (void)mcpi_cond_wait(&isolation->changed, &isolation->lock, MCPI_NEVER);
    pthread_mutex_unlock(&isolation->lock);
    isolation_discard(isolation);
}

bool
mcpi_isolation_is_here(const struct mcpi_isolation *isolation)
{
    return isolation && mcpi_loop_is_here(isolation->loop);
}

static uint64_t
count_read(const atomic_uint_fast64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed);
}

void
mcpi_isolation_count(const struct mcpi_isolation *isolation, mcp_server_counts *into)
{
    if (!isolation)
        return;
    into->helpers = count_read(&isolation->helpers);
    into->busy_helpers = count_read(&isolation->busy);
    into->killed_helpers = count_read(&isolation->killed);
}
