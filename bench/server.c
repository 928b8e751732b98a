/*
 * server.c - the same echo: answered on the loop, on a worker thread, in a process
 *
 * What a `run` handler costs over a `reply` handler, and an isolated one over both, is
 * what they are measured for. Isolated ones are there with --isolated only: their helper
 * processes would count in the other tables.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mcp/isolate.h>

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

/* Says who it is and hears nothing any more. */
static int
deaf(mcp_request *req, mcp_result *out, void *user)
{
    char pid[16];

    (void)user;
    snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    (void)mcp_request_progress(req, 1, 0, pid);
    sleep(600);
    return mcp_result_text(out, "awake");
}

int
main(int argc, char **argv)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "echo_isolated", .fields = echo_fields, .run = echo,
                 .isolate = &MCP_ISOLATE(.warm = 4, .most = 4)),
        MCP_TOOL(.name = "deaf_isolated", .run = deaf,
                 .isolate = &MCP_ISOLATE(.grace_ms = -1)),
        MCP_TOOL(.name = "echo_inline", .fields = echo_fields, .reply = echo),
        MCP_TOOL(.name = "echo_blocking", .fields = echo_fields, .run = echo),
    };
    bool isolated = argc > 1 && strcmp(argv[1], "--isolated") == 0;
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    mcp_isolated_enter(argc, argv, tools, sizeof(tools) / sizeof(tools[0]));
    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "bench-server", .version = "1.0"),
                       &server, &err);
    for (size_t i = isolated ? 0 : 2; r == 0 && i < sizeof(tools) / sizeof(tools[0]);
         i++)
        r = mcp_server_add_tool(server, &tools[i], &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "bench-server: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
