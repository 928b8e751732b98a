/* client_headers.c - scenarios about what stands in the headers of a request */
#include <string.h>

#include "client_scenarios.h"

/* Does something with each item of a list, by its name or URI. */
typedef int use_fn(mcp_client *client, const char *name, mcp_error *err);

static int
use_each(mcp_client *client, enum mcp_list list, const char *key, use_fn *use,
         mcp_error *err)
{
    mcp_reply *reply = NULL;
    mcp_json_iterator it;
    int r;

    r = mcp_client_list_all(client, list, NULL, &reply, err);
    it = mcp_json_each(mcp_reply_items(reply));
    while (r == 0 && mcp_json_next(&it))
        r = use(client, mcp_json_string(mcp_json_get(it.value, key), ""), err);
    mcp_reply_free(reply);
    return r;
}

static int
use_tool(mcp_client *client, const char *name, mcp_error *err)
{
    return call_tool(client, name, "{\"region\":\"us-west1\"}", "", err);
}

static int
use_resource(mcp_client *client, const char *uri, mcp_error *err)
{
    return mcp_client_read(client, uri, NULL, NULL, err);
}

static int
use_prompt(mcp_client *client, const char *name, mcp_error *err)
{
    return mcp_client_get_prompt(client, name, NULL, NULL, NULL, err);
}

/* Each request names its method, and what it is for. */
static int
standard_headers(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    int r;

    (void)context;
    r = use_each(client, MCP_LIST_TOOLS, "name", use_tool, err);
    if (r == 0)
        r = use_each(client, MCP_LIST_RESOURCES, "uri", use_resource, err);
    if (r == 0)
        r = use_each(client, MCP_LIST_PROMPTS, "name", use_prompt, err);
    return r;
}

/* Arguments that their tool wants in headers stand there too: call what we are told. */
static int
custom_headers(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    const mcp_json *calls = mcp_json_get(context, "toolCalls");
    mcp_builder *arguments = mcp_builder_new(NULL);
    mcp_json_iterator it;
    const char *name;
    int r;

    r = expect(mcp_json_count(calls) > 0, "the context names calls", err);
    if (r == 0)
        r = mcp_client_list_all(client, MCP_LIST_TOOLS, NULL, NULL, err);
    for (it = mcp_json_each(calls); r == 0 && mcp_json_next(&it);) {
        name = mcp_json_string(mcp_json_get(it.value, "name"), "");
        mcp_builder_reset(arguments);
        mcp_builder_value(arguments, NULL, mcp_json_get(it.value, "arguments"));
        r = call_tool(client, name, mcp_builder_text(arguments, NULL), "", err);
    }
    mcp_builder_free(arguments);
    return r;
}

/* Tools that ask for impossible headers are not in the list; the others are. */
static int
invalid_tool_headers(mcp_client *client, const mcp_json *context, mcp_error *err)
{
    (void)context;
    return use_each(client, MCP_LIST_TOOLS, "name", use_tool, err);
}

const struct scenario header_scenarios[] = {
    {"http-standard-headers", standard_headers, NULL},
    {"http-custom-headers", custom_headers, NULL},
    {"http-invalid-tool-headers", invalid_tool_headers, NULL},
    {0},
};
