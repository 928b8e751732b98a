/* renew.c - a client peer that was READY and has to negotiate once more */
#include "core/renew.h"

#include <string.h>

#include "core/early_cancel.h"
#include "core/negotiate.h"
#include "core/versions.h"

/* Sessions in a row in which nothing was answered, after which the next one has to
 * wait; twice as long each time. */
#define BARREN_MAX 3
#define BARREN_PAUSE 1000000 /* us */
#define BARREN_PAUSE_MOST 64000000

static void
renew_hold(struct mcpi_peer *peer)
{
    mcpi_peer_become(peer, MCPI_PEER_NEGOTIATING);
    peer->agreed = false;
}

/* ---- a lost session -------------------------------------------------------- */

/* A server that forgets each session at once, or refuses all but requests, would be
 * greeted for ever: only a request may find that out before one was answered. And not
 * even that for long: whoever hears that it is renewed may ask at once for something,
 * which meets the same. */
static bool
session_is_worth_another(const struct mcpi_peer *peer, const struct mcpi_leg *met)
{
    int64_t pause = BARREN_PAUSE;

    if (peer->answered || !met)
        return peer->answered;
    for (unsigned i = BARREN_MAX; i < peer->barren && pause < BARREN_PAUSE_MOST; i++)
        pause *= 2;
    return peer->barren < BARREN_MAX || peer->engine->now - peer->lost_at >= pause;
}

static bool
session_can_be_lost(const struct mcpi_peer *peer, const struct mcpi_leg *met)
{
    return peer->engine->role == MCPI_CLIENT && peer->state == MCPI_PEER_READY &&
           peer->failing == 0 && peer->engine->era != MCPI_ERA_MANUAL &&
           !peer->dialect->modern && session_is_worth_another(peer, met);
}

/* The next that is issued, from this bucket on. Only those that wait may be added
 * meanwhile, and a table that grows moves none to a bucket before its own. */
static struct mcpi_leg *
next_issued(const struct mcpi_peer *peer, size_t *bucket)
{
    const struct mcpi_map *map = &peer->pending;
    const struct mcpi_map_node *node;
    struct mcpi_leg *leg;

    for (; *bucket <= map->mask; (*bucket)++) {
        for (node = map->buckets[*bucket]; node; node = node->next) {
            leg = MCPI_CONTAINER(node, struct mcpi_leg, by_id);
            if (leg->state == MCPI_LEG_ISSUED)
                return leg;
        }
    }
    return NULL;
}

/* The streams go; nobody is there who could be told more. */
static void
session_end_legs(struct mcpi_peer *peer)
{
    struct mcpi_leg *leg;
    size_t bucket = 0;

    while ((leg = next_issued(peer, &bucket)) != NULL) {
        leg->detach = true;
        mcpi_leg_end(leg, MCP_E_CLOSED, NULL, "the session was lost");
    }
}

/* It had its second chance. Its stream is the link's, which is at it right now. */
static void
session_refuse(struct mcpi_leg *leg)
{
    const struct mcpi_fault fault = {.status = MCP_E_HTTP,
                                     .http = 404,
                                     .why = "the server does not know the session"};

    leg->moot = true;
    mcpi_leg_fail(leg, &fault, leg->engine->now);
}

bool
mcpi_peer_session_lost(struct mcpi_peer *peer, struct mcpi_leg *met, int64_t now)
{
    struct mcpi_leg *leg = met && met->state == MCPI_LEG_ISSUED ? met : NULL;

    mcpi_engine_at(peer->engine, now);
    if (!session_can_be_lost(peer, leg))
        return false;
    MCPI_LOG(&peer->engine->log, MCP_LOG_INFO,
             "the server has lost the session: negotiating again");
    peer->barren = peer->answered ? 0 : peer->barren + 1;
    peer->lost_at = now;
    renew_hold(peer);
    if (leg && !mcpi_leg_give_back(leg))
        session_refuse(leg);
    mcpi_outlet_forget(peer->outlet);
    session_end_legs(peer);
    mcpi_peer_drop_exchanges(peer, "the session was lost");
    mcpi_early_cancel_reset(peer);
    mcpi_negotiate_again(peer, peer->version);
    return true;
}

/* ---- a version that is not spoken ------------------------------------------ */

/* listen means nothing in the legacy era, and whoever asks for discover by hand wants
 * to know. */
static bool
leg_may_change(const struct mcpi_peer *peer, const struct mcpi_leg *leg)
{
    enum mcpi_method method = mcpi_method_find(leg->method, leg->method_len);

    return peer->engine->role == MCPI_CLIENT && peer->state <= MCPI_PEER_READY &&
           leg->dialect->modern && !leg->again && method != MCPI_METHOD_DISCOVER &&
           method != MCPI_METHOD_LISTEN;
}

/* Its answer has come, so this is no signal: the stream is not its own any more. */
static bool
leg_return(struct mcpi_peer *peer, struct mcpi_leg *leg)
{
    if (peer->ops->hangup)
        peer->ops->hangup(peer, leg, 0);
    return mcpi_leg_give_back(leg);
}

bool
mcpi_peer_change_version(struct mcpi_peer *peer, struct mcpi_leg *leg,
                         const struct mcpi_rpc *refusal)
{
    const mcp_json *supported = mcp_json_get(refusal->error_data, "supported");
    const char *modern = mcpi_version_choose(supported, true);
    const char *legacy = mcpi_version_choose(supported, false);
    bool returned;

    if (!leg_may_change(peer, leg))
        return false;
    if (!peer->agreed || !peer->dialect->modern)
        return leg_return(peer, leg); /* another one has found out before */
    if (modern && strcmp(modern, peer->version) != 0) {
        peer->version = modern;
        return leg_return(peer, leg);
    }
    if (modern || !legacy || peer->engine->era != MCPI_ERA_BOTH)
        return false;
    MCPI_LOG(&peer->engine->log, MCP_LOG_INFO,
             "the server does not speak %s any more: negotiating again", peer->version);
    renew_hold(peer);
    returned = leg_return(peer, leg);
    mcpi_negotiate_again(peer, legacy);
    return returned;
}
