/* inquiry.c - what a server asks of a client, looked at before its handler sees it */
#include "api/inquiry.h"

#include <mcp/client.h>
#include <string.h>
#include <strings.h>

#include "json/schema_format.h"

static int
refuse(struct mcpi_refusal *why, const char *what)
{
    mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s", what);
    return MCP_E_PROTO;
}

static bool
is_a(const mcp_json *value, enum mcp_json_type type)
{
    return mcp_json_get_type(value) == type;
}

static bool
is_uri(const char *text, size_t len)
{
    return mcpi_schema_format_find("uri", 3)(text, len);
}

bool
mcpi_root_fits(const char *uri)
{
    return strncasecmp(uri, "file://", 7) == 0 && is_uri(uri, strlen(uri));
}

/* ---- elicitation -------------------------------------------------------- */

/* Real servers ask for more than the flat objects of the specification (anyOf with null
 * is what some generate), so a form is any schema that can be checked. */
static int
form_compile(const mcp_allocator *mem, const mcp_json *schema, mcp_schema **ret_form,
             struct mcpi_refusal *why)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = mem,
                                                      .max_subschemas = MCPI_FORM_MAX);
    mcp_error err = {0};
    int r;

    if (!is_a(schema, MCP_JSON_OBJECT))
        return refuse(why, "requestedSchema must be an object");
    r = mcp_schema_compile(schema, &opt, ret_form, &err);
    if (r == 0)
        return 0;
    if (r == MCP_E_NOMEM)
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR, "%s", mcp_status_text(r));
    else
        mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS, "Invalid params: requestedSchema: %s",
                    err.message);
    return r;
}

static int
url_check(const mcp_json *params, struct mcpi_refusal *why)
{
    const mcp_json *url = mcp_json_get(params, "url");
    const mcp_json *id = mcp_json_get(params, "elicitationId");

    if (!is_a(url, MCP_JSON_STRING) ||
        !is_uri(mcp_json_string(url, ""), mcp_json_string_length(url)))
        return refuse(why, "url must be a URL");
    if (id && !is_a(id, MCP_JSON_STRING))
        return refuse(why, "elicitationId must be a string");
    return 0;
}

/* Without a mode it is a form (client/elicitation, Elicitation Requests). */
int
mcpi_inquiry_elicitation(const mcp_allocator *mem, const mcp_json *params,
                         unsigned able, mcp_schema **ret_form, struct mcpi_refusal *why)
{
    const mcp_json *mode = mcp_json_get(params, "mode");
    bool form = !mode || mcp_json_is_string(mode, "form");

    if (!is_a(mcp_json_get(params, "message"), MCP_JSON_STRING))
        return refuse(why, "message must be a string");
    if (!form && !mcp_json_is_string(mode, "url"))
        return refuse(why, "mode must be \"form\" or \"url\"");
    if (form ? (able & MCP_ABLE_NO_FORM) != 0 : !(able & MCP_ABLE_URL))
        return refuse(why, "that mode was not declared");
    *ret_form = NULL;
    return form ? form_compile(mem, mcp_json_get(params, "requestedSchema"), ret_form,
                               why)
                : url_check(params, why);
}

/* ---- sampling ----------------------------------------------------------- */

static bool
block_is(const mcp_json *block, const char *type)
{
    return mcp_json_is_string(mcp_json_get(block, "type"), type);
}

/* What a message has of tools. */
struct tally {
    size_t blocks, uses, results;
    const mcp_json *ids[MCPI_TOOL_USES_MAX]; /* of its uses, or of its results */
};

/* The name by which a use and its result know each other. */
static const mcp_json *
block_id(const mcp_json *block)
{
    if (block_is(block, "tool_use"))
        return mcp_json_get(block, "id");
    return block_is(block, "tool_result") ? mcp_json_get(block, "toolUseId") : NULL;
}

static int
block_count(struct tally *t, const mcp_json *block, struct mcpi_refusal *why)
{
    const mcp_json *id = block_id(block);
    bool use = block_is(block, "tool_use");
    bool result = block_is(block, "tool_result");

    if (!is_a(mcp_json_get(block, "type"), MCP_JSON_STRING))
        return refuse(why, "the content of a message has no type");
    t->blocks++;
    if (!use && !result)
        return 0;
    if (!is_a(id, MCP_JSON_STRING))
        return refuse(why, "a tool use or its result has no id");
    if (t->uses + t->results == MCPI_TOOL_USES_MAX)
        return refuse(why, "too many tool uses in one message");
    t->ids[t->uses + t->results] = id;
    t->uses += use;
    t->results += result;
    return 0;
}

static int
blocks_count(struct tally *t, const mcp_json *blocks, struct mcpi_refusal *why)
{
    mcp_json_iterator it = mcp_json_each(blocks);
    int r = 0;

    while (r == 0 && mcp_json_next(&it))
        r = block_count(t, it.value, why);
    return r;
}

/* Its content is one block, or an array of them. */
static int
message_count(const mcp_json *message, struct tally *t, struct mcpi_refusal *why)
{
    const mcp_json *role = mcp_json_get(message, "role");
    bool user = mcp_json_is_string(role, "user");
    const mcp_json *content = mcp_json_get(message, "content");
    int r;

    t->blocks = t->uses = t->results = 0;
    if (!user && !mcp_json_is_string(role, "assistant"))
        return refuse(why, "role of a message must be \"user\" or \"assistant\"");
    r = is_a(content, MCP_JSON_ARRAY) ? blocks_count(t, content, why)
                                      : block_count(t, content, why);
    if (r < 0)
        return r;
    if (t->results > 0 && t->results < t->blocks)
        return refuse(why, "tool results are mixed with other content");
    if (user ? t->uses > 0 : t->results > 0)
        return refuse(why, "tools are used by the assistant and answered by the user");
    return 0;
}

static bool
tally_has(const struct tally *t, const mcp_json *id)
{
    for (size_t i = 0; i < t->uses + t->results; i++)
        if (mcp_json_equal(t->ids[i], id))
            return true;
    return false;
}

/* Each use has its result in the message behind it, and no result stands alone (Tool
 * Use and Result Balance). */
static int
balance_check(const struct tally *before, const struct tally *t,
              struct mcpi_refusal *why)
{
    for (size_t i = 0; i < before->uses; i++)
        if (t->results == 0 || !tally_has(t, before->ids[i]))
            return refuse(why, "a tool result is missing");
    for (size_t i = 0; i < t->results; i++)
        if (before->uses == 0 || !tally_has(before, t->ids[i]))
            return refuse(why, "a tool result has no tool use before it");
    return 0;
}

static int
messages_check(const mcp_json *messages, struct mcpi_refusal *why)
{
    struct tally tallies[2] = {{0}, {0}};
    struct tally *before = &tallies[0], *t = &tallies[1], *other;
    mcp_json_iterator it;
    int r = 0;

    if (!is_a(messages, MCP_JSON_ARRAY))
        return refuse(why, "messages must be an array");
    for (it = mcp_json_each(messages); r == 0 && mcp_json_next(&it);) {
        r = message_count(it.value, t, why);
        if (r == 0)
            r = balance_check(before, t, why);
        other = before;
        before = t;
        t = other;
    }
    if (r == 0 && before->uses > 0)
        return refuse(why, "a tool result is missing");
    return r;
}

int
mcpi_inquiry_sample(const mcp_json *params, unsigned able, struct mcpi_refusal *why)
{
    const mcp_json *tools = mcp_json_get(params, "tools");
    const mcp_json *choice = mcp_json_get(params, "toolChoice");
    const mcp_json *most = mcp_json_get(params, "maxTokens");

    if (!is_a(most, MCP_JSON_INTEGER) && !is_a(most, MCP_JSON_REAL))
        return refuse(why, "maxTokens must be a number");
    if ((tools || choice) && !(able & MCP_ABLE_SAMPLE_TOOLS))
        return refuse(why, "tools were not declared");
    if (tools && !is_a(tools, MCP_JSON_ARRAY))
        return refuse(why, "tools must be an array");
    if (choice && !is_a(choice, MCP_JSON_OBJECT))
        return refuse(why, "toolChoice must be an object");
    return messages_check(mcp_json_get(params, "messages"), why);
}
