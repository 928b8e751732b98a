#include <mcp/server.h>
#include <stdio.h>

struct sum {
    double a, b;
};

static const mcp_field sum_fields[] = {
    MCP_FIELD(struct sum, a, MCP_NUMBER, MCP_REQUIRED, "left operand"),
    MCP_FIELD(struct sum, b, MCP_NUMBER, MCP_REQUIRED, "right operand"),
    {0},
};

static int
add(mcp_request *req, mcp_result *out, void *user)
{
    struct sum sum;
    int r = mcp_request_bind(req, &sum);

    (void)user;
    return r < 0 ? r : mcp_result_textf(out, "%g", sum.a + sum.b);
}

int
main(void)
{
    mcp_server_options me = MCP_SERVER_OPTIONS(.name = "adder", .version = "1.0");
    mcp_tool tool = MCP_TOOL(.name = "add", .fields = sum_fields, .reply = add);
    mcp_server *server = NULL;
    mcp_error err = {0};

    if (mcp_server_new(&me, &server, &err) == 0 &&
        mcp_server_add_tool(server, &tool, &err) == 0)
        mcp_server_run_stdio(server, &err);
    fputs(err.message, stderr);
    mcp_server_free(server);
    return err.status != 0;
}
