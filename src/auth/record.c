/* record.c - texts of one object, in one block, and as JSON */
#include "auth/record.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

static const char **
text_at(void *record, const struct mcpi_record_field *field)
{
    return (const char **)((char *)record + field->offset);
}

static const char *
text_of(const void *record, const struct mcpi_record_field *field)
{
    const char *text;

    memcpy(&text, (const char *)record + field->offset, sizeof(text));
    return text ? text : "";
}

void *
mcpi_record_new(const mcp_allocator *mem, const void *parts, size_t size,
                const struct mcpi_record_field *fields)
{
    const struct mcpi_record_field *field;
    size_t all = size;
    char *block, *at;

    for (field = fields; field->name; field++)
        all += strlen(text_of(parts, field)) + 1;
    block = mcpi_alloc(mem, all);
    if (!block)
        return NULL;
    memcpy(block, parts, size);
    at = block + size;
    for (field = fields; field->name; field++) {
        const char *text = text_of(parts, field);

        *text_at(block, field) = mcpi_text_stow(&at, text, strlen(text));
    }
    return block;
}

void
mcpi_record_write(const void *record, const struct mcpi_record_field *fields,
                  struct mcpi_buf *into)
{
    const struct mcpi_record_field *field;
    bool first = true;

    for (field = fields; field->name; field++) {
        const char *text = text_of(record, field);

        if (!*text)
            continue;
        if (!first)
            mcpi_buf_char(into, ',');
        first = false;
        (void)mcpi_json_write_string(into, field->name, strlen(field->name));
        mcpi_buf_char(into, ':');
        if (mcpi_json_write_string(into, text, strlen(text)) == MCP_E_INVAL)
            MCPI_BUF_LITERAL(into, "\"\""); /* not UTF-8: as if it were not there */
    }
}

bool
mcpi_record_read(const mcp_json *json, const struct mcpi_record_field *fields,
                 void *record)
{
    const struct mcpi_record_field *field;

    for (field = fields; field->name; field++) {
        const mcp_json *value = mcp_json_get(json, field->name);
        const char *text = mcp_json_string(value, NULL);

        if (mcp_json_get_type(value) == MCP_JSON_NULL)
            value = NULL; /* some write down what they have not */
        if (value && (!text || strlen(text) != mcp_json_string_length(value)))
            return false;
        *text_at(record, field) = text ? text : "";
    }
    return true;
}
