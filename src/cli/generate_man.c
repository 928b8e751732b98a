/* generate_man.c - mcpctl(1) as a source of scdoc(1), from the table of commands */
#include <string.h>

#include "cli/generate.h"
#include "cli/help.h"
#include "cli/prose.h"

/* Text of one line, of which nothing has a meaning to scdoc. */
static void
add_plain(struct cli_text *into, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr("\\*_`+~", text[i]) != NULL)
            cli_text_puts(into, "\\");
        if (text[i] == '\n')
            cli_text_puts(into, " ");
        else
            cli_text_add(into, text + i, 1);
    }
}

static void
add_string(struct cli_text *into, const char *text)
{
    add_plain(into, text, strlen(text));
}

/* The same at the beginning of a line, where more has a meaning. A full stop there has
 * one to troff too, so that a backslash does not help: it is made bold. */
static void
add_line(struct cli_text *into, const char *text, size_t length)
{
    if (length > 0 && text[0] == '.') {
        cli_text_puts(into, "*.*");
        text++;
        length--;
    } else if (length > 0 && strchr("#-;|[]", text[0]) != NULL) {
        cli_text_puts(into, "\\");
    }
    add_plain(into, text, length);
    cli_text_puts(into, "\n");
}

/* Lines that are shown as they are, `cut` blanks fewer. */
static void
add_as_is(struct cli_text *into, const char *text, size_t length, size_t cut)
{
    const char *end = text + length;

    cli_text_puts(into, "```\n");
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        if (stop == NULL)
            stop = end;
        for (text += cut; text < stop; text++) {
            if (*text == '\\')
                cli_text_puts(into, "\\");
            cli_text_add(into, text, 1);
        }
        cli_text_puts(into, "\n");
        text = stop + 1;
    }
    cli_text_puts(into, "```\n");
}

static void
add_prose(struct cli_text *into, const char *text)
{
    struct cli_block block;

    while (cli_prose_next(&text, &block)) {
        cli_text_puts(into, "\n");
        if (block.is_as_is)
            add_as_is(into, block.data, block.length, 4);
        else
            add_line(into, block.data, block.length);
    }
}

static void
add_items(struct cli_text *into, const struct cli_prose_item *items, char mark)
{
    for (; items->name != NULL; items++) {
        cli_text_printf(into, "\n%c", mark);
        add_string(into, items->name);
        cli_text_printf(into, "%c\n\t", mark);
        add_line(into, items->text, strlen(items->text));
    }
}

/* "--era auto|modern|legacy", the name bold and the rest underlined. */
static void
add_option(struct cli_text *into, const struct cli_option *option, const char *command)
{
    struct cli_text shown = {0}, text = {0};
    const char *value;

    (void)command;
    cli_help_add_option(option, &shown);
    cli_help_add_option_text(option, &text);
    value = strchr(cli_text_string(&shown), ' ');
    cli_text_printf(into, "\n*--%s*", option->name);
    if (value != NULL) {
        cli_text_puts(into, " _");
        add_string(into, value + 1);
        cli_text_puts(into, "_");
    }
    cli_text_puts(into, "\n\t");
    add_plain(into, cli_text_string(&text), text.length);
    cli_text_puts(into, ".\n");
    into->failed = into->failed || shown.failed || text.failed;
    cli_text_done(&shown);
    cli_text_done(&text);
}

static void
add_command(struct cli_text *into, const struct cli_command *command)
{
    cli_text_printf(into, "\n## %s\n\n*mcpctl %s*", command->name, command->name);
    if (command->options != NULL)
        cli_text_puts(into, " [OPTIONS]");
    if (*command->arguments != '\0') {
        cli_text_puts(into, " ");
        add_string(into, command->arguments);
    }
    cli_text_puts(into, "\n\n");
    add_string(into, command->summary);
    cli_text_puts(into, ".\n");
    add_prose(into, command->text);
    cli_generate_each(command->options, command->name, add_option, into);
    if (command->examples != NULL) {
        cli_text_puts(into, "\nFor example:\n\n");
        add_as_is(into, command->examples, strlen(command->examples), 0);
    }
}

static void
add_examples(struct cli_text *into)
{
    for (const struct cli_prose_item *e = cli_prose_examples; e->name != NULL; e++) {
        cli_text_puts(into, "\n");
        add_line(into, e->text, strlen(e->text));
        cli_text_puts(into, "\n");
        add_as_is(into, e->name, strlen(e->name), 0);
    }
}

void
cli_generate_man(struct cli_text *into)
{
    cli_text_printf(into, "mcpctl(1) \"libmcp %s\" \"User Commands\"\n", mcp_version());
    cli_text_puts(into, "\n# NAME\n\nmcpctl - ");
    add_string(into, cli_prose_about);
    cli_text_puts(into, "\n\n# SYNOPSIS\n\n*mcpctl* [_OPTIONS_] _COMMAND_ _TARGET_ "
                        "[_ARGUMENTS_]\n\n# DESCRIPTION\n");
    add_prose(into, cli_prose_targets);
    add_prose(into, cli_prose_cancel);
    add_prose(into, cli_prose_output);
    add_prose(into, cli_prose_words);
    cli_text_puts(into,
                  "\n# OPTIONS\n\nThese are options of all commands, and may stand "
                  "anywhere on the line. After \"--\" there are none. A time is a "
                  "number with ms, s, m or h behind it; without, it is seconds.\n");
    cli_generate_each(cli_common_options, NULL, add_option, into);
    cli_text_puts(into, "\n# COMMANDS\n");
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        if (!(*c)->hidden)
            add_command(into, *c);
    }
    cli_text_puts(into, "\n# EXIT STATUS\n");
    add_items(into, cli_prose_exits, '*');
    cli_text_puts(into, "\n# ENVIRONMENT\n");
    add_items(into, cli_prose_environment, '*');
    cli_text_puts(into, "\n# FILES\n");
    add_items(into, cli_prose_files, '_');
    cli_text_puts(into, "\n# EXAMPLES\n");
    add_examples(into);
    cli_text_puts(into, "\n# SEE ALSO\n\n*mcp_client*(3), "
                        "https://modelcontextprotocol.io\n");
}
