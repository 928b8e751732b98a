/*
 * host.c - a small host: looks at all that a server offers, and answers its questions
 *
 *     build/bin/example-host build/bin/example-asking
 */
#include <stdio.h>
#include <string.h>

#include <mcp/client.h>

/* The user's answer to a form. What is left out gets the form's defaults, and the whole is
 * checked before it is sent. A real host shows params.message and the form. */
static int
elicit(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *params = mcp_request_params(req);

    (void)user;
    printf("  asked: %s\n", mcp_json_string(mcp_json_get(params, "message"), ""));
    if (mcp_json_get(params, "url"))
        return mcp_result_accept(out); /* the user has agreed to go there */
    if (!mcp_json_get(
            mcp_json_get(mcp_json_get(params, "requestedSchema"), "properties"),
            "city"))
        return mcp_result_decline(out);
    return mcp_result_json(out, "{\"city\":\"Oslo\"}", 15);
}

/* The model's answer. A real host asks its user first, then its model. */
static int
sample(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_model(out, "parrot-1");
    mcp_result_stop_reason(out, "endTurn");
    return mcp_result_text(out, "Hello, user");
}

static void
print_message(mcp_client *client, enum mcp_severity severity, const char *logger,
              const mcp_json *data, void *user)
{
    (void)client, (void)user;
    printf("  log %d, %s: %s\n", (int)severity, logger ? logger : "-",
           mcp_json_string(data, "(not a text)"));
}

static void
print_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    (void)client, (void)user;
    printf("  changed: %d %s\n", (int)change, uri ? uri : "");
}

/* Everything of a kind, page after page, as one list. */
static void
print_all(mcp_client *client, enum mcp_list list, const char *title, const char *member)
{
    mcp_reply *reply = NULL;
    mcp_json_iterator it;

    if (mcp_client_list_all(client, list, NULL, &reply, NULL) < 0)
        return; /* the server has nothing of the kind */
    for (it = mcp_json_each(mcp_reply_items(reply)); mcp_json_next(&it);)
        printf("%s %s\n", title, mcp_json_string(mcp_json_get(it.value, member), "?"));
    mcp_reply_free(reply);
}

/* Call a tool that needs no arguments, if it is there. */
static void
try_tool(mcp_client *client, const char *name)
{
    mcp_reply *reply = NULL;
    mcp_error err;

    if (mcp_client_call_tool(client, name, NULL, NULL, &reply, &err) == 0)
        printf("%s: %s\n", name, mcp_reply_text(reply));
    mcp_reply_free(reply);
}

int
main(int argc, char **argv)
{
    const mcp_root roots[] = {{.uri = "file:///project", .name = "project"}, {0}};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "host", .version = "1.0",
                                                     .elicit = {.run = elicit},
                                                     .sample = {.run = sample},
                                                     .root_list = roots,
                                                     .able = MCP_ABLE_URL,
                                                     .messages = MCP_SEVERITY_INFO,
                                                     .on_message = print_message,
                                                     .on_change = print_change);
    mcp_client *client = NULL;
    mcp_error err = {0};

    if (argc < 2 ||
        mcp_client_spawn((const char *const *)(argv + 1), &me, &client, &err) < 0) {
        fprintf(stderr, "usage: %s SERVER [ARGUMENT...]  %s\n", argv[0], err.message);
        return 2;
    }
    print_all(client, MCP_LIST_TOOLS, "tool", "name");
    print_all(client, MCP_LIST_RESOURCES, "resource", "uri");
    print_all(client, MCP_LIST_TEMPLATES, "template", "uriTemplate");
    print_all(client, MCP_LIST_PROMPTS, "prompt", "name");
    try_tool(client, "book");
    try_tool(client, "sign_in");
    try_tool(client, "summarize");
    mcp_client_free(client);
    return 0;
}
