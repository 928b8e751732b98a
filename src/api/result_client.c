/*
 * result_client.c - what a client answers: elicitations, samples, roots
 *
 * A mistake of the handler's is found when it closes its answer, and the server gets an
 * internal error: what does not fit is never sent.
 */
#include <string.h>

#include "api/inquiry.h"
#include "api/result.h"
#include "base/text.h"
#include "core/versions.h"
#include "json/value.h"

/* ---- elicitations ------------------------------------------------------- */

static int
say_action(mcp_result *out, const char *action)
{
    if (!out)
        return MCP_E_INVAL;
    if (mcpi_result_takes(out, MCPI_KIND(ELICITATION), "action"))
        out->action = action;
    return out->status;
}

int
mcp_result_accept(mcp_result *out)
{
    return say_action(out, "accept");
}

int
mcp_result_decline(mcp_result *out)
{
    return say_action(out, "decline");
}

int
mcp_result_dismiss(mcp_result *out)
{
    return say_action(out, "cancel");
}

/* A form is flat: texts, numbers, booleans, lists of texts. */
static bool
member_fits(const mcp_json *value)
{
    mcp_json_iterator it;
    bool fits = true;

    switch (mcp_json_get_type(value)) {
    case MCP_JSON_STRING:
    case MCP_JSON_INTEGER:
    case MCP_JSON_REAL:
    case MCP_JSON_BOOL:
        return true;
    case MCP_JSON_ARRAY:
        for (it = mcp_json_each(value); fits && mcp_json_next(&it);)
            fits = mcp_json_get_type(it.value) == MCP_JSON_STRING;
        return fits;
    default:
        return false;
    }
}

static int
content_check(const mcp_schema *form, const mcp_json *content, mcp_error *err)
{
    mcp_json_iterator it;
    mcp_error why = {0};
    int r;

    if (mcp_json_get_type(content) != MCP_JSON_OBJECT)
        return mcpi_error_set(err, MCP_E_PROTO, "the answer is not an object");
    r = mcp_schema_check(form, content, NULL, &why);
    if (r < 0)
        return mcpi_error_set(err, r == MCP_E_NOMEM ? r : MCP_E_PROTO, "the answer: %s",
                              why.message);
    for (it = mcp_json_each(content); mcp_json_next(&it);) {
        if (!member_fits(it.value))
            return mcpi_error_set(err, MCP_E_PROTO,
                                  "the answer: %.60s is not what a form can have",
                                  mcp_json_string(it.key, ""));
    }
    return 0;
}

/* The form as it was filled in; one that was accepted without a word is empty. */
static int
content_read(const mcp_result *out, mcp_doc **ret_doc, mcp_error *err)
{
    const struct mcpi_json_limits limits = {.max_bytes = 2, .max_depth = 1};
    int r;

    r = out->structured
            ? mcp_builder_parse(out->structured, ret_doc)
            : mcpi_doc_parse(out->answer.body.mem, "{}", 2, &limits, ret_doc);
    if (r < 0)
        return mcpi_error_set(err, r, "the answer: %s",
                              r == MCP_E_STATE ? "not finished" : mcp_status_text(r));
    return 0;
}

static int
content_write(mcp_result *out, const mcp_json *given, mcp_error *err)
{
    mcp_doc *whole;
    mcp_error why = {0};
    int r;

    r = mcp_schema_apply_defaults(out->form, given, &whole, &why);
    if (r < 0)
        return mcpi_error_set(err, r, "the answer: %s", why.message);
    r = content_check(out->form, mcp_doc_root(whole), err);
    if (r == 0) {
        MCPI_BUF_LITERAL(&out->answer.body, ",\"content\":");
        mcpi_json_write(&out->answer.body, mcp_doc_root(whole));
    }
    mcp_doc_free(whole);
    return r;
}

/* Where the user was sent to a URL there is nothing to send but that. */
static int
accept_write(mcp_result *out, mcp_error *err)
{
    mcp_doc *given;
    int r;

    if (!out->form)
        return out->structured ? mcpi_error_set(err, MCP_E_INVAL,
                                                "the answer to a URL has no content")
                               : 0;
    r = content_read(out, &given, err);
    if (r < 0)
        return r;
    r = content_write(out, mcp_doc_root(given), err);
    mcp_doc_free(given);
    return r;
}

static int
close_elicitation(mcp_result *out, mcp_error *err)
{
    const char *action = out->action;
    int r = 0;

    if (!action && out->structured)
        action = "accept";
    if (!action)
        return mcpi_error_set(err, MCP_E_INVAL, "nothing was answered");
    MCPI_BUF_LITERAL(&out->answer.body, "{\"action\":\"");
    mcpi_buf_text(&out->answer.body, action);
    mcpi_buf_char(&out->answer.body, '"');
    if (strcmp(action, "accept") == 0)
        r = accept_write(out, err);
    mcpi_buf_char(&out->answer.body, '}');
    return r;
}

/* ---- samples ------------------------------------------------------------ */

static bool
is_before_tools(const mcp_result *out)
{
    return out->version && mcpi_version_is_before(out->version, MCPI_VERSION_LEGACY);
}

int
mcp_result_model(mcp_result *out, const char *model)
{
    if (!out || !model)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(SAMPLE), "model"))
        return out->status;
    out->has_model = true;
    return mcpi_result_aside(out, ",\"model\":", model, "model");
}

int
mcp_result_stop_reason(mcp_result *out, const char *reason)
{
    if (!out || !reason)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(SAMPLE), "stop reason"))
        return out->status;
    return mcpi_result_aside(out, ",\"stopReason\":", reason, "stop reason");
}

int
mcp_result_tool_use(mcp_result *out, const char *id, const char *name,
                    const char *input)
{
    mcp_doc *doc;

    if (!out || !id || !name || !input)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(SAMPLE), "tool use"))
        return out->status;
    if (is_before_tools(out))
        return mcpi_tool_result_fail(out, MCP_E_STATE,
                                     "the server's version has no tool use");
    if (mcpi_tool_result_parse(out, input, strlen(input), "input of a tool", &doc) < 0)
        return out->status;
    if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT) {
        (void)mcpi_tool_result_fail(out, MCP_E_INVAL,
                                    "the input of a tool is not an object");
    } else if (mcpi_result_item(out, 0)) {
        mcpi_result_member(out, "{\"type\":\"tool_use\",\"id\":", id,
                           "id of a tool use");
        mcpi_result_member(out, ",\"name\":", name, "name of a tool");
        MCPI_BUF_LITERAL(&out->answer.body, ",\"input\":");
        mcpi_json_write(&out->answer.body, mcp_doc_root(doc));
        mcpi_buf_char(&out->answer.body, '}');
        out->can_annotate = false;
    }
    mcp_doc_free(doc);
    return mcpi_tool_result_status(out);
}

/* One block stands alone, which every version can read. */
static void
unlist(mcp_result *out)
{
    static const char opening[] = "{\"content\":[";

    if (out->answer.body.len >= sizeof(opening) - 1)
        out->answer.body.data[sizeof(opening) - 2] = ' ';
    if (out->aside.len > 0)
        mcpi_buf_append(&out->answer.body, out->aside.data, out->aside.len);
}

static int
close_sample(mcp_result *out, mcp_error *err)
{
    bool user = out->has_role && out->role == MCP_ROLE_USER;

    if (!out->has_model)
        return mcpi_error_set(err, MCP_E_INVAL, "a sample names its model");
    if (out->count == 0)
        return mcpi_error_set(err, MCP_E_INVAL, "a sample has no content");
    if (out->count > 1 && is_before_tools(out))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "the server's version takes one block of content");
    if (out->count == 1)
        unlist(out);
    else
        mcpi_result_list_end(out);
    mcpi_buf_text(&out->answer.body,
                  user ? ",\"role\":\"user\"}" : ",\"role\":\"assistant\"}");
    return 0;
}

/* ---- roots -------------------------------------------------------------- */

int
mcp_result_root(mcp_result *out, const char *uri, const char *name)
{
    if (!out || !uri)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, MCPI_KIND(ROOTS), "roots"))
        return out->status;
    if (!mcpi_root_fits(uri))
        return mcpi_tool_result_fail(out, MCP_E_INVAL, "a root is a file: URI");
    if (mcpi_result_item(out, 0)) {
        mcpi_result_member(out, "{\"uri\":", uri, "URI of a root");
        mcpi_result_member(out, ",\"name\":", name, "name of a root");
        mcpi_buf_char(&out->answer.body, '}');
    }
    return mcpi_tool_result_status(out);
}

static int
close_roots(mcp_result *out)
{
    mcpi_result_list_end(out);
    mcpi_buf_char(&out->answer.body, '}');
    return 0;
}

int
mcpi_result_close_client(struct mcp_result *out, mcp_error *err)
{
    switch (out->kind) {
    case MCPI_RESULT_ELICITATION:
        return close_elicitation(out, err);
    case MCPI_RESULT_SAMPLE:
        return close_sample(out, err);
    default:
        return close_roots(out);
    }
}
