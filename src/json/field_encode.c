/* field_encode.c - a struct written as JSON */
#include <string.h>

#include "base/text.h"
#include "json/field.h"

struct encode {
    const mcp_fields *fields;
    mcp_builder *b;
    mcp_error *err;
};

static int
encode_refuse(const struct encode *e, const struct mcpi_field_node *node,
              const char *why)
{
    return mcpi_error_set(e->err, MCP_E_INVAL, "field '%s': %s", node->name, why);
}

static bool
load_bool(const char *from, size_t at)
{
    bool value;

    memcpy(&value, from + at - 1, sizeof(value));
    return value;
}

static size_t
load_size(const char *from, size_t at)
{
    size_t value;

    memcpy(&value, from + at - 1, sizeof(value));
    return value;
}

static const char *
load_pointer(const char *from)
{
    const char *pointer;

    memcpy(&pointer, from, sizeof(pointer));
    return pointer;
}

static bool
is_left_out(const mcp_field *field, const char *record)
{
    if (field->flags & MCP_REQUIRED)
        return false;
    if (field->present)
        return !load_bool(record, field->present);
    if (field->type == MCP_ARRAY)
        return load_size(record, field->count) == 0;
    return (field->type == MCP_STRING || field->type == MCP_JSON) &&
           !load_pointer(record + field->offset);
}

static int
encode_string(struct encode *e, const struct mcpi_field_node *node, const char *record,
              const char *from, const char *key)
{
    const char *text = load_pointer(from);
    size_t len;

    if (!text)
        return encode_refuse(e, node, "a string that is NULL");
    if (node->field->type == MCP_STRING && node->field->length)
        len = load_size(record, node->field->length);
    else
        len = strlen(text);
    if (!mcpi_utf8_valid(text, len))
        return encode_refuse(e, node, "a text that is not UTF-8");
    mcp_builder_string_n(e->b, key, text, len);
    return 0;
}

static int
encode_number(struct encode *e, const struct mcpi_field_node *node, const char *from,
              const char *key)
{
    double number;

    memcpy(&number, from, sizeof(number));
    if (number - number != 0) /* infinite, or not a number */
        return encode_refuse(e, node, "a number that is not finite");
    mcp_builder_real(e->b, key, number);
    return 0;
}

static int
encode_enum(struct encode *e, const struct mcpi_field_node *node, const char *from,
            const char *key)
{
    const mcp_enum_name *entry;
    int value;

    memcpy(&value, from, sizeof(value));
    entry = mcpi_enum_find_value(node->field->names, value);
    if (!entry)
        return encode_refuse(e, node, "a value that has no name");
    mcp_builder_string(e->b, key, entry->name);
    return 0;
}

static int
encode_json(struct encode *e, const struct mcpi_field_node *node, const char *from,
            const char *key)
{
    const mcp_json *value;

    memcpy(&value, from, sizeof(value));
    if (!value)
        return encode_refuse(e, node, "a value that is NULL");
    mcp_builder_value(e->b, key, value);
    return 0;
}

static int encode_struct(struct encode *e, struct mcpi_field_range range,
                         const char *record, const char *key);

static int
encode_item(struct encode *e, const struct mcpi_field_node *node, const char *record,
            const char *from, const char *key)
{
    enum mcp_field_type type = mcpi_field_item(node->field);
    size_t size = mcpi_field_item_size(node->field);

    switch (type) {
    case MCP_STRING:
        return encode_string(e, node, record, from, key);
    case MCP_INT:
    case MCP_UINT:
        mcpi_integer_write(mcpi_integer_load(from, size, type == MCP_INT), e->b, key);
        return 0;
    case MCP_NUMBER:
        return encode_number(e, node, from, key);
    case MCP_BOOL:
        mcp_builder_bool(e->b, key, load_bool(from, 1));
        return 0;
    case MCP_ENUM:
        return encode_enum(e, node, from, key);
    case MCP_STRUCT:
        return encode_struct(e, node->inner, from, key);
    default:
        return encode_json(e, node, from, key);
    }
}

static int
encode_array(struct encode *e, const struct mcpi_field_node *node, const char *record)
{
    const char *items = load_pointer(record + node->field->offset);
    size_t count = load_size(record, node->field->count);
    int r = 0;

    if (!items && count > 0)
        return encode_refuse(e, node, "items that are NULL");
    mcp_builder_begin_array(e->b, node->name);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = encode_item(e, node, record, items + i * node->field->item_size, NULL);
    mcp_builder_end(e->b);
    return r;
}

static int
encode_struct(struct encode *e, struct mcpi_field_range range, const char *record,
              const char *key)
{
    int r = 0;

    mcp_builder_begin_object(e->b, key);
    for (size_t i = range.first; r == 0 && i < range.first + range.count; i++) {
        const struct mcpi_field_node *node = &e->fields->nodes[i];
        const mcp_field *field = node->field;

        if (is_left_out(field, record))
            continue;
        if (field->type == MCP_ARRAY)
            r = encode_array(e, node, record);
        else
            r = encode_item(e, node, record, record + field->offset, node->name);
    }
    mcp_builder_end(e->b);
    return r;
}

int
mcp_fields_encode(const mcp_fields *fields, const void *from, mcp_builder *b,
                  const char *key, mcp_error *err)
{
    struct encode e = {.fields = fields, .b = b, .err = err};
    int r;

    if (!fields || !from)
        return mcpi_error_set(err, MCP_E_INVAL, "nothing to encode");
    r = encode_struct(&e, fields->top, from, key);
    if (r < 0)
        return r;
    r = mcp_builder_status(b);
    if (r == 0 || r == MCP_E_STATE) /* more may follow */
        return 0;
    return mcpi_error_set(err, r, "%s", mcp_status_text(r));
}
