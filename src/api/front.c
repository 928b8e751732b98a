/* front.c - ids in flight, and counters */
#include "api/front.h"

#include <assert.h>

#include "base/list.h"

/* What negotiate.c names its requests (A9). */
#define DISCOVER_ID "libmcp:discover"
#define INITIALIZE_ID 0

int
mcpi_front_init(struct mcpi_front *front, const mcp_allocator *mem,
                const unsigned char seed[MCPI_SEED_SIZE], bool negotiates)
{
    *front = (struct mcpi_front){.negotiates = negotiates};
    if (pthread_mutex_init(&front->lock, NULL) != 0)
        return MCP_E_NOMEM;
    mcpi_map_init(&front->claims, mem, seed);
    return 0;
}

void
mcpi_front_done(struct mcpi_front *front)
{
    assert(front->claims.count == 0);
    mcpi_map_done(&front->claims);
    pthread_mutex_destroy(&front->lock);
}

void
mcpi_front_ready(struct mcpi_front *front)
{
    pthread_mutex_lock(&front->lock);
    front->negotiates = false;
    pthread_mutex_unlock(&front->lock);
}

void
mcpi_front_close(struct mcpi_front *front)
{
    pthread_mutex_lock(&front->lock);
    front->is_closed = true;
    pthread_mutex_unlock(&front->lock);
}

static bool
claim_has_key(const struct mcpi_map_node *node, const void *key)
{
    return mcpi_id_same(&MCPI_CONTAINER(node, struct mcpi_claim, node)->key, key);
}

/* Under lock. */
static bool
front_is_taken(const struct mcpi_front *front, const struct mcpi_id *key, uint64_t hash)
{
    struct mcpi_id discover = mcpi_id_string(DISCOVER_ID, sizeof(DISCOVER_ID) - 1);
    struct mcpi_id initialize = mcpi_id_int(INITIALIZE_ID);

    if (front->negotiates &&
        (mcpi_id_same(key, &initialize) || mcpi_id_same(key, &discover)))
        return true;
    return mcpi_map_find(&front->claims, hash, claim_has_key, key) != NULL;
}

/* Under lock. The next number that nobody has taken (A7); never one that was minted
 * before (A1). */
static uint64_t
front_mint(struct mcpi_front *front, struct mcpi_claim *claim)
{
    uint64_t hash;

    do {
        claim->id = claim->key = mcpi_id_int(++front->last_id);
        hash = mcpi_id_hash(&front->claims, &claim->key);
    } while (front_is_taken(front, &claim->key, hash));
    return hash;
}

int
mcpi_front_claim(struct mcpi_front *front, struct mcpi_claim *claim)
{
    uint64_t hash = 0;
    int r = 0;

    pthread_mutex_lock(&front->lock);
    if (front->is_closed) {
        r = MCP_E_CLOSED;
    } else if (claim->id.kind == MCPI_ID_NONE) {
        hash = front_mint(front, claim);
    } else {
        claim->key = mcpi_id_fold(claim->id);
        hash = mcpi_id_hash(&front->claims, &claim->key);
        if (front_is_taken(front, &claim->key, hash))
            r = MCP_E_ID_IN_USE;
    }
    if (r == 0) {
        mcpi_map_add(&front->claims, &claim->node, hash);
        claim->is_held = true;
        front->counts.calls++;
        front->counts.started++;
    }
    pthread_mutex_unlock(&front->lock);
    return r;
}

int
mcpi_front_renew(struct mcpi_front *front, struct mcpi_claim *claim,
                 const struct mcpi_id *first)
{
    struct mcpi_claim next = {.id.kind = MCPI_ID_NONE};
    uint64_t hash;
    int r = 0;

    pthread_mutex_lock(&front->lock);
    if (front->is_closed) {
        r = MCP_E_CLOSED;
    } else if (!claim->is_held) {
        r = MCP_E_CANCELED;
    } else {
        do /* the one it has is still taken */
            hash = front_mint(front, &next);
        while (mcpi_id_same(&next.key, first));
        (void)mcpi_map_remove(&front->claims, &claim->node);
        claim->id = next.id;
        claim->key = next.key;
        mcpi_map_add(&front->claims, &claim->node, hash);
    }
    pthread_mutex_unlock(&front->lock);
    return r;
}

static uint64_t *
counter_for(mcp_client_counts *counts, int status)
{
    switch (status) {
    case 0:
        return &counts->answered;
    case MCP_E_CANCELED:
        return &counts->canceled;
    case MCP_E_TIMEOUT:
    case MCP_E_TOTAL_TIMEOUT:
        return &counts->timed_out;
    case MCP_E_CLOSED:
        return &counts->closed;
    default:
        return &counts->failed;
    }
}

/* Under lock. */
static void
front_free(struct mcpi_front *front, struct mcpi_claim *claim)
{
    if (claim->is_held)
        (void)mcpi_map_remove(&front->claims, &claim->node);
    claim->is_held = false;
}

void
mcpi_front_let_go(struct mcpi_front *front, struct mcpi_claim *claim)
{
    pthread_mutex_lock(&front->lock);
    front_free(front, claim);
    pthread_mutex_unlock(&front->lock);
}

void
mcpi_front_release(struct mcpi_front *front, struct mcpi_claim *claim, int status)
{
    pthread_mutex_lock(&front->lock);
    front_free(front, claim);
    front->counts.calls--;
    ++*counter_for(&front->counts, status);
    pthread_mutex_unlock(&front->lock);
}

void
mcpi_front_count(struct mcpi_front *front, mcp_client_counts *ret)
{
    size_t size = ret->size;

    pthread_mutex_lock(&front->lock);
    *ret = front->counts;
    pthread_mutex_unlock(&front->lock);
    ret->size = size;
}
