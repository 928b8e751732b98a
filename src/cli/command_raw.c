/* command_raw.c - mcpctl raw: any method, as it is */
#include <string.h>

#include "cli/args_parts.h"
#include "cli/do.h"

/* All of stdin. CLI_OK, or how to exit: it was said why. */
static int
input_read(struct cli *cli, struct cli_text *into)
{
    struct cli_text why = {0};
    int code = CLI_OK;

    if (!cli_args_load(cli, "-", into, &why))
        code = cli_is_over(cli)
                   ? cli_fail_with(cli, CLI_CANCELED, "canceled; nothing was sent")
                   : cli_fail_with(cli, CLI_OTHER, "%s", cli_text_string(&why));
    cli_text_done(&why);
    return code;
}

static int
notify(struct cli_session *session, const char *method, const char *params)
{
    int r = mcp_client_notify(session->client, method, params);

    if (r < 0)
        return cli_fail_with(session->cli, CLI_OTHER, "%s: %s", method,
                             mcp_status_text(r));
    return CLI_OK; /* closing the session writes what waits */
}

static int
call(struct cli_session *session, const char *method, const char *params)
{
    const struct cli_call what = {.method = method, .params = params};
    mcp_reply *reply = NULL;
    int code = cli_session_call(session, &what, &reply);

    if (code == CLI_OK)
        code = cli_print_json(session->cli, mcp_reply_result(reply));
    mcp_reply_free(reply);
    return code;
}

static int
params_check(struct cli *cli, const char *params, size_t length)
{
    mcp_doc *doc = NULL;
    mcp_error err = {0};
    int code = CLI_OK;

    if (mcp_doc_parse(params, length, NULL, &doc, &err) < 0)
        code = cli_fail_with(cli, CLI_OTHER, "the parameters are no JSON: %s",
                             err.message);
    else if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT)
        code = cli_fail_with(cli, CLI_OTHER, "the parameters must be a JSON object");
    mcp_doc_free(doc);
    return code;
}

int
cli_do_raw(struct cli_session *session, int argc, char **argv)
{
    struct cli *cli = session->cli;
    struct cli_text input = {0};
    const char *params = argc > 1 ? argv[1] : NULL;
    size_t length = params ? strlen(params) : 0;
    int code = CLI_OK;

    if (params && strcmp(params, "-") == 0) {
        code = input_read(cli, &input);
        params = cli_text_string(&input);
        length = input.length;
    }
    if (code == CLI_OK && params)
        code = params_check(cli, params, length);
    if (code == CLI_OK)
        code = cli->options.notify ? notify(session, argv[0], params)
                                   : call(session, argv[0], params);
    cli_text_done(&input);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_raw);
}

static const struct cli_option options[] = {
    {"notify", NULL, NULL, CLI_FLAG, offsetof(struct cli_options, notify),
     "Send it as a notification, and wait for no answer"},
    {0},
};

const struct cli_command cli_command_raw = {
    .name = "raw",
    .arguments = "TARGET METHOD [PARAMS]",
    .summary = "Call any method, and show its result as JSON",
    .text = "PARAMS is a JSON object, or - to read it from stdin. What the protocol "
            "adds to "
            "every request is added; the session is opened as for other commands.",
    .examples = "mcpctl raw ./my-server tools/list\n"
                "mcpctl raw ./my-server tools/call "
                "'{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}'\n",
    .options = options,
    .least = 2,
    .most = 3,
    .words = {CLI_WORD_TARGET, CLI_WORD_ANY},
    .run = run,
};
