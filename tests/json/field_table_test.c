/* json/field_table_test.c - proves json/field_table.c: each mistake is told */
#include "json/field_fixture.h"

struct sample {
    const char *text;
    size_t text_length;
    int64_t number;
    uint16_t small;
    double real;
    bool flag;
    int choice;
    struct point point;
    const char **list;
    size_t list_count;
    const mcp_json *raw;
};

#define ONE(member_, type_, ...) \
    MCP_FIELD_WITH(struct sample, member_, type_, 0, NULL, __VA_ARGS__)
#define LIST(items_, ...) \
    MCP_FIELD_ARRAY_WITH(struct sample, list, list_count, items_, 0, NULL, __VA_ARGS__)

static void
assert_wrong(mcp_field field, const char *message)
{
    const mcp_field table[] = {field, {0}};
    mcp_fields *fields = NULL;
    mcp_error err = {0};
    int r = mcp_fields_new(table, NULL, &fields, &err);

    assert_string_equal(err.message, message);
    assert_int_equal(r, MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_null(fields);
}

#define WRONG(message_, ...)                  \
    do {                                      \
        const mcp_field field_ = __VA_ARGS__; \
                                              \
        assert_wrong(field_, message_);       \
    } while (0)

static void
table_with_every_kind_is_right(void **state)
{
    mcp_fields *fields = make_ready(trip_fields, NULL);

    (void)state;
    assert_int_equal(fields->top.count, 14);
    assert_int_equal(fields->used, 14 + 2 + 3 + 2);
    mcp_fields_free(fields);
}

/* A table of another struct would be decoded over the end of this one. */
static void
nested_members_lie_in_their_struct(void **state)
{
    static const mcp_field too_far[] = {
        MCP_FIELD(struct sample, raw, MCP_JSON, 0, NULL), {0}};
    static const mcp_field too_far_count[] = {
        MCP_FIELD_ARRAY(struct sample, list, list_count, MCP_STRING, 0, NULL), {0}};
    static const mcp_field too_far_flag[] = {
        MCP_FIELD_WITH(struct sample, text, MCP_STRING, 0, NULL,
                       MCP_PRESENT(struct sample, flag)),
        {0}};

    (void)state;
    WRONG("field 'point/raw': a member beyond the end of the struct it is in",
          ONE(point, MCP_STRUCT, .fields = too_far));
    WRONG("field 'point/list': a member beyond the end of the struct it is in",
          ONE(point, MCP_STRUCT, .fields = too_far_count));
    WRONG("field 'point/text': a member beyond the end of the struct it is in",
          ONE(point, MCP_STRUCT, .fields = too_far_flag));
    WRONG("field 'list/raw': a member beyond the end of the struct it is in",
          LIST(MCP_STRUCT, .fields = too_far));
}

static void
table_without_members_is_right(void **state)
{
    const mcp_field table[] = {{0}};
    mcp_fields *fields = make_ready(table, NULL);

    (void)state;
    assert_int_equal(fields->top.count, 0);
    mcp_fields_free(fields);
    mcp_fields_free(NULL);
}

static void
types_and_sizes_must_fit(void **state)
{
    (void)state;
    WRONG("field 'text': unknown type", ONE(text, MCP_NO_TYPE, .title = ""));
    WRONG("field 'text': unknown type",
          ONE(text, (enum mcp_field_type)99, .title = ""));
    WRONG("field 'small': the C member is not of a size for its type",
          ONE(small, MCP_NUMBER, .title = ""));
    WRONG("field 'number': the C member is not of a size for its type",
          ONE(number, MCP_BOOL, .title = ""));
    WRONG("field 'small': the C member is not of a size for its type",
          ONE(small, MCP_ENUM, .names = color_names));
    WRONG("field 'point': the C member is not of a size for its type",
          ONE(point, MCP_INT, .title = ""));
    WRONG("field 'list': unknown type of items", LIST(MCP_NO_TYPE, .title = ""));
    WRONG("field 'list': an array of arrays: put a struct between them",
          LIST(MCP_ARRAY, .title = ""));
    WRONG("field 'list': the C items are not of a size for their type",
          LIST(MCP_BOOL, .title = ""));
    WRONG("field 'list': an array without a count",
          ONE(list, MCP_ARRAY, .items = MCP_STRING, .item_size = sizeof(char *)));
    WRONG("field 'text': items, but it is no array", ONE(text, MCP_STRING, .count = 1));
}

static void
unknown_flags_are_refused(void **state)
{
    (void)state;
    WRONG("field 'text': unknown flag",
          MCP_FIELD(struct sample, text, MCP_STRING, 2, NULL));
}

static void
attributes_stand_where_they_apply(void **state)
{
    (void)state;
    WRONG("field 'number': a length member, but it is no string",
          ONE(number, MCP_INT, MCP_LENGTH(struct sample, text_length)));
    WRONG("field 'list': a length member, but it is no string",
          LIST(MCP_STRING, MCP_LENGTH(struct sample, text_length)));
    WRONG("field 'number': lengths or a pattern, but no strings",
          ONE(number, MCP_INT, .pattern = "x"));
    WRONG("field 'text': a number of items, but it is no array",
          ONE(text, MCP_STRING, .max_items = 1));
    WRONG("field 'text': names, but no enum",
          ONE(text, MCP_STRING, .names = color_names));
    WRONG("field 'choice': an enum without names", ONE(choice, MCP_ENUM, .title = ""));
    WRONG("field 'text': fields, but no struct",
          ONE(text, MCP_STRING, .fields = point_fields));
    WRONG("field 'point': a struct without fields",
          ONE(point, MCP_STRUCT, .title = ""));
    WRONG("field 'flag': bounds, but no number", ONE(flag, MCP_BOOL, MCP_MINIMUM(0)));
}

static void
bounds_must_agree(void **state)
{
    (void)state;
    WRONG("field 'number': a minimum above the maximum",
          ONE(number, MCP_INT, MCP_MINIMUM(2), MCP_MAXIMUM(1)));
    WRONG("field 'real': a minimum above the maximum",
          ONE(real, MCP_NUMBER, MCP_MINIMUM_REAL(1.5), MCP_MAXIMUM(1)));
    WRONG("field 'number': a bound of an integer that is none",
          ONE(number, MCP_INT, MCP_MINIMUM_REAL(1.0)));
    WRONG("field 'real': a bound that is no finite number",
          ONE(real, MCP_NUMBER, .maximum = {.type = MCP_STRING}));
    WRONG("field 'small': a bound beyond the range of its type or header",
          ONE(small, MCP_UINT, MCP_MAXIMUM(65536)));
    WRONG("field 'small': a bound beyond the range of its type or header",
          ONE(small, MCP_UINT, MCP_MINIMUM(-1)));
    WRONG("field 'number': a bound beyond the range of its type or header",
          ONE(number, MCP_INT, MCP_MAXIMUM(INT64_MAX), .header = "N"));
    WRONG("field 'text': a least length above the most",
          ONE(text, MCP_STRING, .min_length = 2, .max_length = 1));
    WRONG("field 'list': a least number of items above the most",
          LIST(MCP_STRING, .min_items = 2, .max_items = 1));
}

static void
defaults_must_fit_their_own_field(void **state)
{
    (void)state;
    WRONG("field 'text': a default, but it is required",
          MCP_FIELD_WITH(struct sample, text, MCP_STRING, MCP_REQUIRED, NULL,
                         MCP_DEFAULT_STRING("a")));
    WRONG("field 'number': a default that is no integer",
          ONE(number, MCP_INT, MCP_DEFAULT_STRING("1")));
    WRONG("field 'small': a default out of its bounds",
          ONE(small, MCP_UINT, MCP_DEFAULT_INT(-1)));
    WRONG("field 'number': a default out of its bounds",
          ONE(number, MCP_INT, MCP_MAXIMUM(5), MCP_DEFAULT_INT(6)));
    WRONG("field 'real': a default that is no finite number",
          ONE(real, MCP_NUMBER, MCP_DEFAULT_BOOL(true)));
    WRONG("field 'real': a default out of its bounds",
          ONE(real, MCP_NUMBER, MCP_MINIMUM(0), MCP_DEFAULT_NUMBER(-0.5)));
    WRONG("field 'flag': a default that is no boolean",
          ONE(flag, MCP_BOOL, MCP_DEFAULT_INT(1)));
    WRONG("field 'choice': a default that is none of the names",
          ONE(choice, MCP_ENUM, .names = color_names, MCP_DEFAULT_STRING("pink")));
    WRONG("field 'text': a default that is no string",
          ONE(text, MCP_STRING, MCP_DEFAULT_INT(0)));
    WRONG("field 'text': a default that does not fit lengths or pattern",
          ONE(text, MCP_STRING, .max_length = 2, MCP_DEFAULT_STRING("abc")));
    WRONG("field 'text': a default that does not fit lengths or pattern",
          ONE(text, MCP_STRING, .pattern = "^x", MCP_DEFAULT_STRING("abc")));
    WRONG("field 'text': a default that is not UTF-8",
          ONE(text, MCP_STRING, MCP_DEFAULT_STRING("\xFF")));
    WRONG("field 'raw': a default on an array, struct or raw JSON",
          ONE(raw, MCP_JSON, MCP_DEFAULT_INT(0)));
}

static void
names_of_an_enum_are_unique_text(void **state)
{
    static const mcp_enum_name none[] = {{0}};
    static const mcp_enum_name twice[] = {{"a", 1}, {"b", 1}, {"a", 2}, {0}};
    static const mcp_enum_name bad[] = {{"\xC0", 1}, {0}};

    (void)state;
    WRONG("field 'choice': an enum without names",
          ONE(choice, MCP_ENUM, .names = none));
    WRONG("field 'choice': an enum name that stands there twice",
          ONE(choice, MCP_ENUM, .names = twice));
    WRONG("field 'choice': an enum name that is not UTF-8",
          ONE(choice, MCP_ENUM, .names = bad));
}

static void
headers_are_tokens_on_primitive_members(void **state)
{
    (void)state;
    WRONG("field 'text': a header name that is no HTTP token",
          ONE(text, MCP_STRING, .header = ""));
    WRONG("field 'text': a header name that is no HTTP token",
          ONE(text, MCP_STRING, .header = "My Region"));
    WRONG("field 'text': a header name that is no HTTP token",
          ONE(text, MCP_STRING, .header = "a\r\nb"));
    WRONG("field 'real': a header on what is no string, integer or boolean",
          ONE(real, MCP_NUMBER, .header = "Real"));
    WRONG("field 'raw': a header on what is no string, integer or boolean",
          ONE(raw, MCP_JSON, .header = "Raw"));
    WRONG("field 'list': a header on what is in an array",
          LIST(MCP_STRING, .header = "List"));
}

static void
header_in_a_struct_is_right_but_not_in_an_array_of_them(void **state)
{
    struct outer {
        struct sample one;
        struct sample *all;
        size_t all_count;
    };
    static const mcp_field inner[] = {
        ONE(text, MCP_STRING, .header = "!#$%&'*+-.^_`|~9z"), {0}};
    const mcp_field good[] = {
        MCP_FIELD_WITH(struct outer, one, MCP_STRUCT, 0, NULL, .fields = inner), {0}};
    const mcp_field bad = MCP_FIELD_ARRAY_WITH(struct outer, all, all_count, MCP_STRUCT,
                                               0, NULL, .fields = inner);

    (void)state;
    mcp_fields_free(make_ready(good, NULL));
    assert_wrong(bad, "field 'all/text': a header on what is in an array");
}

static void
names_and_headers_do_not_stand_twice(void **state)
{
    const mcp_field names[] = {
        ONE(text, MCP_STRING, .as = "x"), ONE(number, MCP_INT, .as = "x"), {0}};
    const mcp_field headers[] = {ONE(text, MCP_STRING, .header = "Region"),
                                 ONE(number, MCP_INT, .header = "rEGION"),
                                 {0}};
    mcp_fields *fields = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_new(names, NULL, &fields, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "field 'x': the name stands there twice");
    assert_int_equal(mcp_fields_new(headers, NULL, &fields, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "field 'number': the header stands there twice");
}

static void
texts_are_utf8_and_patterns_are_patterns(void **state)
{
    (void)state;
    WRONG("field 'text': a text that is not UTF-8",
          ONE(text, MCP_STRING, .title = "\xFF"));
    WRONG("field 'text': not a pattern: missing closing parenthesis at byte 1",
          ONE(text, MCP_STRING, .pattern = "("));
    WRONG("field 'text': a pattern that is not UTF-8",
          ONE(text, MCP_STRING, .pattern = "\xFF"));
}

struct chain {
    struct chain *next;
    size_t next_count;
};

extern const mcp_field chain_fields[];
const mcp_field chain_fields[] = {
    MCP_FIELD_ARRAY_WITH(struct chain, next, next_count, MCP_STRUCT, 0, NULL,
                         .fields = chain_fields),
    {0},
};

static void
table_that_contains_itself_is_found(void **state)
{
    mcp_fields *fields = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_fields_new(chain_fields, NULL, &fields, &err), MCP_E_LIMIT);
    assert_string_equal(err.message,
                        "structs nested deeper than 16: does one contain itself?");
}

static void
tables_that_multiply_meet_the_limit(void **state)
{
    static mcp_field level[MCP_FIELDS_DEPTH_MAX][3];
    mcp_fields *fields = NULL;
    mcp_error err;

    (void)state;
    for (size_t i = 0; i < MCP_FIELDS_DEPTH_MAX - 1; i++) {
        level[i][0] = (mcp_field){.name = "a", .type = MCP_STRUCT, .size = 1};
        level[i][0].fields = level[i + 1];
        level[i][1] = level[i][0];
        level[i][1].name = "b";
    }
    assert_int_equal(mcp_fields_new(level[0], NULL, &fields, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "more than 1024 fields");
}

static void
arguments_are_checked(void **state)
{
    mcp_fields_options odd = {.size = 1};
    mcp_fields *fields = NULL;

    (void)state;
    assert_int_equal(mcp_fields_new(NULL, NULL, &fields, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_fields_new(trip_fields, NULL, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_fields_new(trip_fields, &odd, &fields, NULL), MCP_E_INVAL);
    assert_null(fields);
}

static void
make_and_free(struct test_mem *mem, void *user)
{
    mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = &mem->allocator);
    mcp_fields *fields = NULL;
    mcp_error err = {0};
    int r = mcp_fields_new(trip_fields, &opt, &fields, &err);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_fields_free(fields);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_and_free, NULL) >= 10);
}

TEST_MAIN(TEST(table_with_every_kind_is_right),
          TEST(nested_members_lie_in_their_struct),
          TEST(table_without_members_is_right), TEST(types_and_sizes_must_fit),
          TEST(unknown_flags_are_refused), TEST(attributes_stand_where_they_apply),
          TEST(bounds_must_agree), TEST(defaults_must_fit_their_own_field),
          TEST(names_of_an_enum_are_unique_text),
          TEST(headers_are_tokens_on_primitive_members),
          TEST(header_in_a_struct_is_right_but_not_in_an_array_of_them),
          TEST(names_and_headers_do_not_stand_twice),
          TEST(texts_are_utf8_and_patterns_are_patterns),
          TEST(table_that_contains_itself_is_found),
          TEST(tables_that_multiply_meet_the_limit), TEST(arguments_are_checked),
          TEST(each_allocation_may_fail))
