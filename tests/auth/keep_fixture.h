/* keep_fixture.h - for tests of what keeps tokens: hands, a folder, watched memory */
#ifndef TESTS_AUTH_KEEP_FIXTURE_H
#define TESTS_AUTH_KEEP_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <mcp/auth.h>
#include <mcp/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

/* ---- a store ------------------------------------------------------------------ */

static inline int
keep_save(const mcp_token_keep *keep, const char *key, const char *text)
{
    const mcp_token_store *i = mcp_token_keep_interface(keep);

    return i->save(i->self, key, text);
}

static inline int
keep_lock(const mcp_token_keep *keep, const char *key)
{
    const mcp_token_store *i = mcp_token_keep_interface(keep);

    return i->lock(i->self, key);
}

static inline void
keep_unlock(const mcp_token_keep *keep, const char *key)
{
    const mcp_token_store *i = mcp_token_keep_interface(keep);

    i->unlock(i->self, key);
}

/* A status; the text, if there is one and it is short, in a buffer that the next call
 * reuses; else "(none)". */
static inline int
keep_load_status(const mcp_token_keep *keep, const char *key, const char **ret_text)
{
    const mcp_token_store *i = mcp_token_keep_interface(keep);
    static char copy[256], untouched;
    char *text = &untouched;
    int r = i->load(i->self, key, &text);

    *ret_text = copy;
    if (r < 0) {
        assert_ptr_equal(text, &untouched);
        return r;
    }
    snprintf(copy, sizeof copy, "%s", text ? text : "(none)");
    mcp_text_free(text, NULL);
    return r;
}

static inline const char *
keep_load(const mcp_token_keep *keep, const char *key)
{
    const char *text;

    assert_int_equal(keep_load_status(keep, key, &text), 0);
    return text;
}

/* ---- a folder ------------------------------------------------------------------- */

struct folder {
    char path[64];
    char file[128]; /* of tokens; not there yet */
};

static inline void
folder_make(struct folder *folder)
{
    snprintf(folder->path, sizeof folder->path, "/tmp/mcp-keep-XXXXXX");
    assert_non_null(mkdtemp(folder->path));
    snprintf(folder->file, sizeof folder->file, "%s/tokens.json", folder->path);
}

/* In a buffer that the next call reuses. */
static inline const char *
folder_path(const struct folder *folder, const char *name)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return path;
}

static inline bool
folder_has(const struct folder *folder, const char *name)
{
    struct stat st;

    return lstat(folder_path(folder, name), &st) == 0;
}

static inline mode_t
mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static inline int
folder_remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* With all that is in it. */
static inline void
folder_remove(const struct folder *folder)
{
    assert_int_equal(nftw(folder->path, folder_remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static inline void
file_put(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t len = strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, len), len);
    close(fd);
}

/* In a buffer that the next call reuses. */
static inline const char *
file_get(const char *path)
{
    static char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    assert_true(fd >= 0);
    n = read(fd, text, sizeof text - 1);
    assert_true(n >= 0);
    text[n] = '\0';
    close(fd);
    return text;
}

/* ---- memory that must not be freed with a secret in it ---------------------------- */

#define SECRET "S3CR3T-refresh-token"

struct watched {
    mcp_allocator allocator;
    long live, seen, leaked; /* blocks; those freed; and those that had it */
};

static inline void *
watched_alloc(void *user, size_t size)
{
    struct watched *watched = user;
    max_align_t *block = malloc(sizeof *block + size);

    assert_non_null(block);
    memcpy(block, &size, sizeof size);
    memset(block + 1, 0, size);
    watched->live++;
    return block + 1;
}

static inline void
watched_free(void *user, void *ptr)
{
    struct watched *watched = user;
    max_align_t *block = ptr;
    size_t size;

    if (!ptr)
        return;
    memcpy(&size, block - 1, sizeof size);
    watched->live--;
    watched->seen++;
    watched->leaked += memmem(ptr, size, SECRET, strlen(SECRET)) != NULL;
    free(block - 1);
}

static inline void *
watched_realloc(void *user, void *ptr, size_t size)
{
    void *moved = watched_alloc(user, size);
    size_t old;

    memcpy(&old, (max_align_t *)ptr - 1, sizeof old);
    memcpy(moved, ptr, old < size ? old : size);
    watched_free(user, ptr);
    return moved;
}

static inline void
watched_init(struct watched *watched)
{
    *watched = (struct watched){.allocator = {.alloc = watched_alloc,
                                              .realloc = watched_realloc,
                                              .free = watched_free}};
    watched->allocator.user = watched;
}

static inline void
watched_done(const struct watched *watched)
{
    assert_int_equal(watched->live, 0);
    assert_true(watched->seen > 0);
    assert_int_equal(watched->leaked, 0);
}

#endif
