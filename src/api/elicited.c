/* elicited.c - who was asked to do something elsewhere, and hears that it is done */
#include "api/elicited.h"

#include <string.h>

#include "api/server.h"
#include "base/mem.h"
#include "core/peer.h"
#include "core/versions.h"

/* More than any person has open at once; the oldest is forgotten. */
#define MCPI_ELICITED_MAX 1024

struct elicited {
    struct mcpi_list node;
    struct mcpi_post post;
    mcp_server *server;
    struct mcpi_host *host; /* on whose loop the peer is */
    struct mcpi_peer *peer; /* NULL: it is lost. Used on that loop only */
    char id[];
};

static struct elicited *
elicited_of(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct elicited, node);
}

/* Under lock. They are few, and ids are the program's own. */
static struct elicited *
elicited_find(const struct mcpi_elicited *all, const char *id)
{
    struct mcpi_list *node;

    for (node = all->asked.next; node != &all->asked; node = node->next) {
        if (strcmp(elicited_of(node)->id, id) == 0)
            return elicited_of(node);
    }
    return NULL;
}

static void
elicited_free(struct elicited *one)
{
    if (one)
        mcpi_free(one->server->trunk.host.mem, one);
}

/* ---- it is done --------------------------------------------------------- */

static void
elicited_tell(const struct elicited *one)
{
    const char *method = mcpi_method_name(MCPI_METHOD_NOTE_ELICIT_COMPLETE);
    const struct mcpi_host *host = one->host;
    struct mcpi_buf params;
    int r;

    mcpi_buf_init(&params, host->mem, host->engine->limits.message_bytes);
    MCPI_BUF_LITERAL(&params, "{\"elicitationId\":");
    r = mcpi_json_write_string(&params, one->id, strlen(one->id));
    mcpi_buf_char(&params, '}');
    if (r == 0)
        r = params.status;
    if (r == 0)
        r = mcpi_peer_notify(one->peer, method, params.data, params.len,
                             mcpi_loop_now(host->inside));
    mcpi_buf_done(&params);
    if (r < 0)
        MCPI_LOG(&host->log, MCP_LOG_WARNING,
                 "a client was not told that an elicitation is done: %s",
                 mcp_status_text(r));
}

static void
on_done(struct mcpi_post *post)
{
    struct elicited *one = MCPI_CONTAINER(post, struct elicited, post);
    mcp_server *server = one->server;

    pthread_mutex_lock(&server->lock);
    mcpi_list_remove(&one->node);
    pthread_mutex_unlock(&server->lock);
    if (one->peer)
        elicited_tell(one);
    elicited_free(one);
}

int
mcp_server_elicitation_complete(mcp_server *server, const char *elicitation_id)
{
    struct elicited *one;

    if (!server || !elicitation_id)
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    pthread_mutex_lock(&server->lock);
    one = elicited_find(&server->elicited, elicitation_id);
    if (one) {
        mcpi_list_remove(&one->node);
        server->elicited.count--;
        mcpi_list_append(&server->elicited.done, &one->node);
    }
    pthread_mutex_unlock(&server->lock);
    if (!one)
        return MCP_E_INVAL;
    mcpi_loop_post(one->host->inside, &one->post);
    return 0;
}

/* ---- they come and go --------------------------------------------------- */

static struct elicited *
elicited_new(mcp_server *server, const char *id, struct mcpi_peer *peer)
{
    struct mcpi_branch *branch = peer->engine->router_user;
    size_t size = strlen(id) + 1;
    struct elicited *one = mcpi_alloc(branch->host.mem, sizeof(*one) + size);

    if (!one)
        return NULL;
    *one = (struct elicited){
        .server = server, .host = &branch->host, .peer = peer, .post = {.fn = on_done}};
    mcpi_list_init(&one->node);
    memcpy(one->id, id, size);
    return one;
}

int
mcpi_server_note_elicitation(mcp_server *server, const char *id, struct mcpi_peer *peer)
{
    struct mcpi_elicited *all = &server->elicited;
    struct elicited *one, *old;

    if (!peer->version || strcmp(peer->version, MCPI_VERSION_LEGACY) != 0)
        return 0;
    one = elicited_new(server, id, peer);
    if (!one)
        return MCP_E_NOMEM;
    pthread_mutex_lock(&server->lock);
    old = elicited_find(all, id);
    if (!old && all->count == MCPI_ELICITED_MAX)
        old = elicited_of(mcpi_list_first(&all->asked));
    if (old) {
        mcpi_list_remove(&old->node);
        all->count--;
    }
    mcpi_list_append(&all->asked, &one->node);
    all->count++;
    pthread_mutex_unlock(&server->lock);
    elicited_free(old);
    return 0;
}

void
mcpi_elicited_lost(mcp_server *server, const struct mcpi_peer *peer)
{
    struct mcpi_elicited *all = &server->elicited;
    struct mcpi_list *node, *next, gone;

    mcpi_list_init(&gone);
    pthread_mutex_lock(&server->lock);
    for (node = all->asked.next; node != &all->asked; node = next) {
        next = node->next;
        if (elicited_of(node)->peer != peer)
            continue;
        mcpi_list_remove(node);
        all->count--;
        mcpi_list_append(&gone, node);
    }
    for (node = all->done.next; node != &all->done; node = node->next) {
        if (elicited_of(node)->peer == peer)
            elicited_of(node)->peer = NULL;
    }
    pthread_mutex_unlock(&server->lock);
    while ((node = mcpi_list_pop(&gone)) != NULL)
        elicited_free(elicited_of(node));
}

void
mcpi_elicited_init(mcp_server *server)
{
    mcpi_list_init(&server->elicited.asked);
    mcpi_list_init(&server->elicited.done);
}

void
mcpi_elicited_done(mcp_server *server)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&server->elicited.asked)) != NULL)
        elicited_free(elicited_of(node));
}
