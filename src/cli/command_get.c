/* command_get.c - mcpctl get: the messages of a prompt */
#include <stdlib.h>

#include "cli/args.h"
#include "cli/content.h"
#include "cli/do.h"

static int
messages_show(struct cli *cli, const mcp_reply *reply)
{
    if (cli->json)
        return cli_print_json(cli, mcp_reply_result(reply));
    return cli_show_messages(cli, mcp_reply_items(reply));
}

/* The server is asked even for one that it does not list: some do not list all. */
int
cli_do_get(struct cli_session *session, int argc, char **argv)
{
    struct cli_call call = {.prompt = argv[0]};
    mcp_reply *list = NULL, *reply = NULL;
    const mcp_json *prompt;
    char *arguments = NULL;
    int code = cli_session_list(session, MCP_LIST_PROMPTS, &list);

    prompt = mcp_json_find(mcp_reply_items(list), "name", argv[0]);
    if (code == CLI_OK)
        code = cli_args_read_prompt(session->cli, mcp_json_get(prompt, "arguments"),
                                    argc - 1, argv + 1, &arguments);
    call.arguments = arguments;
    if (code == CLI_OK)
        code = cli_session_call(session, &call, &reply);
    if (code == CLI_OK)
        code = messages_show(session->cli, reply);
    mcp_reply_free(reply);
    mcp_reply_free(list);
    free(arguments);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_get);
}

#define AT(member) offsetof(struct cli_options, member)

static const struct cli_option options[] = {
    {"args", "FILE", NULL, CLI_TEXT, AT(args),
     "Arguments from a file that holds a JSON object of texts; - is stdin"},
    CLI_CONTENT_OPTIONS,
    {0},
};

const struct cli_command cli_command_get = {
    .name = "get",
    .arguments = "TARGET PROMPT [NAME=VALUE...]",
    .summary = "Show the messages of a prompt",
    .text =
        "Arguments of prompts are texts: name=value, or name=@file for the text of a "
        "file. What is required and missing is asked for if there is a terminal.",
    .examples = "mcpctl get ./my-server review language=C\n",
    .options = options,
    .least = 2,
    .most = CLI_ANY_NUMBER,
    .words = {CLI_WORD_TARGET, CLI_WORD_PROMPT, CLI_WORD_ARGUMENT},
    .shows_log = true,
    .run = run,
};
