/*
 * client.c - what can this server do, and a call that is canceled
 *
 *     build/bin/example-client build/bin/probe-server
 */
#include <stdio.h>

#include <mcp/client.h>

static void
print_tools(const mcp_reply *page)
{
    const mcp_json *tools = mcp_json_get(mcp_reply_result(page), "tools");
    mcp_json_iterator it;

    for (it = mcp_json_each(tools); mcp_json_next(&it);)
        printf("  %-12s %s\n", mcp_json_string(mcp_json_get(it.value, "name"), "?"),
               mcp_json_string(mcp_json_get(it.value, "description"), ""));
}

static int
list_tools(mcp_client *client, mcp_error *err)
{
    mcp_reply *page = NULL, *next = NULL;
    int r;

    r = mcp_client_list_tools(client, NULL, NULL, &page, err);
    while (r == 0) {
        print_tools(page);
        if (!mcp_reply_cursor(page))
            break;
        r = mcp_client_list_tools(client, mcp_reply_cursor(page), NULL, &next, err);
        if (r == 0) {
            mcp_reply_free(page);
            page = next;
        }
    }
    mcp_reply_free(page);
    return r;
}

/* Start a call that would take a minute, and think better of it. */
static int
cancel_one(mcp_client *client, mcp_error *err)
{
    mcp_call *call;
    int r;

    r = mcp_client_start_tool(client, "hang", "{\"seconds\":60}", NULL, NULL, NULL,
                              &call);
    if (r < 0)
        return r;
    mcp_call_cancel(call, "the user pressed Escape"); /* asks; the end tells */
    r = mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, err);
    printf("call %s: %s\n", mcp_call_id(call), mcp_status_text(r));
    mcp_call_free(call);
    return r == MCP_E_CANCELED ? 0 : r;
}

int
main(int argc, char **argv)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "lister",
                                                     .version = "1.0");
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: %s SERVER [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    r = mcp_client_spawn((const char *const *)(argv + 1), &me, &client, &err);
    if (r == 0) {
        printf("protocol %s\n", mcp_client_version(client));
        r = list_tools(client, &err);
    }
    if (r == 0)
        r = cancel_one(client, &err);
    if (r < 0)
        fprintf(stderr, "%s: %s\n", mcp_status_name(r), err.message);
    mcp_client_free(client);
    return r < 0;
}
