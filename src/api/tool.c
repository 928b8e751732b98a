/* tool.c - one tool of a server: checked and rendered once, when it is added */
#include "api/tool.h"

#include <string.h>

#include "api/identity.h"
#include "api/isolation.h"
#include "base/text.h"

#define HINTS (MCP_READ_ONLY | MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT | MCP_CLOSED_WORLD)

/* ---- what is given as JSON text ----------------------------------------- */

static bool
wants_object(const mcp_json *schema)
{
    return mcp_json_is_string(mcp_json_get(schema, "type"), "object");
}

/* A schema of the program's: compiled, and written into lists as it is. */
static int
schema_take(struct mcpi_tool *tool, const char *text, const char *key,
            mcp_schema **ret_schema, bool *ret_is_object, mcp_error *err)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = tool->offer.mem);
    const mcp_json *root;
    mcp_error why = {0};
    mcp_doc *doc;
    int r;

    r = mcpi_object_parse(tool->offer.mem, text, key, &doc, err);
    if (r < 0)
        return r;
    root = mcp_doc_root(doc);
    *ret_is_object = wants_object(root);
    r = mcp_schema_compile(root, &opt, ret_schema, &why);
    if (r < 0)
        (void)mcpi_error_set(err, r, "its %s: %s", key, why.message);
    else
        mcp_builder_value(tool->offer.shown, key, root);
    mcp_doc_free(doc);
    return r;
}

/* A field table of the program's. */
static int
table_take(struct mcpi_tool *tool, const mcp_field *table, const char *key,
           mcp_fields **ret_fields, mcp_error *err)
{
    const mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = tool->offer.mem);
    mcp_error why = {0};
    int r;

    r = mcp_fields_new(table, &opt, ret_fields, &why);
    if (r < 0)
        return mcpi_error_set(err, r, "its %s: %s", key, why.message);
    mcp_fields_write_schema(*ret_fields, tool->offer.shown, key);
    return 0;
}

/* ---- its object in lists ------------------------------------------------ */

static int
input_take(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    bool is_object;
    int r;

    if (definition->fields && definition->input_schema)
        return mcpi_error_set(err, MCP_E_INVAL, "it has fields and an input schema");
    if (definition->fields)
        return table_take(tool, definition->fields, "inputSchema", &tool->input, err);
    if (definition->input_schema) {
        r = schema_take(tool, definition->input_schema, "inputSchema",
                        &tool->input_schema, &is_object, err);
        if (r == 0 && !is_object)
            r = mcpi_error_set(
                err, MCP_E_INVAL,
                "its inputSchema must have \"type\": \"object\" at its root");
        return r;
    }
    mcp_builder_begin_object(tool->offer.shown, "inputSchema");
    mcp_builder_string(tool->offer.shown, "type", "object");
    mcp_builder_end(tool->offer.shown);
    return 0;
}

static int
output_take(struct mcpi_tool *tool, const mcp_tool *definition, bool *ret_is_object,
            mcp_error *err)
{
    *ret_is_object = true;
    if (definition->output_fields && definition->output_schema)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "it has output fields and an output schema");
    if (definition->output_fields)
        return table_take(tool, definition->output_fields, "outputSchema",
                          &tool->output, err);
    if (definition->output_schema)
        return schema_take(tool, definition->output_schema, "outputSchema",
                           &tool->output_schema, ret_is_object, err);
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

/* Which arguments stand in headers too; read from what is shown, because that is what
 * clients go by, whether it came from a schema or from a table. */
static int
mirror_take(struct mcpi_tool *tool, mcp_error *err)
{
    const char *fault = NULL;
    mcp_doc *doc;
    int r;

    if (!tool->input && !tool->input_schema)
        return 0;
    r = mcp_builder_parse(tool->offer.shown, &doc);
    if (r == 0) {
        r = mcpi_mirror_new(tool->offer.mem,
                            mcp_json_get(mcp_doc_root(doc), "inputSchema"),
                            &tool->mirror, &fault);
        mcp_doc_free(doc);
    }
    if (fault)
        return mcpi_error_set(err, r, "its inputSchema: %s", fault);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

/* What is no object has no place in the legacy era: neither the schema nor the output
 * (2025-11-25, schema, Tool and CallToolResult). */
static int
render_legacy(struct mcpi_tool *tool, mcp_error *err)
{
    mcp_builder *b = mcp_builder_new(tool->offer.mem);
    mcp_json_iterator it;
    mcp_doc *doc;
    int r;

    tool->offer.legacy_shown = b;
    r = b ? mcp_builder_parse(tool->offer.shown, &doc) : MCP_E_NOMEM;
    if (r == 0) {
        mcp_builder_begin_object(b, NULL);
        for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);)
            if (!mcp_json_is_string(it.key, "outputSchema"))
                mcp_builder_value(b, mcp_json_string(it.key, ""), it.value);
        mcp_builder_end(b);
        mcp_doc_free(doc);
        r = mcp_builder_status(b);
    }
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

static int
tool_render(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    mcp_builder *b = tool->offer.shown;
    bool is_object = true;
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "name", tool->offer.key);
    if (definition->title)
        mcp_builder_string(b, "title", definition->title);
    if (definition->description)
        mcp_builder_string(b, "description", definition->description);
    mcpi_icons_build(b, "icons", definition->icons);
    r = input_take(tool, definition, err);
    if (r == 0)
        r = output_take(tool, definition, &is_object, err);
    if (r < 0)
        return r;
    hints_build(b, definition);
    r = mcpi_offer_write_meta(&tool->offer, definition->meta, err);
    if (r < 0)
        return r;
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    r = mirror_take(tool, err);
    return r < 0 || is_object ? r : render_legacy(tool, err);
}

/* ---- making one --------------------------------------------------------- */

static int
tool_fill(struct mcpi_tool *tool, const mcp_tool *definition, mcp_error *err)
{
    const mcp_handler handler = {definition->run, definition->start, definition->reply,
                                 definition->user};
    int r;

    if (definition->hints & ~(unsigned)HINTS)
        return mcpi_error_set(err, MCP_E_INVAL, "it has an unknown hint");
    r = mcpi_handler_read(&handler, &tool->offer.handler, err);
    if (r == 0)
        r = mcpi_handler_bound(&tool->offer.handler, definition->flags,
                               definition->limit_ms, err);
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
tool_destroy(struct mcpi_offer *offer)
{
    struct mcpi_tool *tool = mcpi_tool_of(offer);

    mcp_fields_free(tool->input);
    mcp_fields_free(tool->output);
    mcp_schema_free(tool->input_schema);
    mcp_schema_free(tool->output_schema);
    mcpi_mirror_free(tool->mirror);
    mcpi_crew_free(tool->crew);
    mcpi_offer_done(offer);
}

int
mcpi_tool_new(const mcp_allocator *mem, const mcp_tool *definition,
              struct mcpi_tool **ret_tool, mcp_error *err)
{
    size_t len = definition->name ? strlen(definition->name) : 0;
    struct mcpi_tool *tool;
    mcp_error why = {0};
    int r;

    if (!mcpi_name_fits(definition->name, len))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "a tool's name is 1 to 128 letters, digits, _ - and ., "
                              "not \"%.60s\"",
                              definition->name ? definition->name : "");
    tool = mcpi_offer_new(mem, sizeof(*tool), definition->name, tool_destroy);
    if (!tool)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    r = tool_fill(tool, definition, &why);
    if (r < 0) {
        (void)mcpi_error_set(err, r, "tool %s: %s", tool->offer.key, why.message);
        mcpi_offer_unref(&tool->offer);
        return r;
    }
    *ret_tool = tool;
    return 0;
}

void
mcpi_tool_isolate(struct mcpi_tool *tool, struct mcpi_crew *take_crew)
{
    struct mcpi_handler *handler = &tool->offer.handler;

    tool->crew = take_crew;
    handler->kind = MCPI_STARTS;
    handler->fn = mcpi_crew_start;
    handler->user = take_crew;
}

/* ---- using it ----------------------------------------------------------- */

int
mcpi_tool_check_input(const struct mcpi_tool *tool, const mcp_json *arguments,
                      mcp_error *err)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = tool->offer.mem);
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
