/* schema_keyword.c - a node's rules from its keywords */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/schema_format.h"
#include "json/schema_read.h"

/* An `enum` of fewer strings is compared one by one. */
#define CHOICE_TABLE_MIN 8

typedef struct mcpi_schema_compiler compiler;
typedef struct mcpi_schema_node node_type;

static bool
is_type(const yyjson_val *value, unsigned type)
{
    return mcpi_yy_type(value) == type;
}

/* ---- types and values ------------------------------------------------------ */

static unsigned
type_bits(const yyjson_val *name)
{
    static const struct {
        const char *name;
        unsigned bits;
    } types[] = {
        {"null", MCPI_TYPE_NULL},       {"boolean", MCPI_TYPE_BOOL},
        {"integer", MCPI_TYPE_INTEGER}, {"number", MCPI_TYPE_NUMBER},
        {"string", MCPI_TYPE_STRING},   {"array", MCPI_TYPE_ARRAY},
        {"object", MCPI_TYPE_OBJECT},
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (mcp_json_is_string(mcpi_yy_json(name), types[i].name))
            return types[i].bits;
    }
    return 0;
}

static int
read_types(compiler *c, node_type *node)
{
    const yyjson_val *value = mcpi_keyword_get(node, "type");
    bool is_list = value && is_type(value, YYJSON_TYPE_ARR);
    const yyjson_val *at = is_list ? value + 1 : value;
    unsigned bits = 0;

    if (!value)
        return 0;
    for (size_t i = is_list ? mcpi_yy_len(value) : 1; i > 0; i--) {
        unsigned bit = type_bits(at);

        if (bit == 0)
            return mcpi_keyword_refuse(c, node, "type",
                                       "one of the seven types, or a list of them");
        bits |= bit;
        at = mcpi_yy_next(at);
    }
    if (bits == 0)
        return mcpi_keyword_refuse(c, node, "type", "one type at least");
    node->types = (uint8_t)bits;
    return 0;
}

static bool
all_are_strings(const yyjson_val *array)
{
    const yyjson_val *at = array + 1;

    for (size_t i = mcpi_yy_len(array); i > 0; i--) {
        if (!is_type(at, YYJSON_TYPE_STR))
            return false;
        at = mcpi_yy_next(at);
    }
    return true;
}

static int
choice_table(compiler *c, struct mcpi_schema_choice *choice)
{
    size_t count = mcpi_yy_len(choice->options);
    const yyjson_val **strings;
    int r;

    if (count < CHOICE_TABLE_MIN || !all_are_strings(choice->options))
        return 0;
    strings = mcpi_alloc(c->schema->mem, count * sizeof(*strings));
    if (!strings)
        return mcpi_schema_no_memory(c);
    for (size_t i = 0; i < count; i++)
        strings[i] = choice->options + 1 + i; /* strings take one place each */
    r = mcpi_names_init(&choice->strings, &c->schema->arena, strings, count);
    mcpi_free(c->schema->mem, strings);
    return r < 0 ? mcpi_schema_no_memory(c) : 0;
}

static int
read_choice(compiler *c, node_type *node)
{
    const yyjson_val *options = mcpi_keyword_get(node, "enum");
    const yyjson_val *constant = mcpi_keyword_get(node, "const");
    struct mcpi_schema_choice *choice;

    if (!options && !constant)
        return 0;
    if (options && !is_type(options, YYJSON_TYPE_ARR))
        return mcpi_keyword_refuse(c, node, "enum", "an array");
    choice = mcpi_rules_new(c, sizeof(*choice));
    if (!choice)
        return MCP_E_NOMEM;
    choice->options = options;
    choice->constant = constant;
    node->choice = choice;
    return options ? choice_table(c, choice) : 0;
}

/* ---- numbers and strings --------------------------------------------------- */

static int
read_numbers(compiler *c, node_type *node)
{
    static const char *const keywords[] = {"minimum",          "maximum",
                                           "exclusiveMinimum", "exclusiveMaximum",
                                           "multipleOf",       NULL};
    struct mcpi_schema_numbers *rules;
    const yyjson_val *multiple = NULL;
    int r;

    if (!mcpi_keyword_any(node, keywords))
        return 0;
    rules = mcpi_rules_new(c, sizeof(*rules));
    if (!rules)
        return MCP_E_NOMEM;
    node->numbers = rules;
    r = mcpi_read_number(c, node, "minimum", &rules->minimum);
    if (r == 0)
        r = mcpi_read_number(c, node, "maximum", &rules->maximum);
    if (r == 0)
        r = mcpi_read_number(c, node, "exclusiveMinimum", &rules->above);
    if (r == 0)
        r = mcpi_read_number(c, node, "exclusiveMaximum", &rules->below);
    if (r == 0)
        r = mcpi_read_number(c, node, "multipleOf", &multiple);
    if (r < 0 || !multiple)
        return r;
    rules->multiple = mcpi_number_decimal(multiple);
    if (rules->multiple.digits == 0 || mcp_json_number(mcpi_yy_json(multiple), 0) < 0)
        return mcpi_keyword_refuse(c, node, "multipleOf", "a number above 0");
    return 0;
}

int
mcpi_schema_pattern(compiler *c, const node_type *node, const char *keyword,
                    const yyjson_val *text, const struct mcpi_pattern **ret)
{
    struct mcpi_schema_held_pattern *held = mcpi_rules_new(c, sizeof(*held));
    mcp_error why;
    int r;

    if (!held)
        return MCP_E_NOMEM;
    if (!is_type(text, YYJSON_TYPE_STR))
        return mcpi_keyword_refuse(c, node, keyword, "a string");
    if (++c->pattern_count > MCPI_SCHEMA_PATTERNS_MAX)
        return mcpi_schema_refuse(c, MCP_E_LIMIT, node, keyword,
                                  "is one of more than %d patterns",
                                  MCPI_SCHEMA_PATTERNS_MAX);
    r = mcpi_pattern_new(c->schema->mem, text->uni.str, mcpi_yy_len(text),
                         &held->pattern, &why);
    if (r < 0)
        return mcpi_schema_refuse(c, r, node, keyword, "is %s", why.message);
    held->next = c->schema->patterns;
    c->schema->patterns = held;
    *ret = held->pattern;
    return 0;
}

static int
read_format(compiler *c, node_type *node, struct mcpi_schema_strings *rules)
{
    const yyjson_val *format = mcpi_keyword_get(node, "format");

    if (!format)
        return 0;
    if (!is_type(format, YYJSON_TYPE_STR))
        return mcpi_keyword_refuse(c, node, "format", "a string");
    if (!c->assert_formats && !(node->resource->vocabularies & MCPI_VOCABULARY_FORMAT))
        return 0;
    rules->format = mcpi_schema_format_find(format->uni.str, mcpi_yy_len(format));
    rules->is_regex = mcp_json_is_string(mcpi_yy_json(format), "regex");
    rules->format_name = format->uni.str;
    return 0;
}

static int
read_strings(compiler *c, node_type *node)
{
    static const char *const keywords[] = {"minLength", "maxLength", "pattern",
                                           "format", NULL};
    bool validates = node->resource->vocabularies & MCPI_VOCABULARY_VALIDATION;
    const yyjson_val *pattern = mcpi_keyword_get(node, "pattern");
    struct mcpi_schema_strings *rules;
    int r = 0;

    if (!mcpi_keyword_any(node, keywords))
        return 0;
    rules = mcpi_rules_new(c, sizeof(*rules));
    if (!rules)
        return MCP_E_NOMEM;
    rules->length.max = MCPI_SCHEMA_NO_MAX;
    if (validates)
        r = mcpi_read_range(c, node, "minLength", "maxLength", &rules->length);
    if (r == 0 && validates && pattern)
        r = mcpi_schema_pattern(c, node, "pattern", pattern, &rules->pattern);
    if (r == 0)
        r = read_format(c, node, rules);
    if (rules->pattern || rules->format || rules->is_regex || rules->length.min > 0 ||
        rules->length.max != MCPI_SCHEMA_NO_MAX)
        node->strings = rules;
    return r;
}

/* ---- arrays ---------------------------------------------------------------- */

/* Before 2020-12 `items` may be a list, and then `additionalItems` is for the rest. */
static int
read_items(compiler *c, node_type *node, struct mcpi_schema_arrays *rules)
{
    const yyjson_val *items = mcpi_keyword_get(node, "items");
    int r;

    if (node->resource->draft >= MCPI_DRAFT_2020_12) {
        r = mcpi_read_list(c, node, "prefixItems", &rules->prefix);
        return r < 0 ? r : mcpi_read_schema(c, node, "items", &rules->rest);
    }
    if (!items || !is_type(items, YYJSON_TYPE_ARR))
        return mcpi_read_schema(c, node, "items", &rules->rest);
    if (mcpi_yy_len(items) > 0)
        r = mcpi_read_list(c, node, "items", &rules->prefix);
    else
        r = 0;
    return r < 0 ? r : mcpi_read_schema(c, node, "additionalItems", &rules->rest);
}

static int
read_array_rules(compiler *c, node_type *node, struct mcpi_schema_arrays *rules)
{
    unsigned vocabularies = node->resource->vocabularies;
    const yyjson_val *unique = mcpi_keyword_get(node, "uniqueItems");
    int r = 0;

    if (vocabularies & MCPI_VOCABULARY_APPLICATOR) {
        r = read_items(c, node, rules);
        if (r == 0)
            r = mcpi_read_schema(c, node, "contains", &rules->contains);
    }
    if (r == 0 && vocabularies & MCPI_VOCABULARY_UNEVALUATED)
        r = mcpi_read_schema(c, node, "unevaluatedItems", &rules->unevaluated);
    if (r < 0 || !(vocabularies & MCPI_VOCABULARY_VALIDATION))
        return r;
    if (unique && !is_type(unique, YYJSON_TYPE_BOOL))
        return mcpi_keyword_refuse(c, node, "uniqueItems", "a boolean");
    rules->unique = unique && mcpi_yy_kind(unique) == MCPI_YY_TRUE;
    r = mcpi_read_range(c, node, "minItems", "maxItems", &rules->count);
    if (r == 0 && node->resource->draft >= MCPI_DRAFT_2019_09)
        r = mcpi_read_range(c, node, "minContains", "maxContains", &rules->contained);
    return r;
}

static int
read_arrays(compiler *c, node_type *node)
{
    static const char *const keywords[] = {
        "items",    "prefixItems", "additionalItems", "contains",         "minItems",
        "maxItems", "uniqueItems", "minContains",     "unevaluatedItems", NULL};
    struct mcpi_schema_arrays *rules;

    if (!mcpi_keyword_any(node, keywords))
        return 0;
    rules = mcpi_rules_new(c, sizeof(*rules));
    if (!rules)
        return MCP_E_NOMEM;
    rules->count.max = MCPI_SCHEMA_NO_MAX;
    rules->contained.min = 1;
    rules->contained.max = MCPI_SCHEMA_NO_MAX;
    node->arrays = rules;
    return read_array_rules(c, node, rules);
}

/* ---- in place -------------------------------------------------------------- */

static int
read_logic(compiler *c, node_type *node)
{
    static const char *const keywords[] = {"allOf", "anyOf", "oneOf", "not",
                                           "if",    "then",  "else",  NULL};
    struct mcpi_schema_logic *logic;
    int r;

    if (!mcpi_keyword_any(node, keywords))
        return 0;
    if (!node->logic)
        node->logic = mcpi_rules_new(c, sizeof(*node->logic));
    logic = node->logic;
    if (!logic)
        return MCP_E_NOMEM;
    r = mcpi_read_list(c, node, "allOf", &logic->all);
    if (r == 0)
        r = mcpi_read_list(c, node, "anyOf", &logic->any);
    if (r == 0)
        r = mcpi_read_list(c, node, "oneOf", &logic->one);
    if (r == 0)
        r = mcpi_read_schema(c, node, "not", &logic->negated);
    if (r < 0 || node->resource->draft < MCPI_DRAFT_07)
        return r;
    r = mcpi_read_schema(c, node, "if", &logic->condition);
    if (r == 0)
        r = mcpi_read_schema(c, node, "then", &logic->then);
    if (r == 0)
        r = mcpi_read_schema(c, node, "else", &logic->otherwise);
    return r;
}

/* A reference is resolved when all of the document is known. */
static int
read_reference(compiler *c, node_type *node, const char *keyword)
{
    const yyjson_val *ref = mcpi_keyword_get(node, keyword);
    struct mcpi_schema_pending *pending;

    if (!ref)
        return 0;
    if (!is_type(ref, YYJSON_TYPE_STR))
        return mcpi_keyword_refuse(c, node, keyword, "a string");
    if (!node->logic)
        node->logic = mcpi_rules_new(c, sizeof(*node->logic));
    pending = mcpi_rules_new(c, sizeof(*pending));
    if (!node->logic || !pending)
        return MCP_E_NOMEM;
    pending->node = node;
    pending->keyword = keyword;
    pending->ref = ref;
    pending->next = c->pending;
    c->pending = pending;
    return 0;
}

/* ---- all of it ------------------------------------------------------------- */

static void
node_summarize(node_type *node)
{
    unsigned relevant = 0;

    if (node->numbers)
        relevant |= MCPI_TYPE_NUMBER;
    if (node->strings)
        relevant |= MCPI_TYPE_STRING;
    if (node->arrays)
        relevant |= MCPI_TYPE_ARRAY;
    if (node->objects)
        relevant |= MCPI_TYPE_OBJECT;
    if (node->choice || node->logic)
        relevant |= MCPI_TYPE_ANY;
    node->relevant = (uint8_t)relevant;
}

static int
read_validation(compiler *c, node_type *node)
{
    int r = read_types(c, node);

    if (r == 0)
        r = read_choice(c, node);
    return r < 0 ? r : read_numbers(c, node);
}

/* $recursiveRef of 2019-09, or what came after it */
static int
read_dynamic_reference(compiler *c, node_type *node)
{
    const yyjson_val *ref = mcpi_keyword_get(node, "$recursiveRef");

    if (node->resource->draft >= MCPI_DRAFT_2020_12)
        return read_reference(c, node, "$dynamicRef");
    if (ref && !mcp_json_is_string(mcpi_yy_json(ref), "#"))
        return mcpi_keyword_refuse(c, node, "$recursiveRef", "\"#\"");
    return read_reference(c, node, "$recursiveRef");
}

static int
read_core(compiler *c, node_type *node)
{
    bool is_modern = node->resource->draft >= MCPI_DRAFT_2019_09;
    int r = read_reference(c, node, "$ref");

    if (r == 0 && is_modern)
        r = read_dynamic_reference(c, node);
    if (r == 0 && is_modern)
        r = mcpi_read_definitions(c, node, "$defs");
    return r < 0 ? r : mcpi_read_definitions(c, node, "definitions");
}

int
mcpi_schema_keywords(compiler *c, node_type *node)
{
    unsigned vocabularies = node->resource->vocabularies;
    const node_type *content;
    int r;

    if (node->resource->draft < MCPI_DRAFT_2019_09 && mcpi_keyword_get(node, "$ref")) {
        /* nothing beside it counts, but it may lead to definitions there */
        r = read_reference(c, node, "$ref");
        node_summarize(node);
        return r < 0 ? r : mcpi_read_definitions(c, node, "definitions");
    }
    r = read_core(c, node);
    if (r == 0 && vocabularies & MCPI_VOCABULARY_VALIDATION)
        r = read_validation(c, node);
    if (r == 0)
        r = read_strings(c, node);
    if (r == 0)
        r = read_arrays(c, node);
    if (r == 0)
        r = mcpi_schema_objects(c, node);
    if (r == 0 && vocabularies & MCPI_VOCABULARY_APPLICATOR)
        r = read_logic(c, node);
    if (r == 0 && node->resource->draft >= MCPI_DRAFT_2019_09)
        r = mcpi_read_schema(c, node, "contentSchema", &content);
    node_summarize(node);
    return r;
}
