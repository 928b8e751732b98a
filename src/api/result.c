/*
 * result.c - what a handler writes: a list, structured output, failure
 *
 * Every kind of result but an elicitation's is a list first: blocks of content,
 * messages, contents, values, roots. It goes into the body of the answer at once, item
 * by item. What stands behind it is kept apart until the end: structured output,
 * because it may become content itself, and members that may be said at any time. JSON
 * that comes as text is parsed and printed again: a message is one line.
 */
#include "api/result.h"

#include <stdio.h>
#include <string.h>

#include "api/custom.h"
#include "base/text.h"
#include "wire/meta.h"

void
mcpi_tool_result_init(struct mcp_result *out, const struct mcpi_engine *engine,
                      const struct mcpi_tool *tool)
{
    out->tool = tool;
    mcpi_buf_init(&out->aside, engine->mem, engine->limits.message_bytes);
    mcpi_result_init(&out->answer, engine);
}

void
mcpi_tool_result_done(struct mcp_result *out)
{
    mcp_builder_free(out->structured);
    mcp_schema_free(out->form);
    mcpi_buf_done(&out->aside);
    mcpi_result_done(&out->answer);
}

/* ---- failing ------------------------------------------------------------ */

int
mcpi_tool_result_fail(mcp_result *out, int status, const char *why)
{
    if (out->status == 0) {
        out->status = status;
        mcpi_result_say(&out->answer, why);
    }
    return out->status;
}

int
mcpi_tool_result_status(mcp_result *out)
{
    int r = out->answer.body.status;

    if (r == 0)
        r = out->answer.meta.status;
    if (r == 0)
        r = out->aside.status;
    return r < 0 ? mcpi_tool_result_fail(out, r, mcp_status_text(r)) : out->status;
}

bool
mcpi_result_takes(mcp_result *out, unsigned kinds, const char *what)
{
    static const char *const asked[] = {
        [MCPI_RESULT_PLAIN] = "this request",
        [MCPI_RESULT_TOOL] = "tools/call",
        [MCPI_RESULT_PROMPT] = "prompts/get",
        [MCPI_RESULT_RESOURCE] = "resources/read",
        [MCPI_RESULT_COMPLETION] = "completion/complete",
        [MCPI_RESULT_ELICITATION] = "elicitation/create",
        [MCPI_RESULT_SAMPLE] = "sampling/createMessage",
        [MCPI_RESULT_ROOTS] = "roots/list",
        [MCPI_RESULT_CUSTOM] = "a method of your own",
    };
    char why[120];

    if (out->status < 0)
        return false;
    if (kinds & 1U << out->kind)
        return true;
    snprintf(why, sizeof(why), "the answer to %s has no %s", asked[out->kind], what);
    (void)mcpi_tool_result_fail(out, MCP_E_STATE, why);
    return false;
}

/* ---- the list, and what stands behind it -------------------------------- */

static void
list_open(mcp_result *out)
{
    static const char *const openings[] = {
        [MCPI_RESULT_TOOL] = "{\"content\":[",
        [MCPI_RESULT_PROMPT] = "{\"messages\":[",
        [MCPI_RESULT_RESOURCE] = "{\"contents\":[",
        [MCPI_RESULT_COMPLETION] = "{\"completion\":{\"values\":[",
        [MCPI_RESULT_SAMPLE] = "{\"content\":[",
        [MCPI_RESULT_ROOTS] = "{\"roots\":[",
    };

    mcpi_buf_text(&out->answer.body, openings[out->kind]);
    out->has_block = true;
}

bool
mcpi_result_item(mcp_result *out, size_t room)
{
    if (out->status < 0)
        return false;
    if (room > 0)
        (void)mcpi_buf_reserve(&out->answer.body, room); /* its failure is sticky */
    if (out->has_block)
        mcpi_buf_char(&out->answer.body, ',');
    else
        list_open(out);
    out->count++;
    return true;
}

void
mcpi_result_list_end(mcp_result *out)
{
    if (!out->has_block)
        list_open(out);
    mcpi_buf_char(&out->answer.body, ']');
    if (out->aside.len > 0)
        mcpi_buf_append(&out->answer.body, out->aside.data, out->aside.len);
}

static void
string_write(mcp_result *out, struct mcpi_buf *buf, const char *text, size_t len,
             const char *what)
{
    char why[96];

    if (mcpi_json_write_string(buf, text, len) != MCP_E_INVAL)
        return; /* other failures are the buffer's */
    snprintf(why, sizeof(why), "the %s is not UTF-8", what);
    (void)mcpi_tool_result_fail(out, MCP_E_INVAL, why);
}

void
mcpi_result_string(mcp_result *out, const char *text, size_t len, const char *what)
{
    string_write(out, &out->answer.body, text, len, what);
}

void
mcpi_result_member(mcp_result *out, const char *key, const char *text, const char *what)
{
    if (!text)
        return;
    mcpi_buf_text(&out->answer.body, key);
    string_write(out, &out->answer.body, text, strlen(text), what);
}

/* A key cannot be mistaken for a part of a text: a quote in there has a backslash. */
static bool
aside_has(const struct mcpi_buf *aside, const char *key)
{
    size_t len = strlen(key);

    for (size_t i = 0; i + len <= aside->len; i++) {
        if (memcmp(aside->data + i, key, len) == 0)
            return true;
    }
    return false;
}

int
mcpi_result_aside(mcp_result *out, const char *key, const char *text, const char *what)
{
    char why[96];

    if (out->status < 0)
        return out->status;
    if (aside_has(&out->aside, key)) {
        snprintf(why, sizeof(why), "the %s was said twice", what);
        return mcpi_tool_result_fail(out, MCP_E_STATE, why);
    }
    mcpi_buf_text(&out->aside, key);
    string_write(out, &out->aside, text, strlen(text), what);
    return mcpi_tool_result_status(out);
}

void
mcpi_cache_write(struct mcpi_buf *buf, int64_t ttl_ms, enum mcp_cache_scope scope)
{
    MCPI_BUF_LITERAL(buf, ",\"ttlMs\":");
    mcpi_buf_int(buf, ttl_ms);
    MCPI_BUF_LITERAL(buf, ",\"cacheScope\":");
    mcpi_buf_text(buf, scope == MCP_CACHE_PUBLIC ? "\"public\"" : "\"private\"");
}

/* ---- JSON given as text ------------------------------------------------- */

int
mcpi_tool_result_parse(mcp_result *out, const char *json, size_t length,
                       const char *what, mcp_doc **ret_doc)
{
    const struct mcpi_buf *body = &out->answer.body;
    const struct mcpi_json_limits limits = {.max_bytes = body->max,
                                            .max_depth = SIZE_MAX};
    char why[96];
    int r;

    r = mcpi_doc_parse(body->mem, json, length, &limits, ret_doc);
    if (r == 0)
        return 0;
    if (r == MCP_E_SYNTAX)
        r = MCP_E_INVAL;
    snprintf(why, sizeof(why), "the %s cannot be read: %s", what, mcp_status_text(r));
    return mcpi_tool_result_fail(out, r, why);
}

/* ---- structured output -------------------------------------------------- */

#define STRUCTURED (MCPI_KIND(TOOL) | MCPI_KIND(ELICITATION) | MCPI_KIND(CUSTOM))

mcp_builder *
mcp_result_builder(mcp_result *out)
{
    if (!out || !mcpi_result_takes(out, STRUCTURED, "structured output"))
        return NULL;
    if (!out->structured)
        out->structured = mcp_builder_new(out->answer.body.mem);
    if (!out->structured)
        (void)mcpi_tool_result_fail(out, MCP_E_NOMEM, mcp_status_text(MCP_E_NOMEM));
    return out->structured;
}

/* The same, empty: what is written whole takes the place of what was there. */
static mcp_builder *
builder_anew(mcp_result *out)
{
    mcp_builder *b = mcp_result_builder(out);

    mcp_builder_reset(b);
    return b;
}

/* The table that describes it; NULL: there is none. */
static const mcp_fields *
output_table(const mcp_result *out)
{
    if (out->custom)
        return out->custom->result;
    return out->tool ? out->tool->output : NULL;
}

int
mcp_result_struct(mcp_result *out, const void *from)
{
    const mcp_fields *table;
    mcp_error why = {0};
    mcp_builder *b;
    int r;

    if (!out || !from)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, STRUCTURED, "structured output"))
        return out->status;
    table = output_table(out);
    if (!table)
        return mcpi_tool_result_fail(out, MCP_E_STATE,
                                     "there is no table of its output");
    b = builder_anew(out);
    if (!b || out->status < 0)
        return out->status;
    r = mcp_fields_encode(table, from, b, NULL, &why);
    return r < 0 ? mcpi_tool_result_fail(out, r, why.message) : 0;
}

int
mcp_result_json(mcp_result *out, const char *json, size_t length)
{
    mcp_builder *b;
    mcp_doc *doc;

    if (!out || !json)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, STRUCTURED, "structured output") ||
        mcpi_tool_result_parse(out, json, length, "structured output", &doc) < 0)
        return out->status;
    b = builder_anew(out);
    mcp_builder_value(b, NULL, mcp_doc_root(doc));
    mcp_doc_free(doc);
    if (mcp_builder_status(b) < 0)
        return mcpi_tool_result_fail(out, mcp_builder_status(b),
                                     "structured output is too large");
    return out->status;
}

int
mcp_result_meta(mcp_result *out, const char *key, const char *value)
{
    struct mcpi_buf *meta;
    mcp_doc *doc, *old;
    bool twice = false;

    if (!out || !key || !*key || !value || !mcpi_utf8_valid(key, strlen(key)))
        return MCP_E_INVAL;
    meta = &out->answer.meta;
    if (out->status < 0 ||
        mcpi_tool_result_parse(out, value, strlen(value), "_meta", &doc) < 0)
        return out->status;
    if (meta->len > 0 &&
        mcpi_tool_result_parse(out, meta->data, meta->len, "_meta", &old) == 0) {
        twice = mcp_json_get(mcp_doc_root(old), key) != NULL;
        mcp_doc_free(old);
    }
    if (twice || mcpi_meta_reserved(key, strlen(key))) {
        (void)mcpi_tool_result_fail(out, MCP_E_INVAL, "a key of _meta is taken");
    } else if (out->status == 0) {
        if (meta->len > 0)
            mcpi_buf_truncate(meta, meta->len - 1);
        mcpi_buf_char(meta, meta->len > 0 ? ',' : '{');
        (void)mcpi_json_write_string(meta, key, strlen(key));
        mcpi_buf_char(meta, ':');
        mcpi_json_write(meta, mcp_doc_root(doc));
        mcpi_buf_char(meta, '}');
    }
    mcp_doc_free(doc);
    return mcpi_tool_result_status(out);
}

void
mcp_result_reset(mcp_result *out)
{
    if (!out)
        return;
    mcpi_buf_clear(&out->answer.body);
    mcpi_buf_clear(&out->answer.meta);
    mcpi_buf_clear(&out->aside);
    mcp_builder_free(out->structured);
    out->structured = NULL;
    if (out->status < 0)
        mcpi_result_unsay(&out->answer); /* else mcp_request_fail's */
    out->status = 0;
    out->has_block = false;
    out->has_text = false;
    out->can_annotate = false;
    out->is_error = false;
    out->has_role = false;
    out->has_cache = false;
    out->has_model = false;
    out->action = NULL;
    out->role = MCP_ROLE_USER;
    out->count = 0;
    out->total = 0;
}

/* ---- the end ------------------------------------------------------------ */

/* *ret_text stays NULL if there is no structured output. */
static int
structured_text(const mcp_result *out, const char **ret_text, size_t *ret_len,
                mcp_error *err)
{
    const char *text;
    int r;

    if (!out->structured)
        return 0;
    text = mcp_builder_text(out->structured, ret_len);
    r = mcp_builder_status(out->structured);
    if (r < 0)
        return mcpi_error_set(err, r, "structured output: %s",
                              r == MCP_E_STATE ? "not finished" : mcp_status_text(r));
    *ret_text = text;
    return 0;
}

/* Servers MUST keep what an output schema promises (server/tools, Output Schema); a
 * tool that failed has promised nothing. MCP_E_PROTO: it is not kept. */
static int
promise_check(const mcp_result *out, const char *text, mcp_error *err)
{
    mcp_error why = {0};
    mcp_doc *doc;
    int r;

    if (out->is_error || !out->tool || !mcpi_tool_has_output(out->tool))
        return 0;
    if (!text)
        return mcpi_error_set(err, MCP_E_PROTO, "there is no structured output");
    r = mcp_builder_parse(out->structured, &doc);
    if (r < 0)
        return mcpi_error_set(err, r, "structured output: %s", mcp_status_text(r));
    r = mcpi_tool_check_output(out->tool, mcp_doc_root(doc), &why);
    mcp_doc_free(doc);
    if (r == 0)
        return 0;
    return mcpi_error_set(err, r == MCP_E_NOMEM ? r : MCP_E_PROTO,
                          "structured output: %s", why.message);
}

/* An object reaches everybody; of anything else the legacy era would have nothing. */
static bool
needs_text(const mcp_result *out, const char *structured)
{
    return !out->has_block || (structured[0] != '{' && !out->has_text);
}

static int
close_tool(struct mcp_result *out, mcp_error *err)
{
    struct mcpi_buf *body = &out->answer.body;
    const char *text = NULL;
    size_t len = 0;
    int r;

    r = structured_text(out, &text, &len, err);
    if (r == 0)
        r = promise_check(out, text, err);
    if (r < 0)
        return r;
    if (text && needs_text(out, text)) /* for clients that know only content */
        (void)mcpi_tool_result_text(out, text, len);
    mcpi_result_list_end(out);
    if (text &&
        (out->modern || text[0] == '{')) { /* the legacy era knows only objects */
        MCPI_BUF_LITERAL(body, ",\"structuredContent\":");
        mcpi_buf_append(body, text, len);
    }
    if (out->is_error)
        MCPI_BUF_LITERAL(body, ",\"isError\":true");
    mcpi_buf_char(body, '}');
    return 0;
}

/* An object, and without what the protocol itself puts there. */
static int
close_custom(struct mcp_result *out, mcp_error *err)
{
    const char *text = "{}";
    size_t len = 2;
    const mcp_json *root;
    mcp_doc *doc;
    bool fits;
    int r;

    r = structured_text(out, &text, &len, err);
    if (r == 0 && out->structured) {
        r = mcp_builder_parse(out->structured, &doc);
        if (r < 0)
            return mcpi_error_set(err, r, "%s", mcp_status_text(r));
        root = mcp_doc_root(doc);
        fits = mcp_json_get_type(root) == MCP_JSON_OBJECT &&
               !mcp_json_get(root, "_meta") && !mcp_json_get(root, "resultType");
        mcp_doc_free(doc);
        if (!fits)
            r = mcpi_error_set(err, MCP_E_INVAL,
                               "the result of a method must be an object, without "
                               "_meta and resultType");
    }
    if (r == 0)
        mcpi_buf_append(&out->answer.body, text, len);
    return r;
}

static int
close_kind(struct mcp_result *out, mcp_error *err)
{
    switch (out->kind) {
    case MCPI_RESULT_TOOL:
        return close_tool(out, err);
    case MCPI_RESULT_PROMPT:
    case MCPI_RESULT_RESOURCE:
    case MCPI_RESULT_COMPLETION:
        mcpi_result_close_more(out);
        return 0;
    case MCPI_RESULT_ELICITATION:
    case MCPI_RESULT_SAMPLE:
    case MCPI_RESULT_ROOTS:
        return mcpi_result_close_client(out, err);
    case MCPI_RESULT_CUSTOM:
        return close_custom(out, err);
    default:
        return 0; /* the library has written it whole */
    }
}

int
mcpi_tool_result_close(struct mcp_result *out, mcp_error *err)
{
    int r;

    r = mcpi_tool_result_status(out);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", out->answer.message);
    r = close_kind(out, err);
    if (r < 0)
        return r;
    r = mcpi_tool_result_status(out);
    return r < 0 ? mcpi_error_set(err, r, "%s", out->answer.message) : 0;
}
