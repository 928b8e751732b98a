/* command_info.c - mcpctl info: who the server is, and what it can do */
#include <string.h>

#include "cli/content.h"
#include "cli/do.h"
#include "cli/text.h"

/* JSON as other programs know it from initialize and server/discover. */
static int
info_print(struct cli_session *session)
{
    mcp_client *client = session->client;
    mcp_builder *b = mcp_builder_new(NULL);
    const char *instructions = mcp_client_instructions(client);
    mcp_doc *doc = NULL;
    int code;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "protocolVersion", mcp_client_version(client));
    mcp_builder_value(b, "serverInfo", mcp_client_server_info(client));
    mcp_builder_value(b, "capabilities", mcp_client_server_capabilities(client));
    if (instructions)
        mcp_builder_string(b, "instructions", instructions);
    mcp_builder_end(b);
    if (mcp_builder_parse(b, &doc) < 0)
        code = cli_fail_with(session->cli, CLI_OTHER, "out of memory");
    else
        code = cli_print_json(session->cli, mcp_doc_root(doc));
    mcp_doc_free(doc);
    mcp_builder_free(b);
    return code;
}

static void
line_add(struct cli_text *text, const char *label, const char *value)
{
    if (!value || !*value)
        return;
    cli_text_printf(text, "%-13s", label);
    cli_text_add_harmless(text, value, strlen(value), true);
    cli_text_puts(text, "\n");
}

/* "tools (list changes), resources (list changes, subscriptions)". */
static void
capabilities_add(struct cli_text *text, const mcp_json *capabilities)
{
    struct cli_text line = {0};
    mcp_json_iterator it, inside;

    for (it = mcp_json_each(capabilities); mcp_json_next(&it);) {
        const char *before = " (";

        cli_text_printf(&line, "%s%s", line.length > 0 ? ", " : "",
                        mcp_json_string(it.key, ""));
        for (inside = mcp_json_each(it.value); mcp_json_next(&inside);) {
            if (mcp_json_get_type(inside.value) == MCP_JSON_BOOL &&
                !mcp_json_bool(inside.value, false))
                continue;
            cli_text_printf(&line, "%s%s", before, mcp_json_string(inside.key, ""));
            before = ", ";
        }
        cli_text_puts(&line, *before == ',' ? ")" : "");
    }
    line_add(text, "can", cli_text_string(&line));
    cli_text_done(&line);
}

static int
info_show(struct cli_session *session)
{
    struct cli *cli = session->cli;
    const mcp_json *info = mcp_client_server_info(session->client);
    const char *instructions = mcp_client_instructions(session->client);
    struct cli_text text = {0}, harmless = {0};
    bool ok;

    line_add(&text, "server", mcp_json_string(mcp_json_get(info, "name"), "?"));
    line_add(&text, "title", mcp_json_string(mcp_json_get(info, "title"), NULL));
    line_add(&text, "version", mcp_json_string(mcp_json_get(info, "version"), NULL));
    line_add(&text, "about", mcp_json_string(mcp_json_get(info, "description"), NULL));
    line_add(&text, "website", mcp_json_string(mcp_json_get(info, "websiteUrl"), NULL));
    line_add(&text, "protocol", mcp_client_version(session->client));
    capabilities_add(&text, mcp_client_server_capabilities(session->client));
    if (instructions && *instructions) {
        cli_text_add_harmless(&harmless, instructions, strlen(instructions), false);
        cli_text_puts(&text, "\n");
        cli_text_add_wrapped(&text, cli_text_string(&harmless), harmless.length,
                             cli_terminal_width(), 0);
        cli_text_puts(&text, "\n");
    }
    ok = cli_write(cli, cli_text_string(&text), text.length) && cli_flush(cli);
    cli_text_done(&harmless);
    cli_text_done(&text);
    return ok ? CLI_OK : CLI_OTHER;
}

int
cli_do_info(struct cli_session *session, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return session->cli->json ? info_print(session) : info_show(session);
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_info);
}

const struct cli_command cli_command_info = {
    .name = "info",
    .arguments = "TARGET",
    .summary = "Show who a server is, which protocol it speaks, and what it can do",
    .text =
        "Opens a session and shows what the server says of itself: its name and "
        "version, the version of the protocol that was agreed on, its capabilities, "
        "and its instructions for a model.",
    .examples = "mcpctl info ./my-server\n"
                "mcpctl info --era legacy https://example.com/mcp\n",
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .run = run,
};
