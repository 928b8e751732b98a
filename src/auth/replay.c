/* replay.c - names that were seen lately, so that none is seen twice */
#include "auth/replay.h"

#include <pthread.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "run/random.h"

/* What one owner has; it goes with the last. Told by the hash of the owner's name alone:
 * two that have the same would only have one share between them. */
struct share {
    struct mcpi_map_node by_owner;
    size_t count;
};

struct seen {
    struct mcpi_map_node by_name;
    struct mcpi_heap_node by_end;
    struct share *share;
    char name[];
};

struct mcpi_replay {
    const mcp_allocator *mem;
    size_t most;
    pthread_mutex_t lock; /* for all that follows */
    struct mcpi_map names, shares;
    struct mcpi_heap ends;
};

int
mcpi_replay_new(const mcp_allocator *mem, size_t most, struct mcpi_replay **ret_replay)
{
    unsigned char seed[MCPI_SEED_SIZE];
    struct mcpi_replay *replay;
    int r = mcpi_random(seed, sizeof(seed));

    if (r < 0)
        return r;
    mem = mcpi_mem_or_malloc(mem);
    replay = mcpi_alloc_zero(mem, sizeof(*replay));
    if (!replay)
        return MCP_E_NOMEM;
    if (pthread_mutex_init(&replay->lock, NULL) != 0) {
        mcpi_free(mem, replay);
        return MCP_E_NOMEM;
    }
    replay->mem = mem;
    replay->most = most;
    mcpi_map_init(&replay->names, mem, seed);
    mcpi_map_init(&replay->shares, mem, seed);
    mcpi_heap_init(&replay->ends);
    *ret_replay = replay;
    return 0;
}

static void
share_drop(struct mcpi_replay *replay, struct share *share)
{
    if (share->count > 0)
        return;
    (void)mcpi_map_remove(&replay->shares, &share->by_owner);
    mcpi_free(replay->mem, share);
}

static void
replay_drop(struct mcpi_replay *replay, struct mcpi_heap_node *node)
{
    struct seen *seen = MCPI_CONTAINER(node, struct seen, by_end);

    (void)mcpi_heap_remove(&replay->ends, node);
    (void)mcpi_map_remove(&replay->names, &seen->by_name);
    seen->share->count--;
    share_drop(replay, seen->share);
    mcpi_free(replay->mem, seen);
}

/* A name is still kept in the last second that it was promised for. */
static void
replay_forget(struct mcpi_replay *replay, int64_t now)
{
    struct mcpi_heap_node *first = mcpi_heap_first(&replay->ends);

    for (; first && first->key < now; first = mcpi_heap_first(&replay->ends))
        replay_drop(replay, first);
}

void
mcpi_replay_free(struct mcpi_replay *replay)
{
    struct mcpi_heap_node *first;

    if (!replay)
        return;
    for (first = mcpi_heap_first(&replay->ends); first;
         first = mcpi_heap_first(&replay->ends))
        replay_drop(replay, first);
    mcpi_map_done(&replay->names);
    mcpi_map_done(&replay->shares);
    pthread_mutex_destroy(&replay->lock);
    mcpi_free(replay->mem, replay);
}

static bool
seen_is(const struct mcpi_map_node *node, const void *key)
{
    return strcmp(MCPI_CONTAINER(node, struct seen, by_name)->name, key) == 0;
}

static bool
share_is(const struct mcpi_map_node *node, const void *key)
{
    (void)node;
    (void)key;
    return true;
}

/* That of an owner, be it a new one; NULL: no memory. */
static struct share *
share_of(struct mcpi_replay *replay, uint64_t owner)
{
    struct mcpi_map_node *node = mcpi_map_find(&replay->shares, owner, share_is, NULL);
    struct share *share;

    if (node)
        return MCPI_CONTAINER(node, struct share, by_owner);
    share = mcpi_alloc_zero(replay->mem, sizeof(*share));
    if (share)
        mcpi_map_add(&replay->shares, &share->by_owner, owner);
    return share;
}

static int
replay_keep(struct mcpi_replay *replay, struct share *share, const char *name,
            uint64_t hash, int64_t until)
{
    size_t size = strlen(name) + 1;
    struct seen *seen;

    if (share->count >= replay->most - replay->ends.count)
        return MCP_E_LIMIT;
    seen = mcpi_alloc_zero(replay->mem, sizeof(*seen) + size);
    if (!seen)
        return MCP_E_NOMEM;
    memcpy(seen->name, name, size);
    seen->share = share;
    share->count++;
    mcpi_heap_node_init(&seen->by_end);
    mcpi_map_add(&replay->names, &seen->by_name, hash);
    mcpi_heap_insert(&replay->ends, &seen->by_end, until);
    return 0;
}

static int
replay_take(struct mcpi_replay *replay, uint64_t owner, const char *name, uint64_t hash,
            int64_t until)
{
    struct share *share;
    int r;

    if (mcpi_map_find(&replay->names, hash, seen_is, name))
        return MCP_E_STATE;
    share = share_of(replay, owner);
    if (!share)
        return MCP_E_NOMEM;
    r = replay_keep(replay, share, name, hash, until);
    share_drop(replay, share);
    return r;
}

int
mcpi_replay_add(struct mcpi_replay *replay, const char *owner, const char *name,
                int64_t now, int64_t until)
{
    /* Reads the seed, which never changes. */
    uint64_t whose = mcpi_map_hash(&replay->shares, owner, strlen(owner));
    uint64_t hash = mcpi_map_hash(&replay->names, name, strlen(name));
    int r;

    pthread_mutex_lock(&replay->lock);
    replay_forget(replay, now);
    r = replay_take(replay, whose, name, hash, until);
    pthread_mutex_unlock(&replay->lock);
    return r;
}
