/* relay.c - a spawned server's stderr, line by line among our own */
#include "cli/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/json.h>

#include "cli/text.h"

#define LINE_MAX_BYTES 4096 /* a longer one is shown in parts */
#define PIECE_BYTES 4096
/* What a pipe holds (64 KiB) is read to its end. What is written after that is not waited
 * for: a process that the server has left behind may go on for ever. */
#define LAST_PIECES 16

struct cli_relay {
    struct cli_say *say;
    int in;      /* what the server writes */
    int stop[2]; /* readable: no more waiting */
    pthread_t thread;
    char line[LINE_MAX_BYTES];
    size_t length;
};

static void
say_as_json(struct cli_say *say, const char *text, size_t length)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const char *line;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string_n(b, "server", text, length);
    mcp_builder_end(b);
    line = mcp_builder_text(b, &length);
    if (line)
        cli_say_line(say, line, length);
    mcp_builder_free(b);
}

static void
line_show(struct cli_relay *relay)
{
    struct cli_text text = {0};

    cli_text_add_harmless(&text, relay->line, relay->length, true);
    relay->length = 0;
    if (relay->say->is_json)
        say_as_json(relay->say, cli_text_string(&text), text.length);
    else
        cli_say_line(relay->say, cli_text_string(&text), text.length);
    cli_text_done(&text);
}

static void
bytes_take(struct cli_relay *relay, const char *data, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (data[i] != '\n')
            relay->line[relay->length++] = data[i];
        if (data[i] == '\n' || relay->length == LINE_MAX_BYTES)
            line_show(relay);
    }
}

/* What is there now, at most so many pieces of it. False: it has ended. */
static bool
relay_read(struct cli_relay *relay, int most)
{
    char data[PIECE_BYTES];
    ssize_t n;

    for (int i = 0; i < most; i++) {
        n = read(relay->in, data, sizeof(data));
        if (n > 0)
            bytes_take(relay, data, (size_t)n);
        else if (n == 0 || errno == EAGAIN)
            return n != 0;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

static void *
relay_run(void *user)
{
    struct cli_relay *relay = user;
    struct pollfd fds[2] = {{.fd = relay->in, .events = POLLIN},
                            {.fd = relay->stop[0], .events = POLLIN}};
    bool more = true, is_last = false;

    while (more && !is_last) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        is_last = fds[1].revents != 0;
        more = relay_read(relay, is_last ? LAST_PIECES : 1);
    }
    if (relay->length > 0)
        line_show(relay);
    return NULL;
}

static bool
thread_begin(struct cli_relay *relay)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&relay->thread, NULL, relay_run, relay);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r == 0;
}

struct cli_relay *
cli_relay_new(struct cli_say *say, int *ret_fd)
{
    struct cli_relay *relay = calloc(1, sizeof(*relay));
    int ends[2];

    if (!relay)
        return NULL;
    relay->say = say;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(relay);
        return NULL;
    }
    relay->in = ends[0];
    if (pipe2(relay->stop, O_CLOEXEC) == 0) {
        (void)fcntl(ends[0], F_SETFL,
                    O_NONBLOCK); /* ours alone: the other end blocks */
        if (thread_begin(relay)) {
            *ret_fd = ends[1];
            return relay;
        }
        close(relay->stop[0]);
        close(relay->stop[1]);
    }
    close(ends[0]);
    close(ends[1]);
    free(relay);
    return NULL;
}

void
cli_relay_free(struct cli_relay *relay)
{
    ssize_t n;

    if (!relay)
        return;
    n = write(relay->stop[1], "", 1);
    (void)n;
    pthread_join(relay->thread, NULL);
    close(relay->in);
    close(relay->stop[0]);
    close(relay->stop[1]);
    free(relay);
}
