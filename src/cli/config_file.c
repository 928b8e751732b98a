/* config_file.c - one file of JSON that people edit: read whole, if it is a file */
#include "cli/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
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

static bool
is_ours(const struct stat *info)
{
    return info->st_uid == geteuid() || info->st_uid == 0;
}

/* True if the user is the group's only member: such a group has the user's name. */
static bool
is_private_group(gid_t gid)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *group = user && user->pw_gid == gid ? getgrgid(gid) : NULL;

    return group && strcmp(group->gr_name, user->pw_name) == 0 && !group->gr_mem[0];
}

static bool
can_others_write(const struct stat *info)
{
    return (info->st_mode & S_IWOTH) ||
           ((info->st_mode & S_IWGRP) && !is_private_group(info->st_gid));
}

/* A folder or a file on the way to path, which may be a link. */
static int
check_step(const char *step, const char *path, struct stat *ret_end, mcp_error *err)
{
    const char *it = strcmp(step, path) == 0 ? "it" : path;
    struct stat link;

    if (lstat(step, &link) != 0 || stat(step, ret_end) != 0)
        return cli_error(err, MCP_E_INVAL, "%s cannot be read: %s", step,
                         strerror(errno));
    if (!is_ours(&link) || !is_ours(ret_end))
        return cli_error(err, MCP_E_INVAL,
                         "%s belongs to another user, so %s is not used", step, it);
    if (can_others_write(ret_end))
        return cli_error(err, MCP_E_INVAL,
                         "other users can write to %s, so %s is not used", step, it);
    return 0;
}

/* The program runs what the file says, in that folder. So no other user may have written
 * the file, put it there, linked to it, or put a program beside it. info: of the file that
 * was opened. */
static int
check_owner(const char *path, size_t folder_length, const struct stat *info,
            mcp_error *err)
{
    size_t at = folder_length, cut;
    char *step = strdup(path);
    struct stat end = {0};
    int r = 0;

    if (!step)
        return cli_error_of(err, MCP_E_NOMEM);
    while (r == 0 && at < strlen(path)) {
        cut = at > 0 ? at : 1;
        step[cut] = '\0';
        r = check_step(step, path, &end, err);
        step[cut] = path[cut];
        at += 1 + strcspn(path + at + 1, "/");
    }
    if (r == 0)
        r = check_step(path, path, &end, err);
    if (r == 0 && (end.st_dev != info->st_dev || end.st_ino != info->st_ino))
        r = cli_error(err, MCP_E_INVAL, "%s is not used: it changes meanwhile", path);
    free(step);
    return r;
}

/* A link to a file is fine, many keep theirs so; what is at its end must be one. */
static int
check_kind(int fd, const char *path, const char *folder, size_t max, mcp_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return cli_error(err, MCP_E_INVAL, "%s cannot be read: %s", path,
                         strerror(errno));
    if (!S_ISREG(info.st_mode))
        return cli_error(err, MCP_E_INVAL, "%s is passed over: it is not a file", path);
    if (info.st_size > (off_t)max)
        return cli_error(err, MCP_E_INVAL,
                         "%s is passed over: it is larger than %zu MiB", path,
                         max >> 20);
    return folder ? check_owner(path, strlen(folder), &info, err) : 0;
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
cli_config_file_text(const char *path, const char *folder, size_t max, char **ret_text,
                     size_t *ret_length, mcp_error *err)
{
    char *text = NULL;
    size_t length = 0;
    int fd = -1, r;

    r = open_file(path, &fd, err);
    if (r == 0 && fd >= 0)
        r = check_kind(fd, path, folder, max, err);
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
cli_config_file_read(const char *path, const char *folder, mcp_doc **ret_doc,
                     mcp_error *err)
{
    char *text;
    size_t length;
    int r;

    r = cli_config_file_text(path, folder, CLI_CONFIG_FILE_MAX, &text, &length, err);
    if (r < 0)
        return r;
    *ret_doc = NULL;
    if (text)
        r = parse(path, text, length, ret_doc, err);
    free(text);
    return r;
}
