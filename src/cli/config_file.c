/* config_file.c - one file of JSON that people edit: read whole, if it is a file */
#include "cli/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/error.h"

/* -1 and no error: it is not there. Never waits, as opening a pipe would. */
static int
open_file(const char *path, int *ret_fd, mcp_error *err)
{
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*ret_fd >= 0 || errno == ENOENT || errno == ENOTDIR)
        return 0;
    return cli_error(err, MCP_E_INVAL, "%s cannot be read: %s", path, strerror(errno));
}

/* A link to a file is fine, many keep theirs so; what is at its end must be one. */
static int
check_kind(int fd, const char *path, bool ours, size_t max, mcp_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return cli_error(err, MCP_E_INVAL, "%s cannot be read: %s", path,
                         strerror(errno));
    if (!S_ISREG(info.st_mode))
        return cli_error(err, MCP_E_INVAL, "%s is passed over: it is no file", path);
    if (ours && info.st_uid != geteuid() && info.st_uid != 0)
        return cli_error(err, MCP_E_INVAL,
                         "%s is passed over: it belongs to somebody else", path);
    if (info.st_size > (off_t)max)
        return cli_error(err, MCP_E_INVAL,
                         "%s is passed over: it is larger than %zu MiB", path,
                         max >> 20);
    return 0;
}

/* Into *text, freed by the caller in any case; there is room for a NUL. It may grow while
 * we read: then there is a little more of it than max. */
static int
read_all(int fd, const char *path, size_t max, char **text, size_t *length,
         mcp_error *err)
{
    size_t room = 0;
    ssize_t n;

    do {
        if (room - *length < 4096) {
            size_t larger = room ? room * 2 : 16384;
            char *more = realloc(*text, larger);

            if (!more)
                return cli_error_of(err, MCP_E_NOMEM);
            *text = more;
            room = larger;
        }
        n = read(fd, *text + *length, room - *length - 1);
        if (n < 0 && errno != EINTR)
            return cli_error(err, MCP_E_INVAL, "%s cannot be read: %s", path,
                             strerror(errno));
        if (n > 0)
            *length += (size_t)n;
    } while (n != 0 && *length <= max);
    (*text)[*length] = '\0';
    return 0;
}

int
cli_config_file_text(const char *path, bool ours, size_t max, char **ret_text,
                     size_t *ret_length, mcp_error *err)
{
    char *text = NULL;
    size_t length = 0;
    int fd = -1, r;

    r = open_file(path, &fd, err);
    if (r == 0 && fd >= 0)
        r = check_kind(fd, path, ours, max, err);
    if (r == 0 && fd >= 0)
        r = read_all(fd, path, max, &text, &length, err);
    if (fd >= 0)
        close(fd);
    if (r < 0) {
        free(text);
        return r;
    }
    *ret_text = text;
    *ret_length = length;
    return 0;
}

/* Blanks alone are no document, and no fault. */
static int
parse(const char *path, char *text, size_t length, mcp_doc **ret_doc, mcp_error *err)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.max_bytes = CLI_CONFIG_FILE_MAX);
    mcp_error why;
    size_t used = length;
    int r;

    cli_json_plain(text, length);
    while (used > 0 && strchr(" \t\r\n", text[used - 1]) && text[used - 1])
        used--;
    if (used == 0)
        return 0;
    r = mcp_doc_parse(text, length, &opt, ret_doc, &why);
    if (r == MCP_E_NOMEM)
        return cli_error_of(err, r);
    if (r < 0)
        return cli_error(err, MCP_E_INVAL, "%s is passed over: %s", path, why.message);
    return 0;
}

int
cli_config_file_read(const char *path, bool ours, mcp_doc **ret_doc, mcp_error *err)
{
    char *text;
    size_t length;
    int r;

    r = cli_config_file_text(path, ours, CLI_CONFIG_FILE_MAX, &text, &length, err);
    if (r < 0)
        return r;
    *ret_doc = NULL;
    if (text)
        r = parse(path, text, length, ret_doc, err);
    free(text);
    return r;
}
