/*
 * prompts.c - a server that proposes what to say: prompts with arguments and pictures
 *
 *     build/bin/example-host build/bin/example-prompts
 */
#include <stdio.h>

#include <mcp/server.h>

static int
review(mcp_request *req, mcp_result *out, void *user)
{
    const char *language = mcp_request_argument(req, "language");

    (void)user;
    mcp_result_description(out, "Review a piece of code");
    mcp_result_textf(out, "Review this %s code:", language ? language : "");
    mcp_result_resource_text(out, "file:///code", NULL,
                             mcp_request_argument(req, "code")); /* required: there */
    mcp_result_role(out, MCP_ROLE_ASSISTANT);
    return mcp_result_text(out, "I will look for mistakes first, then for style.");
}

static int
describe(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_text(out, "What is in this picture?");
    return mcp_result_image(out, "GIF89a", 6, "image/gif");
}

static const char *const languages[] = {"c", "c++", "python", "rust", NULL};

static const mcp_prompt_argument review_arguments[] = {
    {.name = "code", .description = "what to review", .required = true},
    {.name = "language", .values = languages}, /* completed while it is typed */
    {0},
};

/* A tool that withdraws a prompt; clients are told that the list has changed. */
static int
forget(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    mcp_server_remove_prompt(mcp_request_server(req), "describe");
    return mcp_result_text(out, "forgotten");
}

int
main(void)
{
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "prompts", .version = "1.0"),
                       &server, &err);
    if (r == 0)
        r = mcp_server_add_prompt(server,
                                  &MCP_PROMPT(.name = "review", .title = "Review code",
                                              .arguments = review_arguments,
                                              .reply = review),
                                  &err);
    if (r == 0)
        r = mcp_server_add_prompt(
            server, &MCP_PROMPT(.name = "describe", .reply = describe), &err);
    if (r == 0)
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "forget", .reply = forget),
                                &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "prompts: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
