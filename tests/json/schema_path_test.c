/* json/schema_path_test.c - proves json/schema_path.c */
#include "json/schema.h"
#include "json/schema_fixture.h"

static const char
    *const text = "{'a':[1,{'b/c':{'d~e':2}},[]],'':{'':3},'f':{'g':4},'01':5}";

static void
path_leads_back_to_its_value(const yyjson_val *root, const yyjson_val *value,
                             const char *path)
{
    struct mcpi_buf buf;
    uint64_t walked = 0;

    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_schema_path(&buf, root, value);
    assert_int_equal(buf.len, strlen(path));
    if (buf.len > 0)
        assert_memory_equal(buf.data, path, buf.len);
    assert_ptr_equal(mcpi_schema_path_find(root, path, strlen(path), &walked), value);
    mcpi_buf_done(&buf);
}

static void
each_value_has_its_path(void **state)
{
    static const char *const paths[] = {
        "",     "/a", "/a/0", "/a/1", "/a/1/b~1c", "/a/1/b~1c/d~0e",
        "/a/2", "/",  "//",   "/f",   "/f/g",      "/01"};
    mcp_doc *doc = doc_of(text);
    const yyjson_val *root = mcpi_yy(mcp_doc_root(doc));
    uint64_t walked = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const yyjson_val *value = mcpi_schema_path_find(root, paths[i],
                                                        strlen(paths[i]), &walked);

        assert_non_null(value);
        path_leads_back_to_its_value(root, value, paths[i]);
    }
    mcp_doc_free(doc);
}

static void
key_has_the_path_of_its_object(void **state)
{
    mcp_doc *doc = doc_of(text);
    const yyjson_val *root = mcpi_yy(mcp_doc_root(doc));
    struct mcpi_buf buf;
    uint64_t walked = 0;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    mcpi_schema_path(&buf, root, mcpi_schema_path_find(root, "/f/g", 4, &walked) - 1);
    assert_int_equal(walked, 4); /* a, "", f; g */
    assert_int_equal(buf.len, 2);
    assert_memory_equal(buf.data, "/f", 2);
    mcpi_buf_done(&buf);
    mcp_doc_free(doc);
}

static void
paths_to_nowhere_find_nothing(void **state)
{
    static const char *const paths[] = {
        "a",    "/b",    "/a/3", "/a/-", "/a/00", "/a/0/0",
        "/a/x", "/f/g/", "/a/",  "/a~",  "/a~2",  "/a/99999999999999999999"};
    mcp_doc *doc = doc_of(text);
    uint64_t walked = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_null(mcpi_schema_path_find(mcpi_yy(mcp_doc_root(doc)), paths[i],
                                          strlen(paths[i]), &walked));
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(each_value_has_its_path), TEST(key_has_the_path_of_its_object),
          TEST(paths_to_nowhere_find_nothing))
