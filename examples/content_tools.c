/*
 * content_tools.c - what a tool can answer with, say on the way, and how tools come and go
 *
 *     npx @modelcontextprotocol/inspector build/bin/example-content
 */
#include <stdio.h>

#include <mcp/server.h>

static const unsigned char dot_png[] = {
    0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,    0x0d, 'I',  'H',
    'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    8,    6,    0,    0,
    0,    0x1f, 0x15, 0xc4, 0x89, 0,    0,    0,    0x0d, 'I',  'D',  'A',  'T',  0x78,
    0xda, 0x63, 0xfc, 0xcf, 0xc0, 0x50, 0x0f, 0,    0x04, 0x85, 0x01, 0x80, 0x84, 0xa9,
    0x8c, 0x21, 0,    0,    0,    0,    'I',  'E',  'N',  'D',  0xae, 0x42, 0x60, 0x82};

/* Blocks of content come in the order in which they are written. */
static int
show(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_text(out, "A dot, its sound, and where it comes from:");
    mcp_result_annotate(out, MCP_FOR_USER, 0.5, NULL);
    mcp_result_image(out, dot_png, sizeof(dot_png), "image/png");
    mcp_result_audio(out, "RIFF", 4, "audio/wav");
    mcp_result_resource_text(out, "dot:///about", "text/plain", "It is one pixel.");
    return mcp_result_resource_link(out, "dot:///all", "all", "All dots", NULL, NULL);
}

/* A tool that fails at its job says so to the model, which may try again. A request that
 * makes no sense at all is an error of the protocol: mcp_request_fail. */
static int
divide(mcp_request *req, mcp_result *out, void *user)
{
    double by = mcp_json_number(mcp_json_get(mcp_request_arguments(req), "by"), 0);

    (void)user;
    if (by == 0)
        return mcp_result_fail(out, "I cannot divide by zero; try another number");
    return mcp_result_textf(out, "%g", 1 / by);
}

/* Progress for who asked for it, log messages for who wants that severity. */
static int
work(mcp_request *req, mcp_result *out, void *user)
{
    int r = 0;

    (void)user;
    for (int i = 1; r == 0 && i <= 5; i++) {
        r = mcp_request_sleep(req, 100);
        if (r == 0)
            r = mcp_request_progress(req, i, 5, "working");
        if (r == 0)
            r = mcp_request_log(req, MCP_SEVERITY_INFO, "work", "step %d of 5", i);
    }
    return r < 0 ? r : mcp_result_text(out, "done");
}

/* The list of tools may change while clients look at it; they are told. */
static int
learn(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_tool tool = MCP_TOOL(.name = "divide", .run = divide);
    mcp_error err;

    (void)user;
    if (mcp_server_add_tool(mcp_request_server(req), &tool, &err) < 0)
        return mcp_result_fail(out, "%s", err.message);
    return mcp_result_text(out, "I can divide now");
}

int
main(void)
{
    mcp_server *server = NULL;
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "show", .reply = show, .hints = MCP_READ_ONLY),
        MCP_TOOL(.name = "work", .run = work),
        MCP_TOOL(.name = "learn", .reply = learn),
    };
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "content", .version = "1.0"),
                       &server, &err);
    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "content: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
