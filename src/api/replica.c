/*
 * replica.c - branches of a server on loops and threads of their own
 *
 *   made       on the thread of whoever wants it; its thread runs from then on
 *   stopping   the server stops, and tells it so: links are closed
 *   stopped    no link is left: the server is told
 *   leaving    no link of any branch is left, so nobody hands it anything any more
 *   gone       the last handler is home: its thread ends, the server is told
 *
 * The server waits for all of them before it goes itself, and frees them then. What
 * happens to a replica happens on its loop; both sides tell each other by posts.
 */
#include <assert.h>
#include <string.h>

#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/random.h"
#include "run/thread.h"

struct replica {
    struct mcpi_branch branch;
    struct mcpi_list node; /* in the server's list */
    pthread_t thread;
    struct mcpi_post stop, leave;   /* to its loop */
    struct mcpi_post stopped, gone; /* to the server's */
    bool has_stopped, leaving;      /* loop only */
    bool over;                      /* likewise: its thread may end */
};

static struct replica *
replica_of(struct mcpi_branch *branch)
{
    return MCPI_CONTAINER(branch, struct replica, branch);
}

static struct replica *
replica_at(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct replica, node);
}

static struct mcpi_loop *
trunk_loop(const struct replica *replica)
{
    return replica->branch.server->trunk.host.inside;
}

/* ---- on its loop -------------------------------------------------------- */

void
mcpi_replica_check(struct mcpi_branch *branch)
{
    struct replica *replica = replica_of(branch);

    if (!branch->stopping || !mcpi_list_empty(&branch->links))
        return;
    if (!replica->has_stopped) {
        replica->has_stopped = true;
        mcpi_loop_post(trunk_loop(replica), &replica->stopped);
    }
    if (!replica->leaving || !mcpi_branch_is_quiet(branch))
        return;
    replica->over = true;
    mcpi_loop_stop(branch->host.inside);
}

static void
on_stop(struct mcpi_post *post)
{
    struct replica *replica = MCPI_CONTAINER(post, struct replica, stop);

    mcpi_branch_stop(&replica->branch);
    mcpi_links_close(&replica->branch);
    mcpi_replica_check(&replica->branch);
}

static void
on_leave(struct mcpi_post *post)
{
    struct replica *replica = MCPI_CONTAINER(post, struct replica, leave);

    replica->leaving = true;
    mcpi_replica_check(&replica->branch);
}

static void
on_home(struct mcpi_host *host)
{
    mcpi_replica_check(MCPI_CONTAINER(host, struct mcpi_branch, host));
}

/* Whatever makes it return, it runs on until it is over. */
static void *
replica_main(void *user)
{
    struct replica *replica = user;

    while (!replica->over)
        (void)mcp_loop_run(replica->branch.host.loop);
    mcpi_loop_post(trunk_loop(replica), &replica->gone);
    return NULL;
}

/* ---- on the loop of the server ------------------------------------------ */

static void
on_stopped(struct mcpi_post *post)
{
    struct replica *replica = MCPI_CONTAINER(post, struct replica, stopped);
    mcp_server *server = replica->branch.server;

    server->replicas_open--;
    mcpi_server_check(server);
}

static void
on_gone(struct mcpi_post *post)
{
    struct replica *replica = MCPI_CONTAINER(post, struct replica, gone);
    mcp_server *server = replica->branch.server;

    server->replicas_live--;
    mcpi_server_check(server);
}

void
mcpi_replicas_stop(mcp_server *server)
{
    struct mcpi_list *node;

    pthread_mutex_lock(&server->lock);
    server->full = true; /* so the list is ours from now on */
    pthread_mutex_unlock(&server->lock);
    for (node = server->replicas.next; node != &server->replicas; node = node->next) {
        server->replicas_open++;
        server->replicas_live++;
    }
    for (node = server->replicas.next; node != &server->replicas; node = node->next)
        mcpi_loop_post(replica_at(node)->branch.host.inside, &replica_at(node)->stop);
}

void
mcpi_replicas_leave(mcp_server *server)
{
    struct mcpi_list *node;

    for (node = server->replicas.next; node != &server->replicas; node = node->next)
        mcpi_loop_post(replica_at(node)->branch.host.inside, &replica_at(node)->leave);
}

/* ---- making one --------------------------------------------------------- */

/* Nobody runs its loop any more, or nobody has. */
static void
replica_free(struct replica *replica)
{
    struct mcpi_host *host = &replica->branch.host;
    int r;

    r = mcpi_engine_free(host->engine);
    assert(r == 0); /* no peer is left, and no request */
    (void)r;
    mcpi_news_done(&replica->branch);
    mcpi_sayings_done(&replica->branch);
    mcpi_buf_done(&replica->branch.says);
    mcp_loop_free(host->loop);
    mcpi_host_done(host);
    mcpi_free(host->mem, replica);
}

void
mcpi_replicas_done(mcp_server *server)
{
    struct replica *replica;
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&server->replicas)) != NULL) {
        replica = replica_at(node);
        pthread_join(replica->thread, NULL); /* it has told us, and returns */
        replica_free(replica);
    }
}

static struct replica *
replica_new(mcp_server *server)
{
    const struct mcpi_host *trunk = &server->trunk.host;
    struct replica *replica = mcpi_alloc_zero(trunk->mem, sizeof(*replica));
    struct mcpi_branch *branch;

    if (!replica)
        return NULL;
    branch = &replica->branch;
    branch->server = server;
    branch->host.mem = trunk->mem;
    branch->host.log = trunk->log;
    branch->host.user = trunk->user;
    branch->host.pool = trunk->pool;
    branch->host.went_home = on_home;
    mcpi_list_init(&branch->links);
    mcpi_list_init(&replica->node);
    mcpi_sayings_init(branch);
    replica->stop.fn = on_stop;
    replica->leave.fn = on_leave;
    replica->stopped.fn = on_stopped;
    replica->gone.fn = on_gone;
    if (mcpi_host_init(&branch->host) < 0) {
        mcpi_free(trunk->mem, replica);
        return NULL;
    }
    return replica;
}

static int
replica_make_loop(struct replica *replica, mcp_error *err)
{
    struct mcpi_host *host = &replica->branch.host;
    int r;

    r = mcp_loop_new(&MCP_LOOP_OPTIONS(.allocator = host->mem, .on_log = host->log.fn,
                                       .log_user = host->log.user,
                                       .log_level = host->log.level),
                     &host->loop, err);
    if (r == 0)
        host->inside = mcpi_loop_inside(host->loop);
    return r;
}

/* As the trunk's; what is in there never changes, but for the capabilities, which are
 * made anew. The instructions are kept as the text of a JSON string. */
static int
replica_make_engine(struct replica *replica)
{
    const struct mcpi_engine *like = replica->branch.server->trunk.host.engine;
    struct mcpi_host *host = &replica->branch.host;
    struct mcpi_engine_options opt = {
        .mem = host->mem,
        .role = like->role,
        .era = like->era,
        .identity = {.info = like->info, .capabilities = replica->branch.says.data},
        .timers = mcpi_loop_timers(host->inside),
        .router = like->router,
        .router_user = &replica->branch,
        .log = like->log,
        .limits = like->limits,
        .times = like->times,
    };
    mcp_doc *text = NULL;
    int r = 0;

    if (like->instructions)
        r = mcp_doc_parse(like->instructions, strlen(like->instructions),
                          &MCP_JSON_OPTIONS(.allocator = host->mem), &text, NULL);
    if (r < 0)
        return r;
    opt.identity.instructions = mcp_json_string(mcp_doc_root(text), NULL);
    r = mcpi_random(opt.seed, sizeof(opt.seed));
    if (r == 0)
        r = mcpi_engine_new(&opt, &host->engine);
    mcp_doc_free(text);
    return r;
}

static int
replica_fill(struct replica *replica, mcp_error *err)
{
    int r;

    r = replica_make_loop(replica, err);
    if (r < 0)
        return r;
    r = mcpi_offers_reserve(&replica->branch);
    if (r == 0)
        r = replica_make_engine(replica);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    mcpi_offers_say(&replica->branch);
    return mcpi_news_join(&replica->branch, err);
}

/* Its thread starts under the lock, as the server's own does: a server that has begun
 * to stop knows all that there are. */
static int
replica_start(struct replica *replica, mcp_error *err)
{
    mcp_server *server = replica->branch.server;
    int r = MCP_E_CLOSED;

    pthread_mutex_lock(&server->lock);
    if (!server->full)
        r = mcpi_thread_start(&replica->thread, 0, replica_main, replica);
    if (r == 0)
        mcpi_list_append(&server->replicas, &replica->node);
    pthread_mutex_unlock(&server->lock);
    if (r == MCP_E_CLOSED)
        return mcpi_error_set(err, r, "the server has stopped");
    return r < 0 ? mcpi_error_set(err, r, "no thread could be started") : 0;
}

static int
replica_add(mcp_server *server, mcp_error *err)
{
    struct replica *replica = replica_new(server);
    int r;

    if (!replica)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    r = replica_fill(replica, err);
    if (r == 0) {
        r = replica_start(replica, err);
        if (r < 0) {
            replica->has_stopped = true; /* nobody knows it: nobody is told */
            mcpi_branch_stop(&replica->branch);
        }
    }
    if (r < 0)
        replica_free(replica);
    else
        mcpi_server_share(server, &replica->branch);
    return r;
}

/* ---- from any thread ---------------------------------------------------- */

/* Two who want some at the same time may get more: they do nothing then. */
int
mcpi_server_grow(mcp_server *server, unsigned branches, mcp_error *err)
{
    int r = 0;

    while (r == 0 && branches > 0 && !mcpi_server_branch(server, branches - 1))
        r = replica_add(server, err);
    return r;
}

struct mcpi_branch *
mcpi_branch_next(mcp_server *server, struct mcpi_branch *branch)
{
    struct mcpi_list *next;

    if (!branch)
        return &server->trunk;
    pthread_mutex_lock(&server->lock);
    next = branch == &server->trunk ? server->replicas.next
                                    : replica_of(branch)->node.next;
    pthread_mutex_unlock(&server->lock);
    return next == &server->replicas ? NULL : &replica_at(next)->branch;
}

struct mcpi_branch *
mcpi_server_branch(mcp_server *server, unsigned index)
{
    struct mcpi_branch *branch = &server->trunk;

    while (branch && index-- > 0)
        branch = mcpi_branch_next(server, branch);
    return branch;
}

bool
mcpi_server_is_here(mcp_server *server)
{
    struct mcpi_branch *branch = NULL;

    if (mcpi_pool_is_here(server->trunk.host.pool) ||
        mcpi_isolation_is_here(atomic_load(&server->isolation)))
        return true;
    while ((branch = mcpi_branch_next(server, branch)) != NULL) {
        if (mcpi_loop_is_its_thread(branch->host.loop))
            return true;
    }
    return false;
}
