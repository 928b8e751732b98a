/*
 * subscribe.c - who wants to hear of changes, and is told
 *
 * A legacy session cannot be ended because it is slow: it has not asked for a stream. So
 * nothing that is due to it may need memory or be without bound. What it has subscribed
 * to brings its own item along; what lies below that has one in the set, and if there are
 * too many of these, or no memory for one, they are forgotten, and the session is told
 * that all that it watches has changed.
 */
#include "core/subscribe.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/peer.h"

/* An event for which there was no memory is tried again after that long: the memory is
 * somebody else's to give back. */
#define AGAIN_US 1000000

struct watched {
    struct mcpi_name name; /* in peer->subscribed */
    struct mcpi_due_item item;
    char uri[];
};

static size_t
watched_size(size_t uri_len)
{
    return sizeof(struct watched) + uri_len + 1;
}

/* ---- what is due to a session ---------------------------------------------- */

static struct mcpi_peer *
peer_of(const struct mcpi_due *due)
{
    return MCPI_CONTAINER(due, struct mcpi_peer, due);
}

static int
session_write(struct mcpi_due *due, const struct mcpi_due_item *item,
              struct mcpi_buf *into)
{
    const struct mcpi_peer *peer = peer_of(due);
    const char *method = mcpi_topic_method(item->topic);
    bool updated = item->topic == MCPI_TOPIC_UPDATED;

    if (updated && !mcpi_names_cover(&peer->subscribed, item->name->text))
        return 1; /* it has unsubscribed meanwhile */
    mcpi_rpc_write_note(into, method, strlen(method));
    if (updated) {
        MCPI_BUF_LITERAL(into, ",\"params\":{\"uri\":");
        /* Known to be UTF-8: only memory can fail, and that is the buffer's. */
        (void)mcpi_json_write_string(into, item->name->text, item->name->len);
        mcpi_buf_char(into, '}');
    }
    mcpi_buf_char(into, '}');
    if (into->status != MCP_E_LIMIT)
        return into->status;
    MCPI_LOG(&peer->engine->log, MCP_LOG_WARNING,
             "a client was not told of a change: its URI is too long");
    return 1;
}

/* What was due before we close is said while the link flushes. */
static bool
session_is_live(const struct mcpi_due *due)
{
    return peer_of(due)->state != MCPI_PEER_CLOSED;
}

static void
session_ended(struct mcpi_due *due, int status)
{
    struct mcpi_peer *peer = peer_of(due);
    struct mcpi_engine *e = peer->engine;

    if (status >= 0)
        mcpi_due_push(due);
    else if (mcpi_peer_can_send(peer))
        mcpi_timer_arm(e->timers, &peer->due_timer, mcpi_time_add(e->now, AGAIN_US));
}

static const struct mcpi_due_ops session_ops = {
    .write = session_write, .is_live = session_is_live, .ended = session_ended};

static void
session_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_peer *peer = MCPI_CONTAINER(timer, struct mcpi_peer, due_timer);

    mcpi_engine_at(peer->engine, now);
    mcpi_due_push(&peer->due);
}

static struct watched *
watched_of(const struct mcpi_name *name)
{
    return MCPI_CONTAINER(name, struct watched, name);
}

/* All that it watches has changed: that says what those below it would have said. */
static void
session_add_all(struct mcpi_peer *peer)
{
    const struct mcpi_map *names = &peer->subscribed;
    const struct mcpi_map_node *node;
    struct watched *watched;

    mcpi_due_forget_uris(&peer->due);
    for (size_t i = 0; i <= names->mask; i++) {
        for (node = names->buckets[i]; node; node = node->next) {
            watched = watched_of(MCPI_CONTAINER(node, struct mcpi_name, node));
            mcpi_due_add(&watched->item);
        }
    }
}

static void
session_add_uri(struct mcpi_peer *peer, const char *uri)
{
    struct mcpi_name *name = mcpi_names_find(&peer->subscribed, uri, strlen(uri));

    if (name)
        mcpi_due_add(&watched_of(name)->item);
    else if (mcpi_names_cover(&peer->subscribed, uri) &&
             mcpi_due_add_uri(&peer->due, uri) < 0)
        session_add_all(peer);
}

static void
session_tell(struct mcpi_peer *peer, const struct mcpi_event *event)
{
    if (!peer->initialized || !mcpi_peer_can_send(peer))
        return;
    if (event->topic == MCPI_TOPIC_UPDATED && !event->uri)
        session_add_all(peer);
    else if (event->topic == MCPI_TOPIC_UPDATED)
        session_add_uri(peer, event->uri);
    else if (peer->promised & event->topic)
        mcpi_due_add_list(&peer->due, event->topic);
    mcpi_due_push(&peer->due);
}

void
mcpi_engine_publish(struct mcpi_engine *engine, const struct mcpi_event *event,
                    int64_t now)
{
    struct mcpi_list *node;

    mcpi_engine_at(engine, now);
    if (event->uri && !mcpi_utf8_valid(event->uri, strlen(event->uri))) {
        MCPI_LOG(&engine->log, MCP_LOG_WARNING,
                 "nobody was told of a change: its URI is not UTF-8");
        return;
    }
    mcpi_listeners_tell(engine, event);
    for (node = engine->peers.next; node != &engine->peers; node = node->next)
        session_tell(MCPI_CONTAINER(node, struct mcpi_peer, in_engine), event);
}

/* ---- legacy: sessions ------------------------------------------------------ */

/* Charges it to the client, if there is room for it. */
static int
watched_admit(const struct mcpi_peer *peer, size_t len, struct mcpi_refusal *why)
{
    size_t limit = peer->engine->limits.subscribed;

    if (len > MCPI_WATCHED_URI_MAX)
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "The URI is too long; the limit is %d bytes", MCPI_WATCHED_URI_MAX);
    else if (peer->subscribed.count >= limit)
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too many subscriptions; the limit is %zu", limit);
    else if (!mcpi_account_take(peer->outlet->account, MCPI_HELD_BYTES,
                                watched_size(len)))
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too much memory is in use for this client");
    else
        return 0;
    return MCP_E_LIMIT;
}

int
mcpi_peer_subscribe(struct mcpi_peer *peer, const char *uri, struct mcpi_refusal *why)
{
    size_t len = strlen(uri);
    struct watched *watched;
    int r;

    if (peer->traits & MCPI_STATELESS)
        return MCP_E_NO_CHANNEL;
    if (mcpi_names_find(&peer->subscribed, uri, len))
        return 0;
    r = watched_admit(peer, len, why);
    if (r < 0)
        return r;
    watched = mcpi_alloc(peer->engine->mem, watched_size(len));
    if (!watched) {
        mcpi_account_give(peer->outlet->account, MCPI_HELD_BYTES, watched_size(len));
        return MCP_E_NOMEM;
    }
    memcpy(watched->uri, uri, len + 1);
    mcpi_names_add(&peer->subscribed, &watched->name, watched->uri, len);
    mcpi_due_item_init(&watched->item, &peer->due, MCPI_TOPIC_UPDATED, &watched->name);
    return 0;
}

static void
watched_free(struct mcpi_peer *peer, struct watched *watched)
{
    mcpi_due_remove(&watched->item);
    (void)mcpi_map_remove(&peer->subscribed, &watched->name.node); /* it is there */
    mcpi_account_give(peer->outlet->account, MCPI_HELD_BYTES,
                      watched_size(watched->name.len));
    mcpi_free(peer->engine->mem, watched);
}

bool
mcpi_peer_unsubscribe(struct mcpi_peer *peer, const char *uri)
{
    struct mcpi_name *name = mcpi_names_find(&peer->subscribed, uri, strlen(uri));

    if (!name)
        return false;
    watched_free(peer, watched_of(name));
    return true;
}

void
mcpi_session_init(struct mcpi_peer *peer)
{
    struct mcpi_engine *e = peer->engine;

    peer->promised = ~0U;
    mcpi_map_init(&peer->subscribed, e->mem, e->seed);
    mcpi_due_init(&peer->due, &session_ops, e, peer->outlet);
    mcpi_timer_init(&peer->due_timer, session_expired);
}

void
mcpi_session_lost(struct mcpi_peer *peer)
{
    mcpi_timer_disarm(peer->engine->timers, &peer->due_timer);
}

void
mcpi_session_done(struct mcpi_peer *peer)
{
    struct mcpi_map_node *node;
    struct mcpi_name *name;

    while ((node = mcpi_map_any(&peer->subscribed)) != NULL) {
        name = MCPI_CONTAINER(node, struct mcpi_name, node);
        watched_free(peer, watched_of(name));
    }
    mcpi_map_done(&peer->subscribed);
    mcpi_due_done(&peer->due);
}
