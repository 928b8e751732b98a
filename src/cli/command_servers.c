/* command_servers.c - mcpctl servers: what other programs are configured with */
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/content.h"
#include "cli/table.h"

static void
on_warning(void *user, const char *line)
{
    struct cli *cli = user;
    struct cli_text text = {0};

    cli_text_add_harmless(&text, line, strlen(line), true);
    cli_note(&cli->say, "%s", cli_text_string(&text));
    cli_text_done(&text);
}

/* Without --all: those that a name means and that their program would use. */
static bool
is_listed(const struct cli *cli, const struct cli_config_entry *entry)
{
    return cli->options.all || (!entry->is_shadowed && !entry->is_disabled);
}

static const char *
transport_of(const struct cli_config_entry *entry)
{
    if (entry->fault)
        return NULL;
    return entry->target.kind == CLI_TARGET_COMMAND ? "stdio" : "http";
}

/* ---- JSON ---------------------------------------------------------------------- */

/* Names alone: values may be secrets, and this may end up in a log. */
static void
build_names(mcp_builder *b, const char *key, char *const *pairs, const char *end)
{
    size_t i;

    if (!pairs)
        return;
    mcp_builder_begin_array(b, key);
    for (i = 0; pairs[i]; i++)
        mcp_builder_string_n(b, NULL, pairs[i], strcspn(pairs[i], end));
    mcp_builder_end(b);
}

static void
build_entry(mcp_builder *b, const struct cli_config_entry *entry)
{
    const char *transport = transport_of(entry);

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "name", entry->name);
    if (transport)
        mcp_builder_string(b, "transport", transport);
    if (*entry->shown)
        mcp_builder_string(b, "target", entry->shown);
    if (entry->target.cwd)
        mcp_builder_string(b, "cwd", entry->target.cwd);
    build_names(b, "env", entry->target.env, "=");
    build_names(b, "headers", entry->target.headers, ":");
    mcp_builder_string(b, "source", entry->source);
    mcp_builder_string(b, "file", entry->file);
    mcp_builder_bool(b, "disabled", entry->is_disabled);
    mcp_builder_bool(b, "shadowed", entry->is_shadowed);
    if (entry->fault)
        mcp_builder_string(b, "fault", entry->fault);
    mcp_builder_end(b);
}

static int
print_json(struct cli *cli, const struct cli_config *config)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;
    size_t i;
    int r, code;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_array(b, "servers");
    for (i = 0; i < cli_config_count(config); i++) {
        if (is_listed(cli, cli_config_at(config, i)))
            build_entry(b, cli_config_at(config, i));
    }
    mcp_builder_end(b);
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    if (r == 0)
        r = mcp_builder_parse(b, &doc);
    code = r < 0 ? cli_fail_with(cli, CLI_OTHER, "%s", mcp_status_text(r))
                 : cli_print_json(cli, mcp_doc_root(doc));
    mcp_doc_free(doc);
    mcp_builder_free(b);
    return code;
}

/* ---- for people ---------------------------------------------------------------- */

/* What there is to know beside what it runs. */
static void
remark(const struct cli_config_entry *entry, struct cli_text *into)
{
    cli_text_puts(into, entry->shown);
    if (entry->is_disabled)
        cli_text_printf(into, "%s(disabled)", into->length > 0 ? " " : "");
    if (entry->is_shadowed)
        cli_text_printf(into, "%s(another one has this name)",
                        into->length > 0 ? " " : "");
    if (entry->fault)
        cli_text_printf(into, "%s(cannot be used: it %s)", into->length > 0 ? " " : "",
                        entry->fault);
}

static size_t
add_rows(const struct cli *cli, const struct cli_config *config,
         struct cli_table *table)
{
    size_t listed = 0, i;

    for (i = 0; i < cli_config_count(config); i++) {
        const struct cli_config_entry *entry = cli_config_at(config, i);
        struct cli_text what = {0};

        if (!is_listed(cli, entry))
            continue;
        remark(entry, &what);
        if (cli->options.all)
            cli_table_row(table,
                          (const char *const[]){entry->name, entry->source, entry->file,
                                                cli_text_string(&what)});
        else
            cli_table_row(table, (const char *const[]){entry->name, entry->source,
                                                       cli_text_string(&what)});
        cli_text_done(&what);
        listed++;
    }
    return listed;
}

static int
print_table(struct cli *cli, const struct cli_config *config)
{
    static const char *const few[] = {"NAME", "FROM", "TARGET", NULL};
    static const char *const all[] = {"NAME", "FROM", "FILE", "TARGET", NULL};
    struct cli_table *table = cli_table_new(cli->options.all ? all : few);
    size_t listed = add_rows(cli, config, table);
    struct cli_text text = {0};
    bool ok = true;

    if (listed == 0) {
        cli_note(&cli->say, cli_config_count(config) > 0
                                ? "no server is enabled; --all lists the others"
                                : "no server is configured here");
    } else {
        cli_table_print(table, cli_terminal_width(), cli->color, &text);
        ok = cli_write(cli, cli_text_string(&text), text.length) && cli_flush(cli);
    }
    cli_text_done(&text);
    cli_table_free(table);
    return ok ? CLI_OK : CLI_OTHER;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    struct cli_config *config;
    int r, code;

    (void)argc;
    (void)argv;
    r = cli_config_read(on_warning, cli, &config);
    if (r < 0)
        return cli_fail_with(cli, CLI_OTHER, "%s", mcp_status_text(r));
    code = cli->json ? print_json(cli, config) : print_table(cli, config);
    cli_config_free(config);
    return code;
}

static const struct cli_option options[] = {
    {"all", NULL, NULL, CLI_FLAG, offsetof(struct cli_options, all),
     "List also those that are disabled or hidden by another, and each one's file"},
    {0},
};

const struct cli_command cli_command_servers = {
    .name = "servers",
    .arguments = "",
    .summary = "List the servers that your other programs are configured with",
    .text =
        "Each name can be the TARGET of any other command.\n"
        "\n"
        "Names are looked for in this folder, then in each one above it (.mcp.json, "
        ".cursor/mcp.json, .vscode/mcp.json, .gemini/settings.json, .roo/mcp.json, "
        ".kiro/settings/mcp.json, and what Claude Code keeps for the folder), then in "
        "the files of Claude Code, Claude Desktop, Cursor, VS Code, Gemini, Windsurf, "
        "Kiro and Copilot below your home. Comments and trailing commas are accepted "
        "there. The first one that has a name wins. mcpctl says so if a project's "
        "server hides one of your own, or a program. A server of a project runs in the "
        "project's folder. A project's file, or an envFile that it names, is not used "
        "unless it and its folder belong to you or to root and nobody else can write "
        "to them.\n"
        "\n"
        "Variables such as ${NAME}, ${NAME:-default}, ${env:NAME} and "
        "${workspaceFolder} are filled in when a server is used; the list shows them "
        "as they are written. Those of an envFile are read as well. If one is not set, "
        "the server cannot be used, and the list "
        "says so. What ${input:ID} stands for is asked at the terminal, once; without "
        "one say the whole variable, header or folder with --env, --header or --cwd. "
        "Values of env "
        "and headers are not shown, nor is what follows the ? "
        "of a URL.\n"
        "\n"
        "Say name:NAME if a name has blanks or slashes. A server that is disabled for "
        "its program can be named as well. Nothing is started by this command, and no "
        "file is changed.",
    .examples = "mcpctl servers\n"
                "mcpctl servers --all\n"
                "mcpctl tools github\n"
                "mcpctl tools 'name:My Server'",
    .options = options,
    .least = 0,
    .most = 0,
    .words = {CLI_WORD_NONE},
    .no_target = true,
    .run = run,
};
