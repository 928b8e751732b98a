/* base/map_test.c - proves base/map.c: finding, growth that fails, SipHash */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define MANY 100000

struct item {
    struct mcpi_map_node node;
    uint32_t key;
};

static const unsigned char seed[MCPI_SEED_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static bool
item_has_key(const struct mcpi_map_node *node, const void *key)
{
    return ((const struct item *)(const void *)node)->key == *(const uint32_t *)key;
}

static void
item_add(struct mcpi_map *map, struct item *item, uint32_t key)
{
    item->key = key;
    mcpi_map_add(map, &item->node, mcpi_map_hash(map, &key, sizeof(key)));
}

static struct item *
item_find(const struct mcpi_map *map, uint32_t key)
{
    uint64_t hash = mcpi_map_hash(map, &key, sizeof(key));

    return (struct item *)(void *)mcpi_map_find(map, hash, item_has_key, &key);
}

/* Add, find, and remove many, with whatever memory there is. */
static void
many_come_and_go(struct test_mem *mem)
{
    struct item *items = calloc(MANY, sizeof(*items));
    struct mcpi_map map;

    assert_non_null(items);
    mcpi_map_init(&map, &mem->allocator, seed);
    for (uint32_t i = 0; i < MANY; i++)
        item_add(&map, &items[i], i);
    assert_int_equal(map.count, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        assert_ptr_equal(item_find(&map, i), &items[i]);
    assert_null(item_find(&map, MANY));
    for (uint32_t i = 0; i < MANY; i += 2)
        assert_true(mcpi_map_remove(&map, &items[i].node));
    for (uint32_t i = 0; i < MANY; i++)
        assert_ptr_equal(item_find(&map, i), i % 2 ? &items[i] : NULL);
    mcpi_map_done(&map);
    free(items);
}

static void
hundred_thousand_nodes_are_found_and_removed(void **state)
{
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    many_come_and_go(&mem);
    assert_in_range(atomic_load(&mem.total), 10, 20);
    test_mem_done(&mem);
}

static void
failing_growth_only_makes_chains_longer(void **state)
{
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    atomic_store(&mem.fail_at, 11); /* 8192 buckets, and never more */
    mem.fail_after = true;
    many_come_and_go(&mem);
    assert_int_not_equal(atomic_load(&mem.failed), 0);
    test_mem_done(&mem);
}

static void
one_node_needs_no_memory(void **state)
{
    struct test_mem mem;
    struct mcpi_map map;
    struct item item;

    (void)state;
    test_mem_init(&mem);
    mcpi_map_init(&map, &mem.allocator, seed);
    item_add(&map, &item, 3);
    assert_int_equal(atomic_load(&mem.total), 0);
    assert_ptr_equal(item_find(&map, 3), &item);
    mcpi_map_done(&map);
    test_mem_done(&mem);
}

static void
exactly_this_node_is_removed_not_its_twin(void **state)
{
    struct mcpi_map map;
    struct item a, b;

    (void)state;
    mcpi_map_init(&map, NULL, seed);
    item_add(&map, &a, 7);
    item_add(&map, &b, 7);
    assert_true(mcpi_map_remove(&map, &a.node));
    assert_ptr_equal(item_find(&map, 7), &b);
    assert_false(mcpi_map_remove(&map, &a.node));
    assert_int_equal(map.count, 1);
    assert_true(mcpi_map_remove(&map, &b.node));
    assert_null(item_find(&map, 7));
    mcpi_map_done(&map);
}

static void
any_empties_a_map(void **state)
{
    struct item *items = calloc(MANY, sizeof(*items));
    struct mcpi_map map;
    struct mcpi_map_node *node;
    size_t removed = 0;

    (void)state;
    assert_non_null(items);
    mcpi_map_init(&map, NULL, seed);
    assert_null(mcpi_map_any(&map));
    for (uint32_t i = 0; i < MANY; i++)
        item_add(&map, &items[i], i);
    for (node = mcpi_map_any(&map); node; node = mcpi_map_any(&map)) {
        assert_true(mcpi_map_remove(&map, node));
        if (removed++ == MANY / 2) /* one more, wherever it falls */
            item_add(&map, (struct item *)(void *)node, 1u << 31);
    }
    assert_int_equal(removed, MANY + 1);
    mcpi_map_done(&map);
    free(items);
}

static void
any_finds_a_node_in_an_earlier_bucket(void **state)
{
    struct mcpi_map map;
    struct mcpi_map_node late, early;

    (void)state;
    mcpi_map_init(&map, NULL, seed);
    mcpi_map_add(&map, &late, 5);
    assert_ptr_equal(mcpi_map_any(&map), &late);
    mcpi_map_add(&map, &early, 0);
    assert_true(mcpi_map_remove(&map, &late));
    assert_ptr_equal(mcpi_map_any(&map), &early);
    mcpi_map_done(&map);
}

static void
seeds_give_different_hashes(void **state)
{
    const unsigned char other[MCPI_SEED_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 10};
    struct mcpi_map a, b;

    (void)state;
    mcpi_map_init(&a, NULL, seed);
    mcpi_map_init(&b, NULL, other);
    assert_true(mcpi_map_hash(&a, "id", 2) != mcpi_map_hash(&b, "id", 2));
    assert_true(mcpi_map_hash(&a, "id", 2) == mcpi_map_hash(&a, "id", 2));
    mcpi_map_done(&a);
    mcpi_map_done(&b);
}

/* Bytes 0, 1, 2, ... of some lengths under the key 0: from another implementation. */
static void
siphash_gives_known_values(void **state)
{
    static const struct {
        size_t len;
        uint64_t hash;
    } known[] = {
        {1, 0x68a914128e01e473},  {7, 0x2f098ab0c751325a},  {8, 0xead411e67ebe2eea},
        {9, 0x75927f9d95124362},  {15, 0xf30eb725bb91c9ea}, {16, 0x8972188433a5c5b7},
        {31, 0x169739443111d49b}, {63, 0x385d3e39e5f37359},
    };
    const uint64_t key[2] = {0, 0};
    const uint64_t counting[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    unsigned char bytes[64];

    (void)state;
    for (unsigned i = 0; i < 64; i++)
        bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_true(mcpi_siphash(key, bytes, known[i].len) == known[i].hash);
    assert_true(mcpi_siphash(counting, bytes, 0) == 0xabac0158050fc4dc);
}

static void
siphash_depends_on_every_bit(void **state)
{
    const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    unsigned char bytes[20] = {0};
    uint64_t plain = mcpi_siphash(key, bytes, sizeof(bytes));

    (void)state;
    for (unsigned bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(mcpi_siphash(key, bytes, sizeof(bytes)) != plain);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (unsigned bit = 0; bit < 128; bit++) {
        uint64_t other[2] = {key[0], key[1]};

        other[bit / 64] ^= (uint64_t)1 << bit % 64;
        assert_true(mcpi_siphash(other, bytes, sizeof(bytes)) != plain);
    }
    assert_true(mcpi_siphash(key, bytes, 19) != plain);
}

TEST_MAIN(TEST(hundred_thousand_nodes_are_found_and_removed),
          TEST(failing_growth_only_makes_chains_longer), TEST(one_node_needs_no_memory),
          TEST(exactly_this_node_is_removed_not_its_twin), TEST(any_empties_a_map),
          TEST(any_finds_a_node_in_an_earlier_bucket),
          TEST(seeds_give_different_hashes), TEST(siphash_gives_known_values),
          TEST(siphash_depends_on_every_bit))
