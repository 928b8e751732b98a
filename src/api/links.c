/*
 * links.c - how clients reach a server: descriptors, stdio, sockets, memory
 *
 * What can fail for a reason of the caller's fails on the caller's thread; opening is
 * the loop's and is posted. A link is in the list of its branch from its opening to the
 * moment its stream says that it is closed. Those of this file are all on the trunk;
 * other libraries add their own kinds.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/peer.h"
#include "link/local.h"
#include "link/stdio.h"
#include "link/stream.h"
#include "link/unix.h"

/* What an address of a Unix socket has room for, its end included. */
#define PATH_FITS sizeof(((struct sockaddr_un *)0)->sun_path)

enum link_kind { LINK_STREAM, LINK_LOCAL, LINK_LISTENER };

struct link {
    struct mcpi_server_link link;
    struct mcpi_post post;
    mcp_server *server;
    enum link_kind kind;
    bool is_stdio;     /* the server ends with it */
    bool was_accepted; /* on a listening socket, and so counted against max_clients */
    int in, out;       /* until they are the stream's */
    struct mcpi_pair *pair;
    unsigned index;
    char *path; /* of a listening socket, or NULL */
    struct mcpi_stream *stream;
    struct mcpi_local *local;
    struct mcpi_unix_listener *listener;
};

/* ---- of any kind -------------------------------------------------------- */

void
mcpi_branch_add_link(struct mcpi_branch *branch, struct mcpi_server_link *link)
{
    mcpi_list_append(&branch->links, &link->node);
}

void
mcpi_branch_drop_link(struct mcpi_branch *branch, struct mcpi_server_link *link)
{
    mcpi_list_remove(&link->node);
    mcpi_branch_check(branch);
}

void
mcpi_links_close(struct mcpi_branch *branch)
{
    struct mcpi_server_link *link;
    struct mcpi_list *node, *next;

    for (node = branch->links.next; node != &branch->links; node = next) {
        next = node->next;
        link = MCPI_CONTAINER(node, struct mcpi_server_link, node);
        link->close(link);
    }
}

/* ---- ending ------------------------------------------------------------- */

static struct link *
link_of(struct mcpi_server_link *link)
{
    return MCPI_CONTAINER(link, struct link, link);
}

static void
link_free(struct link *link)
{
    const mcp_allocator *mem = link->server->trunk.host.mem;

    mcpi_free(mem, link->path);
    mcpi_free(mem, link);
}

/* One that was never opened gives back what it has. */
static void
link_abandon(struct link *link)
{
    if (link->in >= 0)
        close(link->in);
    if (link->out >= 0 && link->out != link->in)
        close(link->out);
    mcpi_pair_unmake(link->pair, link->index);
    link_free(link);
}

static void
link_gone(struct link *link)
{
    mcp_server *server = link->server;
    bool is_stdio = link->is_stdio;

    mcpi_list_remove(&link->link.node);
    mcpi_tally_add(&server->trunk.host.tally.clients, -1);
    if (link->was_accepted)
        server->accepted--;
    link_free(link);
    if (is_stdio)
        mcpi_server_begin_stop(server);
    mcpi_branch_check(&server->trunk);
}

static void
on_stream_closed(void *user, struct mcpi_stream *stream)
{
    mcpi_stream_free(stream);
    link_gone(user);
}

static void
on_local_closed(void *user, struct mcpi_local *local)
{
    mcpi_local_free(local);
    link_gone(user);
}

/* The server is stopping, and looks itself what is left. */
static void
listener_close(struct link *link)
{
    mcpi_unix_listener_free(link->listener, link->path);
    mcpi_list_remove(&link->link.node);
    link_free(link);
}

static void
link_close(struct mcpi_server_link *self)
{
    struct link *link = link_of(self);
    int64_t now = mcpi_loop_now(link->server->trunk.host.inside);

    if (link->kind == LINK_LISTENER)
        listener_close(link);
    else if (link->kind == LINK_STREAM)
        mcpi_peer_close(mcpi_stream_peer(link->stream), now);
    else
        mcpi_peer_close(mcpi_local_peer(link->local), now);
}

/* ---- opening ------------------------------------------------------------ */

static struct link *
link_new(mcp_server *server, enum link_kind kind)
{
    struct link *link = mcpi_alloc_zero(server->trunk.host.mem, sizeof(*link));

    if (!link)
        return NULL;
    mcpi_list_init(&link->link.node);
    link->link.close = link_close;
    link->server = server;
    link->kind = kind;
    link->in = link->out = -1;
    return link;
}

static int
stream_open(struct link *link)
{
    const struct mcpi_stream_options opt = {.loop = link->server->trunk.host.inside,
                                            .engine = link->server->trunk.host.engine,
                                            .take_in = link->in,
                                            .take_out = link->out,
                                            .closed = on_stream_closed,
                                            .user = link};
    int r;

    r = mcpi_stream_new(&opt, &link->stream);
    if (r == 0)
        link->in = link->out = -1;
    return r;
}

static int
local_open(struct link *link)
{
    const struct mcpi_local_options opt = {.loop = link->server->trunk.host.inside,
                                           .engine = link->server->trunk.host.engine,
                                           .pair = link->pair,
                                           .index = link->index,
                                           .closed = on_local_closed,
                                           .user = link};
    int r;

    r = mcpi_local_new(&opt, &link->local);
    if (r == 0)
        link->pair = NULL;
    return r;
}

static int
client_open(struct link *link)
{
    int r = link->kind == LINK_STREAM ? stream_open(link) : local_open(link);

    if (r < 0)
        return r;
    mcpi_branch_add_link(&link->server->trunk, &link->link);
    mcpi_tally_add(&link->server->trunk.host.tally.clients, 1);
    return 0;
}

static void
on_accepted(void *user, int take_fd)
{
    struct link *listener = user, *link;
    mcp_server *server = listener->server;
    int r = MCP_E_NOMEM;

    if (server->accepted >= server->max_clients) {
        MCPI_LOG(&server->trunk.host.log, MCP_LOG_INFO,
                 "a client is turned away: %zu are there", server->accepted);
        close(take_fd);
        return;
    }
    link = link_new(server, LINK_STREAM);
    if (!link) {
        close(take_fd);
    } else {
        link->in = link->out = take_fd;
        r = client_open(link);
        if (r < 0)
            link_abandon(link);
    }
    if (r < 0) {
        MCPI_LOG(&server->trunk.host.log, MCP_LOG_ERROR,
                 "a client cannot be served: %s", mcp_status_text(r));
        return;
    }
    link->was_accepted = true;
    server->accepted++;
}

static int
listener_open(struct link *link)
{
    const struct mcpi_unix_listener_options opt = {
        .loop = link->server->trunk.host.inside,
        .log = link->server->trunk.host.log,
        .accepted = on_accepted,
        .user = link};
    int r;

    r = mcpi_unix_listener_new(&opt, link->in, &link->listener, NULL);
    if (r < 0)
        return r;
    link->in = link->out = -1;
    mcpi_branch_add_link(&link->server->trunk, &link->link);
    return 0;
}

/* On the loop. A socket file that was made must be removed too, so a listener is opened
 * before it is closed. */
static void
on_open(struct mcpi_post *post)
{
    struct link *link = MCPI_CONTAINER(post, struct link, post);
    mcp_server *server = link->server;
    bool is_stdio = link->is_stdio;
    int r = MCP_E_CLOSED;

    if (link->kind == LINK_LISTENER)
        r = listener_open(link);
    else if (!server->trunk.stopping)
        r = client_open(link);
    if (r == 0 && server->trunk.stopping) {
        listener_close(link);
    } else if (r < 0) {
        if (r != MCP_E_CLOSED)
            MCPI_LOG(&server->trunk.host.log, MCP_LOG_ERROR,
                     "a link cannot be opened: %s", mcp_status_text(r));
        link_abandon(link);
        if (is_stdio)
            mcpi_server_begin_stop(server);
    }
}

/* ---- from any thread ---------------------------------------------------- */

static void
link_post(struct link *link)
{
    atomic_store(&link->server->reachable, true);
    link->post.fn = on_open;
    mcpi_loop_post(link->server->trunk.host.inside, &link->post);
}

int
mcpi_links_guard(const mcp_server *server, mcp_error *err)
{
    if (!server)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no server");
    if (mcpi_server_guard(server) < 0)
        return mcpi_error_set(err, MCP_E_STATE, "this is another process");
    if (atomic_load(&server->stop_asked))
        return mcpi_error_set(err, MCP_E_CLOSED, "the server has stopped");
    return 0;
}

static int
no_memory(mcp_error *err)
{
    return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
}

static bool
is_open(int fd)
{
    return fd >= 0 && fcntl(fd, F_GETFD) >= 0;
}

int
mcp_server_attach(mcp_server *server, int take_in, int take_out, mcp_error *err)
{
    struct link *link;
    int r;

    r = mcpi_links_guard(server, err);
    if (r < 0)
        return r;
    if (!is_open(take_in) || !is_open(take_out))
        return mcpi_error_set(err, MCP_E_INVAL, "descriptor %d is not open",
                              is_open(take_in) ? take_out : take_in);
    link = link_new(server, LINK_STREAM);
    if (!link)
        return no_memory(err);
    link->in = take_in;
    link->out = take_out;
    link_post(link);
    return 0;
}

int
mcp_server_attach_stdio(mcp_server *server, mcp_error *err)
{
    struct link *link;
    int r;

    r = mcpi_links_guard(server, err);
    if (r < 0)
        return r;
    if (atomic_exchange(&server->on_stdio, true))
        return mcpi_error_set(err, MCP_E_STATE, "stdin and stdout are taken already");
    link = link_new(server, LINK_STREAM);
    r = link ? mcpi_stdio_take(&link->in, &link->out, err) : no_memory(err);
    if (r < 0) {
        if (link)
            link_free(link);
        atomic_store(&server->on_stdio, false);
        return r;
    }
    link->is_stdio = true;
    link_post(link);
    return 0;
}

/* The file is removed at the end, wherever the program has gone by then. A folder that
 * has no name any more is left out. */
static char *
path_from_root(const mcp_allocator *mem, const char *path)
{
    char folder[PATH_MAX] = "";
    size_t size;
    char *whole;

    if (path[0] != '/' && path[0] != '@' && !getcwd(folder, sizeof(folder)))
        folder[0] = '\0';
    size = strlen(folder) + strlen(path) + 2;
    whole = mcpi_alloc(mem, size);
    if (whole)
        (void)snprintf(whole, size, "%s%s%s", folder, folder[0] ? "/" : "", path);
    return whole;
}

int
mcp_server_listen_unix(mcp_server *server, const char *path, mcp_error *err)
{
    struct link *link;
    int r;

    r = mcpi_links_guard(server, err);
    if (r < 0)
        return r;
    if (!path || !*path)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no path to listen on");
    link = link_new(server, LINK_LISTENER);
    if (!link)
        return no_memory(err);
    link->path = path_from_root(server->trunk.host.mem, path);
    if (!link->path) {
        link_free(link);
        return no_memory(err);
    }
    r = mcpi_unix_listen(strlen(link->path) < PATH_FITS ? link->path : path, &link->in,
                         err);
    if (r < 0) {
        link_free(link);
        return r;
    }
    link->out = link->in;
    link_post(link);
    return 0;
}

int
mcp_server_listen_fd(mcp_server *server, int take_fd, mcp_error *err)
{
    struct link *link;
    int r;

    r = mcpi_links_guard(server, err);
    if (r < 0)
        return r;
    if (!mcpi_unix_listens(take_fd))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "descriptor %d is no stream socket that listens",
                              take_fd);
    link = link_new(server, LINK_LISTENER);
    if (!link)
        return no_memory(err);
    link->in = link->out = take_fd;
    link_post(link);
    return 0;
}

int
mcpi_server_attach_pair(mcp_server *server, struct mcpi_pair *pair, unsigned index)
{
    struct link *link;
    int r;

    r = mcpi_links_guard(server, NULL);
    if (r < 0)
        return r;
    link = link_new(server, LINK_LOCAL);
    if (!link)
        return MCP_E_NOMEM;
    link->pair = pair;
    link->index = index;
    link_post(link);
    return 0;
}
