/*
 * reader.c - a client that reads: resources, templates, completions, prompts, and changes
 *
 *     build/bin/example-reader build/bin/example-resources
 */
#include <stdio.h>

#include <mcp/client.h>
#include <mcp/subscription.h>

/* Text comes as text, bytes as Base64. */
static int
print_resource(mcp_client *client, const char *uri, mcp_error *err)
{
    mcp_reply *reply = NULL;
    const mcp_json *first;
    int r;

    r = mcp_client_read(client, uri, NULL, &reply, err);
    if (r < 0)
        return r;
    first = mcp_json_at(mcp_reply_items(reply), 0);
    printf("%s: %s%s\n", uri, mcp_json_string(mcp_json_get(first, "text"), ""),
           mcp_json_string(mcp_json_get(first, "blob"), ""));
    mcp_reply_free(reply);
    return 0;
}

static int
complete(mcp_client *client, mcp_error *err)
{
    const mcp_complete what = MCP_COMPLETE(.uri_template = "users://{name}/card",
                                           .argument = "name", .value = "a");
    mcp_reply *reply = NULL;
    mcp_json_iterator it;
    int r;

    r = mcp_client_complete(client, &what, NULL, &reply, err);
    for (it = mcp_json_each(mcp_reply_items(reply)); r == 0 && mcp_json_next(&it);)
        printf("users://%s/card\n", mcp_json_string(it.value, ""));
    mcp_reply_free(reply);
    return r;
}

/* Subscribe, have the server change the resource, and wait until it says so. */
static int
watch(mcp_client *client, mcp_error *err)
{
    const char *const uris[] = {"visits://count", NULL};
    mcp_subscription *subscription = NULL;
    mcp_notice notice;
    int r;

    r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = uris), &subscription, err);
    if (r == 0)
        r = mcp_client_call_tool(client, "visit", NULL, NULL, NULL, err);
    if (r == 0)
        r = mcp_subscription_next(subscription, 10000, &notice);
    if (r == 0)
        printf("%s has changed\n", notice.uri);
    mcp_subscription_free(subscription); /* the server is told, in the era's own way */
    return r;
}

int
main(int argc, char **argv)
{
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: %s SERVER [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    r = mcp_client_spawn((const char *const *)(argv + 1),
                         &MCP_CLIENT_OPTIONS(.name = "reader", .version = "1.0"),
                         &client, &err);
    if (r == 0)
        r = print_resource(client, "visits://about", &err);
    if (r == 0)
        r = print_resource(client, "visits://icon", &err);
    if (r == 0)
        r = print_resource(client, "users://ada/card", &err);
    if (r == 0)
        r = complete(client, &err);
    if (r == 0)
        r = watch(client, &err);
    if (r == 0)
        r = print_resource(client, "visits://count", &err);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", mcp_status_name(r), err.message);
    mcp_client_free(client);
    return r < 0;
}
