/* generate_words.c - words that completions ask for while a user types */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/generate.h"
#include "cli/session.h"
#include "cli/times.h"

enum {
    PATIENCE_MS = 3000 /* a user waits, with a finger on a key */
};

struct wanted {
    const char *name;
    enum mcp_list list;
    const char *member; /* that stands for an item */
    const char
        *parts; /* where an item has its arguments, NULL: the item itself is it */
};

static const struct wanted wanted[] = {
    {"tools", MCP_LIST_TOOLS, "name", NULL},
    {"prompts", MCP_LIST_PROMPTS, "name", NULL},
    {"resources", MCP_LIST_RESOURCES, "uri", NULL},
    {"tool-arguments", MCP_LIST_TOOLS, "name", "inputSchema"},
    {"prompt-arguments", MCP_LIST_PROMPTS, "name", "arguments"},
};

/* Nobody reads what goes wrong meanwhile, and it would tear the line that is typed. */
static void
silence(void)
{
    const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)dup2(fd, STDERR_FILENO); /* else it is not silent */
    (void)close(fd);
}

/* One word a line, without what a terminal would obey. What a shell would, each completion
 * has to quote. */
static void
print_word(struct cli *cli, const char *word, const char *behind)
{
    struct cli_text line = {0};

    cli_text_add_harmless(&line, word, strlen(word), true);
    cli_text_puts(&line, behind);
    if (!line.failed && line.length > strlen(behind))
        (void)cli_printf(cli, "%s\n", cli_text_string(&line)); /* told by cli_flush */
    cli_text_done(&line);
}

static int
print_servers(struct cli *cli)
{
    struct cli_config *config = NULL;

    if (cli_config_read(NULL, NULL, &config) < 0)
        return CLI_OTHER;
    for (size_t i = 0; i < cli_config_count(config); i++) {
        const struct cli_config_entry *entry = cli_config_at(config, i);

        if (!entry->is_shadowed && !entry->is_disabled && entry->fault == NULL)
            print_word(cli, entry->name, "");
    }
    cli_config_free(config);
    return CLI_OK;
}

/* The names of a tool's arguments are keys of its schema's properties; a prompt's stand
 * in a list. */
static void
print_parts(struct cli *cli, const mcp_json *item, const char *parts)
{
    const mcp_json *list = mcp_json_get(item, parts);
    mcp_json_iterator it;

    if (mcp_json_get_type(list) == MCP_JSON_OBJECT)
        list = mcp_json_get(list, "properties");
    for (it = mcp_json_each(list); mcp_json_next(&it);) {
        const mcp_json *name = it.key != NULL ? it.key : mcp_json_get(it.value, "name");

        print_word(cli, mcp_json_string(name, ""), "=");
    }
}

static void
print_items(struct cli *cli, const struct wanted *what, const mcp_json *items,
            const char *of)
{
    mcp_json_iterator it;

    if (what->parts != NULL) {
        print_parts(cli, mcp_json_find(items, what->member, of), what->parts);
        return;
    }
    for (it = mcp_json_each(items); mcp_json_next(&it);)
        print_word(cli, mcp_json_string(mcp_json_get(it.value, what->member), ""), "");
}

static int64_t
patience_ms(void)
{
    return cli_times_get("words", PATIENCE_MS);
}

/* It is asked for names, and must not keep anybody waiting, nor ask anything itself. */
static void
adjust(mcp_client_options *opt, void *user)
{
    (void)user;
    opt->probe_ms = opt->hello_ms = opt->timeout_ms = patience_ms();
    opt->messages = MCP_SEVERITY_NONE;
}

static int
print_list(struct cli *cli, const struct wanted *what, const char *target,
           const char *of)
{
    const struct cli_session_wish wish = {.adjust = adjust};
    struct cli_session session;
    mcp_reply *reply = NULL;
    int code = cli_session_open(cli, target, &wish, &session);

    if (code != CLI_OK)
        return code;
    code = cli_session_list(&session, what->list, &reply);
    if (code == CLI_OK)
        print_items(cli, what, mcp_reply_items(reply), of);
    mcp_reply_free(reply);
    cli_session_close(&session);
    return code;
}

/* A key that is pressed while typing starts no server, and sends nothing to one that only a
 * project's file names: there may be secrets in what is sent. */
static bool
may_be_asked(const struct cli_target *target)
{
    return target->kind != CLI_TARGET_COMMAND && !target->is_project;
}

/* Under a scope that ends soon, in place of the run's own. */
static int
print_list_soon(struct cli *cli, const struct wanted *what, const char *target,
                const char *of)
{
    const mcp_scope_options soon = MCP_SCOPE_OPTIONS(.parent = cli->scope,
                                                     .timeout_ms = patience_ms());
    mcp_scope *scope = NULL, *before = cli->scope;
    struct cli_target read = {0};
    mcp_error err;
    bool is_asked;
    int code;

    if (cli_target_read(target, &read, &err) < 0)
        return CLI_OTHER;
    is_asked = may_be_asked(&read);
    cli_target_done(&read);
    if (!is_asked)
        return CLI_OK;
    if (mcp_scope_new(&soon, &scope) < 0)
        return CLI_OTHER;
    cli->scope = scope;
    code = print_list(cli, what, target, of);
    cli->scope = before;
    mcp_scope_free(scope);
    return code;
}

int
cli_generate_words(struct cli *cli, int argc, char **argv)
{
    silence();
    cli->may_ask = false;
    if (argc >= 1 && strcmp(argv[0], "servers") == 0)
        return print_servers(cli);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const struct wanted *what = &wanted[i];

        if (argc >= (what->parts != NULL ? 3 : 2) && strcmp(argv[0], what->name) == 0)
            return print_list_soon(cli, what, argv[1], argc > 2 ? argv[2] : "");
    }
    return CLI_OTHER;
}
