/* lists.c - a list of the server's: as JSON, or as a table */
#include "cli/lists.h"

#include "cli/content.h"

bool
cli_write_harmless(struct cli *cli, const char *text, size_t length)
{
    struct cli_text harmless = {0};
    bool ok;

    cli_text_add_harmless(&harmless, text, length, false);
    ok = cli_write(cli, cli_text_string(&harmless), harmless.length) && cli_flush(cli);
    cli_text_done(&harmless);
    return ok;
}

static int
table_show(struct cli *cli, const mcp_json *items, const char *const *headings,
           void (*row)(struct cli_table *table, const mcp_json *item))
{
    struct cli_table *table = cli_table_new(headings);
    struct cli_text text = {0};
    mcp_json_iterator it;
    bool ok;

    for (it = mcp_json_each(items); mcp_json_next(&it);)
        row(table, it.value);
    cli_table_print(table, cli_terminal_width(), cli->color, &text);
    ok = cli_write(cli, cli_text_string(&text), text.length) && cli_flush(cli);
    cli_text_done(&text);
    cli_table_free(table);
    return ok ? CLI_OK : CLI_OTHER;
}

int
cli_show_list(struct cli_session *session, enum mcp_list list,
              const char *const *headings,
              void (*row)(struct cli_table *table, const mcp_json *item))
{
    struct cli *cli = session->cli;
    mcp_reply *reply = NULL;
    int code = cli_session_list(session, list, &reply);

    if (code != CLI_OK)
        return code;
    if (cli->json)
        code = cli_print_json(cli, mcp_reply_result(reply));
    else if (mcp_json_count(mcp_reply_items(reply)) == 0)
        cli_note(&cli->say, "there are none");
    else
        code = table_show(cli, mcp_reply_items(reply), headings, row);
    mcp_reply_free(reply);
    return code;
}
