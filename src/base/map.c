/* map.c - an intrusive hash map with chained buckets, and SipHash-1-3 */
#include "base/map.h"

#include <string.h>

#include "base/mem.h"

#define BUCKETS_FIRST 8 /* with more than one node */

/* ---- SipHash --------------------------------------------------------------- */

static uint64_t
rotate(uint64_t word, unsigned bits)
{
    return (word << bits) | (word >> (64 - bits));
}

/* Byte by byte, so that it means the same everywhere; compilers make it a load. */
static uint64_t
load_little_endian(const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;

    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void
sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static void
sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
}

/* ---- the map --------------------------------------------------------------- */

void
mcpi_map_init(struct mcpi_map *map, const mcp_allocator *mem,
              const unsigned char seed[MCPI_SEED_SIZE])
{
    *map = (struct mcpi_map){
        .mem = mcpi_mem_or_malloc(mem),
        .seed = {load_little_endian(seed, 8), load_little_endian(seed + 8, 8)},
    };
    map->buckets = &map->inline_bucket;
}

void
mcpi_map_done(struct mcpi_map *map)
{
    if (map->buckets != &map->inline_bucket)
        mcpi_free(map->mem, map->buckets);
    map->buckets = &map->inline_bucket;
    map->inline_bucket = NULL;
    map->mask = 0;
    map->count = 0;
    map->first = 0;
}

uint64_t
mcpi_map_hash(const struct mcpi_map *map, const void *bytes, size_t len)
{
    return mcpi_siphash(map->seed, bytes, len);
}

struct mcpi_map_node *
mcpi_map_find(const struct mcpi_map *map, uint64_t hash, mcpi_map_match_fn *match,
              const void *key)
{
    struct mcpi_map_node *node = map->buckets[hash & map->mask];

    while (node && !(node->hash == hash && match(node, key)))
        node = node->next;
    return node;
}

static void
buckets_add(struct mcpi_map_node **buckets, size_t mask, struct mcpi_map_node *node)
{
    struct mcpi_map_node **bucket = &buckets[node->hash & mask];

    node->next = *bucket;
    *bucket = node;
}

/* Twice the buckets, or, without memory, none more: finding gets slower, not wrong. */
static void
map_grow(struct mcpi_map *map)
{
    size_t mask = map->mask > 0 ? map->mask * 2 + 1 : BUCKETS_FIRST - 1;
    struct mcpi_map_node **buckets;

    if (mask >= SIZE_MAX / sizeof(*buckets))
        return;
    buckets = mcpi_alloc_zero(map->mem, (mask + 1) * sizeof(*buckets));
    if (!buckets)
        return;
    for (size_t i = 0; i <= map->mask; i++) {
        while (map->buckets[i]) {
            struct mcpi_map_node *node = map->buckets[i];

            map->buckets[i] = node->next;
            buckets_add(buckets, mask, node);
        }
    }
    if (map->buckets != &map->inline_bucket)
        mcpi_free(map->mem, map->buckets);
    map->buckets = buckets;
    map->mask = mask;
    map->first = 0;
}

void
mcpi_map_add(struct mcpi_map *map, struct mcpi_map_node *node, uint64_t hash)
{
    if (map->count > map->mask / 2) /* half full: most chains have one node or none */
        map_grow(map);
    node->hash = hash;
    buckets_add(map->buckets, map->mask, node);
    map->count++;
    if ((hash & map->mask) < map->first)
        map->first = hash & map->mask;
}

bool
mcpi_map_remove(struct mcpi_map *map, struct mcpi_map_node *node)
{
    struct mcpi_map_node **link = &map->buckets[node->hash & map->mask];

    while (*link && *link != node)
        link = &(*link)->next;
    if (!*link)
        return false;
    *link = node->next;
    node->next = NULL;
    map->count--;
    return true;
}

struct mcpi_map_node *
mcpi_map_any(struct mcpi_map *map)
{
    if (map->count == 0)
        return NULL;
    while (!map->buckets[map->first])
        map->first++;
    return map->buckets[map->first];
}

uint64_t
mcpi_siphash(const uint64_t key[2], const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    size_t left = len;
    uint64_t v[4] = {
        key[0] ^ UINT64_C(0x736f6d6570736575), /* "somepseudorandomlygeneratedbytes" */
        key[1] ^ UINT64_C(0x646f72616e646f6d),
        key[0] ^ UINT64_C(0x6c7967656e657261),
        key[1] ^ UINT64_C(0x7465646279746573),
    };

    for (; left >= 8; left -= 8, at += 8)
        sip_word(v, load_little_endian(at, 8));
    sip_word(v, load_little_endian(at, left) | (uint64_t)len << 56);
    v[2] ^= 0xFF;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
