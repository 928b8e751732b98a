/* in_session.c - what the commands that open a session share */
#include <string.h>

#include "cli/content.h"
#include "cli/do.h"
#include "cli/near.h"
#include "cli/text.h"

int
cli_do_in_session(struct cli *cli, int argc, char **argv,
                  int (*fn)(struct cli_session *session, int argc, char **argv))
{
    struct cli_session session;
    int code = cli_session_open(cli, argv[0], NULL, &session);

    if (code != CLI_OK)
        return code;
    code = fn(&session, argc - 1, argv + 1);
    cli_session_close(&session);
    return code;
}

/* Results of servers of 2025 may have content alone, newer ones structured output alone. */
int
cli_show_result(struct cli *cli, const mcp_reply *reply)
{
    const mcp_json *content = mcp_reply_content(reply);
    const mcp_json *structured = mcp_reply_structured(reply);
    bool failed = mcp_reply_is_error(reply);
    int code;

    if (cli->json)
        code = cli_print_json(cli, mcp_reply_result(reply));
    else if (mcp_json_count(content) == 0 && structured)
        code = cli_show_value(cli, structured);
    else
        code = cli_show_content(cli, content);
    return failed ? cli_fail_with(cli, CLI_TOOL_ERROR, "the tool failed") : code;
}

static int
fail_no_tool(struct cli *cli, const mcp_json *tools, const char *name)
{
    struct cli_near near = cli_near_begin(name, strlen(name));
    struct cli_text text = {0};
    mcp_json_iterator it;
    int code;

    for (it = mcp_json_each(tools); mcp_json_next(&it);)
        cli_near_offer(&near, mcp_json_string(mcp_json_get(it.value, "name"), ""));
    cli_text_printf(&text, "there is no tool \"%s\"", name);
    if (near.best)
        cli_text_printf(&text, "; did you mean %s?", near.best);
    code = cli_fail_with(cli, CLI_OTHER, "%s", cli_text_string(&text));
    cli_text_done(&text);
    return code;
}

int
cli_find_tool(struct cli_session *session, const char *name, mcp_reply **ret_list,
              const mcp_json **ret_tool)
{
    mcp_reply *list = NULL;
    const mcp_json *tool;
    int code = cli_session_list(session, MCP_LIST_TOOLS, &list);

    if (code != CLI_OK)
        return code;
    tool = mcp_json_find(mcp_reply_items(list), "name", name);
    if (!tool) {
        code = fail_no_tool(session->cli, mcp_reply_items(list), name);
        mcp_reply_free(list);
        return code;
    }
    *ret_list = list;
    *ret_tool = tool;
    return CLI_OK;
}
