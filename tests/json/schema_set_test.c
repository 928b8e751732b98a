/* json/schema_set_test.c - proves json/schema_set.c */
#include "json/schema_set.h"

#include "json/schema_fixture.h"

static void
document_is_found_by_its_uri_and_by_its_id(void **state)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = doc_of("{'$id':'http://b/'}");

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "http://a/", doc, NULL), 0);
    assert_ptr_equal(mcpi_schema_set_find(set, "http://a/", 9), doc);
    assert_ptr_equal(mcpi_schema_set_find(set, "http://b/", 9), doc);
    assert_null(mcpi_schema_set_find(set, "http://c/", 9));
    assert_null(mcpi_schema_set_find(NULL, "http://a/", 9));
    mcp_doc_free(doc); /* the set is an owner */
    mcp_schema_set_free(set);
}

static void
document_without_a_name_is_refused(void **state)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = doc_of("{}");
    mcp_error err = {0};

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, NULL, doc, &err), MCP_E_INVAL);
    assert_int_equal(mcp_schema_set_add(set, "a.json", doc, &err), MCP_E_INVAL);
    assert_int_equal(mcp_schema_set_add(set, "http://a/#b", doc, &err), MCP_E_INVAL);
    assert_int_equal(mcp_schema_set_add(set, "", doc, &err), MCP_E_INVAL);
    assert_int_equal(mcp_schema_set_add(set, "http://a/", NULL, &err), MCP_E_INVAL);
    assert_int_equal(mcp_schema_set_add(NULL, "http://a/", doc, &err), MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_int_equal(mcp_schema_set_add(set, "http://a/#", doc, &err), 0);
    assert_ptr_equal(mcpi_schema_set_find(set, "http://a/", 9), doc);
    mcp_doc_free(doc);
    mcp_schema_set_free(set);
    mcp_schema_set_free(NULL);
}

static void
uri_has_one_document(void **state)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = doc_of("{}"), *other = doc_of("true");
    mcp_error err = {0};

    (void)state;
    assert_int_equal(mcp_schema_set_add(set, "urn:a", doc, NULL), 0);
    assert_int_equal(mcp_schema_set_add(set, "urn:a", doc, NULL), 0);
    assert_int_equal(mcp_schema_set_add(set, "urn:a", other, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "urn:a"));
    assert_ptr_equal(mcpi_schema_set_find(set, "urn:a", 5), doc);
    mcp_doc_free(doc);
    mcp_doc_free(other);
    mcp_schema_set_free(set);
}

static void
add_one(struct test_mem *mem, void *user)
{
    mcp_schema_set *set = mcp_schema_set_new(&mem->allocator);

    if (set && mcp_schema_set_add(set, "urn:a", user, NULL) < 0)
        assert_null(mcpi_schema_set_find(set, "urn:a", 5));
    mcp_schema_set_free(set);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = doc_of("{'$id':'urn:b'}");

    (void)state;
    /* the set, an entry for each of the two URIs, and buckets for them */
    assert_int_equal(test_each_allocation_fails(add_one, doc), 4);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(document_is_found_by_its_uri_and_by_its_id),
          TEST(document_without_a_name_is_refused), TEST(uri_has_one_document),
          TEST(each_allocation_may_fail))
