/*
 * heap.h - an intrusive pairing heap of int64 keys, smallest first
 *
 * A pairing heap and not an array: nothing is allocated, so arming a deadline while a
 * request is being ended cannot fail. Insert is O(1), removal O(log n) amortised. Equal
 * keys come out in the order they went in. Keys that come in order, as deadlines of
 * equal length do, only stand in a queue beside the tree, and leave it in O(1).
 */
#ifndef MCPI_BASE_HEAP_H
#define MCPI_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct mcpi_heap_node {
    struct mcpi_heap_node *child; /* first of the children */
    struct mcpi_heap_node *next;  /* next sibling, or next in the queue */
    struct mcpi_heap_node *prev;  /* previous one, or the parent of a first child */
    int64_t key;
    uint64_t order : 61; /* breaks ties: first in, first out */
    uint64_t in_heap : 1;
    uint64_t in_queue : 1; /* and not in the tree */
    uint64_t marked : 1;   /* by whoever has inserted it; not once it is removed */
};

struct mcpi_heap {
    struct mcpi_heap_node *root;         /* of the tree */
    struct mcpi_heap_node *first, *last; /* of the queue, which is in order */
    uint64_t next_order;
    uint64_t count;
};

void mcpi_heap_init(struct mcpi_heap *heap);
void mcpi_heap_node_init(struct mcpi_heap_node *node);
void mcpi_heap_insert(struct mcpi_heap *heap, struct mcpi_heap_node *node, int64_t key);

/* False: it was not in. */
bool mcpi_heap_remove(struct mcpi_heap *heap, struct mcpi_heap_node *node);

/* The smallest, or NULL. */
struct mcpi_heap_node *mcpi_heap_first(const struct mcpi_heap *heap);

#endif
