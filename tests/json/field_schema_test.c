/* json/field_schema_test.c - proves json/field_schema.c: the schema of a table */
#include <mcp/schema.h>

#include "json/field_fixture.h"

static void
assert_schema(const mcp_field *table, bool closed, const char *expected)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.closed = closed);
    mcp_fields *fields = make_ready(table, &opt);
    mcp_builder *b = mcp_builder_new(NULL);

    mcp_fields_write_schema(fields, b, NULL);
    assert_int_equal(mcp_builder_status(b), 0);
    assert_string_equal(mcp_builder_text(b, NULL), expected);
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

static void
empty_table_is_an_object_of_anything(void **state)
{
    const mcp_field table[] = {{0}};

    (void)state;
    assert_schema(table, false, "{\"type\":\"object\"}");
    assert_schema(table, true, "{\"type\":\"object\",\"additionalProperties\":false}");
}

static void
nested_structs_and_arrays_are_written(void **state)
{
    (void)state;
    assert_schema(
        stop_fields, true,
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
        "\"at\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"},"
        "\"y\":{\"type\":\"number\",\"default\":0.5}},\"required\":[\"x\"],"
        "\"additionalProperties\":false},"
        "\"minutes\":{\"type\":\"array\",\"items\":{\"type\":\"integer\","
        "\"minimum\":0,\"maximum\":59},\"maxItems\":4}},\"required\":[\"name\"],"
        "\"additionalProperties\":false}");
}

/* One property of the trip's schema. */
static void
assert_property(const char *name, const char *expected)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL, *wanted = parse(expected);
    const mcp_json *found;

    mcp_fields_write_schema(fields, b, NULL);
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    found = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "properties"), name);
    if (!mcp_json_equal(found, mcp_doc_root(wanted)))
        fail_msg("%s: %s", name, mcp_builder_text(b, NULL));
    mcp_doc_free(doc);
    mcp_doc_free(wanted);
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

static void
every_attribute_is_written(void **state)
{
    (void)state;
    assert_property("title",
                    "{\"description\":\"what it is called\",\"type\":\"string\","
                    "\"minLength\":1,\"maxLength\":5}");
    assert_property("price", "{\"type\":\"number\",\"minimum\":0,\"maximum\":99.5}");
    assert_property("open", "{\"type\":\"boolean\",\"default\":true}");
    assert_property("color", "{\"title\":\"Color\",\"type\":\"string\","
                             "\"enum\":[\"red\",\"green\",\"blue\"],"
                             "\"default\":\"green\"}");
    assert_property("tags", "{\"type\":\"array\",\"items\":{\"type\":\"string\","
                            "\"pattern\":\"^[a-z]+$\"},\"maxItems\":3}");
    assert_property("colors", "{\"type\":\"array\",\"items\":{\"type\":\"string\","
                              "\"enum\":[\"red\",\"green\",\"blue\"]},"
                              "\"minItems\":1}");
    assert_property("extra", "{\"description\":\"anything\"}");
}

static void
integers_carry_the_range_of_their_c_type(void **state)
{
    (void)state;
    assert_property("seats", "{\"type\":\"integer\",\"minimum\":-2147483648,"
                             "\"maximum\":2147483647}");
    assert_property("level", "{\"type\":\"integer\",\"minimum\":0,\"maximum\":9,"
                             "\"default\":3}");
    assert_property("serial", "{\"type\":\"integer\",\"minimum\":0}");
}

static void
header_is_written_with_the_safe_range(void **state)
{
    (void)state;
    assert_property("id", "{\"type\":\"integer\",\"minimum\":-9007199254740991,"
                          "\"maximum\":9007199254740991,"
                          "\"x-mcp-header\":\"Trip-Id\"}");
}

static void
schema_is_a_member_of_what_is_open(void **state)
{
    mcp_fields *fields = make_ready(point_fields, NULL);
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_begin_object(b, NULL);
    mcp_fields_write_schema(fields, b, "inputSchema");
    mcp_fields_write_schema(NULL, b, "none");
    mcp_builder_end(b);
    assert_string_equal(mcp_builder_text(b, NULL),
                        "{\"inputSchema\":{\"type\":\"object\",\"properties\":{"
                        "\"x\":{\"type\":\"number\"},"
                        "\"y\":{\"type\":\"number\",\"default\":0.5}},"
                        "\"required\":[\"x\"]}}");
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

/* The written schema, compiled, of the trip. */
static mcp_schema *
compile_trip(const mcp_fields *fields)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_schema *schema = NULL;
    mcp_doc *doc = NULL;
    mcp_error err = {0};

    mcp_fields_write_schema(fields, b, NULL);
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    if (mcp_schema_compile(mcp_doc_root(doc), NULL, &schema, &err) < 0)
        fail_msg("%s", err.message);
    mcp_doc_free(doc);
    mcp_builder_free(b);
    return schema;
}

static void
schema_and_check_agree(void **state)
{
    static const char *const values[] = {
        "{\"title\":\"t\"}",
        "{}",
        "[]",
        "null",
        "{\"title\":null}",
        "{\"title\":\"\"}",
        "{\"title\":\"\u00e4\u00e4\u00e4\u00e4\u00e4\"}",
        "{\"title\":\"abcdef\"}",
        "{\"title\":\"t\",\"id\":9007199254740992}",
        "{\"title\":\"t\",\"id\":-9007199254740991}",
        "{\"title\":\"t\",\"seats\":1.0}",
        "{\"title\":\"t\",\"seats\":1.5}",
        "{\"title\":\"t\",\"seats\":2147483648}",
        "{\"title\":\"t\",\"level\":10}",
        "{\"title\":\"t\",\"serial\":-1}",
        "{\"title\":\"t\",\"price\":99.5}",
        "{\"title\":\"t\",\"price\":99.6}",
        "{\"title\":\"t\",\"price\":-1}",
        "{\"title\":\"t\",\"open\":1}",
        "{\"title\":\"t\",\"color\":\"pink\"}",
        "{\"title\":\"t\",\"color\":\"blue\"}",
        "{\"title\":\"t\",\"start\":{}}",
        "{\"title\":\"t\",\"start\":{\"x\":1}}",
        "{\"title\":\"t\",\"tags\":[\"a\"]}",
        "{\"title\":\"t\",\"tags\":[\"A\"]}",
        "{\"title\":\"t\",\"tags\":[1]}",
        "{\"title\":\"t\",\"tags\":[\"a\",\"b\",\"c\",\"d\"]}",
        "{\"title\":\"t\",\"stops\":[{\"name\":\"n\",\"minutes\":[60]}]}",
        "{\"title\":\"t\",\"stops\":[{\"name\":\"n\",\"minutes\":[59]}]}",
        "{\"title\":\"t\",\"extra\":null}",
        "{\"title\":\"t\",\"code\":\"b\"}",
        "{\"title\":\"t\",\"more\":1}",
        "{\"title\":\"t\",\"start\":{\"x\":1,\"z\":1}}",
    };

    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        mcp_fields_options opt = MCP_FIELDS_OPTIONS(.closed = closed != 0);
        mcp_fields *fields = make_ready(trip_fields, &opt);
        mcp_schema *schema = compile_trip(fields);

        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            mcp_doc *doc = parse(values[i]);
            int by_table = mcp_fields_check(fields, mcp_doc_root(doc), NULL);
            int by_schema = mcp_schema_check(schema, mcp_doc_root(doc), NULL, NULL);

            if ((by_table == 0) != (by_schema == 0))
                fail_msg("%s: %d, by the schema %d", values[i], by_table, by_schema);
            mcp_doc_free(doc);
        }
        mcp_schema_free(schema);
        mcp_fields_free(fields);
    }
}

static void
write(struct test_mem *mem, void *user)
{
    mcp_builder *b = mcp_builder_new(&mem->allocator);

    mcp_fields_write_schema(user, b, NULL);
    assert_int_equal(mcp_builder_status(b),
                     atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcp_builder_free(b);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);

    (void)state;
    assert_true(test_each_allocation_fails(write, fields) >= 3);
    mcp_fields_free(fields);
}

TEST_MAIN(TEST(empty_table_is_an_object_of_anything),
          TEST(nested_structs_and_arrays_are_written), TEST(every_attribute_is_written),
          TEST(integers_carry_the_range_of_their_c_type),
          TEST(header_is_written_with_the_safe_range),
          TEST(schema_is_a_member_of_what_is_open), TEST(schema_and_check_agree),
          TEST(each_allocation_may_fail))
