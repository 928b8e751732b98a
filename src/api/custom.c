/* custom.c - a method of the program's own: who serves it, what its params must be */
#include "api/custom.h"

#include <string.h>

#include "base/text.h"
#include "wire/method.h"
#include "json/value.h"

/* ---- its name ----------------------------------------------------------- */

/* It stands in a header, too (2026-07-28, basic/transports, Mcp-Method). */
static bool
name_is_plain(const char *name)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++)
        if (name[i] <= ' ' || name[i] > '~')
            return false;
    return len > 0 && len <= MCPI_NAME_MAX;
}

const char *
mcpi_custom_name_fault(const char *name)
{
    if (!name || !name_is_plain(name))
        return "a method's name is 1 to 128 visible characters of ASCII";
    if (mcpi_method_find(name, strlen(name)) != MCPI_METHOD_OTHER)
        return "that is a method of the protocol";
    if (strncmp(name, "rpc.", 4) == 0)
        return "names that begin with rpc. are JSON-RPC's own";
    return NULL;
}

/* ---- making one --------------------------------------------------------- */

static int
table_take(struct mcpi_custom *custom, const mcp_field *table, const char *what,
           mcp_fields **ret_fields, mcp_error *err)
{
    const mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = custom->offer.mem);
    mcp_error why = {0};
    int r;

    if (!table)
        return 0;
    r = mcp_fields_new(table, &opt, ret_fields, &why);
    return r < 0 ? mcpi_error_set(err, r, "its %s: %s", what, why.message) : 0;
}

static int
schema_take(struct mcpi_custom *custom, const char *text, mcp_error *err)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = custom->offer.mem);
    mcp_error why = {0};
    mcp_doc *doc;
    int r;

    if (!text)
        return 0;
    r = mcpi_object_parse(custom->offer.mem, text, "schema", &doc, err);
    if (r < 0)
        return r;
    r = mcp_schema_compile(mcp_doc_root(doc), &opt, &custom->schema, &why);
    mcp_doc_free(doc);
    return r < 0 ? mcpi_error_set(err, r, "its schema: %s", why.message) : 0;
}

/* It needs one, unless it is told. */
static int
handler_take(struct mcpi_custom *custom, const mcp_method *definition, mcp_error *err)
{
    const mcp_handler handler = {definition->run, definition->start, definition->reply,
                                 definition->user};
    bool none = !handler.run && !handler.start && !handler.reply;
    int r = 0;

    custom->told = definition->told;
    custom->user = definition->user;
    if (!none || !custom->told)
        r = mcpi_handler_read(&handler, &custom->offer.handler, err);
    return r < 0 ? r
                 : mcpi_handler_bound(&custom->offer.handler, definition->flags,
                                      definition->limit_ms, err);
}

static int
custom_fill(struct mcpi_custom *custom, const mcp_method *definition, mcp_error *err)
{
    int r;

    if (definition->fields && definition->schema)
        return mcpi_error_set(err, MCP_E_INVAL, "it has fields and a schema");
    r = handler_take(custom, definition, err);
    if (r == 0)
        r = table_take(custom, definition->fields, "fields", &custom->fields, err);
    if (r == 0)
        r = table_take(custom, definition->result_fields, "result fields",
                       &custom->result, err);
    return r < 0 ? r : schema_take(custom, definition->schema, err);
}

static void
custom_destroy(struct mcpi_offer *offer)
{
    struct mcpi_custom *custom = mcpi_custom_of(offer);

    mcp_fields_free(custom->fields);
    mcp_fields_free(custom->result);
    mcp_schema_free(custom->schema);
    mcpi_offer_done(offer);
}

int
mcpi_custom_new(const mcp_allocator *mem, const mcp_method *definition,
                struct mcpi_custom **ret_custom, mcp_error *err)
{
    const char *fault = mcpi_custom_name_fault(definition->name);
    struct mcpi_custom *custom;
    mcp_error why = {0};
    int r;

    if (fault)
        return mcpi_error_set(err, MCP_E_INVAL, "method \"%.60s\": %s",
                              definition->name ? definition->name : "", fault);
    custom = mcpi_offer_new(mem, sizeof(*custom), definition->name, custom_destroy);
    if (!custom)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    r = custom_fill(custom, definition, &why);
    if (r < 0) {
        (void)mcpi_error_set(err, r, "method %s: %s", custom->offer.key, why.message);
        mcpi_offer_unref(&custom->offer);
        return r;
    }
    *ret_custom = custom;
    return 0;
}

/* ---- using it ----------------------------------------------------------- */

struct mcpi_custom *
mcpi_custom_find(struct mcpi_catalog *catalog, const struct mcpi_rpc *rpc)
{
    struct mcpi_offer *offer;
    struct mcpi_custom *custom;
    bool fits;

    if (rpc->method != MCPI_METHOD_OTHER)
        return NULL;
    offer = mcpi_catalog_find(catalog, rpc->method_name, rpc->method_len);
    if (!offer)
        return NULL;
    custom = mcpi_custom_of(offer);
    fits = rpc->kind == MCPI_RPC_NOTIFICATION ? custom->told != NULL
                                              : offer->handler.kind != MCPI_NO_HANDLER;
    if (fits)
        return custom;
    mcpi_offer_unref(offer);
    return NULL;
}

/* The same object without _meta, which is not the method's: a schema may refuse what it
 * does not name. */
static int
params_copy(const mcp_allocator *mem, const mcp_json *params, mcp_doc **ret_doc)
{
    const struct mcpi_json_limits limits = {.max_bytes = SIZE_MAX,
                                            .max_depth = SIZE_MAX};
    struct mcpi_buf buf;
    mcp_json_iterator it;
    int r;

    mcpi_buf_init(&buf, mem, SIZE_MAX);
    mcpi_buf_char(&buf, '{');
    for (it = mcp_json_each(params); mcp_json_next(&it);) {
        if (mcp_json_is_string(it.key, "_meta"))
            continue;
        if (buf.len > 1)
            mcpi_buf_char(&buf, ',');
        mcpi_json_write(&buf, it.key);
        mcpi_buf_char(&buf, ':');
        mcpi_json_write(&buf, it.value);
    }
    mcpi_buf_char(&buf, '}');
    r = buf.status;
    if (r == 0)
        r = mcpi_doc_parse(mem, buf.data, buf.len, &limits, ret_doc);
    mcpi_buf_done(&buf);
    return r;
}

int
mcpi_custom_check(const struct mcpi_custom *custom, const mcp_json *params,
                  mcp_error *err)
{
    mcp_doc *doc = NULL;
    int r;

    if (custom->fields) /* lets be what it does not name */
        return mcp_fields_check(custom->fields, params, err);
    if (!custom->schema)
        return 0;
    if (params && !mcp_json_get(params, "_meta"))
        return mcp_schema_check(custom->schema, params, NULL, err);
    r = params_copy(custom->offer.mem, params, &doc);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    r = mcp_schema_check(custom->schema, mcp_doc_root(doc), NULL, err);
    mcp_doc_free(doc);
    return r;
}

void
mcpi_custom_tell(const struct mcpi_custom *custom, const struct mcpi_log *log,
                 const mcp_json *params)
{
    mcp_error why = {0};

    if (mcpi_custom_check(custom, params, &why) < 0)
        MCPI_LOG(log, MCP_LOG_DEBUG, "notification %s dropped: %s", custom->offer.key,
                 why.message);
    else
        custom->told(custom->offer.key, params, custom->user);
}

/* ---- telling others ----------------------------------------------------- */

int
mcpi_custom_write_note(const mcp_allocator *mem, const char *method, const char *params,
                       struct mcpi_buf *into)
{
    mcp_doc *doc;
    int r;

    if (mcpi_custom_name_fault(method))
        return MCP_E_INVAL;
    if (!params)
        return 0;
    r = mcpi_object_parse(mem, params, "params", &doc, NULL);
    if (r < 0)
        return r;
    mcpi_json_write(into, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return into->status;
}
