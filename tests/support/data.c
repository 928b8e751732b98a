/* support/data.c - finds and reads the data of tests */
#include "support/data.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/test.h"

#define FILE_MAX ((size_t)1 << 20)

/* What data_each_message is asked for, and how many it has found. */
struct search {
    const char *revision, *type;
    data_message_fn *fn;
    void *user;
    size_t count;
};

static const char *
path_of(const char *root, const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof path, "%.2500s/%.1000s", root, name);
    return path;
}

const char *
data_own(const char *name)
{
    return path_of(TEST_DATA_OWN, name);
}

const char *
data_fetched(const char *name)
{
    const char *path = path_of(TEST_DATA_FETCHED, name);
    struct stat st;

    return stat(path, &st) == 0 ? path : NULL;
}

const char *
data_published(const char *name)
{
    const char *root = getenv("MCP_TEST_DATA");

    return root && *root ? path_of(root, name) : NULL;
}

mcp_doc *
data_read(const char *path)
{
    char *text = malloc(FILE_MAX);
    FILE *file = fopen(path, "rb");
    mcp_doc *doc = NULL;
    size_t len;

    if (text && file) {
        len = fread(text, 1, FILE_MAX, file);
        (void)mcp_doc_parse(text, len, NULL, &doc, NULL);
    }
    if (file)
        fclose(file);
    free(text);
    return doc;
}

static void
found(struct search *search, const char *type, const char *name, const mcp_json *value)
{
    char full[600];
    const struct data_message message = {search->revision, type, full, value};

    snprintf(full, sizeof full, "%.250s/%.250s", type, name);
    search->fn(&message, search->user);
    search->count++;
}

static bool
wants(const struct search *search, const char *type)
{
    return !search->type || strcmp(search->type, type) == 0;
}

/* messages/REVISION.json is {type: {name: message}}. */
static void
each_own(struct search *search)
{
    mcp_json_iterator types, names;
    char file[64];
    mcp_doc *doc;

    snprintf(file, sizeof file, "messages/%s.json", search->revision);
    doc = data_read(data_own(file));
    assert_non_null(doc);
    for (types = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&types);) {
        const char *type = mcp_json_string(types.key, "");

        if (!wants(search, type))
            continue;
        for (names = mcp_json_each(types.value); mcp_json_next(&names);)
            found(search, type, mcp_json_string(names.key, ""), names.value);
    }
    mcp_doc_free(doc);
}

/* One file each, in the folder of its type. */
static void
each_file(struct search *search, const char *root, const char *type)
{
    char folder[PATH_MAX];
    struct dirent *entry;
    mcp_doc *doc;
    DIR *dir;

    snprintf(folder, sizeof folder, "%.2000s/%.255s", root, type);
    dir = opendir(folder);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        doc = data_read(path_of(folder, entry->d_name));
        assert_non_null(doc);
        found(search, type, entry->d_name, mcp_doc_root(doc));
        mcp_doc_free(doc);
    }
    closedir(dir);
}

static void
each_published(struct search *search)
{
    const char *path = data_published("mcp-schema/" DATA_MODERN "-examples");
    struct dirent *entry;
    char root[PATH_MAX];
    DIR *dir;

    if (!path || strcmp(search->revision, DATA_MODERN) != 0)
        return; /* none are published for other revisions */
    snprintf(root, sizeof root, "%.4000s", path);
    dir = opendir(root);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.' && wants(search, entry->d_name))
            each_file(search, root, entry->d_name);
    }
    closedir(dir);
}

size_t
data_each_message(const char *revision, const char *type, data_message_fn *fn,
                  void *user)
{
    struct search search = {revision, type, fn, user, 0};

    each_own(&search);
    each_published(&search);
    return search.count;
}
