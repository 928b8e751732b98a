/* command_call.c - mcpctl call: call a tool */
#include <stdlib.h>

#include "cli/args.h"
#include "cli/content.h"
#include "cli/do.h"

int
cli_do_call(struct cli_session *session, int argc, char **argv)
{
    struct cli_call call = {.tool = argv[0]};
    mcp_reply *list = NULL, *reply = NULL;
    const mcp_json *tool = NULL;
    char *arguments = NULL;
    int code;

    code = cli_find_tool(session, argv[0], &list, &tool);
    if (code == CLI_OK)
        code = cli_args_read(session->cli, mcp_json_get(tool, "inputSchema"), argc - 1,
                             argv + 1, &arguments);
    call.arguments = arguments;
    if (code == CLI_OK)
        code = cli_session_call(session, &call, &reply);
    if (reply)
        code = cli_show_result(session->cli, reply);
    mcp_reply_free(reply);
    mcp_reply_free(list);
    free(arguments);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_call);
}

#define AT(member) offsetof(struct cli_options, member)

static const struct cli_option options[] = {
    {"args", "FILE", NULL, CLI_TEXT, AT(args),
     "Arguments from a file that holds a JSON object; - is stdin. Words win over it"},
    CLI_CONTENT_OPTIONS,
    {0},
};

const struct cli_command cli_command_call = {
    .name = "call",
    .arguments = "TARGET TOOL [NAME=VALUE...]",
    .summary = "Call a tool; Ctrl-C cancels it, in the server too",
    .text =
        "Arguments are typed by the tool's own schema, and checked before they are "
        "sent:\n"
        "\n"
        "    name=value     text, number, true or false, as the schema says\n"
        "    name:=json     JSON as it is: n:=3, list:='[1,2]'\n"
        "    name=@file     the text of a file; name=@@x is the text \"@x\"\n"
        "    a.b=value      a member of an object\n"
        "    name[]=value   one more element of a list\n"
        "\n"
        "What is required and missing is asked for if there is a terminal.\n"
        "\n"
        "Ctrl-C cancels the call in the way that the transport and the version of the "
        "protocol prescribe, waits until the server was told and answers again, and "
        "exits "
        "with 130, or with 6 if it does not. A second Ctrl-C kills. A tool that failed "
        "at "
        "its job exits with 5.",
    .examples = "mcpctl call ./my-server search query=milk limit=5\n"
                "mcpctl call https://example.com/mcp add a=1 b=2 --json\n"
                "mcpctl call ./my-server index --args args.json --timeout 10s "
                "--reset-on-progress\n",
    .options = options,
    .least = 2,
    .most = CLI_ANY_NUMBER,
    .words = {CLI_WORD_TARGET, CLI_WORD_TOOL, CLI_WORD_ARGUMENT},
    .shows_log = true,
    .run = run,
};
