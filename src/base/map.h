/*
 * map.h - an intrusive hash map whose keys peers may choose
 *
 * Nodes are members of the objects they index, so adding and removing cannot fail and
 * allocate nothing; growth that fails for want of memory only makes chains longer.
 * Hashes are SipHash under a secret seed: a peer that picks ids builds no long chains.
 */
#ifndef MCPI_BASE_MAP_H
#define MCPI_BASE_MAP_H

#include <mcp/base.h>

#define MCPI_SEED_SIZE 16

struct mcpi_map_node {
    struct mcpi_map_node *next;
    uint64_t hash;
};

struct mcpi_map {
    const mcp_allocator *mem;
    struct mcpi_map_node **buckets;
    struct mcpi_map_node *inline_bucket; /* for one node: many have that or none */
    size_t mask;                         /* buckets - 1, a power of two less one */
    size_t count;
    size_t first; /* no bucket below it holds a node; makes emptying linear */
    uint64_t seed[2];
};

/* Is this node's object the one with that key? Hashes are equal already. */
typedef bool mcpi_map_match_fn(const struct mcpi_map_node *node, const void *key);

void mcpi_map_init(struct mcpi_map *map, const mcp_allocator *mem,
                   const unsigned char seed[MCPI_SEED_SIZE]);
void mcpi_map_done(struct mcpi_map *map); /* frees the buckets, not the objects */

uint64_t mcpi_map_hash(const struct mcpi_map *map, const void *bytes, size_t len);

struct mcpi_map_node *mcpi_map_find(const struct mcpi_map *map, uint64_t hash,
                                    mcpi_map_match_fn *match, const void *key);
void mcpi_map_add(struct mcpi_map *map, struct mcpi_map_node *node, uint64_t hash);

/* Remove exactly this node, never another one of an equal key (A15). False: it was not
 * there. */
bool mcpi_map_remove(struct mcpi_map *map, struct mcpi_map_node *node);

/* Any node, or NULL if empty: to empty a map from outside. */
struct mcpi_map_node *mcpi_map_any(struct mcpi_map *map);

/* SipHash-1-3 of bytes under a 128-bit key. */
uint64_t mcpi_siphash(const uint64_t key[2], const void *bytes, size_t len);

#endif
