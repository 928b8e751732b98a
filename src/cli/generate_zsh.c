/* generate_zsh.c - completion for zsh, from the table of commands */
#include <string.h>

#include "cli/generate.h"
#include "cli/prose.h"

static const char begin[] =
    "#compdef mcpctl\n"
    "# mcpctl - completion for zsh. Made by \"mcpctl generate zsh\".\n"
    "\n"
    "# LIST: what the server that was named has to offer.\n"
    "_mcpctl_ask() {\n"
    "    local -a found\n"
    "    local list=$argv[-1]\n"
    "    found=(${(f)\"$($mcpctl_program generate words $list -- ${(Q)line} \\\n"
    "        2>/dev/null </dev/null)\"})\n"
    "    if [[ $list == *-arguments ]]; then\n"
    "        compadd -S '' \"${@[1,-2]}\" -a found\n"
    "    else\n"
    "        compadd \"${@[1,-2]}\" -a found\n"
    "    fi\n"
    "}\n"
    "\n"
    "_mcpctl_targets() {\n"
    "    _mcpctl_ask \"$@\" servers\n"
    "    _files\n"
    "}\n"
    "\n"
    "_mcpctl_commands() {\n"
    "    local -a commands\n"
    "    commands=(\n";

static const char middle[] =
    "    )\n"
    "    _describe command commands\n"
    "}\n"
    "\n"
    "_mcpctl() {\n"
    "    local curcontext=$curcontext state mcpctl_program=${~words[1]}\n"
    "    local -a common line\n"
    "    typeset -A opt_args\n"
    "    common=(\n";

static const char end[] = "    esac\n"
                          "}\n"
                          "\n"
                          "_mcpctl \"$@\"\n";

/* One argument of _arguments: it reads brackets and colons. */
static void
add_option(struct cli_text *into, const struct cli_option *option, const char *command)
{
    const enum cli_value value = cli_prose_value(option);

    (void)command;
    cli_text_puts(into, "        '");
    if (option->kind == CLI_LIST)
        cli_text_puts(into, "*");
    cli_text_printf(into, "--%s%s[", option->name, value == CLI_VALUE_NONE ? "" : "=");
    cli_generate_inside(into, option->text, cli_generate_short(option->text), "[]:\\");
    cli_text_puts(into, "]");
    if (value != CLI_VALUE_NONE)
        cli_text_printf(into, ":%s:", option->value != NULL ? option->value : "value");
    if (value == CLI_VALUE_CHOICE) {
        cli_text_puts(into, "(");
        cli_generate_choices(into, option->choices);
        cli_text_puts(into, ")");
    } else if (value == CLI_VALUE_FILE) {
        cli_text_puts(into, "_files");
    } else if (value == CLI_VALUE_FOLDER) {
        cli_text_puts(into, "_files -/");
    } else if (value == CLI_VALUE_ANY) {
        cli_text_puts(into, " ");
    }
    cli_text_puts(into, "'\n");
}

/* "'2:tool:_mcpctl_ask tools'", or with * for the last one if it may be said again. */
static void
add_word(struct cli_text *into, const struct cli_command *command, int index)
{
    const bool is_last = index + 1 == cli_generate_count(command);
    const char *list = cli_generate_list(command, index);

    if (is_last && cli_generate_repeats(command))
        cli_text_puts(into, "            '*");
    else
        cli_text_printf(into, "            '%d", index + 1);
    if (list == NULL)
        cli_text_puts(into, ":argument: '\n");
    else if (strcmp(list, "commands") == 0)
        cli_text_puts(into, ":command:_mcpctl_commands'\n");
    else if (strcmp(list, "servers") == 0)
        cli_text_puts(into, ":target:_mcpctl_targets'\n");
    else
        cli_text_printf(into, ":%s:_mcpctl_ask %s'\n", list, list);
}

static void
add_command(struct cli_text *into, const struct cli_command *command)
{
    cli_text_printf(into, "    %s)\n        common+=(\n", command->name);
    cli_generate_each(command->options, command->name, add_option, into);
    for (int i = 0; i < cli_generate_count(command); i++)
        add_word(into, command, i);
    cli_text_puts(into, "        )\n        _arguments -S $common\n        ;;\n");
}

void
cli_generate_zsh(struct cli_text *into)
{
    const struct cli_command *const *c;

    cli_text_puts(into, begin);
    for (c = cli_commands; *c != NULL; c++) {
        if ((*c)->hidden)
            continue;
        cli_text_printf(into, "        '%s:", (*c)->name);
        cli_generate_inside(into, (*c)->summary, strlen((*c)->summary), ":\\");
        cli_text_puts(into, "'\n");
    }
    cli_text_puts(into, middle);
    cli_generate_each(cli_common_options, NULL, add_option, into);
    cli_text_puts(
        into, "    )\n"
              "    _arguments -C -S -A '-*' $common '1:command:_mcpctl_commands' \\\n"
              "        '*::argument:->rest' && return\n"
              "    [[ $state == rest ]] || return\n"
              "    case $words[1] in\n");
    for (c = cli_commands; *c != NULL; c++) {
        if (!(*c)->hidden)
            add_command(into, *c);
    }
    cli_text_puts(into, end);
}
