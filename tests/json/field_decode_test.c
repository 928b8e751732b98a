/* json/field_decode_test.c - proves json/field_decode.c: what stands in the struct */
#include <pthread.h>

#include "json/field_fixture.h"

static const char everything[] =
    "{\"title\":\"a\\u0000b\",\"id\":-5,\"seats\":-2147483648,\"level\":9,"
    "\"serial\":18446744073709551615,\"price\":1,\"open\":false,\"color\":\"red\","
    "\"start\":{\"x\":1.5,\"y\":-2},\"tags\":[\"x\",\"yz\"],"
    "\"colors\":[\"blue\",\"green\"],"
    "\"stops\":[{\"name\":\"n\",\"at\":{\"x\":3},\"minutes\":[1,2,3]},"
    "{\"name\":\"m\"}],\"extra\":[1,{}],\"code\":\"aa\",\"unknown\":0}";

/* Decodes into a struct full of noise; the document is not kept here. */
static mcp_decoded *
decode(const char *text, struct trip *trip)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);
    mcp_doc *doc = parse(text);
    mcp_decoded *decoded = NULL;
    mcp_error err;

    memset(trip, 0xA5, sizeof *trip);
    if (mcp_fields_decode(fields, doc, mcp_doc_root(doc), trip, &decoded, &err) < 0)
        fail_msg("%s", err.message);
    mcp_doc_free(doc);
    mcp_fields_free(fields);
    return decoded;
}

static void
every_kind_of_member_is_decoded(void **state)
{
    struct trip trip;
    mcp_decoded *decoded = decode(everything, &trip);

    (void)state;
    assert_int_equal(trip.title_length, 3);
    assert_memory_equal(trip.title, "a\0b", 4);
    assert_int_equal(trip.id, -5);
    assert_int_equal(trip.seats, INT32_MIN);
    assert_int_equal(trip.level, 9);
    assert_true(trip.serial == UINT64_MAX);
    assert_true(trip.price == 1.0);
    assert_true(!trip.is_open && trip.has_open);
    assert_int_equal(trip.color, RED);
    assert_true(trip.has_start && trip.start.x == 1.5 && trip.start.y == -2);
    assert_int_equal(mcp_json_count(trip.extra), 2);
    assert_string_equal(trip.code, "aa");
    mcp_decoded_free(decoded);
}

static void
arrays_are_decoded_into_memory_of_the_owner(void **state)
{
    struct trip trip;
    mcp_decoded *decoded = decode(everything, &trip);

    (void)state;
    assert_int_equal(trip.tag_count, 2);
    assert_string_equal(trip.tags[1], "yz");
    assert_int_equal(trip.color_count, 2);
    assert_int_equal(trip.colors[0], BLUE);
    assert_int_equal(trip.colors[1], GREEN);
    assert_int_equal(trip.stop_count, 2);
    assert_int_equal((uintptr_t)trip.stops % MCPI_FIELD_ALIGN, 0);
    assert_int_equal(trip.stops[0].minute_count, 3);
    assert_int_equal(trip.stops[0].minutes[2], 3);
    assert_true(trip.stops[0].at.x == 3 && trip.stops[0].at.y == 0.5);
    assert_string_equal(trip.stops[1].name, "m");
    assert_null(trip.stops[1].minutes);
    mcp_decoded_free(decoded);
}

static void
absent_members_become_their_default_or_zero(void **state)
{
    struct trip trip;
    mcp_decoded *decoded = decode("{\"title\":\"t\"}", &trip);

    (void)state;
    assert_int_equal(trip.id, 0);
    assert_int_equal(trip.level, 3);
    assert_true(trip.is_open && !trip.has_open);
    assert_int_equal(trip.color, GREEN);
    assert_true(!trip.has_start && trip.start.x == 0 && trip.start.y == 0.5);
    assert_null(trip.tags);
    assert_int_equal(trip.tag_count, 0);
    assert_null(trip.extra);
    assert_string_equal(trip.code, "a");
    mcp_decoded_free(decoded);
}

static void
members_outside_of_the_table_are_left_alone(void **state)
{
    struct trip trip;
    mcp_decoded *decoded = decode("{\"title\":\"t\"}", &trip);

    (void)state;
    assert_int_equal((unsigned)trip.untouched, 0xA5A5A5A5u);
    mcp_decoded_free(decoded);
}

static void
struct_is_untouched_after_failure(void **state)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);
    mcp_doc *doc = parse("{\"title\":\"t\",\"code\":\"b\"}");
    struct trip trip, before;
    mcp_decoded *decoded = NULL;

    (void)state;
    memset(&trip, 0xA5, sizeof trip);
    memset(&before, 0xA5, sizeof before);
    assert_int_equal(
        mcp_fields_decode(fields, doc, mcp_doc_root(doc), &trip, &decoded, NULL),
        MCP_E_INVAL);
    assert_null(decoded);
    assert_memory_equal(&trip, &before, sizeof trip);
    mcp_doc_free(doc);
    mcp_fields_free(fields);
}

static void
document_may_stay_with_the_caller(void **state)
{
    mcp_fields *fields = make_ready(point_fields, NULL);
    mcp_doc *doc = parse("{\"x\":2}");
    mcp_decoded *decoded = NULL;
    struct point point;

    (void)state;
    assert_int_equal(
        mcp_fields_decode(fields, NULL, mcp_doc_root(doc), &point, &decoded, NULL), 0);
    assert_true(point.x == 2);
    mcp_decoded_free(decoded);
    mcp_decoded_free(NULL);
    assert_int_equal(mcp_json_count(mcp_doc_root(doc)), 1);
    mcp_doc_free(doc);
    mcp_fields_free(fields);
}

static void *
decode_often(void *user)
{
    const mcp_fields *fields = user;
    mcp_doc *doc = parse(everything);
    struct trip trip;

    for (int i = 0; i < 200; i++) {
        mcp_decoded *decoded = NULL;
        int r = mcp_fields_decode(fields, doc, mcp_doc_root(doc), &trip, &decoded,
                                  NULL);

        if (r < 0 || trip.tag_count != 2 || strcmp(trip.tags[1], "yz") != 0)
            user = NULL;
        mcp_decoded_free(decoded);
    }
    mcp_doc_free(doc);
    return user;
}

static void
threads_decode_with_one_table(void **state)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);
    pthread_t threads[4];
    void *result;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, decode_often, fields), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, fields);
    }
    mcp_fields_free(fields);
}

static void
arguments_are_checked(void **state)
{
    mcp_fields *fields = make_ready(point_fields, NULL);
    mcp_decoded *decoded = NULL;
    struct point point;

    (void)state;
    assert_int_equal(mcp_fields_decode(NULL, NULL, NULL, &point, &decoded, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_fields_decode(fields, NULL, NULL, NULL, &decoded, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_fields_decode(fields, NULL, NULL, &point, NULL, NULL),
                     MCP_E_INVAL);
    mcp_fields_free(fields);
}

static void
decode_flow(struct test_mem *mem, void *user)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = &mem->allocator);
    mcp_doc *doc = user;
    mcp_fields *fields = NULL;
    mcp_decoded *decoded = NULL;
    struct trip trip;
    int r = mcp_fields_new(trip_fields, &opt, &fields, NULL);

    if (r == 0)
        r = mcp_fields_decode(fields, doc, mcp_doc_root(doc), &trip, &decoded, NULL);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcp_decoded_free(decoded);
    mcp_fields_free(fields);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = parse(everything);

    (void)state;
    assert_true(test_each_allocation_fails(decode_flow, doc) >= 10);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(every_kind_of_member_is_decoded),
          TEST(arrays_are_decoded_into_memory_of_the_owner),
          TEST(absent_members_become_their_default_or_zero),
          TEST(members_outside_of_the_table_are_left_alone),
          TEST(struct_is_untouched_after_failure),
          TEST(document_may_stay_with_the_caller), TEST(threads_decode_with_one_table),
          TEST(arguments_are_checked), TEST(each_allocation_may_fail))
