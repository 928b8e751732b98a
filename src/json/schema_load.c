/*
 * schema_load.c - documents, names, and a node for each subschema
 *
 * All of a document is compiled when something refers to any of it: only then are all
 * its anchors known, and a dynamic reference may lead to each of them. Recursion goes
 * as deep as the document is, which is 256 at most.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/schema_compile.h"
#include "json/schema_uri.h"

struct name {
    struct mcpi_map_node node;
    struct mcpi_schema_node *named;
    size_t len;
    char text[];
};

/* ---- faults ---------------------------------------------------------------- */

int
mcpi_schema_no_memory(struct mcpi_schema_compiler *c)
{
    return mcpi_error_set(c->err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
}

int
mcpi_schema_refuse(struct mcpi_schema_compiler *c, int status,
                   const struct mcpi_schema_node *node, const char *keyword,
                   const char *format, ...)
{
    char sentence[sizeof(c->err->message)];
    struct mcpi_buf path;
    va_list args;
    size_t shown;

    if (!c->err)
        return status;
    va_start(args, format);
    (void)vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    mcpi_buf_init(&path, c->schema->mem, MCPI_SCHEMA_URI_MAX);
    mcpi_buf_text(&path, node->doc->uri);
    mcpi_buf_char(&path, '#');
    mcpi_schema_path(&path, node->doc->root, node->value);
    if (keyword)
        mcpi_schema_path_token(&path, keyword, strlen(keyword));
    shown = mcpi_utf8_cut(path.data, path.len, MCPI_SCHEMA_PATH_SHOWN);
    (void)mcpi_error_set(c->err, status, "%.*s%s %s", (int)shown,
                         path.data ? path.data : "", shown < path.len ? "..." : "",
                         sentence);
    mcpi_buf_done(&path);
    return status;
}

/* ---- names ----------------------------------------------------------------- */

struct name_key {
    const char *text;
    size_t len;
};

static bool
name_match(const struct mcpi_map_node *node, const void *user)
{
    const struct name *name = MCPI_CONTAINER(node, struct name, node);
    const struct name_key *key = user;

    return name->len == key->len && memcmp(name->text, key->text, key->len) == 0;
}

struct mcpi_schema_node *
mcpi_schema_named(const struct mcpi_schema_compiler *c, const char *name, size_t len)
{
    const struct name_key key = {name, len};
    struct mcpi_map_node *found;

    found = mcpi_map_find(&c->names, mcpi_map_hash(&c->names, name, len), name_match,
                          &key);
    return found ? MCPI_CONTAINER(found, struct name, node)->named : NULL;
}

/* Call a node by its URI, or with an anchor. The first of two documents keeps a name. */
static int
name_add(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
         struct name_key uri, struct name_key anchor)
{
    size_t len = uri.len + (anchor.text ? anchor.len + 1 : 0);
    struct mcpi_schema_node *there;
    struct name *name;

    if (++c->name_count > MCPI_SCHEMA_NAMES_MAX)
        return mcpi_schema_refuse(c, MCP_E_LIMIT, node, NULL,
                                  "is one of more than %d identifiers",
                                  MCPI_SCHEMA_NAMES_MAX);
    name = mcpi_arena_take(&c->schema->arena, sizeof(*name) + len + 1);
    if (!name)
        return mcpi_schema_no_memory(c);
    name->named = node;
    name->len = len;
    assert(node && (uri.text || uri.len == 0));
    if (uri.len > 0)
        memcpy(name->text, uri.text, uri.len);
    if (anchor.text) {
        name->text[uri.len] = '#';
        memcpy(name->text + uri.len + 1, anchor.text, anchor.len);
    }
    there = mcpi_schema_named(c, name->text, len);
    if (there && there != node && there->doc == node->doc)
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, NULL,
                                  "has the name %s, which another schema has",
                                  name->text);
    if (!there)
        mcpi_map_add(&c->names, &name->node, mcpi_map_hash(&c->names, name->text, len));
    return 0;
}

static int
anchor_add(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
           const char *anchor, size_t len)
{
    struct name_key uri = {node->resource->uri, node->resource->uri_len};

    return name_add(c, node, uri, (struct name_key){anchor, len});
}

static int
dynamic_add(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
            const char *name, size_t len)
{
    struct mcpi_schema_dynamic *dynamic;

    dynamic = mcpi_arena_take(&c->schema->arena, sizeof(*dynamic));
    if (!dynamic)
        return mcpi_schema_no_memory(c);
    dynamic->name = name;
    dynamic->len = len;
    dynamic->node = node;
    dynamic->next = node->resource->dynamics;
    node->resource->dynamics = dynamic;
    return 0;
}

/* ---- identifiers ----------------------------------------------------------- */

/* The string of an identifying keyword, or NULL if it is not there. */
static int
identifier_get(struct mcpi_schema_compiler *c, const struct mcpi_schema_node *node,
               const char *keyword, const yyjson_val **ret)
{
    *ret = mcpi_yy(mcp_json_get(mcpi_yy_json(node->value), keyword));
    if (*ret && mcpi_yy_type(*ret) != YYJSON_TYPE_STR)
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, keyword, "must be a string");
    return 0;
}

/* So that a dialect of its own does not become the one around it. */
static int
resource_copy(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node)
{
    struct mcpi_schema_resource *copy = mcpi_arena_take(&c->schema->arena,
                                                        sizeof(*copy));

    if (!copy)
        return mcpi_schema_no_memory(c);
    *copy = *node->resource;
    node->resource = copy;
    return 0;
}

/* A resource of its own begins at the node. */
static int
resource_begin(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
               const char *id, size_t len)
{
    const struct mcpi_schema_resource *outer = node->resource;
    struct mcpi_schema_resource *resource;
    struct mcpi_buf uri;
    int r = MCP_E_NOMEM;

    mcpi_buf_init(&uri, c->schema->mem, MCPI_SCHEMA_URI_MAX);
    mcpi_uri_resolve(&uri, outer->uri, outer->uri_len, id, len);
    resource = mcpi_arena_take(&c->schema->arena, sizeof(*resource));
    if (uri.status == MCP_E_LIMIT) {
        r = mcpi_schema_refuse(c, MCP_E_LIMIT, node, "$id",
                               "is a URI of more than %d bytes", MCPI_SCHEMA_URI_MAX);
    } else if (uri.status == 0 && resource) {
        *resource = *outer;
        resource->dynamics = NULL;
        resource->root = node->value;
        resource->uri = mcpi_arena_text(&c->schema->arena, uri.data, uri.len);
        resource->uri_len = uri.len;
        node->resource = resource;
        r = resource->uri ? 0 : MCP_E_NOMEM;
    }
    mcpi_buf_done(&uri);
    return r == MCP_E_NOMEM ? mcpi_schema_no_memory(c) : r;
}

static int
id_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
        const yyjson_val *id)
{
    size_t len = mcpi_yy_len(id), anchor_len = 0;
    const char *anchor = mcpi_uri_fragment(id->uni.str, len, &anchor_len);
    size_t uri_len = anchor ? len - anchor_len - 1 : len;
    int r = 0;

    if (anchor_len > 0 && node->resource->draft >= MCPI_DRAFT_2019_09)
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, "$id",
                                  "must not have a fragment");
    if (uri_len > 0) {
        r = resource_begin(c, node, id->uni.str, uri_len);
        if (r == 0)
            r = name_add(
                c, node,
                (struct name_key){node->resource->uri, node->resource->uri_len},
                (struct name_key){NULL, 0});
    }
    if (r == 0 && anchor_len > 0)
        r = anchor_add(c, node, anchor, anchor_len);
    return r;
}

static int
dynamic_anchor_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node)
{
    const yyjson_val *anchor = NULL;
    int r = identifier_get(c, node, "$dynamicAnchor", &anchor);

    if (r < 0 || !anchor)
        return r;
    r = dynamic_add(c, node, anchor->uni.str, mcpi_yy_len(anchor));
    return r < 0 ? r : anchor_add(c, node, anchor->uni.str, mcpi_yy_len(anchor));
}

/* 2019-09: a dynamic anchor without a name, at the root of a resource. */
static int
recursive_anchor_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node)
{
    const mcp_json *anchor = mcp_json_get(mcpi_yy_json(node->value),
                                          MCPI_RECURSIVE_ANCHOR);

    if (anchor && mcpi_yy_type(mcpi_yy(anchor)) != YYJSON_TYPE_BOOL)
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, MCPI_RECURSIVE_ANCHOR,
                                  "must be a boolean");
    if (!mcp_json_bool(anchor, false) || node->value != node->resource->root)
        return 0;
    return dynamic_add(c, node, MCPI_RECURSIVE_ANCHOR, strlen(MCPI_RECURSIVE_ANCHOR));
}

static int
anchors_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node)
{
    const yyjson_val *anchor = NULL;
    int r = identifier_get(c, node, "$anchor", &anchor);

    if (r == 0 && anchor)
        r = anchor_add(c, node, anchor->uni.str, mcpi_yy_len(anchor));
    if (r < 0)
        return r;
    return node->resource->draft >= MCPI_DRAFT_2020_12 ? dynamic_anchor_read(c, node)
                                                       : recursive_anchor_read(c, node);
}

static bool
is_modern(const struct mcpi_schema_node *node)
{
    return node->resource->draft >= MCPI_DRAFT_2019_09;
}

/* $schema, $id and anchors. The dialect comes first: it says what an $id means. */
static int
identifiers_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node)
{
    const mcp_json *object = mcpi_yy_json(node->value);
    const yyjson_val *dialect = mcpi_yy(mcp_json_get(object, "$schema"));
    bool is_root = node->value == node->doc->root;
    const yyjson_val *id = NULL;
    int r = identifier_get(c, node, "$id", &id);

    if (r == 0 && dialect && id && !is_root)
        r = resource_copy(c, node);
    if (r == 0 && dialect && (is_root || id))
        r = mcpi_schema_dialect(c, node, dialect);
    if (r == 0 && !is_modern(node) && mcp_json_get(object, "$ref"))
        return 0; /* what stands beside a $ref does not count */
    if (r == 0 && id)
        r = id_read(c, node, id);
    if (r == 0 && is_modern(node))
        r = anchors_read(c, node);
    return r;
}

/* ---- nodes ----------------------------------------------------------------- */

static int
nodes_grow(struct mcpi_schema_compiler *c)
{
    size_t room = c->node_room ? c->node_room * 2 : 64;
    void *nodes;

    if (c->node_count < c->node_room)
        return 0;
    nodes = mcpi_realloc(c->schema->mem, c->nodes, room * sizeof(*c->nodes));
    if (!nodes)
        return MCP_E_NOMEM;
    c->nodes = nodes;
    c->node_room = room;
    return 0;
}

static int
node_new(struct mcpi_schema_compiler *c, const struct mcpi_schema_doc *doc,
         struct mcpi_schema_resource *resource, const yyjson_val *value,
         struct mcpi_schema_node **ret_node)
{
    struct mcpi_schema_node *node;

    if (nodes_grow(c) < 0)
        return mcpi_schema_no_memory(c);
    node = mcpi_arena_take(&c->schema->arena, sizeof(*node));
    if (!node)
        return mcpi_schema_no_memory(c);
    node->value = value;
    node->doc = doc;
    node->resource = resource;
    node->types = MCPI_TYPE_ANY;
    *ret_node = node;
    if (c->node_count >= c->max_nodes)
        return mcpi_schema_refuse(c, MCP_E_LIMIT, node, NULL,
                                  "is one of more than %zu subschemas", c->max_nodes);
    c->nodes[c->node_count++] = node;
    doc->nodes[value - doc->root] = (uint32_t)c->node_count;
    return 0;
}

static int
node_read(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node)
{
    int r;

    assert(node);
    switch (mcpi_yy_type(node->value)) {
    case YYJSON_TYPE_BOOL:
        node->never = mcpi_yy_kind(node->value) == MCPI_YY_FALSE;
        node->types = node->never ? 0 : MCPI_TYPE_ANY;
        return 0;
    case YYJSON_TYPE_OBJ:
        r = identifiers_read(c, node);
        return r < 0 ? r : mcpi_schema_keywords(c, node);
    default:
        return mcpi_schema_refuse(c, MCP_E_INVAL, node, NULL,
                                  "must be a schema: an object or a boolean");
    }
}

int
mcpi_schema_node(struct mcpi_schema_compiler *c, const struct mcpi_schema_node *in,
                 const yyjson_val *value, const struct mcpi_schema_node **ret_node)
{
    uint32_t index = in->doc->nodes[value - in->doc->root];
    struct mcpi_schema_node *node = NULL;
    int r;

    if (index > 0) {
        *ret_node = c->nodes[index - 1];
        return 0;
    }
    r = node_new(c, in->doc, in->resource, value, &node);
    if (r == 0)
        r = node_read(c, node);
    if (r == 0)
        *ret_node = node;
    return r;
}

struct mcpi_schema_node *
mcpi_schema_around(struct mcpi_schema_compiler *c, const struct mcpi_schema_doc *doc,
                   const yyjson_val *value)
{
    struct mcpi_schema_node *innermost = NULL;
    const yyjson_val *at = doc->root;

    while (at < value) {
        c->walked++;
        if (doc->nodes[at - doc->root] > 0)
            innermost = c->nodes[doc->nodes[at - doc->root] - 1];
        /* into what holds the value, past all else */
        at = mcpi_yy_next(at) > value ? at + 1 : mcpi_yy_next(at);
    }
    return innermost;
}

/* ---- documents ------------------------------------------------------------- */

static struct mcpi_schema_doc *
doc_new(struct mcpi_schema_compiler *c, const char *uri, size_t uri_len, mcp_doc *doc)
{
    const yyjson_val *root = mcpi_yy(mcp_doc_root(doc));
    size_t count = (size_t)(mcpi_yy_next(root) - root);
    struct mcpi_schema_doc *added = mcpi_arena_take(&c->schema->arena, sizeof(*added));

    if (!added)
        return NULL;
    added->root = root;
    added->uri = mcpi_arena_text(&c->schema->arena, uri, uri_len);
    if (!added->uri)
        return NULL;
    added->nodes = mcpi_alloc_zero(c->schema->mem, count * sizeof(*added->nodes));
    if (!added->nodes)
        return NULL;
    added->doc = mcp_doc_ref(doc);
    added->next = c->schema->docs;
    c->schema->docs = added;
    return added;
}

int
mcpi_schema_load(struct mcpi_schema_compiler *c, const char *uri, size_t uri_len,
                 mcp_doc *doc, const struct mcpi_schema_resource *like,
                 const struct mcpi_schema_node **ret_root)
{
    struct mcpi_schema_resource *resource;
    struct mcpi_schema_doc *added;
    struct mcpi_schema_node *root = NULL;
    int r;

    if (++c->doc_count > MCPI_SCHEMA_DOCS_MAX)
        return mcpi_error_set(c->err, MCP_E_LIMIT, "more than %d documents are needed",
                              MCPI_SCHEMA_DOCS_MAX);
    added = doc_new(c, uri, uri_len, doc);
    resource = mcpi_arena_take(&c->schema->arena, sizeof(*resource));
    if (!added || !resource)
        return mcpi_schema_no_memory(c);
    resource->uri = added->uri;
    resource->uri_len = uri_len;
    resource->root = added->root;
    resource->vocabularies = like ? like->vocabularies : MCPI_VOCABULARY_ALL;
    resource->draft = like ? like->draft : MCPI_DRAFT_2020_12;
    r = node_new(c, added, resource, added->root, &root);
    if (r == 0)
        r = name_add(c, root, (struct name_key){added->uri, uri_len},
                     (struct name_key){NULL, 0});
    if (r == 0)
        r = node_read(c, root);
    if (r == 0)
        *ret_root = root;
    return r;
}
