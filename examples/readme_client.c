#include <mcp/client.h>
#include <stdio.h>

int
main(int argc, char **argv)
{
    const char *const command[] = {argc > 1 ? argv[1] : "./readme-server", NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "asker", .version = "1.0");
    const mcp_call_options soon = MCP_CALL_OPTIONS(.timeout_ms = 5000);
    mcp_client *client = NULL;
    mcp_reply *reply = NULL;
    mcp_error err;
    int r = mcp_client_spawn(command, &me, &client, &err);

    if (r == 0)
        r = mcp_client_call_tool(client, "add", "{\"a\": 19, \"b\": 23}", &soon, &reply,
                                 &err);
    if (r == 0)
        printf("19 + 23 = %s\n", mcp_reply_text(reply));
    else
        fprintf(stderr, "asker: %s\n", err.message);
    mcp_reply_free(reply);
    mcp_client_free(client);
    return r < 0;
}
