/* main.c - mcpctl: list, call, read, watch and measure any MCP server */
#include <fcntl.h>
#include <unistd.h>

#include "cli/interrupt.h"

/* Who started us may have closed some of the three. What we open next would get their
 * numbers, the pipe to a server say, and what we print would go there. Writing to a stdout
 * that is not there still has to fail. */
static void
fill_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
}

int
main(int argc, char **argv)
{
    struct cli cli;
    int words, code;

    fill_descriptors();
    code = cli_init(&cli, argc - 1, argv + 1, &words);
    if (code < 0) {
        cli_interrupt_begin(&cli, true);
        code = cli.command->run(&cli, words, argv + 1);
        if (!cli_flush(&cli) && code == CLI_OK)
            code = CLI_OTHER;
        if (cli.output_stopped)
            code = CLI_CANCELED;
        cli_interrupt_end(&cli);
    }
    cli_done(&cli);
    return cli_interrupt_exit(code);
}
