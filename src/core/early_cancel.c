/* early_cancel.c - cancels that arrive before the request they name */
#include "core/early_cancel.h"

#include <string.h>

#include "base/mem.h"
#include "core/engine.h"

struct held {
    uint64_t hash; /* of the folded id */
    int64_t at;
};

struct range {
    int64_t first, last;
};

struct mcpi_early_cancels {
    struct held *held;         /* the oldest first */
    size_t count, room;        /* of held */
    struct mcpi_list expected; /* announced messages, the oldest first */
    size_t expected_count;
    struct range used[MCPI_EARLY_RANGES_MAX]; /* integers; the most recent one last */
    unsigned used_count;
    struct mcpi_ring used_others; /* hashes */
};

static uint64_t
id_hash(const struct mcpi_peer *peer, const struct mcpi_id *folded)
{
    return mcpi_id_hash(&peer->in_flight, folded);
}

/* ---- ids that were used ---------------------------------------------------- */

static bool
used_has(const struct mcpi_early_cancels *early, const struct mcpi_id *id,
         uint64_t hash)
{
    if (id->kind != MCPI_ID_INT)
        return mcpi_ring_has(&early->used_others, hash);
    for (unsigned i = 0; i < early->used_count; i++)
        if (early->used[i].first <= id->number && id->number <= early->used[i].last)
            return true;
    return false;
}

static void
used_remove(struct mcpi_early_cancels *early, unsigned at)
{
    early->used_count--;
    memmove(&early->used[at], &early->used[at + 1],
            (early->used_count - at) * sizeof(early->used[0]));
}

/* Takes the ranges that the number is in, or next to, and joins them with it. */
static struct range
used_join(struct mcpi_early_cancels *early, int64_t number)
{
    struct range joined = {number, number};
    const struct range *range;

    for (unsigned i = early->used_count; i-- > 0;) {
        range = &early->used[i];
        if ((range->first > INT64_MIN && range->first - 1 > number) ||
            (range->last < INT64_MAX && range->last + 1 < number))
            continue;
        if (range->first < joined.first)
            joined.first = range->first;
        if (range->last > joined.last)
            joined.last = range->last;
        used_remove(early, i);
    }
    return joined;
}

static void
used_add(struct mcpi_early_cancels *early, const struct mcpi_id *id, uint64_t hash)
{
    struct range joined;

    if (id->kind != MCPI_ID_INT) {
        mcpi_ring_add(&early->used_others, hash);
        return;
    }
    joined = used_join(early, id->number);
    if (early->used_count == MCPI_EARLY_RANGES_MAX)
        used_remove(early, 0);
    early->used[early->used_count++] = joined;
}

/* ---- cancels that are held ------------------------------------------------- */

/* False: no memory, and nothing has changed. */
static bool
held_resize(struct mcpi_peer *peer, size_t room)
{
    struct mcpi_early_cancels *early = peer->early;
    struct held *held;

    held = mcpi_realloc(peer->engine->mem, early->held, room * sizeof(*held));
    if (!held)
        return false;
    early->held = held;
    early->room = room;
    return true;
}

static bool
is_over(const struct mcpi_early_cancels *early, const struct held *held, int64_t now)
{
    const struct mcpi_list *oldest = mcpi_list_first(&early->expected);
    int64_t until = mcpi_time_add(held->at, MCPI_EARLY_HOLD_MAX);

    if (oldest && MCPI_CONTAINER(oldest, struct mcpi_expected, in_peer)->at < until)
        return false;
    return until <= now;
}

/* NULL: none. */
static struct held *
held_find(const struct mcpi_early_cancels *early, uint64_t hash)
{
    for (size_t i = 0; i < early->count; i++)
        if (early->held[i].hash == hash)
            return &early->held[i];
    return NULL;
}

static void
held_remove(struct mcpi_early_cancels *early, struct held *first, size_t count)
{
    const struct held *behind = first + count;

    memmove(first, behind,
            (size_t)(early->held + early->count - behind) * sizeof(*first));
    early->count -= count;
}

static void
held_drop_over(struct mcpi_early_cancels *early, int64_t now)
{
    size_t over = 0;

    while (over < early->count && is_over(early, &early->held[over], now))
        over++;
    held_remove(early, early->held, over);
}

/* Room for one more, at the cost of the oldest. What more was needed for messages that
 * waited is given back when none does. */
static void
held_make_room(struct mcpi_peer *peer)
{
    struct mcpi_early_cancels *early = peer->early;
    size_t room = early->expected_count > 0 ? early->room : MCPI_EARLY_MAX;

    if (early->count >= room)
        held_remove(early, early->held, early->count - room + 1);
    if (room < early->room)
        (void)held_resize(peer, room); /* or it stays as it is */
}

bool
mcpi_early_cancel_hold(struct mcpi_peer *peer, const struct mcpi_id *id)
{
    struct mcpi_early_cancels *early = peer->early;
    struct mcpi_id key = mcpi_id_fold(*id);
    int64_t now = peer->engine->now;
    struct held *same;
    uint64_t hash;

    if (!early || key.kind == MCPI_ID_NONE)
        return false;
    hash = id_hash(peer, &key);
    if (used_has(early, &key, hash))
        return false;
    same = held_find(early, hash);
    if (same)
        held_remove(early, same, 1);
    held_drop_over(early, now);
    held_make_room(peer);
    early->held[early->count++] = (struct held){hash, now};
    return true;
}

bool
mcpi_early_cancel_take(struct mcpi_peer *peer, const struct mcpi_id *id)
{
    struct mcpi_early_cancels *early = peer->early;
    struct mcpi_id key = mcpi_id_fold(*id);
    struct held *held;
    uint64_t hash;
    bool over;

    if (!early)
        return false;
    hash = id_hash(peer, &key);
    used_add(early, &key, hash);
    held = held_find(early, hash);
    if (!held)
        return false;
    over = is_over(early, held, peer->engine->now);
    held_remove(early, held, 1);
    return !over;
}

/* ---- messages that are announced ------------------------------------------- */

/* Room grows with what waits, up to the requests that a peer may have in flight: more
 * would be refused. */
int
mcpi_peer_expect(struct mcpi_peer *peer, struct mcpi_expected *message, int64_t now)
{
    struct mcpi_early_cancels *early = peer->early;

    if (!early)
        return 0;
    if (MCPI_EARLY_MAX + early->expected_count == early->room &&
        early->expected_count < peer->engine->limits.in_flight &&
        !held_resize(peer, early->room * 2))
        return MCP_E_NOMEM;
    early->expected_count++;
    message->early = early;
    message->at = now;
    mcpi_list_append(&early->expected, &message->in_peer);
    return 0;
}

bool
mcpi_peer_expects(const struct mcpi_peer *peer)
{
    return peer->early && peer->early->expected_count > 0;
}

void
mcpi_expected_init(struct mcpi_expected *message)
{
    *message = (struct mcpi_expected){.early = NULL};
    mcpi_list_init(&message->in_peer);
}

void
mcpi_expected_done(struct mcpi_expected *message)
{
    if (!message->early)
        return;
    message->early->expected_count--;
    message->early = NULL;
    mcpi_list_remove(&message->in_peer);
}

/* ---- from the peer's first to its last message ----------------------------- */

void
mcpi_early_cancel_reset(struct mcpi_peer *peer)
{
    struct mcpi_early_cancels *early = peer->early;

    if (!early)
        return;
    early->count = 0;
    early->used_count = 0;
    mcpi_ring_init(&early->used_others);
}

int
mcpi_early_cancel_init(struct mcpi_peer *peer)
{
    peer->early = mcpi_alloc_zero(peer->engine->mem, sizeof(*peer->early));
    if (!peer->early)
        return MCP_E_NOMEM;
    mcpi_list_init(&peer->early->expected);
    if (held_resize(peer, MCPI_EARLY_MAX))
        return 0;
    mcpi_early_cancel_done(peer);
    return MCP_E_NOMEM;
}

/* Messages that wait outlive the peer. */
void
mcpi_early_cancel_done(struct mcpi_peer *peer)
{
    struct mcpi_early_cancels *early = peer->early;
    struct mcpi_list *node;

    if (!early)
        return;
    while ((node = mcpi_list_first(&early->expected)) != NULL)
        mcpi_expected_done(MCPI_CONTAINER(node, struct mcpi_expected, in_peer));
    mcpi_free(peer->engine->mem, early->held);
    mcpi_free(peer->engine->mem, early);
    peer->early = NULL;
}
