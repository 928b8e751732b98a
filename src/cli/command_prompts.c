/* command_prompts.c - mcpctl prompts: the prompts of a server */
#include "cli/do.h"
#include "cli/lists.h"

static void
row_add(struct cli_table *table, const mcp_json *prompt)
{
    struct cli_text arguments = {0};
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(prompt, "arguments")); mcp_json_next(&it);)
        cli_text_printf(&arguments, "%s%s%s", arguments.length > 0 ? " " : "",
                        mcp_json_string(mcp_json_get(it.value, "name"), "?"),
                        mcp_json_bool(mcp_json_get(it.value, "required"), false) ? ""
                                                                                 : "?");
    cli_table_row(table,
                  (const char *const[]){
                      mcp_json_string(mcp_json_get(prompt, "name"), "?"),
                      cli_text_string(&arguments),
                      mcp_json_string(mcp_json_get(prompt, "description"), NULL)});
    cli_text_done(&arguments);
}

int
cli_do_prompts(struct cli_session *session, int argc, char **argv)
{
    static const char *const headings[] = {"NAME", "ARGUMENTS", "DESCRIPTION", NULL};

    (void)argc;
    (void)argv;
    return cli_show_list(session, MCP_LIST_PROMPTS, headings, row_add);
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_prompts);
}

const struct cli_command cli_command_prompts = {
    .name = "prompts",
    .arguments = "TARGET",
    .summary = "List the prompts of a server",
    .text = "All prompts, with their arguments; those with a question mark may be left "
            "out. mcpctl get shows the messages of one.",
    .examples = "mcpctl prompts ./my-server\n",
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .run = run,
};
