/* shell_screen.c - the terminal while a prompt stands on it */
#include "cli/shell_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

/* As much as may wait while the shell is busy. What does not fit is lost: the threads
 * of the library must not wait for us. */
#define LINES_BYTES (1 << 20)

int
cli_screen_init(struct cli_screen *screen)
{
    *screen = (struct cli_screen){.lines = {-1, -1}, .wake = {-1, -1}, .real = -1};
    (void)pthread_mutex_init(&screen->lock, NULL);
    (void)pthread_cond_init(&screen->changed, NULL);
    if (pipe2(screen->lines, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pipe2(screen->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        cli_screen_done(screen);
        return MCP_E_LIMIT;
    }
    (void)fcntl(screen->lines[1], F_SETPIPE_SZ, LINES_BYTES);
    return 0;
}

void
cli_screen_done(struct cli_screen *screen)
{
    for (int i = 0; i < 2; i++) {
        if (screen->lines[i] >= 0)
            close(screen->lines[i]);
        if (screen->wake[i] >= 0)
            close(screen->wake[i]);
    }
    pthread_cond_destroy(&screen->changed);
    pthread_mutex_destroy(&screen->lock);
}

/* ---- questions, on threads of the library ---------------------------------------- */

static int
ask(struct cli_screen *screen, const mcp_handler *handler, mcp_request *req,
    mcp_result *out)
{
    ssize_t n;
    int r;

    pthread_mutex_lock(&screen->lock);
    screen->askers++;
    n = write(screen->wake[1], "", 1);
    (void)n; /* a full pipe is readable, too */
    while (screen->is_prompt)
        pthread_cond_wait(&screen->changed, &screen->lock);
    pthread_mutex_unlock(&screen->lock);
    r = handler->run(req, out, handler->user);
    pthread_mutex_lock(&screen->lock);
    screen->askers--;
    pthread_cond_broadcast(&screen->changed);
    pthread_mutex_unlock(&screen->lock);
    return r;
}

static int
elicit(mcp_request *req, mcp_result *out, void *user)
{
    struct cli_screen *screen = user;

    return ask(screen, &screen->elicit, req, out);
}

static int
sample(mcp_request *req, mcp_result *out, void *user)
{
    struct cli_screen *screen = user;

    return ask(screen, &screen->sample, req, out);
}

void
cli_screen_offer(struct cli_screen *screen, mcp_client_options *opt)
{
    screen->elicit = opt->elicit;
    screen->sample = opt->sample;
    if (opt->elicit.run)
        opt->elicit = (mcp_handler){.run = elicit, .user = screen};
    if (opt->sample.run)
        opt->sample = (mcp_handler){.run = sample, .user = screen};
}

/* ---- stderr --------------------------------------------------------------------- */

void
cli_screen_lower(struct cli_screen *screen)
{
    if (screen->real >= 0)
        return;
    screen->real = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (screen->real >= 0)
        (void)dup2(screen->lines[1], STDERR_FILENO);
}

void
cli_screen_lift(struct cli_screen *screen)
{
    char block[4096];
    ssize_t n;

    if (screen->real >= 0) {
        (void)dup2(screen->real, STDERR_FILENO);
        close(screen->real);
    }
    screen->real = -1;
    for (n = read(screen->lines[0], block, sizeof(block)); n > 0;
         n = read(screen->lines[0], block, sizeof(block)))
        (void)!write(STDERR_FILENO, block, (size_t)n);
}

void
cli_screen_enter(struct cli_screen *screen)
{
    char bytes[16];

    pthread_mutex_lock(&screen->lock);
    while (screen->askers > 0)
        pthread_cond_wait(&screen->changed, &screen->lock);
    while (read(screen->wake[0], bytes, sizeof(bytes)) > 0)
        continue;
    screen->is_prompt = true;
    pthread_mutex_unlock(&screen->lock);
    cli_screen_lower(screen);
}

void
cli_screen_leave(struct cli_screen *screen)
{
    cli_screen_lift(screen);
    pthread_mutex_lock(&screen->lock);
    screen->is_prompt = false;
    pthread_cond_broadcast(&screen->changed);
    pthread_mutex_unlock(&screen->lock);
}

enum cli_screen_event
cli_screen_wait(struct cli_screen *screen, int in, int interrupt, int fd)
{
    struct pollfd fds[] = {{.fd = interrupt, .events = POLLIN},
                           {.fd = screen->wake[0], .events = POLLIN},
                           {.fd = screen->lines[0], .events = POLLIN},
                           {.fd = fd, .events = POLLIN},
                           {.fd = in, .events = POLLIN}};
    int n;

    do
        n = poll(fds, sizeof(fds) / sizeof(fds[0]), -1);
    while (n < 0 && errno == EINTR);
    /* a signal that came with a key came before it, and is seen only now */
    (void)poll(fds, 1, 0);
    if (fds[0].revents)
        return CLI_SCREEN_INTERRUPT;
    if (fds[1].revents)
        return CLI_SCREEN_QUESTION;
    return fds[2].revents || fds[3].revents ? CLI_SCREEN_LINES : CLI_SCREEN_KEY;
}
