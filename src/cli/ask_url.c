/*
 * ask_url.c - a page that a server wants its user to open (elicitation/create with a
 * url)
 *
 * A server may send its user anywhere, so it is the user who decides, after seeing the
 * host and all of the address. It is opened without a shell, and only if it is of the
 * web.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/ask_parts.h"

#define WORDS_MAX 16 /* of an entry of $BROWSER */

/* ---- the address ---------------------------------------------------------------- */

/* Where its host begins, and its length; false: this is no address of the web that we
 * would show or open. Browsers take a backslash for a slash, so it ends a host here. */
static bool
url_read(const char *url, const char **ret_host, size_t *ret_length)
{
    const char *at, *host;

    for (at = url; *at; at++)
        if (*at <= ' ' || *at > '~')
            return false;
    if (strncasecmp(url, "https://", 8) == 0)
        at = url + 8;
    else if (strncasecmp(url, "http://", 7) == 0)
        at = url + 7;
    else
        return false;
    *ret_length = strcspn(at, "/?#\\");
    for (host = at; host < at + *ret_length; host++)
        if (*host == '@') { /* a name before it could look like the host */
            *ret_length -= (size_t)(host + 1 - at);
            at = host + 1;
        }
    *ret_host = at;
    return *ret_length > 0;
}

/* ---- opening it ----------------------------------------------------------------- */

/* In the child of a program with threads: only what a signal handler may do. */
static _Noreturn void
browser_exec(char *const *argv, int status_fd)
{
    int error, null = open("/dev/null", O_RDWR);
    sigset_t none;
    ssize_t n;

    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)setsid(); /* Ctrl-C is for us, not for the browser */
    if (null >= 0) {
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
    }
    if (fork() == 0) { /* the child of nobody: no zombie is left for us to wait for */
        (void)execvp(argv[0], argv);
        error = errno;
        n = write(status_fd, &error, sizeof(error));
        (void)n;
    }
    _exit(0);
}

/* True: it was started. */
static bool
browser_start(char *const *argv)
{
    int fds[2], error = 0;
    ssize_t n;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0)
        return false;
    pid = fork();
    if (pid == 0)
        browser_exec(argv, fds[1]);
    close(fds[1]);
    do {
        n = read(fds[0], &error, sizeof(error)); /* the end: exec has closed it */
    } while (n < 0 && errno == EINTR);
    close(fds[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && n == 0;
}

/* An entry of $BROWSER: words, in which %s alone is the page; else it is the last
 * one. */
static bool
browser_try(char *entry, char *url)
{
    char *argv[WORDS_MAX + 2], *rest = NULL;
    size_t count = 0;
    bool has_page = false;

    for (char *word = strtok_r(entry, " ", &rest); word && count < WORDS_MAX;
         word = strtok_r(NULL, " ", &rest)) {
        bool is_page = strcmp(word, "%s") == 0;

        has_page = has_page || is_page;
        argv[count++] = is_page ? url : word;
    }
    if (count == 0)
        return false;
    if (!has_page)
        argv[count++] = url;
    argv[count] = NULL;
    return browser_start(argv);
}

static bool
url_open(const char *url)
{
    const char *browser = getenv("BROWSER");
    char *list = strdup(browser && *browser ? browser : "xdg-open"), *rest = NULL;
    char *page = strdup(url);
    bool ok = false;

    if (list && page)
        for (char *entry = strtok_r(list, ":", &rest); entry && !ok;
             entry = strtok_r(NULL, ":", &rest))
            ok = browser_try(entry, page);
    free(list);
    free(page);
    return ok;
}

/* ---- asking --------------------------------------------------------------------- */

static int
ask_page(struct cli_turn *turn, const mcp_json *message, const char *url,
         mcp_result *out)
{
    const char *host;
    size_t length;
    char letter;

    cli_turn_show(turn,
                  "The server asks you to open a page: ", mcp_json_string(message, ""),
                  mcp_json_string_length(message));
    if (!url_read(url, &host, &length)) {
        cli_turn_say(turn, "  This is no address of a page, so it is declined: ", url);
        return mcp_result_decline(out);
    }
    cli_turn_show(turn, "  host: ", host, length);
    cli_turn_say(turn, "  page: ", url);
    if (memmem(host, length, "xn--", 4))
        cli_turn_say(turn,
                     "  This host has letters beyond ASCII. It may look like another.",
                     NULL);
    letter = cli_turn_choose(turn, "Open it? [y]es, [n]o, [c]ancel> ", "ync");
    if (letter == 'y' && !url_open(url))
        cli_turn_say(turn, "No browser could be started. Please open it yourself.",
                     NULL);
    if (letter == 'y')
        return mcp_result_accept(out);
    return letter == 'n' ? mcp_result_decline(out) : mcp_result_dismiss(out);
}

int
cli_ask_url(struct cli *cli, mcp_request *req, mcp_result *out)
{
    const mcp_json *params = mcp_request_params(req);
    struct cli_turn turn;
    int stop_fd, r;

    r = mcp_request_cancel_fd(req, &stop_fd);
    if (r < 0)
        return r;
    if (!cli_turn_begin(&turn, cli, stop_fd))
        return mcp_request_is_canceled(req) ? MCP_E_CANCELED : mcp_result_dismiss(out);
    r = ask_page(&turn, mcp_json_get(params, "message"),
                 mcp_json_string(mcp_json_get(params, "url"), ""), out);
    cli_turn_end(&turn);
    return mcp_request_is_canceled(req) ? MCP_E_CANCELED : r;
}
