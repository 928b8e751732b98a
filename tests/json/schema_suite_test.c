/*
 * json/schema_suite_test.c - JSON-Schema-Test-Suite, a case for each file of each folder
 *
 * The suite is the one that scripts/test-data has fetched. Where MCP_TEST_DATA has one as
 * well, for 2020-12, a case runs the file of both; each has its own documents that tests
 * refer to.
 */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "support/data.h"
#include "json/schema_fixture.h"

#define FILES_MAX 300

typedef const char *find_fn(const char *name);

/* Where a suite comes from, and the documents that it refers to, once registered. */
static struct source {
    find_fn *find;
    const char *root;
    size_t folders; /* how many of those below it has */
    mcp_schema_set *documents;
} sources[] = {{data_fetched, "json-schema", 5, NULL},
               {data_published, "json-schema-2020-12", 1, NULL}};

enum { SOURCES = sizeof sources / sizeof sources[0] };

/* Folders of the suite: the dialects, and the formats, which are optional. */
static const struct folder {
    const char *name; /* begins that of each case */
    const char *path;
    const char *dialect; /* of schemas that do not say theirs, or NULL: they do */
    bool formats;        /* are to be asserted */
    size_t files;        /* how many there were when this was written */
} folders[] = {
    {"draft2020-12", "tests/draft2020-12", NULL, false, 46},
    {"draft2019-09", "tests/draft2019-09", NULL, false, 46},
    {"draft7", "tests/draft7", "http://json-schema.org/draft-07/schema#", false, 37},
    {"draft6", "tests/draft6", "http://json-schema.org/draft-06/schema#", false, 36},
    {"formats", "tests/draft2020-12/optional/format", NULL, true, 19},
};

enum { FOLDERS = sizeof folders / sizeof folders[0] };

/* What needs the tables of IDNA 2008, which the library does not have: idn-hostname is
 * a remark, and what a label of a hostname means in Unicode is not looked at. */
static const char *const left_out[] = {
    "validation of internationalized host names",
    "validation of separators in internationalized host names",
    "validation of A-label (punycode) host names",
};

/* The path of a name below a source's root, or NULL. */
static const char *
source_find(const struct source *source, const char *name)
{
    char path[600];

    snprintf(path, sizeof path, "%s/%s", source->root, name);
    return source->find(path);
}

static void
register_file(mcp_schema_set *documents, const char *path, const char *uri)
{
    mcp_doc *doc = data_read(path);

    if (!doc)
        fail_msg("%s is not JSON", path);
    assert_int_equal(mcp_schema_set_add(documents, uri, doc, NULL), 0);
    mcp_doc_free(doc);
}

/* Register all files below a folder as <uri>/<name>; uri NULL: by their own $id. */
static void
register_folder(mcp_schema_set *documents, const char *folder, const char *uri)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[PATH_MAX], name[PATH_MAX];
        struct stat st;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%.2000s/%.255s", folder, entry->d_name);
        snprintf(name, sizeof name, "%.2000s/%.255s", uri ? uri : "", entry->d_name);
        assert_int_equal(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode))
            register_folder(documents, path, uri ? name : NULL);
        else
            register_file(documents, path, uri ? name : NULL);
    }
    closedir(dir);
}

/* Ours: each of the array by its $id. */
static void
register_own_metaschema(mcp_schema_set *documents)
{
    mcp_doc *all = data_read(data_own("metaschema.json")), *one;
    mcp_json_iterator it;
    char *text;

    assert_non_null(all);
    for (it = mcp_json_each(mcp_doc_root(all)); mcp_json_next(&it);) {
        assert_int_equal(mcp_json_print(it.value, false, NULL, &text, NULL), 0);
        assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &one, NULL), 0);
        assert_int_equal(mcp_schema_set_add(documents, NULL, one, NULL), 0);
        mcp_doc_free(one);
        mcp_text_free(text, NULL);
    }
    mcp_doc_free(all);
}

static void
register_documents(struct source *source)
{
    char folder[PATH_MAX];

    if (source->documents)
        return;
    source->documents = mcp_schema_set_new(NULL);
    assert_non_null(source->documents);
    snprintf(folder, sizeof folder, "%s", source_find(source, "remotes"));
    register_folder(source->documents, folder, "http://localhost:1234");
    if (source->find == data_fetched) { /* which has no metaschema */
        register_own_metaschema(source->documents);
        return;
    }
    snprintf(folder, sizeof folder, "%s", source_find(source, "metaschema"));
    register_folder(source->documents, folder, NULL);
}

static const char *
text_of(const mcp_json *object, const char *key)
{
    return mcp_json_string(mcp_json_get(object, key), "?");
}

static void
check_one(const mcp_schema *schema, const mcp_json *group, const mcp_json *test)
{
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    bool valid = mcp_json_bool(mcp_json_get(test, "valid"), false);
    mcp_error err = {0};
    int r = mcp_schema_check(schema, mcp_json_get(test, "data"), report, &err);

    if (r != (valid ? 0 : MCP_E_INVAL))
        fail_msg("%s / %s: %d %s", text_of(group, "description"),
                 text_of(test, "description"), r, err.message);
    assert_int_equal(mcp_schema_report_count(report) == 0, valid);
    mcp_schema_report_free(report);
}

static bool
is_left_out(const mcp_json *group)
{
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++) {
        if (strcmp(text_of(group, "description"), left_out[i]) == 0)
            return true;
    }
    return false;
}

/* A schema that does not say its dialect, saying it. */
static mcp_doc *
declared(const mcp_json *schema, const char *uri)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_json_iterator it;
    mcp_doc *doc = NULL;

    if (mcp_json_get_type(schema) != MCP_JSON_OBJECT) {
        mcp_builder_value(b, NULL, schema);
    } else {
        mcp_builder_begin_object(b, NULL);
        if (uri && !mcp_json_get(schema, "$schema"))
            mcp_builder_string(b, "$schema", uri);
        for (it = mcp_json_each(schema); mcp_json_next(&it);)
            mcp_builder_value(b, mcp_json_string(it.key, ""), it.value);
        mcp_builder_end(b);
    }
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    mcp_builder_free(b);
    return doc;
}

static void
check_group(const struct source *source, const struct folder *folder,
            const mcp_json *group)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(
            .set = source->documents, .assert_formats = folder->formats);
    mcp_doc *doc = declared(mcp_json_get(group, "schema"), folder->dialect);
    mcp_schema *schema = NULL;
    mcp_json_iterator it;
    mcp_error err = {0};

    if (mcp_schema_compile(mcp_doc_root(doc), &opt, &schema, &err) < 0)
        fail_msg("%s: %s", text_of(group, "description"), err.message);
    mcp_doc_free(doc);
    for (it = mcp_json_each(mcp_json_get(group, "tests")); mcp_json_next(&it);)
        check_one(schema, group, it.value);
    mcp_schema_free(schema);
}

/* False if the source does not have the file. */
static bool
passes_in(struct source *source, const struct folder *folder, const char *file)
{
    char name[512];
    const char *path;
    mcp_json_iterator it;
    mcp_doc *doc;

    snprintf(name, sizeof name, "%s/%s", folder->path, file);
    path = source_find(source, name);
    doc = path ? data_read(path) : NULL;
    if (!doc)
        return false;
    register_documents(source);
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);) {
        if (!is_left_out(it.value))
            check_group(source, folder, it.value);
    }
    mcp_doc_free(doc);
    return true;
}

/* The case is called "folder.file.json". */
static void
file_passes(void **state)
{
    const char *file = strchr(*state, '.') + 1;
    size_t len = (size_t)(file - (const char *)*state) - 1;
    bool found = false;

    for (size_t i = 0; i < FOLDERS; i++) {
        if (strlen(folders[i].name) != len ||
            strncmp(folders[i].name, *state, len) != 0)
            continue;
        for (size_t j = 0; j < SOURCES; j++)
            found |= passes_in(&sources[j], &folders[i], file);
    }
    assert_true(found);
}

static void
documents_are_freed(void **state)
{
    (void)state;
    for (size_t i = 0; i < SOURCES; i++) {
        mcp_schema_set_free(sources[i].documents);
        sources[i].documents = NULL;
    }
}

static void
suite_is_there_and_whole(void **state)
{
    (void)state;
    if (!source_find(&sources[0], "tests"))
        test_skip(
            "build/test-data has no JSON Schema Test Suite: run scripts/test-data");
    fail_msg("fewer files than the suite has");
}

struct list {
    struct test_case *cases;
    size_t count;
};

static void
list_add(struct list *list, const char *folder, const char *file)
{
    static char names[FILES_MAX][300];
    char *name = names[list->count];

    if (list->count == FILES_MAX)
        return;
    snprintf(name, sizeof names[0], "%.30s.%.255s", folder, file);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->cases[i].name, name) == 0)
            return;
    }
    list->cases[list->count++] = (struct test_case){name, file_passes, name};
}

/* Adds a case for each file of a folder; false if there are fewer than there were. */
static bool
list_files(struct list *list, const struct source *source, const struct folder *folder)
{
    const char *path = source_find(source, folder->path);
    DIR *dir = path ? opendir(path) : NULL;
    struct dirent *entry;
    size_t count = 0;

    for (entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        list_add(list, folder->name, entry->d_name);
        count++;
    }
    if (dir)
        closedir(dir);
    return count >= folder->files;
}

static bool
list_source(struct list *list, const struct source *source)
{
    bool whole = true;

    for (size_t i = 0; i < source->folders; i++)
        whole &= list_files(list, source, &folders[i]);
    return whole;
}

int
main(void)
{
    static struct test_case cases[FILES_MAX + 2];
    struct list list = {cases, 0};
    bool whole = list_source(&list, &sources[0]);

    if (data_published(""))
        whole &= list_source(&list, &sources[1]);
    if (!whole)
        cases[list.count++] = (struct test_case)TEST(suite_is_there_and_whole);
    cases[list.count++] = (struct test_case)TEST(documents_are_freed);
    return test_main(__FILE__, cases, list.count);
}
