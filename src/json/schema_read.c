/* schema_read.c - what keywords hold: a schema, a list of them, a count, a number */
#include "json/schema_read.h"

typedef struct mcpi_schema_compiler compiler;
typedef struct mcpi_schema_node node_type;

const yyjson_val *
mcpi_keyword_get(const node_type *node, const char *keyword)
{
    return mcpi_yy(mcp_json_get(mcpi_yy_json(node->value), keyword));
}

int
mcpi_keyword_refuse(compiler *c, const node_type *node, const char *keyword,
                    const char *must)
{
    return mcpi_schema_refuse(c, MCP_E_INVAL, node, keyword, "must be %s", must);
}

void *
mcpi_rules_new(compiler *c, size_t size)
{
    void *rules = mcpi_arena_take(&c->schema->arena, size);

    if (!rules)
        (void)mcpi_schema_no_memory(c);
    return rules;
}

bool
mcpi_keyword_any(const node_type *node, const char *const *keywords)
{
    for (; *keywords; keywords++) {
        if (mcpi_keyword_get(node, *keywords))
            return true;
    }
    return false;
}

int
mcpi_read_schema(compiler *c, node_type *node, const char *keyword,
                 const node_type **ret)
{
    const yyjson_val *value = mcpi_keyword_get(node, keyword);

    return value ? mcpi_schema_node(c, node, value, ret) : 0;
}

int
mcpi_read_list(compiler *c, node_type *node, const char *keyword,
               struct mcpi_schema_list *list)
{
    const yyjson_val *value = mcpi_keyword_get(node, keyword);
    const yyjson_val *at;
    size_t count;
    int r = 0;

    if (!value)
        return 0;
    if (mcpi_yy_type(value) != YYJSON_TYPE_ARR || mcpi_yy_len(value) == 0)
        return mcpi_keyword_refuse(c, node, keyword, "a list of at least one schema");
    count = mcpi_yy_len(value);
    list->nodes = mcpi_rules_new(c, count * sizeof(node_type *));
    if (!list->nodes)
        return MCP_E_NOMEM;
    at = value + 1;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = mcpi_schema_node(c, node, at, &list->nodes[i]);
        at = mcpi_yy_next(at);
    }
    list->count = count;
    return r;
}

int
mcpi_read_definitions(compiler *c, node_type *node, const char *keyword)
{
    const yyjson_val *value = mcpi_keyword_get(node, keyword);
    const yyjson_val *key;
    const node_type *ignored;
    int r = 0;

    if (!value)
        return 0;
    if (mcpi_yy_type(value) != YYJSON_TYPE_OBJ)
        return mcpi_keyword_refuse(c, node, keyword, "an object of schemas");
    key = value + 1;
    for (size_t i = mcpi_yy_len(value); r == 0 && i > 0; i--) {
        r = mcpi_schema_node(c, node, key + 1, &ignored);
        key = mcpi_yy_next(key + 1);
    }
    return r;
}

int
mcpi_read_count(compiler *c, node_type *node, const char *keyword, uint64_t *count)
{
    const yyjson_val *value = mcpi_keyword_get(node, keyword);

    if (value && mcpi_number_count(value, count) < 0)
        return mcpi_keyword_refuse(c, node, keyword, "an integer that is not negative");
    return 0;
}

int
mcpi_read_range(compiler *c, node_type *node, const char *min, const char *max,
                struct mcpi_schema_range *range)
{
    int r = mcpi_read_count(c, node, min, &range->min);

    return r < 0 ? r : mcpi_read_count(c, node, max, &range->max);
}

int
mcpi_read_number(compiler *c, node_type *node, const char *keyword,
                 const yyjson_val **ret)
{
    *ret = mcpi_keyword_get(node, keyword);
    if (*ret && mcpi_yy_type(*ret) != YYJSON_TYPE_NUM)
        return mcpi_keyword_refuse(c, node, keyword, "a number");
    return 0;
}
