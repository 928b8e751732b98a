/* save.c - bytes of a server as files: names of our own, never over another file */
#include "cli/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define NUMBER_MOST 100000 /* so many in one folder are enough */

struct ending {
    const char *mime_type, *ending;
};

static const struct ending endings[] = {
    {"image/png", "png"},         {"image/jpeg", "jpg"},
    {"image/gif", "gif"},         {"image/webp", "webp"},
    {"image/svg+xml", "svg"},     {"image/bmp", "bmp"},
    {"image/tiff", "tiff"},       {"image/avif", "avif"},
    {"image/x-icon", "ico"},      {"audio/mpeg", "mp3"},
    {"audio/mp3", "mp3"},         {"audio/wav", "wav"},
    {"audio/x-wav", "wav"},       {"audio/ogg", "ogg"},
    {"audio/opus", "opus"},       {"audio/flac", "flac"},
    {"audio/aac", "aac"},         {"audio/mp4", "m4a"},
    {"audio/webm", "webm"},       {"video/mp4", "mp4"},
    {"video/webm", "webm"},       {"text/plain", "txt"},
    {"text/html", "html"},        {"text/css", "css"},
    {"text/csv", "csv"},          {"text/markdown", "md"},
    {"application/json", "json"}, {"application/xml", "xml"},
    {"application/pdf", "pdf"},   {"application/zip", "zip"},
    {"application/gzip", "gz"},   {"application/x-tar", "tar"},
    {"application/wasm", "wasm"},
};

static bool
fail(mcp_error *err, const char *what, const char *path)
{
    int reason = errno;

    *err = (mcp_error){.status = MCP_E_INVAL};
    (void)snprintf(err->message, sizeof err->message, "cannot %s %.120s: %s", what,
                   path, strerror(reason));
    return false;
}

/* The folder where it goes, made now if need be; NULL: err says why. */
static const char *
folder_get(struct cli_saver *saver, mcp_error *err)
{
    const char *parent = getenv("TMPDIR");

    if (saver->folder) {
        if (mkdir(saver->folder, 0777) == 0 || errno == EEXIST)
            return saver->folder;
        (void)fail(err, "make the folder", saver->folder);
        return NULL;
    }
    if (saver->made.length > 0)
        return saver->made.data;
    cli_text_printf(&saver->made, "%s/mcpctl-XXXXXX",
                    parent && *parent ? parent : "/tmp");
    if (!saver->made.failed && mkdtemp(saver->made.data))
        return saver->made.data;
    (void)fail(err, "make a folder in", parent && *parent ? parent : "/tmp");
    cli_text_done(&saver->made);
    return NULL;
}

/* A file that was not there before; its path in path. -1: errno says why. */
static int
file_create(struct cli_saver *saver, const char *folder, const char *kind,
            const char *ending, struct cli_text *path)
{
    int fd = -1;

    do {
        cli_text_done(path);
        cli_text_printf(path, "%s/%s-%u.%s", folder, kind, ++saver->number, ending);
        if (path->failed) {
            errno = ENOMEM;
            return -1;
        }
        fd = open(path->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    } while (fd < 0 && errno == EEXIST && saver->number < NUMBER_MOST);
    return fd;
}

static bool
file_fill(int fd, const struct cli_text *bytes)
{
    size_t at = 0;

    while (at < bytes->length) {
        ssize_t put = write(fd, bytes->data + at, bytes->length - at);

        if (put < 0 && errno != EINTR)
            return false;
        at += put > 0 ? (size_t)put : 0;
    }
    return true;
}

bool
cli_save(struct cli_saver *saver, const char *kind, const char *mime_type,
         const struct cli_text *bytes, struct cli_text *ret_path, mcp_error *err)
{
    const char *folder = folder_get(saver, err);
    struct cli_text path = {0};
    bool is_full;
    int fd;

    if (!folder)
        return false;
    fd = file_create(saver, folder, kind, cli_save_ending(mime_type), &path);
    if (fd < 0) {
        (void)fail(err, "make a file in", folder);
        cli_text_done(&path);
        return false;
    }
    is_full = file_fill(fd, bytes);
    if (close(fd) < 0 || !is_full) {
        (void)fail(err, "write", path.data);
        (void)unlink(path.data);
        cli_text_done(&path);
        return false;
    }
    cli_text_add(ret_path, path.data, path.length);
    cli_text_done(&path);
    return true;
}

void
cli_saver_done(struct cli_saver *saver)
{
    cli_text_done(&saver->made);
}

const char *
cli_save_ending(const char *mime_type)
{
    /* "text/html; charset=utf-8" is text/html */
    size_t length = mime_type ? strcspn(mime_type, "; ") : 0;

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (mime_type && strlen(endings[i].mime_type) == length &&
            strncasecmp(endings[i].mime_type, mime_type, length) == 0)
            return endings[i].ending;
    }
    return "bin";
}
