/*
 * field_decode.c - a checked value written into its struct
 *
 * Nothing here can fail: the value fits the table, and the one block that all arrays
 * are cut from is as large as the check added up.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/field.h"

struct mcp_decoded {
    const mcp_allocator *mem;
    mcp_doc *doc; /* strings point into it; NULL: the caller keeps it */
};

/* Where the arrays begin in the block. */
#define HEAD_SIZE \
    ((sizeof(mcp_decoded) + MCPI_FIELD_ALIGN - 1) & ~(size_t)(MCPI_FIELD_ALIGN - 1))

struct decode {
    const mcp_fields *fields;
    char *room; /* for the next array */
};

static void
store_bool(char *into, size_t at, bool value)
{
    if (at)
        memcpy(into + at - 1, &value, sizeof(value));
}

static void
store_size(char *into, size_t at, size_t value)
{
    if (at)
        memcpy(into + at - 1, &value, sizeof(value));
}

static void
store_string(const mcp_field *field, char *record, char *into, const mcp_json *value)
{
    const char *text = mcp_json_string(value, NULL);

    memcpy(into, &text, sizeof(text));
    if (field->type == MCP_STRING)
        store_size(record, field->length, mcp_json_string_length(value));
}

static void
store_number(char *into, double number)
{
    memcpy(into, &number, sizeof(number));
}

static void
store_enum(const mcp_field *field, char *into, const char *name)
{
    const mcp_enum_name *entry = mcpi_enum_find(field->names, name);

    assert(entry); /* it was checked */
    memcpy(into, &entry->value, sizeof(entry->value));
}

static void decode_struct(struct decode *d, struct mcpi_field_range range, char *record,
                          const mcp_json *value);

/* A value that is there; `record` is the struct it is a member of, for its length. */
static void
decode_item(struct decode *d, const struct mcpi_field_node *node, char *record,
            char *into, const mcp_json *value)
{
    const mcp_field *field = node->field;
    struct mcpi_integer number = {0};

    switch (mcpi_field_item(field)) {
    case MCP_STRING:
        store_string(field, record, into, value);
        break;
    case MCP_INT:
    case MCP_UINT:
        (void)mcpi_integer_read(value, &number); /* it was checked */
        mcpi_integer_store(number, into, mcpi_field_item_size(field));
        break;
    case MCP_NUMBER:
        store_number(into, mcp_json_number(value, 0));
        break;
    case MCP_BOOL:
        store_bool(into, 1, mcp_json_bool(value, false));
        break;
    case MCP_ENUM:
        store_enum(field, into, mcp_json_string(value, ""));
        break;
    case MCP_STRUCT:
        decode_struct(d, node->inner, into, value);
        break;
    default:
        memcpy(into, &value, sizeof(value));
    }
}

static void
decode_array(struct decode *d, const struct mcpi_field_node *node, char *record,
             const mcp_json *value)
{
    const mcp_field *field = node->field;
    size_t count = mcp_json_count(value);
    size_t bytes = count * field->item_size;
    char *items = count ? d->room : NULL;
    mcp_json_iterator it;

    memcpy(record + field->offset, &items, sizeof(items));
    store_size(record, field->count, count);
    if (count == 0)
        return;
    d->room += (bytes + MCPI_FIELD_ALIGN - 1) & ~(size_t)(MCPI_FIELD_ALIGN - 1);
    memset(items, 0, bytes);
    for (it = mcp_json_each(value); mcp_json_next(&it);)
        decode_item(d, node, record, items + it.index * field->item_size, it.value);
}

static void
decode_default(const mcp_field *field, char *record)
{
    const mcp_constant *otherwise = &field->otherwise;
    char *into = record + field->offset;

    switch (field->type) {
    case MCP_INT:
    case MCP_UINT:
        mcpi_integer_store(mcpi_integer_of(otherwise->integer), into, field->size);
        break;
    case MCP_NUMBER:
        store_number(into, mcpi_constant_number(otherwise));
        break;
    case MCP_BOOL:
        store_bool(into, 1, otherwise->integer != 0);
        break;
    case MCP_ENUM:
        store_enum(field, into, otherwise->string);
        break;
    default:
        memcpy(into, &otherwise->string, sizeof(otherwise->string));
        store_size(record, field->length, strlen(otherwise->string));
    }
}

static void
decode_absent(struct decode *d, const struct mcpi_field_node *node, char *record)
{
    const mcp_field *field = node->field;

    if (field->otherwise.type) {
        decode_default(field, record);
        return;
    }
    if (field->type == MCP_STRUCT) { /* its members have defaults of their own */
        decode_struct(d, node->inner, record + field->offset, NULL);
        return;
    }
    memset(record + field->offset, 0, field->size);
    store_size(record, field->length, 0);
    store_size(record, field->count, 0);
}

static void
decode_struct(struct decode *d, struct mcpi_field_range range, char *record,
              const mcp_json *value)
{
    for (size_t i = range.first; i < range.first + range.count; i++) {
        const struct mcpi_field_node *node = &d->fields->nodes[i];
        const mcp_json *member = mcp_json_get(value, node->name);

        store_bool(record, node->field->present, member != NULL);
        if (!member)
            decode_absent(d, node, record);
        else if (node->field->type == MCP_ARRAY)
            decode_array(d, node, record, member);
        else
            decode_item(d, node, record, record + node->field->offset, member);
    }
}

int
mcp_fields_decode(const mcp_fields *fields, mcp_doc *doc, const mcp_json *value,
                  void *into, mcp_decoded **ret_decoded, mcp_error *err)
{
    struct decode d = {.fields = fields};
    mcp_decoded *decoded;
    size_t bytes;
    int r;

    if (!fields || !into || !ret_decoded)
        return mcpi_error_set(err, MCP_E_INVAL, "nothing to decode with or into");
    r = mcpi_fields_measure(fields, value, &bytes, err);
    if (r < 0)
        return r;
    decoded = bytes <= SIZE_MAX - HEAD_SIZE ? mcpi_alloc(fields->mem, HEAD_SIZE + bytes)
                                            : NULL;
    if (!decoded)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    decoded->mem = fields->mem;
    decoded->doc = doc ? mcp_doc_ref(doc) : NULL;
    d.room = (char *)decoded + HEAD_SIZE;
    decode_struct(&d, fields->top, into, value);
    assert(d.room == (char *)decoded + HEAD_SIZE + bytes);
    *ret_decoded = decoded;
    return 0;
}

void
mcp_decoded_free(mcp_decoded *decoded)
{
    if (!decoded)
        return;
    mcp_doc_free(decoded->doc);
    mcpi_free(decoded->mem, decoded);
}
