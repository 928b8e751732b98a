/*
 * server.c - the same echo twice: answered on the loop, and on a worker thread
 *
 * What a `run` handler costs over a `reply` handler is what the two are measured for.
 */
#include <stdio.h>

#include <mcp/server.h>

struct echo_args {
    const char *text;
};

static const mcp_field echo_fields[] = {
    MCP_FIELD(struct echo_args, text, MCP_STRING, MCP_REQUIRED, "what to say"),
    {0},
};

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    struct echo_args args;
    int r = mcp_request_bind(req, &args);

    (void)user;
    return r < 0 ? r : mcp_result_text(out, args.text);
}

int
main(void)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "echo_inline", .fields = echo_fields, .reply = echo),
        MCP_TOOL(.name = "echo_blocking", .fields = echo_fields, .run = echo),
    };
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "bench-server", .version = "1.0"),
                       &server, &err);
    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "bench-server: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
