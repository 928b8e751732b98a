/*
 * http_mount.c - an endpoint, from any thread
 *
 * Who closes the mount waits for those that are about to post, so that nobody touches a
 * loop that may be gone. Its turns: http_mount_turn.c.
 */
#include "link/http_mount.h"

#include <unistd.h>

#include "base/mem.h"
#include "link/http_mount_turn.h"
#include "run/thread.h"

void
mcpi_mount_unref_unlock(struct mcpi_mount *mount)
{
    unsigned left = --mount->refs;

    mcpi_mount_unlock(mount);
    if (left > 0)
        return;
    pthread_cond_destroy(&mount->moved);
    pthread_mutex_destroy(&mount->lock);
    mcpi_accounts_unref(mount->clients.accounts);
    mcpi_free(mount->mem, mount);
}

int
mcpi_mount_new(struct mcpi_loop *loop, const struct mcpi_http_clients *clients,
               struct mcpi_mount **ret_mount)
{
    const mcp_allocator *mem = mcpi_loop_mem(loop);
    struct mcpi_mount *mount;

    mount = mcpi_alloc_zero(mem, sizeof(*mount));
    if (!mount)
        return MCP_E_NOMEM;
    mount->mem = mem;
    mount->pid = getpid();
    mount->loop = loop;
    mount->refs = 1;
    mount->max_count = MCPI_MOUNT_TURNS;
    mount->max_body = SIZE_MAX;
    mcpi_list_init(&mount->turns);
    if (pthread_mutex_init(&mount->lock, NULL) != 0)
        goto no_lock;
    if (mcpi_cond_init(&mount->moved) < 0)
        goto no_condition;
    mount->clients = *clients;
    (void)mcpi_accounts_ref(clients->accounts);
    *ret_mount = mount;
    return 0;

no_condition:
    pthread_mutex_destroy(&mount->lock);
no_lock:
    mcpi_free(mem, mount);
    return MCP_E_NOMEM;
}

void
mcpi_mount_open(struct mcpi_mount *mount, struct mcpi_endpoint *endpoint)
{
    mount->endpoint = endpoint;
    mcpi_mount_lock(mount);
    mount->max_count = endpoint->http->connections;
    mount->max_body = endpoint->http->body_bytes;
    mcpi_mount_unlock(mount);
}

bool
mcpi_mount_drain(struct mcpi_mount *mount, void (*idle)(void *user), void *user)
{
    mcpi_mount_lock(mount);
    mount->draining = true;
    mcpi_mount_unlock(mount);
    if (mcpi_list_empty(&mount->turns))
        return true;
    mount->idle = idle;
    mount->idle_user = user;
    return false;
}

/* What was handed in and has not begun is begun by its post, finds no endpoint, and is
 * refused. */
void
mcpi_mount_close(struct mcpi_mount *mount)
{
    mount->idle = NULL;
    mcpi_mount_lock(mount);
    mount->closed = true;
    while (mount->posting > 0)
        (void)mcpi_cond_wait(&mount->moved, &mount->lock, MCPI_NEVER);
    mcpi_mount_unlock(mount);
    while (!mcpi_list_empty(&mount->turns))
        mcpi_mount_turn_give_up(mcpi_list_first(&mount->turns));
    mount->endpoint = NULL;
}

struct mcpi_mount *
mcpi_mount_ref(struct mcpi_mount *mount)
{
    mcpi_mount_lock(mount);
    mount->refs++;
    mcpi_mount_unlock(mount);
    return mount;
}

void
mcpi_mount_unref(struct mcpi_mount *mount)
{
    if (!mount)
        return;
    mcpi_mount_lock(mount);
    mcpi_mount_unref_unlock(mount);
}

bool
mcpi_mount_is_ours(const struct mcpi_mount *mount)
{
    return mount->pid == getpid();
}

/* ---- handing in ---------------------------------------------------------- */

/* Under lock. */
static int
mount_admit(const struct mcpi_mount *mount)
{
    if (mount->closed || mount->draining)
        return MCP_E_CLOSED;
    return mount->count < mount->max_count ? 0 : MCP_E_LIMIT;
}

/* Who relays knows whom to charge; what another server hands in has an address. */
static mcp_http_turn *
mount_take(struct mcpi_mount *mount, const struct mcpi_http_in *in, size_t max_body,
           const mcp_http_turn_ops *ops, void *user)
{
    struct mcpi_http_in charged = *in;
    mcp_http_turn *turn = NULL;

    if (in->account || !mount->clients.accounts)
        return mcpi_mount_turn_new(mount, in, max_body, ops, user);
    charged.account = mcpi_http_account_of_address(&mount->clients, in->address);
    if (charged.account)
        turn = mcpi_mount_turn_new(mount, &charged, max_body, ops, user);
    mcpi_account_unref(charged.account);
    return turn;
}

int
mcpi_mount_serve(struct mcpi_mount *mount, const struct mcpi_http_in *in,
                 const mcp_http_turn_ops *ops, void *user, mcp_http_turn **ret_turn)
{
    mcp_http_turn *turn;
    size_t max_body;
    int r;

    mcpi_mount_lock(mount);
    r = mount_admit(mount);
    max_body = mount->max_body;
    mcpi_mount_unlock(mount);
    if (r < 0)
        return r;
    turn = mount_take(mount, in, max_body, ops, user);
    if (!turn)
        return MCP_E_NOMEM;
    mcpi_mount_lock(mount);
    r = mount_admit(mount); /* meanwhile */
    if (r < 0) {
        mcpi_mount_unlock(mount);
        mcpi_mount_turn_discard(turn);
        return r;
    }
    mount->count++;
    mount->refs++;
    *ret_turn = turn;
    mcpi_mount_turn_post_unlock(turn);
    return 0;
}
