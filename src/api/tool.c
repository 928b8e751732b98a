/* tool.c - one tool of a server: checked and rendered once, when it is added */
#include "api/tool.h"

#include <string.h>

#include "api/identity.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/timers.h"
#include "wire/meta.h"

#define HINTS (MCP_READ_ONLY | MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT | MCP_CLOSED_WORLD)

/* Letters, digits, underscore, hyphen and dot: what a name "SHOULD" be made of is all
 * that hosts can be relied on to take (2026-07-28, server/tools, Tool Names). */
static bool
name_char_fits(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
}

bool
mcpi_tool_name_fits(const char *name, size_t len)
{
    if (len == 0 || len > MCPI_TOOL_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!name_char_fits(name[i]))
            return false;
    }
    return true;
}

/* ---- what is given as JSON text ----------------------------------------- */

/* Parse a text that must be an object; `what` names it in err. */
static int
object_parse(const mcp_allocator *mem, const char *text, const char *what,
             mcp_doc **ret_doc, mcp_error *err)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = mem,
                                                  .unique_keys = true);
    mcp_error why = {0};
    mcp_doc *doc;
    int r;

    r = mcp_doc_parse(text, strlen(text), &opt, &doc, &why);
    if (r < 0)
        return mcpi_error_set(err, r == MCP_E_NOMEM ? r : MCP_E_INVAL, "its %s: %s",
                              what, why.message);
    if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT) {
        mcp_doc_free(doc);
        return mcpi_error_set(err, MCP_E_INVAL, "its %s is not an object", what);
    }
    *ret_doc = doc;
    return 0;
}

/* A schema of the program's: compiled, and written into lists as it is. Both eras want
 * "type": "object" at the root of an input; the legacy one wants it of an output
 * too. */
static int
schema_take(struct mcpi_tool *tool, const char *text, const char *key,
            mcp_schema **ret_schema, mcp_error *err)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = tool->mem);
    const mcp_json *root;
    mcp_error why = {0};
    mcp_doc *doc;
    int r;

    r = object_parse(tool->mem, text, key, &doc, err);
    if (r < 0)
        return r;
    root = mcp_doc_root(doc);
    if (!mcp_json_is_string(mcp_json_get(root, "type"), "object"))
        r = mcpi_error_set(err, MCP_E_INVAL,
                           "its %s must have \"type\": \"object\" at its root", key);
    if (r == 0) {
        r = mcp_schema_compile(root, &opt, ret_schema, &why);
        if (r < 0)
            (void)mcpi_error_set(err, r, "its %s: %s", key, why.message);
    }
    if (r == 0)
        mcp_builder_value(tool->shown, key, root);
    mcp_doc_free(doc);
    return r;
}

/* A field table of the program's. */
static int
table_take(struct mcpi_tool *tool, const mcp_field *table, const char *key,
           mcp_fields **ret_fields, mcp_error *err)
{
    const mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = tool->mem);
    mcp_error why = {0};
    int r;

    r = mcp_fields_new(table, &opt, ret_fields, &why);
    if (r < 0)
        return mcpi_error_set(err, r, "its %s: %s", key, why.message);
    mcp_fields_write_schema(*ret_fields, tool->shown, key);
    return 0;
}

static int
meta_take(struct mcpi_tool *tool, const char *text, mcp_error *err)
{
    mcp_json_iterator it;
    mcp_doc *doc = NULL;
    int r;

    r = object_parse(tool->mem, text, "_meta", &doc, err);
    if (r < 0)
        return r;
    for (it = mcp_json_each(mcp_doc_root(doc)); r == 0 && mcp_json_next(&it);) {
        if (mcpi_meta_reserved(mcp_json_string(it.key, ""),
                               mcp_json_string_length(it.key)))
            r = mcpi_error_set(err, MCP_E_INVAL, "the key %s of its _meta is reserved",
                               mcp_json_string(it.key, ""));
    }
    if (r == 0)
        mcp_builder_value(tool->shown, "_meta", mcp_doc_root(doc));
    mcp_doc_free(doc);
    return r;
}

/* ---- its object in lists ------------------------------------------------ */

static int
input_take(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    if (definition->fields && definition->input_schema)
        return mcpi_error_set(err, MCP_E_INVAL, "it has fields and an input schema");
    if (definition->fields)
        return table_take(tool, definition->fields, "inputSchema", &tool->input, err);
    if (definition->input_schema)
        return schema_take(tool, definition->input_schema, "inputSchema",
                           &tool->input_schema, err);
    mcp_builder_begin_object(tool->shown, "inputSchema");
    mcp_builder_string(tool->shown, "type", "object");
    mcp_builder_end(tool->shown);
    return 0;
}

static int
output_take(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    if (definition->output_fields && definition->output_schema)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "it has output fields and an output schema");
    if (definition->output_fields)
        return table_take(tool, definition->output_fields, "outputSchema",
                          &tool->output, err);
    if (definition->output_schema)
        return schema_take(tool, definition->output_schema, "outputSchema",
                           &tool->output_schema, err);
    return 0;
}

/* Only what differs from what a host assumes anyway. The title stands here too, because
 * 2025-03-26 knows it nowhere else. */
static void
hints_build(mcp_builder *b, const mcp_tool *definition)
{
    unsigned hints = definition->hints;

    if (hints == 0 && !definition->title)
        return;
    mcp_builder_begin_object(b, "annotations");
    if (definition->title)
        mcp_builder_string(b, "title", definition->title);
    if (hints & MCP_READ_ONLY)
        mcp_builder_bool(b, "readOnlyHint", true);
    if (hints & MCP_NOT_DESTRUCTIVE)
        mcp_builder_bool(b, "destructiveHint", false);
    if (hints & MCP_IDEMPOTENT)
        mcp_builder_bool(b, "idempotentHint", true);
    if (hints & MCP_CLOSED_WORLD)
        mcp_builder_bool(b, "openWorldHint", false);
    mcp_builder_end(b);
}

static int
tool_render(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    mcp_builder *b = tool->shown;
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "name", tool->name);
    if (definition->title)
        mcp_builder_string(b, "title", definition->title);
    if (definition->description)
        mcp_builder_string(b, "description", definition->description);
    mcpi_icons_build(b, "icons", definition->icons);
    r = input_take(tool, definition, err);
    if (r == 0)
        r = output_take(tool, definition, err);
    if (r < 0)
        return r;
    hints_build(b, definition);
    if (definition->meta)
        r = meta_take(tool, definition->meta, err);
    if (r < 0)
        return r;
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

/* ---- making one --------------------------------------------------------- */

static int
handler_take(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    int handlers = (definition->run != NULL) + (definition->start != NULL) +
                   (definition->reply != NULL);

    if (handlers != 1)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "it needs one handler: run, start or reply");
    if (definition->run) {
        tool->kind = MCPI_RUNS;
        tool->handler = definition->run;
    } else if (definition->start) {
        tool->kind = MCPI_STARTS;
        tool->handler = definition->start;
    } else {
        tool->kind = MCPI_REPLIES;
        tool->handler = definition->reply;
    }
    tool->user = definition->user;
    return 0;
}

static int64_t
limit_us(int64_t ms)
{
    return ms < 0 ? MCPI_NEVER : mcpi_ms(ms);
}

static int
tool_fill(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    int r;

    if (definition->hints & ~(unsigned)HINTS)
        return mcpi_error_set(err, MCP_E_INVAL, "it has an unknown hint");
    if (definition->flags & ~(unsigned)MCP_SIGNAL_ONLY)
        return mcpi_error_set(err, MCP_E_INVAL, "it has an unknown flag");
    tool->signal_only = definition->flags & MCP_SIGNAL_ONLY;
    tool->limit_us = limit_us(definition->limit_ms);
    r = handler_take(tool, definition, err);
    if (r == 0)
        r = mcpi_text_check(definition->title, "title", err);
    if (r == 0)
        r = mcpi_text_check(definition->description, "description", err);
    if (r == 0)
        r = mcpi_icons_check(definition->icons, err);
    if (r == 0)
        r = tool_render(tool, definition, err);
    return r;
}

static void
tool_destroy(struct mcpi_tool *tool)
{
    mcp_fields_free(tool->input);
    mcp_fields_free(tool->output);
    mcp_schema_free(tool->input_schema);
    mcp_schema_free(tool->output_schema);
    mcp_builder_free(tool->shown);
    mcpi_free(tool->mem, tool);
}

int
mcpi_tool_new(const mcp_allocator *mem, const mcp_tool *definition,
              struct mcpi_tool **ret_tool, mcp_error *err)
{
    size_t len = definition->name ? strlen(definition->name) : 0;
    struct mcpi_tool *tool;
    mcp_error why = {0};
    int r;

    if (!mcpi_tool_name_fits(definition->name, len))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "a tool's name is 1 to 128 letters, digits, _ - and ., "
                              "not \"%.60s\"",
                              definition->name ? definition->name : "");
    tool = mcpi_alloc_zero(mem, sizeof(*tool));
    if (!tool)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    atomic_init(&tool->refs, 1);
    tool->mem = mem;
    memcpy(tool->name, definition->name, len);
    tool->shown = mcp_builder_new(mem);
    r = tool_fill(tool, definition, &why);
    if (r < 0) {
        (void)mcpi_error_set(err, r, "tool %s: %s", tool->name, why.message);
        tool_destroy(tool);
        return r;
    }
    *ret_tool = tool;
    return 0;
}

struct mcpi_tool *
mcpi_tool_ref(struct mcpi_tool *tool)
{
    atomic_fetch_add_explicit(&tool->refs, 1, memory_order_relaxed);
    return tool;
}

void
mcpi_tool_unref(struct mcpi_tool *tool)
{
    if (tool && atomic_fetch_sub_explicit(&tool->refs, 1, memory_order_acq_rel) == 1)
        tool_destroy(tool);
}

/* ---- using it ----------------------------------------------------------- */

int
mcpi_tool_check_input(const struct mcpi_tool *tool, const mcp_json *arguments,
                      mcp_error *err)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = tool->mem);
    mcp_doc *empty;
    int r;

    if (tool->input)
        return mcp_fields_check(tool->input, arguments, err);
    if (!tool->input_schema)
        return 0;
    if (arguments)
        return mcp_schema_check(tool->input_schema, arguments, NULL, err);
    r = mcp_doc_parse("{}", 2, &opt, &empty, err); /* none are an empty object */
    if (r < 0)
        return r;
    r = mcp_schema_check(tool->input_schema, mcp_doc_root(empty), NULL, err);
    mcp_doc_free(empty);
    return r;
}

bool
mcpi_tool_has_output(const struct mcpi_tool *tool)
{
    return tool->output || tool->output_schema;
}

int
mcpi_tool_check_output(const struct mcpi_tool *tool, const mcp_json *output,
                       mcp_error *err)
{
    if (tool->output)
        return mcp_fields_check(tool->output, output, err);
    if (tool->output_schema)
        return mcp_schema_check(tool->output_schema, output, NULL, err);
    return 0;
}
