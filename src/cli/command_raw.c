/* command_raw.c - mcpctl raw: any method, as it is */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/do.h"
#include "cli/text.h"

/* All of stdin. False: it was said why. */
static bool
input_read(struct cli *cli, struct cli_text *into)
{
    char data[4096];
    size_t n;

    do {
        n = fread(data, 1, sizeof(data), stdin);
        cli_text_add(into, data, n);
    } while (n > 0 && !into->failed);
    if (!ferror(stdin) && !into->failed)
        return true;
    (void)cli_fail_with(cli, CLI_OTHER, "cannot read stdin: %s",
                        into->failed ? "out of memory" : strerror(errno));
    return false;
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

int
cli_do_raw(struct cli_session *session, int argc, char **argv)
{
    struct cli *cli = session->cli;
    struct cli_text input = {0};
    const char *params = argc > 1 ? argv[1] : NULL;
    mcp_doc *doc = NULL;
    mcp_error err = {0};
    int code;

    if (params && strcmp(params, "-") == 0) {
        if (!input_read(cli, &input)) {
            cli_text_done(&input);
            return CLI_OTHER;
        }
        params = cli_text_string(&input);
    }
    if (params && mcp_doc_parse(params, strlen(params), NULL, &doc, &err) < 0)
        code = cli_fail_with(cli, CLI_OTHER, "the parameters are no JSON: %s",
                             err.message);
    else if (params && mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT)
        code = cli_fail_with(cli, CLI_OTHER, "the parameters must be a JSON object");
    else if (cli->options.notify)
        code = notify(session, argv[0], params);
    else
        code = call(session, argv[0], params);
    mcp_doc_free(doc);
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
