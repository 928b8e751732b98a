/* command_generate.c - mcpctl generate: what is made of the table of commands */
#include <string.h>

#include "cli/cli.h"
#include "cli/generate.h"

static const struct {
    const char *name;
    void (*write)(struct cli_text *into);
} files[] = {
    {"man", cli_generate_man},
    {"bash", cli_generate_bash},
    {"zsh", cli_generate_zsh},
    {"fish", cli_generate_fish},
};

static int
print(struct cli *cli, void (*write)(struct cli_text *into))
{
    struct cli_text text = {0};
    int code = CLI_OK;

    write(&text);
    if (text.failed)
        code = cli_fail_with(cli, CLI_OTHER, "out of memory");
    else if (!cli_write(cli, text.data, text.length))
        code = CLI_OTHER;
    cli_text_done(&text);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    if (strcmp(argv[0], "words") == 0)
        return cli_generate_words(cli, argc - 1, argv + 1);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (argc == 1 && strcmp(argv[0], files[i].name) == 0)
            return print(cli, files[i].write);
    }
    return cli_fail_with(cli, CLI_OTHER,
                         "usage: mcpctl generate man|bash|zsh|fish, or words LIST");
}

const struct cli_command cli_command_generate = {
    .name = "generate",
    .arguments = "man|bash|zsh|fish|words [LIST TARGET...]",
    .summary = "Write the man page, a completion, or words for one",
    .text = "man is the source of mcpctl(1) for scdoc(1). bash, zsh and fish are the "
            "completion for that shell.\n"
            "\n"
            "words prints what a completion offers, one word a line: servers; tools, "
            "prompts or resources of a TARGET; tool-arguments TARGET TOOL; "
            "prompt-arguments TARGET PROMPT. If they cannot be known in three seconds, "
            "the server would have to be started, or only a project's file names it, "
            "there are none, and nothing is said.",
    .examples =
        "mcpctl generate man | scdoc > mcpctl.1\n"
        "mcpctl generate bash > ~/.local/share/bash-completion/completions/mcpctl",
    .least = 1,
    .most = CLI_ANY_NUMBER,
    .words = {CLI_WORD_ANY},
    .no_target = true,
    .hidden = true,
    .run = run,
};
