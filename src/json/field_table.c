/*
 * field_table.c - a field table made ready: laid out, its mistakes found
 *
 * Mistakes are those of the program that wrote the table, so each has its own sentence.
 * Attributes are checked in groups; a group tells its first mistake as a constant text.
 */
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/field.h"

#define PATH_MAX_SHOWN 120

/* ---- paths ----------------------------------------------------------------- */

/* "where/city": from the outermost struct to the member. */
static const char *
node_path(const mcp_fields *fields, size_t index, char into[PATH_MAX_SHOWN])
{
    size_t at = PATH_MAX_SHOWN - 1;

    into[at] = '\0';
    while (index != SIZE_MAX) {
        const char *name = fields->nodes[index].name;
        size_t len = name ? strlen(name) : 0;

        if (len + 1 > at)
            break;
        if (into[at])
            into[--at] = '/';
        at -= len;
        memcpy(into + at, name ? name : "", len);
        index = fields->nodes[index].parent;
    }
    return into + at;
}

static int
node_refuse(const mcp_fields *fields, size_t index, const char *why, mcp_error *err)
{
    char path[PATH_MAX_SHOWN];

    return mcpi_error_set(err, MCP_E_INVAL, "field '%s': %s",
                          node_path(fields, index, path), why);
}

/* ---- one member ------------------------------------------------------------ */

static bool
is_integer(enum mcp_field_type type)
{
    return type == MCP_INT || type == MCP_UINT;
}

static bool
size_fits(enum mcp_field_type type, size_t size)
{
    switch (type) {
    case MCP_INT:
    case MCP_UINT:
        return size == 1 || size == 2 || size == 4 || size == 8;
    case MCP_NUMBER:
        return size == sizeof(double);
    case MCP_BOOL:
        return size == sizeof(bool);
    case MCP_ENUM:
        return size == sizeof(int);
    case MCP_STRING:
    case MCP_ARRAY:
    case MCP_JSON:
        return size == sizeof(void *);
    case MCP_STRUCT:
        return size > 0;
    case MCP_NO_TYPE:
        break;
    }
    return false;
}

static const char *
fault_of_type(const mcp_field *field)
{
    if (field->type <= MCP_NO_TYPE || field->type > MCP_JSON)
        return "unknown type";
    if (field->flags & ~(unsigned)MCP_REQUIRED)
        return "unknown flag";
    if (!size_fits(field->type, field->size))
        return "the C member is not of a size for its type";
    if (field->type != MCP_ARRAY)
        return field->items || field->item_size || field->count
                   ? "items, but it is no array"
                   : NULL;
    if (field->items <= MCP_NO_TYPE || field->items > MCP_JSON)
        return "unknown type of items";
    if (field->items == MCP_ARRAY)
        return "an array of arrays: put a struct between them";
    if (!size_fits(field->items, field->item_size))
        return "the C items are not of a size for their type";
    return field->count ? NULL : "an array without a count";
}

/* Does it lie in a struct of this size? Companions are at their offset plus one. */
static bool
member_lies_in(const mcp_field *field, size_t size)
{
    return field->offset <= size && field->size <= size - field->offset &&
           field->present <= size &&
           (!field->length || field->length - 1 + sizeof(size_t) <= size) &&
           (!field->count || field->count - 1 + sizeof(size_t) <= size);
}

/* Against the struct it is in, where its size is known. */
static const char *
fault_of_extent(const mcp_fields *fields, const struct mcpi_field_node *node)
{
    if (node->parent == SIZE_MAX ||
        member_lies_in(node->field,
                       mcpi_field_item_size(fields->nodes[node->parent].field)))
        return NULL;
    return "a member beyond the end of the struct it is in";
}

/* Attributes that say nothing about the type they are on. */
static const char *
fault_of_place(const mcp_field *field)
{
    enum mcp_field_type item = mcpi_field_item(field);

    if (field->length && field->type != MCP_STRING)
        return "a length member, but it is no string";
    if ((field->min_length || field->max_length || field->pattern) &&
        item != MCP_STRING)
        return "lengths or a pattern, but no strings";
    if ((field->min_items || field->max_items) && field->type != MCP_ARRAY)
        return "a number of items, but it is no array";
    if (!field->names != (item != MCP_ENUM))
        return field->names ? "names, but no enum" : "an enum without names";
    if (!field->fields != (item != MCP_STRUCT))
        return field->fields ? "fields, but no struct" : "a struct without fields";
    if ((field->minimum.type || field->maximum.type) && !is_integer(item) &&
        item != MCP_NUMBER)
        return "bounds, but no number";
    return NULL;
}

static const char *
fault_of_integer_bounds(const mcp_field *field)
{
    struct mcpi_integer low, high;

    if ((field->minimum.type && field->minimum.type != MCP_INT) ||
        (field->maximum.type && field->maximum.type != MCP_INT))
        return "a bound of an integer that is none";
    (void)mcpi_integer_range(field, &low, &high);
    if ((field->minimum.type &&
         mcpi_integer_less(mcpi_integer_of(field->minimum.integer), low)) ||
        (field->maximum.type &&
         mcpi_integer_less(high, mcpi_integer_of(field->maximum.integer))))
        return "a bound beyond the range of its type or header";
    return mcpi_integer_less(high, low) ? "a minimum above the maximum" : NULL;
}

static bool
is_number(const mcp_constant *constant)
{
    return constant->type == MCP_INT ||
           (constant->type == MCP_NUMBER && constant->number - constant->number == 0);
}

static const char *
fault_of_bounds(const mcp_field *field)
{
    bool has_both = field->minimum.type && field->maximum.type;

    if (field->max_length && field->min_length > field->max_length)
        return "a least length above the most";
    if (field->max_items && field->min_items > field->max_items)
        return "a least number of items above the most";
    if (is_integer(mcpi_field_item(field)))
        return fault_of_integer_bounds(field);
    if ((field->minimum.type && !is_number(&field->minimum)) ||
        (field->maximum.type && !is_number(&field->maximum)))
        return "a bound that is no finite number";
    if (has_both &&
        mcpi_constant_number(&field->minimum) > mcpi_constant_number(&field->maximum))
        return "a minimum above the maximum";
    return NULL;
}

static const char *
fault_of_names(const mcp_enum_name *names)
{
    if (names && !names->name)
        return "an enum without names";
    for (; names && names->name; names++) {
        if (!mcpi_utf8_valid(names->name, strlen(names->name)))
            return "an enum name that is not UTF-8";
        if (mcpi_enum_find(names + 1, names->name))
            return "an enum name that stands there twice";
    }
    return NULL;
}

/* Transports, "Schema Extension": primitive types, reached through properties only. */
static const char *
fault_of_header(const struct mcpi_field_node *node)
{
    const mcp_field *field = node->field;

    if (!field->header)
        return NULL;
    if (!mcpi_text_is_token(field->header, strlen(field->header)))
        return "a header name that is no HTTP token";
    if (node->in_array || field->type == MCP_ARRAY)
        return "a header on what is in an array";
    if (field->type != MCP_STRING && field->type != MCP_ENUM &&
        field->type != MCP_BOOL && !is_integer(field->type))
        return "a header on what is no string, integer or boolean";
    return NULL;
}

/* ---- defaults -------------------------------------------------------------- */

static const char *
fault_of_integer_default(const mcp_field *field)
{
    struct mcpi_integer low, high, number = mcpi_integer_of(field->otherwise.integer);

    if (field->otherwise.type != MCP_INT)
        return "a default that is no integer";
    (void)mcpi_integer_range(field, &low, &high);
    return mcpi_integer_less(number, low) || mcpi_integer_less(high, number)
               ? "a default out of its bounds"
               : NULL;
}

static const char *
fault_of_number_default(const mcp_field *field)
{
    double number = mcpi_constant_number(&field->otherwise);

    if (!is_number(&field->otherwise))
        return "a default that is no finite number";
    if ((field->minimum.type && number < mcpi_constant_number(&field->minimum)) ||
        (field->maximum.type && number > mcpi_constant_number(&field->maximum)))
        return "a default out of its bounds";
    return NULL;
}

static const char *
fault_of_string_default(const struct mcpi_field_node *node)
{
    const char *text = node->field->otherwise.string;

    if (node->field->otherwise.type != MCP_STRING || !text)
        return "a default that is no string";
    if (node->field->type == MCP_ENUM)
        return mcpi_enum_find(node->field->names, text)
                   ? NULL
                   : "a default that is none of the names";
    return mcpi_utf8_valid(text, strlen(text)) ? NULL : "a default that is not UTF-8";
}

static const char *
fault_of_default(const struct mcpi_field_node *node)
{
    const mcp_field *field = node->field;

    if (!field->otherwise.type)
        return NULL;
    if (field->flags & MCP_REQUIRED)
        return "a default, but it is required";
    switch (field->type) {
    case MCP_INT:
    case MCP_UINT:
        return fault_of_integer_default(field);
    case MCP_NUMBER:
        return fault_of_number_default(field);
    case MCP_BOOL:
        return field->otherwise.type == MCP_BOOL ? NULL
                                                 : "a default that is no boolean";
    case MCP_STRING:
    case MCP_ENUM:
        return fault_of_string_default(node);
    default:
        return "a default on an array, struct or raw JSON";
    }
}

/* ---- the whole ------------------------------------------------------------- */

static const char *
fault_of_texts(const struct mcpi_field_node *node)
{
    const char *texts[] = {node->name, node->field->title, node->field->description};

    for (size_t i = 0; i < 3; i++) {
        if (texts[i] && !mcpi_utf8_valid(texts[i], strlen(texts[i])))
            return "a text that is not UTF-8";
    }
    return NULL;
}

/* Against those before it: names within the same struct, headers within the schema. */
static const char *
fault_of_twins(const mcp_fields *fields, size_t index)
{
    const struct mcpi_field_node *node = &fields->nodes[index];

    for (size_t i = 0; i < index; i++) {
        const struct mcpi_field_node *other = &fields->nodes[i];

        if (other->parent == node->parent && strcmp(other->name, node->name) == 0)
            return "the name stands there twice";
        if (node->field->header && other->field->header &&
            mcpi_text_same_letters(node->field->header, other->field->header))
            return "the header stands there twice";
    }
    return NULL;
}

static int
node_compile_pattern(mcp_fields *fields, size_t index, mcp_error *err)
{
    struct mcpi_field_node *node = &fields->nodes[index];
    const char *text = node->field->pattern;
    mcp_error why;
    int r;

    if (!text)
        return 0;
    if (!mcpi_utf8_valid(text, strlen(text)))
        return node_refuse(fields, index, "a pattern that is not UTF-8", err);
    r = mcpi_pattern_new(fields->mem, text, strlen(text), &node->pattern, &why);
    if (r == MCP_E_NOMEM)
        return mcpi_error_set(err, r, "%s", why.message);
    return r < 0 ? node_refuse(fields, index, why.message, err) : 0;
}

static int
node_check_default(const mcp_fields *fields, size_t index, mcp_error *err)
{
    const struct mcpi_field_node *node = &fields->nodes[index];
    const char *text = node->field->otherwise.string;
    const char *fault = fault_of_default(node);
    uint64_t effort = MCPI_FIELDS_EFFORT_MAX;
    int r;

    if (fault)
        return node_refuse(fields, index, fault, err);
    if (node->field->type != MCP_STRING || !text)
        return 0;
    r = mcpi_field_string_fits(node, text, strlen(text), &effort);
    if (r == MCP_E_NOMEM)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    if (r != 1)
        return node_refuse(fields, index,
                           "a default that does not fit lengths or pattern", err);
    return 0;
}

static int
node_check(mcp_fields *fields, size_t index, mcp_error *err)
{
    const struct mcpi_field_node *node = &fields->nodes[index];
    const char *fault = fault_of_type(node->field);
    int r;

    if (!fault)
        fault = fault_of_texts(node);
    if (!fault)
        fault = fault_of_extent(fields, node);
    if (!fault)
        fault = fault_of_place(node->field);
    if (!fault)
        fault = fault_of_bounds(node->field);
    if (!fault)
        fault = fault_of_names(node->field->names);
    if (!fault)
        fault = fault_of_header(node);
    if (!fault)
        fault = fault_of_twins(fields, index);
    if (fault)
        return node_refuse(fields, index, fault, err);
    r = node_compile_pattern(fields, index, err);
    return r < 0 ? r : node_check_default(fields, index, err);
}

static int
fields_grow(mcp_fields *fields)
{
    size_t room = fields->room ? fields->room * 2 : 8;
    struct mcpi_field_node *nodes;

    if (fields->used < fields->room)
        return 0;
    nodes = mcpi_realloc(fields->mem, fields->nodes, room * sizeof(*nodes));
    if (!nodes)
        return MCP_E_NOMEM;
    fields->nodes = nodes;
    fields->room = room;
    return 0;
}

/* Append the members of one table, which is nested in `parent`. */
static int
fields_append(mcp_fields *fields, const mcp_field *table, size_t parent,
              struct mcpi_field_range *ret, mcp_error *err)
{
    struct mcpi_field_node node = {.parent = parent};

    ret->first = fields->used;
    if (parent != SIZE_MAX) {
        node.depth = fields->nodes[parent].depth + 1;
        node.in_array = fields->nodes[parent].in_array ||
                        fields->nodes[parent].field->type == MCP_ARRAY;
    }
    if (node.depth >= MCP_FIELDS_DEPTH_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT,
                              "structs nested deeper than %d: does one contain itself?",
                              MCP_FIELDS_DEPTH_MAX);
    for (; table->name; table++) {
        if (fields->used == MCP_FIELDS_MAX)
            return mcpi_error_set(err, MCP_E_LIMIT, "more than %d fields",
                                  MCP_FIELDS_MAX);
        if (fields_grow(fields) < 0)
            return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
        node.field = table;
        node.name = table->as ? table->as : table->name;
        fields->nodes[fields->used++] = node;
    }
    ret->count = fields->used - ret->first;
    return 0;
}

/* Nodes that are appended on the way are met later in the same loop. */
static int
fields_lay_out(mcp_fields *fields, const mcp_field *table, mcp_error *err)
{
    int r = fields_append(fields, table, SIZE_MAX, &fields->top, err);

    for (size_t i = 0; r == 0 && i < fields->used; i++) {
        struct mcpi_field_range inner = {0, 0};

        r = node_check(fields, i, err);
        if (r == 0 && fields->nodes[i].field->fields)
            r = fields_append(fields, fields->nodes[i].field->fields, i, &inner, err);
        fields->nodes[i].inner = inner;
    }
    return r;
}

int
mcp_fields_new(const mcp_field *table, const mcp_fields_options *opt,
               mcp_fields **ret_fields, mcp_error *err)
{
    mcp_fields_options options;
    mcp_fields *fields;
    int r = mcpi_options_read(&options, sizeof(options), opt);

    if (r < 0 || !table || !ret_fields)
        return mcpi_error_set(err, MCP_E_INVAL, "no table, or options not known");
    options.allocator = mcpi_mem_or_malloc(options.allocator);
    fields = mcpi_alloc_zero(options.allocator, sizeof(*fields));
    if (!fields)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    fields->mem = options.allocator;
    fields->closed = options.closed;
    fields->max_bytes = options.max_bytes ? options.max_bytes : MCPI_FIELDS_BYTES_MAX;
    r = fields_lay_out(fields, table, err);
    if (r < 0)
        mcp_fields_free(fields);
    else
        *ret_fields = fields;
    return r;
}

void
mcp_fields_free(mcp_fields *fields)
{
    if (!fields)
        return;
    for (size_t i = 0; i < fields->used; i++)
        mcpi_pattern_free(fields->nodes[i].pattern);
    mcpi_free(fields->mem, fields->nodes);
    mcpi_free(fields->mem, fields);
}
