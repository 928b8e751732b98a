/*
 * keep_file.c - tokens in a file, for clients of one process and of others
 *
 * The file is one JSON object: each key with its text, as a string. To save is to read it
 * all, change one member and replace it all, with the lock for writers held; to load
 * needs no lock, as what is read is never written to (keep_disk.h). Nothing of it is
 * remembered here: others may have changed it.
 *
 * What is not such an object is damaged, by an editor or a disk. load says so. The next
 * save moves it aside, as "<name>.damaged": the new tokens must be kept, and who wants
 * the old ones can still look there.
 */
#include <fcntl.h>
#include <mcp/json.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "auth/keep.h"
#include "auth/keep_disk.h"
#include "auth/keep_lock.h"
#include "auth/wipe.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"

/* Tokens for some thousands of servers. It is read whole for each of them. */
#define FILE_BYTES ((size_t)16 * 1024 * 1024)
#define DAMAGED ".damaged"

struct held {
    struct mcpi_list node;
    int lock;
    char key[];
};

struct file {
    struct mcp_token_keep keep;
    const mcp_allocator *mem;
    struct mcpi_wipe secrets;
    struct mcpi_disk disk;
    pthread_mutex_t lock;  /* for what follows */
    struct mcpi_list held; /* locks */
};

/* ---- its content ----------------------------------------------------------------- */

static bool
content_is_sound(const mcp_json *root)
{
    mcp_json_iterator it;

    if (mcp_json_get_type(root) != MCP_JSON_OBJECT)
        return false;
    for (it = mcp_json_each(root); mcp_json_next(&it);) {
        if (strlen(mcp_json_string(it.key, "")) != mcp_json_string_length(it.key) ||
            mcp_json_get_type(it.value) != MCP_JSON_STRING)
            return false;
    }
    return true;
}

static int
content_parse(struct file *file, const struct mcpi_buf *text, mcp_doc **ret_doc)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = &file->secrets.allocator,
                                                  .max_bytes = FILE_BYTES,
                                                  .unique_keys = true);
    mcp_doc *doc;
    int r;

    r = mcp_doc_parse(text->data, text->len, &opt, &doc, NULL);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_SYNTAX;
    if (!content_is_sound(mcp_doc_root(doc))) {
        mcp_doc_free(doc);
        return MCP_E_SYNTAX;
    }
    *ret_doc = doc;
    return 0;
}

/* *ret_doc: NULL if there is nothing. MCP_E_SYNTAX: damaged; what is longer than anything
 * we write is not ours either. */
static int
content_read(struct file *file, int folder, mcp_doc **ret_doc)
{
    struct mcpi_buf text;
    int r;

    mcpi_buf_init(&text, &file->secrets.allocator, FILE_BYTES + 4096);
    r = mcpi_disk_read(&file->disk, folder, &text);
    if (text.status == MCP_E_LIMIT)
        r = MCP_E_SYNTAX;
    else if (r >= 0 && text.len == 0)
        *ret_doc = NULL;
    else if (r >= 0)
        r = content_parse(file, &text, ret_doc);
    mcpi_buf_done(&text);
    return r < 0 ? r : 0;
}

static void
content_build(mcp_builder *b, const mcp_json *old, const char *key, const char *text)
{
    mcp_json_iterator it;
    const char *name;

    mcp_builder_begin_object(b, NULL);
    for (it = mcp_json_each(old); mcp_json_next(&it);) {
        name = mcp_json_string(it.key, "");
        if (strcmp(name, key) != 0)
            mcp_builder_value(b, name, it.value);
    }
    if (text)
        mcp_builder_string(b, key, text);
    mcp_builder_end(b);
}

static int
content_write(struct file *file, int folder, const mcp_json *old, const char *key,
              const char *text)
{
    mcp_builder *b = mcp_builder_new(&file->secrets.allocator);
    const char *whole;
    size_t len;
    int r;

    content_build(b, old, key, text);
    r = mcp_builder_status(b);
    if (r == 0) {
        whole = mcp_builder_text(b, &len);
        r = len > FILE_BYTES ? MCP_E_LIMIT
                             : mcpi_disk_replace(&file->disk, folder, whole, len);
    }
    mcp_builder_free(b);
    return r;
}

/* With the lock for writers. */
static int
content_change(struct file *file, int folder, const char *key, const char *text)
{
    mcp_doc *doc = NULL;
    int r;

    r = content_read(file, folder, &doc);
    if (r == MCP_E_SYNTAX && text)
        r = mcpi_disk_set_aside(&file->disk, folder, DAMAGED);
    if (r < 0)
        return r;
    if (text || mcp_json_get(mcp_doc_root(doc), key))
        r = content_write(file, folder, mcp_doc_root(doc), key, text);
    mcp_doc_free(doc);
    return r;
}

/* ---- the interface ---------------------------------------------------------------- */

static int
file_load(void *self, const char *key, char **ret_text)
{
    struct file *file = self;
    char *text = NULL;
    mcp_doc *doc = NULL;
    const char *found;
    int folder = -1, r;

    r = mcpi_keep_check(key, NULL);
    if (r == 0)
        r = mcpi_disk_enter(&file->disk, &folder, NULL);
    if (r < 0)
        return r;
    r = content_read(file, folder, &doc);
    (void)close(folder);
    if (r < 0)
        return r;
    found = mcp_json_string(mcp_json_get(mcp_doc_root(doc), key), NULL);
    if (found)
        r = mcpi_keep_give(found, &text);
    mcp_doc_free(doc);
    if (r == 0)
        *ret_text = text;
    return r;
}

static int
file_save(void *self, const char *key, const char *text)
{
    struct file *file = self;
    int folder = -1, lock = -1, r;

    r = mcpi_keep_check(key, text);
    if (r == 0)
        r = mcpi_disk_enter(&file->disk, &folder, NULL);
    if (r < 0)
        return r;
    r = mcpi_keep_lock_file(&file->disk, folder, &lock, NULL);
    if (r == 0) {
        r = content_change(file, folder, key, text);
        mcpi_keep_unlock(lock);
    }
    (void)close(folder);
    return r;
}

static int
file_lock(void *self, const char *key)
{
    struct file *file = self;
    struct held *held;
    int folder = -1, r;
    size_t size;

    r = mcpi_keep_check(key, NULL);
    if (r < 0)
        return r;
    size = strlen(key) + 1;
    held = mcpi_alloc(file->mem, sizeof(*held) + size);
    if (!held)
        return MCP_E_NOMEM;
    memcpy(held->key, key, size);
    r = mcpi_disk_enter(&file->disk, &folder, NULL);
    if (r == 0) {
        r = mcpi_keep_lock_key(&file->disk, folder, key, &held->lock);
        (void)close(folder);
    }
    if (r < 0) {
        mcpi_free(file->mem, held);
        return r;
    }
    pthread_mutex_lock(&file->lock);
    mcpi_list_append(&file->held, &held->node);
    pthread_mutex_unlock(&file->lock);
    return 0;
}

/* Out of the list; NULL: there is none. */
static struct held *
file_take_held(struct file *file, const char *key)
{
    struct mcpi_list *node;
    struct held *held = NULL;

    pthread_mutex_lock(&file->lock);
    for (node = file->held.next; node != &file->held && !held; node = node->next) {
        held = MCPI_CONTAINER(node, struct held, node);
        if (strcmp(held->key, key) != 0)
            held = NULL;
    }
    if (held)
        mcpi_list_remove(&held->node);
    pthread_mutex_unlock(&file->lock);
    return held;
}

static void
held_release(struct file *file, struct held *held)
{
    mcpi_keep_unlock(held->lock);
    mcpi_free(file->mem, held);
}

static void
file_unlock(void *self, const char *key)
{
    struct file *file = self;
    struct held *held = key ? file_take_held(file, key) : NULL;

    if (held)
        held_release(file, held);
}

/* ---- making and freeing ------------------------------------------------------------- */

static void
file_free(struct mcp_token_keep *keep)
{
    struct file *file = MCPI_CONTAINER(keep, struct file, keep);
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&file->held)) != NULL)
        held_release(file, MCPI_CONTAINER(node, struct held, node));
    mcpi_disk_done(&file->disk);
    pthread_mutex_destroy(&file->lock);
    mcpi_free(file->mem, file);
}

static int
file_new(const mcp_allocator *mem, const char *path, struct file **ret_file,
         mcp_error *err)
{
    struct file *file = mcpi_alloc_zero(mem, sizeof(*file));
    int r;

    if (!file)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    r = mcpi_disk_init(&file->disk, mem, path, err);
    if (r == 0 && pthread_mutex_init(&file->lock, NULL) != 0) {
        mcpi_disk_done(&file->disk);
        r = mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    }
    if (r < 0) {
        mcpi_free(mem, file);
        return r;
    }
    file->mem = mem;
    file->keep.free = file_free;
    file->keep.interface = MCP_TOKEN_STORE(.load = file_load, .save = file_save,
                                           .lock = file_lock, .unlock = file_unlock,
                                           .self = file);
    mcpi_wipe_init(&file->secrets, mem);
    mcpi_list_init(&file->held);
    *ret_file = file;
    return 0;
}

/* Better said at the start than when the first token comes: can we read and write there,
 * and nobody else? */
static int
file_check(const struct file *file, mcp_error *err)
{
    int folder = -1, fd = -1, r;

    r = mcpi_disk_enter(&file->disk, &folder, err);
    if (r < 0)
        return r;
    r = mcpi_disk_open(&file->disk, folder, "", O_RDWR, &fd, err);
    if (r > 0)
        (void)close(fd);
    if (r >= 0)
        r = mcpi_keep_lock_file(&file->disk, folder, &fd, err);
    if (r == 0)
        mcpi_keep_unlock(fd);
    (void)close(folder);
    return r;
}

int
mcp_token_keep_file(const mcp_allocator *allocator, const char *path,
                    mcp_token_keep **ret_keep, mcp_error *err)
{
    struct file *file = NULL;
    int r;

    if (!path || !ret_keep)
        return mcpi_error_set(err, MCP_E_INVAL, "no file to keep tokens in");
    r = file_new(mcpi_mem_or_malloc(allocator), path, &file, err);
    if (r < 0)
        return r;
    r = file_check(file, err);
    if (r < 0) {
        file_free(&file->keep);
        return r;
    }
    *ret_keep = &file->keep;
    return 0;
}
