/* examples.h - the published example messages, one at a time, and JSON out of parts */
#ifndef TESTS_API_EXAMPLES_H
#define TESTS_API_EXAMPLES_H

#include <dirent.h>
#include <mcp/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define EXAMPLES "mcp-schema/2026-07-28-examples"

struct example {
    char name[600]; /* folder/file */
    mcp_doc *doc;
    const mcp_json *root;
    char *text; /* on one line */
};

/* How the examples of one folder are consumed: feed does it, arg is its own. */
struct way {
    const char *folder;
    void (*feed)(const struct example *example, const char *arg);
    const char *arg;
};

static inline mcp_doc *
parse_text(const char *text)
{
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, strlen(text), NULL, &doc, NULL) < 0)
        fail_msg("not JSON: %s", text);
    return doc;
}

static inline char *
text_of(const mcp_json *value)
{
    char *text = NULL;

    assert_int_equal(mcp_json_print(value, false, NULL, &text, NULL), 0);
    return text;
}

static inline void
expect_equal(const struct example *example, const mcp_json *is, const mcp_json *should)
{
    char *text;

    if (is && mcp_json_equal(is, should))
        return;
    text = is ? text_of(is) : NULL;
    fail_msg("%s: %s", example->name, text ? text : "nothing came");
}

/* A format with one %s, where the text goes; freed by the caller. */
static inline char *MCP_PRINTF(1, 2) fill(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    return text;
}

/* The text with each $ replaced by another one; freed by the caller. */
static inline char *
embed(const char *around, const char *part)
{
    size_t room = strlen(around) + 8 * strlen(part) + 1, len = 0;
    char *text = malloc(room);

    assert_non_null(text);
    for (; *around; around++) {
        if (*around == '$')
            len += (size_t)snprintf(text + len, room - len, "%s", part);
        else
            text[len++] = *around;
    }
    text[len] = '\0';
    return text;
}

static inline void
example_load(struct example *example, const char *root, const char *folder,
             const char *file)
{
    static char text[1 << 20];
    char path[1200];
    size_t len;
    FILE *in;

    snprintf(example->name, sizeof example->name, "%.250s/%.250s", folder, file);
    snprintf(path, sizeof path, "%s/%s", root, example->name);
    in = fopen(path, "rb");
    assert_non_null(in);
    len = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[len] = '\0';
    example->doc = parse_text(text);
    example->root = mcp_doc_root(example->doc);
    example->text = text_of(example->root);
}

/* Feed each example of a folder; returns how many there are. */
static inline size_t
each_example(const struct way *way)
{
    const char *root = test_data(EXAMPLES);
    struct example example;
    struct dirent *entry;
    size_t count = 0;
    char path[1200];
    DIR *dir;

    snprintf(path, sizeof path, "%s/%s", root, way->folder);
    dir = opendir(path);
    if (!dir)
        return 0;
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        example_load(&example, root, way->folder, entry->d_name);
        way->feed(&example, way->arg);
        mcp_text_free(example.text, NULL);
        mcp_doc_free(example.doc);
        count++;
    }
    closedir(dir);
    return count;
}

#endif
