/*
 * schema_object.c - the rules about objects, from their keywords
 *
 * All names that properties, required and the dependencies mention go into one table,
 * so that a check finds a member once and remembers it as one bit.
 */
#include <string.h>

#include "base/mem.h"
#include "json/schema_read.h"

typedef struct mcpi_schema_compiler compiler;
typedef struct mcpi_schema_node node_type;

/* Names while they are collected. */
struct strings {
    const mcp_allocator *mem;
    const yyjson_val **items;
    size_t count, room;
};

/* ---- collecting names ------------------------------------------------------ */

static int
strings_add(struct strings *s, const yyjson_val *string)
{
    size_t room = s->room ? s->room * 2 : 16;
    void *items;

    if (s->count == s->room) {
        items = mcpi_realloc(s->mem, s->items, room * sizeof(*s->items));
        if (!items)
            return MCP_E_NOMEM;
        s->items = items;
        s->room = room;
    }
    s->items[s->count++] = string;
    return 0;
}

static int
collect_keys(compiler *c, const node_type *node, const char *keyword, struct strings *s)
{
    const yyjson_val *object = mcpi_keyword_get(node, keyword);
    const yyjson_val *key;

    if (!object)
        return 0;
    if (mcpi_yy_type(object) != YYJSON_TYPE_OBJ)
        return mcpi_keyword_refuse(c, node, keyword, "an object");
    key = object + 1;
    for (size_t i = mcpi_yy_len(object); i > 0; i--) {
        if (strings_add(s, key) < 0)
            return mcpi_schema_no_memory(c);
        key = mcpi_yy_next(key + 1);
    }
    return 0;
}

static int
collect_elements(compiler *c, const node_type *node, const char *keyword,
                 const yyjson_val *array, struct strings *s)
{
    const yyjson_val *at = array + 1;

    if (mcpi_yy_type(array) != YYJSON_TYPE_ARR)
        return mcpi_keyword_refuse(c, node, keyword, "an array of strings");
    for (size_t i = mcpi_yy_len(array); i > 0; i--) {
        if (mcpi_yy_type(at) != YYJSON_TYPE_STR)
            return mcpi_keyword_refuse(c, node, keyword, "an array of strings");
        if (strings_add(s, at) < 0)
            return mcpi_schema_no_memory(c);
        at = mcpi_yy_next(at);
    }
    return 0;
}

/* The names in the arrays that the members of an object are. */
static int
collect_member_elements(compiler *c, const node_type *node, const char *keyword,
                        bool only_arrays, struct strings *s)
{
    const yyjson_val *object = mcpi_keyword_get(node, keyword);
    const yyjson_val *key = object ? object + 1 : NULL;
    int r = 0;

    for (size_t i = object ? mcpi_yy_len(object) : 0; r == 0 && i > 0; i--) {
        if (!only_arrays || mcpi_yy_type(key + 1) == YYJSON_TYPE_ARR)
            r = collect_elements(c, node, keyword, key + 1, s);
        key = mcpi_yy_next(key + 1);
    }
    return r;
}

static int
collect_dependencies(compiler *c, const node_type *node, struct strings *s)
{
    int r;

    if (node->resource->draft < MCPI_DRAFT_2019_09) {
        r = collect_keys(c, node, "dependencies", s);
        return r < 0 ? r : collect_member_elements(c, node, "dependencies", true, s);
    }
    r = collect_keys(c, node, "dependentSchemas", s);
    if (r == 0)
        r = collect_keys(c, node, "dependentRequired", s);
    return r < 0 ? r : collect_member_elements(c, node, "dependentRequired", false, s);
}

static int
read_names(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    const yyjson_val *required = mcpi_keyword_get(node, "required");
    struct strings s = {.mem = c->schema->mem};
    int r = collect_keys(c, node, "properties", &s);

    if (r == 0 && required)
        r = collect_elements(c, node, "required", required, &s);
    if (r == 0)
        r = collect_dependencies(c, node, &s);
    if (r == 0 && s.count > 0 &&
        mcpi_names_init(&rules->names, &c->schema->arena, s.items, s.count) < 0)
        r = mcpi_schema_no_memory(c);
    mcpi_free(s.mem, s.items);
    return r;
}

/* ---- reading --------------------------------------------------------------- */

static uint64_t *
read_bits(compiler *c, const struct mcpi_names *names, const yyjson_val *array)
{
    uint64_t *bits = mcpi_rules_new(c, (names->count + 63) / 64 * sizeof(*bits));
    const yyjson_val *at = array + 1;

    for (size_t i = mcpi_yy_len(array); bits && i > 0; i--) {
        uint32_t name = mcpi_names_search(names, at);

        bits[name / 64] |= (uint64_t)1 << (name % 64);
        at = mcpi_yy_next(at);
    }
    return bits;
}

static int
read_required(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    const yyjson_val *required = mcpi_keyword_get(node, "required");

    if (!required || mcpi_yy_len(required) == 0)
        return 0;
    rules->required = read_bits(c, &rules->names, required);
    return rules->required ? 0 : MCP_E_NOMEM;
}

static int
read_properties(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    const yyjson_val *object = mcpi_keyword_get(node, "properties");
    const yyjson_val *key;
    int r = 0;

    key = object ? object + 1 : NULL;
    for (size_t i = object ? mcpi_yy_len(object) : 0; r == 0 && i > 0; i--) {
        uint32_t name = mcpi_names_search(&rules->names, key);

        r = mcpi_schema_node(c, node, key + 1, &rules->nodes[name]);
        key = mcpi_yy_next(key + 1);
    }
    return r;
}

static int
read_patterns(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    const yyjson_val *object = mcpi_keyword_get(node, "patternProperties");
    const yyjson_val *key;
    int r = 0;

    if (!object)
        return 0;
    if (mcpi_yy_type(object) != YYJSON_TYPE_OBJ)
        return mcpi_keyword_refuse(c, node, "patternProperties", "an object");
    rules->pattern_count = mcpi_yy_len(object);
    rules->patterns = mcpi_rules_new(c,
                                     rules->pattern_count * sizeof(*rules->patterns));
    if (!rules->patterns)
        return MCP_E_NOMEM;
    key = object + 1;
    for (size_t i = 0; r == 0 && i < rules->pattern_count; i++) {
        r = mcpi_schema_pattern(c, node, "patternProperties", key,
                                &rules->patterns[i].pattern);
        if (r == 0)
            r = mcpi_schema_node(c, node, key + 1, &rules->patterns[i].node);
        key = mcpi_yy_next(key + 1);
    }
    return r;
}

static int
read_dependency(compiler *c, node_type *node, const struct mcpi_names *names,
                const yyjson_val *key, struct mcpi_schema_dependency *dependency)
{
    const yyjson_val *value = key + 1;
    uint32_t *required;

    dependency->name = mcpi_names_search(names, key);
    /* only what was collected is in the table: no list is one of dependentSchemas */
    if (mcpi_yy_type(value) != YYJSON_TYPE_ARR ||
        strcmp(dependency->keyword, "dependentSchemas") == 0)
        return mcpi_schema_node(c, node, value, &dependency->node);
    required = mcpi_rules_new(c, mcpi_yy_len(value) * sizeof(*required));
    if (!required)
        return MCP_E_NOMEM;
    dependency->required = required;
    dependency->required_count = mcpi_yy_len(value);
    for (size_t i = 0; i < dependency->required_count; i++)
        required[i] = mcpi_names_search(names, value + 1 + i);
    return 0;
}

static int
read_dependencies(compiler *c, node_type *node, const char *keyword,
                  struct mcpi_schema_objects *rules)
{
    const yyjson_val *object = mcpi_keyword_get(node, keyword);
    const yyjson_val *key = object ? object + 1 : NULL;
    int r = 0;

    for (size_t i = object ? mcpi_yy_len(object) : 0; r == 0 && i > 0; i--) {
        struct mcpi_schema_dependency *dependency;

        dependency = &rules->dependencies[rules->dependency_count++];
        dependency->keyword = keyword;
        r = read_dependency(c, node, &rules->names, key, dependency);
        key = mcpi_yy_next(key + 1);
    }
    return r;
}

static int
read_all_dependencies(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    unsigned vocabularies = node->resource->vocabularies;
    bool applies = vocabularies & MCPI_VOCABULARY_APPLICATOR;
    bool validates = vocabularies & MCPI_VOCABULARY_VALIDATION;
    const yyjson_val *required = mcpi_keyword_get(node, "dependentRequired");
    const yyjson_val *schemas = mcpi_keyword_get(node, "dependentSchemas");
    const yyjson_val *both = mcpi_keyword_get(node, "dependencies");
    size_t count = (required ? mcpi_yy_len(required) : 0) +
                   (schemas ? mcpi_yy_len(schemas) : 0) +
                   (both ? mcpi_yy_len(both) : 0);
    int r = 0;

    rules->dependencies = mcpi_rules_new(c, count * sizeof(*rules->dependencies));
    if (!rules->dependencies)
        return MCP_E_NOMEM;
    if (node->resource->draft < MCPI_DRAFT_2019_09)
        return read_dependencies(c, node, "dependencies", rules);
    if (validates)
        r = read_dependencies(c, node, "dependentRequired", rules);
    if (r == 0 && applies)
        r = read_dependencies(c, node, "dependentSchemas", rules);
    return r;
}

static int
read_applicators(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    int r = read_properties(c, node, rules);

    if (r == 0)
        r = read_patterns(c, node, rules);
    if (r == 0)
        r = mcpi_read_schema(c, node, "additionalProperties", &rules->additional);
    if (r == 0)
        r = mcpi_read_schema(c, node, "propertyNames", &rules->property_names);
    return r;
}

static int
read_validation(compiler *c, node_type *node, struct mcpi_schema_objects *rules)
{
    int r = read_required(c, node, rules);

    if (r == 0)
        r = mcpi_read_count(c, node, "minProperties", &rules->count.min);
    if (r == 0)
        r = mcpi_read_count(c, node, "maxProperties", &rules->count.max);
    return r;
}

int
mcpi_schema_objects(compiler *c, node_type *node)
{
    static const char *const keywords[] = {
        "properties",
        "required",
        "additionalProperties",
        "minProperties",
        "maxProperties",
        "patternProperties",
        "propertyNames",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "unevaluatedProperties",
        NULL,
    };
    unsigned vocabularies = node->resource->vocabularies;
    struct mcpi_schema_objects *rules;
    int r;

    if (!mcpi_keyword_any(node, keywords))
        return 0;
    rules = mcpi_rules_new(c, sizeof(*rules));
    if (!rules)
        return MCP_E_NOMEM;
    rules->count.max = MCPI_SCHEMA_NO_MAX;
    node->objects = rules;
    r = read_names(c, node, rules);
    if (r < 0)
        return r;
    rules->nodes = mcpi_rules_new(c, rules->names.count * sizeof(*rules->nodes));
    if (!rules->nodes)
        return MCP_E_NOMEM;
    if (vocabularies & MCPI_VOCABULARY_APPLICATOR)
        r = read_applicators(c, node, rules);
    if (r == 0 && vocabularies & MCPI_VOCABULARY_VALIDATION)
        r = read_validation(c, node, rules);
    if (r == 0)
        r = read_all_dependencies(c, node, rules);
    if (r == 0 && vocabularies & MCPI_VOCABULARY_UNEVALUATED)
        r = mcpi_read_schema(c, node, "unevaluatedProperties", &rules->unevaluated);
    return r;
}
