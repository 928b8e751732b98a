/*
 * echo.c - the raw pipe: what is read is written back, and nothing is looked at
 *
 *     bench-echo            one write for each read
 *     bench-echo --lines    one write for each line
 */
#include <string.h>
#include <unistd.h>

static int
write_all(const char *bytes, size_t left)
{
    ssize_t n;

    while (left > 0) {
        n = write(STDOUT_FILENO, bytes, left);
        if (n <= 0)
            return -1;
        bytes += n;
        left -= (size_t)n;
    }
    return 0;
}

/* The end of what goes into the next write: after its newline, or all there is. */
static const char *
piece_end(const char *at, const char *end, int is_by_line)
{
    const char *newline = is_by_line ? memchr(at, '\n', (size_t)(end - at)) : NULL;

    return newline ? newline + 1 : end;
}

int
main(int argc, char **argv)
{
    static char bytes[65536];
    int is_by_line = argc == 2 && strcmp(argv[1], "--lines") == 0;
    const char *at, *next, *end;
    ssize_t n;

    n = read(STDIN_FILENO, bytes, sizeof(bytes));
    while (n > 0) {
        end = bytes + n;
        for (at = bytes; at < end; at = next) {
            next = piece_end(at, end, is_by_line);
            if (write_all(at, (size_t)(next - at)) < 0)
                return 1;
        }
        n = read(STDIN_FILENO, bytes, sizeof(bytes));
    }
    return n < 0;
}
