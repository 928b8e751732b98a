/* json/field_check_test.c - proves json/field_check.c: what fits, and the errors */
#include <stdio.h>
#include <stdlib.h>

#include "json/field_fixture.h"

static int
check_with(const mcp_fields_options *opt, const char *text, mcp_error *err)
{
    mcp_fields *fields = make_ready(trip_fields, opt);
    mcp_doc *doc = parse(text);
    int r = mcp_fields_check(fields, mcp_doc_root(doc), err);

    mcp_doc_free(doc);
    mcp_fields_free(fields);
    return r;
}

static void
assert_fits(const char *text)
{
    mcp_error err = {0};

    if (check_with(NULL, text, &err) < 0)
        fail_msg("%s: %s", text, err.message);
}

static void
assert_refused(const char *text, const char *message)
{
    mcp_error err = {0};
    int r = check_with(NULL, text, &err);

    assert_string_equal(err.message, message);
    assert_int_equal(r, MCP_E_INVAL);
}

/* The required title, and one more member. */
static void
assert_member_refused(const char *member, const char *message)
{
    char text[400];

    snprintf(text, sizeof text, "{\"title\":\"t\",%s}", member);
    assert_refused(text, message);
}

static void
assert_member_fits(const char *member)
{
    char text[400];

    snprintf(text, sizeof text, "{\"title\":\"t\",%s}", member);
    assert_fits(text);
}

static void
other_types_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("[]", "the value: expected an object, found an array of 0");
    assert_refused("{\"title\":7}", "/title: expected a string, found 7");
    assert_refused("{\"title\":null}", "/title: expected a string, found null");
    assert_member_refused("\"seats\":\"4\"",
                          "/seats: expected an integer from -2147483648 to 2147483647, "
                          "found \"4\"");
    assert_member_refused("\"price\":[1]",
                          "/price: expected a number, found an array of 1");
    assert_member_refused("\"open\":0", "/open: expected true or false, found 0");
    assert_member_refused("\"start\":false", "/start: expected an object, found false");
    assert_member_refused("\"tags\":{}", "/tags: expected an array, found an object");
}

static void
missing_required_members_are_told(void **state)
{
    (void)state;
    assert_refused("{}", "/title: expected a string, found nothing");
    assert_member_refused("\"start\":{\"y\":1}",
                          "/start/x: expected a number, found nothing");
    assert_member_fits("\"x\":1");
}

static void
missing_members_of_every_type_are_told(void **state)
{
    static const mcp_field table[] = {
        MCP_FIELD_WITH(struct trip, color, MCP_ENUM, 0, NULL, .names = color_names),
        MCP_FIELD_WITH(struct trip, level, MCP_UINT, 0, NULL, MCP_MAXIMUM(9)),
        MCP_FIELD_WITH(struct trip, start, MCP_STRUCT, 0, NULL, .fields = point_fields),
        MCP_FIELD(struct trip, extra, MCP_JSON, 0, NULL),
        MCP_FIELD(struct trip, is_open, MCP_BOOL, 0, NULL),
        MCP_FIELD_ARRAY(struct trip, tags, tag_count, MCP_STRING, 0, NULL)};
    static const char *const expected[] = {
        "/color: expected one of \"red\", \"green\", \"blue\", found nothing",
        "/level: expected an integer from 0 to 9, found nothing",
        "/start: expected an object, found nothing",
        "/extra: expected a value, found nothing",
        "/is_open: expected true or false, found nothing",
        "/tags: expected an array, found nothing"};

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        mcp_field one[2] = {table[i], {0}};
        mcp_fields *fields;
        mcp_error err = {0};

        one[0].flags = MCP_REQUIRED;
        fields = make_ready(one, NULL);
        assert_int_equal(mcp_fields_check(fields, NULL, &err), MCP_E_INVAL);
        assert_string_equal(err.message, expected[i]);
        mcp_fields_free(fields);
    }
}

static void
absent_value_is_an_empty_object(void **state)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);
    mcp_fields *optional = make_ready(stop_fields + 1, NULL);
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_check(fields, NULL, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "/title: expected a string, found nothing");
    assert_int_equal(mcp_fields_check(optional, NULL, &err), 0);
    assert_int_equal(mcp_fields_check(NULL, NULL, NULL), MCP_E_INVAL);
    mcp_fields_free(fields);
    mcp_fields_free(optional);
}

static void
integers_keep_their_range(void **state)
{
    (void)state;
    assert_member_fits("\"seats\":-2147483648,\"level\":9.0,"
                       "\"serial\":18446744073709551615");
    assert_member_refused("\"seats\":2147483648",
                          "/seats: expected an integer from -2147483648 to 2147483647, "
                          "found 2147483648");
    assert_member_refused("\"level\":10",
                          "/level: expected an integer from 0 to 9, found 10");
    assert_member_refused("\"serial\":-1",
                          "/serial: expected an integer of at least 0, found -1");
    assert_member_refused("\"seats\":1.5",
                          "/seats: expected an integer from -2147483648 "
                          "to 2147483647, found 1.5");
}

static void
integers_beyond_64_bits_are_told_the_range(void **state)
{
    static const mcp_field table[] = {MCP_FIELD(struct trip, id, MCP_INT, 0, NULL),
                                      MCP_FIELD(struct trip, serial, MCP_UINT, 0, NULL),
                                      {0}};
    mcp_fields *fields = make_ready(table, NULL);
    mcp_doc *big = parse("{\"id\":9223372036854775808}");
    mcp_doc *huge = parse("{\"serial\":1e30}"), *part = parse("{\"id\":1.5}");
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(big), &err), MCP_E_INVAL);
    assert_string_equal(err.message,
                        "/id: expected an integer from -9223372036854775808 to "
                        "9223372036854775807, found 9223372036854775808");
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(huge), &err), MCP_E_INVAL);
    assert_string_equal(err.message,
                        "/serial: expected an integer from 0 to 18446744073709551615, "
                        "found 1e+30");
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(part), &err), MCP_E_INVAL);
    assert_string_equal(err.message, "/id: expected an integer, found 1.5");
    mcp_doc_free(big);
    mcp_doc_free(huge);
    mcp_doc_free(part);
    mcp_fields_free(fields);
}

static void
integers_with_a_header_stay_safe(void **state)
{
    (void)state;
    assert_member_fits("\"id\":-9007199254740991");
    assert_member_refused("\"id\":9007199254740992",
                          "/id: expected an integer from -9007199254740991 to "
                          "9007199254740991, found 9007199254740992");
}

static void
numbers_keep_their_bounds(void **state)
{
    (void)state;
    assert_member_fits("\"price\":0");
    assert_member_fits("\"price\":99.5");
    assert_member_refused("\"price\":-0.5",
                          "/price: expected a number of at least 0, found -0.5");
    assert_member_refused("\"price\":100",
                          "/price: expected a number of at most 99.5, found 100");
}

static void
numbers_are_told_exactly(void **state)
{
    static const mcp_field table[] = {MCP_FIELD_WITH(struct trip, price, MCP_NUMBER, 0,
                                                     NULL, MCP_MINIMUM(1234567),
                                                     MCP_MAXIMUM_REAL(7654321.5)),
                                      {0}};
    mcp_fields *fields = make_ready(table, NULL);
    mcp_doc *low = parse("{\"price\":0.1}"), *high = parse("{\"price\":7654321.75}");
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(low), &err), MCP_E_INVAL);
    assert_string_equal(err.message,
                        "/price: expected a number of at least 1234567, found 0.1");
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(high), &err), MCP_E_INVAL);
    assert_string_equal(
        err.message,
        "/price: expected a number of at most 7654321.5, found 7654321.75");
    mcp_doc_free(low);
    mcp_doc_free(high);
    mcp_fields_free(fields);
}

static void
lengths_count_characters(void **state)
{
    (void)state;
    assert_fits("{\"title\":\"\xF0\x9F\x98\x80\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\"}");
    assert_refused("{\"title\":\"\"}",
                   "/title: expected a string of at least 1 character, found \"\"");
    assert_refused(
        "{\"title\":\"abcdef\"}",
        "/title: expected a string of at most 5 characters, found \"abcdef\"");
}

static void
zero_character_needs_a_length_member(void **state)
{
    (void)state;
    assert_fits("{\"title\":\"a\\u0000b\"}");
    assert_member_refused("\"code\":\"a\\u0000\"",
                          "/code: expected a string without U+0000, found \"a?\"");
    assert_member_refused("\"tags\":[\"a\\u0000\"]",
                          "/tags/0: expected a string without U+0000, found \"a?\"");
}

static void
names_of_enums_are_listed(void **state)
{
    (void)state;
    assert_member_fits("\"color\":\"blue\",\"colors\":[\"red\",\"red\"]");
    assert_member_refused("\"color\":\"pink\"",
                          "/color: expected one of \"red\", \"green\", \"blue\", found "
                          "\"pink\"");
    assert_member_refused("\"colors\":[\"red\",7]",
                          "/colors/1: expected one of \"red\", \"green\", \"blue\", "
                          "found 7");
}

static void
patterns_are_checked_and_bounded(void **state)
{
    char text[200] = "{\"title\":\"t\",\"code\":\"";
    size_t len = strlen(text);
    mcp_error err;

    (void)state;
    assert_member_refused("\"tags\":[\"ok\",\"Not\"]",
                          "/tags/1: expected a string that matches ^[a-z]+$, found "
                          "\"Not\"");
    memset(text + len, 'a', 60);
    strcpy(text + len + 60, "!\"}");
    assert_int_equal(check_with(NULL, text, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "/code: limit reached while matching the pattern");
}

/* Each search ends within its own limit, all of them within that of the check. */
static void
effort_of_all_patterns_together_is_bounded(void **state)
{
    static const mcp_field table[] = {MCP_FIELD_ARRAY_WITH(struct trip, tags, tag_count,
                                                           MCP_STRING, 0, NULL,
                                                           .pattern = "^(?:a+)+$|b"),
                                      {0}};
    size_t room = 4000, used;
    char *text = malloc(room * 24 + 32);
    mcp_fields *fields = make_ready(table, NULL);
    mcp_error err = {0};
    mcp_doc *doc;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "{\"tags\":[\"b\"");
    for (size_t i = 0; i < room; i++)
        used += (size_t)sprintf(text + used, ",\"aaaaaaaaaaaaaa!b\"");
    strcpy(text + used, "]}");
    doc = parse(text);
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(doc), &err), MCP_E_LIMIT);
    assert_non_null(strstr(err.message, "limit reached while matching the pattern"));
    assert_null(strstr(err.message, "/tags/1:")); /* one of them alone is no trouble */
    mcp_doc_free(doc);
    mcp_fields_free(fields);
    free(text);
}

static void
arrays_keep_their_number_of_items(void **state)
{
    (void)state;
    assert_member_refused("\"colors\":[]",
                          "/colors: expected at least 1 item, found an array of 0");
    assert_member_fits("\"tags\":[]");
    assert_member_refused("\"tags\":[\"a\",\"b\",\"c\",\"d\"]",
                          "/tags: expected at most 3 items, found an array of 4");
}

static void
path_leads_through_arrays_and_structs(void **state)
{
    (void)state;
    assert_member_refused(
        "\"stops\":[{\"name\":\"a\"},{\"name\":\"b\",\"minutes\":[0,60]}]",
        "/stops/1/minutes/1: expected an integer from 0 to 59, found 60");
    assert_member_refused("\"stops\":[{\"name\":\"a\",\"at\":{\"x\":\"1\"}}]",
                          "/stops/0/at/x: expected a number, found \"1\"");
}

static void
key_named_twice_is_refused(void **state)
{
    (void)state;
    assert_refused("{\"title\":\"a\",\"title\":\"b\"}",
                   "the value: expected each key once, found one twice");
    assert_member_refused("\"start\":{\"x\":1,\"z\":2,\"z\":3}",
                          "/start: expected each key once, found one twice");
    assert_member_fits("\"extra\":{\"a\":1,\"a\":2}");
}

static void
unknown_members_are_refused_only_if_closed(void **state)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.closed = true);
    mcp_error err;

    (void)state;
    assert_member_fits("\"more\":1,\"start\":{\"x\":1,\"z\":2}");
    assert_int_equal(check_with(&opt, "{\"title\":\"t\",\"m~o/re\\n\":1}", &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message,
                        "/m~0o~1re?: expected no member of this name, found 1");
    assert_int_equal(
        check_with(&opt, "{\"title\":\"t\",\"start\":{\"x\":1,\"z\":2}}", &err),
        MCP_E_INVAL);
    assert_string_equal(err.message,
                        "/start/z: expected no member of this name, found 2");
    assert_int_equal(check_with(&opt, "{\"title\":\"t\",\"start\":{\"x\":1}}", &err),
                     0);
}

static void
long_values_and_paths_are_cut(void **state)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.closed = true);
    char text[1200], key[301];
    mcp_error err;

    (void)state;
    for (size_t i = 0; i < 300; i += 2)
        memcpy(key + i, "\xC3\xA4", 2);
    key[300] = '\0';
    snprintf(text, sizeof text, "{\"title\":\"t\",\"%s\":\"%s\"}", key, key);
    assert_int_equal(check_with(&opt, text, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, ": expected no member of this name, found \""));
    assert_non_null(strstr(err.message, "...\""));
    assert_null(strchr(err.message, '?')); /* cut between characters */
    assert_true(strlen(err.message) < sizeof err.message - 1);
}

static void
long_expectations_are_cut_visibly(void **state)
{
    static const mcp_enum_name names[] = {
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1},
        {"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", 2},
        {"\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4\xC3\xA4", 3},
        {0}};
    static const mcp_field table[] = {
        MCP_FIELD_WITH(struct trip, color, MCP_ENUM, 0, NULL, .names = names,
                       .as = "a member with a name of seventy bytes or so, which is "
                             "more than is ever shown"),
        {0}};
    mcp_fields *fields = make_ready(table, NULL);
    mcp_doc *doc = parse(
        "{\"a member with a name of seventy bytes or so, which is more "
        "than is ever shown\":\"cccccccccccccccccccccccccccccccccccc"
        "cccccccccccccccccccccccccccccccccccccccccccccccccccc\"}");
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_check(fields, mcp_doc_root(doc), &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "..., found \"ccc"));
    assert_null(strchr(err.message, '?'));
    assert_string_equal(err.message + strlen(err.message) - 5, "c...\"");
    mcp_doc_free(doc);
    mcp_fields_free(fields);
}

static void
items_beyond_the_memory_allowed_are_refused(void **state)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.max_bytes = 3 * sizeof(struct stop));
    mcp_error err;

    (void)state;
    assert_int_equal(check_with(&opt,
                                "{\"title\":\"t\",\"stops\":[{\"name\":\"a\"},"
                                "{\"name\":\"b\"}]}",
                                &err),
                     0);
    assert_int_equal(check_with(&opt,
                                "{\"title\":\"t\",\"stops\":[{\"name\":\"a\"},"
                                "{\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"d\"}]}",
                                &err),
                     MCP_E_LIMIT);
    assert_non_null(strstr(err.message, "/stops: more than"));
    opt.max_bytes = 3 * sizeof(char *); /* room for three, but not when aligned */
    assert_int_equal(check_with(&opt, "{\"title\":\"t\",\"tags\":[\"a\",\"b\"]}", &err),
                     0);
    assert_int_equal(
        check_with(&opt, "{\"title\":\"t\",\"tags\":[\"a\",\"b\",\"c\"]}", &err),
        MCP_E_LIMIT);
}

static void
check_flow(struct test_mem *mem, void *user)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = &mem->allocator);
    mcp_fields *fields = NULL;
    mcp_error err = {0};
    int r = mcp_fields_new(trip_fields, &opt, &fields, &err);

    if (r == 0)
        r = mcp_fields_check(fields, user, &err);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_fields_free(fields);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = parse("{\"title\":\"t\",\"tags\":[\"a\",\"b\"]}");

    (void)state;
    assert_true(test_each_allocation_fails(check_flow,
                                           (void *)(uintptr_t)mcp_doc_root(doc)) >= 10);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(other_types_are_refused_by_name),
          TEST(missing_required_members_are_told),
          TEST(missing_members_of_every_type_are_told),
          TEST(absent_value_is_an_empty_object), TEST(integers_keep_their_range),
          TEST(integers_beyond_64_bits_are_told_the_range),
          TEST(integers_with_a_header_stay_safe), TEST(numbers_keep_their_bounds),
          TEST(numbers_are_told_exactly), TEST(long_expectations_are_cut_visibly),
          TEST(lengths_count_characters), TEST(zero_character_needs_a_length_member),
          TEST(names_of_enums_are_listed), TEST(patterns_are_checked_and_bounded),
          TEST(effort_of_all_patterns_together_is_bounded),
          TEST(arrays_keep_their_number_of_items),
          TEST(path_leads_through_arrays_and_structs), TEST(key_named_twice_is_refused),
          TEST(unknown_members_are_refused_only_if_closed),
          TEST(long_values_and_paths_are_cut),
          TEST(items_beyond_the_memory_allowed_are_refused),
          TEST(each_allocation_may_fail))
