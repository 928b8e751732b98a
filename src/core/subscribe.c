/* subscribe.c - who wants to hear of changes, and is told */
#include "core/subscribe.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/names.h"
#include "core/peer.h"

static void
peer_tell_one(struct mcpi_peer *peer, const struct mcpi_event *event,
              struct mcpi_buf *params)
{
    bool updated = event->topic == MCPI_TOPIC_UPDATED;
    int r;

    if (!peer->initialized ||
        (updated && !mcpi_names_cover(&peer->subscribed, event->uri)))
        return;
    if (updated && params->len == 0) { /* the same for all */
        MCPI_BUF_LITERAL(params, "{\"uri\":");
        /* Known to be UTF-8: only memory can fail, and that is the buffer's. */
        (void)mcpi_json_write_string(params, event->uri, strlen(event->uri));
        mcpi_buf_char(params, '}');
    }
    r = params->status;
    if (r == 0)
        r = mcpi_peer_notify(peer, mcpi_topic_method(event->topic),
                             updated ? params->data : NULL, params->len,
                             peer->engine->now);
    if (r < 0)
        MCPI_LOG(&peer->engine->log, MCP_LOG_WARNING,
                 "a client was not told of a change: %s", mcp_status_text(r));
}

/* Of every resource that it has subscribed to. */
static void
peer_tell_all(struct mcpi_peer *peer, struct mcpi_buf *params)
{
    const struct mcpi_map *names = &peer->subscribed;
    struct mcpi_event event = {.topic = MCPI_TOPIC_UPDATED};
    const struct mcpi_map_node *node;

    for (size_t i = 0; i <= names->mask; i++) {
        for (node = names->buckets[i]; node; node = node->next) {
            event.uri = MCPI_CONTAINER(node, struct mcpi_name, node)->text;
            mcpi_buf_clear(params);
            peer_tell_one(peer, &event, params);
        }
    }
}

static void
peer_tell(struct mcpi_peer *peer, const struct mcpi_event *event,
          struct mcpi_buf *params)
{
    if (event->topic == MCPI_TOPIC_UPDATED && !event->uri)
        peer_tell_all(peer, params);
    else
        peer_tell_one(peer, event, params);
}

void
mcpi_engine_publish(struct mcpi_engine *engine, const struct mcpi_event *event,
                    int64_t now)
{
    struct mcpi_list *node;
    struct mcpi_buf params;

    mcpi_engine_at(engine, now);
    if (event->uri && !mcpi_utf8_valid(event->uri, strlen(event->uri))) {
        MCPI_LOG(&engine->log, MCP_LOG_WARNING,
                 "nobody was told of a change: its URI is not UTF-8");
        return;
    }
    mcpi_listeners_tell(engine, event);
    mcpi_buf_init(&params, engine->mem, engine->limits.message_bytes);
    for (node = engine->peers.next; node != &engine->peers; node = node->next)
        peer_tell(MCPI_CONTAINER(node, struct mcpi_peer, in_engine), event, &params);
    mcpi_buf_done(&params);
}

/* ---- legacy: sessions ------------------------------------------------------ */

int
mcpi_peer_subscribe(struct mcpi_peer *peer, const char *uri)
{
    size_t len = strlen(uri);
    struct mcpi_name *name;

    if (mcpi_names_find(&peer->subscribed, uri, len))
        return 0;
    if (peer->subscribed.count >= peer->engine->limits.subscribed)
        return MCP_E_LIMIT;
    name = mcpi_alloc(peer->engine->mem, sizeof(*name) + len + 1);
    if (!name)
        return MCP_E_NOMEM;
    memcpy(name + 1, uri, len + 1);
    mcpi_names_add(&peer->subscribed, name, (const char *)(name + 1), len);
    return 0;
}

static void
peer_forget(struct mcpi_peer *peer, struct mcpi_name *name)
{
    (void)mcpi_map_remove(&peer->subscribed, &name->node); /* it is there */
    mcpi_free(peer->engine->mem, name);
}

bool
mcpi_peer_unsubscribe(struct mcpi_peer *peer, const char *uri)
{
    struct mcpi_name *name = mcpi_names_find(&peer->subscribed, uri, strlen(uri));

    if (!name)
        return false;
    peer_forget(peer, name);
    return true;
}

void
mcpi_peer_unsubscribe_all(struct mcpi_peer *peer)
{
    struct mcpi_map_node *node;

    while ((node = mcpi_map_any(&peer->subscribed)) != NULL)
        peer_forget(peer, MCPI_CONTAINER(node, struct mcpi_name, node));
}
