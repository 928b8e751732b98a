/*
 * http_service.c - an endpoint on each of some branches of a server
 *
 *   made -> open -> closing -> gone      each shard, on its loop
 *
 * Closing: the listener stops accepting; the endpoint drains; connections go with their
 * last answer, and so do those whose turns come by the mount; what is left of them after
 * the bound is cut. Then the mount closes, and the link leaves its branch. What shards
 * share lives until the last of them is gone.
 */
#include "api/http_service.h"

#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/mirrored.h"
#include "auth/guard.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/http_listener.h"
#include "link/http_session.h"

#define SPARE_DESCRIPTORS_PART 4 /* of all: handlers need some, and somebody new */
#define DEFAULT_SESSIONS_PART 8  /* of the memory: more sessions than fit are refused */

struct service;

struct shard {
    struct mcpi_server_link link;
    struct mcpi_post open;
    struct service *service;
    struct mcpi_branch *branch;
    unsigned index;
    int fd; /* until it is the listener's; -1: none */
    struct mcpi_mount *mount;
    struct mcpi_endpoint *endpoint;      /* NULL: not open yet, or gone */
    struct mcpi_http_listener *listener; /* NULL: none, or closed */
    bool endpoint_closed;
    bool mount_idle;            /* what waited for carriers has left */
    struct mcpi_timer patience; /* with connections and carriers that do not go */
    bool impatient;
};

struct service {
    const mcp_allocator *mem;
    atomic_uint refs; /* one for each shard and each search */
    struct mcpi_http_settings *settings;
    struct mcpi_tls_context *tls;
    bool loopback;
    int port;
    unsigned count;
    struct shard shards[];
};

static void
service_unref(struct service *service)
{
    if (atomic_fetch_sub_explicit(&service->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (unsigned i = 0; i < service->count; i++)
        mcpi_mount_unref(service->shards[i].mount);
    mcpi_http_settings_unref(service->settings);
    mcpi_tls_context_unref(service->tls);
    mcpi_free(service->mem, service);
}

/* ---- closing ------------------------------------------------------------ */

static struct mcpi_loop *
shard_loop(const struct shard *shard)
{
    return shard->branch->host.inside;
}

/* It is not, or not any more, a link. */
static void
shard_end(struct shard *shard)
{
    if (shard->fd >= 0)
        close(shard->fd);
    mcpi_mount_close(shard->mount);
    mcpi_endpoint_free(shard->endpoint);
    shard->endpoint = NULL;
    service_unref(shard->service);
}

static void
shard_check(struct shard *shard)
{
    struct mcpi_branch *branch = shard->branch;

    if (!shard->endpoint_closed || shard->listener ||
        (!shard->mount_idle && !shard->impatient))
        return;
    mcpi_timer_disarm(mcpi_loop_timers(shard_loop(shard)), &shard->patience);
    mcpi_list_remove(&shard->link.node);
    shard_end(shard);
    mcpi_branch_check(branch);
}

static void
on_mount_idle(void *user)
{
    struct shard *shard = user;

    shard->mount_idle = true;
    shard_check(shard);
}

static void
on_endpoint_closed(void *user, struct mcpi_endpoint *endpoint)
{
    struct shard *shard = user;

    (void)endpoint;
    shard->endpoint_closed = true;
    shard->mount_idle = mcpi_mount_drain(shard->mount, on_mount_idle, shard);
    shard_check(shard);
}

static void
on_listener_closed(void *user, struct mcpi_http_listener *listener)
{
    struct shard *shard = user;

    shard->listener = NULL;
    mcpi_http_listener_free(listener);
    shard_check(shard);
}

static void
on_patience(struct mcpi_timer *timer, int64_t now)
{
    struct shard *shard = MCPI_CONTAINER(timer, struct shard, patience);
    struct mcpi_http_listener *listener = shard->listener;

    (void)now;
    shard->impatient = true;
    shard->listener = NULL;
    mcpi_http_listener_free(listener);
    shard_check(shard);
}

/* The engine bounds what it says itself by the same times. */
static void
on_close(struct mcpi_server_link *self)
{
    struct shard *shard = MCPI_CONTAINER(self, struct shard, link);
    const struct mcpi_times *times = &shard->branch->host.engine->times;
    struct mcpi_loop *loop = shard_loop(shard);
    int64_t until = mcpi_time_add(mcpi_loop_now(loop), times->stop);

    if (times->drain > 0)
        until = mcpi_time_add(until, times->drain);
    mcpi_timer_arm(mcpi_loop_timers(loop), &shard->patience, until);
    if (shard->listener)
        mcpi_http_listener_close(shard->listener);
    mcpi_endpoint_close(shard->endpoint);
}

/* ---- room for a session -------------------------------------------------- */

/* Asks the other shards, in turn, to end a session for a client that was refused one. */
struct search {
    struct mcpi_post post;
    struct service *service;      /* counted */
    struct mcpi_account *account; /* counted; no other search seeks its place */
    unsigned index;               /* of the shard that is asked now */
    unsigned left;                /* how many are to be asked after it */
};

static void
search_end(struct search *search)
{
    struct service *service = search->service;

    (void)mcpi_account_lose_place(search->account); /* unless it is kept */
    mcpi_account_unref(search->account);
    mcpi_free(service->mem, search);
    service_unref(service);
}

/* Called on an open shard: then all loops are there, and run what is posted. */
static void
search_on(struct search *search)
{
    struct service *service = search->service;

    search->left--;
    search->index = (search->index + 1) % service->count;
    mcpi_loop_post(shard_loop(&service->shards[search->index]), &search->post);
}

/* A shard that is not open ends the search: from there nothing may be posted. */
static void
on_search(struct mcpi_post *post)
{
    struct search *search = MCPI_CONTAINER(post, struct search, post);
    struct mcpi_endpoint *endpoint = search->service->shards[search->index].endpoint;

    if (!endpoint || mcpi_endpoint_make_room(endpoint, search->account)) {
        search_end(search);
    } else if (search->left == 0) {
        mcpi_endpoint_found_no_room(endpoint, search->account);
        search_end(search);
    } else {
        search_on(search);
    }
}

/* If memory is short no search begins. */
static void
on_wants_room(void *user, struct mcpi_account *account)
{
    const struct shard *shard = user;
    struct service *service = shard->service;
    struct search *search;

    if (!mcpi_account_seek_place(account))
        return;
    search = mcpi_alloc(service->mem, sizeof(*search));
    if (!search) {
        (void)mcpi_account_lose_place(account);
        return;
    }
    *search = (struct search){.post = {.fn = on_search},
                              .service = service,
                              .account = mcpi_account_ref(account),
                              .index = shard->index,
                              .left = service->count - 1};
    atomic_fetch_add_explicit(&service->refs, 1, memory_order_relaxed);
    search_on(search);
}

/* ---- opening ------------------------------------------------------------ */

static void
on_changed(void *user, int connections, int sessions, int streams)
{
    const struct shard *shard = user;
    struct mcpi_tally *tally = &shard->branch->host.tally;

    mcpi_tally_add(&tally->connections, connections);
    mcpi_tally_add(&tally->sessions, sessions);
    mcpi_tally_add(&tally->streams, streams);
}

static const char *
header_of(void *user, const char *name, size_t *ret_count)
{
    return mcpi_http_get(user, name, ret_count);
}

static int
on_check_params(void *user, const char *tool, const mcp_json *arguments,
                const struct mcpi_http_in *in, char *why, size_t size)
{
    const struct shard *shard = user;

    return mcpi_mirrored_check(shard->branch->server, tool, arguments, header_of,
                               (void *)(uintptr_t)in, why, size);
}

static void
on_elsewhere(void *user, unsigned index, struct mcpi_turn *turn,
             const struct mcpi_http_in *in)
{
    const struct shard *shard = user;

    mcpi_relay_serve(shard_loop(shard), shard->service->shards[index].mount, turn, in);
}

static struct mcpi_http_clients
service_clients(const struct service *service, const mcp_server *server)
{
    return (struct mcpi_http_clients){.accounts = server->accounts,
                                      .proxied = service->settings->http.proxied};
}

static int
shard_make_endpoint(struct shard *shard)
{
    const struct service *service = shard->service;
    struct mcpi_engine *engine = shard->branch->host.engine;
    const mcp_guard *guard = service->settings->http.guard;
    const struct mcpi_endpoint_options opt = {
        .loop = shard_loop(shard),
        .engine = engine,
        .modern = engine->era != MCPI_ERA_LEGACY,
        .legacy = engine->era != MCPI_ERA_MODERN,
        .http = &service->settings->http,
        .loopback = service->loopback,
        .port = service->port,
        .shard = shard->index,
        .shards = service->count,
        .gauges = {.changed = on_changed, .user = shard},
        .clients = service_clients(service, shard->branch->server),
        .notice = guard ? mcpi_guard_notice(guard) : NULL,
        .check_params = on_check_params,
        .elsewhere = on_elsewhere,
        .wants_room = service->count > 1 ? on_wants_room : NULL,
        .closed = on_endpoint_closed,
        .user = shard,
    };

    return mcpi_endpoint_new(&opt, &shard->endpoint);
}

static int
shard_make_listener(struct shard *shard, mcp_error *err)
{
    const struct service *service = shard->service;
    const struct mcpi_http_listener_options opt = {
        .loop = shard_loop(shard),
        .http = &service->settings->http,
        .endpoint = shard->endpoint,
        .tls = service->tls,
        .gauges = {.changed = on_changed, .user = shard},
        .clients = service_clients(service, shard->branch->server),
        .closed = on_listener_closed,
        .user = shard,
    };
    int r;

    if (shard->fd < 0)
        return 0;
    r = mcpi_http_listener_new(&opt, shard->fd, &shard->listener, err);
    if (r == 0)
        shard->fd = -1;
    return r;
}

/* The others open behind the first, whose loop is the server's: so nobody is served
 * before the server runs, and none opens behind the stop of its branch. */
static void
service_open_others(struct service *service, bool stopping)
{
    struct shard *shard;

    for (unsigned i = 1; i < service->count; i++) {
        shard = &service->shards[i];
        if (stopping)
            shard_end(shard); /* its loop has not heard of it */
        else
            mcpi_loop_post(shard_loop(shard), &shard->open);
    }
}

/* On the loop. */
static void
on_open(struct mcpi_post *post)
{
    struct shard *shard = MCPI_CONTAINER(post, struct shard, open);
    mcp_error why = {0};
    int r = MCP_E_CLOSED;

    if (shard->index == 0)
        service_open_others(shard->service, shard->branch->stopping);
    if (!shard->branch->stopping)
        r = shard_make_endpoint(shard);
    if (r == 0)
        r = shard_make_listener(shard, &why);
    if (r == 0) {
        mcpi_mount_open(shard->mount, shard->endpoint);
        mcpi_branch_add_link(shard->branch, &shard->link);
        return;
    }
    if (r != MCP_E_CLOSED)
        MCPI_LOG(&shard->branch->host.log, MCP_LOG_ERROR,
                 "HTTP cannot be served on a loop: %s",
                 why.message[0] ? why.message : mcp_status_text(r));
    shard_end(shard);
}

/* ---- from any thread ---------------------------------------------------- */

static int
shard_init(struct service *service, unsigned index,
           const struct mcpi_http_service_options *opt)
{
    struct shard *shard = &service->shards[index];
    const struct mcpi_http_clients clients = service_clients(service, opt->server);

    mcpi_list_init(&shard->link.node);
    shard->link.close = on_close;
    shard->open.fn = on_open;
    shard->service = service;
    shard->branch = mcpi_server_branch(opt->server, index);
    shard->index = index;
    shard->fd = opt->take_fds ? opt->take_fds[index] : -1;
    mcpi_timer_init(&shard->patience, on_patience);
    return mcpi_mount_new(shard_loop(shard), &clients, &shard->mount);
}

/* As many connections as there may be, but not all descriptors: nobody could be accepted
 * any more, and handlers need some. */
static size_t
service_connections(const struct service *service)
{
    size_t count = service->settings->http.connections;
    struct rlimit limit;

    count = count > SIZE_MAX / service->count ? SIZE_MAX : count * service->count;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return count;
    limit.rlim_cur -= limit.rlim_cur / SPARE_DESCRIPTORS_PART;
    return limit.rlim_cur < count ? (size_t)limit.rlim_cur : count;
}

/* Its connections and sessions are there to be shared, too. */
static void
service_share(const struct service *service, const mcp_server *server)
{
    struct mcpi_budget *budget = mcpi_accounts_budget(server->accounts);
    size_t room = server->memory_bytes / DEFAULT_SESSIONS_PART / MCPI_SESSION_WEIGHT;

    mcpi_budget_raise(budget, MCPI_HELD_CONNECTIONS, service_connections(service));
    for (unsigned i = 0; i < service->count; i++)
        mcpi_budget_raise_within(budget, MCPI_HELD_SESSIONS,
                                 service->settings->http.sessions, room);
}

/* What can never arrive is too long (413), not something to come back with (503). */
static void
service_bound_bodies(struct service *service, const mcp_server *server)
{
    struct mcpi_budget *budget = mcpi_accounts_budget(server->accounts);
    size_t most = mcpi_budget_share(budget, MCPI_HELD_ARRIVING);
    mcp_http_options *http = &service->settings->http;

    if (http->body_bytes > most)
        http->body_bytes = most;
}

/* With a reference for each shard. */
static int
service_new(const struct mcpi_http_service_options *opt, struct service **ret_service)
{
    const mcp_allocator *mem = opt->server->trunk.host.mem;
    struct service *service;
    int r = 0;

    service = mcpi_alloc_zero(mem, sizeof(*service) +
                                       opt->shards * sizeof(service->shards[0]));
    if (!service)
        return MCP_E_NOMEM;
    service->mem = mem;
    service->loopback = opt->loopback;
    service->port = opt->port;
    service->settings = mcpi_http_settings_ref(opt->settings);
    service->tls = opt->tls ? mcpi_tls_context_ref(opt->tls) : NULL;
    while (r == 0 && service->count < opt->shards) {
        r = shard_init(service, service->count, opt);
        service->count += r == 0;
    }
    if (r < 0) {
        atomic_init(&service->refs, 1);
        service_unref(service);
        return r;
    }
    service_share(service, opt->server);
    service_bound_bodies(service, opt->server);
    atomic_init(&service->refs, service->count);
    *ret_service = service;
    return 0;
}

int
mcpi_http_service_open(const struct mcpi_http_service_options *opt,
                       struct mcpi_mount **ret_mount, mcp_error *err)
{
    struct service *service;
    int r;

    r = mcpi_server_grow(opt->server, opt->shards, err);
    if (r < 0)
        return r;
    r = service_new(opt, &service);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    if (ret_mount)
        *ret_mount = mcpi_mount_ref(service->shards[0].mount);
    atomic_store(&opt->server->reachable, true);
    mcpi_loop_post(shard_loop(&service->shards[0]), &service->shards[0].open);
    return 0;
}
