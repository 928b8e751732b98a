/* answered.c - what a client has answered: is it one, and how does a handler see it */
#include <string.h>

#include "api/asking.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- is it an answer ---------------------------------------------------- */

static bool
is_a(const mcp_json *value, enum mcp_json_type type)
{
    return mcp_json_get_type(value) == type;
}

static int
refuse(mcp_error *err, const char *why)
{
    return mcpi_error_set(err, MCP_E_INVAL, "%s", why);
}

/* An empty form may be accepted without any content. */
static int
content_check(const mcp_allocator *mem, const mcp_schema *form, const mcp_json *content,
              mcp_error *err)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = mem);
    mcp_doc *empty = NULL;
    int r;

    if (content && !is_a(content, MCP_JSON_OBJECT))
        return refuse(err, "content must be an object");
    if (!content) {
        r = mcp_doc_parse("{}", 2, &opt, &empty, NULL);
        if (r < 0)
            return r;
        content = mcp_doc_root(empty);
    }
    r = mcp_schema_check(form, content, NULL, err);
    mcp_doc_free(empty);
    return r;
}

static int
form_check(const mcp_allocator *mem, const mcp_json *schema, const mcp_json *content,
           mcp_error *err)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = mem,
                                                      .assert_formats = true);
    mcp_schema *form;
    int r;

    r = mcp_schema_compile(schema, &opt, &form, err);
    if (r < 0)
        return r;
    r = content_check(mem, form, content, err);
    mcp_schema_free(form);
    return r;
}

static enum mcp_action
action_read(const mcp_json *answer)
{
    const mcp_json *action = mcp_json_get(answer, "action");

    if (mcp_json_is_string(action, "accept"))
        return MCP_ACCEPTED;
    if (mcp_json_is_string(action, "decline"))
        return MCP_DECLINED;
    return mcp_json_is_string(action, "cancel") ? MCP_DISMISSED : MCP_UNANSWERED;
}

static int
sample_check(const mcp_json *answer, mcp_error *err)
{
    const mcp_json *role = mcp_json_get(answer, "role");
    const mcp_json *content = mcp_json_get(answer, "content");

    if (!mcp_json_is_string(role, "user") && !mcp_json_is_string(role, "assistant"))
        return refuse(err, "role must be user or assistant");
    if (!is_a(content, MCP_JSON_OBJECT) && !is_a(content, MCP_JSON_ARRAY))
        return refuse(err, "content must be an object or an array");
    if (!is_a(mcp_json_get(answer, "model"), MCP_JSON_STRING))
        return refuse(err, "model must be a string");
    return 0;
}

static int
roots_check(const mcp_json *answer, mcp_error *err)
{
    const mcp_json *roots = mcp_json_get(answer, "roots");
    mcp_json_iterator it;

    if (!is_a(roots, MCP_JSON_ARRAY))
        return refuse(err, "roots must be an array");
    for (it = mcp_json_each(roots); mcp_json_next(&it);) {
        if (!is_a(mcp_json_get(it.value, "uri"), MCP_JSON_STRING))
            return refuse(err, "each root must have a uri");
    }
    return 0;
}

int
mcpi_answer_check(const mcp_allocator *mem, enum mcpi_asked_kind kind,
                  const mcp_json *schema, const mcp_json *answer, mcp_error *err)
{
    enum mcp_action action = action_read(answer);

    if (!is_a(answer, MCP_JSON_OBJECT))
        return refuse(err, "it must be an object");
    if (kind == MCPI_ASKED_SAMPLE)
        return sample_check(answer, err);
    if (kind == MCPI_ASKED_ROOTS)
        return roots_check(answer, err);
    if (action == MCP_UNANSWERED)
        return refuse(err, "action must be accept, decline or cancel");
    if (kind == MCPI_ASKED_URL || action != MCP_ACCEPTED)
        return 0;
    return form_check(mem, schema, mcp_json_get(answer, "content"), err);
}

/* ---- as a handler sees it ----------------------------------------------- */

static const struct mcpi_asked *
answered_find(const mcp_request *req, const char *key)
{
    const struct mcpi_asking *asking = req && key ? mcpi_asking_peek(req) : NULL;

    return asking ? mcpi_asked_find(&asking->answered, key) : NULL;
}

const mcp_json *
mcp_request_answer(const mcp_request *req, const char *key)
{
    const struct mcpi_asked *asked = answered_find(req, key);

    return asked ? asked->answer : NULL;
}

static bool
asked_is_elicitation(const struct mcpi_asked *asked)
{
    return asked && (asked->kind == MCPI_ASKED_FORM || asked->kind == MCPI_ASKED_URL);
}

enum mcp_action
mcp_request_action(const mcp_request *req, const char *key)
{
    const struct mcpi_asked *asked = answered_find(req, key);

    return asked_is_elicitation(asked) ? action_read(asked->answer) : MCP_UNANSWERED;
}

int
mcp_request_bind_answer(mcp_request *req, const char *key, const mcp_field *table,
                        void *into)
{
    const struct mcpi_asked *asked = answered_find(req, key);
    const mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = req ? req->host->mem
                                                                       : NULL);
    mcp_fields *fields;
    int r;

    if (!req || !key || !table || !into)
        return MCP_E_INVAL;
    if (!asked || asked->kind != MCPI_ASKED_FORM ||
        action_read(asked->answer) != MCP_ACCEPTED)
        return MCP_E_STATE;
    r = mcp_fields_new(table, &opt, &fields, NULL);
    if (r < 0)
        return r;
    r = mcpi_request_decode(req, fields, asked->doc,
                            mcp_json_get(asked->answer, "content"), into);
    mcp_fields_free(fields);
    return r;
}
