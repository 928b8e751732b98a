/*
 * schema_compile.c - from a JSON value to a schema: references, circles, ownership
 *
 * First all documents are read, in schema_load.c; what they refer to waits in a list.
 * Resolving a reference may bring in another document, and with it more references, so
 * the list is worked off until it is empty. Then each node knows all nodes it leads to,
 * and circles that would never end on one value are refused.
 */
#include "json/schema_compile.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/schema_set.h"
#include "json/schema_uri.h"
#include "json/value.h"

/* ---- references ------------------------------------------------------------ */

/* The root of what a reference names before its fragment. */
static int
reference_root(struct mcpi_schema_compiler *c, const struct mcpi_schema_pending *p,
               size_t uri_len, const struct mcpi_schema_node **ret)
{
    const struct mcpi_schema_resource *from = p->node->resource;
    struct mcpi_buf uri;
    mcp_doc *doc;
    int r = 0;

    if (uri_len == 0)
        return mcpi_schema_node(c, p->node, from->root, ret);
    mcpi_buf_init(&uri, c->schema->mem, MCPI_SCHEMA_URI_MAX);
    mcpi_uri_resolve(&uri, from->uri, from->uri_len, p->ref->uni.str, uri_len);
    *ret = uri.status < 0 ? NULL : mcpi_schema_named(c, uri.data, uri.len);
    doc = uri.status < 0 || *ret ? NULL
                                 : mcpi_schema_set_find(c->set, uri.data, uri.len);
    if (uri.status == MCP_E_NOMEM)
        r = mcpi_schema_no_memory(c);
    else if (uri.status < 0)
        r = mcpi_schema_refuse(c, MCP_E_LIMIT, p->node, p->keyword,
                               "is a URI of more than %d bytes", MCPI_SCHEMA_URI_MAX);
    else if (doc)
        r = mcpi_schema_load(c, uri.data, uri.len, doc, from, ret);
    else if (!*ret)
        r = mcpi_schema_refuse(c, MCP_E_INVAL, p->node, p->keyword,
                               "refers to %.*s, which is not registered", (int)uri.len,
                               uri.data);
    mcpi_buf_done(&uri);
    return r;
}

static int
anchor_find(struct mcpi_schema_compiler *c, const struct mcpi_schema_node *root,
            const struct mcpi_buf *fragment, const struct mcpi_schema_node **ret)
{
    struct mcpi_buf name;
    int r = 0;

    mcpi_buf_init(&name, c->schema->mem, MCPI_SCHEMA_BYTES_MAX);
    mcpi_buf_text(&name, root->resource->uri);
    mcpi_buf_char(&name, '#');
    mcpi_buf_append(&name, fragment->data, fragment->len);
    if (name.status == 0)
        *ret = mcpi_schema_named(c, name.data, name.len);
    else
        r = mcpi_schema_no_memory(c);
    mcpi_buf_done(&name);
    return r;
}

/* What the fragment means below a root; *ret is NULL if nothing is there. */
static int
fragment_find(struct mcpi_schema_compiler *c, const struct mcpi_schema_node *root,
              const struct mcpi_buf *fragment, const struct mcpi_schema_node **ret)
{
    const struct mcpi_schema_node *in = root;
    const yyjson_val *value;

    if (fragment->len == 0) {
        *ret = root;
        return 0;
    }
    if (fragment->data[0] != '/')
        return anchor_find(c, root, fragment, ret);
    value = mcpi_schema_path_find(root->value, fragment->data, fragment->len,
                                  &c->walked);
    *ret = NULL;
    if (!value)
        return 0;
    if (root->doc->nodes[value - root->doc->root] == 0)
        in = mcpi_schema_around(c, root->doc, value);
    return mcpi_schema_node(c, in, value, ret);
}

static int
reference_find(struct mcpi_schema_compiler *c, const struct mcpi_schema_pending *p,
               struct mcpi_buf *fragment, const struct mcpi_schema_node **ret)
{
    size_t len = mcpi_yy_len(p->ref), encoded_len = 0;
    const char *encoded = mcpi_uri_fragment(p->ref->uni.str, len, &encoded_len);
    const struct mcpi_schema_node *root = NULL;
    int r = reference_root(c, p, encoded ? len - encoded_len - 1 : len, &root);

    if (r < 0)
        return r;
    if (encoded && mcpi_uri_decode(fragment, encoded, encoded_len) < 0)
        return mcpi_schema_refuse(c, MCP_E_INVAL, p->node, p->keyword,
                                  "has a '%%' without two hexadecimal digits");
    if (fragment->status < 0)
        return mcpi_schema_no_memory(c);
    *ret = NULL;
    r = fragment_find(c, root, fragment, ret);
    if (r == 0 && c->walked > MCPI_SCHEMA_WALK_MAX)
        return mcpi_schema_refuse(c, MCP_E_LIMIT, p->node, p->keyword,
                                  "is one of too many references to look up");
    if (r == 0 && !*ret)
        return mcpi_schema_refuse(c, MCP_E_INVAL, p->node, p->keyword,
                                  "refers to %s, where nothing is", p->ref->uni.str);
    return r;
}

/* A dynamic reference is one only if what it leads to has that dynamic anchor. */
static void
dynamic_set(struct mcpi_schema_logic *logic, const char *name, size_t len)
{
    const struct mcpi_schema_dynamic *dynamic;

    assert(logic->dynamic_ref);
    dynamic = logic->dynamic_ref->resource->dynamics;
    for (; dynamic; dynamic = dynamic->next) {
        if (dynamic->node != logic->dynamic_ref || dynamic->len != len ||
            memcmp(dynamic->name, name, len) != 0)
            continue;
        logic->dynamic_name = dynamic->name;
        logic->dynamic_len = dynamic->len;
    }
}

static void
reference_set(const struct mcpi_schema_pending *p, const struct mcpi_buf *fragment,
              const struct mcpi_schema_node *target)
{
    struct mcpi_schema_logic *logic = p->node->logic;

    if (strcmp(p->keyword, "$ref") == 0) {
        logic->ref = target;
        return;
    }
    logic->dynamic_ref = target;
    if (strcmp(p->keyword, "$recursiveRef") == 0)
        dynamic_set(logic, MCPI_RECURSIVE_ANCHOR, strlen(MCPI_RECURSIVE_ANCHOR));
    else if (fragment->len > 0)
        dynamic_set(logic, fragment->data, fragment->len);
}

static int
reference_resolve(struct mcpi_schema_compiler *c, const struct mcpi_schema_pending *p)
{
    const struct mcpi_schema_node *target = NULL;
    struct mcpi_buf fragment;
    int r;

    mcpi_buf_init(&fragment, c->schema->mem, MCPI_SCHEMA_BYTES_MAX);
    r = reference_find(c, p, &fragment, &target);
    if (r == 0)
        reference_set(p, &fragment, target);
    mcpi_buf_done(&fragment);
    return r;
}

static int
references_resolve(struct mcpi_schema_compiler *c)
{
    int r = 0;

    while (r == 0 && c->pending) {
        const struct mcpi_schema_pending *pending = c->pending;

        c->pending = pending->next;
        r = reference_resolve(c, pending);
    }
    return r;
}

/* ---- circles --------------------------------------------------------------- */

enum { VISIT_NEW, VISIT_OPEN, VISIT_DONE };

struct visit {
    struct mcpi_schema_node *node;
    size_t next; /* which of its edges */
};

/* The node that is applied to the same value whatever the value is; NULL: no more. */
static const struct mcpi_schema_node *
edge_get(const struct mcpi_schema_node *node, size_t index)
{
    const struct mcpi_schema_logic *logic = node->logic;

    if (!logic)
        return NULL;
    if (logic->ref && index-- == 0)
        return logic->ref;
    if (logic->dynamic_ref && !logic->dynamic_name && index-- == 0)
        return logic->dynamic_ref;
    return index < logic->all.count ? logic->all.nodes[index] : NULL;
}

/* Depth first, from one node, with a stack as long as there are nodes. */
static int
circle_find(struct mcpi_schema_compiler *c, struct visit *stack,
            struct mcpi_schema_node *start)
{
    size_t depth = 0;

    start->visit = VISIT_OPEN;
    stack[depth++] = (struct visit){start, 0};
    while (depth > 0) {
        struct visit *top = &stack[depth - 1];
        const struct mcpi_schema_node *edge = edge_get(top->node, top->next++);
        struct mcpi_schema_node *node;

        if (!edge) {
            top->node->visit = VISIT_DONE;
            depth--;
            continue;
        }
        node = c->nodes[edge->doc->nodes[edge->value - edge->doc->root] - 1];
        if (node->visit == VISIT_OPEN)
            return mcpi_schema_refuse(c, MCP_E_INVAL, node, NULL,
                                      "leads back to itself without end");
        if (node->visit == VISIT_DONE)
            continue;
        node->visit = VISIT_OPEN;
        stack[depth++] = (struct visit){node, 0};
    }
    return 0;
}

static int
circles_refuse(struct mcpi_schema_compiler *c)
{
    struct visit *stack = mcpi_alloc(c->schema->mem, c->node_count * sizeof(*stack));
    int r = 0;

    if (!stack)
        return mcpi_schema_no_memory(c);
    for (size_t i = 0; r == 0 && i < c->node_count; i++) {
        if (c->nodes[i]->visit == VISIT_NEW)
            r = circle_find(c, stack, c->nodes[i]);
    }
    mcpi_free(c->schema->mem, stack);
    return r;
}

/* ---- shortcuts ------------------------------------------------------------- */

/* Has it no rules but those in its logic? */
static bool
is_logic_only(const struct mcpi_schema_node *node)
{
    return node->logic && !node->choice && !node->numbers && !node->strings &&
           !node->arrays && !node->objects;
}

/* Is it nothing but a reference that stays in its resource? A step into another one
 * counts for dynamic references. */
static bool
is_alias(const struct mcpi_schema_node *node)
{
    const struct mcpi_schema_logic *logic = node->logic;

    return is_logic_only(node) && node->types == MCPI_TYPE_ANY && logic->ref &&
           logic->ref->resource == node->resource && !logic->dynamic_ref &&
           !logic->negated && !logic->condition &&
           logic->all.count + logic->any.count + logic->one.count == 0;
}

/* Is it nothing but an anyOf? */
static bool
is_any(const struct mcpi_schema_node *node)
{
    const struct mcpi_schema_logic *logic = node->logic;

    return is_logic_only(node) && !logic->ref && !logic->dynamic_ref &&
           !logic->negated && !logic->condition && logic->all.count == 0 &&
           logic->one.count == 0;
}

/* Types that one of the alternatives accepts without a further look. */
static uint8_t
any_plain(const struct mcpi_schema_node *node)
{
    unsigned plain = 0;

    for (size_t i = 0; i < node->logic->any.count; i++)
        plain |= node->logic->any.nodes[i]->plain;
    return (uint8_t)(plain & node->types);
}

/* Let each alias lead straight to the end of its chain, which may be as long as
 * there are nodes; the way left is halved each time. There are no circles. */
static void
aliases_shorten(struct mcpi_schema_compiler *c)
{
    bool again = true;

    while (again) {
        again = false;
        for (size_t i = 0; i < c->node_count; i++) {
            const struct mcpi_schema_node *alias = c->nodes[i]->alias;

            if (!alias || !alias->alias)
                continue;
            c->nodes[i]->alias = alias->alias;
            again = true;
        }
    }
}

static void
shortcuts_set(struct mcpi_schema_compiler *c)
{
    for (size_t i = 0; i < c->node_count; i++) {
        struct mcpi_schema_node *node = c->nodes[i];

        if (is_alias(node))
            node->alias = node->logic->ref;
        node->plain = node->types & (uint8_t)~node->relevant;
    }
    aliases_shorten(c);
    for (size_t i = 0; i < c->node_count; i++) {
        if (is_any(c->nodes[i]))
            c->nodes[i]->plain = any_plain(c->nodes[i]);
    }
}

/* ---- the entry ------------------------------------------------------------- */

static int
schema_copy(const mcp_json *value, const mcp_allocator *mem, mcp_doc **ret_doc,
            mcp_error *err)
{
    const mcp_json_options options = MCP_JSON_OPTIONS(
            .allocator = mem, .max_bytes = MCPI_SCHEMA_BYTES_MAX,
            .max_depth = MCPI_JSON_DEPTH_MAX, .unique_keys = true);
    struct mcpi_buf text;
    int r;

    mcpi_buf_init(&text, mem, MCPI_SCHEMA_BYTES_MAX);
    mcpi_json_write(&text, value);
    r = text.status;
    if (r < 0)
        (void)mcpi_error_set(err, r, "the schema is too large, or there is no memory");
    else
        r = mcp_doc_parse(text.data, text.len, &options, ret_doc, err);
    mcpi_buf_done(&text);
    return r;
}

static int
schema_fill(struct mcpi_schema_compiler *c, const mcp_json *value, const char *uri)
{
    mcp_doc *doc = NULL;
    int r = schema_copy(value, c->schema->mem, &doc, c->err);

    if (r == 0)
        r = mcpi_schema_load(c, uri, strcspn(uri, "#"), doc, NULL, &c->schema->root);
    mcp_doc_free(doc); /* the schema is an owner now, if it got that far */
    if (r == 0)
        r = references_resolve(c);
    if (r == 0)
        r = circles_refuse(c);
    if (r == 0)
        shortcuts_set(c);
    return r;
}

static void
compiler_done(struct mcpi_schema_compiler *c)
{
    for (struct mcpi_schema_doc *doc = c->schema->docs; doc; doc = doc->next) {
        mcpi_free(c->schema->mem, doc->nodes);
        doc->nodes = NULL;
    }
    mcpi_free(c->schema->mem, c->nodes);
    mcpi_map_done(&c->names);
}

static mcp_schema *
schema_new(const mcp_schema_options *options)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(options->allocator);
    mcp_schema *schema = mcpi_alloc_zero(mem, sizeof(*schema));

    if (!schema)
        return NULL;
    atomic_init(&schema->refs, 1);
    schema->mem = mem;
    schema->max_steps = options->max_steps;
    mcpi_arena_init(&schema->arena, mem);
    return schema;
}

int
mcp_schema_compile(const mcp_json *schema, const mcp_schema_options *opt,
                   mcp_schema **ret_schema, mcp_error *err)
{
    static const unsigned char seed[MCPI_SEED_SIZE]; /* see MCPI_SCHEMA_NAMES_MAX */
    struct mcpi_schema_compiler c = {.err = err};
    mcp_schema_options options;
    int r;

    if (!schema || !ret_schema)
        return mcpi_error_set(err, MCP_E_INVAL, "no schema, or nowhere to put it");
    if (mcpi_options_read(&options, sizeof(options), opt) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "options of an unknown kind");
    c.schema = schema_new(&options);
    if (!c.schema)
        return mcpi_schema_no_memory(&c);
    c.set = options.set;
    c.assert_formats = options.assert_formats;
    c.max_nodes = options.max_subschemas ? options.max_subschemas
                                         : MCPI_SCHEMA_NODES_MAX;
    mcpi_map_init(&c.names, c.schema->mem, seed);
    r = schema_fill(&c, schema, options.base_uri ? options.base_uri : "");
    compiler_done(&c);
    if (r < 0)
        mcp_schema_free(c.schema);
    else
        *ret_schema = c.schema;
    return r;
}

mcp_schema *
mcp_schema_ref(mcp_schema *schema)
{
    if (schema)
        atomic_fetch_add_explicit(&schema->refs, 1, memory_order_relaxed);
    return schema;
}

static void
schema_destroy(mcp_schema *schema)
{
    const mcp_allocator *mem = schema->mem;

    for (struct mcpi_schema_held_pattern *held = schema->patterns; held;
         held = held->next)
        mcpi_pattern_free(held->pattern);
    for (struct mcpi_schema_doc *doc = schema->docs; doc; doc = doc->next)
        mcp_doc_free(doc->doc);
    mcpi_arena_done(&schema->arena);
    mcpi_free(mem, schema);
}

void
mcp_schema_free(mcp_schema *schema)
{
    /* release what this owner read before, acquire what the others did */
    if (schema &&
        atomic_fetch_sub_explicit(&schema->refs, 1, memory_order_acq_rel) == 1)
        schema_destroy(schema);
}
