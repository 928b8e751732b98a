/* command_templates.c - mcpctl templates: patterns of resources that a server has */
#include "cli/do.h"
#include "cli/lists.h"

static void
row_add(struct cli_table *table, const mcp_json *template)
{
    cli_table_row(table,
                  (const char *const[]){
                      mcp_json_string(mcp_json_get(template, "uriTemplate"), "?"),
                      mcp_json_string(mcp_json_get(template, "name"), NULL),
                      mcp_json_string(mcp_json_get(template, "mimeType"), NULL),
                      mcp_json_string(mcp_json_get(template, "description"), NULL)});
}

int
cli_do_templates(struct cli_session *session, int argc, char **argv)
{
    static const char *const headings[] = {"TEMPLATE", "NAME", "TYPE", "DESCRIPTION",
                                           NULL};

    (void)argc;
    (void)argv;
    return cli_show_list(session, MCP_LIST_TEMPLATES, headings, row_add);
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_templates);
}

const struct cli_command cli_command_templates = {
    .name = "templates",
    .arguments = "TARGET",
    .summary = "List the patterns of resources that a server has",
    .text =
        "URI templates (RFC 6570): fill in what stands in braces, and mcpctl read "
        "shows that resource. mcpctl complete asks the server what could stand there.",
    .examples = "mcpctl templates ./my-server\n",
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .run = run,
};
