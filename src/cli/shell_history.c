/* shell_history.c - lines that were entered, kept in a file for the next time */
#include "cli/shell_history.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/secret.h"
#include "cli/text.h"

bool
cli_history_wants(const char *line)
{
    return *line != '\0' && !isspace((unsigned char)*line);
}

/* Behind a part of a name: does the name end here, with a value after it? */
static bool
has_value(const char *at)
{
    at += strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                     "_-.[]");
    at += strspn(at, "\\\"' \t");
    return *at == '=' || *at == ':';
}

/* Is there a name with this word in it, and a value behind? Wider than what secret.h
 * calls a name: a line too few in a file of history harms nobody. */
static bool
names(const char *line, const char *word)
{
    const char *at = strcasestr(line, word);

    while (at) {
        at += strlen(word);
        if (has_value(at))
            return true;
        at = strcasestr(at, word);
    }
    return false;
}

bool
cli_history_is_secret(const char *line)
{
    static const char *const words[] = {"password", "passwd",     "passphrase",
                                        "token",    "secret",     "key",
                                        "auth",     "credential", "cookie"};
    struct cli_text shown = {0};
    bool found;

    cli_secret_add(&shown, line, strlen(line));
    found = shown.failed || strcmp(cli_text_string(&shown), line) != 0;
    cli_text_done(&shown);
    for (size_t i = 0; !found && i < sizeof(words) / sizeof(words[0]); i++)
        found = names(line, words[i]);
    return found;
}

static FILE *
open_private(const char *path, int flags, const char *mode)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    FILE *file;

    if (fd < 0)
        return NULL;
    (void)fchmod(fd, 0600); /* it may have been there, and open to others */
    file = fdopen(fd, mode);
    if (!file)
        close(fd);
    return file;
}

/* Only these lines from now on; by a file of another name, so no reader sees half. */
static void
rewrite(const char *path, const char *text, size_t length)
{
    char *other = NULL;
    bool ok = false;
    FILE *file;

    if (asprintf(&other, "%s.%ld", path, (long)getpid()) < 0)
        return;
    file = open_private(other, O_WRONLY | O_CREAT | O_EXCL, "w");
    if (file) {
        ok = fwrite(text, 1, length, file) == length;
        ok = fclose(file) == 0 && ok;
        if (!ok || rename(other, path) != 0)
            (void)unlink(other);
    }
    free(other);
}

/* Where the last lines begin, at most that many. */
static size_t
find_last(const char *text, size_t length, size_t lines)
{
    size_t at = length;

    while (at > 0) {
        if (text[at - 1] == '\n' && at < length && --lines == 0)
            return at;
        at--;
    }
    return 0;
}

void
cli_history_read(const char *path, void (*each)(void *user, const char *line),
                 void *user)
{
    FILE *file = fopen(path, "re");
    struct cli_text text = {0};
    char block[4096];
    size_t n, start;
    char *at, *end;

    if (!file)
        return;
    do {
        n = fread(block, 1, sizeof(block), file);
        cli_text_add(&text, block, n);
    } while (n > 0);
    (void)fclose(file);
    start = text.failed ? text.length
                        : find_last(text.data, text.length, CLI_HISTORY_LINES);
    if (start > 0 && start < text.length)
        rewrite(path, text.data + start, text.length - start);
    for (at = text.data + start; start < text.length && *at; at = end + 1) {
        end = strchr(at, '\n');
        if (!end)
            break; /* a line that was not written to its end */
        *end = '\0';
        if (*at)
            each(user, at);
    }
    cli_text_done(&text);
}

bool
cli_history_add(const char *path, const char *line)
{
    FILE *file;
    bool ok;

    if (!cli_history_wants(line) || cli_history_is_secret(line) || strchr(line, '\n'))
        return false;
    file = open_private(path, O_WRONLY | O_CREAT | O_APPEND, "a");
    if (!file)
        return false;
    ok = fprintf(file, "%s\n", line) > 0;
    return fclose(file) == 0 && ok;
}
