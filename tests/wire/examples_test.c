/* examples_test.c - every published example message is read and written back */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rebuild.h"
#include "support/test.h"
#include "wire/meta.h"
#include "wire/rpc.h"
#include "json/value.h"

#define EXAMPLES "mcp-schema/2026-07-28-examples"

struct example {
    char name[600]; /* folder/file */
    const char *folder;
    mcp_doc *doc;
};

typedef void example_fn(struct example *example, size_t *count);

static mcp_doc *
parse(const char *text, size_t len)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_doc_parse(text, len, NULL, &doc, NULL), 0);
    return doc;
}

static mcp_doc *
parse_file(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t len;

    assert_non_null(file);
    len = fread(text, 1, sizeof text, file);
    fclose(file);
    assert_in_range(len, 1, sizeof text - 1);
    return parse(text, len);
}

/* Calls fn for each file of one folder. */
static void
each_file(const char *root, const char *folder, example_fn *fn, size_t *count)
{
    struct example example = {.folder = folder};
    struct dirent *entry;
    char path[1200];
    DIR *dir;

    snprintf(path, sizeof path, "%s/%s", root, folder);
    dir = opendir(path);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        snprintf(example.name, sizeof example.name, "%.250s/%.250s", folder,
                 entry->d_name);
        snprintf(path, sizeof path, "%s/%s", root, example.name);
        example.doc = parse_file(path);
        fn(&example, count);
        mcp_doc_free(example.doc);
    }
    closedir(dir);
}

/* Calls fn for each example; fn counts those it is about. */
static size_t
each_example(example_fn *fn)
{
    const char *root = test_data(EXAMPLES);
    struct dirent *entry;
    size_t count = 0;
    DIR *dir = opendir(root);

    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.')
            each_file(root, entry->d_name, fn, &count);
    }
    closedir(dir);
    return count;
}

static bool
ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* What a whole message of that folder is; INVALID: the folder holds parts of
 * messages. */
static enum mcpi_rpc_kind
kind_of(const struct example *example)
{
    if (!mcp_json_get(mcp_doc_root(example->doc), "jsonrpc"))
        return MCPI_RPC_INVALID;
    if (ends_with(example->folder, "Request"))
        return MCPI_RPC_REQUEST;
    if (ends_with(example->folder, "Notification"))
        return MCPI_RPC_NOTIFICATION;
    if (ends_with(example->folder, "ResultResponse"))
        return MCPI_RPC_RESULT;
    return ends_with(example->folder, "Error") ? MCPI_RPC_ERROR : MCPI_RPC_INVALID;
}

static void
reprint(struct example *example, size_t *count)
{
    struct mcpi_buf buf;
    mcp_doc *again;

    mcpi_buf_init(&buf, NULL, 1 << 20);
    mcpi_json_write(&buf, mcp_doc_root(example->doc));
    assert_int_equal(buf.status, 0);
    assert_null(memchr(buf.data, '\n', buf.len));
    again = parse(buf.data, buf.len);
    if (!mcp_json_equal(mcp_doc_root(example->doc), mcp_doc_root(again)))
        fail_msg("%s: %.*s", example->name, (int)buf.len, buf.data);
    mcp_doc_free(again);
    mcpi_buf_done(&buf);
    (*count)++;
}

static void
classify(struct example *example, size_t *count)
{
    enum mcpi_rpc_kind kind = kind_of(example);
    struct mcpi_meta meta;
    const char *fault = "";
    struct mcpi_rpc rpc;

    mcpi_rpc_read(mcp_doc_root(example->doc), &rpc);
    if (rpc.kind != kind)
        fail_msg("%s: %d, expected %d", example->name, (int)rpc.kind, (int)kind);
    if (kind == MCPI_RPC_INVALID)
        return;
    (*count)++;
    if (rpc.method_name && rpc.method == MCPI_METHOD_OTHER)
        fail_msg("%s: unknown method %s", example->name, rpc.method_name);
    if (mcpi_meta_read(rpc.params, &meta, &fault) != 0)
        fail_msg("%s: %s", example->name, fault);
    if (kind == MCPI_RPC_REQUEST && (!meta.version || !meta.client_capabilities))
        fail_msg("%s: no version or capabilities read", example->name);
}

static void
write_back(struct example *example, size_t *count)
{
    struct mcpi_rpc rpc;
    struct mcpi_buf buf;
    mcp_doc *again;

    mcpi_rpc_read(mcp_doc_root(example->doc), &rpc);
    if (rpc.kind == MCPI_RPC_INVALID)
        return;
    mcpi_buf_init(&buf, NULL, 1 << 20);
    rebuild(&buf, &rpc);
    assert_int_equal(buf.status, 0);
    again = parse(buf.data, buf.len);
    if (!mcp_json_equal(mcp_doc_root(example->doc), mcp_doc_root(again)))
        fail_msg("%s: %.*s", example->name, (int)buf.len, buf.data);
    mcp_doc_free(again);
    mcpi_buf_done(&buf);
    (*count)++;
}

static void
every_example_prints_equal(void **state)
{
    (void)state;
    assert_true(each_example(reprint) >= 100);
}

static void
every_whole_message_is_what_its_folder_says(void **state)
{
    (void)state;
    assert_true(each_example(classify) >= 30);
}

static void
every_whole_message_is_written_back_equal(void **state)
{
    (void)state;
    assert_true(each_example(write_back) >= 30);
}

TEST_MAIN(TEST(every_example_prints_equal),
          TEST(every_whole_message_is_what_its_folder_says),
          TEST(every_whole_message_is_written_back_equal))
