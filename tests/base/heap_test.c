/* base/heap_test.c - proves base/heap.c, also against a plain array */
#include "base/heap.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

#define MANY 2000
#define STEPS 20000

static void
empty_heap_has_no_first(void **state)
{
    struct mcpi_heap heap;
    struct mcpi_heap_node node;

    (void)state;
    mcpi_heap_init(&heap);
    mcpi_heap_node_init(&node);
    assert_null(mcpi_heap_first(&heap));
    assert_false(mcpi_heap_remove(&heap, &node));
    assert_int_equal(heap.count, 0);
}

static void
equal_keys_come_out_first_in_first_out(void **state)
{
    struct mcpi_heap heap;
    struct mcpi_heap_node nodes[50];

    (void)state;
    mcpi_heap_init(&heap);
    for (int i = 0; i < 50; i++) {
        mcpi_heap_node_init(&nodes[i]);
        mcpi_heap_insert(&heap, &nodes[i], 7);
    }
    for (int i = 0; i < 50; i++) {
        assert_ptr_equal(mcpi_heap_first(&heap), &nodes[i]);
        assert_true(mcpi_heap_remove(&heap, &nodes[i]));
    }
    assert_null(mcpi_heap_first(&heap));
}

static void
extreme_keys_are_ordered(void **state)
{
    struct mcpi_heap heap;
    struct mcpi_heap_node low = {0}, high = {0}, zero = {0};

    (void)state;
    mcpi_heap_init(&heap);
    mcpi_heap_insert(&heap, &high, INT64_MAX);
    mcpi_heap_insert(&heap, &zero, 0);
    mcpi_heap_insert(&heap, &low, INT64_MIN);
    assert_ptr_equal(mcpi_heap_first(&heap), &low);
    mcpi_heap_remove(&heap, &low);
    assert_ptr_equal(mcpi_heap_first(&heap), &zero);
    mcpi_heap_remove(&heap, &zero);
    assert_ptr_equal(mcpi_heap_first(&heap), &high);
}

static void
removed_node_can_be_inserted_again(void **state)
{
    struct mcpi_heap heap;
    struct mcpi_heap_node a = {0}, b = {0};

    (void)state;
    mcpi_heap_init(&heap);
    mcpi_heap_insert(&heap, &a, 1);
    mcpi_heap_insert(&heap, &b, 2);
    assert_true(mcpi_heap_remove(&heap, &a));
    assert_false(a.in_heap);
    assert_false(mcpi_heap_remove(&heap, &a));
    mcpi_heap_insert(&heap, &a, 3);
    assert_ptr_equal(mcpi_heap_first(&heap), &b);
    assert_int_equal(heap.count, 2);
}

/* The node that should be first, found the slow way; -1: none. */
static int
slow_first(const struct mcpi_heap_node *nodes)
{
    int best = -1;

    for (int i = 0; i < MANY; i++) {
        if (!nodes[i].in_heap)
            continue;
        if (best < 0 || nodes[i].key < nodes[best].key ||
            (nodes[i].key == nodes[best].key && nodes[i].order < nodes[best].order))
            best = i;
    }
    return best;
}

static void
random_steps_agree_with_a_plain_array(void **state)
{
    static struct mcpi_heap_node nodes[MANY];
    unsigned seed = (unsigned)test_seed(1);
    struct mcpi_heap heap;

    (void)state;
    print_message("seed %u\n", seed);
    srand(seed);
    mcpi_heap_init(&heap);
    for (int step = 0; step < STEPS; step++) {
        struct mcpi_heap_node *node = &nodes[rand() % MANY];
        int first;

        if (rand() % 4 == 0 && mcpi_heap_first(&heap))
            node = mcpi_heap_first(&heap);
        if (!mcpi_heap_remove(&heap, node))
            mcpi_heap_insert(&heap, node, rand() % 500 - 250);
        first = slow_first(nodes);
        assert_ptr_equal(mcpi_heap_first(&heap), first < 0 ? NULL : &nodes[first]);
    }
}

static void
worst_shapes_do_not_overflow_the_stack(void **state)
{
    size_t count = 1000000;
    struct mcpi_heap_node *nodes = calloc(count, sizeof(*nodes));
    struct mcpi_heap heap;

    (void)state;
    assert_non_null(nodes);
    mcpi_heap_init(&heap);
    for (size_t i = 0; i < count; i++) /* descending: a chain; then a star */
        mcpi_heap_insert(&heap, &nodes[i], i % 2 ? (int64_t)i : -(int64_t)i);
    for (int64_t last = INT64_MIN; heap.count > 0;) {
        struct mcpi_heap_node *first = mcpi_heap_first(&heap);

        assert_true(first->key >= last);
        last = first->key;
        mcpi_heap_remove(&heap, first);
    }
    free(nodes);
}

TEST_MAIN(TEST(empty_heap_has_no_first), TEST(equal_keys_come_out_first_in_first_out),
          TEST(extreme_keys_are_ordered), TEST(removed_node_can_be_inserted_again),
          TEST(random_steps_agree_with_a_plain_array),
          TEST(worst_shapes_do_not_overflow_the_stack))
