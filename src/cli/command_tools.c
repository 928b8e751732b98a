/* command_tools.c - mcpctl tools: the tools of a server, or all that is known of one */
#include <string.h>

#include "cli/args.h"
#include "cli/content.h"
#include "cli/do.h"
#include "cli/lists.h"
#include "cli/text.h"

#define FIELDS_SHOWN 200 /* more are nobody's to read; --json has them all */

/* "city units?": what is not required has a question mark. */
static void
arguments_add(struct cli_text *into, const mcp_json *tool)
{
    const mcp_json *schema = mcp_json_get(tool, "inputSchema");
    const mcp_json *required = mcp_json_get(schema, "required");
    mcp_json_iterator it, r;

    for (it = mcp_json_each(mcp_json_get(schema, "properties")); mcp_json_next(&it);) {
        bool needed = false;

        if (it.index > FIELDS_SHOWN) {
            cli_text_puts(into, " ...");
            return;
        }
        for (r = mcp_json_each(required); mcp_json_next(&r);)
            needed = needed || mcp_json_is_string(r.value, mcp_json_string(it.key, ""));
        cli_text_printf(into, "%s%s%s", into->length > 0 ? " " : "",
                        mcp_json_string(it.key, ""), needed ? "" : "?");
    }
}

static void
row_add(struct cli_table *table, const mcp_json *tool)
{
    struct cli_text arguments = {0};

    arguments_add(&arguments, tool);
    cli_table_row(table, (const char *const[]){
                             mcp_json_string(mcp_json_get(tool, "name"), "?"),
                             cli_text_string(&arguments),
                             mcp_json_string(mcp_json_get(tool, "description"), NULL)});
    cli_text_done(&arguments);
}

/* ---- one tool ------------------------------------------------------------------ */

static void
text_add(struct cli_text *into, const char *text, size_t indent)
{
    struct cli_text harmless = {0};

    cli_text_add_harmless(&harmless, text, strlen(text), false);
    cli_text_add_wrapped(into, cli_text_string(&harmless), harmless.length,
                         cli_terminal_width() - indent, indent);
    cli_text_puts(into, "\n");
    cli_text_done(&harmless);
}

static void
field_add(struct cli_text *into, const mcp_json *schema, const mcp_json_iterator *at,
          bool needed)
{
    const char *name = mcp_json_string(at->key, "");
    struct cli_text kind = {0};
    const char *about = mcp_json_string(mcp_json_get(at->value, "description"), NULL);

    cli_args_describe_in(schema, at->value, &kind);
    cli_text_puts(into, "  ");
    cli_text_add_harmless(into, name, strlen(name), true);
    cli_text_puts(into, "  ");
    cli_text_add_harmless(into, cli_text_string(&kind), kind.length, true);
    cli_text_puts(into, needed ? ", required\n" : "\n");
    if (about) {
        cli_text_pad(into, 6);
        text_add(into, about, 6);
    }
    cli_text_done(&kind);
}

static void
fields_add(struct cli_text *into, const char *heading, const mcp_json *schema)
{
    const mcp_json *required = mcp_json_get(schema, "required");
    mcp_json_iterator it, r;

    if (mcp_json_count(mcp_json_get(schema, "properties")) == 0)
        return;
    cli_text_printf(into, "\n%s\n", heading);
    for (it = mcp_json_each(mcp_json_get(schema, "properties")); mcp_json_next(&it);) {
        const char *name = mcp_json_string(it.key, "");
        bool needed = false;

        if (it.index > FIELDS_SHOWN) {
            cli_text_puts(into, "  ...\n");
            return;
        }
        for (r = mcp_json_each(required); mcp_json_next(&r);)
            needed = needed || mcp_json_is_string(r.value, name);
        field_add(into, schema, &it, needed);
    }
}

static int
tool_show(struct cli *cli, const mcp_json *tool)
{
    const char *title = mcp_json_string(mcp_json_get(tool, "title"), NULL);
    const char *about = mcp_json_string(mcp_json_get(tool, "description"), NULL);
    struct cli_text text = {0};
    mcp_json_iterator it;
    bool ok;

    text_add(&text, mcp_json_string(mcp_json_get(tool, "name"), "?"), 0);
    if (title)
        text_add(&text, title, 0);
    if (about)
        text_add(&text, about, 0);
    fields_add(&text, "Arguments:", mcp_json_get(tool, "inputSchema"));
    fields_add(&text, "Structured output:", mcp_json_get(tool, "outputSchema"));
    for (it = mcp_json_each(mcp_json_get(tool, "annotations")); mcp_json_next(&it);) {
        if (it.index == 0 || text.length == 0)
            cli_text_puts(&text, "\nHints:");
        if (mcp_json_get_type(it.value) == MCP_JSON_BOOL)
            cli_text_printf(&text, " %s%s",
                            mcp_json_bool(it.value, false) ? "" : "not ",
                            mcp_json_string(it.key, ""));
    }
    cli_text_puts(&text, "\n");
    ok = cli_write_harmless(cli, cli_text_string(&text), text.length);
    cli_text_done(&text);
    return ok ? CLI_OK : CLI_OTHER;
}

int
cli_do_tools(struct cli_session *session, int argc, char **argv)
{
    static const char *const headings[] = {"NAME", "ARGUMENTS", "DESCRIPTION", NULL};
    mcp_reply *list = NULL;
    const mcp_json *tool;
    int code;

    if (argc == 0)
        return cli_show_list(session, MCP_LIST_TOOLS, headings, row_add);
    code = cli_find_tool(session, argv[0], &list, &tool);
    if (code != CLI_OK)
        return code;
    code = session->cli->json ? cli_print_json(session->cli, tool)
                              : tool_show(session->cli, tool);
    mcp_reply_free(list);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_tools);
}

const struct cli_command cli_command_tools = {
    .name = "tools",
    .arguments = "TARGET [TOOL]",
    .summary = "List the tools of a server, or show all that is known of one",
    .text =
        "Without TOOL: a table of all tools, whatever number of pages the server "
        "gives them in. Arguments with a question mark may be left out.\n\n"
        "With TOOL: its description, its arguments with their types, and its output.",
    .examples = "mcpctl tools ./my-server\n"
                "mcpctl tools ./my-server search\n",
    .least = 1,
    .most = 2,
    .words = {CLI_WORD_TARGET, CLI_WORD_TOOL},
    .run = run,
};
