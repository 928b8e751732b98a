/* keep_disk.c - one private file in a safe folder: read whole, replaced whole */
#include "auth/keep_disk.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/fd.h"

#define SUFFIX_MAX 16 /* the longest of ours is ".damaged" */
#define BLOCK 4096    /* most files are not longer */
#define NEW ".new"    /* what is being written; under lock, so one name is enough */
#define OTHERS_WRITE 0022
#define OTHERS_ANY 0077

/* ---- words for errors ----------------------------------------------------------- */

/* An error is in the way of a file, that of tokens or one beside it. */
struct place {
    const struct mcpi_disk *disk;
    const char *suffix;
    mcp_error *err;
};

static int
fail(const struct place *at, int status, const char *why)
{
    return mcpi_error_set(at->err, status, "cannot keep tokens, \"%.90s/%.40s%s\": %s",
                          at->disk->folder, at->disk->name, at->suffix, why);
}

static int
status_of(int number)
{
    if (number == ENOSPC || number == EDQUOT || number == EFBIG || number == EMFILE ||
        number == ENFILE)
        return MCP_E_LIMIT;
    return number == ENOMEM ? MCP_E_NOMEM : MCP_E_INVAL;
}

static int
fail_errno(const struct place *at, int number)
{
    char text[80];

    (void)uv_strerror_r(uv_translate_sys_error(number), text, sizeof(text));
    return fail(at, status_of(number), text);
}

/* ---- paths ---------------------------------------------------------------------- */

/* A file's name: not a folder's, and short enough for one with a suffix. */
static bool
name_is_sound(const char *name)
{
    return *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           strlen(name) <= NAME_MAX - SUFFIX_MAX;
}

int
mcpi_disk_init(struct mcpi_disk *disk, const mcp_allocator *mem, const char *path,
               mcp_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t len = (size_t)(name - path), size = strlen(name) + 1, here = 0;
    char from[PATH_MAX] = "";

    if (!name_is_sound(name) || len >= PATH_MAX)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "cannot keep tokens in \"%.120s\": no name of a file",
                              path);
    if (path[0] != '/' && !getcwd(from, sizeof(from)))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "cannot keep tokens in \"%.120s\": no current folder",
                              path);
    here = strlen(from);
    disk->folder = mcpi_alloc(mem, here + 1 + len + 1 + size);
    if (!disk->folder)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    (void)snprintf(disk->folder, here + 1 + len + 1, "%s%s%.*s", from,
                   here > 0 ? "/" : "", (int)len, path);
    disk->name = disk->folder + here + 1 + len + 1;
    memcpy(disk->name, name, size);
    disk->mem = mem;
    return 0;
}

void
mcpi_disk_done(struct mcpi_disk *disk)
{
    mcpi_free(disk->mem, disk->folder);
    disk->folder = NULL;
}

struct name {
    char text[NAME_MAX + 1];
};

static struct name
name_of(const struct mcpi_disk *disk, const char *suffix)
{
    struct name name;

    (void)snprintf(name.text, sizeof(name.text), "%s%s", disk->name, suffix);
    return name;
}

/* ---- the folder ----------------------------------------------------------------- */

static int
folder_open(const struct mcpi_disk *disk)
{
    return mcpi_fd_above_stdio(open(disk->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Each folder on the way that is missing. That one could not be made is found out when
 * the last one is opened. */
static void
folder_make(const struct mcpi_disk *disk)
{
    char path[PATH_MAX];
    size_t len = strlen(disk->folder);

    if (len >= sizeof(path))
        return;
    memcpy(path, disk->folder, len + 1);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    (void)mkdir(path, 0700);
}

/* Who can write there can put another file in place of ours. To see its name does no
 * harm: a home is often open for that. */
static int
folder_check(const struct place *at, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return fail_errno(at, errno);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return fail(at, MCP_E_INVAL, "the folder is somebody else's");
    if (st.st_mode & OTHERS_WRITE)
        return fail(at, MCP_E_INVAL, "others can write to the folder");
    return 0;
}

int
mcpi_disk_enter(const struct mcpi_disk *disk, int *ret_folder, mcp_error *err)
{
    const struct place at = {.disk = disk, .suffix = "", .err = err};
    int fd = folder_open(disk);
    int r;

    if (fd < 0 && errno == ENOENT) {
        folder_make(disk);
        fd = folder_open(disk);
    }
    if (fd < 0)
        return fail_errno(&at, errno);
    r = folder_check(&at, fd);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    *ret_folder = fd;
    return 0;
}

/* ---- files in it ---------------------------------------------------------------- */

static int
file_check(const struct place *at, int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return fail_errno(at, errno);
    if (!S_ISREG(st.st_mode))
        return fail(at, MCP_E_INVAL, "it is no regular file");
    if (st.st_uid != geteuid())
        return fail(at, MCP_E_INVAL, "it is somebody else's");
    if (st.st_mode & OTHERS_ANY)
        return fail(at, MCP_E_INVAL,
                    "others can read or write it (its mode should be 600)");
    return 0;
}

/* Without waiting: the name may be that of a FIFO. */
int
mcpi_disk_open(const struct mcpi_disk *disk, int folder, const char *suffix, int flags,
               int *ret_fd, mcp_error *err)
{
    const struct place at = {.disk = disk, .suffix = suffix, .err = err};
    struct name name = name_of(disk, suffix);
    int fd, r;

    fd = mcpi_fd_above_stdio(
        openat(folder, name.text,
               flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600));
    if (fd < 0 && errno == ENOENT && !(flags & O_CREAT))
        return 0;
    if (fd < 0 && errno == ELOOP)
        return fail(&at, MCP_E_INVAL, "it is a symbolic link");
    if (fd < 0)
        return fail_errno(&at, errno);
    r = file_check(&at, fd);
    if (r < 0) {
        (void)close(fd);
        return r;
    }
    *ret_fd = fd;
    return 1;
}

static int
file_read(int fd, struct mcpi_buf *into)
{
    ssize_t n = 1;
    char *at;

    while (n != 0) {
        at = mcpi_buf_reserve(into, BLOCK);
        if (!at)
            return into->status;
        n = read(fd, at, BLOCK);
        if (n > 0)
            mcpi_buf_commit(into, (size_t)n);
        else if (n < 0 && errno != EINTR)
            return status_of(errno);
    }
    return 1;
}

int
mcpi_disk_read(const struct mcpi_disk *disk, int folder, struct mcpi_buf *into)
{
    int fd = -1, r;

    r = mcpi_disk_open(disk, folder, "", O_RDONLY, &fd, NULL);
    if (r <= 0)
        return r;
    r = file_read(fd, into);
    (void)close(fd);
    return r;
}

/* 0, or errno. */
static int
file_write(int fd, const char *text, size_t len)
{
    ssize_t n;

    while (len > 0) {
        n = write(fd, text, len);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

/* 0, or errno. On the disk before it gets its name; some systems say only when it is
 * closed that there was no room. */
static int
file_fill(int fd, const char *text, size_t len)
{
    int number = fchmod(fd, 0600) < 0 ? errno : 0;

    if (number == 0)
        number = file_write(fd, text, len);
    if (number == 0 && fsync(fd) < 0)
        number = errno;
    if (close(fd) < 0 && number == 0)
        number = errno;
    return number;
}

/* What a crash has left under the name of the new one is in the way, and is nothing. */
int
mcpi_disk_replace(const struct mcpi_disk *disk, int folder, const char *text,
                  size_t len)
{
    struct name new = name_of(disk, NEW);
    int fd, number;

    (void)unlinkat(folder, new.text, 0);
    fd = mcpi_fd_above_stdio(openat(
        folder, new.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd < 0)
        return status_of(errno);
    number = file_fill(fd, text, len);
    if (number == 0 && renameat(folder, new.text, folder, disk->name) < 0)
        number = errno;
    if (number != 0) {
        (void)unlinkat(folder, new.text, 0);
        return status_of(number);
    }
    (void)fsync(folder); /* everybody sees it already; only a crash could undo it */
    return 0;
}

int
mcpi_disk_set_aside(const struct mcpi_disk *disk, int folder, const char *suffix)
{
    struct name name = name_of(disk, suffix);

    if (renameat(folder, disk->name, folder, name.text) == 0)
        return 0;
    return status_of(errno);
}

bool
mcpi_disk_is_current(const struct mcpi_disk *disk, int folder, const char *suffix,
                     int fd)
{
    struct name name = name_of(disk, suffix);
    struct stat ours, found;

    return fstat(fd, &ours) == 0 &&
           fstatat(folder, name.text, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
}
