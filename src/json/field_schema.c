/* field_schema.c - a field table written as JSON Schema */
#include "json/field.h"

static const char *
type_name(enum mcp_field_type type)
{
    switch (type) {
    case MCP_INT:
    case MCP_UINT:
        return "integer";
    case MCP_NUMBER:
        return "number";
    case MCP_BOOL:
        return "boolean";
    case MCP_ARRAY:
        return "array";
    case MCP_STRUCT:
        return "object";
    default:
        return "string";
    }
}

static void
write_number_bound(const mcp_constant *bound, mcp_builder *b, const char *key)
{
    if (bound->type == MCP_INT)
        mcp_builder_int(b, key, bound->integer);
    else if (bound->type)
        mcp_builder_real(b, key, bound->number);
}

static void
write_bounds(const mcp_field *field, mcp_builder *b)
{
    struct mcpi_integer low, high;
    unsigned says;

    if (mcpi_field_item(field) == MCP_NUMBER) {
        write_number_bound(&field->minimum, b, "minimum");
        write_number_bound(&field->maximum, b, "maximum");
        return;
    }
    says = mcpi_integer_range(field, &low, &high);
    if (says & 1)
        mcpi_integer_write(low, b, "minimum");
    if (says & 2)
        mcpi_integer_write(high, b, "maximum");
}

static void
write_size(mcp_builder *b, const char *key, size_t size)
{
    if (size)
        mcp_builder_uint(b, key, size);
}

static void
write_names(const mcp_enum_name *names, mcp_builder *b)
{
    mcp_builder_begin_array(b, "enum");
    for (; names->name; names++)
        mcp_builder_string(b, NULL, names->name);
    mcp_builder_end(b);
}

static void write_struct(const mcp_fields *fields, struct mcpi_field_range range,
                         mcp_builder *b);

/* What is said of a value, or of each item of an array. */
static void
write_item(const mcp_fields *fields, const struct mcpi_field_node *node, mcp_builder *b)
{
    const mcp_field *field = node->field;
    enum mcp_field_type type = mcpi_field_item(field);

    if (type != MCP_JSON)
        mcp_builder_string(b, "type", type_name(type));
    if (type == MCP_ENUM)
        write_names(field->names, b);
    if (type == MCP_INT || type == MCP_UINT || type == MCP_NUMBER)
        write_bounds(field, b);
    write_size(b, "minLength", field->min_length);
    write_size(b, "maxLength", field->max_length);
    if (field->pattern)
        mcp_builder_string(b, "pattern", field->pattern);
    if (type == MCP_STRUCT)
        write_struct(fields, node->inner, b);
}

static void
write_array(const mcp_fields *fields, const struct mcpi_field_node *node,
            mcp_builder *b)
{
    mcp_builder_string(b, "type", "array");
    mcp_builder_begin_object(b, "items");
    write_item(fields, node, b);
    mcp_builder_end(b);
    write_size(b, "minItems", node->field->min_items);
    write_size(b, "maxItems", node->field->max_items);
}

static void
write_default(const mcp_constant *otherwise, mcp_builder *b)
{
    if (otherwise->type == MCP_INT)
        mcp_builder_int(b, "default", otherwise->integer);
    else if (otherwise->type == MCP_NUMBER)
        mcp_builder_real(b, "default", otherwise->number);
    else if (otherwise->type == MCP_BOOL)
        mcp_builder_bool(b, "default", otherwise->integer != 0);
    else if (otherwise->type == MCP_STRING)
        mcp_builder_string(b, "default", otherwise->string);
}

static void
write_property(const mcp_fields *fields, const struct mcpi_field_node *node,
               mcp_builder *b)
{
    const mcp_field *field = node->field;

    mcp_builder_begin_object(b, node->name);
    if (field->title)
        mcp_builder_string(b, "title", field->title);
    if (field->description)
        mcp_builder_string(b, "description", field->description);
    if (field->type == MCP_ARRAY)
        write_array(fields, node, b);
    else
        write_item(fields, node, b);
    write_default(&field->otherwise, b);
    if (field->header)
        mcp_builder_string(b, "x-mcp-header", field->header);
    mcp_builder_end(b);
}

static void
write_required(const mcp_fields *fields, struct mcpi_field_range range, mcp_builder *b)
{
    bool is_open = false;

    for (size_t i = range.first; i < range.first + range.count; i++) {
        if (!(fields->nodes[i].field->flags & MCP_REQUIRED))
            continue;
        if (!is_open)
            mcp_builder_begin_array(b, "required");
        is_open = true;
        mcp_builder_string(b, NULL, fields->nodes[i].name);
    }
    if (is_open)
        mcp_builder_end(b);
}

/* The members of a schema that describe a struct, without "type". */
static void
write_struct(const mcp_fields *fields, struct mcpi_field_range range, mcp_builder *b)
{
    if (range.count > 0) {
        mcp_builder_begin_object(b, "properties");
        for (size_t i = range.first; i < range.first + range.count; i++)
            write_property(fields, &fields->nodes[i], b);
        mcp_builder_end(b);
    }
    write_required(fields, range, b);
    if (fields->closed)
        mcp_builder_bool(b, "additionalProperties", false);
}

void
mcp_fields_write_schema(const mcp_fields *fields, mcp_builder *b, const char *key)
{
    if (!fields)
        return;
    mcp_builder_begin_object(b, key);
    mcp_builder_string(b, "type", "object");
    write_struct(fields, fields->top, b);
    mcp_builder_end(b);
}
