/* stdio.c - the process's own stdin and stdout, made private */
#include "link/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_PRIVATE 3 /* above stdin, stdout and stderr */

/* F_DUPFD says EINVAL where its smallest number is above the limit already. */
static int
stdio_fail(mcp_error *err, const char *what)
{
    int number = errno == EINVAL ? EMFILE : errno;
    int status = number == EMFILE || number == ENFILE ? MCP_E_LIMIT : MCP_E_INVAL;

    if (err) {
        *err = (mcp_error){.status = status};
        (void)snprintf(err->message, sizeof(err->message), "%s: %s", what,
                       strerror(number));
    }
    return status;
}

/* What stands there for want of another may be open the other way only (isolated.c). */
static bool
stdio_is_usable(int fd, int not_only)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags >= 0 && (flags & O_ACCMODE) == not_only)
        errno = EBADF;
    return flags >= 0 && (flags & O_ACCMODE) != not_only;
}

static int
stdio_replace(int in, int out, mcp_error *err)
{
    bool has_stderr = fcntl(STDERR_FILENO, F_GETFD) >= 0;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC); /* may be 2: closed below */
    int r = 0;

    if (null < 0)
        return stdio_fail(err, "cannot open /dev/null");
    if (dup2(null, STDIN_FILENO) < 0 ||
        dup2(has_stderr ? STDERR_FILENO : null, STDOUT_FILENO) < 0) {
        r = stdio_fail(err, "cannot replace stdin and stdout");
        (void)dup2(in, STDIN_FILENO);
        (void)dup2(out, STDOUT_FILENO);
    }
    (void)close(null);
    return r;
}

int
mcpi_stdio_take(int *ret_in, int *ret_out, mcp_error *err)
{
    int in, out, r;

    if (!stdio_is_usable(STDIN_FILENO, O_WRONLY))
        return stdio_fail(err, "cannot use stdin");
    if (!stdio_is_usable(STDOUT_FILENO, O_RDONLY))
        return stdio_fail(err, "cannot use stdout");
    in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_PRIVATE);
    if (in < 0)
        return stdio_fail(err, "cannot use stdin");
    out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_PRIVATE);
    if (out < 0) {
        r = stdio_fail(err, "cannot use stdout");
        (void)close(in);
        return r;
    }
    r = stdio_replace(in, out, err);
    if (r < 0) {
        (void)close(in);
        (void)close(out);
        return r;
    }
    *ret_in = in;
    *ret_out = out;
    return 0;
}

void
mcpi_stdio_give_back(int in, int out)
{
    (void)dup2(in, STDIN_FILENO);
    (void)dup2(out, STDOUT_FILENO);
    (void)close(in);
    (void)close(out);
}
