/* args_file.c - texts from files, for name=@FILE and --args */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/args_parts.h"

#define TICK_MS 50 /* how soon Ctrl-C is noticed while nothing comes */

/* Waits until there is something to read. False: Ctrl-C. */
static bool
wait_readable(struct cli *cli, int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    for (;;) {
        if (cli_is_over(cli))
            return false;
        if (poll(&poll_fd, 1, TICK_MS) > 0)
            return true;
    }
}

static bool
read_all(struct cli *cli, int fd, struct cli_text *into, struct cli_text *why)
{
    char bytes[16384];
    ssize_t n;

    for (;;) {
        if (!wait_readable(cli, fd)) {
            cli_text_puts(why, "canceled");
            return false;
        }
        n = read(fd, bytes, sizeof(bytes));
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n < 0) {
            cli_text_puts(why, strerror(errno));
            return false;
        }
        if (n == 0)
            return true;
        cli_text_add(into, bytes, (size_t)n);
        if (into->length > CLI_FILE_MAX || into->failed) {
            cli_text_printf(why, "it is longer than %zu MiB", CLI_FILE_MAX >> 20);
            return false;
        }
    }
}

bool
cli_args_load(struct cli *cli, const char *path, struct cli_text *into,
              struct cli_text *why)
{
    struct cli_text problem = {0};
    bool ok = false;
    int fd = STDIN_FILENO;

    if (strcmp(path, "-") != 0) /* a FIFO is waited for by poll, which Ctrl-C ends */
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        cli_text_puts(&problem, strerror(errno));
    else
        ok = read_all(cli, fd, into, &problem);
    if (fd > STDIN_FILENO)
        close(fd);
    if (!ok)
        cli_text_printf(why, "cannot read %s%s%s: %s", fd == STDIN_FILENO ? "" : "\"",
                        fd == STDIN_FILENO ? "stdin" : path,
                        fd == STDIN_FILENO ? "" : "\"", cli_text_string(&problem));
    cli_text_done(&problem);
    return ok;
}
