/* list.h - an intrusive doubly linked list; a node is its own head when unlinked */
#ifndef MCPI_BASE_LIST_H
#define MCPI_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mcpi_list {
    struct mcpi_list *prev, *next;
};

/* The object a node is a member of. A const node gives it back without the const: the
 * node says nothing about the object. */
#define MCPI_CONTAINER(ptr, type, member) \
    ((type *)((uintptr_t)(ptr)-offsetof(type, member)))

static inline void
mcpi_list_init(struct mcpi_list *list)
{
    list->prev = list->next = list;
}

/* Also: is this node in no list? */
static inline bool
mcpi_list_empty(const struct mcpi_list *list)
{
    return list->next == list;
}

static inline void
mcpi_list_append(struct mcpi_list *list, struct mcpi_list *node)
{
    node->prev = list->prev;
    node->next = list;
    list->prev->next = node;
    list->prev = node;
}

static inline void
mcpi_list_prepend(struct mcpi_list *list, struct mcpi_list *node)
{
    mcpi_list_append(list->next, node);
}

/* Unlinking an unlinked node is a no-op. */
static inline void
mcpi_list_remove(struct mcpi_list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    mcpi_list_init(node);
}

static inline struct mcpi_list *
mcpi_list_first(const struct mcpi_list *list)
{
    return list->next == list ? NULL : list->next;
}

/* Take the first node out, or NULL. */
static inline struct mcpi_list *
mcpi_list_pop(struct mcpi_list *list)
{
    struct mcpi_list *node = mcpi_list_first(list);

    if (node)
        mcpi_list_remove(node);
    return node;
}

#endif
