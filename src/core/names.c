/* names.c - a set of resources, by URI, and which of them a resource lies below */
#include "core/names.h"

#include <string.h>

#include "base/list.h"

static bool
name_has_text(const struct mcpi_map_node *node, const void *key)
{
    const struct mcpi_name *a = MCPI_CONTAINER(node, struct mcpi_name, node);
    const struct mcpi_name *b = key;

    return a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

struct mcpi_name *
mcpi_names_find(const struct mcpi_map *names, const char *text, size_t len)
{
    const struct mcpi_name key = {.text = text, .len = len};
    struct mcpi_map_node *node;

    node = mcpi_map_find(names, mcpi_map_hash(names, text, len), name_has_text, &key);
    return node ? MCPI_CONTAINER(node, struct mcpi_name, node) : NULL;
}

void
mcpi_names_add(struct mcpi_map *names, struct mcpi_name *name, const char *text,
               size_t len)
{
    name->text = text;
    name->len = len;
    mcpi_map_add(names, &name->node, mcpi_map_hash(names, text, len));
}

/* What has changed may be a part of what was subscribed to (schema,
 * ResourceUpdatedNotificationParams). The whole first: it may be a name that a stranger
 * has chosen, and each of its parts costs a hash. */
bool
mcpi_names_cover(const struct mcpi_map *names, const char *uri)
{
    size_t len = strlen(uri);

    if (names->count == 0)
        return false;
    if (mcpi_names_find(names, uri, len))
        return true;
    for (size_t i = 0; i < len && i <= MCPI_WATCHED_URI_MAX; i++)
        if (uri[i] == '/' &&
            (mcpi_names_find(names, uri, i) || mcpi_names_find(names, uri, i + 1)))
            return true;
    return false;
}
