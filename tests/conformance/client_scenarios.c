/* client_scenarios.c - scenarios about calls, questions and schemas */
#include "client_scenarios.h"

#include <stdio.h>
#include <string.h>

#include <mcp/schema.h>

/* ---- steps -------------------------------------------------------------------- */

int
expect(bool is_so, const char *what, mcp_error *err)
{
    if (is_so)
        return 0;
    *err = (mcp_error){.status = MCP_E_PROTO};
    snprintf(err->message, sizeof(err->message), "not so: %s", what);
    return MCP_E_PROTO;
}

static int
answer_check(const mcp_reply *reply, const char *said, mcp_error *err)
{
    int r = expect(!mcp_reply_is_error(reply), "the tool did not fail", err);

    return r < 0 ? r : expect(strstr(mcp_reply_text(reply), said) != NULL, said, err);
}

int
call_tool(mcp_client *client, const char *name, const char *arguments, const char *said,
          mcp_error *err)
{
    mcp_reply *reply = NULL;
    int r;

    r = mcp_client_call_tool(client, name, arguments, NULL, &reply, err);
    if (r == 0)
        r = answer_check(reply, said, err);
    mcp_reply_free(reply);
    return r;
}

static int
list_tools(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, NULL, err);
}

int
list_and_call(mcp_client *client, const char *name, const char *arguments,
              const char *said, mcp_error *err)
{
    int r = list_tools(client, NULL, err);

    return r < 0 ? r : call_tool(client, name, arguments, said, err);
}

/* ---- calls -------------------------------------------------------------------- */

static int
add_numbers(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return list_and_call(client, "add_numbers", "{\"a\":5,\"b\":3}", "8", err);
}

/* The stream of the call ends before its answer, which comes on another one. */
static int
sse_retry(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return list_and_call(client, "test_reconnection", "{}", "completed", err);
}

/* Whatever is sent says what we are and can do. */
static int
request_metadata(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return list_and_call(client, "any", "{}", "", err);
}

/* ---- questions; elicit, in everything_client.c, answers them -------------------- */

static int
elicitation_defaults(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return list_and_call(client, "test_client_elicitation_defaults", "{}",
                         "Elicitation completed", err);
}

/* All at once: what one of them is asked must not get into another. */
static int
request_state(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    enum { COUNT = 4 };
    static const char *const tools[COUNT] = {
        "test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated",
        "test_mrtr_no_result_type"};
    mcp_call *calls[COUNT] = {NULL};
    mcp_reply *reply;
    int r = list_tools(client, context, err);

    for (size_t i = 0; r == 0 && i < COUNT; i++)
        r = mcp_client_start_tool(client, tools[i], "{}", NULL, NULL, NULL, &calls[i]);
    for (size_t i = 0; i < COUNT; i++) {
        reply = NULL;
        if (r == 0)
            r = mcp_call_wait(calls[i], MCP_TIMEOUT_NONE, &reply, err);
        if (r == 0)
            r = answer_check(reply, "-ok", err);
        mcp_reply_free(reply);
        mcp_call_free(calls[i]);
    }
    return r;
}

/* ---- schemas ------------------------------------------------------------------ */

/* The schema of a tool goes back as it came. */
static int
schema_preservation(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    mcp_builder *arguments = mcp_builder_new(NULL);
    mcp_reply *tools = NULL;
    const mcp_json *tool;
    int r;

    (void)context;
    r = mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, &tools, err);
    if (r == 0) {
        tool = mcp_json_find(mcp_reply_items(tools), "name",
                             "json_schema_2020_12_tool");
        mcp_builder_begin_object(arguments, NULL);
        mcp_builder_value(arguments, "schema", mcp_json_get(tool, "inputSchema"));
        mcp_builder_end(arguments);
        r = call_tool(client, "json_schema_echo", mcp_builder_text(arguments, NULL),
                      "echoed", err);
    }
    mcp_reply_free(tools);
    mcp_builder_free(arguments);
    return r;
}

/* A schema that points into the network is refused, because nobody looks there. */
static int
schema_reference(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    mcp_reply *tools = NULL;
    mcp_schema *schema = NULL;
    const mcp_json *tool;
    int r;

    (void)context;
    r = mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, &tools, err);
    if (r == 0) {
        tool = mcp_json_find(mcp_reply_items(tools), "name", "lookup_user");
        r = mcp_schema_compile(mcp_json_get(tool, "inputSchema"), NULL, &schema, err);
        r = expect(tool && r == MCP_E_INVAL, "the schema is refused", err);
    }
    mcp_schema_free(schema);
    mcp_reply_free(tools);
    return r;
}

const struct scenario core_scenarios[] = {
    {"initialize", list_tools, NULL},
    {"tools_call", add_numbers, NULL},
    {"sse-retry", sse_retry, NULL},
    {"request-metadata", request_metadata, NULL},
    {"elicitation-sep1034-client-defaults", elicitation_defaults, NULL},
    {"sep-2322-client-request-state", request_state, NULL},
    {"json-schema-2020-12-preservation", schema_preservation, NULL},
    {"json-schema-ref-no-deref", schema_reference, NULL},
    {0},
};
