/* cache.c - what a server said may be kept */
#include "api/cache.h"

#include <string.h>

#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

struct entry {
    struct mcpi_map_node node;
    struct mcpi_list in_order;
    struct mcpi_cache_key key; /* its text is in this block */
    mcp_doc *doc;
    int64_t until; /* stale from then on */
    char text[];
};

static const enum mcpi_method methods[MCPI_CACHE_METHODS] = {
    MCPI_METHOD_TOOLS_LIST, MCPI_METHOD_PROMPTS_LIST, MCPI_METHOD_RESOURCES_LIST,
    MCPI_METHOD_RESOURCES_TEMPLATES_LIST, MCPI_METHOD_RESOURCES_READ};

/* MCPI_CACHE_METHODS: not one of them. */
static size_t
method_index(enum mcpi_method method)
{
    size_t i;

    for (i = 0; i < MCPI_CACHE_METHODS && methods[i] != method; i++)
        continue;
    return i;
}

void
mcpi_cache_init(struct mcpi_cache *cache, const mcp_allocator *mem,
                const unsigned char seed[MCPI_SEED_SIZE])
{
    *cache = (struct mcpi_cache){.mem = mem};
    mcpi_map_init(&cache->entries, mem, seed);
    mcpi_list_init(&cache->order);
}

/* ---- keys ---------------------------------------------------------------- */

struct mcpi_cache_key
mcpi_cache_key_read(const char *method, const mcp_json *params)
{
    const struct mcpi_cache_key none = {MCPI_METHOD_OTHER, NULL, 0};
    struct mcpi_cache_key key = {mcpi_method_find(method, strlen(method)), NULL, 0};
    bool reads = key.method == MCPI_METHOD_RESOURCES_READ;
    const mcp_json *value = mcp_json_get(params, reads ? "uri" : "cursor");

    key.text = mcp_json_string(value, NULL);
    key.len = mcp_json_string_length(value);
    if (method_index(key.method) == MCPI_CACHE_METHODS || (reads && !key.text) ||
        mcp_json_count(params) != (key.text ? 1 : 0))
        return none;
    return key;
}

static bool
key_same(const struct mcpi_cache_key *a, const struct mcpi_cache_key *b)
{
    if (a->method != b->method || a->len != b->len || !a->text || !b->text)
        return a->method == b->method && !a->text && !b->text;
    return memcmp(a->text, b->text, a->len) == 0;
}

static bool
entry_has_key(const struct mcpi_map_node *node, const void *key)
{
    return key_same(&MCPI_CONTAINER(node, struct entry, node)->key, key);
}

static uint64_t
key_hash(const struct mcpi_cache *cache, const struct mcpi_cache_key *key)
{
    return mcpi_map_hash(&cache->entries, key->text, key->len) + (uint64_t)key->method;
}

/* ---- entries ------------------------------------------------------------- */

static void
entry_remove(struct mcpi_cache *cache, struct entry *entry)
{
    (void)mcpi_map_remove(&cache->entries, &entry->node);
    mcpi_list_remove(&entry->in_order);
    cache->bytes -= mcpi_doc_bytes(entry->doc);
    mcp_doc_free(entry->doc);
    mcpi_free(cache->mem, entry);
}

static struct entry *
entry_find(const struct mcpi_cache *cache, const struct mcpi_cache_key *key)
{
    struct mcpi_map_node *node;

    node = mcpi_map_find(&cache->entries, key_hash(cache, key), entry_has_key, key);
    return node ? MCPI_CONTAINER(node, struct entry, node) : NULL;
}

static struct entry *
entry_of(struct mcpi_list *in_order)
{
    return MCPI_CONTAINER(in_order, struct entry, in_order);
}

static void
entry_add(struct mcpi_cache *cache, const struct mcpi_cache_key *key, mcp_doc *doc,
          int64_t until)
{
    struct entry *entry;
    char *at;

    entry = mcpi_alloc_zero(cache->mem, sizeof(*entry) + key->len + 1);
    if (!entry)
        return;
    at = entry->text;
    entry->key = *key;
    entry->key.text = mcpi_text_stow(&at, key->text, key->len);
    entry->doc = mcp_doc_ref(doc);
    entry->until = until;
    mcpi_map_add(&cache->entries, &entry->node, key_hash(cache, key));
    mcpi_list_append(&cache->order, &entry->in_order);
    cache->bytes += mcpi_doc_bytes(doc);
}

void
mcpi_cache_done(struct mcpi_cache *cache)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(&cache->order)) != NULL)
        entry_remove(cache, entry_of(node));
    mcpi_map_done(&cache->entries);
}

/* ---- finding and keeping ------------------------------------------------- */

mcp_doc *
mcpi_cache_find(struct mcpi_cache *cache, const struct mcpi_cache_key *key, int64_t now)
{
    struct entry *entry = entry_find(cache, key);

    if (!entry)
        return NULL;
    if (now < entry->until)
        return mcp_doc_ref(entry->doc);
    entry_remove(cache, entry);
    return NULL;
}

uint64_t
mcpi_cache_changes(const struct mcpi_cache *cache, enum mcpi_method method)
{
    size_t i = method_index(method);

    return i < MCPI_CACHE_METHODS ? cache->changes[i] : 0;
}

/* For how long it is fresh, in microseconds; 0: not at all. */
static int64_t
answer_lasts(const mcp_doc *answer)
{
    const mcp_json *result = mcp_json_get(mcp_doc_root(answer), "result");

    if (!mcp_json_is_string(mcp_json_get(result, "resultType"), "complete"))
        return 0;
    return mcpi_ms(mcp_json_int(mcp_json_get(result, "ttlMs"), 0));
}

static void
cache_make_room(struct mcpi_cache *cache, size_t bytes)
{
    while (cache->entries.count >= MCPI_CACHE_ENTRIES_MAX ||
           cache->bytes + bytes > MCPI_CACHE_BYTES_MAX)
        entry_remove(cache, entry_of(mcpi_list_first(&cache->order)));
}

void
mcpi_cache_keep(struct mcpi_cache *cache, const struct mcpi_cache_key *key,
                uint64_t asked, mcp_doc *answer, int64_t now)
{
    struct entry *old = entry_find(cache, key);
    int64_t lasts = answer_lasts(answer);
    size_t bytes = mcpi_doc_bytes(answer);

    if (old) /* there is a newer one, whatever it says of itself */
        entry_remove(cache, old);
    if (lasts <= 0 || bytes > MCPI_CACHE_BYTES_MAX ||
        asked != mcpi_cache_changes(cache, key->method))
        return;
    cache_make_room(cache, bytes);
    entry_add(cache, key, answer, mcpi_time_add(now, lasts));
}

/* ---- forgetting ---------------------------------------------------------- */

/* uri NULL: all of that method. */
static void
cache_remove(struct mcpi_cache *cache, enum mcpi_method method, const char *uri)
{
    struct mcpi_list *node = cache->order.next;
    struct mcpi_list *next;
    struct entry *entry;

    for (; node != &cache->order; node = next) {
        next = node->next;
        entry = entry_of(node);
        if (entry->key.method == method && (!uri || strcmp(entry->key.text, uri) == 0))
            entry_remove(cache, entry);
    }
}

static void
cache_forget(struct mcpi_cache *cache, enum mcpi_method method, const char *uri)
{
    cache->changes[method_index(method)]++;
    cache_remove(cache, method, uri);
}

void
mcpi_cache_forget(struct mcpi_cache *cache, enum mcp_change change, const char *uri)
{
    if (change & MCP_TOOLS_CHANGED)
        cache_forget(cache, MCPI_METHOD_TOOLS_LIST, NULL);
    if (change & MCP_PROMPTS_CHANGED)
        cache_forget(cache, MCPI_METHOD_PROMPTS_LIST, NULL);
    if (change & MCP_RESOURCES_CHANGED) {
        cache_forget(cache, MCPI_METHOD_RESOURCES_LIST, NULL);
        cache_forget(cache, MCPI_METHOD_RESOURCES_TEMPLATES_LIST, NULL);
    }
    if (change & MCP_RESOURCE_UPDATED)
        cache_forget(cache, MCPI_METHOD_RESOURCES_READ, uri);
}

void
mcpi_cache_drop(struct mcpi_cache *cache, enum mcpi_method method)
{
    cache_remove(cache, method, NULL);
}
