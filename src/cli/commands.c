/* commands.c - the table of commands, and the options that all of them have */
#include <string.h>

#include "cli/command.h"
#include "cli/near.h"

extern const struct cli_command cli_command_info, cli_command_tools, cli_command_call,
    cli_command_resources, cli_command_read, cli_command_templates, cli_command_prompts,
    cli_command_get, cli_command_complete, cli_command_tail, cli_command_ping,
    cli_command_raw, cli_command_login, cli_command_sh, cli_command_bench,
    cli_command_doctor, cli_command_servers, cli_command_help, cli_command_generate;

const struct cli_command *const cli_commands[] = {
    &cli_command_info,     &cli_command_tools,
    &cli_command_call,     &cli_command_resources,
    &cli_command_read,     &cli_command_templates,
    &cli_command_prompts,  &cli_command_get,
    &cli_command_complete, &cli_command_tail,
    &cli_command_ping,     &cli_command_raw,
    &cli_command_login,    &cli_command_sh,
    &cli_command_bench,    &cli_command_doctor,
    &cli_command_servers,  &cli_command_help,
    &cli_command_generate, NULL,
};

#define AT(member) offsetof(struct cli_options, member)

const struct cli_option cli_common_options[] = {
    {"era", "ERA", "auto|modern|legacy", CLI_CHOICE, AT(era),
     "Which protocol to speak: auto asks the server, modern is 2026-07-28, legacy is "
     "2025-11-25 and before"},
    {"header", "LINE", NULL, CLI_LIST, AT(headers),
     "Header for every HTTP request, \"Name: value\"; may be said again"},
    {"env", "NAME=VALUE", NULL, CLI_LIST, AT(env),
     "Variable for a server that is started; may be said again"},
    {"cwd", "FOLDER", NULL, CLI_TEXT, AT(cwd), "Folder in which a server is started"},
    {"timeout", "TIME", NULL, CLI_TIME, AT(timeout_ms),
     "Longest wait for an answer, such as 500ms, 30s, 2m; 60s unless said, 0 is none"},
    {"max-total", "TIME", NULL, CLI_TIME, AT(total_ms),
     "Longest time for a call in all, whatever progress it reports"},
    {"reset-on-progress", NULL, NULL, CLI_FLAG, AT(reset_on_progress),
     "Each report of progress starts the timeout anew"},
    {"log", "LEVEL", "none|debug|info|notice|warning|error|critical|alert|emergency",
     CLI_CHOICE, AT(severity), "Show log messages of the server from this level on"},
    {"ca", "FILE", NULL, CLI_TEXT, AT(ca),
     "PEM file with those who may vouch for an https server"},
    {"insecure", NULL, NULL, CLI_FLAG, AT(insecure),
     "Do not check who an https server is; for tests only"},
    {"no-store", NULL, NULL, CLI_FLAG, AT(no_store),
     "Neither use nor keep tokens from logging in"},
    {"json", NULL, NULL, CLI_FLAG, AT(json),
     "Nothing but JSON on stdout; failures and notes as lines of JSON on stderr"},
    {"trace", NULL, NULL, CLI_FLAG, AT(trace),
     "Show all messages, both ways, on stderr; secrets are hidden"},
    {"no-input", NULL, NULL, CLI_FLAG, AT(no_input),
     "Never ask the user anything: what a server asks is declined"},
    {"help", NULL, NULL, CLI_FLAG, AT(help), "Show how to use the command, and exit"},
    {"version", NULL, NULL, CLI_FLAG, AT(version), "Show the version, and exit"},
    {0},
};

const struct cli_command *
cli_command_find(const char *name)
{
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
    }
    return NULL;
}

const struct cli_command *
cli_command_guess(const char *name)
{
    struct cli_near near = cli_near_begin(name, strlen(name));

    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        if (!(*c)->hidden)
            cli_near_offer(&near, (*c)->name);
    }
    return near.best ? cli_command_find(near.best) : NULL;
}
