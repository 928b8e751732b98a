/* command_help.c - mcpctl help: what there is, and how a command is used */
#include "cli/cli.h"
#include "cli/help.h"

static int
run(struct cli *cli, int argc, char **argv)
{
    const struct cli_command *command, *guess;

    if (argc == 0)
        return cli_help_all(cli);
    command = cli_command_find(argv[0]);
    if (command != NULL)
        return cli_help_command(cli, command);
    guess = cli_command_guess(argv[0]);
    if (guess == NULL)
        return cli_fail_with(cli, CLI_OTHER,
                             "there is no command '%s'; \"mcpctl help\" lists them",
                             argv[0]);
    return cli_fail_with(cli, CLI_OTHER, "there is no command '%s'; did you mean '%s'?",
                         argv[0], guess->name);
}

const struct cli_command cli_command_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .summary = "Show what there is, or how a command is used",
    .text =
        "Without a word, lists all commands and the options that they have in common. "
        "With the name of a command, says what it does, which options are its own, "
        "and shows examples. \"--help\" anywhere on the line does the same.\n"
        "\n"
        "\"man mcpctl\" has all of it in one page.",
    .examples = "mcpctl help\n"
                "mcpctl help call\n"
                "mcpctl call --help",
    .least = 0,
    .most = 1,
    .words = {CLI_WORD_COMMAND},
    .no_target = true,
    .run = run,
};
