/* saying.c - what a server tells all its sessions: log messages, news of its own */
#include "api/saying.h"

#include <string.h>

#include "api/custom.h"
#include "api/logging.h"
#include "api/server.h"
#include "base/mem.h"
#include "core/peer.h"

/* What may wait for the loop. What is above is dropped: it comes faster than any client
 * could show it. */
#define MCPI_SAYINGS_MAX 1024
#define SAYINGS_BYTES ((size_t)1024 * 1024)

/* ---- telling ------------------------------------------------------------ */

struct saying {
    struct mcpi_list node;
    enum mcp_severity severity; /* NONE: no log message, and for everybody */
    size_t length;              /* of params; 0: none */
    char text[];                /* method, terminated, and params */
};

static void
saying_tell(struct mcpi_branch *branch, const struct saying *saying)
{
    const char *params = saying->text + strlen(saying->text) + 1;
    struct mcpi_engine *engine = branch->host.engine;
    struct mcpi_list *node;
    struct mcpi_peer *peer;
    int r;

    for (node = engine->peers.next; node != &engine->peers; node = node->next) {
        peer = MCPI_CONTAINER(node, struct mcpi_peer, in_engine);
        if (!peer->initialized || (saying->severity != MCP_SEVERITY_NONE &&
                                   saying->severity < mcpi_peer_log_from(peer)))
            continue;
        r = mcpi_peer_notify(peer, saying->text, saying->length > 0 ? params : NULL,
                             saying->length, mcpi_loop_now(branch->host.inside));
        if (r < 0)
            MCPI_LOG(&branch->host.log, MCP_LOG_WARNING, "a client was not told %s: %s",
                     saying->text, mcp_status_text(r));
    }
}

/* Under lock. */
static size_t
sayings_take(struct mcpi_sayings *sayings, struct mcpi_list *into)
{
    struct mcpi_list *node;
    size_t dropped = sayings->dropped;

    while ((node = mcpi_list_pop(&sayings->list)) != NULL)
        mcpi_list_append(into, node);
    sayings->count = sayings->bytes = sayings->dropped = 0;
    return dropped;
}

static void
on_sayings(struct mcpi_post *post)
{
    struct mcpi_branch *branch = MCPI_CONTAINER(post, struct mcpi_branch, sayings.post);
    struct mcpi_list list, *node;
    struct saying *saying;
    size_t dropped;

    mcpi_list_init(&list);
    pthread_mutex_lock(&branch->server->lock);
    dropped = sayings_take(&branch->sayings, &list);
    pthread_mutex_unlock(&branch->server->lock);
    if (dropped > 0)
        MCPI_LOG(&branch->host.log, MCP_LOG_WARNING,
                 "%zu messages for clients were dropped", dropped);
    while ((node = mcpi_list_pop(&list)) != NULL) {
        saying = MCPI_CONTAINER(node, struct saying, node);
        if (!branch->stopping)
            saying_tell(branch, saying);
        mcpi_free(branch->host.mem, saying);
    }
}

static struct saying *
saying_new(const mcp_allocator *mem, enum mcp_severity severity, const char *method,
           const struct mcpi_buf *params)
{
    size_t size = strlen(method) + 1;
    struct saying *saying = mcpi_alloc(mem, sizeof(*saying) + size + params->len);

    if (!saying)
        return NULL;
    saying->severity = severity;
    saying->length = params->len;
    memcpy(saying->text, method, size);
    if (params->len > 0)
        memcpy(saying->text + size, params->data, params->len);
    mcpi_list_init(&saying->node);
    return saying;
}

static int
saying_post(struct mcpi_branch *branch, enum mcp_severity severity, const char *method,
            const struct mcpi_buf *params)
{
    struct mcpi_sayings *sayings = &branch->sayings;
    struct saying *saying = saying_new(branch->host.mem, severity, method, params);
    bool post, fits;

    if (!saying)
        return MCP_E_NOMEM;
    pthread_mutex_lock(&branch->server->lock);
    fits = sayings->count < MCPI_SAYINGS_MAX &&
           (sayings->count == 0 || sayings->bytes + params->len <= SAYINGS_BYTES);
    post = fits && sayings->count == 0;
    if (fits) {
        mcpi_list_append(&sayings->list, &saying->node);
        sayings->count++;
        sayings->bytes += params->len;
    } else {
        sayings->dropped++;
    }
    pthread_mutex_unlock(&branch->server->lock);
    if (!fits)
        mcpi_free(branch->host.mem, saying);
    if (post)
        mcpi_loop_post(branch->host.inside, &sayings->post);
    return 0;
}

int
mcpi_sayings_add(mcp_server *server, enum mcp_severity severity, const char *method,
                 const struct mcpi_buf *params)
{
    struct mcpi_branch *branch = NULL;
    int r = 0;

    if (atomic_load(&server->stop_asked))
        return 0;
    while (r == 0 && (branch = mcpi_branch_next(server, branch)) != NULL)
        r = saying_post(branch, severity, method, params);
    return r;
}

/* ---- methods of the program's own --------------------------------------- */

int
mcp_server_notify(mcp_server *server, const char *method, const char *params)
{
    const struct mcpi_host *host;
    struct mcpi_buf buf;
    int r;

    if (!server)
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    host = &server->trunk.host;
    mcpi_buf_init(&buf, host->mem, host->engine->limits.message_bytes);
    r = mcpi_custom_write_note(host->mem, method, params, &buf);
    if (r == 0)
        r = mcpi_sayings_add(server, MCP_SEVERITY_NONE, method, &buf);
    mcpi_buf_done(&buf);
    return r;
}

/* ---- its place in a branch ---------------------------------------------- */

void
mcpi_sayings_init(struct mcpi_branch *branch)
{
    branch->sayings.post.fn = on_sayings;
    mcpi_list_init(&branch->sayings.list);
}

void
mcpi_sayings_done(struct mcpi_branch *branch)
{
    struct mcpi_list list, *node;

    mcpi_list_init(&list);
    pthread_mutex_lock(&branch->server->lock);
    (void)sayings_take(&branch->sayings, &list);
    pthread_mutex_unlock(&branch->server->lock);
    while ((node = mcpi_list_pop(&list)) != NULL)
        mcpi_free(branch->host.mem, MCPI_CONTAINER(node, struct saying, node));
}
