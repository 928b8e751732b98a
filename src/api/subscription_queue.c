/* subscription_queue.c - changes that wait to be heard of, each once */
#include "api/subscription_queue.h"

#include <string.h>

#include "base/mem.h"

/* A change of one resource. */
struct update {
    struct mcpi_notice notice;
    struct mcpi_map_node by_uri;
    size_t len;
    char uri[];
};

static struct update *
update_of(struct mcpi_notice *notice)
{
    return MCPI_CONTAINER(notice, struct update, notice);
}

static void
notice_free(struct mcpi_notices *q, struct mcpi_notice *notice)
{
    if (notice && notice->change == MCP_RESOURCE_UPDATED)
        mcpi_free(q->mem, update_of(notice));
}

void
mcpi_notices_init(struct mcpi_notices *q, const mcp_allocator *mem,
                  const unsigned char seed[MCPI_SEED_SIZE], size_t most)
{
    size_t i;

    *q = (struct mcpi_notices){.mem = mem, .most = most};
    mcpi_list_init(&q->waiting);
    mcpi_map_init(&q->uris, mem, seed);
    for (i = 0; i < MCPI_NOTICES_LISTS; i++) {
        mcpi_list_init(&q->lists[i].node);
        q->lists[i].change = (enum mcp_change)(1U << i);
    }
}

/* Take the first out; NULL: none waits. */
static struct mcpi_notice *
notices_pop(struct mcpi_notices *q)
{
    struct mcpi_list *node = mcpi_list_pop(&q->waiting);
    struct mcpi_notice *notice;

    if (!node)
        return NULL;
    notice = MCPI_CONTAINER(node, struct mcpi_notice, node);
    q->count--;
    if (notice->change == MCP_RESOURCE_UPDATED) {
        (void)mcpi_map_remove(&q->uris, &update_of(notice)->by_uri);
        q->bytes -= update_of(notice)->len;
    }
    return notice;
}

void
mcpi_notices_clear(struct mcpi_notices *q)
{
    struct mcpi_notice *notice;

    for (notice = notices_pop(q); notice; notice = notices_pop(q))
        notice_free(q, notice);
}

void
mcpi_notices_done(struct mcpi_notices *q)
{
    mcpi_notices_clear(q);
    notice_free(q, q->taken);
    mcpi_map_done(&q->uris);
}

/* ---- adding -------------------------------------------------------------- */

static int
notices_append(struct mcpi_notices *q, struct mcpi_notice *notice)
{
    if (q->count >= q->most)
        return MCP_E_LIMIT;
    mcpi_list_append(&q->waiting, &notice->node);
    q->count++;
    return 0;
}

static int
notices_add_list(struct mcpi_notices *q, enum mcp_change change)
{
    size_t i;

    for (i = 0; i < MCPI_NOTICES_LISTS; i++) {
        if (q->lists[i].change == change)
            return mcpi_list_empty(&q->lists[i].node) ? notices_append(q, &q->lists[i])
                                                      : 0;
    }
    return 0; /* of no list that we know */
}

static bool
update_has_uri(const struct mcpi_map_node *node, const void *key)
{
    return strcmp(MCPI_CONTAINER(node, struct update, by_uri)->uri, key) == 0;
}

static struct update *
update_new(const struct mcpi_notices *q, const char *uri, size_t len)
{
    struct update *update;

    update = mcpi_alloc_zero_first(q->mem, sizeof(*update) + len + 1, sizeof(*update));
    if (!update)
        return NULL;
    mcpi_list_init(&update->notice.node);
    update->notice.change = MCP_RESOURCE_UPDATED;
    update->len = len;
    memcpy(update->uri, uri, len + 1);
    return update;
}

static int
notices_add_update(struct mcpi_notices *q, const char *uri)
{
    size_t len = strlen(uri);
    uint64_t hash = mcpi_map_hash(&q->uris, uri, len);
    struct update *update;

    if (mcpi_map_find(&q->uris, hash, update_has_uri, uri))
        return 0;
    if (q->count >= q->most || len > MCPI_NOTICE_BYTES_MAX - q->bytes)
        return MCP_E_LIMIT;
    update = update_new(q, uri, len);
    if (!update)
        return MCP_E_NOMEM;
    mcpi_map_add(&q->uris, &update->by_uri, hash);
    q->bytes += len;
    return notices_append(q, &update->notice); /* there is room */
}

int
mcpi_notices_add(struct mcpi_notices *q, enum mcp_change change, const char *uri)
{
    if (change == MCP_RESOURCE_UPDATED)
        return notices_add_update(q, uri);
    return notices_add_list(q, change);
}

bool
mcpi_notices_take(struct mcpi_notices *q, mcp_notice *ret)
{
    struct mcpi_notice *notice = notices_pop(q);

    if (!notice)
        return false;
    notice_free(q, q->taken);
    q->taken = notice;
    ret->change = notice->change;
    ret->uri = notice->change == MCP_RESOURCE_UPDATED ? update_of(notice)->uri : NULL;
    return true;
}
