/* command_read.c - mcpctl read: what is in a resource */
#include "cli/content.h"
#include "cli/do.h"

int
cli_do_read(struct cli_session *session, int argc, char **argv)
{
    const struct cli_call call = {.uri = argv[0]};
    mcp_reply *reply = NULL;
    int code = cli_session_call(session, &call, &reply);

    (void)argc;
    if (code == CLI_OK)
        code = session->cli->json
                   ? cli_print_json(session->cli, mcp_reply_result(reply))
                   : cli_show_contents(session->cli, mcp_reply_items(reply));
    mcp_reply_free(reply);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_read);
}

static const struct cli_option options[] = {
    CLI_CONTENT_OPTIONS,
    {0},
};

const struct cli_command cli_command_read = {
    .name = "read",
    .arguments = "TARGET URI",
    .summary = "Show what is in a resource",
    .text =
        "Texts are shown, bytes are saved as files. URI is one of mcpctl resources, or "
        "a filled-in one of mcpctl templates.",
    .examples = "mcpctl read ./my-server file:///notes/today.md\n",
    .options = options,
    .least = 2,
    .most = 2,
    .words = {CLI_WORD_TARGET, CLI_WORD_RESOURCE},
    .shows_log = true,
    .run = run,
};
