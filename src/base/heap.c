/* heap.c - an intrusive pairing heap, and a queue beside it; no step recurses, whatever
 * shape a peer causes */
#include "base/heap.h"

#include <assert.h>
#include <stddef.h>

#define ORDER_MAX (UINT64_MAX >> 3) /* one a nanosecond for 73 years */

static bool
node_is_before(const struct mcpi_heap_node *a, const struct mcpi_heap_node *b)
{
    if (a->key != b->key)
        return a->key < b->key;
    return a->order < b->order;
}

/* Two roots become one: the later one is the first child of the earlier one. */
static struct mcpi_heap_node *
node_meld(struct mcpi_heap_node *a, struct mcpi_heap_node *b)
{
    struct mcpi_heap_node *swap;

    if (!a)
        return b;
    if (!b)
        return a;
    if (node_is_before(b, a)) {
        swap = a;
        a = b;
        b = swap;
    }
    b->prev = a;
    b->next = a->child;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    a->next = NULL;
    a->prev = NULL;
    return a;
}

/* First pass: meld neighbours, left to right; the pairs come out as a stack. */
static struct mcpi_heap_node *
siblings_pair(struct mcpi_heap_node *first)
{
    struct mcpi_heap_node *pairs = NULL;

    while (first) {
        struct mcpi_heap_node *second = first->next;
        struct mcpi_heap_node *rest = second ? second->next : NULL;
        struct mcpi_heap_node *pair;

        first->next = NULL;
        if (second)
            second->next = NULL;
        pair = node_meld(first, second);
        pair->next = pairs;
        pairs = pair;
        first = rest;
    }
    return pairs;
}

/* Second pass: meld the pairs, right to left, into one. */
static struct mcpi_heap_node *
siblings_meld(struct mcpi_heap_node *first)
{
    struct mcpi_heap_node *pairs = siblings_pair(first);
    struct mcpi_heap_node *root = NULL;

    while (pairs) {
        struct mcpi_heap_node *rest = pairs->next;

        pairs->next = NULL;
        root = node_meld(root, pairs);
        pairs = rest;
    }
    if (root)
        root->prev = NULL;
    return root;
}

static void
node_detach(struct mcpi_heap_node *node)
{
    if (node->prev->child == node)
        node->prev->child = node->next;
    else
        node->prev->next = node->next;
    if (node->next)
        node->next->prev = node->prev;
}

static void
tree_remove(struct mcpi_heap *heap, struct mcpi_heap_node *node)
{
    struct mcpi_heap_node *orphans = siblings_meld(node->child);

    if (node == heap->root) {
        heap->root = orphans;
    } else {
        node_detach(node);
        heap->root = node_meld(heap->root, orphans);
    }
}

static void
queue_append(struct mcpi_heap *heap, struct mcpi_heap_node *node)
{
    node->in_queue = true;
    node->prev = heap->last;
    if (heap->last)
        heap->last->next = node;
    else
        heap->first = node;
    heap->last = node;
}

static void
queue_remove(struct mcpi_heap *heap, struct mcpi_heap_node *node)
{
    if (node->prev)
        node->prev->next = node->next;
    else
        heap->first = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        heap->last = node->prev;
}

void
mcpi_heap_init(struct mcpi_heap *heap)
{
    *heap = (struct mcpi_heap){0};
}

void
mcpi_heap_node_init(struct mcpi_heap_node *node)
{
    *node = (struct mcpi_heap_node){0};
}

void
mcpi_heap_insert(struct mcpi_heap *heap, struct mcpi_heap_node *node, int64_t key)
{
    assert(!node->in_heap);
    *node = (struct mcpi_heap_node){
        .key = key,
        .order = heap->next_order++ & ORDER_MAX,
        .in_heap = true,
    };
    if (!heap->last || node_is_before(heap->last, node))
        queue_append(heap, node);
    else
        heap->root = node_meld(heap->root, node);
    heap->count++;
}

bool
mcpi_heap_remove(struct mcpi_heap *heap, struct mcpi_heap_node *node)
{
    if (!node->in_heap)
        return false;
    if (node->in_queue)
        queue_remove(heap, node);
    else
        tree_remove(heap, node);
    mcpi_heap_node_init(node);
    heap->count--;
    return true;
}

struct mcpi_heap_node *
mcpi_heap_first(const struct mcpi_heap *heap)
{
    if (!heap->root || !heap->first)
        return heap->root ? heap->root : heap->first;
    return node_is_before(heap->root, heap->first) ? heap->root : heap->first;
}
