/* command_resources.c - mcpctl resources: the resources of a server */
#include "cli/do.h"
#include "cli/lists.h"

static void
row_add(struct cli_table *table, const mcp_json *resource)
{
    const char *about = mcp_json_string(mcp_json_get(resource, "description"), NULL);

    if (!about)
        about = mcp_json_string(mcp_json_get(resource, "title"), NULL);
    cli_table_row(table, (const char *const[]){
                             mcp_json_string(mcp_json_get(resource, "uri"), "?"),
                             mcp_json_string(mcp_json_get(resource, "name"), NULL),
                             mcp_json_string(mcp_json_get(resource, "mimeType"), NULL),
                             about});
}

int
cli_do_resources(struct cli_session *session, int argc, char **argv)
{
    static const char *const headings[] = {"URI", "NAME", "TYPE", "DESCRIPTION", NULL};

    (void)argc;
    (void)argv;
    return cli_show_list(session, MCP_LIST_RESOURCES, headings, row_add);
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_resources);
}

const struct cli_command cli_command_resources = {
    .name = "resources",
    .arguments = "TARGET",
    .summary = "List the resources of a server",
    .text =
        "All resources that the server lists, whatever number of pages it gives them "
        "in. Those that are made from a pattern are in mcpctl templates; mcpctl read "
        "shows what is in one.",
    .examples = "mcpctl resources ./my-server\n",
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .run = run,
};
