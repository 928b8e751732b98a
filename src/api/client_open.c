/*
 * client_open.c - the ways to open a client, on the caller's thread
 *
 * All of them make the client and the way to its server here, post the rest to the
 * loop, and wait for it unless they were told not to. What fails before the loop knows
 * of the client is discarded; what fails later is freed like any client, which waits
 * for all that was begun.
 */
#include <unistd.h>

#include "api/client.h"
#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/unix.h"
#include "run/thread.h"

/* While connecting, how often the scope is looked at. */
#define CONNECT_SLICE_US INT64_C(50000)

/* A loop of its own, on a thread of its own. Whoever frees the client joins it; for an
 * orphan it takes the client apart itself. */
static void *
client_main(void *user)
{
    struct mcp_client *client = user;
    bool orphan;

    (void)mcpi_loop_run(client->host.inside); /* nobody else runs it */
    pthread_mutex_lock(&client->lock);
    orphan = client->is_orphan;
    pthread_mutex_unlock(&client->lock);
    if (orphan) {
        (void)pthread_detach(pthread_self()); /* nobody joins it */
        mcpi_client_discard(client);
    }
    return NULL;
}

static int
client_await_opened(struct mcp_client *client, mcp_error *err)
{
    int r;

    pthread_mutex_lock(&client->lock);
    while (client->state == MCPI_CLIENT_OPENING)
        (void)mcpi_cond_wait(&client->changed, &client->lock, MCPI_NEVER);
    r = client->status;
    if (r < 0 && err)
        *err = client->error;
    pthread_mutex_unlock(&client->lock);
    return r;
}

int
mcp_client_opening(mcp_client *client, mcp_error *err)
{
    int r;

    pthread_mutex_lock(&client->lock);
    r = client->state == MCPI_CLIENT_OPENING ? MCP_E_AGAIN : client->status;
    if (r == MCP_E_AGAIN)
        (void)mcpi_error_set(err, r, "it is being opened");
    else if (r < 0 && err)
        *err = client->error;
    pthread_mutex_unlock(&client->lock);
    return r;
}

/* Takes the client: after a failure nothing is left of it. */
static int
client_open(struct mcp_client *client, mcp_client **ret_client, mcp_error *err)
{
    bool waits = !client->opt.no_wait;
    int r = 0;

    if (!client->host.loop)
        r = mcpi_thread_start(&client->thread, 0, client_main, client);
    if (r < 0) {
        mcpi_client_discard(client);
        return mcpi_error_set(err, r, "no thread could be started");
    }
    mcpi_loop_post(client->host.inside, &client->open);
    if (waits)
        r = client_await_opened(client, err);
    if (r < 0)
        mcp_client_free(client);
    else
        *ret_client = client;
    return r;
}

/* The parts of every way to open one: may this thread wait, and is it counted so? */
static int
opening_begin(const mcp_client_options *given, struct mcp_client **ret, mcp_error *err)
{
    struct mcp_client *client;
    int r;

    r = mcpi_client_new(given, &client, err);
    if (r < 0)
        return r;
    if (!client->opt.no_wait) {
        r = mcpi_client_may_wait(client, err);
        if (r == 0) {
            r = mcpi_pool_wait_begin();
            if (r < 0)
                (void)mcpi_error_set(err, r, "too many workers wait already");
        }
    }
    if (r < 0)
        mcpi_client_discard(client);
    else
        *ret = client;
    return r;
}

/* r: how far the reach was made. */
static int
opening_end(struct mcp_client *client, int r, mcp_client **ret_client, mcp_error *err)
{
    bool waits = !client->opt.no_wait;

    if (r < 0)
        mcpi_client_discard(client);
    else
        r = client_open(client, ret_client, err);
    if (waits)
        mcpi_pool_wait_end();
    return r;
}

/* Before we open anything ourselves, which might get the number of one that is not. */
static int
stderr_check(const mcp_client_options *given, mcp_error *err)
{
    mcp_client_options opt;

    if (mcpi_options_read(&opt, sizeof(opt), given) < 0 || opt.quiet ||
        opt.stderr_fd <= 0)
        return 0; /* options that are none are told of where they are used */
    return mcpi_reach_check(opt.stderr_fd, opt.stderr_fd, err);
}

int
mcp_client_spawn(const char *const *argv, const mcp_client_options *opt,
                 mcp_client **ret_client, mcp_error *err)
{
    struct mcp_client *client;
    int r;

    if (!ret_client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no place for the client");
    r = stderr_check(opt, err);
    if (r < 0)
        return r;
    r = opening_begin(opt, &client, err);
    if (r < 0)
        return r;
    r = mcpi_reach_command(&client->reach, argv, &client->opt, client->host.mem, err);
    return opening_end(client, r, ret_client, err);
}

static void
close_taken(int in, int out)
{
    (void)close(in);
    if (out != in)
        (void)close(out);
}

/* The link works on copies, so that the caller's own are still open after a failure. */
int
mcp_client_attach(int take_in, int take_out, const mcp_client_options *opt,
                  mcp_client **ret_client, mcp_error *err)
{
    struct mcp_client *client;
    int r;

    if (!ret_client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no place for the client");
    r = mcpi_reach_check(take_in, take_out, err);
    if (r < 0)
        return r;
    r = opening_begin(opt, &client, err);
    if (r < 0)
        return r;
    r = mcpi_reach_descriptors(&client->reach, take_in, take_out, err);
    r = opening_end(client, r, ret_client, err);
    if (r == 0)
        close_taken(take_in, take_out);
    return r;
}

/* Connecting waits only where the other side's queue is full. */
static int
connect_within(struct mcp_client *client, const char *path, mcp_error *err)
{
    int64_t end = mcpi_time_add(mcpi_loop_clock(), client->host.engine->times.probe);
    int64_t slice = client->opt.no_wait ? 0 : CONNECT_SLICE_US;
    int r;

    do {
        r = mcpi_scope_check(client->opt.scope, err);
        if (r < 0)
            return r;
        r = mcpi_unix_connect(path, slice, &client->reach.in, err);
    } while (r == MCP_E_TIMEOUT && slice > 0 && mcpi_loop_clock() < end);
    client->reach.out = client->reach.in;
    return r;
}

int
mcp_client_connect_unix(const char *path, const mcp_client_options *opt,
                        mcp_client **ret_client, mcp_error *err)
{
    struct mcp_client *client;
    int r;

    if (!path || !ret_client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no path to connect to");
    r = opening_begin(opt, &client, err);
    if (r < 0)
        return r;
    r = connect_within(client, path, err);
    return opening_end(client, r, ret_client, err);
}

/* The pair's memory may be freed last by the server: it is nobody's allocator's. */
static int
reach_server(struct mcpi_reach *reach, mcp_server *server, mcp_error *err)
{
    int r;

    r = mcpi_pair_make(NULL, 0, &reach->pair);
    if (r < 0)
        return mcpi_error_set(err, r, "no link could be made: %s", mcp_status_text(r));
    r = mcpi_server_attach_pair(server, reach->pair, 1);
    if (r < 0) {
        mcpi_pair_unmake(reach->pair, 1);
        return mcpi_error_set(err, r, "the server takes no client: %s",
                              mcp_status_text(r));
    }
    return 0;
}

int
mcp_client_attach_server(mcp_server *server, const mcp_client_options *opt,
                         mcp_client **ret_client, mcp_error *err)
{
    struct mcp_client *client;
    int r;

    if (!server || !ret_client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no server");
    r = opening_begin(opt, &client, err);
    if (r < 0)
        return r;
    r = reach_server(&client->reach, server, err);
    return opening_end(client, r, ret_client, err);
}

int
mcpi_client_open_by(struct mcpi_way *way, const mcp_client_options *opt,
                    mcp_client **ret_client, mcp_error *err)
{
    struct mcp_client *client;
    int r;

    r = opening_begin(opt, &client, err);
    if (r < 0) {
        way->free(way);
        return r;
    }
    client->reach.way = way;
    client->resumes = way->resumes;
    return opening_end(client, 0, ret_client, err);
}
