/* json/builder_test.c - proves json/builder.c: what is written, and what is refused */
#include <math.h>
#include <string.h>

#include "support/test.h"
#include "json/value.h"

static void
assert_built(const mcp_builder *b, const char *expected)
{
    size_t len = 0;

    assert_int_equal(mcp_builder_status(b), 0);
    assert_string_equal(mcp_builder_text(b, &len), expected);
    assert_int_equal(len, strlen(expected));
}

/* The failure is the status; after it the builder has no text, until it is reset. */
static void
assert_failed(mcp_builder *b, int status)
{
    mcp_doc *doc = NULL;

    assert_int_equal(mcp_builder_status(b), status);
    assert_null(mcp_builder_text(b, NULL));
    assert_int_equal(mcp_builder_parse(b, &doc), status);
    assert_null(doc);
    mcp_builder_reset(b);
    mcp_builder_null(b, NULL);
    assert_built(b, "null");
    mcp_builder_reset(b);
}

static void
all_kinds_of_members_are_written(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_null(b, "null");
    mcp_builder_bool(b, "true", true);
    mcp_builder_bool(b, "false", false);
    mcp_builder_int(b, "int", INT64_MIN);
    mcp_builder_uint(b, "uint", UINT64_MAX);
    mcp_builder_real(b, "real", 0.5);
    mcp_builder_string(b, "string", "a\"\n\xC3\xA4/");
    mcp_builder_string_n(b, "n\"", "a\0b", 3);
    mcp_builder_begin_array(b, "array");
    mcp_builder_end(b);
    mcp_builder_begin_object(b, "");
    mcp_builder_end(b);
    mcp_builder_end(b);
    assert_built(
        b, "{\"null\":null,\"true\":true,\"false\":false,"
           "\"int\":-9223372036854775808,\"uint\":18446744073709551615,"
           "\"real\":0.5,\"string\":\"a\\\"\\n\xC3\xA4/\",\"n\\\"\":\"a\\u0000b\","
           "\"array\":[],\"\":{}}");
    mcp_builder_free(b);
}

static void
commas_stand_between_elements_only(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_begin_array(b, NULL);
    mcp_builder_begin_array(b, NULL);
    mcp_builder_int(b, NULL, 1);
    mcp_builder_end(b);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_array(b, "a");
    mcp_builder_end(b);
    mcp_builder_int(b, "b", 2);
    mcp_builder_end(b);
    mcp_builder_int(b, NULL, 3);
    mcp_builder_end(b);
    assert_built(b, "[[1],{\"a\":[],\"b\":2},3]");
    mcp_builder_free(b);
}

static void
status_is_state_until_one_whole_value_stands_there(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;

    (void)state;
    assert_int_equal(mcp_builder_status(b), MCP_E_STATE);
    assert_null(mcp_builder_text(b, NULL));
    mcp_builder_begin_array(b, NULL);
    mcp_builder_int(b, NULL, 1);
    assert_int_equal(mcp_builder_status(b), MCP_E_STATE);
    assert_int_equal(mcp_builder_parse(b, &doc), MCP_E_STATE);
    mcp_builder_end(b);
    assert_built(b, "[1]");
    mcp_builder_free(b);
}

static void
keys_in_the_wrong_place_are_refused(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_int(b, "outermost", 1);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_begin_array(b, NULL);
    mcp_builder_int(b, "in an array", 1);
    mcp_builder_end(b);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_int(b, NULL, 1);
    mcp_builder_end(b);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_begin_array(b, NULL);
    mcp_builder_begin_object(b, "in an array");
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_free(b);
}

static void
second_outermost_value_and_end_of_nothing_are_refused(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_int(b, NULL, 1);
    mcp_builder_int(b, NULL, 2);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_end(b);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_end(b);
    mcp_builder_end(b);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_free(b);
}

static void
values_json_does_not_have_are_refused(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_real(b, NULL, NAN);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_real(b, NULL, -INFINITY);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_string(b, NULL, "\xFF");
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_string(b, NULL, NULL);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_string_n(b, NULL, NULL, 3);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_int(b, "\xC3", 1);
    mcp_builder_end(b);
    assert_failed(b, MCP_E_INVAL);
    mcp_builder_string_n(b, NULL, NULL, 0);
    assert_built(b, "\"\"");
    mcp_builder_free(b);
}

static void
first_failure_sticks(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    for (int i = 0; i < 129; i++)
        mcp_builder_begin_array(b, NULL);
    mcp_builder_real(b, NULL, NAN);
    mcp_builder_end(b);
    assert_failed(b, MCP_E_LIMIT);
    mcp_builder_free(b);
}

static void
nesting_is_limited_exactly(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc;

    (void)state;
    for (int i = 0; i < 128; i++) { /* [{"a":[{"a": and so on */
        if (i % 2)
            mcp_builder_begin_object(b, NULL);
        else
            mcp_builder_begin_array(b, i ? "a" : NULL);
    }
    while (mcp_builder_status(b) == MCP_E_STATE)
        mcp_builder_end(b);
    assert_int_equal(mcp_builder_status(b), 0);
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

static void
values_that_were_read_are_copied(void **state)
{
    const char *text = "{\"a\":[1,2.5,\"x\\u0000\",null]}";
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc, *copy;

    (void)state;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_value(b, "v", mcp_doc_root(doc));
    mcp_builder_value(b, "none", mcp_json_get(mcp_doc_root(doc), "none"));
    mcp_builder_end(b);
    assert_built(b, "{\"v\":{\"a\":[1,2.5,\"x\\u0000\",null]},\"none\":null}");
    assert_int_equal(mcp_builder_parse(b, &copy), 0);
    assert_true(
        mcp_json_equal(mcp_json_get(mcp_doc_root(copy), "v"), mcp_doc_root(doc)));
    assert_int_equal(mcp_builder_parse(b, NULL), MCP_E_INVAL);
    mcp_builder_free(b);
    mcp_doc_free(copy);
    mcp_doc_free(doc);
}

static void
reset_builder_needs_no_new_memory(void **state)
{
    struct test_mem mem;
    mcp_builder *b;

    (void)state;
    test_mem_init(&mem);
    b = mcp_builder_new(&mem.allocator);
    for (int i = 0; i < 10; i++) {
        mcp_builder_reset(b);
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "name", "value");
        mcp_builder_end(b);
        assert_built(b, "{\"name\":\"value\"}");
    }
    assert_int_equal(atomic_load(&mem.total), 2);
    mcp_builder_free(b);
    test_mem_done(&mem);
}

static void
missing_builder_is_out_of_memory(void **state)
{
    mcp_doc *doc = NULL;

    (void)state;
    mcp_builder_begin_object(NULL, NULL);
    mcp_builder_int(NULL, "a", 1);
    mcp_builder_end(NULL);
    assert_int_equal(mcp_builder_status(NULL), MCP_E_NOMEM);
    assert_null(mcp_builder_text(NULL, NULL));
    assert_int_equal(mcp_builder_parse(NULL, &doc), MCP_E_NOMEM);
    mcp_builder_reset(NULL);
    mcp_builder_free(NULL);
}

static void
build_and_parse(struct test_mem *mem, void *user)
{
    mcp_builder *b = mcp_builder_new(&mem->allocator);
    mcp_doc *doc = NULL;
    int r;

    (void)user;
    mcp_builder_begin_array(b, NULL);
    for (int i = 0; i < 40; i++)
        mcp_builder_string(b, NULL, "0123456789");
    mcp_builder_end(b);
    r = mcp_builder_parse(b, &doc);
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    assert_int_equal(mcp_json_count(mcp_doc_root(doc)), r == 0 ? 40 : 0);
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

static void
building_survives_any_failed_allocation(void **state)
{
    (void)state;
    assert_in_range(test_each_allocation_fails(build_and_parse, NULL), 4, 10);
}

TEST_MAIN(TEST(all_kinds_of_members_are_written),
          TEST(commas_stand_between_elements_only),
          TEST(status_is_state_until_one_whole_value_stands_there),
          TEST(keys_in_the_wrong_place_are_refused),
          TEST(second_outermost_value_and_end_of_nothing_are_refused),
          TEST(values_json_does_not_have_are_refused), TEST(first_failure_sticks),
          TEST(nesting_is_limited_exactly), TEST(values_that_were_read_are_copied),
          TEST(reset_builder_needs_no_new_memory),
          TEST(missing_builder_is_out_of_memory),
          TEST(building_survives_any_failed_allocation))
