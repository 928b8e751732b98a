/* help.c - help on a terminal, made of the table of commands */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#include "cli/prose.h"

enum {
    INDENT = 2,          /* of entries of a list */
    NARROW = 14,         /* column of texts beside short names ... */
    WIDE = 24,           /* ... and beside options */
    CHOICES_COLUMNS = 20 /* longer ones are told in the text */
};

/* A heading that is no sentence: apart from what is before it. */
static void
add_heading(struct cli_text *into, const char *heading)
{
    cli_text_printf(into, "\n%s\n", heading);
}

/* name and its text beside it; a long name has a line of its own. */
static void
add_entry(struct cli_text *into, const char *name, const char *text, size_t column)
{
    size_t width = INDENT + strlen(name);

    cli_text_pad(into, INDENT);
    cli_text_puts(into, name);
    if (width + 2 > column) {
        cli_text_puts(into, "\n");
        width = 0;
    }
    cli_text_pad(into, column - width);
    cli_text_add_wrapped(into, text, strlen(text), CLI_HELP_COLUMNS, column);
    cli_text_puts(into, "\n");
}

static void
add_items(struct cli_text *into, const struct cli_prose_item *items)
{
    for (; items->name != NULL; items++)
        add_entry(into, items->name, items->text, NARROW);
}

/* A paragraph may be written in several lines: they are one here. */
static void
add_paragraph(struct cli_text *into, const struct cli_block *block)
{
    struct cli_text one = {0};

    cli_text_add_harmless(&one, block->data, block->length, true);
    cli_text_add_wrapped(into, cli_text_string(&one), one.length, CLI_HELP_COLUMNS, 0);
    into->failed = into->failed || one.failed;
    cli_text_done(&one);
}

static void
add_prose(struct cli_text *into, const char *text)
{
    struct cli_block block;

    while (cli_prose_next(&text, &block)) {
        if (block.is_apart)
            cli_text_puts(into, "\n");
        if (block.is_as_is)
            cli_text_add(into, block.data, block.length);
        else
            add_paragraph(into, &block);
        cli_text_puts(into, "\n");
    }
}

static bool
tells_choices(const struct cli_option *option)
{
    return option->choices != NULL && strlen(option->choices) > CHOICES_COLUMNS;
}

void
cli_help_add_option(const struct cli_option *option, struct cli_text *into)
{
    cli_text_printf(into, "--%s", option->name);
    if (option->choices != NULL && !tells_choices(option))
        cli_text_printf(into, " %s", option->choices);
    else if (option->value != NULL)
        cli_text_printf(into, " %s", option->value);
}

void
cli_help_add_option_text(const struct cli_option *option, struct cli_text *into)
{
    const char *choice = option->choices;
    const char first = (char)toupper((unsigned char)option->text[0]);

    cli_text_add(into, &first, 1);
    cli_text_puts(into, option->text + 1);
    if (!tells_choices(option))
        return;
    cli_text_puts(into, ": ");
    while (*choice != '\0') {
        const size_t length = strcspn(choice, "|");

        cli_text_add(into, choice, length);
        choice += length;
        if (*choice == '|') {
            cli_text_puts(into, strchr(choice + 1, '|') == NULL ? " or " : ", ");
            choice++;
        }
    }
}

static void
add_options(struct cli_text *into, const struct cli_option *options)
{
    for (; options->name != NULL; options++) {
        struct cli_text name = {0}, text = {0};

        cli_help_add_option(options, &name);
        cli_help_add_option_text(options, &text);
        add_entry(into, cli_text_string(&name), cli_text_string(&text), WIDE);
        into->failed = into->failed || name.failed || text.failed;
        cli_text_done(&name);
        cli_text_done(&text);
    }
}

void
cli_help_add_all(struct cli_text *into)
{
    cli_text_printf(into, "mcpctl - %s\n", cli_prose_about);
    add_heading(into, "Usage: mcpctl [OPTIONS] COMMAND TARGET [ARGUMENTS]");
    cli_text_puts(into, "\n");
    add_prose(into, cli_prose_targets);
    add_heading(into, "Commands:");
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        if (!(*c)->hidden)
            add_entry(into, (*c)->name, (*c)->summary, NARROW);
    }
    add_heading(into, "Options of all commands, anywhere on the line:");
    add_options(into, cli_common_options);
    add_heading(into, "How it exits:");
    add_items(into, cli_prose_exits);
    add_heading(into, "\"mcpctl help COMMAND\" says more of a command; so does "
                      "\"man mcpctl\" of all.");
}

void
cli_help_add_command(const struct cli_command *command, struct cli_text *into)
{
    const char *line, *examples = command->examples;
    struct cli_text title = {0};
    size_t length = 0;

    cli_text_printf(&title, "mcpctl %s - %s", command->name, command->summary);
    cli_text_add_wrapped(into, cli_text_string(&title), title.length, CLI_HELP_COLUMNS,
                         INDENT);
    into->failed = into->failed || title.failed;
    cli_text_done(&title);
    cli_text_printf(into, "\n\nUsage: mcpctl %s%s%s%s\n\n", command->name,
                    command->options != NULL ? " [OPTIONS]" : "",
                    *command->arguments != '\0' ? " " : "", command->arguments);
    add_prose(into, command->text);
    if (command->options != NULL) {
        add_heading(into, "Options:");
        add_options(into, command->options);
    }
    if (examples != NULL) {
        add_heading(into, "Examples:");
        for (line = cli_prose_line(&examples, &length); line != NULL;
             line = cli_prose_line(&examples, &length)) {
            cli_text_pad(into, INDENT);
            cli_text_add(into, line, length);
            cli_text_puts(into, "\n");
        }
    }
    add_heading(into, "\"mcpctl help\" lists the options that all commands have.");
}

static int
print(struct cli *cli, struct cli_text *text)
{
    int code = CLI_OK;

    if (text->failed)
        code = cli_fail_with(cli, CLI_OTHER, "out of memory");
    else if (!cli_write(cli, text->data, text->length) || !cli_flush(cli))
        code = CLI_OTHER;
    cli_text_done(text);
    return code;
}

int
cli_help_all(struct cli *cli)
{
    struct cli_text text = {0};

    cli_help_add_all(&text);
    return print(cli, &text);
}

int
cli_help_command(struct cli *cli, const struct cli_command *command)
{
    struct cli_text text = {0};

    cli_help_add_command(command, &text);
    return print(cli, &text);
}
