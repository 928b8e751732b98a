/* generate_fish.c - completion for fish, from the table of commands */
#include <string.h>

#include "cli/generate.h"
#include "cli/prose.h"

static const char begin[] =
    "# mcpctl - completion for fish. Made by \"mcpctl generate fish\".\n"
    "\n"
    "# The words before the cursor that are no options: COMMAND TARGET ...\n"
    "function __mcpctl_said\n"
    "    set -l words (commandline -opc)\n"
    "    set -l value no\n"
    "    set -l over no\n"
    "    set -e words[1]\n"
    "    for word in $words\n"
    "        if test $value = yes\n"
    "            set value no\n"
    "        else if test $over = yes\n"
    "            string unescape -- $word\n"
    "        else\n"
    "            switch $word\n"
    "                case --\n"
    "                    set over yes\n"
    "                case";

static const char middle[] =
    "\n"
    "                    set value yes\n"
    "                case '-*'\n"
    "                case '*'\n"
    "                    string unescape -- $word\n"
    "            end\n"
    "        end\n"
    "    end\n"
    "end\n"
    "\n"
    "# Is there no command yet?\n"
    "function __mcpctl_first\n"
    "    test (count (__mcpctl_said)) -eq 0\n"
    "end\n"
    "\n"
    "# COMMAND: is it the one of this line?\n"
    "function __mcpctl_in\n"
    "    set -l said (__mcpctl_said)\n"
    "    test \"$said[1]\" = $argv[1]\n"
    "end\n"
    "\n"
    "# COMMAND LEAST MOST: and stands the cursor at a word of it with a number in "
    "there?\n"
    "function __mcpctl_at\n"
    "    set -l said (__mcpctl_said)\n"
    "    test \"$said[1]\" = $argv[1]\n"
    "    and test (count $said) -ge $argv[2]\n"
    "    and test (count $said) -le $argv[3]\n"
    "end\n"
    "\n"
    "# LIST: what the server that was named has to offer.\n"
    "function __mcpctl_ask\n"
    "    set -l program (commandline -opc)[1]\n"
    "    set -l said (__mcpctl_said)\n"
    "    set -e said[1]\n"
    "    $program generate words $argv[1] -- $said 2>/dev/null </dev/null\n"
    "end\n"
    "\n"
    "complete -c mcpctl -f\n";

/* fish has a quoting of its own. */
static void
add_quoted(struct cli_text *into, const char *text, size_t length)
{
    cli_text_puts(into, "'");
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'' || text[i] == '\\')
            cli_text_puts(into, "\\");
        cli_text_add(into, text + i, 1);
    }
    cli_text_puts(into, "'");
}

static void
add_value_name(struct cli_text *into, const struct cli_option *option,
               const char *command)
{
    (void)command;
    if (cli_prose_value(option) != CLI_VALUE_NONE)
        cli_text_printf(into, " --%s", option->name);
}

static void
add_option(struct cli_text *into, const struct cli_option *option, const char *command)
{
    cli_text_puts(into, "complete -c mcpctl");
    if (command != NULL)
        cli_text_printf(into, " -n '__mcpctl_in %s'", command);
    cli_text_printf(into, " -l %s", option->name);
    switch (cli_prose_value(option)) {
    case CLI_VALUE_NONE:
        break;
    case CLI_VALUE_CHOICE:
        cli_text_puts(into, " -x -a '");
        cli_generate_choices(into, option->choices);
        cli_text_puts(into, "'");
        break;
    case CLI_VALUE_FILE:
        cli_text_puts(into, " -r -F");
        break;
    case CLI_VALUE_FOLDER:
        cli_text_puts(into, " -x -a '(__fish_complete_directories)'");
        break;
    case CLI_VALUE_ANY:
        cli_text_puts(into, " -x");
        break;
    }
    cli_text_puts(into, " -d ");
    add_quoted(into, option->text, cli_generate_short(option->text));
    cli_text_puts(into, "\n");
}

static void
add_word(struct cli_text *into, const struct cli_command *command, int index)
{
    const bool is_last = index + 1 == cli_generate_count(command);
    const char *list = cli_generate_list(command, index);

    if (list == NULL)
        return;
    cli_text_printf(into, "complete -c mcpctl -n '__mcpctl_at %s %d %d'", command->name,
                    index + 1,
                    is_last && cli_generate_repeats(command) ? 999 : index + 1);
    if (strcmp(list, "commands") == 0) {
        cli_text_puts(into, " -a '");
        for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
            if (!(*c)->hidden)
                cli_text_printf(into, "%s%s", c == cli_commands ? "" : " ", (*c)->name);
        }
        cli_text_puts(into, "'\n");
        return;
    }
    cli_text_printf(into, "%s -a '(__mcpctl_ask %s)'\n",
                    command->words[index] == CLI_WORD_TARGET ? " -F" : "", list);
}

void
cli_generate_fish(struct cli_text *into)
{
    const struct cli_command *const *c;

    cli_text_puts(into, begin);
    cli_generate_each(cli_common_options, NULL, add_value_name, into);
    for (c = cli_commands; *c != NULL; c++)
        cli_generate_each((*c)->options, (*c)->name, add_value_name, into);
    cli_text_puts(into, middle);
    cli_generate_each(cli_common_options, NULL, add_option, into);
    for (c = cli_commands; *c != NULL; c++) {
        if ((*c)->hidden)
            continue;
        cli_text_printf(into, "complete -c mcpctl -n __mcpctl_first -a %s -d ",
                        (*c)->name);
        add_quoted(into, (*c)->summary, strlen((*c)->summary));
        cli_text_puts(into, "\n");
        cli_generate_each((*c)->options, (*c)->name, add_option, into);
        for (int i = 0; i < cli_generate_count(*c); i++)
            add_word(into, *c, i);
    }
}
