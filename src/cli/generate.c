/* generate.c - what the completions of the three shells share */
#include "cli/generate.h"

#include <string.h>

int
cli_generate_count(const struct cli_command *command)
{
    int count = 0;

    while (count < CLI_WORDS_MAX && command->words[count] != CLI_WORD_NONE)
        count++;
    return count;
}

bool
cli_generate_repeats(const struct cli_command *command)
{
    return command->most == CLI_ANY_NUMBER ||
           command->most > cli_generate_count(command);
}

/* Arguments are those of what was named before them. */
static const char *
arguments_of(const struct cli_command *command, int index)
{
    while (index-- > 0) {
        if (command->words[index] == CLI_WORD_TOOL)
            return "tool-arguments";
        if (command->words[index] == CLI_WORD_PROMPT)
            return "prompt-arguments";
    }
    return NULL;
}

const char *
cli_generate_list(const struct cli_command *command, int index)
{
    switch (command->words[index]) {
    case CLI_WORD_TARGET:
        return "servers";
    case CLI_WORD_TOOL:
        return "tools";
    case CLI_WORD_RESOURCE:
        return "resources";
    case CLI_WORD_PROMPT:
        return "prompts";
    case CLI_WORD_ARGUMENT:
        return arguments_of(command, index);
    case CLI_WORD_COMMAND:
        return "commands";
    case CLI_WORD_NONE:
    case CLI_WORD_ANY:
        break;
    }
    return NULL;
}

size_t
cli_generate_short(const char *text)
{
    return strcspn(text, ";");
}

void
cli_generate_inside(struct cli_text *into, const char *text, size_t length,
                    const char *escape)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'') {
            cli_text_puts(into, "'\\''");
            continue;
        }
        if (strchr(escape, text[i]) != NULL)
            cli_text_puts(into, "\\");
        cli_text_add(into, text + i, 1);
    }
}

void
cli_generate_choices(struct cli_text *into, const char *choices)
{
    for (; *choices != '\0'; choices++)
        cli_text_add(into, *choices == '|' ? " " : choices, 1);
}

void
cli_generate_each(const struct cli_option *table, const char *command,
                  void (*one)(struct cli_text *into, const struct cli_option *option,
                              const char *command),
                  struct cli_text *into)
{
    for (; table != NULL && table->name != NULL; table++)
        one(into, table, command);
}
