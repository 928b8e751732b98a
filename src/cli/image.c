/* image.c - images on the terminal itself: the protocol of kitty, and sixel */
#include "cli/image.h"
#include "cli/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base64.h"

#define KITTY_CHUNK 4096              /* of base64: the protocol takes no more */
#define SIXEL_MOST ((size_t)32 << 20) /* bytes: far more than a screen of pixels */
#define SIXEL_MS 10000                /* an image of any size is done by then */
#define READ_PIECE 65536

/* ---- which way ------------------------------------------------------------- */

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *
env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

enum cli_images
cli_image_way(enum cli_images asked, bool is_terminal)
{
    const char *term = env("TERM"), *program = env("TERM_PROGRAM");

    if (asked != CLI_IMAGES_AUTO)
        return asked;
    if (!is_terminal || *env("TMUX") || begins(term, "tmux") || begins(term, "screen"))
        return CLI_IMAGES_FILE;
    if (strcmp(term, "xterm-kitty") == 0 || strcmp(term, "xterm-ghostty") == 0 ||
        *env("KITTY_WINDOW_ID") || strcmp(program, "WezTerm") == 0 ||
        strcmp(program, "ghostty") == 0)
        return CLI_IMAGES_KITTY;
    if (strstr(term, "sixel") || begins(term, "foot") || begins(term, "mlterm") ||
        strcmp(program, "foot") == 0 || strcmp(program, "mlterm") == 0)
        return CLI_IMAGES_SIXEL;
    return CLI_IMAGES_FILE;
}

/* ---- kitty ----------------------------------------------------------------- */

bool
cli_image_is_png(const struct cli_text *image)
{
    static const char signature[] = "\x89PNG\r\n\x1A\n";

    return image->length > sizeof signature - 1 &&
           memcmp(image->data, signature, sizeof signature - 1) == 0;
}

void
cli_image_add_kitty(struct cli_text *into, const struct cli_text *png)
{
    struct cli_text code = {0};
    size_t length;

    cli_base64_encode(&code, png->data, png->length);
    for (size_t at = 0; at < code.length; at += length) {
        bool has_more = code.length - at > KITTY_CHUNK;

        length = has_more ? KITTY_CHUNK : code.length - at;
        /* q=2: the terminal must not answer, since that would be read as typed */
        cli_text_printf(into, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "q=2,",
                        has_more);
        cli_text_add(into, code.data + at, length);
        cli_text_puts(into, "\033\\");
    }
    cli_text_puts(into, "\n");
    into->failed = into->failed || code.failed;
    cli_text_done(&code);
}

/* ---- sixel ----------------------------------------------------------------- */

static bool
fail(mcp_error *err, const char *why)
{
    *err = (mcp_error){.status = MCP_E_INVAL};
    (void)snprintf(err->message, sizeof err->message, "%s", why);
    return false;
}

/* The image as a file without a name, to be stdin: a program that writes before it has
 * read all cannot lock us up. -1: there is none. */
static int
input_open(const struct cli_text *image)
{
    FILE *file = tmpfile();
    int fd = -1;

    if (!file)
        return -1;
    if (fwrite(image->data, 1, image->length, file) == image->length &&
        fflush(file) == 0) {
        rewind(file);
        fd = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3);
    }
    (void)fclose(file);
    return fd;
}

/* img2sixel with these as stdin and stdout; 0 or an errno. -S: of a moving picture only
 * one, since it would move for ever. */
static int
converter_spawn(int in, int out, pid_t *ret_pid)
{
    char name[] = "img2sixel", flag[] = "-S";
    char *argv[] = {name, flag, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, broken_pipe;
    int r;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigemptyset(&none);
    sigemptyset(&broken_pipe);
    sigaddset(&broken_pipe, SIGPIPE); /* we ignore it, and that would be inherited */
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    r = posix_spawnp(ret_pid, name, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

/* All that comes, to its end. False: it is too much, takes too long, or fails. */
static bool
output_read(int fd, struct cli_text *output)
{
    int64_t end = cli_now_ms() + SIXEL_MS, left;
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    char *piece = malloc(READ_PIECE);
    ssize_t got = -1;

    while (piece && output->length <= SIXEL_MOST && !output->failed) {
        left = end - cli_now_ms();
        if (left <= 0)
            break;
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        got = read(fd, piece, READ_PIECE);
        if (got == 0 || (got < 0 && errno != EINTR))
            break;
        cli_text_add(output, piece, got > 0 ? (size_t)got : 0);
        got = -1;
    }
    free(piece);
    return got == 0 && !output->failed;
}

/* One picture, ESC P ... ESC \, of characters that sixel is made of, and no other
 * sequence. What a hostile image can make of a converter is not trusted. */
static bool
is_sixel(const struct cli_text *output)
{
    const char *data = cli_text_string(output);
    size_t length = output->length;

    while (length > 0 && (data[length - 1] == '\n' || data[length - 1] == '\r'))
        length--;
    if (length < 4 || memcmp(data, "\033P", 2) != 0 ||
        memcmp(data + length - 2, "\033\\", 2) != 0)
        return false;
    for (size_t i = 2; i < length - 2; i++) {
        if ((data[i] < 0x20 || data[i] > 0x7E) && data[i] != '\n' && data[i] != '\r')
            return false;
    }
    return true;
}

/* Runs it; false: err says why. */
static bool
convert(int in, struct cli_text *output, mcp_error *err)
{
    int out[2], r;
    bool is_whole;
    pid_t pid;

    if (pipe2(out, O_CLOEXEC) < 0)
        return fail(err, "no descriptors are left");
    r = converter_spawn(in, out[1], &pid);
    close(out[1]);
    if (r != 0) {
        close(out[0]);
        return fail(err, r == ENOENT
                             ? "sixel needs the program img2sixel, which is not "
                               "in PATH"
                             : "the program img2sixel could not be started");
    }
    is_whole = output_read(out[0], output);
    close(out[0]);
    /* whole or not, it has nothing more to say, and must not keep us waiting */
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (!is_whole)
        return fail(err, "the program img2sixel took too long or wrote too much");
    if (!is_sixel(output))
        return fail(err, "the program img2sixel could not read the image");
    return true;
}

bool
cli_image_add_sixel(struct cli_text *into, const struct cli_text *image, mcp_error *err)
{
    struct cli_text output = {0};
    int in = input_open(image);
    bool is_done;

    if (in < 0)
        return fail(err, "the image could not be written to a temporary file");
    is_done = convert(in, &output, err);
    close(in);
    if (is_done) {
        cli_text_add(into, output.data, output.length);
        cli_text_puts(into, "\n");
    }
    cli_text_done(&output);
    return is_done;
}
