/* shell_settings.c - what can be set in the shell */
#include "cli/shell_settings.h"

#include <string.h>

static const char *const names[] = {"json", "log", "max-total", "timeout", NULL};
static const char *const switches[] = {"off", "on", NULL};
static const char *const levels[] = {"none",      "debug", "info",     "notice",
                                     "warning",   "error", "critical", "alert",
                                     "emergency", NULL};

void
cli_settings_apply_json(struct cli *cli)
{
    cli->json = cli->options.json || !cli->out_is_terminal;
    cli->say.is_json = cli->options.json;
}

/* A setting as it would be set. */
static void
add_value(struct cli *cli, const char *name, struct cli_text *into)
{
    const struct cli_options *said = &cli->options;
    int64_t ms = strcmp(name, "timeout") == 0 ? said->timeout_ms : said->total_ms;

    if (strcmp(name, "json") == 0)
        cli_text_puts(into, switches[said->json]);
    else if (strcmp(name, "log") == 0)
        cli_text_puts(into,
                      levels[said->severity >= 0 ? said->severity : MCP_SEVERITY_INFO]);
    else if (ms > 0 && ms % 1000 != 0)
        cli_text_printf(into, "%lldms", (long long)ms);
    else
        cli_text_printf(into, "%llds", (long long)(ms > 0 ? ms / 1000 : 0));
}

/* One setting, or all with only NULL. */
static int
show(struct cli *cli, const char *only)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;
    bool ok = true;

    mcp_builder_begin_object(b, NULL);
    for (const char *const *name = names; *name; name++) {
        struct cli_text value = {0};

        if (only && strcmp(only, *name) != 0)
            continue;
        add_value(cli, *name, &value);
        mcp_builder_string(b, *name, cli_text_string(&value));
        if (!cli->json)
            ok = cli_printf(cli, "%-10s %s\n", *name, cli_text_string(&value)) && ok;
        cli_text_done(&value);
    }
    mcp_builder_end(b);
    if (cli->json)
        ok = mcp_builder_parse(b, &doc) == 0 &&
             cli_print_json(cli, mcp_doc_root(doc)) == CLI_OK;
    mcp_doc_free(doc);
    mcp_builder_free(b);
    return ok && cli_flush(cli) ? CLI_OK : CLI_OTHER;
}

static int
set_json(struct cli *cli, const char *value)
{
    if (strcmp(value, "on") != 0 && strcmp(value, "off") != 0)
        return cli_fail_with(cli, CLI_OTHER, "json is on or off, not \"%s\"", value);
    cli->options.json = strcmp(value, "on") == 0;
    cli_settings_apply_json(cli);
    return CLI_OK;
}

/* As the option of that name would; a copy, so that a value that is wrong changes
 * nothing. */
static int
set_option(struct cli_session *session, const char *name, char *value)
{
    struct cli *cli = session->cli;
    const mcp_call_options opt = cli_session_call_options(session);
    struct cli_options options = cli->options;
    struct cli_text word = {0};
    mcp_error err = {0};
    bool ok = false;
    int count;

    cli_text_printf(&word, "--%s=%s", name, value);
    if (!word.failed)
        ok = cli_options_read(cli_common_options, NULL, 1, (char *[]){word.data, NULL},
                              &options, &count, &err);
    cli_text_done(&word);
    if (!ok)
        return cli_fail_with(cli, CLI_OTHER, "%s", err.message);
    cli->options = options;
    if (strcmp(name, "log") != 0)
        return CLI_OK;
    if (mcp_client_set_messages(session->client, (enum mcp_severity)options.severity,
                                &opt, &err) < 0)
        return cli_fail(cli, &err);
    return CLI_OK;
}

int
cli_settings_do(struct cli_session *session, int argc, char **argv)
{
    struct cli *cli = session->cli;
    const char *const *name = names;

    if (argc == 0)
        return show(cli, NULL);
    while (*name && strcmp(*name, argv[0]) != 0)
        name++;
    if (!*name)
        return cli_fail_with(cli, CLI_OTHER,
                             "there is no setting \"%s\"; set lists them", argv[0]);
    if (argc == 1)
        return show(cli, *name);
    if (strcmp(*name, "json") == 0)
        return set_json(cli, argv[1]);
    return set_option(session, *name, argv[1]);
}

void
cli_settings_complete(const struct cli_want *want, struct cli_candidates *list)
{
    if (want->kind == CLI_WANT_SETTING)
        cli_candidates_add_names(list, names);
    else if (want->subject && strcmp(want->subject, "json") == 0)
        cli_candidates_add_names(list, switches);
    else if (want->subject && strcmp(want->subject, "log") == 0)
        cli_candidates_add_names(list, levels);
}
