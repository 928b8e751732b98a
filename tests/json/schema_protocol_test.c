/* json/schema_protocol_test.c - the protocol's own schemas compile, its examples conform */
#include <dirent.h>
#include <limits.h>

#include "json/schema_fixture.h"

#define EXAMPLES "mcp-schema/2026-07-28-examples"

static mcp_doc *
doc_of_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(1 << 20);
    mcp_doc *doc = NULL;
    size_t len;

    assert_non_null(file);
    assert_non_null(text);
    len = fread(text, 1, 1 << 20, file);
    fclose(file);
    assert_int_equal(mcp_doc_parse(text, len, NULL, &doc, NULL), 0);
    free(text);
    return doc;
}

static void
schema_of_each_revision_compiles(void **state)
{
    static const char *const names[] = {
        "mcp-schema/2025-03-26.json", "mcp-schema/2025-06-18.json",
        "mcp-schema/2025-11-25.json", "mcp-schema/2026-07-28.json"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        mcp_doc *doc = doc_of_file(test_data(names[i]));
        mcp_schema *schema = NULL;
        mcp_error err;

        if (mcp_schema_compile(mcp_doc_root(doc), NULL, &schema, &err) < 0)
            fail_msg("%s: %s", names[i], err.message);
        mcp_schema_free(schema);
        mcp_doc_free(doc);
    }
}

static void
file_conforms(const mcp_schema *schema, const char *path)
{
    mcp_doc *doc = doc_of_file(path);
    mcp_error err = {0};

    if (mcp_schema_check(schema, mcp_doc_root(doc), NULL, &err) < 0)
        fail_msg("%s: %s", path, err.message);
    mcp_doc_free(doc);
}

/* The examples of one type, which the folder is named by. */
static size_t
folder_conforms(const char *root, const char *type, const mcp_schema_set *set)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set,
                                                      .assert_formats = true);
    char text[400], path[PATH_MAX];
    struct dirent *entry;
    mcp_schema *schema;
    size_t count = 0;
    DIR *dir;

    snprintf(text, sizeof text, "{'$ref':'urn:mcp#/$defs/%.200s'}", type);
    schema = schema_with(text, &opt);
    snprintf(path, sizeof path, "%.2000s/%.255s", root, type);
    dir = opendir(path);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (!strstr(entry->d_name, ".json"))
            continue;
        snprintf(path, sizeof path, "%.2000s/%.255s/%.255s", root, type, entry->d_name);
        file_conforms(schema, path);
        count++;
    }
    closedir(dir);
    mcp_schema_free(schema);
    return count;
}

static void
every_published_example_conforms_to_its_type(void **state)
{
    mcp_doc *protocol = doc_of_file(test_data("mcp-schema/2026-07-28.json"));
    const char *root = test_data(EXAMPLES);
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    struct dirent *entry;
    size_t count = 0;
    DIR *dir = opendir(root);

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "urn:mcp", protocol, NULL), 0);
    mcp_doc_free(protocol);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] != '.')
            count += folder_conforms(root, entry->d_name, set);
    }
    closedir(dir);
    assert_true(count >= 100);
    mcp_schema_set_free(set);
}

static void
message_of_another_type_does_not_conform(void **state)
{
    mcp_doc *protocol = doc_of_file(test_data("mcp-schema/2026-07-28.json"));
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);
    static const struct {
        const char *type, *value, *message;
    } rows[] = {
        {"{'$ref':'urn:mcp#/$defs/Tool'}", "{'name':1}",
         "/name must be a string, not an integer"},
        {"{'$ref':'urn:mcp#/$defs/CallToolResult'}",
         "{'resultType':'complete','content':'hi'}",
         "/content must be an array, not a string"},
        {"{'$ref':'urn:mcp#/$defs/CallToolResult'}", "{'resultType':'complete'}",
         "content"},
        {"{'$ref':'urn:mcp#/$defs/CallToolResult'}",
         "{'resultType':'complete','content':[{'type':'text'}]}", "/content/0"},
    };

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "urn:mcp", protocol, NULL), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_schema *schema = schema_with(rows[i].type, &opt);
        mcp_error err = {0};

        assert_int_equal(check_text(schema, rows[i].value, NULL, &err), MCP_E_INVAL);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s", rows[i].value, err.message);
        mcp_schema_free(schema);
    }
    mcp_doc_free(protocol);
    mcp_schema_set_free(set);
}

/* The schemas that the published elicitation requests ask for are forms. */
static void
published_forms_are_forms(void **state)
{
    const char *root = test_data(EXAMPLES "/ElicitRequestFormParams");
    struct dirent *entry;
    char path[PATH_MAX];
    size_t count = 0;
    DIR *dir = opendir(root);

    (void)state;
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir)) {
        mcp_error err = {0};
        mcp_doc *doc;

        if (!strstr(entry->d_name, ".json"))
            continue;
        snprintf(path, sizeof path, "%.2000s/%.255s", root, entry->d_name);
        doc = doc_of_file(path);
        if (mcp_schema_check_form(mcp_json_get(mcp_doc_root(doc), "requestedSchema"),
                                  &err) < 0)
            fail_msg("%s: %s", path, err.message);
        mcp_doc_free(doc);
        count++;
    }
    closedir(dir);
    assert_true(count > 0);
}

TEST_MAIN(TEST(schema_of_each_revision_compiles),
          TEST(every_published_example_conforms_to_its_type),
          TEST(message_of_another_type_does_not_conform),
          TEST(published_forms_are_forms))
