/* json/schema_suite_test.c - JSON-Schema-Test-Suite for 2020-12, a case for each file */
#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "json/schema_fixture.h"

#define ROOT "json-schema-2020-12"
#define FILES_MAX 200
#define FILES_LEAST 46 /* what the suite had when this was written */

static mcp_schema_set *documents;

static mcp_doc *
doc_of_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    mcp_doc *doc = NULL;
    char *text;
    long size;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    fclose(file);
    if (mcp_doc_parse(text, (size_t)size, NULL, &doc, NULL) < 0)
        fail_msg("%s is not JSON", path);
    free(text);
    return doc;
}

/* Register all files below a folder as <uri>/<name>; uri NULL: by their own $id. */
static void
register_folder(const char *folder, const char *uri)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        char path[PATH_MAX], name[PATH_MAX];
        struct stat st;
        mcp_doc *doc;

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%.2000s/%.255s", folder, entry->d_name);
        snprintf(name, sizeof name, "%.2000s/%.255s", uri ? uri : "", entry->d_name);
        assert_int_equal(stat(path, &st), 0);
        if (S_ISDIR(st.st_mode)) {
            register_folder(path, uri ? name : NULL);
            continue;
        }
        doc = doc_of_file(path);
        assert_int_equal(mcp_schema_set_add(documents, uri ? name : NULL, doc, NULL),
                         0);
        mcp_doc_free(doc);
    }
    closedir(dir);
}

static void
register_documents(void)
{
    char folder[PATH_MAX];

    if (documents)
        return;
    snprintf(folder, sizeof folder, "%s", test_data(ROOT "/remotes"));
    documents = mcp_schema_set_new(NULL);
    assert_non_null(documents);
    register_folder(folder, "http://localhost:1234");
    snprintf(folder, sizeof folder, "%s", test_data(ROOT "/metaschema"));
    register_folder(folder, NULL);
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

static void
check_group(const mcp_json *group)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = documents);
    mcp_schema *schema = NULL;
    mcp_json_iterator it;
    mcp_error err = {0};

    if (mcp_schema_compile(mcp_json_get(group, "schema"), &opt, &schema, &err) < 0)
        fail_msg("%s: %s", text_of(group, "description"), err.message);
    for (it = mcp_json_each(mcp_json_get(group, "tests")); mcp_json_next(&it);)
        check_one(schema, group, it.value);
    mcp_schema_free(schema);
}

static void
file_passes(void **state)
{
    char path[PATH_MAX], name[512];
    mcp_json_iterator it;
    mcp_doc *doc;

    register_documents();
    snprintf(name, sizeof name, ROOT "/tests/draft2020-12/%s", strchr(*state, '.') + 1);
    snprintf(path, sizeof path, "%s", test_data(name));
    doc = doc_of_file(path);
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);)
        check_group(it.value);
    mcp_doc_free(doc);
}

static void
documents_are_freed(void **state)
{
    (void)state;
    mcp_schema_set_free(documents);
    documents = NULL;
}

static void
suite_is_there_and_whole(void **state)
{
    (void)state;
    (void)test_data(ROOT "/tests/draft2020-12");
    fail_msg("fewer files than the suite has");
}

static size_t
files_list(struct test_case *cases, size_t room)
{
    static char names[FILES_MAX][300];
    const char *root = getenv("MCP_TEST_DATA");
    struct dirent *entry;
    char folder[PATH_MAX];
    size_t count = 0;
    DIR *dir;

    snprintf(folder, sizeof folder, "%s/" ROOT "/tests/draft2020-12", root ? root : "");
    dir = root ? opendir(folder) : NULL;
    for (entry = dir ? readdir(dir) : NULL; entry && count < room;
         entry = readdir(dir)) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        snprintf(names[count], sizeof names[count], "suite.%.255s", entry->d_name);
        cases[count] = (struct test_case){names[count], file_passes, names[count]};
        count++;
    }
    if (dir)
        closedir(dir);
    return count;
}

int
main(void)
{
    static struct test_case cases[FILES_MAX + 2];
    size_t count = files_list(cases, FILES_MAX);

    if (count < FILES_LEAST)
        cases[count++] = (struct test_case)TEST(suite_is_there_and_whole);
    cases[count++] = (struct test_case)TEST(documents_are_freed);
    return test_main(__FILE__, cases, count);
}
