/* generate_bash.c - completion for bash, from the table of commands */
#include "cli/generate.h"
#include "cli/prose.h"

static const char begin[] =
    "# mcpctl - completion for bash. Made by \"mcpctl generate bash\".\n"
    "\n"
    "# The words of the line up to the cursor: bash cuts them at : and = as well, "
    "which\n"
    "# are part of them here.\n"
    "_mcpctl_split()\n"
    "{\n"
    "    local line=${COMP_LINE:0:COMP_POINT} gap word i\n"
    "    words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        gap=${line%%[![:blank:]]*}\n"
    "        line=${line#\"$gap\"}\n"
    "        word=${COMP_WORDS[i]}\n"
    "        [[ $line == \"$word\"* ]] || word=$line # the cursor stands in it\n"
    "        line=${line#\"$word\"}\n"
    "        if [[ -z $gap && $i -gt 0 ]]; then\n"
    "            words[${#words[@]}-1]+=$word\n"
    "        else\n"
    "            words+=(\"$word\")\n"
    "        fi\n"
    "    done\n"
    "}\n"
    "\n"
    "# A word without its quotes.\n"
    "_mcpctl_plain()\n"
    "{\n"
    "    case $1 in\n"
    "        \\'*) plain=${1#\\'} plain=${plain%\\'} ;;\n"
    "        \\\"*) plain=${1#\\\"} plain=${plain%\\\"} ;;\n"
    "        *) plain=${1//\\\\/} ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# Offers those lines of stdin that begin with what was typed. bash replaces only "
    "what\n"
    "# is behind the last : or = of it. What would end the quotes that were typed, or "
    "mean\n"
    "# something between them, is not offered: a server chose it.\n"
    "_mcpctl_offer()\n"
    "{\n"
    "    local line cut=\n"
    "    [[ $cur != *[:=]* || $cur == [\\'\\\"]* ]] || cut=${cur%\"${cur##*[:=]}\"}\n"
    "    while IFS= read -r line; do\n"
    "        [[ -n $line && $line == \"$plain\"* ]] || continue\n"
    "        line=${line#\"$cut\"}\n"
    "        case $cur in\n"
    "            \\'*) [[ $line != *\\'* ]] || continue ;;\n"
    "            \\\"*) [[ $line != *[\\\"\\$\\`\\\\!]* ]] || continue ;;\n"
    "            *) printf -v line %q \"$line\" ;;\n"
    "        esac\n"
    "        [[ $line != *= ]] || compopt -o nospace 2>/dev/null\n"
    "        COMPREPLY+=(\"$line\")\n"
    "    done\n"
    "}\n"
    "\n"
    "_mcpctl_files()\n"
    "{\n"
    "    local line\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    while IFS= read -r line; do\n"
    "        COMPREPLY+=(\"$line\")\n"
    "    done < <(compgen \"$1\" -- \"$plain\")\n"
    "}\n"
    "\n"
    "# Does an option of a command take a value, and which?\n"
    "_mcpctl_value()\n"
    "{\n"
    "    case $1:$2 in\n";

static const char middle[] =
    "        *) return 1 ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "# The options of a command, and what its words stand for.\n"
    "_mcpctl_command()\n"
    "{\n"
    "    lists=()\n"
    "    more=\n"
    "    case $1 in\n";

static const char end[] =
    "\n"
    "# What that list has to offer.\n"
    "_mcpctl_list()\n"
    "{\n"
    "    local said=(\"${@:3}\")\n"
    "    case $2 in\n"
    "        '' | none) ;;\n"
    "        commands) _mcpctl_offer <<<\"$commands\" ;;\n"
    "        servers)\n"
    "            _mcpctl_offer < <(\"$1\" generate words servers 2>/dev/null "
    "</dev/null)\n"
    "            [[ $plain != */* ]] || _mcpctl_files -f ;;\n"
    "        *)\n"
    "            _mcpctl_offer < <(\"$1\" generate words \"$2\" -- \"${said[@]}\" \\\n"
    "                2>/dev/null </dev/null) ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_mcpctl()\n"
    "{\n"
    "    local words said=() lists more options commands own= choices= command= "
    "option= over= \\\n"
    "        plain= kind= word cur at\n"
    "    COMPREPLY=()\n"
    "    _mcpctl_split\n"
    "    cur=${words[${#words[@]}-1]}\n"
    "    for word in \"${words[@]:1:${#words[@]}-2}\"; do\n"
    "        if [[ -n $option ]]; then\n"
    "            option=\n"
    "        elif [[ -z $over && $word == -- ]]; then\n"
    "            over=1\n"
    "        elif [[ -z $over && $word == -* ]]; then\n"
    "            [[ $word == *=* ]] || ! _mcpctl_value \"$command\" \"$word\" || "
    "option=$word\n"
    "        elif [[ -z $command ]]; then\n"
    "            command=$word\n"
    "        else\n"
    "            _mcpctl_plain \"$word\"\n"
    "            said+=(\"$plain\")\n"
    "        fi\n"
    "    done\n"
    "    _mcpctl_command \"$command\"\n"
    "    _mcpctl_plain \"$cur\"\n"
    "    if [[ -z $over && -z $option && $cur == -*=* ]]; then\n"
    "        option=${cur%%=*}\n"
    "        cur=${cur#*=}\n"
    "        _mcpctl_plain \"$cur\"\n"
    "    fi\n"
    "    if [[ -n $option ]]; then\n"
    "        _mcpctl_value \"$command\" \"$option\" || return 0\n"
    "        case $kind in\n"
    "            choice) _mcpctl_offer <<<\"${choices// /$'\\n'}\" ;;\n"
    "            file) _mcpctl_files -f ;;\n"
    "            folder) _mcpctl_files -d ;;\n"
    "        esac\n"
    "    elif [[ -z $over && $cur == -* ]]; then\n"
    "        options+=\" $own\"\n"
    "        _mcpctl_offer <<<\"${options// /$'\\n'}\"\n"
    "    elif [[ -z $command ]]; then\n"
    "        _mcpctl_offer <<<\"$commands\"\n"
    "    else\n"
    "        at=${#said[@]}\n"
    "        [[ -z $more || $at -lt ${#lists[@]} ]] || at=$((${#lists[@]} - 1))\n"
    "        _mcpctl_list \"${1/#\\~/$HOME}\" \"${lists[at]}\" \"${said[@]}\"\n"
    "    fi\n"
    "}\n"
    "\n"
    "complete -F _mcpctl mcpctl\n";

static const char *const kinds[] = {
    [CLI_VALUE_FILE] = "file",
    [CLI_VALUE_FOLDER] = "folder",
    [CLI_VALUE_ANY] = "any",
};

/* The case of an option that takes a value. Before the command is known its own options
 * are taken for what they are for the first command that has them. */
static void
add_value(struct cli_text *into, const struct cli_option *option, const char *command)
{
    const enum cli_value value = cli_prose_value(option);

    if (value == CLI_VALUE_NONE)
        return;
    if (command == NULL)
        cli_text_printf(into, "        *:--%s) ", option->name);
    else
        cli_text_printf(into, "        %s:--%s | :--%s) ", command, option->name,
                        option->name);
    if (value == CLI_VALUE_CHOICE) {
        cli_text_puts(into, "kind=choice choices='");
        cli_generate_choices(into, option->choices);
        cli_text_puts(into, "' ;;\n");
    } else {
        cli_text_printf(into, "kind=%s ;;\n", kinds[value]);
    }
}

static void
add_name(struct cli_text *into, const struct cli_option *option, const char *command)
{
    (void)command;
    cli_text_printf(into, " --%s", option->name);
}

static void
add_command(struct cli_text *into, const struct cli_command *command)
{
    const int count = cli_generate_count(command);

    cli_text_printf(into, "        %s)\n            own='", command->name);
    cli_generate_each(command->options, command->name, add_name, into);
    cli_text_puts(into, "'\n            lists=(");
    for (int i = 0; i < count; i++) {
        const char *list = cli_generate_list(command, i);

        cli_text_printf(into, "%s%s", i > 0 ? " " : "", list != NULL ? list : "none");
    }
    cli_text_printf(into, ") more=%s ;;\n",
                    count > 0 && cli_generate_repeats(command) ? "1" : "");
}

void
cli_generate_bash(struct cli_text *into)
{
    const struct cli_command *const *c;

    cli_text_puts(into, begin);
    cli_generate_each(cli_common_options, NULL, add_value, into);
    for (c = cli_commands; *c != NULL; c++) {
        if (!(*c)->hidden)
            cli_generate_each((*c)->options, (*c)->name, add_value, into);
    }
    cli_text_puts(into, middle);
    for (c = cli_commands; *c != NULL; c++) {
        if (!(*c)->hidden)
            add_command(into, *c);
    }
    cli_text_puts(into, "    esac\n    options='");
    cli_generate_each(cli_common_options, NULL, add_name, into);
    cli_text_puts(into, "'\n    commands='");
    for (c = cli_commands; *c != NULL; c++) {
        if (!(*c)->hidden)
            cli_text_printf(into, "%s\n", (*c)->name);
    }
    cli_text_puts(into, "'\n}\n");
    cli_text_puts(into, end);
}
