/* schema_set.c - documents that schemas may refer to, by URI */
#include "json/schema_set.h"

#include <string.h>

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/schema_uri.h"

struct entry {
    struct mcpi_map_node node;
    mcp_doc *doc;
    size_t len;
    char uri[];
};

struct mcp_schema_set {
    const mcp_allocator *mem;
    struct mcpi_map entries;
};

struct key {
    const char *uri;
    size_t len;
};

static bool
entry_match(const struct mcpi_map_node *node, const void *user)
{
    const struct entry *entry = MCPI_CONTAINER(node, struct entry, node);
    const struct key *key = user;

    return entry->len == key->len && memcmp(entry->uri, key->uri, key->len) == 0;
}

mcp_schema_set *
mcp_schema_set_new(const mcp_allocator *allocator)
{
    /* the caller chooses the URIs: no secret needed */
    static const unsigned char seed[MCPI_SEED_SIZE];
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    mcp_schema_set *set = mcpi_alloc(mem, sizeof(*set));

    if (!set)
        return NULL;
    set->mem = mem;
    mcpi_map_init(&set->entries, mem, seed);
    return set;
}

static void
entry_free(mcp_schema_set *set, struct entry *entry)
{
    mcp_doc_free(entry->doc);
    mcpi_free(set->mem, entry);
}

void
mcp_schema_set_free(mcp_schema_set *set)
{
    struct mcpi_map_node *node;

    if (!set)
        return;
    for (node = mcpi_map_any(&set->entries); node; node = mcpi_map_any(&set->entries)) {
        (void)mcpi_map_remove(&set->entries, node); /* it is in */
        entry_free(set, MCPI_CONTAINER(node, struct entry, node));
    }
    mcpi_map_done(&set->entries);
    mcpi_free(set->mem, set);
}

/* *ret_entry is NULL if this document has that URI already. */
static int
entry_new(mcp_schema_set *set, const char *uri, size_t len, mcp_doc *doc,
          struct entry **ret_entry, mcp_error *err)
{
    const mcp_doc *there = mcpi_schema_set_find(set, uri, len);
    struct entry *entry;

    *ret_entry = NULL;
    if (there && there != doc)
        return mcpi_error_set(err, MCP_E_INVAL, "another document has the URI %.*s",
                              (int)len, uri);
    if (there)
        return 0;
    entry = mcpi_alloc(set->mem, sizeof(*entry) + len + 1);
    if (!entry)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    entry->doc = mcp_doc_ref(doc);
    entry->len = len;
    memcpy(entry->uri, uri, len);
    entry->uri[len] = '\0';
    *ret_entry = entry;
    return 0;
}

static void
entry_add(mcp_schema_set *set, struct entry *entry)
{
    if (entry)
        mcpi_map_add(&set->entries, &entry->node,
                     mcpi_map_hash(&set->entries, entry->uri, entry->len));
}

/* Length without an empty fragment; 0 if it cannot name a document. */
static size_t
uri_length(const char *uri)
{
    size_t len = uri ? strlen(uri) : 0;
    size_t fragment_len = 0;

    if (mcpi_uri_fragment(uri, len, &fragment_len))
        return fragment_len == 0 ? len - 1 : 0;
    return mcpi_uri_scheme(uri, len) > 0 ? len : 0;
}

int
mcp_schema_set_add(mcp_schema_set *set, const char *uri, mcp_doc *doc, mcp_error *err)
{
    const char *id = mcp_json_string(mcp_json_get(mcp_doc_root(doc), "$id"), NULL);
    size_t uri_len = uri_length(uri), id_len = uri_length(id);
    struct entry *by_uri = NULL, *by_id = NULL;
    int r = 0;

    if (!set || !doc || (uri && uri_len == 0) || (uri_len == 0 && id_len == 0))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "a document needs an absolute URI without a fragment");
    if (uri)
        r = entry_new(set, uri, uri_len, doc, &by_uri, err);
    if (r < 0)
        return r;
    entry_add(set, by_uri);
    if (id_len > 0 && !mcpi_schema_set_find(set, id, id_len))
        r = entry_new(set, id, id_len, doc, &by_id, err);
    if (r == 0) {
        entry_add(set, by_id);
    } else if (by_uri) {
        (void)mcpi_map_remove(&set->entries, &by_uri->node); /* it is in */
        entry_free(set, by_uri);
    }
    return r;
}

mcp_doc *
mcpi_schema_set_find(const mcp_schema_set *set, const char *uri, size_t len)
{
    const struct key key = {uri, len};
    struct mcpi_map_node *node;

    if (!set)
        return NULL;
    node = mcpi_map_find(&set->entries, mcpi_map_hash(&set->entries, uri, len),
                         entry_match, &key);
    return node ? MCPI_CONTAINER(node, struct entry, node)->doc : NULL;
}
