/* wipe.c - memory for secrets: wiped before it is freed */
#include "auth/wipe.h"

#include <stdalign.h>
#include <string.h>

#include "base/mem.h"

/* Before each block: how long it is. */
struct head {
    alignas(max_align_t) size_t size;
};

static void *
wipe_alloc(void *user, size_t size)
{
    const struct mcpi_wipe *wipe = user;
    struct head *head;

    if (size > SIZE_MAX - sizeof(*head))
        return NULL;
    head = mcpi_alloc(wipe->mem, sizeof(*head) + size);
    if (!head)
        return NULL;
    head->size = size;
    return head + 1;
}

static void
wipe_free(void *user, void *ptr)
{
    const struct mcpi_wipe *wipe = user;
    struct head *head;

    if (!ptr)
        return;
    head = (struct head *)ptr - 1;
    explicit_bzero(ptr, head->size);
    mcpi_free(wipe->mem, head);
}

/* Always moves: the other allocator's realloc would leave the old place as it was. */
static void *
wipe_realloc(void *user, void *ptr, size_t size)
{
    void *moved = wipe_alloc(user, size);
    size_t old = ptr ? ((struct head *)ptr - 1)->size : 0;

    if (!moved)
        return NULL;
    if (old > 0)
        memcpy(moved, ptr, old < size ? old : size);
    wipe_free(user, ptr);
    return moved;
}

void
mcpi_wipe_init(struct mcpi_wipe *wipe, const mcp_allocator *mem)
{
    wipe->mem = mcpi_mem_or_malloc(mem);
    wipe->allocator = (mcp_allocator){
        .alloc = wipe_alloc, .realloc = wipe_realloc, .free = wipe_free, .user = wipe};
}
