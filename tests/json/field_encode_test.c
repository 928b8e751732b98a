/* json/field_encode_test.c - proves json/field_encode.c: a struct as JSON */
#include <math.h>

#include "json/field_fixture.h"

static void
assert_encoded(const mcp_field *table, const void *from, const char *expected)
{
    mcp_fields *fields = make_ready(table, NULL);
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_error err = {0};

    if (mcp_fields_encode(fields, from, b, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(mcp_builder_text(b, NULL), expected);
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

static void
assert_refused(const struct trip *trip, const char *message)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_error err = {0};

    assert_int_equal(mcp_fields_encode(fields, trip, b, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, message);
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

static void
members_are_written_in_the_order_of_the_table(void **state)
{
    int32_t minutes[] = {0, -1};
    struct stop stop = {
        .name = "n", .at = {1.5, -2}, .minutes = minutes, .minute_count = 2};

    (void)state;
    assert_encoded(stop_fields, &stop,
                   "{\"name\":\"n\",\"at\":{\"x\":1.5,\"y\":-2.0},\"minutes\":[0,-1]}");
}

static void
optional_members_are_left_out_when_not_there(void **state)
{
    struct trip trip = {.title = "a\0b", .title_length = 3, .color = RED};

    (void)state;
    assert_encoded(trip_fields, &trip,
                   "{\"title\":\"a\\u0000b\",\"id\":0,\"seats\":0,\"level\":0,"
                   "\"serial\":0,\"price\":0.0,\"color\":\"red\"}");
}

static void
presence_decides_where_there_is_a_member_for_it(void **state)
{
    struct trip trip = {.title = "", .has_open = true, .has_start = true};

    (void)state;
    trip.serial = UINT64_MAX;
    trip.seats = -1;
    assert_encoded(trip_fields, &trip,
                   "{\"title\":\"\",\"id\":0,\"seats\":-1,\"level\":0,"
                   "\"serial\":18446744073709551615,\"price\":0.0,\"open\":false,"
                   "\"color\":\"blue\",\"start\":{\"x\":0.0,\"y\":0.0}}");
}

static void
required_array_without_items_is_written(void **state)
{
    struct list {
        bool *flags;
        size_t count;
    } list = {0};
    const mcp_field table[] = {
        MCP_FIELD_ARRAY(struct list, flags, count, MCP_BOOL, MCP_REQUIRED, NULL), {0}};

    (void)state;
    assert_encoded(table, &list, "{\"flags\":[]}");
    list.count = 2;
    list.flags = (bool[]){true, false};
    assert_encoded(table, &list, "{\"flags\":[true,false]}");
}

static void
what_has_no_json_is_refused_by_name(void **state)
{
    const char *tags[] = {"a", NULL};
    struct trip trip = {0};

    (void)state;
    assert_refused(&trip, "field 'title': a string that is NULL");
    trip.title = "\xFF";
    trip.title_length = 1;
    assert_refused(&trip, "field 'title': a text that is not UTF-8");
    trip.title = "t";
    trip.price = INFINITY;
    assert_refused(&trip, "field 'price': a number that is not finite");
    trip.price = NAN;
    assert_refused(&trip, "field 'price': a number that is not finite");
    trip.price = 0;
    trip.color = (enum color)3;
    assert_refused(&trip, "field 'color': a value that has no name");
    trip.color = BLUE;
    trip.tag_count = 2;
    assert_refused(&trip, "field 'tags': items that are NULL");
    trip.tags = tags;
    assert_refused(&trip, "field 'tags': a string that is NULL");
}

static void
required_raw_value_must_be_there(void **state)
{
    struct raw {
        const mcp_json *value;
    } raw = {0};
    const mcp_field table[] = {
        MCP_FIELD(struct raw, value, MCP_JSON, MCP_REQUIRED, NULL), {0}};
    mcp_fields *fields = make_ready(table, NULL);
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = parse("[null]");
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_encode(fields, &raw, b, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "field 'value': a value that is NULL");
    raw.value = mcp_doc_root(doc);
    assert_encoded(table, &raw, "{\"value\":[null]}");
    mcp_doc_free(doc);
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

static void
struct_may_be_a_member_of_what_is_open(void **state)
{
    mcp_fields *fields = make_ready(point_fields, NULL);
    mcp_builder *b = mcp_builder_new(NULL);
    struct point point = {1, 2};

    (void)state;
    mcp_builder_begin_object(b, NULL);
    assert_int_equal(mcp_fields_encode(fields, &point, b, "p", NULL), 0);
    mcp_builder_end(b);
    assert_string_equal(mcp_builder_text(b, NULL), "{\"p\":{\"x\":1.0,\"y\":2.0}}");
    assert_int_equal(mcp_fields_encode(fields, &point, b, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_fields_encode(NULL, &point, b, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_fields_encode(fields, NULL, b, NULL, NULL), MCP_E_INVAL);
    mcp_builder_free(b);
    mcp_fields_free(fields);
}

static void
what_was_decoded_is_encoded_the_same(void **state)
{
    static const char text[] =
        "{\"title\":\"t\",\"id\":-5,\"seats\":7,\"level\":9,\"serial\":1,\"price\":1."
        "25,"
        "\"open\":true,\"color\":\"red\",\"start\":{\"x\":1.5,\"y\":-2.5},"
        "\"tags\":[\"x\",\"yz\"],\"colors\":[\"blue\",\"green\"],"
        "\"stops\":[{\"name\":\"n\",\"at\":{\"x\":3.5,\"y\":0.25},\"minutes\":[1]}],"
        "\"extra\":[1,{}],\"code\":\"aa\"}";
    mcp_fields *fields = make_ready(trip_fields, NULL);
    mcp_doc *doc = parse(text);
    mcp_decoded *decoded = NULL;
    struct trip trip;

    (void)state;
    assert_int_equal(
        mcp_fields_decode(fields, doc, mcp_doc_root(doc), &trip, &decoded, NULL), 0);
    assert_encoded(trip_fields, &trip, text);
    mcp_decoded_free(decoded);
    mcp_doc_free(doc);
    mcp_fields_free(fields);
}

static void
encode_flow(struct test_mem *mem, void *user)
{
    struct trip trip = {.title = "t"};
    mcp_builder *b = mcp_builder_new(&mem->allocator);
    mcp_error err = {0};
    int r = mcp_fields_encode(user, &trip, b, NULL, &err);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_builder_free(b);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);

    (void)state;
    assert_true(test_each_allocation_fails(encode_flow, fields) >= 2);
    mcp_fields_free(fields);
}

TEST_MAIN(TEST(members_are_written_in_the_order_of_the_table),
          TEST(optional_members_are_left_out_when_not_there),
          TEST(presence_decides_where_there_is_a_member_for_it),
          TEST(required_array_without_items_is_written),
          TEST(what_has_no_json_is_refused_by_name),
          TEST(required_raw_value_must_be_there),
          TEST(struct_may_be_a_member_of_what_is_open),
          TEST(what_was_decoded_is_encoded_the_same), TEST(each_allocation_may_fail))
